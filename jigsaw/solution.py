"""An assembled puzzle, and the file that holds it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jigsaw.files import (
    check_arrays,
    check_content,
    check_range,
    read_hdf5,
    whole_or_refused,
    write_hdf5,
)

_ARRAYS = {
    "relations": (np.int32, "n 4"),
    "layout": (np.int32, "n 3"),
    "image": (np.int32, "n"),
    "history": (np.float64, "generations 3"),
    "shown": (np.int32, "shown"),
    "snapshots": (np.int32, "shown n 3"),
    "elite": (np.int32, "elite n 3"),
}
_FARTHEST = 1 << 24  # that a piece of a layout may lie from its origin
_CONTENT = {
    "fitness": (int, float),
    "settings": dict,
    "preset": str,
    "seed": int,
    "pieces": str,
    "edges": str,
}


@dataclass(frozen=True)
class Solution:
    """An assembled puzzle.

    `relations` (n, 4) holds the edge touching each edge or -1, `layout` (n, 3) x, y and turn of each
    piece; `image` (n) numbers, from 0, the separate images that the pieces were put into: an image lies
    as its pieces lie in the layout, and all are 0 if images were not told apart; `history` best, mean and
    worst fitness from the random population on; `snapshots` the best layouts of the generations `shown`;
    `elite` layouts for a joining run to start from, if this one is an island.
    """

    relations: np.ndarray
    layout: np.ndarray
    image: np.ndarray
    fitness: float
    history: np.ndarray
    shown: np.ndarray
    snapshots: np.ndarray
    settings: dict[str, Any]
    preset: str
    seed: int
    pieces_digest: str
    edges_digest: str
    elite: np.ndarray = field(default_factory=lambda: np.empty((0, 0, 3), np.int32))
    notes: dict[str, Any] = field(default_factory=dict, compare=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write solution.h5."""
        arrays = {
            "relations": self.relations,
            "layout": self.layout,
            "image": self.image,
            "history": self.history,
            "shown": self.shown,
            "snapshots": self.snapshots,
            "elite": self.elite.reshape(-1, len(self.layout), 3),
        }
        content = {
            "fitness": self.fitness,
            "settings": self.settings,
            "preset": self.preset,
            "seed": self.seed,
            "pieces": self.pieces_digest,
            "edges": self.edges_digest,
        }
        write_hdf5(path, "solution", arrays, content, self.notes)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Solution:
        """Read solution.h5."""
        with whole_or_refused(path, "solution"):
            arrays, content, notes = read_hdf5(path, "solution")
            check_arrays(arrays, _ARRAYS)
            check_content(content, _CONTENT)
            check_content(content["settings"], {"members": int, "one_image": bool})
            pieces = len(arrays["layout"])
            check_range("relations", arrays["relations"], -1, 4 * pieces)
            check_range("image", arrays["image"], 0, pieces)
            for layout in (arrays["layout"], arrays["snapshots"]):
                check_range("a layout", layout[..., :2], 0, 2**31)
                check_range("a layout", layout[..., 2], 0, 4)
            check_range("elite", arrays["elite"][..., :2], -_FARTHEST, _FARTHEST)
            check_range("elite", arrays["elite"][..., 2], 0, 4)
            return cls(
                **arrays,
                fitness=content["fitness"],
                settings=content["settings"],
                preset=content["preset"],
                seed=content["seed"],
                pieces_digest=content["pieces"],
                edges_digest=content["edges"],
                notes=notes,
            )
