"""Mahalanobis gradient compatibility.

(A. C. Gallagher, "Jigsaw puzzles with pieces of unknown orientation", CVPR 2012.)

The change of colour across a border should be like the changes just inside it: their mean and covariance
(with nine dummy gradients, so that it can be inverted) judge the step from one piece to the next. The
dissimilarity is the sum over both directions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jigsaw.compiled import kernel
from jigsaw.measures import outer_pixels, planes

ROOT = False
_DUMMIES = np.array(
    [[0, 0, 0], [1, 1, 1], [-1, -1, -1], [0, 0, 1], [0, 1, 0], [1, 0, 0], [-1, 0, 0], [0, -1, 0], [0, 0, -1]],
    np.float64,
)
_UPPER = np.triu_indices(3)


class Mgc(NamedTuple):
    """Colours are RGB."""

    border: np.ndarray  # (4 n, 3 K) uint8: the outermost pixels, clockwise, one colour after the other
    facing: np.ndarray  # (4 n, 3 K) uint8: the same anticlockwise, as an edge that touches them sees them
    mean: np.ndarray  # (4 n, 3) float64: of the gradients, outwards
    precision: np.ndarray  # (4 n, 6) float64: their inverse covariance, upper triangle


Features = Mgc


def features(pixels: np.ndarray) -> Mgc:
    """Return what the measure needs of all edges."""
    border = outer_pixels(pixels)
    gradients = border.astype(np.float64) - outer_pixels(pixels, 1)
    count = gradients.shape[1] + len(_DUMMIES)
    total = gradients.sum(axis=1)  # that of the dummies is nothing
    products = np.einsum("eki,ekj->eij", gradients, gradients) + _DUMMIES.T @ _DUMMIES
    covariance = (products - total[:, :, None] * total[:, None] / count) / (count - 1)
    return Mgc(planes(border), planes(border[:, ::-1]), gradients.mean(axis=1), _inverse(covariance))


def _inverse(matrices: np.ndarray) -> np.ndarray:
    """Return the upper triangles of the inverses of symmetric 3 x 3 matrices, to the same bit everywhere.

    By L D Lᵀ = matrix, M = L⁻¹ and Mᵀ D⁻¹ M.
    """
    a, b, c, d, e, f = matrices[:, _UPPER[0], _UPPER[1]].T
    l10, l20 = b / a, c / a
    second, rest = d - b * l10, e - b * l20
    l21 = rest / second
    third = f - c * l20 - rest * l21
    m20 = l10 * l21 - l20
    inverse = (
        1 / a + l10 * l10 / second + m20 * m20 / third, -l10 / second - m20 * l21 / third, m20 / third,
        1 / second + l21 * l21 / third, -l21 / third,
        1 / third,
    )  # fmt: skip
    return np.stack(inverse, axis=1)


def operands(features: Mgc) -> tuple[np.ndarray, np.ndarray]:
    """Expand Σ (q - a)ᵀ P (q - a), over both directions, into a product of matrices."""
    edges = len(features.border)
    colours = features.border.reshape(edges, 3, -1).transpose(0, 2, 1)
    colours = colours - colours.reshape(-1, 3).mean(axis=0, dtype=np.float64)
    seen = colours[:, ::-1]  # as the edge opposite sees it
    expected = colours + features.mean[:, None]
    precision = np.empty((edges, 3, 3))
    precision[:, _UPPER[0], _UPPER[1]] = features.precision
    precision[:, _UPPER[1], _UPPER[0]] = features.precision
    linear = expected @ precision
    constant = np.einsum("eki,eki->e", linear, expected)[:, None]
    squares = np.einsum("eki,ekj->eij", seen, seen)[:, _UPPER[0], _UPPER[1]]
    twice = features.precision * np.where(_UPPER[0] == _UPPER[1], 1.0, 2.0)
    one = np.ones((edges, 1))
    model = np.hstack([twice, -2 * linear.reshape(edges, -1), constant])
    data = np.hstack([squares, seen.reshape(edges, -1), one])
    left = np.hstack([model, data]).astype(np.float32)
    right = np.hstack([data, model]).astype(np.float32)
    return left, right


@kernel(fastmath={"reassoc", "contract", "nsz"})
def _moments(border, facing, e, f):
    """Return the sums of x, y, z and of their products, (x, y, z) being the steps of colour from e to f.

    Whole numbers, exact in float32 for pieces of up to 256 pixels a side.
    """
    size = border.shape[1] // 3
    sx = sy = sz = xx = xy = xz = yy = yz = zz = np.float32(0)
    for k in range(size):
        x = np.float32(facing[f, k]) - np.float32(border[e, k])
        y = np.float32(facing[f, size + k]) - np.float32(border[e, size + k])
        z = np.float32(facing[f, 2 * size + k]) - np.float32(border[e, 2 * size + k])
        sx += x
        sy += y
        sz += z
        xx += x * x
        xy += x * y
        xz += x * z
        yy += y * y
        yz += y * z
        zz += z * z
    return (
        np.float64(sx), np.float64(sy), np.float64(sz), np.float64(xx), np.float64(xy),
        np.float64(xz), np.float64(yy), np.float64(yz), np.float64(zz),
    )  # fmt: skip


@kernel
def _one_way(mean, p, e, size, sx, sy, sz, xx, xy, xz, yy, yz, zz):
    """Sum (s - m)ᵀ P (s - m), with mean m and precision P of edge e, over steps s of the given moments."""
    mx, my, mz = mean[e, 0], mean[e, 1], mean[e, 2]
    return (
        p[e, 0] * (xx - mx * (2 * sx - size * mx))
        + p[e, 3] * (yy - my * (2 * sy - size * my))
        + p[e, 5] * (zz - mz * (2 * sz - size * mz))
        + 2 * p[e, 1] * (xy - mx * sy - my * sx + size * mx * my)
        + 2 * p[e, 2] * (xz - mx * sz - mz * sx + size * mx * mz)
        + 2 * p[e, 4] * (yz - my * sz - mz * sy + size * my * mz)
    )


@kernel
def score(features, e, f):
    """Return the dissimilarity of edges e and f."""
    e, f = min(e, f), max(e, f)
    size = features.border.shape[1] // 3
    sx, sy, sz, xx, xy, xz, yy, yz, zz = _moments(features.border, features.facing, e, f)
    mean, precision = features.mean, features.precision
    return max(
        _one_way(mean, precision, e, size, sx, sy, sz, xx, xy, xz, yy, yz, zz)
        + _one_way(mean, precision, f, size, -sx, -sy, -sz, xx, xy, xz, yy, yz, zz),
        0.0,
    )


@kernel
def value(score):
    """Return the dissimilarity that a score stands for: itself."""
    return score
