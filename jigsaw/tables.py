"""Tables of scores as CSV, Markdown and LaTeX, with published results beside ours where they are given."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import yaml
from tabulate import tabulate

from jigsaw.errors import JigsawError
from jigsaw.files import read_json, write_json, write_text

Record = dict[str, Any]
STAGES = ("cut", "compare", "solve", "evaluate")
_SHARES = ("neighbor", "neighbor_identical", "ceiling", "direct")
_NEEDED: dict[str, Any] = {
    **dict.fromkeys((*_SHARES, "seconds"), (int, float)),
    **dict.fromkeys(("perfect", "pixel_perfect"), bool),
    **dict.fromkeys(("pieces", "seed"), int),
    **dict.fromkeys(("preset", "version"), str),
}

_JUDGED: dict[str, Any] = {
    **dict.fromkeys(("first_choice", "buddy_precision", "buddy_recall", "seconds"), (int, float)),
    "pieces": int,
    "measure": str,
}


@dataclass(frozen=True)
class Column:
    """A column's title and how its values are printed."""

    title: str
    show: Callable[[Any], str] = str


@dataclass(frozen=True)
class Table:
    """Rows of plain values; None is an empty cell."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()

    def csv(self) -> str:
        """Return the values as they are, for programs."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([column.title for column in self.columns])
        writer.writerows([["" if value is None else value for value in row] for row in self.rows])
        return text.getvalue()

    def markdown(self) -> str:
        """Return the table for reading."""
        notes = "".join(f"\n{note}\n" for note in self.notes)
        return f"# {self.title}\n\n{self._formatted('github', escape=_markdown)}\n{notes}"

    def latex(self) -> str:
        """Return the table for a paper."""
        notes = "".join(f"% {note}\n" for note in (self.title, *self.notes))
        return notes + self._formatted("latex_booktabs", escape=str) + "\n"

    def _formatted(self, style: str, escape: Callable[[str], str]) -> str:
        shown = [
            [
                escape("" if value is None else column.show(value))
                for column, value in zip(self.columns, row, strict=True)
            ]
            for row in self.rows
        ]
        numbers = [
            all(row[i] is None or isinstance(row[i], (int, float)) for row in self.rows)
            for i in range(len(self.columns))
        ]
        return tabulate(
            shown,
            headers=[escape(column.title) for column in self.columns],
            tablefmt=style,
            disable_numparse=True,
            colalign=["right" if number else "left" for number in numbers],
        )


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
    records = read_records(scores, _JUDGED if kind == "measures" else _NEEDED)
    if presets is not None:
        records = [record for preset in presets for record in records if record["preset"] == preset]
        if not records:
            raise JigsawError(f"none of the records is of preset {', '.join(presets)}")
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
        "accuracy": lambda: accuracy_table(records, solvers),
        "comparison": lambda: comparison_table(records, solvers),
        "performance": lambda: performance_table(records),
        "ablation": lambda: ablation_table(records),
        "measures": lambda: measures_table(records),
    }
    if kind not in kinds:
        raise JigsawError(f"unknown kind of table {kind!r}; known: {', '.join(kinds)}")
    write_text(out, formats[ending](kinds[kind]()))


def read_records(
    paths: Iterable[str | os.PathLike[str]], needed: Mapping[str, Any] | None = None
) -> list[Record]:
    """Read records (of scores, unless other keys are needed) from files of one each or a list of them."""
    needed = _NEEDED if needed is None else needed
    maker = "evaluate" if needed is _NEEDED else "quality"
    records: list[Record] = []
    for path in paths:
        data = read_json(path)
        for record in data if isinstance(data, list) else [data]:
            for key, kind in needed.items():
                if not isinstance(record, dict) or not isinstance(record.get(key), kind):
                    raise JigsawError(
                        f"{path}: holds no scores ({key!r} is missing or not as it should be); "
                        f"make it again with `jigsaw {maker}`"
                    )
            records.append({"set": "", "puzzle": "", "run": 0, **record})
    return records


def read_published(path: str | os.PathLike[str] | None, beside: Sequence[str] | None = None) -> list[Record]:
    """Read the data file of published results, all of it or that of the named solvers."""
    if path is None:
        return []
    try:
        data = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise JigsawError(f"{path}: cannot be read as published results ({error})") from error
    if not isinstance(data, dict):
        raise JigsawError(f"{path}: holds no published results by solver")
    chosen = list(data) if beside is None else beside
    for key in chosen:
        if key not in data:
            raise JigsawError(f"{path}: has no solver {key!r}; known: {', '.join(data)}")
    return [data[key] for key in chosen]


