"""All pairs of edges in bounded memory: the nearest edges of each edge, and the mean over all pairs.

Edges that look alike in every feature are compared once. Blocks of the matrix product U Vᵀ (float32)
only screen; what they let through is rescored exactly. Where the product stands for the measure itself, a row
whose screening left a doubt is compared in full, so that the lists are exact. Where it stands for a
relative of the measure, the nearest of a number of candidates are taken.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from threading import Lock, local
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from jigsaw.compiled import kernel
from jigsaw.measures import distinct_rows, rows, score, value
from jigsaw.randomness import below, start

_BLOCK = 512
_CHUNK = 64  # entries of a block that are looked at as a whole
_FAR = np.float32(1e30)  # screened score of a pair that cannot touch
_SAMPLE = 1 << 18  # pairs whose mean stands for that of all
_SPARE = 12  # candidates beyond the k wanted: own piece's four edges, and room for rounding


class Nearest(NamedTuple):
    """For each edge its k nearest edges on other pieces (ties by number), and the mean over all pairs."""

    edges: np.ndarray  # (4 n, k) int32, -1 where there are fewer than k
    values: np.ndarray  # (4 n, k) float32
    mean: float  # over all pairs, or a sample of them where a measure is screened by another
    features: Any  # with what the measure has fitted to the bag


def nearest(
    measure: ModuleType,
    features: Any,
    k: int,
    workers: int = 1,
    upright: bool = False,
    with_mean: bool = True,
) -> Nearest:
    """Compare all edges with all edges of other pieces; of upright pieces, only edges of opposite sides.

    Without mean, that is 0.
    """
    owner, counts, first = _distinct(features, upright)
    distinct = rows(features, first)
    edges, size = len(owner), len(counts)
    screening = hasattr(measure, "CANDIDATES")
    wanted = max(k, getattr(measure, "CANDIDATES", k))
    kept = min(wanted + _SPARE, size)
    screened = np.full((size, kept), np.inf, np.float32)
    candidates = np.full((size, kept), -1, np.int32)
    left, right = measure.operands(distinct)
    if upright:
        side = np.eye(4, dtype=np.float32)[first % 4]
        left, right = np.hstack([left, side]), np.hstack([right, _FAR * (1 - np.roll(side, 2, axis=1))])
    total = _screen(left, right, counts, measure.ROOT, screened, candidates, workers)
    del left, right
    candidates[screened >= _FAR / 2] = -1

    if hasattr(measure, "fitted"):
        sides = owner.reshape(-1, 4)[first // 4]  # looks of the four edges of each row's piece, no rivals
        own = sum(candidates == sides[:, side, None] for side in range(4))
        rivals = np.where(candidates >= 0, counts[candidates] - own, 0)
        distinct = measure.fitted(distinct, rivals, candidates, wanted)
        features = rows(distinct, owner)
    exact = np.empty((size, kept))
    if screening:
        _in_parts(workers, size, _score, distinct, candidates, exact)
        _share(distinct, candidates, exact)
        limits = np.full(size, np.inf)
    else:
        doubt = np.empty(size)
        corrections = np.empty(size)
        _in_parts(
            workers, size, _exact,
            distinct, counts, measure.ROOT, screened, candidates, exact, doubt, corrections,
        )  # fmt: skip
        limits = np.where(kept == size, np.inf, screened[:, -1] - doubt)  # what was not kept is farther away
    members = np.argsort(owner, kind="stable").astype(np.int32)  # edges by what they look like
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    found = np.full((edges, k), -1, np.int32)
    scores = np.full((edges, k), np.inf)
    _in_parts(
        workers, edges, _collect,
        distinct, upright, owner, members, starts, candidates, exact, limits, found, scores,
    )  # fmt: skip
    values = np.empty((edges, k), np.float32)
    _in_parts(workers, edges, _values, features, scores, values)

    pairs = edges * (edges - 4)
    if pairs == 0 or not with_mean:
        mean = 0.0
    elif screening or upright:
        mean = _mean_of_sample(features, upright)
    else:
        same = np.empty(edges // 4)
        _in_parts(workers, edges // 4, _within_pieces, features, same)
        # `value` is proportional to what was summed.
        mean = (float(measure.value(1.0)) * (total + corrections.sum()) - same.sum()) / pairs
    return Nearest(found, values, float(np.float32(mean)), features)


def warm_up(measure: ModuleType) -> None:
    """Compile the kernels for a measure, or load them from the cache, by comparing two pieces."""
    pixels = np.arange(2 * 2 * 2 * 3, dtype=np.uint8).reshape(2, 2, 2, 3)
    nearest(measure, measure.features(pixels), 1)


def _distinct(features: Any, upright: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which distinct edge each edge looks like, how many look like each, and the first that does."""
    sides = [np.arange(len(features[0]))[:, None] % 4] if upright else []
    first, look, counts = distinct_rows([*features, *sides])
    # Sorted by colour, so that edges that are alike meet early and the lists fill with good candidates.
    order = np.argsort(features[0][first].mean(axis=1), kind="stable")
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    return position[look], counts[order], first[order]


