"""Chromosomes and populations: the (n, 4) table of relations, the layout it stands for, its fitness.

The fitness (the paper's Equation 2) sums the dissimilarities of all 4 n entries, an entry without a
relation costing twice the mean dissimilarity; less is better.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jigsaw.compiled import kernel
from jigsaw.edges import Edges
from jigsaw.measures import measure_called, relation

NONE_FACTOR = 2.0


class Costs(NamedTuple):
    """What kernels need of an edge comparison."""

    features: Any  # of the measure, to compare any two edges
    nearest: np.ndarray  # (4 n) the most compatible edge of each edge
    buddy: np.ndarray  # (4 n) best buddy or -1
    none: float  # cost of an entry without a relation
    turnable: bool = True  # whether pieces may be turned


class Population(NamedTuple):
    """Chromosomes side by side: relations (m, 4 n), layouts (m, n, 3), fitness (m)."""

    relations: np.ndarray
    layouts: np.ndarray
    fitness: np.ndarray


def costs_of(edges: Edges) -> Costs:
    """Return the arrays that kernels read."""
    return Costs(
        features=edges.features,
        nearest=np.ascontiguousarray(edges.nearest[:, 0]),
        buddy=edges.buddy,
        none=none_of(edges),
        turnable=not edges.upright,
    )


def none_of(edges: Edges) -> float:
    """Return the cost of an entry without a relation: twice the mean, unless the measure has its own."""
    return getattr(measure_called(edges.measure), "NONE", NONE_FACTOR * edges.mean)


@kernel
def entry_cost(costs, e, f):
    """Return what entry e costs when edge e touches edge f, or nothing (-1).

    The two entries of a relation cost the same; both are counted with the lesser edge.
    """
    if f < 0:
        return costs.none
    return relation(costs.features, e, f) if e < f else 0.0


@kernel
def fitness_of(costs, relations):
    """Return the fitness of a chromosome: the sum over all its entries."""
    total = 0.0
    for e in range(len(relations)):
        total += entry_cost(costs, e, relations[e])
    return total
