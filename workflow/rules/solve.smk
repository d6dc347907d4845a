"""Compared edges to a solution. The solver sees neither pictures nor truth."""


rule solve:
    input:
        edges=compared,
        kernels=kernels_of_preset,
    output:
        "results/puzzles/{set}/{puzzle}/{preset}/{run}/solution.h5",
    log:
        "results/logs/solve/{set}/{puzzle}-{preset}-{run}.log",
    threads: lambda wildcards: experiment.threads(wildcards.set, wildcards.puzzle)
    resources:
        mem_mb=lambda wildcards: experiment.memory("solve", wildcards.set, wildcards.puzzle),
    params:
        code=experiment.code("solve"),
        options=lambda wildcards: experiment.solver_options(wildcards.preset, wildcards.set, wildcards.puzzle),
        seed=lambda wildcards: experiment.seed + int(wildcards.run),
    shell:
        "jigsaw solve {input.edges:q} --out {output:q} {params.options} --seed {params.seed}"
        " --workers {threads} --log {log:q}"
