"""Image sets: downloading those that are not there, compiling the kernels before jobs need them."""


checkpoint fetch:
    output:
        touch("results/images/{set}.fetched"),
    log:
        "results/logs/fetch/{set}.log",
    params:
        code=experiment.code("fetch"),
        declared=lambda wildcards: config["sets"][wildcards.set],
    localrule: True
    shell:
        "jigsaw fetch {wildcards.set:q} --log {log:q}"


rule kernels:
    output:
        touch("results/kernels.compiled"),
    log:
        "results/logs/kernels.log",
    params:
        code=[experiment.code(stage) for stage in ("compare", "solve")],
    localrule: True
    shell:
        "jigsaw compile --log {log:q}"


def jobs(name):
    """Return the jobs of a set, once its images are there."""
    if experiment.downloads(name):
        checkpoints.fetch.get(set=name)
    try:
        return experiment.jobs(name)
    except JigsawError as error:
        raise WorkflowError(str(error))
