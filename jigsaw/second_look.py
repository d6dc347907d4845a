"""A second look at plain pieces: an assembly has shown how edges that touch go together, so compare again.

What few differences the pieces of a sky have, and which of them matter, is not the same from photograph to
photograph. It is learnt from all contacts between plain pieces in the best assembly so far, right and wrong
(measures/refitted.py), and the edges of plain pieces are compared with one another by that.
"""

from __future__ import annotations

import logging

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from jigsaw.allpairs import nearest
from jigsaw.assembly import Bonds
from jigsaw.measures import distinct_rows, fused, refitted, rows

log = logging.getLogger(__name__)

_PLAIN = 7.0  # spread of the colours along a piece's border up to which it is plain
_KEPT = 48  # nearest edges
_CROWDED = 0.1  # share of plain edges, at most, that more others look like than are kept
_COEFFICIENTS = (refitted.COEFFICIENTS, 4, 2, 1)  # of each row of pixels; as many as can be learnt
_LEAST = 8  # contacts to learn from, for every coordinate
_SAMPLE = 2500  # contacts by which terms are weighed,
_RIVALS = 64  # each among so many rivals that are likeliest by what was learnt, and those listed at first
_RESERVE = 16  # more of them, against rounding
_RIDGE = 1e-3  # keeps weights small that make no difference
_WRONG = 0.1  # share of contacts that may be there for no reason
_WORTH = 0.06  # by how much contacts must become more probable, on average of ln p
# Weights of all terms by `fused`.
_FUSED = np.array([0, fused.W_MGC, fused.W_MEAN, fused.W_CHANGE, fused.W_COLOUR, fused.W_COLOUR_CHANGE])


def look_again(bonds: Bonds, relations: np.ndarray, workers: int, least: int = 1) -> Bonds | None:
    """Compare the edges of plain pieces again; None where there is too little to learn from, or nothing new.

    None, too, where many are alike: no list would hold all those that an edge might as well touch.

    Parameters
    ----------
    bonds
        The edges as they were compared at first.
    relations
        (4 n) the edge that each edge touches in an assembly, -1 for none.
    workers
        Threads; the result does not depend on it.
    least
        How many coefficients of each row of pixels must be learnt to make it worth while.
    """
    if not isinstance(bonds.features, fused.Fused):
        return None
    edges = np.flatnonzero(np.repeat(plain_pieces(bonds.features), 4))
    number = np.full(len(bonds.near) + 1, -1, np.int64)  # the last stands for none
    number[edges] = np.arange(len(edges))
    e = edges[(number[relations[edges]] >= 0) & (edges < relations[edges])]
    enough = [c for c in _COEFFICIENTS if len(e) >= _LEAST * refitted.coordinates(bonds.features, c)]
    if not enough or enough[0] < least:
        return None
    count = enough[0]
    contacts = np.stack([number[e], number[relations[e]]])
    features = rows(bonds.features, edges)
    _, look, alike = distinct_rows([features.border, features.inner])
    if (alike[look] > _KEPT).mean() > _CROWDED:
        return None
    with threadpool_limits(1, "blas"):
        e, f = contacts[:, ::2]
        half = refitted.refitted(features, e, f, count)
        e, f = contacts[:, 1::2]  # of which nothing has been learnt by heart
        terms = terms_of_rivals(half, e, f, number[bonds.near[edges[e]]], bonds.turnable)
        weights, loss = weigh(terms)
        before = weigh(terms @ _FUSED[:, None])[1]
    log.debug("second look: contacts of plain pieces have -ln p %.3f, before %.3f", loss, before)
    if before - loss < _WORTH:
        return None
    plain = refitted.refitted(features, contacts[0], contacts[1], count)
    plain = plain._replace(weights=np.tile(weights, (len(edges), 1)))
    found = nearest(refitted, plain, _KEPT, workers, not bonds.turnable, with_mean=False)
    gains = np.where(found.edges >= 0, bonds.none - found.values, 0)
    return _merged(bonds, edges, number, np.where(found.edges >= 0, edges[found.edges], -1), gains)


