"""Measure `fused` once more, with what an assembly shows of how the edges of this very bag go together.

An assembly need not be right to teach: most of its contacts are. Let x be the outer four rows of pixels of
an edge, by their first eight cosine coefficients, less the mean. Over all contacts of plain pieces, x has
covariance T, and B with x of the edge opposite. The coordinates u that solve B w = ρ T w have nothing to do
with one another, only each with that of the edge opposite, v, by its own correlation ρ. The logarithm of how
much more probable u and v are as those of edges that touch is the sum over all coordinates of

    -ln(1 - ρ²) / 2 - ρ (u - v)² / (2 (1 - ρ²)) + ρ (u² + v²) / (2 (1 + ρ)).

(Prince & Elder, "Probabilistic linear discriminant analysis for inferences about identity", ICCV 2007, of
faces.) This finds out by itself what compression, noise and blur have left of a sky. L is a weighted sum of
that, where it is not below FLOOR, and of the five terms of which `fused` makes its own; the weights, too, are
those by which the assembly's contacts are most probable among their rivals (second_look.py).

It is no measure to choose by name, as it needs an assembly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.fft import dct

from jigsaw.compiled import kernel
from jigsaw.eigen import decoupled, product
from jigsaw.measures import fused, mgc

ROOT = False
CANDIDATES = 160  # of a screening by what was learnt alone
FLOOR = -10.0  # of what was learnt, as a few edges that touch have nothing in common
TERMS = 6  # of L
COEFFICIENTS = 8
NOISE = 0.02  # variance that every coefficient has at least
CLOSEST = 0.9999  # correlation


class Refitted(NamedTuple):
    """Those of `fused`, and more."""

    border: np.ndarray  # (4 n, 3 K) uint8
    facing: np.ndarray  # (4 n, 3 K) uint8
    mean: np.ndarray  # (4 n, 3) float64
    precision: np.ndarray  # (4 n, 6) float64
    midway: np.ndarray  # (4 n, columns) int16
    midway_facing: np.ndarray  # (4 n, columns) int16
    learnt: np.ndarray  # (4 n, coordinates) float32: u, times the root of what its differences count
    learnt_facing: np.ndarray  # the same as the edge opposite should have it
    own: np.ndarray  # (4 n, 1) float64: what an edge adds by itself
    weights: np.ndarray  # (4 n, TERMS) float64: of all terms, the same in every row
    rivals: np.ndarray  # (4 n, 2) float64


Features = Refitted


def refitted(
    features: fused.Fused, e: np.ndarray, f: np.ndarray, coefficients: int = COEFFICIENTS
) -> Refitted:
    """Learn from pairs of edges that touch, all but the weights; `rivals` is filled in by `fitted`.

    Of each row of pixels, only so many coefficients count.
    """
    strips = spectra(features, coefficients)
    strips -= strips.mean(axis=0)
    ends = np.concatenate([strips[e], strips[f]])
    others = np.concatenate([strips[f], strips[e]])
    across = np.ascontiguousarray(ends.T)
    spread = product(across, ends) / len(ends) + NOISE * np.eye(ends.shape[1])
    correlation, basis = decoupled(product(across, others) / len(ends), spread)
    strength = np.abs(correlation).clip(max=CLOSEST)
    u = product(strips, basis)
    learnt = u * np.sqrt(strength / (2 * (1 - strength**2)))
    alone = -np.round(np.log1p(-(strength**2)).sum() / 4 / fused.EXACT) * fused.EXACT
    own = product(u**2, (strength / (2 * (1 + strength)))[:, None]) + alone
    return Refitted(
        *features[:6],
        learnt=learnt.astype(np.float32),
        learnt_facing=(learnt * np.sign(correlation)).astype(np.float32),
        own=own,
        weights=np.zeros((len(u), TERMS)),
        rivals=features.rivals,
    )


def spectra(features: fused.Fused, coefficients: int = COEFFICIENTS) -> np.ndarray:
    """Return the first cosine coefficients of the outer rows of all edges, (4 n, rows x 3 x coefficients)."""
    edges, columns = features.border.shape
    rows = np.hstack([features.border, features.inner]).reshape(edges, -1, columns // 3)
    found = np.empty((*rows.shape[:2], min(coefficients, rows.shape[2])))
    for first in range(0, edges, fused.ROWS):
        part = slice(first, first + fused.ROWS)
        found[part] = dct(rows[part].astype(np.float64), norm="ortho")[..., :coefficients]
    return found.reshape(edges, -1)


def coordinates(features: fused.Fused, coefficients: int = COEFFICIENTS) -> int:
    """Return how many numbers an edge is described by."""
    size = features.border.shape[1]
    return (size + features.inner.shape[1]) // size * 3 * min(coefficients, size // 3)


def operands(features: Refitted) -> tuple[np.ndarray, np.ndarray]:
    """Return matrices whose product is how improbable all pairs are by what was learnt alone."""
    one = np.ones((len(features.own), 1), np.float32)
    squares = (features.learnt.astype(np.float64) ** 2).sum(axis=1, keepdims=True) - features.own
    squares = squares.astype(np.float32)
    return (
        np.hstack([-2 * features.learnt, squares, one]),
        np.hstack([features.learnt_facing, one, squares]),
    )


def fitted(features: Refitted, rivals: np.ndarray, candidates: np.ndarray, wanted: int) -> Refitted:
    """Fill in what rivals take off ln p; arguments as for `fused.fitted`."""
    odds = np.empty(candidates.shape)
    _list_odds(features, candidates, odds)
    rivals = fused.without_reserve(np.where(rivals < 1, np.inf, -odds), rivals, candidates, wanted)
    taken = features.rivals.copy()
    taken[:, 0] = fused.taken_by(odds, rivals, candidates)
    return features._replace(rivals=taken)


@kernel
def _list_odds(features, candidates, odds):
    """Fill in L of all candidates of all edges."""
    for e in range(len(candidates)):
        for c in range(candidates.shape[1]):
            odds[e, c] = odds_of(features, np.int64(e), np.int64(candidates[e, c]))


@kernel
def terms_of(features, e, f):
    """Return all terms of L of a pair of edges, each the larger the likelier it is that they touch."""
    e, f = min(e, f), max(e, f)
    size = features.border.shape[1] // 3
    span = min(fused.SPAN, size - 1)
    return (
        max(likeness(features, e, f), FLOOR),
        -np.log(mgc.score(features, e, f) + features.rivals[e, 1]),
        -fused.log_odds(features, e, f, 0, fused.UNIT / span**2) / (size + 1 - span),
        -fused.log_odds(features, e, f, 1, fused.UNIT) / (size - span),
        -fused.log_odds(features, e, f, 2, fused.UNIT) / size,
        -fused.log_odds(features, e, f, 3, fused.UNIT) / (size - 1),
    )


@kernel
def list_likenesses(features, e, candidates, likenesses):
    """Fill in the likeness of all candidates of some edges; that of -1 stays as it is."""
    for i in range(len(e)):
        for c in range(candidates.shape[1]):
            if candidates[i, c] >= 0:
                likenesses[i, c] = likeness(features, e[i], candidates[i, c])


@kernel
def list_terms(features, e, candidates, terms):
    """Fill in the terms of all candidates of some edges; those of -1 stay as they are."""
    for i in range(len(e)):
        for c in range(candidates.shape[1]):
            if candidates[i, c] >= 0:
                for k, term in enumerate(terms_of(features, e[i], candidates[i, c])):
                    terms[i, c, k] = term


@kernel
def odds_of(features, e, f):
    """Return L of a pair of edges."""
    total = 0.0
    for i, term in enumerate(terms_of(features, e, f)):
        total += features.weights[e, i] * term
    return total


@kernel(fastmath={"reassoc", "contract", "nsz"})
def likeness(features, e, f):
    """Return ln of how much more probable two strips are as those of edges that touch."""
    here, there = features.learnt[e], features.learnt_facing[f]
    total = np.float32(0)
    for i in range(len(here)):
        off = here[i] - there[i]
        total += off * off
    return features.own[e, 0] + features.own[f, 0] - total


@kernel
def score(features, e, f):
    """Return -ln p of a pair of edges, at most LIMIT."""
    return fused.improbability(odds_of(features, e, f), features.rivals, e, f)


@kernel
def value(score):
    """Return the dissimilarity that a score stands for: itself."""
    return score
