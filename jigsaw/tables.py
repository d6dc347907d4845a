"""Tables of scores, with published results beside ours where they are given."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from jigsaw.bag_tables import drawn_bags_table, mixed_bags_table
from jigsaw.errors import JigsawError
from jigsaw.files import write_json, write_text
from jigsaw.records import (
    JUDGED,
    SCORED,
    SHARES,
    UNMIXED,
    Record,
    chosen,
    citations,
    distinct,
    fraction,
    grouped,
    made_by,
    means,
    read_published,
    read_records,
    span,
)
from jigsaw.table import Column, Table, as_count, as_percent, as_seconds, as_yes

STAGES = ("cut", "compare", "solve", "evaluate")
_NEEDED = {"measures": JUDGED, "mixed_bags": UNMIXED, "drawn_bags": UNMIXED}


def make_table(
    scores: Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    kind: str = "puzzles",
    published: str | os.PathLike[str] | None = None,
    beside: Sequence[str] | None = None,
    presets: Sequence[str] | None = None,
) -> None:
    """Write the table of the given kind over records of scores; the ending of `out` decides the format.

    Ending in .json, the records themselves are written, merged into one file; in .png, a plot is drawn of a
    table that has one. Given presets, only theirs are taken, in their order.
    """
    records = chosen(read_records(scores, _NEEDED.get(kind, SCORED)), presets)
    ending = Path(out).suffix
    if ending == ".json":
        write_json(out, records)
        return
    if ending == ".png" and kind == "ablation":
        from jigsaw.plots import ablation_plot

        ablation_plot(ablation_table(records), out)
        return
    formats = {".csv": Table.csv, ".md": Table.markdown, ".tex": Table.latex}
    if ending not in formats:
        raise JigsawError(
            f"{out}: unknown ending {ending!r} of a table of {kind}; use .csv, .md, .tex or .json"
            + ", or .png for a plot of kind ablation" * (ending == ".png")
        )
    solvers = read_published(published, beside)
    kinds = {
        "puzzles": lambda: puzzle_table(records),
        "mixed_bags": lambda: mixed_bags_table(records, solvers),
        "drawn_bags": lambda: drawn_bags_table(records),
        "accuracy": lambda: accuracy_table(records, solvers),
        "comparison": lambda: comparison_table(records, solvers),
        "performance": lambda: performance_table(records),
        "imperfect": lambda: imperfect_table(records),
        "ablation": lambda: ablation_table(records),
        "measures": lambda: measures_table(records),
    }
    if kind not in kinds:
        raise JigsawError(f"unknown kind of table {kind!r}; known: {', '.join(kinds)}")
    write_text(out, formats[ending](kinds[kind]()))


def puzzle_table(records: Sequence[Record]) -> Table:
    """One row a run, and the means of each preset below."""
    columns = [
        Column("set"),
        Column("puzzle"),
        Column("preset"),
        Column("run"),
        Column("pieces"),
        *_SCORES,
        Column("perfect", as_yes),
        Column("pixel-perfect", as_yes),
        Column("seconds", as_seconds),
    ]
    rows: list[list[Any]] = [
        [
            *(record[key] for key in ("set", "puzzle", "preset", "run", "pieces", *SHARES)),
            *(record[key] for key in ("perfect", "pixel_perfect", "seconds")),
        ]
        for record in records
    ]
    for (name, preset), group in grouped(records, "set", "preset"):
        solved = [sum(bool(r[key]) for r in group) for key in ("perfect", "pixel_perfect")]
        rows.append(
            [
                *(name, "mean", preset, None, span([r["pieces"] for r in group])),
                *means(group, *SHARES),
                *(f"{count} of {len(group)}" for count in solved),
                *means(group, "seconds"),
            ]
        )
    title = ", ".join(filter(None, distinct(records, "set"))) or "Puzzles"
    return Table(title, columns, rows, [_METRICS, made_by(records)])


def accuracy_table(records: Sequence[Record], solvers: Sequence[Record]) -> Table:
    """The paper's Table 1: mean neighbour accuracy and perfect puzzles of each set, ours beside published."""
    columns = [
        Column("set"),
        Column("pieces"),
        Column("images"),
        Column("preset"),
        Column("runs"),
        *_SCORES,
        Column("spread", as_percent),
        Column("perfect", as_count),
        Column("pixel-perfect", as_count),
        Column("seconds", as_seconds),
    ]
    for solver in solvers:
        columns += [
            Column(f"{solver['name']}: neighbor", as_percent),
            Column(f"{solver['name']}: perfect", as_count),
        ]
    rows = []
    for (name, preset), group in grouped(records, "set", "preset"):
        runs = len(distinct(group, "run"))
        row = [
            *(name, span([r["pieces"] for r in group]), len(distinct(group, "puzzle")), preset, runs),
            *means(group, *SHARES),
            _spread(group),
            *(sum(bool(r[key]) for r in group) / runs for key in ("perfect", "pixel_perfect")),
            *means(group, "seconds"),
        ]
        for solver in solvers:
            result = solver["results"].get(name, {})
            row += [fraction(result.get("neighbor")), result.get("perfect")]
        rows.append(row)
    spread = "spread: the standard deviation of the mean neighbor over runs with different seeds."
    return Table("Accuracy", columns, rows, [_METRICS, spread, *citations(solvers), made_by(records)])


