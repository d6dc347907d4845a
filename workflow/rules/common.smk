"""Which files rules depend on beyond their wildcards."""


def kernels(stage):
    """Return the file that says that the kernels of a stage, as its code is now, are compiled."""
    return f"results/kernels/{stage}-{experiment.code(stage)}"


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
