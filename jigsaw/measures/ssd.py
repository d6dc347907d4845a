"""The paper's dissimilarity (its Equation 1): root of the summed squared L*a*b* differences of two edges.

Colours are kept in sixteenths of a L*a*b* unit, an eighth of what one step of an 8-bit image is. In
whole numbers every sum is exact: the same on any machine, in any order, whichever edge comes first.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from skimage.color import rgb2lab

SCALE = 16
_CHUNK = 96  # so many squares of differences fit an int32 sum


def strips(pixels: np.ndarray) -> np.ndarray:
    """Return the outermost pixels of all edges, read clockwise: (4 n, 3 K) int16."""
    n, size = pixels.shape[:2]
    sides = np.stack(
        [pixels[:, 0], pixels[:, :, -1], pixels[:, -1, ::-1], pixels[:, ::-1, 0]], axis=1
    )  # top, right, bottom, left
    lab = rgb2lab(sides.reshape(4 * n, size, 3))
    return np.rint(lab * SCALE).astype(np.int16).reshape(4 * n, 3 * size)


def facing(strips: np.ndarray) -> np.ndarray:
    """Return the strips read anticlockwise, as an edge that touches them sees them."""
    edges, width = strips.shape
    return np.ascontiguousarray(strips.reshape(edges, width // 3, 3)[:, ::-1]).reshape(edges, width)


def operands(strips: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return float32 matrices U and V such that U Vᵀ holds all squared dissimilarities, approximately.

    The norms travel along as two more columns; the mean colour is taken off first, as float32 loses
    what the squares of large numbers have in common.
    """
    centre = np.rint(strips.reshape(-1, 3).mean(axis=0))
    centred = (strips.reshape(-1, 3) - centre).reshape(strips.shape)
    norms = np.einsum("ij,ij->i", centred, centred)[:, None]
    ones = np.ones_like(norms)
    left = np.hstack([centred, norms, ones]).astype(np.float32)
    right = np.hstack([-2 * facing(centred), ones, norms]).astype(np.float32)
    return left, right


@njit(cache=True, nogil=True)
def squared(strips, faces, e, f):
    """Return the exact squared dissimilarity of edges e and f, in squares of 1/SCALE."""
    total = np.int64(0)
    width = strips.shape[1]
    for first in range(0, width, _CHUNK):
        part = np.int32(0)
        for k in range(first, min(first + _CHUNK, width)):
            difference = np.int32(strips[e, k]) - np.int32(faces[f, k])
            part += difference * difference
        total += part
    return total


@njit(cache=True, nogil=True)
def dissimilarity(strips, faces, e, f):
    """Return the dissimilarity of edges e and f."""
    return np.sqrt(np.float64(squared(strips, faces, e, f))) / SCALE
