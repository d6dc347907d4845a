"""How good a measure is on a puzzle whose truth is known: its first choices and its best buddies."""

from __future__ import annotations

from typing import Any

from jigsaw.edges import Edges
from jigsaw.errors import JigsawError
from jigsaw.evaluation import true_layout
from jigsaw.geometry import relations_of
from jigsaw.pieces import Truth


def quality(edges: Edges, truth: Truth) -> dict[str, Any]:
    """Return how many true adjacencies are first choices and best buddies, and how many buddies are true.

    An edge at the border of its image has no true neighbour; a best buddy of such an edge counts as wrong.
    """
    if edges.pieces_digest != truth.pieces_digest or edges.pieces != len(truth.places):
        raise JigsawError("the edges and the truth are not of one puzzle: make both from one `cut`")
    true = relations_of(true_layout(truth)).reshape(-1)
    wanted = true >= 0
    first = edges.nearest[:, 0] == true
    buddies = edges.buddy >= 0
    right = buddies & (edges.buddy == true)
    return {
        "first_choice": float(first[wanted].mean()) if wanted.any() else 1.0,
        "buddy_precision": float(right.sum() / buddies.sum()) if buddies.any() else 1.0,
        "buddy_recall": float(right[wanted].mean()) if wanted.any() else 1.0,
        "pieces": edges.pieces,
        "measure": edges.measure,
        "seconds": edges.notes.get("stages", {}).get("compare", {}).get("seconds", 0.0),
        "provenance": edges.notes.get("provenance", {}),
    }