def _in_parts(workers: int, size: int, function: Callable[..., None], *arguments: Any) -> None:
    """Run a kernel over all items, in threads."""
    bounds = np.linspace(0, size, 4 * workers + 1).astype(int)
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda first, last: function(first, last, *arguments), bounds[:-1], bounds[1:]))


def _screen(
    left: np.ndarray,
    right: np.ndarray,
    counts: np.ndarray,
    root: bool,
    screened: np.ndarray,
    candidates: np.ndarray,
    workers: int,
) -> float:
    """Fill the candidates of every row from the upper triangle of blocks; return the sum over all pairs."""
    size = len(left)
    blocks = -(-size // _BLOCK)
    weights = counts.astype(np.float32)
    locks = [Lock() for _ in range(blocks)]
    sums = np.zeros((blocks, blocks))
    memory = local()

    def block(pair: tuple[int, int]) -> None:
        i, j = pair
        down, across = (slice(b * _BLOCK, min((b + 1) * _BLOCK, size)) for b in pair)
        if not hasattr(memory, "buffer"):
            memory.buffer = np.empty(_BLOCK * _BLOCK, np.float32)
        shape = down.stop - down.start, across.stop - across.start
        product = memory.buffer[: shape[0] * shape[1]].reshape(shape)
        np.dot(left[down], right[across].T, out=product)
        with locks[i], locks[j] if j > i else nullcontext():
            sums[pair] = _scan(product, down.start, across.start, weights, root, screened, candidates)

    # Along diagonals, so that blocks handled at the same time share neither rows nor columns.
    pairs = [(i, i + distance) for distance in range(blocks) for i in range(blocks - distance)]
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(workers) as pool:
        list(pool.map(block, pairs))
    return float(2 * sums.sum() - sums.trace())


@kernel
def _insert(values, indices, row, value, index):
    """Put a candidate into a row's sorted list, ties by index; the worst falls off."""
    at = values.shape[1] - 1
    if value == values[row, at] and index > indices[row, at]:
        return
    while at > 0 and (
        values[row, at - 1] > value or (values[row, at - 1] == value and indices[row, at - 1] > index)
    ):
        values[row, at] = values[row, at - 1]
        indices[row, at] = indices[row, at - 1]
        at -= 1
    values[row, at] = value
    indices[row, at] = index


@kernel(fastmath={"reassoc", "contract", "nsz"})
def _look(product, r, first, end, limit, column_limits, weights, column0, root):
    """Return whether any entry of a chunk may enter a list of its row or column, and their weighted sum."""
    hits = np.int32(0)  # as wide as an entry, or it vectorises badly
    for c in range(first, end):
        entry = product[r, c]
        hits = np.int32(hits | np.int32((entry <= limit) | (entry <= column_limits[c])))
    part = np.float32(0)
    if root:
        for c in range(first, end):
            part += weights[column0 + c] * np.sqrt(max(product[r, c], np.float32(0)))
    else:
        for c in range(first, end):
            part += weights[column0 + c] * product[r, c]
    return hits, part


@kernel(allocates=True, fastmath={"reassoc", "contract", "nsz"})
def _scan(product, row0, column0, weights, root, screened, candidates):
    """Offer the entries of a block to the lists of its rows and columns; return their weighted sum.

    A chunk is first looked at as a whole, which vectorises, best if its size is known beforehand; only one
    with a hit is looked at singly. A block on the diagonal holds each pair twice, so there rows are enough.
    """
    rows, columns = product.shape
    last = screened.shape[1] - 1
    column_limits = np.empty(columns, np.float32)
    for c in range(columns):
        column_limits[c] = np.float32(-np.inf) if row0 == column0 else screened[column0 + c, last]
    total = 0.0
    for r in range(rows):
        row = row0 + r
        limit = screened[row, last]
        for first in range(0, columns, _CHUNK):
            if first + _CHUNK <= columns:
                end = first + _CHUNK
                hits, part = _look(
                    product, r, first, first + _CHUNK, limit, column_limits, weights, column0, root
                )
            else:
                end = columns
                hits, part = _look(product, r, first, columns, limit, column_limits, weights, column0, root)
            total += weights[row] * part
            if hits:
                for c in range(first, end):
                    entry = product[r, c]
                    if entry <= limit:
                        _insert(screened, candidates, row, entry, column0 + c)
                        limit = screened[row, last]
                    if entry <= column_limits[c]:
                        _insert(screened, candidates, column0 + c, entry, row)
                        column_limits[c] = screened[column0 + c, last]
    return total


@kernel
def _exact(first, last, features, counts, root, screened, candidates, exact, doubt, corrections):
    """Score the candidates of rows [first, last) exactly.

    Also say how far off the screening may be, four times the worst seen in the row, and what the exact
    scores, where float32 is at its worst, add to the row's sum.
    """
    for row in range(first, last):
        worst = 0.0
        added = 0.0
        for c in range(candidates.shape[1]):
            other = candidates[row, c]
            exact[row, c] = np.inf
            if other < 0:
                continue
            exact[row, c] = score(features, row, other)
            rough = np.float64(screened[row, c])
            worst = max(worst, abs(exact[row, c] - rough))
            if root:
                added += counts[other] * (np.sqrt(exact[row, c]) - np.sqrt(max(rough, 0.0)))
            else:
                added += counts[other] * (exact[row, c] - rough)
        doubt[row] = 4 * worst
        corrections[row] = counts[row] * added


@kernel
def _score(first, last, features, candidates, exact):
    """Score the candidates of rows [first, last)."""
    for row in range(first, last):
        for c in range(candidates.shape[1]):
            other = candidates[row, c]
            exact[row, c] = score(features, row, other) if other >= 0 else np.inf


@kernel(allocates=True)
def _share(features, candidates, exact):
    """Give every row that is a candidate of another, but not the other way round, its worst place."""
    kept = candidates.shape[1]
    original = candidates.copy()
    worst = np.empty(len(candidates), np.int64)
    for row in range(len(candidates)):
        worst[row] = np.argmax(exact[row])
    for row in range(len(candidates)):
        for c in range(kept):
            other = original[row, c]
            if other < 0:
                continue
            known = False
            for i in range(kept):
                known |= candidates[other, i] == row
            if not known:
                back = score(features, other, row)
                if back < exact[other, worst[other]]:
                    candidates[other, worst[other]] = row
                    exact[other, worst[other]] = back
                    worst[other] = np.argmax(exact[other])


@kernel(allocates=True)
def _mean_of_sample(features, upright):
    """Return the mean dissimilarity of pairs of edges that could touch, drawn at random."""
    random = np.zeros(1, np.uint64)
    start(random, 0, 0, 0)
    edges = len(features[0])
    total = 0.0
    for _ in range(_SAMPLE):
        e = below(random, edges)
        f = below(random, edges - 4)
        f += 4 * (f >> 2 >= e >> 2)  # skip e's piece
        if upright:
            f = (f & ~3) | ((e + 2) & 3)
        total += value(features, score(features, e, f))
    return total / _SAMPLE


@kernel
def _offer(found, scores, e, candidate_score, f):
    """Put edge f into the sorted list of edge e; False if the list is full of better ones."""
    k = found.shape[1]
    at = k
    while at > 0 and (
        found[e, at - 1] < 0
        or scores[e, at - 1] > candidate_score
        or (scores[e, at - 1] == candidate_score and found[e, at - 1] > f)
    ):
        if at < k:
            scores[e, at] = scores[e, at - 1]
            found[e, at] = found[e, at - 1]
        at -= 1
    if at == k:
        return False
    scores[e, at] = candidate_score
    found[e, at] = f
    return True


@kernel
def _collect(
    first, last, features, upright, owner, members, starts, candidates, exact, limits, found, scores
):
    """Give edges [first, last) their lists from the candidates, or from all where these leave a doubt."""
    k = found.shape[1]
    for e in range(first, last):
        row = owner[e]
        for c in range(candidates.shape[1]):
            other = candidates[row, c]
            if other < 0:
                continue
            for m in range(starts[other], starts[other + 1]):
                if members[m] >> 2 != e >> 2 and not _offer(found, scores, e, exact[row, c], members[m]):
                    break
        if limits[row] == np.inf or (found[e, k - 1] >= 0 and scores[e, k - 1] < limits[row]):
            continue
        found[e] = -1
        scores[e] = np.inf
        for other in range(len(starts) - 1):
            if upright and members[starts[other]] & 3 != (e + 2) & 3:
                continue
            full = score(features, row, other)
            for m in range(starts[other], starts[other + 1]):
                if members[m] >> 2 != e >> 2 and not _offer(found, scores, e, full, members[m]):
                    break


@kernel
def _within_pieces(first, last, features, same):
    """Sum the dissimilarities between the edges of each piece, which are no pairs."""
    for p in range(first, last):
        same[p] = 0.0
        for e in range(4 * p, 4 * p + 4):
            for f in range(4 * p, 4 * p + 4):
                same[p] += value(features, score(features, e, f))


@kernel
def _values(first, last, features, scores, values):
    """Turn scores into dissimilarities."""
    for e in range(first, last):
        for c in range(scores.shape[1]):
            values[e, c] = value(features, scores[e, c])
