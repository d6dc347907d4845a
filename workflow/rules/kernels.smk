"""Compiling the kernels of a stage once, before its jobs start side by side.

The checksum of the code is part of the name. An ancient() input would not do: Snakemake passes over the
missing outputs of whatever depends on it when its own job must run again.
"""


rule kernels:
    input:
        kernels_before,
    output:
        touch("results/kernels/{stage}-{code}"),
    log:
        "results/logs/kernels/{stage}-{code}.log",
    wildcard_constraints:
        stage="compare|solve|search",
        code="[0-9a-f]+",
    localrule: True
    params:
        measures=lambda wildcards: experiment.measures(wildcards.stage),
    shell:
        "jigsaw compile {wildcards.stage} {params.measures} --log {log:q}"
