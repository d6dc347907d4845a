"""Regenerates the tables of Sholomon, David & Netanyahu (GECCO 2014) for every image set that is there."""

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

from jigsaw.errors import JigsawError
from jigsaw.experiment import BAGS, SUMMARIES, Experiment, use_own_environment

min_version("9.0")
use_own_environment()


configfile: "config.yaml"


container: "docker://python:3.11"


try:
    experiment = Experiment(config, workflow.basedir)
    SETS = experiment.sets
    for name in SETS:
        if not experiment.downloads(name):
            experiment.jobs(name)
except JigsawError as error:
    raise WorkflowError(str(error))
if experiment.missing and experiment.config.get("require_all"):
    raise WorkflowError("\n".join(experiment.missing))
for message in experiment.missing:
    logger.info(message)
if not SETS:
    raise WorkflowError("no image set is there, so there is nothing to do")


wildcard_constraints:
    set="[^/]+",
    puzzle="[^/]+",
    preset="[^/]+",
    measure="[^/]+",
    run=r"\d+",
    format="csv|md|tex",


include: "workflow/rules/common.smk"
include: "workflow/rules/kernels.smk"
include: "workflow/rules/images.smk"
include: "workflow/rules/cut.smk"
include: "workflow/rules/compare.smk"
include: "workflow/rules/solve.smk"
include: "workflow/rules/unmix.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        expand("results/tables/{table}.{format}", table=[*SETS, *SUMMARIES], format=["csv", "md", "tex"]),
        further_tables,
        "results/report.html",
