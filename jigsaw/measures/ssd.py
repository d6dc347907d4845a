"""The paper's dissimilarity (its Equation 1): root of the summed squared L*a*b* differences of two edges.

Colours are kept in sixteenths of a L*a*b* unit, well below one step of an 8-bit image. In
whole numbers every sum is exact: the same on any machine, in any order, whichever edge comes first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jigsaw.compiled import kernel
from jigsaw.measures import lab, outer_pixels

ROOT = True
SCALE = 16


class Ssd(NamedTuple):
    """The outermost pixels of all edges in sixteenths of a L*a*b* unit, (4 n, 3 K) int16."""

    strips: np.ndarray  # read clockwise
    facing: np.ndarray  # read anticlockwise, as an edge that touches them sees them


Features = Ssd


def features(pixels: np.ndarray) -> Ssd:
    """Return what the measure needs of all edges."""
    strips = lab(outer_pixels(pixels), SCALE)
    edges = len(strips)
    return Ssd(strips.reshape(edges, -1), np.ascontiguousarray(strips[:, ::-1]).reshape(edges, -1))


def operands(features: Ssd) -> tuple[np.ndarray, np.ndarray]:
    """Expand |a - b|² into a product of matrices, the norms travelling along as two more columns.

    The mean colour is taken off first, as float32 loses what the squares of large numbers have in common.
    """
    centre = np.tile(np.rint(features.strips.reshape(-1, 3).mean(axis=0)), features.strips.shape[1] // 3)
    strips, facing = features.strips - centre, features.facing - centre
    norms = np.einsum("ij,ij->i", strips, strips)[:, None]
    ones = np.ones_like(norms)
    left = np.hstack([strips, norms, ones]).astype(np.float32)
    right = np.hstack([-2 * facing, ones, norms]).astype(np.float32)
    return left, right


@kernel
def score(features, e, f):
    """Return the squared dissimilarity of edges e and f, in squares of 1/SCALE."""
    total = np.int64(0)
    for k in range(features.strips.shape[1]):
        difference = np.int64(features.strips[e, k]) - features.facing[f, k]
        total += difference * difference
    return np.float64(total)


@kernel
def value(score):
    """Return the dissimilarity that a score stands for."""
    return np.sqrt(score) / SCALE
