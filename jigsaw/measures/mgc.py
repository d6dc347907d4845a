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
from jigsaw.measures import outer_pixels

ROOT = False
_DUMMIES = np.array(
    [[0, 0, 0], [1, 1, 1], [-1, -1, -1], [0, 0, 1], [0, 1, 0], [1, 0, 0], [-1, 0, 0], [0, -1, 0], [0, 0, -1]],
    np.float64,
)
_UPPER = np.triu_indices(3)


class Mgc(NamedTuple):
    """Colours are RGB."""

    border: np.ndarray  # (4 n, 3 K) uint8: the outermost pixels, clockwise
    mean: np.ndarray  # (4 n, 3) float64: of the gradients, outwards
    precision: np.ndarray  # (4 n, 6) float64: their inverse covariance, upper triangle


Features = Mgc


def features(pixels: np.ndarray) -> Mgc:
    """Return what the measure needs of all edges."""
    border = outer_pixels(pixels)
    gradients = border.astype(np.float64) - outer_pixels(pixels, 1)
    samples = np.concatenate([gradients, np.broadcast_to(_DUMMIES, (len(gradients), 9, 3))], axis=1)
    samples -= samples.mean(axis=1, keepdims=True)
    covariance = np.einsum("eki,ekj->eij", samples, samples) / (samples.shape[1] - 1)
    precision = np.linalg.inv(covariance)[:, _UPPER[0], _UPPER[1]]
    return Mgc(
        np.ascontiguousarray(border).reshape(len(border), -1),
        gradients.mean(axis=1),
        np.ascontiguousarray(precision),
    )


def operands(features: Mgc) -> tuple[np.ndarray, np.ndarray]:
    """Expand Σ (q - a)ᵀ P (q - a), over both directions, into a product of matrices."""
    edges = len(features.border)
    centre = features.border.reshape(-1, 3).mean(axis=0, dtype=np.float64)
    seen = (features.border.reshape(edges, -1, 3) - centre)[:, ::-1]  # as the edge opposite sees it
    expected = features.border.reshape(edges, -1, 3) - centre + features.mean[:, None]
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


@kernel
def _one_way(features, e, f):
    width = features.border.shape[1]
    border, mean, p = features.border, features.mean, features.precision
    total = 0.0
    for k in range(0, width, 3):
        x = np.float64(border[f, width - 3 - k]) - border[e, k] - mean[e, 0]
        y = np.float64(border[f, width - 2 - k]) - border[e, k + 1] - mean[e, 1]
        z = np.float64(border[f, width - 1 - k]) - border[e, k + 2] - mean[e, 2]
        total += x * (p[e, 0] * x + 2 * (p[e, 1] * y + p[e, 2] * z))
        total += y * (p[e, 3] * y + 2 * p[e, 4] * z) + p[e, 5] * z * z
    return total


@kernel
def score(features, e, f):
    """Return the dissimilarity of edges e and f."""
    return _one_way(features, min(e, f), max(e, f)) + _one_way(features, max(e, f), min(e, f))


@kernel
def value(score):
    """Return the dissimilarity that a score stands for: itself."""
    return score
