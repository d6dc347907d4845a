"""Which files rules depend on beyond their wildcards."""


def kernels(stage):
    """Return the file that says that the kernels a stage needs, as its code is now, are compiled."""
    return f"results/kernels/{experiment.kernels(stage)}"


def kernels_before(wildcards):
    """Return the kernels to compile before those of a stage: what they share is compiled once."""
    before = {"solve": ["compare"], "search": ["solve"]}
    return [kernels(stage) for stage in before.get(wildcards.stage, [])]


def kernels_of_preset(wildcards):
    """Return the kernels that solving with a preset needs."""
    searching = experiment.settings(wildcards.preset).members > 0
    return kernels("search" if searching else "solve")


def quality_files(wildcards):
    """Return one file for every puzzle and measure that is judged."""
    for name in SETS:
        jobs(name)
    pattern = "results/puzzles/{}/{}/quality-{}.json"
    return [pattern.format(*judged) for judged in experiment.judged()]


def jobs(name):
    """Return the jobs of a set, once its images are there."""
    for needed in experiment.downloads(name):
        checkpoints.fetch.get(set=needed)
    try:
        return experiment.jobs(name)
    except JigsawError as error:
        raise WorkflowError(str(error))


def files_of(pattern, sets):
    """Return one file a job of the given sets."""
    return [pattern.format(**vars(job)) for name in sets for job in jobs(name)]


def pictures(wildcards):
    """Return the pictures of all solved puzzles."""
    return files_of("results/puzzles/{set}/{puzzle}/{preset}/{run}/assembled.png", SETS)


def further_tables(wildcards):
    """Return the tables of ablation and measures, where there is anything for them to show."""
    formats = {"ablation": ["csv", "md", "tex", "png"], "measures": ["csv", "md", "tex"]}
    wanted = ["ablation"] if experiment.sets_of("ablation") else []
    wanted += ["measures"] if quality_files(wildcards) else []
    return [f"results/tables/{table}.{format}" for table in wanted for format in formats[table]]
