"""What the records of all runs come to: the headline of README, and where and by what they were made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from jigsaw.bags import BAGS
from jigsaw.errors import JigsawError
from jigsaw.records import Record, distinct, fraction, grouped, means
from jigsaw.table import Column, Table, as_count, as_percent

MARKS = ("<!-- headline: made by `jigsaw reference keep` -->", "<!-- end of headline -->")


def headline(records: Sequence[Record], solvers: Sequence[Record]) -> str:
    """Return what opens README: neighbour accuracy of every solver on each set, and what ours took."""
    ours = [record for record in records if record["set"] != BAGS]
    best = {name: group for (name, preset), group in grouped(ours, "set", "preset") if preset == "best"}
    paper = {name: group for (name, preset), group in grouped(ours, "set", "preset") if preset == "paper"}
    sets = [name for name in best if any(name in solver["results"] for solver in solvers)]
    solvers = [solver for solver in solvers if any(name in solver["results"] for name in sets)]
    columns = [Column("set"), Column("pieces"), Column("images"), Column("ceiling", as_percent)]
    columns += [Column(f"**{preset}**", as_percent) for preset in ("best", "paper")]
    columns += [Column(solver["name"], as_percent) for solver in solvers]
    columns += [Column("pixel-perfect", as_count), Column("seconds", as_count), Column("MB", as_count)]
    rows = []
    for name in sets:
        group = best[name]
        images, of_paper = (len(distinct(some, "puzzle")) for some in (group, paper.get(name, group)))
        named = images if images == of_paper else f"{images} (`paper`: {of_paper})"
        row: list[Any] = [name, group[0]["pieces"], named]
        row += [
            *means(group, "ceiling", "neighbor"),
            *(means(paper[name], "neighbor") if name in paper else [None]),
        ]
        row += [fraction(solver["results"].get(name, {}).get("neighbor")) for solver in solvers]
        row.append(round(sum(bool(r["pixel_perfect"]) for r in group) / len(distinct(group, "run")), 1))
        row.append(round(fmean(sum(stage["seconds"] for stage in r["stages"].values()) for r in group), 1))
        row.append(round(max(stage["peak_mb"] for r in group for stage in r["stages"].values())))
        rows.append(row)
    table = Table("", columns, rows).markdown().split("\n\n", 1)[1].strip()
    made = environment(records)
    return (
        f"{table}\n\nNeighbour accuracy in %, means over so many images of a set and all runs of them, "
        "published ones over the whole set; pixel-perfect images, seconds of all stages and the most memory "
        "of any are those of `best`. "
        f"All {made['runs']:,} runs of `results/reference`, mixed bags among them, took {made['core_hours']} "
        f"core-hours of cutting, comparing, solving and evaluating ({'; '.join(made['machines'])})."
    )


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


def environment(records: Sequence[Record]) -> dict[str, Any]:
    """Return where and by what the records were made, and what that took."""
    made = [record["provenance"] for record in records]
    return {
        **{f"{key}s": sorted({by[key] for by in made}) for key in ("commit", "machine", "python")},
        "libraries": [dict(one) for one in dict.fromkeys(tuple(by["libraries"].items()) for by in made)],
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
