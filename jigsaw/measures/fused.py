"""How probable it is that two edges touch, from how they differ and from what else each edge could touch.

Two edges, each continued by half a pixel in L*a*b*, should coincide. Let b_k be their difference at pixel k.
Differences between pixels that belong together are mostly tiny and sometimes large, so each counts as under a
Cauchy distribution, with ln(1 + |x|²). This is averaged over the edge for four kinds of x: the mean of b over
four pixels, its change over four pixels, its colour (a*, b*), and the change of that from pixel to pixel.
Their weighted sum U, and M, the Mahalanobis gradient compatibility (`mgc`), give L = -U - w ln(M + a little):
but for a constant, the logarithm of the odds that e and f touch. The rivals decide the rest, on both sides:
with r_e = ln Σ_f exp L(e, f) and

    N = (3/4) (2 L - r_e - r_f),    q_e = ln Σ_f exp N(e, f),

ln p = N - (q_e + q_f) / 2. The dissimilarity is -ln p, at most LIMIT, which is also what an open side costs.

The weights are constants (docs/decisions.md); "a little" and all normalisation come from the bag itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jigsaw.compiled import kernel
from jigsaw.measures import lab, mgc, outer_pixels, planes

ROOT = False
CANDIDATES = 64  # of a screening by mgc
LIMIT = 12.0  # of the dissimilarity
NONE = LIMIT  # cost of an open side
SCALE = 16
UNIT = 1 / (2 * SCALE) ** 2  # of a squared difference
W_MGC, W_MEAN, W_CHANGE, W_COLOUR, W_COLOUR_CHANGE = 3.0, 1.2, 2.0, 1.15, 4.5
SPAN = 4  # pixels over which b is averaged, or changes
LANES = 32  # pixels of an edge that are handled at once
DEPTH = 4  # outer rows of pixels that are kept for measures made of this one
KINDS = 4  # of x
FLOOR = 0.02  # of M: a little, as a share of the median second-smallest of all distinct edges
SHARPNESS = 0.75
ROWS = 4096  # edges whose rivals are handled at once
EXACT = 2.0**-22  # to which what rivals take off ln p is rounded


class Fused(NamedTuple):
    """Those of `mgc`, and more."""

    border: np.ndarray  # (4 n, 3 K) uint8
    facing: np.ndarray  # (4 n, 3 K) uint8
    mean: np.ndarray  # (4 n, 3) float64
    precision: np.ndarray  # (4 n, 6) float64
    midway: np.ndarray  # (4 n, columns) int16: of the colours half a pixel outside, all kinds of x
    midway_facing: np.ndarray  # the same as the edge opposite sees them
    inner: np.ndarray  # (4 n, rows x 3 K) uint8: the rows of pixels below the border
    rivals: np.ndarray  # (4 n, 2) float64: what rivals take off ln p; what to add to M


Features = Fused


def features(pixels: np.ndarray) -> Fused:
    """Return what the measure needs of all edges; `rivals` is filled in by `fitted`."""
    outer, inner = lab(outer_pixels(pixels), SCALE), lab(outer_pixels(pixels, 1), SCALE)
    midway = 3 * outer - inner
    below = [planes(outer_pixels(pixels, depth)) for depth in range(1, min(DEPTH, pixels.shape[1]))]
    return Fused(
        *mgc.features(pixels),
        midway=_compared(midway),
        midway_facing=_compared(midway[:, ::-1]),
        inner=np.hstack(below),
        rivals=np.zeros((len(outer), 2)),
    )


def _compared(strips: np.ndarray) -> np.ndarray:
    """Return all kinds of x of strips (4 n, K, 3), by LANES pixels, the last filled up with nothing."""
    size = strips.shape[1]
    span = min(SPAN, size - 1)
    sums = sum(strips[:, i : size + 1 - span + i] for i in range(span))
    colours = strips * np.array([0, 1, 1], strips.dtype)
    kinds = [sums, strips[:, span:] - strips[:, :-span], colours, np.diff(colours, axis=1)]
    blocks = -(-size // LANES)
    table = np.zeros((len(strips), KINDS, blocks * LANES, 3), np.int16)
    for kind, values in enumerate(kinds):
        table[:, kind, : values.shape[1]] = values
    table = table.reshape(len(strips), KINDS * blocks, LANES, 3).swapaxes(2, 3)
    return np.ascontiguousarray(table).reshape(len(strips), -1)


def operands(features: Fused) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrices of `mgc`."""
    return mgc.operands(mgc.Mgc(*features[:4]))


def fitted(features: Fused, rivals: np.ndarray, candidates: np.ndarray, wanted: int) -> Fused:
    """Fill in `rivals`.

    Parameters
    ----------
    features
        Of all distinct edges.
    rivals
        (distinct, m) how many edges look like each candidate.
    candidates
        (distinct, m) the distinct edges that each is compared with.
    wanted
        How many of them count. The others are a reserve against rounding, and become -1.
    """
    gradient, unlike = np.empty(candidates.shape), np.empty(candidates.shape)
    _measure(features, candidates, gradient, unlike)
    gradient[rivals < 1] = np.inf
    second = np.partition(gradient, min(1, candidates.shape[1] - 1), axis=1)[:, :2].max(axis=1)
    rivals = without_reserve(gradient, rivals, candidates, wanted)
    little = FLOOR * _median(second)
    odds = -W_MGC * np.log(gradient + little) - unlike
    taken = np.column_stack([taken_by(odds, rivals, candidates), np.full(len(odds), little)])
    return features._replace(rivals=np.ascontiguousarray(taken))


