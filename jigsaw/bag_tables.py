"""Tables of mixed bags: how the images of each were told apart and put together, ours beside published."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from jigsaw.errors import JigsawError
from jigsaw.records import Record, citations, distinct, fraction, grouped, made_by, means, span
from jigsaw.table import Column, Table, as_count, as_percent, as_seconds

_COLUMNS = (
    Column("bag"),
    Column("images"),
    Column("solver"),
    Column("bags"),
    Column("pieces"),
    Column("images found", as_count),
    Column("number right", as_percent),
    Column("neighbor", as_percent),
    Column("identical", as_percent),
    Column("ceiling", as_percent),
    Column("SEDAS", as_percent),
    Column("ENAS", as_percent),
    Column("perfect", as_percent),
    Column("pixel-perfect", as_percent),
    Column("perfect apart", as_percent),
    Column("foreign", as_count),
    Column("seconds", as_seconds),
)
# What published results may say of a bag, in per cent, by the column where it stands.
_PUBLISHED = {
    "number right": "number_right",
    "neighbor": "neighbor",
    "SEDAS": "sedas",
    "ENAS": "enas",
    "perfect": "perfect",
    "perfect apart": "perfect_apart",
}
_MEANING = (
    "Means over the bags of a row. images found: separate images in the solution; number right: bags with as "
    "many as there are, in %; neighbor: true adjacencies found; identical: the same, pixel-identical pieces "
    "being equal; ceiling: adjacencies that touch no duplicate; SEDAS, ENAS: pieces and sides right in the "
    "separate images, foreign pieces counting against (Hammoudeh & Pollett); perfect: images all of whose "
    "adjacencies are found; perfect apart: images that are a separate image by themselves without any "
    "mistake; foreign: pieces of other images in the separate image that has most pieces of an image; "
    "seconds: comparing and solving."
)


def mixed_bags_table(records: Sequence[Record], solvers: Sequence[Record]) -> Table:
    """One row a bag and preset; bags of a draw are summed up by their number of images."""
    rows = []
    named = [{**record, "bag": record["draw"] or record["puzzle"]} for record in records]
    for (bag, images), group in grouped(named, "bag", "images"):
        for (preset,), ours in grouped(group, "preset"):
            rows.append([bag, images, f"jigsaw, preset {preset}", *_scores(ours)])
        for solver in solvers:
            result = solver.get("bags", {}).get(bag, {}).get(images)
            if result:
                shown = [fraction(result.get(_PUBLISHED.get(column.title))) for column in _COLUMNS[3:]]
                rows.append([bag, images, solver["name"], *shown])
    return Table("Mixed bags", _COLUMNS, rows, [_MEANING, *citations(solvers), made_by(records)])


def drawn_bags_table(records: Sequence[Record]) -> Table:
    """One row a drawn bag and preset, and the images that were drawn."""
    drawn = [record for record in records if record["draw"]]
    if not drawn:
        raise JigsawError(
            "none of the records is of a drawn bag; name the draw with `jigsaw evaluate --draw`"
        )
    rows = []
    for (bag, images, preset), ours in grouped(drawn, "puzzle", "images", "preset"):
        names = ", ".join(row["image"] for row in ours[0]["per_image"])
        rows.append([bag, images, f"jigsaw, preset {preset}", *_scores(ours), names])
    columns = [*_COLUMNS, Column("drawn")]
    return Table("Drawn bags", columns, rows, [_MEANING, made_by(drawn)])


def _scores(group: Sequence[Record]) -> list[Any]:
    """Return the values of a row, from the number of bags on."""
    images = [image for record in group for image in record["per_image"]]
    return [
        len(distinct(group, "puzzle")),
        span([record["pieces"] for record in group]),
        *means(group, "images_found"),
        fmean(record["images_found"] == record["images"] for record in group),
        *means(group, "neighbor", "neighbor_identical", "ceiling", "sedas", "enas"),
        *means(images, "perfect", "pixel_perfect"),
        fmean(image["enas"] == 1 for image in images),
        *means(group, "foreign", "seconds"),
    ]
