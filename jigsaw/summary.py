"""What a command tells at its end, as data for programs and as a table for people."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from tabulate import tabulate

from jigsaw.edges import Edges
from jigsaw.pieces import Bag
from jigsaw.solution import Solution
from jigsaw.table import as_percent, as_seconds, as_yes


def of_bag(bag: Bag, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what is to be said of pieces."""
    return {"file": str(path), "pieces": len(bag), "piece_size": bag.piece_size}


def of_edges(edges: Edges, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what is to be said of compared edges."""
    return {
        "file": str(path),
        "pieces": edges.pieces,
        "measure": edges.measure,
        "neighbors": edges.nearest.shape[1],
        "mean": edges.mean,
        "best_buddies": int((edges.buddy >= 0).sum()) // 2,
        "stages": edges.notes.get("stages", {}),
    }


def of_solution(solution: Solution, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what is to be said of a solution."""
    width, height = np.ptp(solution.layout[:, :2], axis=0) + 1
    return {
        "file": str(path),
        "pieces": len(solution.layout),
        "width": int(width),
        "height": int(height),
        "images": len(np.unique(solution.image)),
        "fitness": solution.fitness,
        "preset": solution.preset,
        "seed": solution.seed,
        "settings": solution.settings,
        "stages": solution.notes.get("stages", {}),
    }


def solution_table(told: dict[str, Any]) -> str:
    """Return what is told of a solution, for the terminal."""
    cost = told["stages"]["solve"]
    searched = told["settings"]["members"] > 0  # otherwise images are not told apart yet
    rows = [
        ("pieces", str(told["pieces"])),
        ("width x height", f"{told['width']} x {told['height']} pieces"),
        *([("images", str(told["images"]))] if searched else []),
        *([("complete rectangles", as_yes(told["settings"]["framed"]))] if searched else []),
        ("fitness", f"{told['fitness']:.1f}"),
        ("preset", told["preset"]),
        ("seed", str(told["seed"])),
        ("seconds", as_seconds(cost["seconds"])),
        ("memory", f"{cost['peak_mb']:.0f} MB"),
        ("file", told["file"]),
    ]
    return tabulate(rows, tablefmt="plain", disable_numparse=True)


def score_table(scores: dict[str, Any]) -> str:
    """Return the scores of one puzzle for the terminal, and those of each image if there are several."""
    rows = [
        ("pieces", str(scores["pieces"])),
        ("images", f"{scores['images']}, found {scores['images_found']}"),
        ("neighbor", _percent(scores["neighbor"])),
        ("identical pieces equal", _percent(scores["neighbor_identical"])),
        ("ceiling", _percent(scores["ceiling"])),
        ("direct", _percent(scores["direct"])),
        ("perfect", as_yes(scores["perfect"])),
        ("pixel-perfect", as_yes(scores["pixel_perfect"])),
        ("seconds", as_seconds(scores["seconds"])),
    ]
    table = tabulate(rows, tablefmt="plain", disable_numparse=True)
    return table + ("\n\n" + _image_table(scores["per_image"]) if scores["images"] > 1 else "")


def _image_table(images: list[dict[str, Any]]) -> str:
    columns: dict[str, Callable[[Any], str]] = {
        "image": str, "pieces": str, "neighbor": _percent, "perfect": as_yes, "foreign": str,
    }  # fmt: skip
    rows = [[show(row[name]) for name, show in columns.items()] for row in images]
    return tabulate(rows, list(columns), tablefmt="simple", disable_numparse=True)


def _percent(share: float) -> str:
    return as_percent(share) + " %"
