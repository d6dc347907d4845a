"""The page of a whole experiment: tables, plots, and every puzzle with its pictures.

It is one file that needs no network; the pictures lie in a folder beside it, loaded when they are looked at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from jigsaw.bag_tables import mixed_bags_table
from jigsaw.bags import BAGS
from jigsaw.errors import JigsawError
from jigsaw.files import read_json, write_text
from jigsaw.records import (
    UNMIXED,
    Record,
    chosen,
    distinct,
    grouped,
    in_order,
    made_by,
    means,
    read_published,
    read_records,
)
from jigsaw.table import Table, as_percent, as_seconds
from jigsaw.tables import accuracy_table, comparison_table, performance_table

_PLOTS = {
    "accuracy": (
        "Accuracy of every puzzle",
        "A dot a run, against the ceiling, which only luck can pass as some pieces are identical, and the "
        "means that others published.",
    ),
    "fitness": (
        "Fitness over the generations",
        "Less is better. An assembly below the dashed line has a better fitness than the true image, so that "
        "a better search would not help; above it, it would.",
    ),
    "scaling": (
        "Cost by number of pieces",
        "Comparing and solving, and the most memory that any stage took; both axes are logarithmic.",
    ),
    "stages": ("Seconds by stage", "Means over the puzzles of a set; the axis is logarithmic."),
}
_KEPT = (
    *("set", "puzzle", "preset", "run", "pieces", "images", "images_found", "neighbor", "neighbor_identical"),
    *("ceiling", "direct", "sedas", "enas", "perfect", "pixel_perfect", "seconds", "fitness", "true_fitness"),
    *("history", "settings", "seed", "cut_seed", "piece_size", "version", "provenance", "stages"),
    "per_image",
)


def make_report(
    scores: Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    pictures: str | os.PathLike[str],
    plots: Sequence[str | os.PathLike[str]] = (),
    published: str | os.PathLike[str] | None = None,
    beside: Sequence[str] | None = None,
    presets: Sequence[str] | None = None,
) -> None:
    """Write the page of records of scores.

    Parameters
    ----------
    scores
        Files of records, each with one or a list of them.
    out
        The page.
    pictures
        The folder with the pictures of each run in SET/PUZZLE/PRESET/RUN, made by `jigsaw draw --all`.
    plots
        SVG files, as `jigsaw plot` makes them.
    published, beside, presets
        As for tables.
    """
    records = chosen(read_records(scores, UNMIXED), presets)
    solvers = read_published(published, beside)
    folder = quote(Path(os.path.relpath(pictures, Path(out).parent)).as_posix())
    runs = [_run(record, Path(pictures), folder) for record in records]
    environment = Environment(
        loader=PackageLoader("jigsaw"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False, "separators": (",", ":")}
    environment.filters |= {"percent": as_percent, "seconds": as_seconds}
    environment.tests["ours"] = lambda row: any(str(value).startswith("jigsaw, ") for value in row)
    page = environment.get_template("report.html").render(
        runs=runs,
        cards=_cards(runs),
        sets=[(name, len(distinct(group, "puzzle"))) for (name,), group in grouped(records, "set")],
        puzzles=len(grouped(records, "set", "puzzle")),
        figures=_figures(records),
        tables=_tables(records, solvers),
        plots=[_plot(Path(path)) for path in plots],
        made_by=made_by(records),
    )
    write_text(out, page)


def _run(record: Record, pictures: Path, folder: str) -> Record:
    """Return what the page tells of a run, and where its pictures are."""
    name = "/".join(str(record[key]) for key in ("set", "puzzle", "preset", "run"))
    index = pictures / name / "pictures.json"
    if not index.is_file():
        raise JigsawError(f"{index.parent}: has no pictures; make them with `jigsaw draw --all`")
    kept = {key: record[key] for key in _KEPT if key in record}
    kept["stages"] = {stage: record["stages"][stage] for stage in in_order(record.get("stages", {}))}
    if record["images"] == 1:
        kept["per_image"] = []
    return {"id": name, **kept, "folder": f"{folder}/{quote(name)}", "shown": read_json(index)["stages"]}


def _cards(runs: Sequence[Record]) -> list[Record]:
    """Return the first run of each puzzle and preset."""
    return [group[0] for _, group in grouped(runs, "set", "puzzle", "preset")]


def _figures(records: Sequence[Record]) -> list[Record]:
    """Return the key figures of each preset, that with the best accuracy first."""
    figures = []
    for (preset,), group in grouped(records, "preset"):
        neighbor, identical = means(group, "neighbor", "neighbor_identical")
        figures.append(
            {
                "preset": preset,
                "neighbor": neighbor,
                "identical": identical,
                "perfect": fmean(record["perfect"] for record in group),
                "pixel_perfect": fmean(record["pixel_perfect"] for record in group),
                "seconds": median(record["seconds"] for record in group),
                "runs": len(group),
            }
        )
    return sorted(figures, key=lambda figure: -figure["neighbor"])


def _tables(records: Sequence[Record], solvers: Sequence[Record]) -> list[Table]:
    """Return the tables: ours beside the published on the same images, then ours in detail."""
    sets = set(distinct(records, "set"))
    tables = [comparison_table(records, [solver for solver in solvers if sets & set(solver["results"])])]
    bags = [record for record in records if record["set"] == BAGS]
    if bags:
        names = {record["draw"] or record["puzzle"] for record in bags}
        tables.append(
            mixed_bags_table(bags, [solver for solver in solvers if names & set(solver.get("bags", {}))])
        )
    return [*tables, accuracy_table(records, []), performance_table(records)]


def _plot(path: Path) -> dict[str, Any]:
    """Return a plot as the page holds it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise JigsawError(
            f"{path}: cannot be read as a plot ({error}); make it with `jigsaw plot`"
        ) from error
    found = re.search(r"<svg.*</svg>", text, re.DOTALL)
    if found is None:
        raise JigsawError(f"{path}: is not an SVG file; make it with `jigsaw plot`")
    title, caption = _PLOTS.get(path.stem, (path.stem, ""))
    # Names inside SVG are global to a page.
    svg = re.sub(r'( id="|"#|url\(#)', rf"\1{path.stem}-", found[0])
    return {"name": path.stem, "title": title, "caption": caption, "svg": svg}
