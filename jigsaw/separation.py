"""How well the images of a mixed bag were told apart.

The scores of Hammoudeh & Pollett ("Clustering-based, fully automated mixed-bag jigsaw puzzle solving",
CAIP 2017): for each true image the best share, over all solved images, of pieces (SEDAS) or sides (ENAS) that
are right, where every foreign piece counts as a wrong one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jigsaw.geometry import motions
from jigsaw.pieces import Truth
from jigsaw.solution import Solution


class Separation(NamedTuple):
    """Scores of each true image.

    `taken` is the solved image that holds most of its pieces, `foreign` how many pieces of other images
    are in that.
    """

    sedas: np.ndarray
    enas: np.ndarray
    taken: np.ndarray
    foreign: np.ndarray


def separation(solution: Solution, truth: Truth, true: np.ndarray) -> Separation:
    """Score the solved images against the true ones, whose relations are `true`, (4 n)."""
    image = truth.places[:, 0]
    names, solved = np.unique(solution.image, return_inverse=True)
    shape = (len(truth.shapes), len(names))
    cell = image * len(names) + solved  # true and solved image of each piece, as one number

    def table(weights: np.ndarray | None = None) -> np.ndarray:
        return np.bincount(cell, weights, np.prod(shape)).reshape(shape)

    shared = table()
    foreign = shared.sum(axis=0) - shared
    most = shared.sum(axis=1)[:, None] + foreign
    placed = most_votes(true_motions(solution, truth), cell, int(np.prod(shape))).reshape(shape)
    found = solution.relations.reshape(-1)
    within = np.where(solved[found // 4] == np.repeat(solved, 4), found, -1)
    sides = table((within == true).reshape(-1, 4).sum(axis=1))
    taken = shared.argmax(axis=1)
    return Separation(
        sedas=(placed / most).max(axis=1),
        enas=(sides / (4 * most)).max(axis=1),
        taken=names[taken],
        foreign=foreign[np.arange(len(taken)), taken],
    )


def true_motions(solution: Solution, truth: Truth) -> np.ndarray:
    """Return for each piece the rigid motion of its image, (turn, x, y), that brings it where it lies."""
    return motions(truth.places[:, [2, 1, 3]], solution.layout)


def most_votes(motions: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    """Return how many pieces of each group agree on its most common motion."""
    kinds, votes = np.unique(np.column_stack([group, motions]), axis=0, return_counts=True)
    most = np.zeros(groups, np.int64)
    np.maximum.at(most, kinds[:, 0], votes)
    return most
