"""Measures what every stage costs at several sizes, fits how that grows, and writes workflow/resources.yaml.

    make resources                # up to 5,015 pieces, and what the last `make bench` measured above
    make resources SIZES="432"    # these sizes anew, the others as they were

Uses the real images where JIGSAW_DATA has them, generated ones elsewhere. What a search costs differs more
between images than between sizes, so that is taken from the reference results: the means of whole sets.
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import yaml
from bench import RESULTS, WORKERS, images_of, watched
from scipy.optimize import least_squares

from jigsaw.files import read_json, read_yaml, write_text
from jigsaw.presets import PRESETS
from jigsaw.provenance import provenance
from jigsaw.records import read_records
from jigsaw.reference import ROOT
from jigsaw.resources import FILE, Fit, populations

MEASURED = {432: 1, 805: 1, 5015: 4}  # pieces, and workers
POWERS = {"compare": (2.0, 2.0)}  # of the pieces, by which seconds grow: 1 elsewhere
SEARCHED = "solve, best"
LARGE = 1000  # pieces from which one image of a size is enough
HEADER = """\
# What every stage costs: core-seconds and megabytes as start + factor * pieces ** power, and the measurements
# to which they are fitted. `genetic` is the algorithm of preset paper, `search` what follows in preset best;
# the memory of `solve` is without that of the populations. Made by `make resources`.
"""


def main() -> None:
    """Measure and fit."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("sizes", nargs="*", type=int, metavar="PIECES")
    sizes = options.parse_args().sizes or list(MEASURED)
    measured = yaml.safe_load(FILE.read_text(encoding="utf-8"))["measured"] if FILE.is_file() else []
    benchmark = RESULTS / "benchmark.json"
    benched = from_benchmark(read_json(benchmark)) if benchmark.is_file() else []
    known = [*sizes, *(row["pieces"] for row in benched)]
    measured = [row for row in measured if row["pieces"] not in known and row["stage"] != SEARCHED]
    measured += [*benched, *from_reference(read_yaml(ROOT / "config.yaml", "a configuration"))]
    for pieces in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            for path in images_of(pieces, Path(scratch), quick=False)[: 1 if pieces > LARGE else 2]:
                measured += stages(pieces, path, Path(scratch))
    save(sorted(measured, key=lambda row: (row["stage"], row["pieces"])))


