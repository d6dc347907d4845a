"""What is wrong in an assembly, piece by piece and relation by relation, as the scores count it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jigsaw.evaluation import edge_labels, stand_for_true, true_layout
from jigsaw.geometry import Places, most_common, moved, relations_of
from jigsaw.pieces import Bag, Truth
from jigsaw.separation import true_motions
from jigsaw.solution import Solution

RIGHT, HARMLESS, WRONG = range(3)  # harmless: another, pixel-identical piece should be there


class Mistakes(NamedTuple):
    """How right everything is: RIGHT, HARMLESS or WRONG."""

    pieces: np.ndarray  # (n) place and turn, each image being laid where most of its pieces are
    edges: np.ndarray  # (4 n) the relation of each edge; right where it has none


def find_mistakes(solution: Solution, truth: Truth, bag: Bag) -> Mistakes:
    """Compare a solution with the truth; relations between images told apart are none."""
    labels = edge_labels(bag.pixels)
    found = solution.relations.reshape(-1)
    image = np.repeat(solution.image, 4)
    found = np.where((found >= 0) & (image[found] == image), found, -1)
    return Mistakes(_pieces(solution, truth, labels), _edges(found, truth, labels))


def _pieces(solution: Solution, truth: Truth, labels: np.ndarray) -> np.ndarray:
    """Lay every true image where most of its pieces are, and see what lies there."""
    true = truth.places[:, [2, 1, 3]]
    motions = true_motions(solution, truth)
    sides = labels.reshape(-1, 4)
    facing_up = sides[np.arange(len(sides)), (-solution.layout[:, 2]) % 4]
    kinds = np.full(len(sides), WRONG)
    for image in np.unique(truth.places[:, 0]):
        mine = np.flatnonzero(truth.places[:, 0] == image)
        motion = most_common(motions[mine])
        laid = moved(true[mine], motion)
        there = Places(laid).pieces_at(solution.layout[:, :2])
        wanted = sides[mine, (-laid[:, 2]) % 4][there]
        kinds[(there >= 0) & (wanted == facing_up) & (kinds == WRONG)] = HARMLESS
        kinds[mine[(motions[mine] == motion).all(axis=1)]] = RIGHT
    return kinds


def _edges(found: np.ndarray, truth: Truth, labels: np.ndarray) -> np.ndarray:
    true = relations_of(true_layout(truth)).reshape(-1)
    kinds = np.where((found >= 0) & (found != true), WRONG, RIGHT)
    edges, stand = stand_for_true(true, found, labels)
    for ends in (edges[stand], found[edges[stand]]):
        kinds[ends[kinds[ends] == WRONG]] = HARMLESS
    return kinds