def _spread(records: Sequence[Record]) -> float | None:
    """Return how much the mean neighbour accuracy differs between runs; None if there is but one."""
    runs = [means(group, "neighbor")[0] for _, group in grouped(records, "run")]
    return stdev(runs) if len(runs) > 1 else None


def comparison_table(records: Sequence[Record], solvers: Sequence[Record]) -> Table:
    """The paper's Table 2, extended: every solver's neighbour accuracy, perfect puzzles and time by set."""
    columns = [
        Column("set"),
        Column("pieces"),
        Column("solver"),
        Column("neighbor", as_percent),
        Column("perfect", as_count),
        Column("seconds", as_seconds),
    ]
    rows: list[list[Any]] = []
    for (name,), group in grouped(records, "set"):
        pieces = span([r["pieces"] for r in group])
        for (preset,), ours in grouped(group, "preset"):
            perfect = sum(r["perfect"] for r in ours) / len(distinct(ours, "run"))
            neighbor, seconds = means(ours, "neighbor", "seconds")
            rows.append([name, pieces, f"jigsaw, preset {preset}", neighbor, perfect, seconds])
        for solver in solvers:
            if name in solver["results"]:
                result = solver["results"][name]
                published = [fraction(result.get("neighbor")), result.get("perfect"), result.get("seconds")]
                rows.append([name, pieces, solver["name"], *published])
    return Table("Comparison with published solvers", columns, rows, [*citations(solvers), made_by(records)])


def performance_table(records: Sequence[Record]) -> Table:
    """Seconds and peak memory of each stage, means over the puzzles of a set."""
    columns = [Column("set"), Column("pieces"), Column("preset"), Column("puzzles")]
    columns += [Column(f"{stage} s", as_seconds) for stage in STAGES]
    columns += [Column(f"{stage} MB", "{:.0f}".format) for stage in STAGES]
    rows = []
    for (name, preset), group in grouped(records, "set", "preset"):
        row = [name, span([record["pieces"] for record in group]), preset, len(group)]
        for quantity in ("seconds", "peak_mb"):
            for stage in STAGES:
                values = [r["stages"][stage][quantity] for r in group if stage in r.get("stages", {})]
                row.append(fmean(values) if values else None)
        rows.append(row)
    measured = "Seconds of wall-clock time and peak memory of all processes of a stage, without start-up."
    return Table("Performance", columns, rows, [measured, made_by(records)])


