"""Measures what every stage costs at several sizes, fits how that grows, and writes workflow/resources.yaml.

    make resources                # all sizes
    make resources SIZES="432"    # these sizes anew, the others as they were

Uses the real images where JIGSAW_DATA has them, generated ones elsewhere.
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from bench import SIZES, images_of, watched
from scipy.optimize import least_squares

from jigsaw.files import write_text
from jigsaw.presets import PRESETS
from jigsaw.provenance import provenance
from jigsaw.resources import FILE, Fit, populations

WORKERS = {432: 1, 805: 1, 5015: 4, 10375: 16, 22755: 16}
LARGE = 1000  # pieces from which one image of a size is enough,
SEARCHED = 6000  # and up to which a search without a limit of time ends before long
HEADER = """\
# What every stage costs: core-seconds and megabytes as start + factor * pieces ** power, and the measurements
# to which they are fitted. `genetic` is the algorithm of preset paper, `search` what follows in preset best;
# the memory of `solve` is without that of the populations. Made by `make resources`.
"""


def main() -> None:
    """Measure and fit."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("sizes", nargs="*", type=int, choices=[*SIZES, []], default=[])
    sizes = options.parse_args().sizes or list(SIZES)
    measured = yaml.safe_load(FILE.read_text(encoding="utf-8"))["measured"] if FILE.is_file() else []
    measured = [row for row in measured if row["pieces"] not in sizes]
    for pieces in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            for path in images_of(pieces, Path(scratch), quick=False)[: 1 if pieces > LARGE else 2]:
                measured += stages(pieces, path, Path(scratch))
    save(sorted(measured, key=lambda row: (row["stage"], row["pieces"])))


def stages(pieces: int, path: Path, scratch: Path) -> list[dict[str, Any]]:
    """Run every stage as a command of its own, as in the workflow, but the search without a limit of time."""
    at = {name: str(scratch / f"{name}.h5") for name in ("P", "T", "ssd", "fused", "S", "B", "U")}
    workers = ["--workers", str(WORKERS[pieces])]
    judged = ["--pieces", at["P"], "--truth", at["T"], "--out", str(scratch / "scores.json")]
    commands = {
        "cut": ["cut", str(path), "--pieces", at["P"], "--truth", at["T"]],
        "compare, ssd": ["compare", at["P"], "--out", at["ssd"], *workers],
        "compare": ["compare", at["P"], "--out", at["fused"], "--measure", "fused", *workers],
        "quality": ["quality", at["fused"], "--truth", at["T"], "--out", str(scratch / "quality.json")],
        "solve, paper": ["solve", at["ssd"], "--out", at["S"], "--preset", "paper", *workers],
        "solve, best": [
            "solve",
            at["fused"],
            "--out",
            at["B"],
            "--preset",
            "best",
            "--budget",
            "1",
            *workers,
        ],
        "unmix": ["unmix", at["S"], "--edges", at["fused"], "--out", at["U"]],
        "evaluate": ["evaluate", at["S"], *judged],
        "draw": ["draw", at["S"], "--pieces", at["P"], "--out", str(scratch / "assembled.png")],
    }
    if pieces > SEARCHED:
        del commands["solve, best"]
    rows = []
    for stage, words in commands.items():
        cost = watched([*words, "--quiet"])
        figures = {"core_seconds": round(cost["core_seconds"], 2), "mb": round(cost["peak_mb"])}
        rows.append({"stage": stage, "pieces": pieces, "image": f"{path.parent.name}/{path.stem}", **figures})
        print(rows[-1], flush=True)
    return rows


def save(measured: list[dict[str, Any]]) -> None:
    """Write measurements and fits."""
    lines = "".join(f"- {yaml.safe_dump(row, default_flow_style=True, sort_keys=False)}" for row in measured)
    fitted = {
        stage: {key: [float(f"{value:.4g}") for value in fit] for key, fit in of.items()}
        for stage, of in fits_of(measured).items()
    }
    made = provenance()
    written = f"{HEADER}made_by: jigsaw {made['version']} {made['commit']}\n"
    write_text(FILE, f"{written}{yaml.safe_dump({'fits': fitted})}measured:\n{lines}")


def fits_of(measured: list[dict[str, Any]]) -> dict[str, dict[str, Fit]]:
    """Fit core-seconds and megabytes of every stage."""
    by_stage = {stage: list(rows) for stage, rows in groupby(measured, key=lambda row: row["stage"])}
    fits = {
        stage: {"core_seconds": fit(rows, "core_seconds"), "mb": fit(rows, "mb", power=1.0)}
        for stage, rows in by_stage.items()
        if ", " not in stage
    }
    genetic = fit(by_stage["solve, paper"], "core_seconds")
    paper, best = PRESETS["paper"], PRESETS["best"]
    share = best.population * best.generations / (paper.population * paper.generations)
    searches = [
        {**row, "core_seconds": row["core_seconds"] - share * genetic.growth(row["pieces"])}
        for row in by_stage["solve, best"]
    ]
    bare = [
        {**row, "mb": row["mb"] - populations(settings, row["pieces"])}
        for stage, settings in (("solve, paper", paper), ("solve, best", best))
        for row in by_stage[stage]
    ]
    return {
        **fits,
        "genetic": {"core_seconds": genetic},
        "search": {"core_seconds": fit(searches, "core_seconds")},
        "solve": {"mb": fit(bare, "mb", power=1.0)},
    }


def fit(rows: list[dict[str, Any]], key: str, power: float | None = None) -> Fit:
    """Fit how a cost grows, relative errors counting alike; the power is given or fitted too."""
    pieces, costs = (np.array([row[name] for row in rows], float) for name in ("pieces", key))
    most = pieces.max()
    low, high = (power or 0.5, power or 2.5)

    def off(values: np.ndarray) -> np.ndarray:
        return (values[0] + values[1] * (pieces / most) ** values[2]) / costs - 1

    first = [costs.min(), costs.max(), (low + high) / 2]
    bounds = ([0, 0, low - 1e-9], [np.inf, np.inf, high + 1e-9])
    start, factor, found = least_squares(off, first, bounds=bounds).x
    return Fit(start, factor / most**found, found)


if __name__ == "__main__":
    main()
