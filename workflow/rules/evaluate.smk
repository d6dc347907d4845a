"""Solutions to scores and pictures. Here the truth is read, and nowhere before."""


rule evaluate:
    input:
        solution=solved,
        pieces="results/puzzles/{set}/{puzzle}/pieces.h5",
        truth="results/puzzles/{set}/{puzzle}/truth.h5",
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
        "jigsaw evaluate {input.solution:q} --pieces {input.pieces:q} --truth {input.truth:q} --out {output:q}"
        " --set {wildcards.set:q} --puzzle={wildcards.puzzle:q} --run {wildcards.run}{params.known} --log {log:q}"


rule draw:
    input:
        solution=solved,
        pieces="results/puzzles/{set}/{puzzle}/pieces.h5",
    output:
        report(
            "results/puzzles/{set}/{puzzle}/{preset}/{run}/assembled.png",
            caption="../report/assembled.rst",
            category="Assembled puzzles",
            subcategory="{set}",
            labels={"puzzle": "{puzzle}", "preset": "{preset}", "run": "{run}"},
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
        "jigsaw draw {input.solution:q} --pieces {input.pieces:q} --out {output:q} --log {log:q}"


rule draw_origins:
    input:
        solution=solved,
        pieces="results/puzzles/{set}/{puzzle}/pieces.h5",
        truth="results/puzzles/{set}/{puzzle}/truth.h5",
    output:
        report(
            "results/puzzles/{set}/{puzzle}/{preset}/{run}/origins.png",
            caption="../report/origins.rst",
            category="Mixed bags by origin",
            subcategory="{puzzle}",
            labels={"preset": "{preset}", "run": "{run}"},
        ),
    log:
        "results/logs/draw_origins/{set}/{puzzle}-{preset}-{run}.log",
    wildcard_constraints:
        set=BAGS,
    localrule: True
    resources:
        mem_mb=needed("draw", "mem_mb"),
        runtime=needed("draw", "runtime"),
    params:
        code=experiment.code("draw"),
    shell:
        "jigsaw draw {input.solution:q} --pieces {input.pieces:q} --truth {input.truth:q} --out {output:q}"
        " --log {log:q}"


rule draw_images:
    input:
        solution=solved,
        pieces="results/puzzles/{set}/{puzzle}/pieces.h5",
    output:
        report(
            directory("results/puzzles/{set}/{puzzle}/{preset}/{run}/images"),
            patterns=["{image}.png"],
            caption="../report/images.rst",
            category="Mixed bags taken apart",
            subcategory="{puzzle}",
            labels={"preset": "{preset}", "run": "{run}", "image": "{image}"},
        ),
    log:
        "results/logs/draw_images/{set}/{puzzle}-{preset}-{run}.log",
    wildcard_constraints:
        set=BAGS,
    localrule: True
    resources:
        mem_mb=needed("draw", "mem_mb"),
        runtime=needed("draw", "runtime"),
    params:
        code=experiment.code("draw"),
    shell:
        "jigsaw draw {input.solution:q} --pieces {input.pieces:q} --images {output:q} --log {log:q}"
