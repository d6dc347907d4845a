"""Solutions of mixed bags to separate images, for presets whose solver leaves that undone. No truth is read."""


rule unmix:
    input:
        solution="results/puzzles/{set}/{puzzle}/{preset}/{run}/solution.h5",
        edges=f"results/puzzles/{{set}}/{{puzzle}}/edges-{experiment.unmixing}.h5",
        kernels=kernels("search"),
    output:
        "results/puzzles/{set}/{puzzle}/{preset}/{run}/unmixed.h5",
    log:
        "results/logs/unmix/{set}/{puzzle}-{preset}-{run}.log",
    wildcard_constraints:
        set=BAGS,
    resources:
        mem_mb=needed("unmix", "mem_mb"),
        runtime=needed("unmix", "runtime"),
    params:
        code=experiment.code("unmix"),
    shell:
        "jigsaw unmix {input.solution:q} --edges {input.edges:q} --out {output:q} --log {log:q}"
