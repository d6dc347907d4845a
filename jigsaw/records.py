"""Records of scores and published results: reading, grouping and averaging them for tables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from jigsaw.errors import JigsawError
from jigsaw.files import read_json, read_yaml

Record = dict[str, Any]
SHARES = ("neighbor", "neighbor_identical", "ceiling", "direct")
SCORED: dict[str, Any] = {
    **dict.fromkeys((*SHARES, "seconds"), (int, float)),
    **dict.fromkeys(("perfect", "pixel_perfect"), bool),
    **dict.fromkeys(("pieces", "seed"), int),
    **dict.fromkeys(("preset", "version"), str),
}
UNMIXED: dict[str, Any] = {
    **SCORED,
    **dict.fromkeys(("sedas", "enas"), (int, float)),
    **dict.fromkeys(("images", "images_found", "foreign"), int),
    "per_image": list,
}
STAGES = ("cut", "compare", "solve", "unmix", "evaluate")
JUDGED: dict[str, Any] = {
    **dict.fromkeys(("first_choice", "buddy_precision", "buddy_recall", "seconds"), (int, float)),
    "pieces": int,
    "measure": str,
}


def read_records(
    paths: Iterable[str | os.PathLike[str]], needed: Mapping[str, Any] | None = None
) -> list[Record]:
    """Read records (of scores, unless other keys are needed) from files of one each or a list of them."""
    needed = SCORED if needed is None else needed
    maker = "quality" if needed is JUDGED else "evaluate"
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
            records.append({"set": "", "puzzle": "", "draw": "", "run": 0, **record})
    return records


def chosen(records: list[Record], presets: Sequence[str] | None) -> list[Record]:
    """Return the records of the given presets, in their order; all, if none are given."""
    if presets is None:
        return records
    found = [record for preset in presets for record in records if record["preset"] == preset]
    if not found:
        raise JigsawError(f"none of the records is of preset {', '.join(presets)}")
    return found


def read_published(path: str | os.PathLike[str] | None, beside: Sequence[str] | None = None) -> list[Record]:
    """Read the data file of published results, all of it or that of the named solvers."""
    if path is None:
        return []
    data = read_yaml(path, "published results by solver")
    chosen = list(data) if beside is None else beside
    for key in chosen:
        if key not in data:
            raise JigsawError(f"{path}: has no solver {key!r}; known: {', '.join(data)}")
    return [data[key] for key in chosen]


def means(records: Sequence[Record], *keys: str) -> list[float]:
    """Return the means of the values of the keys."""
    return [fmean(record[key] for record in records) for key in keys]


def distinct(records: Iterable[Record], key: str) -> list[Any]:
    """Return the different values of a key, in order of first appearance."""
    return list(dict.fromkeys(record[key] for record in records))


def grouped(records: Iterable[Record], *keys: str) -> list[tuple[tuple[Any, ...], list[Record]]]:
    """Group records by the values of the keys, in order of first appearance."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(record[key] for key in keys), []).append(record)
    return list(groups.items())


def in_order(stages: Iterable[str]) -> list[str]:
    """Return the names of stages, each once, in the order of the data flow."""
    return sorted(set(stages), key=lambda stage: STAGES.index(stage) if stage in STAGES else len(STAGES))


def citations(solvers: Sequence[Record]) -> list[str]:
    """Return what published solvers are, for the notes of a table."""
    return [f"{solver['name']}: {solver['citation']}" for solver in solvers]


def made_by(records: Sequence[Record]) -> str:
    """Say which version and seeds made the records."""
    versions = sorted(
        {f"{r['version']} {r.get('provenance', {}).get('commit', '')}".strip() for r in records}
    )
    seeds = sorted({int(record["seed"]) for record in records})
    return f"Made by jigsaw {', '.join(versions)}; solver seeds {', '.join(map(str, seeds))}."


def fraction(percent: float | None) -> float | None:
    """Return a published percentage as a share."""
    return None if percent is None else percent / 100


def span(values: Sequence[int]) -> int | str:
    """Return a number, or the least and the greatest if they differ."""
    low, high = min(values), max(values)
    return low if low == high else f"{low}–{high}"