def from_benchmark(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a benchmark measured above the sizes measured here; all its workers count as busy."""
    names = {"compare": "compare, ssd", "solve": "solve, paper"}
    return [
        {
            "stage": names.get(row["stage"], row["stage"]),
            "pieces": row["pieces"],
            "image": report["images"].get(str(row["pieces"]), "generated").split(",")[0],
            "core_seconds": round(row["seconds"] * (WORKERS if row["stage"] in names else 1), 2),
            "mb": round(row["peak_mb"]),
        }
        for row in [*report["stages"], *(report["limit"] or [])]
        if row["pieces"] > max(MEASURED) and row["stage"] in (*names, "cut", "evaluate", "draw")
    ]


def from_reference(config: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what solving with preset best took on average, without start-up, on the image sets."""
    rows = []
    for name, declared in config["sets"].items():
        path = ROOT / "results" / "reference" / "records" / f"{name}.json"
        records = read_records([path]) if "pieces" in declared and path.is_file() else []
        costs = [record["stages"]["solve"] for record in records if record["preset"] == "best"]
        if not costs:
            continue
        rows.append(
            {
                "stage": SEARCHED,
                "pieces": declared["pieces"],
                "image": f"{name}, mean of {len(costs)}",
                "core_seconds": round(fmean(cost["core_seconds"] for cost in costs), 2),
                "mb": round(max(cost["peak_mb"] for cost in costs)),
            }
        )
    return rows


def stages(pieces: int, path: Path, scratch: Path) -> list[dict[str, Any]]:
    """Run every stage but the search as a command of its own, as in the workflow."""
    at = {name: str(scratch / f"{name}.h5") for name in ("P", "T", "ssd", "fused", "S", "U")}
    workers = ["--workers", str(MEASURED[pieces])]
    judged = ["--pieces", at["P"], "--truth", at["T"], "--out", str(scratch / "scores.json")]
    commands = {
        "cut": ["cut", str(path), "--pieces", at["P"], "--truth", at["T"]],
        "compare, ssd": ["compare", at["P"], "--out", at["ssd"], *workers],
        "compare": ["compare", at["P"], "--out", at["fused"], "--measure", "fused", *workers],
        "quality": ["quality", at["fused"], "--truth", at["T"], "--out", str(scratch / "quality.json")],
        "solve, paper": ["solve", at["ssd"], "--out", at["S"], "--preset", "paper", *workers],
        "unmix": ["unmix", at["S"], "--edges", at["fused"], "--out", at["U"]],
        "evaluate": ["evaluate", at["S"], *judged],
        "draw": ["draw", at["S"], "--pieces", at["P"], "--out", str(scratch / "assembled.png")],
    }
    rows = []
    for stage, words in commands.items():
        cost = watched([*words, "--quiet"])
        figures = {"core_seconds": round(cost["core_seconds"], 2), "mb": round(cost["peak_mb"])}
        rows.append({"stage": stage, "pieces": pieces, "image": f"{path.parent.name}/{path.stem}", **figures})
        print(rows[-1], flush=True)
    return rows


def save(measured: list[dict[str, Any]]) -> None:
    """Write measurements and fits."""
    lines = "".join(
        f"- {yaml.safe_dump(row, default_flow_style=True, sort_keys=False, width=200)}" for row in measured
    )
    fitted = {
        stage: {key: [float(f"{value:.4g}") for value in fit] for key, fit in of.items()}
        for stage, of in fits_of(measured).items()
    }
    made = provenance()
    written = f"{HEADER}made_by: jigsaw {made['version']} {made['commit']}\n"
    write_text(
        FILE, f"{written}{yaml.safe_dump({'fits': fitted}, default_flow_style=None)}measured:\n{lines}"
    )


def fits_of(measured: list[dict[str, Any]]) -> dict[str, dict[str, Fit]]:
    """Fit core-seconds and megabytes of every stage."""
    by_stage = {stage: list(rows) for stage, rows in groupby(measured, key=lambda row: row["stage"])}
    fits = {
        stage: {
            "core_seconds": fit(rows, "core_seconds", POWERS.get(stage, (1.0, 1.0))),
            "mb": fit(rows, "mb"),
        }
        for stage, rows in by_stage.items()
        if ", " not in stage
    }
    genetic = fit(by_stage["solve, paper"], "core_seconds", (1.0, 2.0))
    paper, best = PRESETS["paper"], PRESETS["best"]
    share = best.population * best.generations / (paper.population * paper.generations)
    searches = [
        {**row, "core_seconds": row["core_seconds"] - share * genetic.growth(row["pieces"])}
        for row in by_stage[SEARCHED]
    ]
    bare = [
        {**row, "mb": row["mb"] - populations(settings, row["pieces"])}
        for stage, settings in (("solve, paper", paper), (SEARCHED, best))
        for row in by_stage[stage]
    ]
    return {
        **fits,
        "genetic": {"core_seconds": genetic},
        "search": {"core_seconds": fit(searches, "core_seconds", (1.0, 2.0))._replace(start=0.0)},
        "solve": {"mb": fit(bare, "mb")},
    }


def fit(rows: list[dict[str, Any]], key: str, powers: tuple[float, float] = (1.0, 1.0)) -> Fit:
    """Fit start and factor of a cost, and by which power it grows; half is as wrong as twice as much."""
    pieces, costs = (np.array([row[name] for row in rows], float) for name in ("pieces", key))
    most = pieces.max()

    def off(values: np.ndarray) -> np.ndarray:
        start, largest, power = values
        return np.log((start + largest * (pieces / most) ** power) / costs)

    low, high = (0, 0, powers[0] - 1e-9), (np.inf, np.inf, powers[1] + 1e-9)
    start, largest, power = least_squares(
        off, (costs.min(), costs.max(), np.mean(powers)), bounds=(low, high)
    ).x
    return Fit(float(start), float(largest / most**power), float(power))


if __name__ == "__main__":
    main()
