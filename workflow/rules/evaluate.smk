"""Solutions to scores and pictures. Here the truth is read, and nowhere before."""


rule evaluate:
    input:
        solution=solved,
        pieces="results/puzzles/{set}/{puzzle}/pieces.h5",
        truth="results/puzzles/{set}/{puzzle}/truth.h5",
        edges=edges_of_preset,
    output:
        "results/puzzles/{set}/{puzzle}/{preset}/{run}/scores.json",
    log:
        "results/logs/evaluate/{set}/{puzzle}-{preset}-{run}.log",
    localrule: True
    resources:
        mem_mb=needed("evaluate", "mem_mb"),
        runtime=needed("evaluate", "runtime"),
    params:
        code=experiment.code("evaluate"),
        known=lambda wildcards: experiment.evaluating_options(wildcards.set, wildcards.puzzle),
    shell:
        "jigsaw evaluate {input.solution:q} --pieces {input.pieces:q} --truth {input.truth:q} --edges {input.edges:q}"
        " --out {output:q} --set {wildcards.set:q} --puzzle={wildcards.puzzle:q} --run {wildcards.run}{params.known}"
        " --log {log:q}"


rule draw:
    input:
        solution=solved,
        pieces="results/puzzles/{set}/{puzzle}/pieces.h5",
        truth="results/puzzles/{set}/{puzzle}/truth.h5",
    output:
        report(
            directory("results/pictures/{set}/{puzzle}/{preset}/{run}"),
            patterns=[
                "{picture,assembled|errors|generations|origins|animation}.webp",
                "images/{picture,image-[0-9]+}.png",
            ],
            caption="../report/pictures.rst",
            category="Pictures",
            subcategory="{set}",
            labels={
                "puzzle": "{puzzle}",
                "preset": "{preset}",
                "run": "{run}",
                "picture": "{picture}",
            },
        ),
    log:
        "results/logs/draw/{set}/{puzzle}-{preset}-{run}.log",
    localrule: True
    resources:
        mem_mb=needed("draw", "mem_mb"),
        runtime=needed("draw", "runtime"),
    params:
        code=experiment.code("draw"),
    shell:
        "jigsaw draw {input.solution:q} --pieces {input.pieces:q} --truth {input.truth:q} --all {output:q}"
        " --log {log:q}"
