"""Asymmetric prediction: how far an edge is from what the edge opposite leads one to expect.

(G. Paikin & A. Tal, "Solving multiple square jigsaw puzzles with missing pieces", CVPR 2015.)

The two outermost pixel rows of an edge, continued by one pixel, predict what touches it; the sum of the
absolute L*a*b* differences from that, seen from edge e, is not the same as seen from edge f.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jigsaw.compiled import kernel
from jigsaw.measures import lab, outer_pixels, planes

ROOT = False
SYMMETRIC = False
CANDIDATES = 64  # of a screening by squares instead of absolute values, over both directions
SCALE = 16


class Prediction(NamedTuple):
    """In sixteenths of a L*a*b* unit, (4 n, 3 K) int16, one channel after the other."""

    facing: np.ndarray  # the outermost pixels, anticlockwise, as an edge that touches them sees them
    expected: np.ndarray  # clockwise: what ought to touch each pixel


Features = Prediction


def features(pixels: np.ndarray) -> Prediction:
    """Return what the measure needs of all edges."""
    outer, inner = lab(outer_pixels(pixels), SCALE), lab(outer_pixels(pixels, 1), SCALE)
    return Prediction(planes(outer[:, ::-1]), planes(2 * outer - inner))


def operands(features: Prediction) -> tuple[np.ndarray, np.ndarray]:
    """Expand |expected - facing|², over both directions, into a product of matrices."""
    centre = features.facing.mean(dtype=np.float64)
    facing, expected = features.facing - centre, features.expected - centre
    norms = np.einsum("ij,ij->i", facing, facing) + np.einsum("ij,ij->i", expected, expected)
    ones = np.ones((len(facing), 1))
    left = np.hstack([expected, facing, norms[:, None], ones]).astype(np.float32)
    right = np.hstack([-2 * facing, -2 * expected, ones, norms[:, None]]).astype(np.float32)
    return left, right


@kernel(fastmath={"reassoc", "contract", "nsz"})
def score(features, e, f):
    """Return how far edge f is from what edge e expects, in units of 1/SCALE."""
    total = np.float32(0)  # whole numbers, exact up to 2**24
    for k in range(features.facing.shape[1]):
        total += abs(np.float32(features.expected[e, k]) - np.float32(features.facing[f, k]))
    return np.float64(total)


@kernel
def value(score):
    """Return the dissimilarity that a score stands for."""
    return score / SCALE
