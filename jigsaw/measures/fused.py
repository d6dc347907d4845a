"""How probable it is that two edges touch, from three measures and from what else each edge could touch.

Three dissimilarities of a pair are joined: M, the Mahalanobis gradient compatibility (`mgc`); and, with both
edges continued by half a pixel in L*a*b* so that they should coincide, S, the summed absolute differences of
the colours, and A, those of the changes along the edge. With φ(X) = ln(X + a little), L = -Σ w φ is, but
for a constant, the logarithm of the odds that e and f touch. The rivals decide the rest, on both sides: with
r_e = ln Σ_f exp L(e, f) and

    N = (3/4) (2 L - r_e - r_f),    q_e = ln Σ_f exp N(e, f),

ln p = N - (q_e + q_f) / 2. The dissimilarity is -ln p, at most LIMIT, which is also what an open side costs.

Nothing is learnt from known solutions: "a little" and all normalisation come from the bag itself.
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
W_MGC, W_COLOUR, W_CHANGE = 3.5, 2.6, 4.8
FLOOR = 0.02  # of a feature: a little, as a share of the median second-smallest of all distinct edges
SHARPNESS = 0.75


class Fused(NamedTuple):
    """Those of `mgc`, and more."""

    border: np.ndarray  # (4 n, 3 K) uint8
    facing: np.ndarray  # (4 n, 3 K) uint8
    mean: np.ndarray  # (4 n, 3) float64
    precision: np.ndarray  # (4 n, 6) float64
    midway: np.ndarray  # (4 n, 6 K - 3) int16: colours half a pixel outside, and their changes along the edge
    midway_facing: np.ndarray  # the same as the edge opposite sees them
    rivals: np.ndarray  # (4 n, 4) float64: what rivals take off ln p; what to add to M, S, A


Features = Fused


def features(pixels: np.ndarray) -> Fused:
    """Return what the measure needs of all edges; `rivals` is filled in by `fitted`."""
    outer, inner = lab(outer_pixels(pixels), SCALE), lab(outer_pixels(pixels, 1), SCALE)
    midway = 3 * outer - inner
    return Fused(
        *mgc.features(pixels),
        midway=_with_changes(midway),
        midway_facing=_with_changes(midway[:, ::-1]),
        rivals=np.zeros((len(outer), 4)),
    )


def _with_changes(strips: np.ndarray) -> np.ndarray:
    """Return colours along edges (4 n, K, 3), and behind them their changes, as rows."""
    return np.hstack([planes(strips), planes(np.diff(strips, axis=1))])


def operands(features: Fused) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrices of `mgc`."""
    return mgc.operands(mgc.Mgc(*features[:4]))


def fitted(features: Fused, rivals: np.ndarray, candidates: np.ndarray) -> Fused:
    """Fill in `rivals`.

    Parameters
    ----------
    features
        Of all distinct edges.
    rivals
        (distinct, m) how many edges look like each candidate.
    candidates
        (distinct, m) the distinct edges that each is compared with.
    """
    measured = np.empty((3, *candidates.shape))
    _measure(features, candidates, measured)
    measured[:, rivals < 1] = np.inf
    second = np.sort(np.partition(measured, min(1, candidates.shape[1] - 1), axis=2)[:, :, :2], axis=2)
    little = [FLOOR * _median(feature[:, -1]) for feature in second]
    odds = np.zeros(candidates.shape)
    for feature, weight, add in zip(measured, (W_MGC, W_COLOUR, W_CHANGE), little, strict=True):
        odds -= weight * np.log(feature + add)
    with np.errstate(divide="ignore"):
        weights = np.log(rivals)
    r = _log_sum(odds + weights)
    q = _log_sum(SHARPNESS * (2 * odds - r[:, None] - r[candidates]) + weights)
    taken = np.column_stack([SHARPNESS * r + q / 2, *(np.full(len(r), add) for add in little)])
    return features._replace(rivals=np.ascontiguousarray(taken))


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
def _measure(features, candidates, measured):
    """Fill in M, S and A of all candidates of all edges."""
    for e in range(len(candidates)):
        for c in range(candidates.shape[1]):
            f = candidates[e, c]
            measured[0, e, c] = mgc.score(features, e, f)
            measured[1, e, c], measured[2, e, c] = _colour_and_change(features, e, f)


@kernel(fastmath={"reassoc", "contract", "nsz"})
def _colour_and_change(features, e, f):
    """Return S and A of a pair of edges, in 1/(2 SCALE) of L*a*b*; whole numbers, exact up to 2**24."""
    here, there = features.midway, features.midway_facing
    size = features.border.shape[1]
    colour = change = np.float32(0)
    for k in range(size):
        colour += abs(np.float32(here[e, k]) - np.float32(there[f, k]))
    for k in range(size, here.shape[1]):
        change += abs(np.float32(here[e, k]) - np.float32(there[f, k]))
    return np.float64(colour), np.float64(change)


@kernel
def score(features, e, f):
    """Return -ln p of a pair of edges, at most LIMIT."""
    e, f = min(e, f), max(e, f)
    rivals = features.rivals
    colour, change = _colour_and_change(features, e, f)
    odds = W_MGC * np.log(mgc.score(features, e, f) + rivals[e, 1])
    odds += W_COLOUR * np.log(colour + rivals[e, 2]) + W_CHANGE * np.log(change + rivals[e, 3])
    return min(max(2 * SHARPNESS * odds + rivals[e, 0] + rivals[f, 0], 0.0), LIMIT)


@kernel
def value(score):
    """Return the dissimilarity that a score stands for: itself."""
    return score