def puzzle_table(records: Sequence[Record]) -> Table:
    """One row a run, and the means of each preset below."""
    columns = [
        Column("set"),
        Column("puzzle"),
        Column("preset"),
        Column("run"),
        Column("pieces"),
        *_SCORES,
        Column("perfect", _yes),
        Column("pixel-perfect", _yes),
        Column("seconds", _seconds),
    ]
    rows: list[list[Any]] = [
        [
            *(record[key] for key in ("set", "puzzle", "preset", "run", "pieces", *_SHARES)),
            *(record[key] for key in ("perfect", "pixel_perfect", "seconds")),
        ]
        for record in records
    ]
    for (name, preset), group in _grouped(records, "set", "preset"):
        solved = [sum(bool(r[key]) for r in group) for key in ("perfect", "pixel_perfect")]
        rows.append(
            [
                *(name, "mean", preset, None, _range([r["pieces"] for r in group])),
                *_means(group, *_SHARES),
                *(f"{count} of {len(group)}" for count in solved),
                *_means(group, "seconds"),
            ]
        )
    title = ", ".join(filter(None, _distinct(records, "set"))) or "Puzzles"
    return Table(title, columns, rows, [_METRICS, _made_by(records)])


def accuracy_table(records: Sequence[Record], solvers: Sequence[Record]) -> Table:
    """The paper's Table 1: mean neighbour accuracy and perfect puzzles of each set, ours beside published."""
    columns = [
        Column("set"),
        Column("pieces"),
        Column("images"),
        Column("preset"),
        Column("runs"),
        *_SCORES,
        Column("perfect", _count),
        Column("pixel-perfect", _count),
        Column("seconds", _seconds),
    ]
    for solver in solvers:
        columns += [
            Column(f"{solver['name']}: neighbor", _percent),
            Column(f"{solver['name']}: perfect", _count),
        ]
    rows = []
    for (name, preset), group in _grouped(records, "set", "preset"):
        runs = len(_distinct(group, "run"))
        row = [
            *(name, _range([r["pieces"] for r in group]), len(_distinct(group, "puzzle")), preset, runs),
            *_means(group, *_SHARES),
            *(sum(bool(r[key]) for r in group) / runs for key in ("perfect", "pixel_perfect")),
            *_means(group, "seconds"),
        ]
        for solver in solvers:
            result = solver["results"].get(name, {})
            row += [_fraction(result.get("neighbor")), result.get("perfect")]
        rows.append(row)
    return Table("Accuracy", columns, rows, [_METRICS, *_citations(solvers), _made_by(records)])


def comparison_table(records: Sequence[Record], solvers: Sequence[Record]) -> Table:
    """The paper's Table 2, extended: every solver's neighbour accuracy, perfect puzzles and time by set."""
    columns = [
        Column("set"),
        Column("pieces"),
        Column("solver"),
        Column("neighbor", _percent),
        Column("perfect", _count),
        Column("seconds", _seconds),
    ]
    rows: list[list[Any]] = []
    for (name,), group in _grouped(records, "set"):
        pieces = _range([r["pieces"] for r in group])
        for (preset,), ours in _grouped(group, "preset"):
            perfect = sum(r["perfect"] for r in ours) / len(_distinct(ours, "run"))
            neighbor, seconds = _means(ours, "neighbor", "seconds")
            rows.append([name, pieces, f"jigsaw, preset {preset}", neighbor, perfect, seconds])
        for solver in solvers:
            if name in solver["results"]:
                result = solver["results"][name]
                published = [_fraction(result.get("neighbor")), result.get("perfect"), result.get("seconds")]
                rows.append([name, pieces, solver["name"], *published])
    return Table(
        "Comparison with published solvers", columns, rows, [*_citations(solvers), _made_by(records)]
    )


def performance_table(records: Sequence[Record]) -> Table:
    """Seconds and peak memory of each stage, means over the puzzles of a set."""
    columns = [Column("set"), Column("pieces"), Column("preset"), Column("puzzles")]
    columns += [Column(f"{stage} s", _seconds) for stage in STAGES]
    columns += [Column(f"{stage} MB", "{:.0f}".format) for stage in STAGES]
    rows = []
    for (name, preset), group in _grouped(records, "set", "preset"):
        row = [name, _range([record["pieces"] for record in group]), preset, len(group)]
        for quantity in ("seconds", "peak_mb"):
            for stage in STAGES:
                values = [r["stages"][stage][quantity] for r in group if stage in r.get("stages", {})]
                row.append(fmean(values) if values else None)
        rows.append(row)
    measured = "Seconds of wall-clock time and peak memory of all processes of a stage, without start-up."
    return Table("Performance", columns, rows, [measured, _made_by(records)])


