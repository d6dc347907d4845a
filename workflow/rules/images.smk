"""Image sets: downloading those that are not there, compiling the kernels before jobs need them."""


checkpoint fetch:
    output:
        touch("results/images/{set}.fetched"),
    log:
        "results/logs/fetch/{set}.log",
    localrule: True
    params:
        code=experiment.code("fetch"),
        declared=lambda wildcards: config["sets"][wildcards.set],
    shell:
        "jigsaw fetch {wildcards.set:q} --log {log:q}"


rule kernels:
    output:
        touch("results/kernels.compiled"),
    log:
        "results/logs/kernels.log",
    localrule: True
    params:
        code=[experiment.code(stage) for stage in ("compare", "solve")],
    shell:
        "jigsaw compile --log {log:q}"