def imperfect_table(records: Sequence[Record]) -> Table:
    """Every single image that a preset with a search did not solve to the last pixel, and why."""
    columns = [Column("set"), Column("puzzle"), Column("preset"), Column("imperfect runs")]
    columns += [Column(title, as_percent) for title in ("neighbor", "identical", "ceiling", "excess")]
    columns.append(Column("limited by"))
    rows = []
    searched = [r for r in records if r.get("settings", {}).get("members", 0) > 0 and r.get("true_fitness")]
    for (name, puzzle, preset), group in grouped(searched, "set", "puzzle", "preset"):
        wrong = [r for r in group if not r["pixel_perfect"] and r.get("images", 1) == 1]
        if wrong:
            excess = [r["fitness"] / r["true_fitness"] - 1 for r in wrong]
            limits = {"search" if more > _TIE else "measure" if more < -_TIE else "tie" for more in excess}
            shares = means(wrong, "neighbor", "neighbor_identical", "ceiling")
            runs = f"{len(wrong)} of {len(group)}"
            rows.append([name, puzzle, preset, runs, *shares, fmean(excess), ", ".join(sorted(limits))])
    meaning = (
        "Single images that are not pixel-perfect after a search. excess: by how much the fitness, of which "
        "less is better, is above that of the true image, in %; limited by the search if it is, by the "
        "measure if a wrong layout has the better fitness."
    )
    return Table("Imperfect images", columns, rows, [meaning, made_by(searched or records)])


_TIE = 1e-6  # relative difference of fitness that is none


def ablation_table(records: Sequence[Record]) -> Table:
    """What each part contributes: one row a variant, its measure and whether it searches, columns by set."""
    columns = [Column("variant"), Column("measure"), Column("search", as_yes)]
    sets = distinct(records, "set")
    for name in sets:
        columns += [
            Column(f"{name}: neighbor", as_percent),
            Column(f"{name}: identical", as_percent),
            Column(f"{name}: pixel-perfect", as_count),
            Column(f"{name}: seconds", as_seconds),
        ]
    rows = []
    for (preset,), group in grouped(records, "preset"):
        settings = group[0].get("settings", {})
        row = [preset, settings.get("measure"), settings.get("members", 0) > 0]
        for name in sets:
            mine = [record for record in group if record["set"] == name]
            if not mine:
                row += [None] * 4
                continue
            neighbor, identical, seconds = means(mine, "neighbor", "neighbor_identical", "seconds")
            solved = sum(bool(r["pixel_perfect"]) for r in mine) / len(distinct(mine, "run"))
            row += [neighbor, identical, solved, seconds]
        rows.append(row)
    return Table("What measure and search contribute", columns, rows, [_METRICS, made_by(records)])


def measures_table(records: Sequence[Record]) -> Table:
    """How good each measure is by itself, means over the puzzles of a set."""
    keys = ("first_choice", "buddy_precision", "buddy_recall")
    columns = [
        Column("set"),
        Column("pieces"),
        Column("puzzles"),
        Column("measure"),
        Column("first choice", as_percent),
        Column("buddy precision", as_percent),
        Column("buddy recall", as_percent),
        Column("seconds", as_seconds),
    ]
    rows = [
        [name, span([r["pieces"] for r in group]), len(group), measure, *means(group, *keys, "seconds")]
        for (name, measure), group in grouped(records, "set", "measure")
    ]
    meaning = (
        "first choice: true adjacencies that are an edge's most compatible, in %; buddy precision: best "
        "buddies that are true adjacencies; buddy recall: true adjacencies that are best buddies; "
        "seconds: comparing."
    )
    return Table("Measures", columns, rows, [meaning])


_METRICS = (
    "neighbor: true adjacencies found, in %; identical: the same, pixel-identical pieces being equal; "
    "ceiling: adjacencies that touch no duplicate; direct: pieces in the right place after the best rigid "
    "alignment; seconds: comparing and solving."
)


_SCORES = [Column(title, as_percent) for title in ("neighbor", "identical", "ceiling", "direct")]