def ablation_table(records: Sequence[Record]) -> Table:
    """What each part contributes: one row a variant, its measure and whether it searches, columns by set."""
    columns = [Column("variant"), Column("measure"), Column("search", _yes)]
    sets = _distinct(records, "set")
    for name in sets:
        columns += [
            Column(f"{name}: neighbor", _percent),
            Column(f"{name}: identical", _percent),
            Column(f"{name}: pixel-perfect", _count),
            Column(f"{name}: seconds", _seconds),
        ]
    rows = []
    for (preset,), group in _grouped(records, "preset"):
        settings = group[0].get("settings", {})
        row = [preset, settings.get("measure"), settings.get("members", 0) > 0]
        for name in sets:
            mine = [record for record in group if record["set"] == name]
            if not mine:
                row += [None] * 4
                continue
            neighbor, identical, seconds = _means(mine, "neighbor", "neighbor_identical", "seconds")
            solved = sum(bool(r["pixel_perfect"]) for r in mine) / len(_distinct(mine, "run"))
            row += [neighbor, identical, solved, seconds]
        rows.append(row)
    return Table("What measure and search contribute", columns, rows, [_METRICS, _made_by(records)])


def measures_table(records: Sequence[Record]) -> Table:
    """How good each measure is by itself, means over the puzzles of a set."""
    keys = ("first_choice", "buddy_precision", "buddy_recall")
    columns = [
        Column("set"),
        Column("pieces"),
        Column("puzzles"),
        Column("measure"),
        Column("first choice", _percent),
        Column("buddy precision", _percent),
        Column("buddy recall", _percent),
        Column("seconds", _seconds),
    ]
    rows = [
        [name, _range([r["pieces"] for r in group]), len(group), measure, *_means(group, *keys, "seconds")]
        for (name, measure), group in _grouped(records, "set", "measure")
    ]
    meaning = (
        "first choice: true adjacencies that are an edge's most compatible, in %; buddy precision: best "
        "buddies that are true adjacencies; buddy recall: true adjacencies that are best buddies; "
        "seconds: comparing."
    )
    return Table("Measures", columns, rows, [meaning])


def summary(scores: Record) -> str:
    """Return the scores of one puzzle for the terminal."""
    rows = [
        ("pieces", str(scores["pieces"])),
        ("images", str(scores["images"])),
        ("neighbor", _percent(scores["neighbor"]) + " %"),
        ("  identical pieces equal", _percent(scores["neighbor_identical"]) + " %"),
        ("  ceiling", _percent(scores["ceiling"]) + " %"),
        ("direct", _percent(scores["direct"]) + " %"),
        ("perfect", _yes(scores["perfect"])),
        ("pixel-perfect", _yes(scores["pixel_perfect"])),
        ("seconds", _seconds(scores["seconds"])),
    ]
    return tabulate(rows, tablefmt="plain", disable_numparse=True)


_METRICS = (
    "neighbor: true adjacencies found, in %; identical: the same, pixel-identical pieces being equal; "
    "ceiling: adjacencies that touch no duplicate; direct: pieces in the right place after the best rigid "
    "alignment; seconds: comparing and solving."
)


def _means(records: Sequence[Record], *keys: str) -> list[float]:
    return [fmean(record[key] for record in records) for key in keys]


def _distinct(records: Iterable[Record], key: str) -> list[Any]:
    return list(dict.fromkeys(record[key] for record in records))


def _grouped(records: Iterable[Record], *keys: str) -> list[tuple[tuple[Any, ...], list[Record]]]:
    """Group records by the values of the keys, in order of first appearance."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(record[key] for key in keys), []).append(record)
    return list(groups.items())


def _citations(solvers: Sequence[Record]) -> list[str]:
    return [f"{solver['name']}: {solver['citation']}" for solver in solvers]


def _made_by(records: Sequence[Record]) -> str:
    versions = sorted(
        {f"{r['version']} {r.get('provenance', {}).get('commit', '')}".strip() for r in records}
    )
    seeds = sorted({int(record["seed"]) for record in records})
    return f"Made by jigsaw {', '.join(versions)}; solver seeds {', '.join(map(str, seeds))}."


def _percent(share: float) -> str:
    return f"{100.0 if share >= 1 else min(100 * share, 99.99):.2f}"  # 100.00 means all of them


def _fraction(percent: float | None) -> float | None:
    return None if percent is None else percent / 100


def _yes(value: Any) -> str:
    return value if isinstance(value, str) else "yes" if value else "no"


def _count(value: float) -> str:
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.1f}"


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _range(values: Sequence[int]) -> int | str:
    low, high = min(values), max(values)
    return low if low == high else f"{low}–{high}"


def _markdown(text: str) -> str:
    return text.replace("|", "\\|")


_SCORES = [Column(title, _percent) for title in ("neighbor", "identical", "ceiling", "direct")]
