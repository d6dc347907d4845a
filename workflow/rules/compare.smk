"""Pieces to the cached dissimilarity of their edges."""


rule compare:
    input:
        pieces="results/puzzles/{set}/{puzzle}/pieces.h5",
        kernels=kernels("compare"),
    output:
        "results/puzzles/{set}/{puzzle}/edges-{measure}.h5",
    log:
        "results/logs/compare/{set}/{puzzle}-{measure}.log",
    threads: needed("compare", "cores")
    resources:
        mem_mb=needed("compare", "mem_mb"),
        runtime=needed("compare", "runtime"),
    params:
        code=experiment.code("compare"),
        known=lambda wildcards: experiment.comparing_options(wildcards.set),
    shell:
        "jigsaw compare {input.pieces:q} --out {output:q} --measure {wildcards.measure:q}"
        " --workers {threads}{params.known} --log {log:q}"


rule quality:
    input:
        edges="results/puzzles/{set}/{puzzle}/edges-{measure}.h5",
        truth="results/puzzles/{set}/{puzzle}/truth.h5",
    output:
        "results/puzzles/{set}/{puzzle}/quality-{measure}.json",
    log:
        "results/logs/quality/{set}/{puzzle}-{measure}.log",
    localrule: True
    resources:
        mem_mb=needed("quality", "mem_mb"),
        runtime=needed("quality", "runtime"),
    params:
        code=experiment.code("quality"),
    shell:
        "jigsaw quality {input.edges:q} --truth {input.truth:q} --out {output:q}"
        " --set {wildcards.set:q} --puzzle={wildcards.puzzle:q} --log {log:q}"
