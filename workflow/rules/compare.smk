"""Pieces to the cached dissimilarity of their edges."""


rule compare:
    input:
        pieces="results/puzzles/{set}/{puzzle}/pieces.h5",
        kernels=kernels("compare"),
    output:
        "results/puzzles/{set}/{puzzle}/edges-{measure}.h5",
    log:
        "results/logs/compare/{set}/{puzzle}-{measure}.log",
    threads: lambda wildcards: experiment.threads(wildcards.set, wildcards.puzzle)
    resources:
        mem_mb=lambda wildcards: experiment.memory("compare", wildcards.set, wildcards.puzzle),
    params:
        code=experiment.code("compare"),
    shell:
        "jigsaw compare {input.pieces:q} --out {output:q} --measure {wildcards.measure:q}"
        " --workers {threads} --log {log:q}"
