"""Images to pieces, and the truth about them."""


rule cut:
    input:
        images=lambda wildcards: [str(path) for path in experiment.sources(wildcards.set, wildcards.puzzle)],
    output:
        pieces="results/puzzles/{set}/{puzzle}/pieces.h5",
        truth="results/puzzles/{set}/{puzzle}/truth.h5",
    log:
        "results/logs/cut/{set}/{puzzle}.log",
    localrule: True
    resources:
        mem_mb=needed("cut", "mem_mb"),
        runtime=needed("cut", "runtime"),
    params:
        code=experiment.code("cut"),
        size=config["piece_size"],
        seed=experiment.seed,
        known=lambda wildcards: experiment.cutting_options(wildcards.set, wildcards.puzzle),
    shell:
        "jigsaw cut {input.images:q} --pieces {output.pieces:q} --truth {output.truth:q}"
        " --piece-size {params.size} --seed {params.seed}{params.known} --log {log:q}"
