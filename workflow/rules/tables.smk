"""Scores to tables: one record a run, merged by set, then one table a set and the summaries over all."""


rule records:
    input:
        lambda wildcards: files_of(
            "results/puzzles/{set}/{puzzle}/{preset}/{run}/scores.json", [wildcards.set]
        ),
    output:
        "results/records/{set}.json",
    log:
        "results/logs/records/{set}.log",
    localrule: True
    params:
        code=experiment.code("table"),
    shell:
        "jigsaw table {input:q} --out {output:q} --log {log:q}"


rule set_table:
    input:
        "results/records/{set}.json",
    output:
        report(
            "results/tables/{set}.{format}",
            caption="../report/set.rst",
            category="Tables by set",
            subcategory="{set}",
            labels={"format": "{format}"},
        ),
    log:
        "results/logs/tables/{set}-{format}.log",
    localrule: True
    params:
        code=experiment.code("table"),
    shell:
        "jigsaw table {input:q} --out {output:q} --log {log:q}"


rule bag_table:
    input:
        records=f"results/records/{BAGS}.json",
        published="workflow/published.yaml",
    output:
        report(
            "results/tables/{table}.{format}",
            caption="../report/bags.rst",
            category="Summary tables",
            labels={"table": "{table}", "format": "{format}"},
        ),
    log:
        "results/logs/tables/{table}-{format}.log",
    wildcard_constraints:
        table=f"{BAGS}|drawn_bags",
    localrule: True
    params:
        code=experiment.code("table"),
        beside=experiment.beside(BAGS),
    shell:
        "jigsaw table {input.records:q} --out {output:q} --kind {wildcards.table}"
        " --published {input.published:q} --beside {params.beside:q} --log {log:q}"


rule summary_table:
    input:
        records=expand("results/records/{set}.json", set=SETS),
        published="workflow/published.yaml",
    output:
        report(
            "results/tables/{table}.{format}",
            caption="../report/summary.rst",
            category="Summary tables",
            labels={"table": "{table}", "format": "{format}"},
        ),
    log:
        "results/logs/tables/{table}-{format}.log",
    wildcard_constraints:
        table="|".join(SUMMARIES),
    localrule: True
    params:
        code=experiment.code("table"),
        beside=lambda wildcards: experiment.beside(wildcards.table),
        presets=experiment.presets(),
    shell:
        "jigsaw table {input.records:q} --out {output:q} --kind {wildcards.table}"
        " --published {input.published:q} --beside {params.beside:q} --presets {params.presets:q} --log {log:q}"


rule ablation_table:
    input:
        expand("results/records/{set}.json", set=experiment.sets_of("ablation")),
    output:
        report(
            "results/tables/ablation.{format}",
            caption="../report/ablation.rst",
            category="Summary tables",
            labels={"table": "ablation", "format": "{format}"},
        ),
    log:
        "results/logs/tables/ablation-{format}.log",
    wildcard_constraints:
        format="csv|md|tex|png",
    localrule: True
    params:
        code=experiment.code("table"),
        presets=experiment.presets("ablation"),
    shell:
        "jigsaw table {input:q} --out {output:q} --kind ablation --presets {params.presets:q} --log {log:q}"


rule measures_table:
    input:
        quality_files,
    output:
        report(
            "results/tables/measures.{format}",
            caption="../report/measures.rst",
            category="Summary tables",
            labels={"table": "measures", "format": "{format}"},
        ),
    log:
        "results/logs/tables/measures-{format}.log",
    localrule: True
    params:
        code=experiment.code("table"),
    shell:
        "jigsaw table {input:q} --out {output:q} --kind measures --log {log:q}"


ruleorder: ablation_table > measures_table > bag_table > summary_table > set_table
