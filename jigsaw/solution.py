"""An assembled puzzle, and the file that holds it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jigsaw.files import read_hdf5, write_hdf5


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
            "elite": self.elite,
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
        arrays, content, notes = read_hdf5(path, "solution")
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