def plain_pieces(features: fused.Fused) -> np.ndarray:
    """Return which pieces have much the same colour all along their border."""
    border = features.border.reshape(len(features.border) // 4, 4, 3, -1).astype(np.int64)
    count = border.shape[1] * border.shape[3]
    variance = count * (border**2).sum(axis=(1, 3)) - border.sum(axis=(1, 3)) ** 2  # times count²
    return (variance < (_PLAIN * count) ** 2).all(axis=1)


def terms_of_rivals(
    features: refitted.Refitted, e: np.ndarray, f: np.ndarray, near: np.ndarray, turnable: bool = True
) -> np.ndarray:
    """Return the terms of some contacts of e with f, and of the likeliest rivals of f: (some, 1 + k, TERMS).

    `near` (contacts, k) are further rivals, -1 for none. A rival that is none has terms that are no numbers.
    """
    some = np.linspace(0, len(e) - 1, min(_SAMPLE, len(e))).astype(int)
    e, f, near = e[some], f[some], near[some]
    left, right = refitted.operands(features)
    count = min(_RIVALS + _RESERVE, len(left))
    likeliest = np.empty((len(e), count), np.int64)
    impossible = np.zeros(len(left), bool)
    for row, one in enumerate(e):
        impossible[:] = not turnable
        impossible[(one + 2) % 4 :: 4] = False
        impossible[one // 4 * 4 : one // 4 * 4 + 4] = True
        screened = np.where(impossible, np.inf, left[one] @ right.T)
        likeliest[row] = np.sort(np.argpartition(screened, count - 1)[:count])
        likeliest[row, impossible[likeliest[row]]] = -1
    likeness = np.full(likeliest.shape, -np.inf)
    refitted.list_likenesses(features, e, likeliest, likeness)
    order = np.argsort(-likeness, axis=1, kind="stable")[:, :_RIVALS]
    rivals = np.sort(np.hstack([np.take_along_axis(likeliest, order, 1), near]), axis=1)
    rivals[:, 1:][rivals[:, 1:] == rivals[:, :-1]] = -1
    rivals[rivals == f[:, None]] = -1
    candidates = np.hstack([f[:, None], rivals])
    terms = np.full((*candidates.shape, refitted.TERMS), np.nan)
    refitted.list_terms(features, e, candidates, terms)
    return terms


def weigh(terms: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the weights by which the first of each row is most probable, and its mean -ln p then.

    No weight is below zero. The first may be there for no reason at all, as contacts may be wrong. Weights
    are rounded, as the way to the optimum is not the same on every processor, but the optimum is.
    (McFadden, "Conditional logit analysis of qualitative choice behavior", 1974.)
    """
    there = ~np.isnan(terms[..., 0])
    for_no_reason = _WRONG / there.sum(axis=1)
    scale = np.nanstd(terms, axis=(0, 1)) + 1e-9
    scaled = np.nan_to_num(terms / scale)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        odds = np.where(there, scaled @ weights, -np.inf)
        most = odds.max(axis=1, keepdims=True)
        share = np.exp(odds - most)
        share /= share.sum(axis=1, keepdims=True)
        for_a_reason = (1 - _WRONG) * share[:, 0]
        probable = for_a_reason + for_no_reason
        slope = np.einsum("ij,ijk->ik", share, scaled) - scaled[:, 0]
        slope = (for_a_reason / probable) @ slope / len(slope)
        return float(_RIDGE * weights @ weights - np.log(probable).mean()), slope + 2 * _RIDGE * weights

    bounds = [(0, None)] * len(scale)
    to_the_end = {"ftol": 0, "gtol": 1e-10, "maxiter": 1000}
    found = minimize(
        loss, np.ones(len(scale)), jac=True, method="L-BFGS-B", bounds=bounds, options=to_the_end
    )
    return np.round(np.round(found.x, 3) / scale, 6), float(found.fun)


def _merged(
    bonds: Bonds, edges: np.ndarray, number: np.ndarray, near: np.ndarray, gains: np.ndarray
) -> Bonds:
    """List with some edges what they were found to be near to, and of what was listed only the others.

    No list is full, so that nothing else gains anything. (assembly.gain_of)
    """
    count, listed = bonds.near.shape
    all_near = np.full((count, listed + near.shape[1] + 1), -1, np.int32)
    all_gains = np.zeros(all_near.shape, np.float32)
    all_near[:, :listed] = np.where((number[:-1, None] >= 0) & (number[bonds.near] >= 0), -1, bonds.near)
    all_near[edges, listed:-1] = near
    all_gains[:, :listed], all_gains[edges, listed:-1] = bonds.gains, gains
    all_gains[all_near < 0] = 0
    order = np.argsort(-all_gains, axis=1, kind="stable")
    all_gains = np.take_along_axis(all_gains, order, 1)
    all_near = np.where(all_gains > 0, np.take_along_axis(all_near, order, 1), -1).astype(np.int32)
    return bonds._replace(near=all_near, gains=all_gains)


def warm_up(features: fused.Fused) -> None:
    """Compile the kernels, or load them from the cache, with the features of two pieces."""
    e, f = np.array([0]), np.array([4])
    plain = refitted.refitted(features, e, f)
    terms_of_rivals(plain, e, f, f[:, None])
    nearest(refitted, plain, 1, with_mean=False)
