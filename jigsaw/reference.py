"""The reference results: what is kept of runs of the workflow, and whether it can be made again.

results/reference has the records of all runs, one a line, the tables and plots made of them, the
configuration, and where they were run. README's headline is made of the records, too. As the whole experiment
takes hours, it may be kept in parts: a run that is not made anew stays as it was kept.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jigsaw.bags import BAGS
from jigsaw.errors import JigsawError
from jigsaw.experiment import SUMMARIES, Experiment, Job, use_own_environment
from jigsaw.files import read_yaml, scratch_folder, write_json, write_text
from jigsaw.headline import environment, headline, with_headline
from jigsaw.plots import save_plots
from jigsaw.records import JUDGED, SCORED, Record, chosen, grouped, read_published, read_records
from jigsaw.table import Column, Table
from jigsaw.tables import make_table

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = ROOT / "workflow" / "published.yaml"
FORMATS = ("csv", "md", "tex")
MEASURES = "measures"
_PICTURES = ("bag.webp", "assembled.webp", "origins.webp")
_KEPT: dict[str, Any] = {**SCORED, "solution": str, "run": int, "stages": dict, "settings": dict}
_COMPARED = (
    "solution",
    "neighbor",
    "neighbor_identical",
    "direct",
    "pixel_perfect",
    "images_found",
    "fitness",
)


def _experiment(config: Path) -> Experiment:
    """Read a configuration, wherever it lies, as one of this project."""
    return Experiment(read_yaml(config, "a configuration"), ROOT)


def scores_of(job: Job) -> Path:
    """Return the file in which the workflow puts the record of a run, as a target for Snakemake."""
    return Path("results", "puzzles", job.set, job.puzzle, job.preset, str(job.run), "scores.json")


def _job(record: Record) -> Job:
    return Job(record["set"], record["puzzle"], record["preset"], record["run"])


# -- keeping -------------------------------------------------------------------------------------------


def keep(config: Path, folder: Path, readme: Path) -> str:
    """Put the results beside the folder into it, and the headline into README; say what is lacking yet."""
    experiment, results = _experiment(config), folder.parent
    jobs = _jobs(experiment)
    records, judged = _kept(experiment, folder), _kept_measures(folder)
    for job in jobs:
        path = results.parent / scores_of(job)
        if path.is_file():
            (record,) = read_records([path], _KEPT)
            _check_commit(record)
            records[job] = record
    for name, puzzle, measure in experiment.judged():
        path = results / "puzzles" / name / puzzle / f"quality-{measure}.json"
        if path.is_file():
            (judged[name, puzzle, measure],) = read_records([path], JUDGED)
    if not records:
        raise JigsawError(f"{results}: has no results to keep; run snakemake first")
    order = [*jobs, *(job for job in records if job not in jobs)]
    _write(folder, config, experiment, [records[job] for job in order if job in records], judged, readme)
    lacking = [job for job in jobs if job not in records]
    return f"{len(records)} runs are kept, {len(lacking)} are lacking" + (
        "; `jigsaw reference lacking` lists them for snakemake" if lacking else ""
    )


def lacking(config: Path, folder: Path) -> list[Path]:
    """Return what Snakemake must make for the reference results to be complete."""
    experiment = _experiment(config)
    kept = _kept(experiment, folder)
    return [scores_of(job) for job in _jobs(experiment) if job not in kept]


def _jobs(experiment: Experiment) -> list[Job]:
    return [job for name in experiment.sets for job in experiment.jobs(name)]


def _kept(experiment: Experiment, folder: Path) -> dict[Job, Record]:
    """Return the records that are kept of runs that the configuration still has."""
    paths = [path for path in sorted((folder / "records").glob("*.json")) if path.stem != MEASURES]
    records = {_job(record): record for record in read_records(paths, _KEPT)}
    return {job: record for job, record in records.items() if _is_wanted(experiment, job, record)}


def _is_wanted(experiment: Experiment, job: Job, record: Record) -> bool:
    declared = experiment.bags if job.set == BAGS else experiment.config["sets"]
    if (job.puzzle if job.set == BAGS else job.set) not in declared:
        return False
    if (job.preset, job.run) not in experiment.runs(job.set, job.puzzle):
        return False
    wanted = experiment.settings(job.preset).as_dict()
    if record["settings"].get("in_time", True):
        del wanted["budget"]  # it has decided nothing
    return all(record["settings"].get(key) == value for key, value in wanted.items())


def _kept_measures(folder: Path) -> dict[tuple[str, ...], Record]:
    path = folder / "records" / f"{MEASURES}.json"
    records = read_records([path], JUDGED) if path.is_file() else []
    return {(record["set"], record["puzzle"], record["measure"]): record for record in records}


def _write(
    folder: Path,
    config: Path,
    experiment: Experiment,
    records: Sequence[Record],
    judged: Mapping[tuple[str, ...], Record],
    readme: Path,
) -> None:
    """Write everything that follows from the records; the folder is exchanged as a whole."""
    text = with_headline(readme.read_text(encoding="utf-8"), headline(records, published_beside(experiment)))
    with scratch_folder(folder) as scratch:
        new = scratch / folder.name
        for (name,), group in grouped(records, "set"):
            write_text(new / "records" / f"{name}.json", compact(group, experiment.presets()))
        if judged:
            write_text(new / "records" / f"{MEASURES}.json", compact(judged.values()))
        write_tables(new, experiment)
        shown = chosen(list(records), experiment.presets())
        save_plots(shown, published_beside(experiment), new / "plots", "png")
        _copy_pictures(experiment, folder, new)
        shutil.copyfile(config, new / "config.yaml")
        write_json(new / "environment.json", environment(records))
        if folder.exists():
            folder.rename(scratch / "old")
        new.rename(folder)
    write_text(readme, text)


def _copy_pictures(experiment: Experiment, folder: Path, new: Path) -> None:
    """Keep pictures of the first mixed bag of photographs that may be shown: those that a library brings."""
    free = {name for name, declared in experiment.config["sets"].items() if "skimage" in declared}
    bag = next((name for name, bag in experiment.bags.items() if free.issuperset(bag.sets)), None)
    for name in _PICTURES if bag else ():
        made = folder.parent / "pictures" / BAGS / str(bag) / "best" / "0" / name
        source = made if made.is_file() else folder / "pictures" / name
        if source.is_file():
            (new / "pictures").mkdir(exist_ok=True)
            shutil.copyfile(source, new / "pictures" / name)


def write_tables(folder: Path, experiment: Experiment) -> None:
    """Write the tables of the workflow, from the records in a folder, beside them."""
    files = {path.stem: path for path in sorted((folder / "records").glob("*.json"))}
    measured, bags = files.pop(MEASURES, None), files.get(BAGS)
    sets = [name for name in [*experiment.config["sets"], BAGS] if name in files]

    def write(name: str, paths: Iterable[Path], formats: Sequence[str] = FORMATS, **options: Any) -> None:
        for ending in formats:
            make_table(list(paths), folder / "tables" / f"{name}.{ending}", **options)

    for name in sets:
        if name != BAGS:
            write(name, [files[name]])
    summaries: dict[str, Any] = {"published": PUBLISHED, "presets": experiment.presets()}
    for kind in SUMMARIES:
        write(kind, [files[name] for name in sets], kind=kind, beside=experiment.beside(kind), **summaries)
    if bags:
        beside: dict[str, Any] = {"published": PUBLISHED, "beside": experiment.beside(BAGS)}
        write(BAGS, [bags], kind=BAGS, **beside)
        if any(record["draw"] for record in read_records([bags])):
            write("drawn_bags", [bags], kind="drawn_bags", **beside)
    ablation = [files[name] for name in sets if name in experiment.sets_named("ablation")]
    if ablation:
        write(
            "ablation", ablation, (*FORMATS, "png"), kind="ablation", presets=experiment.presets("ablation")
        )
    if measured:
        write(MEASURES, [measured], kind=MEASURES)


def compact(records: Iterable[Record], presets: Sequence[str] = ()) -> str:
    """Return records as JSON, one a line.

    What is plotted of the generations is kept, in whole numbers, of the first run of the given presets.
    """
    lines = []
    for record in records:
        short = {key: value for key, value in record.items() if key != "history"}
        if "history" in record and record["preset"] in presets and record["run"] == 0:
            short["history"] = [round(fitness) for fitness in record["history"]]
        lines.append(json.dumps(short, allow_nan=False))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _check_commit(record: Record) -> None:
    commit = record.get("provenance", {}).get("commit", "")
    if not re.fullmatch("[0-9a-f]+", commit):
        raise JigsawError(
            f"{record['set']}/{record['puzzle']} was solved by code in no commit ({commit or 'none'}); "
            "commit it and run again"
        )


def published_beside(experiment: Experiment) -> list[Record]:
    """Return the published results that stand beside ours."""
    return read_published(PUBLISHED, experiment.beside("comparison"))


# -- checking ------------------------------------------------------------------------------------------


def check(folder: Path, count: int, cores: int) -> Table:
    """Make some of the results again, in the workflow, and compare them bit for bit with those that are kept.

    Of each preset, the `count` smallest puzzles whose images are there. On a machine of another kind than
    that which made them, sums may differ in their last digits: differences are told, but are no error there.
    """
    experiment = _experiment(folder / "config.yaml")
    kept = sample(list(_kept(experiment, folder).values()), experiment, count)
    if not kept:
        raise JigsawError(f"{folder}: none of the puzzles' images are there, so there is nothing to check")
    with tempfile.TemporaryDirectory() as scratch:
        made = _made_again(kept, folder / "config.yaml", Path(scratch), cores)
    rows = [
        [*(old[key] for key in ("set", "puzzle", "preset", "run")), difference(old, new)] for old, new in made
    ]
    told = [f"These were made by {'; '.join(sorted({machine_of(old) for old in kept}))}."]
    titles = ("set", "puzzle", "preset", "run", "differs in")
    table = Table("Made again", [Column(title) for title in titles], rows, told)
    if any(difference(old, new) and machine_of(old) == machine_of(new) for old, new in made):
        raise JigsawError(f"{folder}: what was made again differs\n\n{table.markdown()}")
    return table


def machine_of(record: Mapping[str, Any]) -> str:
    """Return what kind of machine made a record."""
    return str(record["provenance"]["machine"])


def sample(records: Sequence[Record], experiment: Experiment, count: int) -> list[Record]:
    """Return the records of the smallest puzzles whose images are there, some of each preset."""
    there = {name: experiment.puzzles(name) for name in experiment.sets}
    able = [
        record
        for record in records
        if record["puzzle"] in there.get(record["set"], ())
        and record["settings"].get("in_time", True)  # else it depends on the machine where it ended
    ]
    able.sort(key=lambda record: record["pieces"])
    return [record for _, group in grouped(able, "preset") for record in group[:count]]


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Name what differs between two records of one run; empty if nothing does."""
    return ", ".join(key for key in _COMPARED if old.get(key) != new.get(key))


def _made_again(
    kept: Sequence[Record], config: Path, scratch: Path, cores: int
) -> list[tuple[Record, Record]]:
    files = [scores_of(_job(old)) for old in kept]
    use_own_environment()
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--quiet", "all"]
    command += [
        "--cores",
        str(cores),
        "--directory",
        str(scratch),
        "--configfile",
        str(config.resolve()),
        "--",
    ]
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise JigsawError(f"the sample cannot be made again:\n{done.stderr.strip()}")
    return [(old, read_records([scratch / file])[0]) for old, file in zip(kept, files, strict=True)]
