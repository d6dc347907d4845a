"""Records, plots and pictures to the page that shows them."""

PLOTS = ["accuracy", "fitness", "scaling", "stages"]


rule plot:
    input:
        records=expand("results/records/{set}.json", set=SETS),
        published="workflow/published.yaml",
    output:
        [
            report(
                f"results/plots/{name}.svg",
                caption=f"../report/{name}.rst",
                category="Plots",
                labels={"plot": name},
            )
            for name in PLOTS
        ],
    log:
        "results/logs/plot.log",
    localrule: True
    params:
        code=experiment.code("plot"),
        beside=experiment.beside("comparison"),
        presets=experiment.presets(),
    shell:
        "jigsaw plot {input.records:q} --out results/plots --published {input.published:q}"
        " --beside {params.beside:q} --presets {params.presets:q} --log {log:q}"


rule report:
    input:
        records=expand("results/records/{set}.json", set=SETS),
        published="workflow/published.yaml",
        plots=rules.plot.output,
        pictures=pictures,
        templates=experiment.templates(),
    output:
        "results/report.html",
    log:
        "results/logs/report.log",
    localrule: True
    params:
        code=experiment.code("report"),
        beside=experiment.beside_all(),
        presets=experiment.presets(),
    shell:
        "jigsaw report {input.records:q} --out {output:q} --pictures results/pictures --plots {input.plots:q}"
        " --published {input.published:q} --beside {params.beside:q} --presets {params.presets:q} --log {log:q}"
