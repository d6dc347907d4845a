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
        beside=lambda wildcards: config["tables"][wildcards.table].get("beside", []),
    shell:
        "jigsaw table {input.records:q} --out {output:q} --kind {wildcards.table}"
        " --published {input.published:q} --beside {params.beside:q} --log {log:q}"


ruleorder: summary_table > set_table
