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


def needed(stage, resource):
    """Return the function that says how much of a resource a job of a stage needs at its n-th attempt."""

    def of_job(wildcards, attempt):
        needs = experiment.needs(stage, wildcards.set, wildcards.puzzle, wildcards.get("preset"), attempt)
        return getattr(needs, resource)

    return of_job


def edges_of_preset(wildcards):
    """Return the edges that solving with a preset needs."""
    measure = experiment.settings(wildcards.preset).measure
    return f"results/puzzles/{wildcards.set}/{wildcards.puzzle}/edges-{measure}.h5"


def islands(wildcards):
    """Return the islands that a run joins; none if it is one job."""
    count = experiment.islands(wildcards.preset)
    run = f"results/puzzles/{wildcards.set}/{wildcards.puzzle}/{wildcards.preset}/{wildcards.run}"
    return [f"{run}/island-{i}.h5" for i in range(1, count + 1)] if count > 1 else []


def solved(wildcards):
    """Return the solution to look at: that of a mixed bag with its images told apart."""
    told_apart = wildcards.set != BAGS or experiment.settings(wildcards.preset).members > 0
    file = "solution" if told_apart else "unmixed"
    return f"results/puzzles/{wildcards.set}/{wildcards.puzzle}/{wildcards.preset}/{wildcards.run}/{file}.h5"


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
    """Return the pictures of the runs that the summary tables and the report are about."""
    return [
        f"results/pictures/{job.set}/{job.puzzle}/{job.preset}/{job.run}"
        for name in SETS
        for job in jobs(name)
        if job.preset in experiment.presets()
    ]


def further_tables(wildcards):
    """Return the tables of drawn bags, ablation and measures, where there is anything for them to show."""
    wanted = ["drawn_bags"] if experiment.drawn_bags() else []
    wanted += ["ablation"] if experiment.sets_of("ablation") else []
    wanted += ["measures"] if quality_files(wildcards) else []
    plots = [f"results/tables/{table}.png" for table in wanted if table == "ablation"]
    return expand("results/tables/{table}.{format}", table=wanted, format=["csv", "md", "tex"]) + plots
