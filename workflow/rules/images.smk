"""Image sets that are not there: downloading them."""


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