def without_reserve(
    misfit: np.ndarray, rivals: np.ndarray, candidates: np.ndarray, wanted: int
) -> np.ndarray:
    """Take all but the best of each row from the candidates, and return rivals without them.

    Screening is not exact: which edges come last among the candidates is not the same on every machine.
    """
    if wanted < candidates.shape[1]:
        reserve = misfit > np.partition(misfit, wanted - 1, axis=1)[:, wanted - 1, None]
        candidates[reserve] = -1
        rivals = np.where(reserve, 0, rivals)
    return rivals


def taken_by(odds: np.ndarray, rivals: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Return what the rivals of each edge take off ln p, by the odds L of its candidates.

    Rounded, as the last bits of a logarithm are not the same on every machine.
    """
    parts = [slice(first, first + ROWS) for first in range(0, len(odds), ROWS)]
    r, q = np.empty((2, len(odds)))
    with np.errstate(divide="ignore"):
        for part in parts:
            r[part] = _log_sum(odds[part] + np.log(rivals[part]))
        for part in parts:
            sharp = SHARPNESS * (2 * odds[part] - r[part, None] - r[candidates[part]])
            q[part] = _log_sum(sharp + np.log(rivals[part]))
    return np.round((SHARPNESS * r + q / 2) / EXACT) * EXACT


def _median(values: np.ndarray) -> float:
    """Return the median of the finite values, but never nothing."""
    finite = values[np.isfinite(values)]
    return max(float(np.median(finite)), 1e-3) if len(finite) else 1.0


def _log_sum(terms: np.ndarray) -> np.ndarray:
    """Return the logarithm of the sum of exponentials of each row; 0 for a row of nothing."""
    most = terms.max(axis=1)
    most[~np.isfinite(most)] = 0
    with np.errstate(divide="ignore"):
        total = most + np.log(np.exp(terms - most[:, None]).sum(axis=1))
    return np.where(np.isfinite(total), total, 0.0)


@kernel
def _measure(features, candidates, gradient, unlike):
    """Fill in M and U of all candidates of all edges."""
    for e in range(len(candidates)):
        for c in range(candidates.shape[1]):
            f = candidates[e, c]
            gradient[e, c] = mgc.score(features, e, f)
            unlike[e, c] = _unlikeness(features, e, f)


@kernel
def _unlikeness(features, e, f):
    """Return U of a pair of edges."""
    e, f = min(e, f), max(e, f)
    size = features.border.shape[1] // 3
    span = min(SPAN, size - 1)
    unlike = W_MEAN * log_odds(features, e, f, 0, UNIT / span**2) / (size + 1 - span)
    unlike += W_CHANGE * log_odds(features, e, f, 1, UNIT) / (size - span)
    unlike += W_COLOUR * log_odds(features, e, f, 2, UNIT) / size
    return unlike + W_COLOUR_CHANGE * log_odds(features, e, f, 3, UNIT) / (size - 1)


@kernel(fastmath={"reassoc", "contract", "nsz"})
def log_odds(features, e, f, kind, unit):
    """Return the sum of ln(1 + |x|²) over the edge, for one kind of x; as products, which cannot overflow."""
    columns = features.midway.shape[1] // KINDS
    total = 0.0
    for first in range(kind * columns, (kind + 1) * columns, 3 * LANES):
        here = features.midway[e, first : first + 3 * LANES]
        there = features.midway_facing[f, first : first + 3 * LANES]
        product = 1.0
        for i in range(LANES):
            j, k = i + LANES, i + 2 * LANES
            x = np.float32(here[i]) - np.float32(there[i])
            y = np.float32(here[j]) - np.float32(there[j])
            z = np.float32(here[k]) - np.float32(there[k])
            product *= 1.0 + unit * (x * x + y * y + z * z)
        total += np.log(product)
    return total


@kernel
def odds_of(features, e, f):
    """Return L of a pair of edges."""
    e, f = min(e, f), max(e, f)
    return -W_MGC * np.log(mgc.score(features, e, f) + features.rivals[e, 1]) - _unlikeness(features, e, f)


@kernel
def improbability(odds, rivals, e, f):
    """Return -ln p, at most LIMIT, by the odds of a pair of edges and what rivals take off."""
    return min(max(rivals[e, 0] + rivals[f, 0] - 2 * SHARPNESS * odds, 0.0), LIMIT)


@kernel
def score(features, e, f):
    """Return -ln p of a pair of edges, at most LIMIT."""
    return improbability(odds_of(features, e, f), features.rivals, e, f)


@kernel
def value(score):
    """Return the dissimilarity that a score stands for: itself."""
    return score
