"""The reference results: what is kept of a complete run of the workflow, and whether it can be made again.

results/reference has the records of all runs, one a line, the tables and plots made of them, the
configuration, and where it was run. README's headline is made of the records, too.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from jigsaw.bags import BAGS
from jigsaw.errors import JigsawError
from jigsaw.experiment import Experiment, use_own_environment
from jigsaw.files import read_json, read_yaml, scratch_folder, write_json, write_text
from jigsaw.provenance import libraries, processor
from jigsaw.records import SCORED, Record, distinct, fraction, grouped, means, read_published, read_records
from jigsaw.table import Column, Table, as_count, as_percent

ROOT = Path(__file__).resolve().parents[1]
MARKS = ("<!-- headline: made by `jigsaw reference keep` -->", "<!-- end of headline -->")
_COPIED = {"tables": ("*.csv", "*.md", "*.tex", "*.png"), "plots": ("*.svg",)}
_LONG = ("history",)  # what records are without: a number for every generation
_COMPARED = (
    "solution",
    "neighbor",
    "neighbor_identical",
    "direct",
    "pixel_perfect",
    "images_found",
    "fitness",
)

log = logging.getLogger(__name__)


def _experiment(config: Path) -> Experiment:
    """Read a configuration, wherever it lies, as one of this project."""
    return Experiment(read_yaml(config, "a configuration"), ROOT)


# -- keeping -------------------------------------------------------------------------------------------


def keep(config: Path, out: Path, readme: Path) -> None:
    """Put the results of a complete run into the folder beside them, and the headline into README."""
    experiment, results = _experiment(config), out.parent
    paths = [results / "records" / f"{name}.json" for name in experiment.sets]
    lacking = [*experiment.missing, *(f"{path} is not there" for path in paths if not path.is_file())]
    if lacking:
        raise JigsawError("the results are not complete; run snakemake first:\n" + "\n".join(lacking))
    records = read_records(paths)
    _check_commits(records)
    table = headline(records, published_beside(experiment))
    text = with_headline(readme.read_text(encoding="utf-8"), table)
    with scratch_folder(out) as scratch:
        new = scratch / out.name
        for path, (_, group) in zip(paths, grouped(records, "set"), strict=True):
            write_text(new / "records" / path.name, compact(group))
        for folder, patterns in _COPIED.items():
            (new / folder).mkdir()
            for path in sorted(path for pattern in patterns for path in (results / folder).glob(pattern)):
                shutil.copyfile(path, new / folder / path.name)
        shutil.copyfile(config, new / "config.yaml")
        write_json(new / "environment.json", environment(records))
        if out.exists():
            out.rename(scratch / "old")
        new.rename(out)
    write_text(readme, text)


def compact(records: Iterable[Record]) -> str:
    """Return records as JSON, one a line, without what is long."""
    lines = [
        json.dumps({key: value for key, value in record.items() if key not in _LONG}, allow_nan=False)
        for record in records
    ]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _check_commits(records: Sequence[Record]) -> None:
    for record in records:
        commit = record.get("provenance", {}).get("commit", "")
        if not re.fullmatch("[0-9a-f]+", commit):
            raise JigsawError(
                f"{record['set']}/{record['puzzle']} was solved by code in no commit ({commit or 'none'}); "
                "commit it and run again"
            )


def environment(records: Sequence[Record]) -> dict[str, Any]:
    """Return where and by what the records were made, and what that took."""
    return {
        "commits": sorted({record["provenance"]["commit"] for record in records}),
        "machines": sorted({record["provenance"]["machine"] for record in records}),
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "libraries": libraries(),
        "runs": len(records),
        "core_hours": round(core_hours(records), 1),
    }


def core_hours(records: Iterable[Record]) -> float:
    """Return the processor time of all stages; pieces and edges that several runs share count once."""
    costs: dict[tuple[str, ...], float] = {}
    for record in records:
        for stage, cost in record["stages"].items():
            own = [record["preset"], str(record["run"])]
            run = {"cut": [], "compare": [record["settings"]["measure"]]}.get(stage, own)
            costs[(record["set"], record["puzzle"], stage, *run)] = cost["core_seconds"]
    return sum(costs.values()) / 3600


# -- the headline of README ----------------------------------------------------------------------------


def published_beside(experiment: Experiment) -> list[Record]:
    """Return the published results that stand beside ours."""
    return read_published(ROOT / "workflow" / "published.yaml", experiment.beside("comparison"))


def headline(records: Sequence[Record], solvers: Sequence[Record]) -> str:
    """Return the table that opens README: neighbour accuracy of every solver on each set, and our cost."""
    ours = [record for record in records if record["set"] != BAGS]
    presets = [preset for preset in ("best", "paper") if any(r["preset"] == preset for r in ours)]
    sets = [name for name in distinct(ours, "set") if any(name in solver["results"] for solver in solvers)]
    columns = [Column("pieces"), Column("images")]
    columns += [Column(f"`{preset}`", as_percent) for preset in presets]
    columns += [Column("ceiling", as_percent), Column("pixel-perfect", as_count)]
    columns += [Column(solver["name"], as_percent) for solver in solvers]
    columns += [Column("seconds", as_count), Column("MB", as_count)]
    rows = []
    for name in sets:
        of_set = [record for record in ours if record["set"] == name]
        group = [record for record in of_set if record["preset"] == presets[0]]
        runs = len(distinct(group, "run"))
        row: list[Any] = [group[0]["pieces"], len(distinct(group, "puzzle"))]
        for preset in presets:
            mine = [record for record in of_set if record["preset"] == preset]
            row.append(means(mine, "neighbor")[0] if mine else None)
        row += [*means(group, "ceiling"), sum(bool(r["pixel_perfect"]) for r in group) / runs]
        row += [fraction(solver["results"].get(name, {}).get("neighbor")) for solver in solvers]
        row.append(round(fmean(sum(stage["seconds"] for stage in r["stages"].values()) for r in group), 1))
        row.append(round(max(stage["peak_mb"] for r in group for stage in r["stages"].values())))
        rows.append(row)
    return Table("", columns, rows).markdown().split("\n\n", 1)[1].strip()


def with_headline(text: str, table: str) -> str:
    """Return README with this headline instead of the one it has."""
    first, last = (re.escape(mark) for mark in MARKS)
    if len(re.findall(f"{first}.*?{last}", text, re.DOTALL)) != 1:
        raise JigsawError(
            f"README.md: has no place for the headline, which is between {MARKS[0]} and {MARKS[1]}"
        )
    return re.sub(
        f"{first}.*?{last}", lambda _: f"{MARKS[0]}\n\n{table}\n\n{MARKS[1]}", text, flags=re.DOTALL
    )


# -- checking ------------------------------------------------------------------------------------------


def check(folder: Path, count: int, cores: int) -> Table:
    """Make some of the results again, in the workflow, and compare them bit for bit with those that are kept.

    Of each preset, the `count` smallest puzzles whose images are there.
    """
    experiment = _experiment(folder / "config.yaml")
    records = read_records(sorted((folder / "records").glob("*.json")), {**SCORED, "solution": str})
    kept = sample(records, experiment, count)
    if not kept:
        raise JigsawError(f"{folder}: none of the puzzles' images are there, so there is nothing to check")
    with tempfile.TemporaryDirectory() as scratch:
        made = _made_again(kept, folder / "config.yaml", Path(scratch), cores)
    rows = [[*(old[key] for key in ("set", "puzzle", "preset", "run")), same(old, new)] for old, new in made]
    table = Table("Made again", [Column(t) for t in ("set", "puzzle", "preset", "run", "differs in")], rows)
    if any(row[-1] for row in rows):
        raise JigsawError(
            f"{folder}: what was made again differs\n\n{table.markdown()}\n"
            f"kept: commits {', '.join(read_json(folder / 'environment.json')['commits'])}, "
            f"processor {read_json(folder / 'environment.json')['processor']}; this is a {processor()}"
        )
    return table


def sample(records: Sequence[Record], experiment: Experiment, count: int) -> list[Record]:
    """Return the records of the smallest puzzles whose images are there, some of each preset."""
    there = set(experiment.sets)
    able = [
        record
        for record in records
        if record["set"] in there and record["puzzle"] in experiment.puzzles(record["set"])
    ]
    able.sort(key=lambda record: record["pieces"])
    return [record for _, group in grouped(able, "preset") for record in group[:count]]


def same(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Name what differs between two records of one run; empty if nothing does."""
    return ", ".join(key for key in _COMPARED if old.get(key) != new.get(key))


def _made_again(
    kept: Sequence[Record], config: Path, scratch: Path, cores: int
) -> list[tuple[Record, Record]]:
    files = [
        Path(
            "results",
            "puzzles",
            *(str(old[key]) for key in ("set", "puzzle", "preset", "run")),
            "scores.json",
        )
        for old in kept
    ]
    use_own_environment()
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--snakefile",
        str(ROOT / "Snakefile"),
        "--cores",
        str(cores),
    ]
    command += ["--directory", str(scratch), "--configfile", str(config.resolve()), "--quiet", "all", "--"]
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise JigsawError(f"the sample cannot be made again:\n{done.stderr.strip()}")
    return [(old, read_records([scratch / file])[0]) for old, file in zip(kept, files, strict=True)]
