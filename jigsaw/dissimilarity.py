"""Comparing the edges of a bag, in memory linear in the number of pieces."""

from __future__ import annotations

import numpy as np

from jigsaw.allpairs import nearest, warm_up
from jigsaw.edges import Edges
from jigsaw.errors import JigsawError
from jigsaw.measures import measure_called
from jigsaw.meter import Meter
from jigsaw.pieces import Bag
from jigsaw.provenance import notes

NEIGHBORS = 32


def compare(
    bag: Bag,
    measure: str = "ssd",
    neighbors: int = NEIGHBORS,
    workers: int = 1,
    upright: bool = False,
) -> Edges:
    """Compare all edges of a bag with all others.

    Parameters
    ----------
    bag
        The pieces.
    measure
        Name of the dissimilarity, one of `jigsaw.measures.MEASURES`.
    neighbors
        How many nearest edges to keep for each edge.
    workers
        Threads; the result does not depend on it.
    upright
        All pieces are known to have their right orientation: compare tops with bottoms, left with right.
    """
    module = measure_called(measure)
    if neighbors < 1:
        raise JigsawError(f"neighbors is {neighbors}, but at least 1 nearest edge must be kept")
    if workers < 1:
        raise JigsawError(f"workers is {workers}, but at least 1 is needed")
    warm_up(module)
    with Meter() as meter:
        features = module.features(bag.pixels)
        found = nearest(module, features, neighbors, workers, upright)
    return Edges(
        features=found.features,
        nearest=found.edges,
        values=found.values,
        buddy=best_buddies(found.edges),
        mean=found.mean,
        measure=measure,
        pieces_digest=bag.digest,
        upright=upright,
        notes=notes("compare", meter, bag.notes),
    )


def best_buddies(nearest: np.ndarray) -> np.ndarray:
    """Return for each edge the edge that it and that considers it the most compatible, else -1.

    (Pomeranz, Shemesh & Ben-Shahar, CVPR 2011.)
    """
    first = nearest[:, 0]
    mutual = (first >= 0) & (first[first] == np.arange(len(first)))
    return np.where(mutual, first, -1).astype(np.int32)
