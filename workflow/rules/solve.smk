"""Compared edges to a solution. The solver sees neither pictures nor truth."""


rule island:
    input:
        edges=edges_of_preset,
        kernels=kernels_of_preset,
    output:
        "results/puzzles/{set}/{puzzle}/{preset}/{run}/island-{island}.h5",
    log:
        "results/logs/island/{set}/{puzzle}-{preset}-{run}-{island}.log",
    wildcard_constraints:
        island=r"\d+",
    threads: needed("solve", "cores")
    resources:
        mem_mb=needed("solve", "mem_mb"),
        runtime=needed("solve", "runtime"),
    params:
        code=experiment.code("solve"),
        options=lambda wildcards: experiment.solver_options(wildcards.preset, wildcards.set, wildcards.puzzle),
        seed=lambda wildcards: experiment.seed_of(int(wildcards.run), int(wildcards.island)),
        keep=lambda wildcards: experiment.island_elite(wildcards.preset),
    shell:
        "jigsaw solve {input.edges:q} --out {output:q} {params.options} --seed {params.seed}"
        " --keep {params.keep} --workers {threads} --quiet --log {log:q}"


rule solve:
    input:
        edges=edges_of_preset,
        kernels=kernels_of_preset,
        islands=islands,
    output:
        "results/puzzles/{set}/{puzzle}/{preset}/{run}/solution.h5",
    log:
        "results/logs/solve/{set}/{puzzle}-{preset}-{run}.log",
    threads: needed("solve", "cores")
    resources:
        mem_mb=needed("solve", "mem_mb"),
        runtime=needed("solve", "runtime"),
    params:
        code=experiment.code("solve"),
        options=lambda wildcards: experiment.solver_options(wildcards.preset, wildcards.set, wildcards.puzzle),
        seed=lambda wildcards: experiment.seed_of(int(wildcards.run)),
    shell:
        "jigsaw solve {input.edges:q} --out {output:q} {params.options} --seed {params.seed}"
        " --islands {input.islands:q} --workers {threads} --quiet --log {log:q}"
