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
    params:
        code=experiment.code("quality"),
    shell:
        "jigsaw quality {input.edges:q} --truth {input.truth:q} --out {output:q}"
        " --set {wildcards.set:q} --puzzle={wildcards.puzzle:q} --log {log:q}"
