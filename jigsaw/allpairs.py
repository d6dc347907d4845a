"""All pairs of edges in bounded memory: the nearest edges of each edge, and the mean over all pairs.

Edges that look alike in every feature are compared once. Blocks of the matrix product U Vᵀ (float32)
only screen; what they let through is rescored exactly, and a row whose screening left a doubt is
compared in full.
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
from jigsaw.measures import rows, score, value

_BLOCK = 512
_SPARE = 12  # candidates beyond the k wanted: own piece's four edges, and room for rounding


class Nearest(NamedTuple):
    """For each edge its k nearest edges on other pieces (ties by number), and the mean over all pairs."""

    edges: np.ndarray  # (4 n, k) int32, -1 where there are fewer than k
    values: np.ndarray  # (4 n, k) float32
    mean: float


def nearest(measure: ModuleType, features: Any, k: int, workers: int = 1) -> Nearest:
    """Compare all edges with all edges of other pieces."""
    owner, counts, distinct = _distinct(features)
    edges, size = len(owner), len(counts)
    kept = min(k + _SPARE, size)
    screened = np.full((size, kept), np.inf, np.float32)
    candidates = np.full((size, kept), -1, np.int32)
    left, right = measure.operands(distinct)
    total = _screen(left, right, counts, measure.ROOT, screened, candidates, workers)

    exact = np.empty((size, kept))
    doubt = np.empty(size)
    corrections = np.empty(size)
    _in_parts(
        workers, size, _exact, distinct, counts, measure.ROOT, screened, candidates, exact, doubt, corrections
    )
    members = np.argsort(owner, kind="stable").astype(np.int32)  # edges by what they look like
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    found = np.full((edges, k), -1, np.int32)
    scores = np.full((edges, k), np.inf)
    limits = np.where(kept == size, np.inf, screened[:, -1] - doubt)  # all that was not kept is farther away
    _in_parts(
        workers, edges, _collect, distinct, owner, members, starts, candidates, exact, limits, found, scores
    )

    same = np.empty(edges // 4)
    values = np.empty((edges, k), np.float32)
    _in_parts(workers, edges // 4, _within_pieces, features, same)
    _in_parts(workers, edges, _values, features, scores, values)
    pairs = edges * (edges - 4)
    mean = float(measure.value(1.0)) * (total + corrections.sum()) - same.sum()  # value is proportional
    return Nearest(found, values, float(np.float32(mean / pairs)) if pairs else 0.0)


def warm_up(measure: ModuleType) -> None:
    """Compile the kernels for a measure, or load them from the cache, by comparing two pieces."""
    pixels = np.arange(2 * 2 * 2 * 3, dtype=np.uint8).reshape(2, 2, 2, 3)
    nearest(measure, measure.features(pixels), 1)


def _distinct(features: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return which distinct edge each edge looks like, how many look like each, and the distinct features."""
    data = np.hstack([np.ascontiguousarray(array).view(np.uint8) for array in features])
    _, first, inverse, counts = np.unique(
        data.view(np.dtype((np.void, data.shape[1]))).reshape(-1),
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    # Sorted by colour, so that edges that are alike meet early and the lists fill with good candidates.
    order = np.argsort(features[0][first].mean(axis=1), kind="stable")
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    return position[inverse], counts[order], rows(features, first[order])


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
def _scan(product, row0, column0, weights, root, screened, candidates):
    """Offer the entries of a block to the lists of its rows and columns; return their weighted sum.

    A chunk is first looked at as a whole, which vectorises; only one with a hit is looked at singly. A block
    on the diagonal holds each pair twice, so there rows are enough.
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
        part = np.float32(0)
        for first in range(0, columns, 64):
            end = min(first + 64, columns)
            hits = 0
            for c in range(first, end):
                entry = product[r, c]
                hits |= (entry <= limit) | (entry <= column_limits[c])
            if root:
                for c in range(first, end):
                    part += weights[column0 + c] * np.sqrt(max(product[r, c], np.float32(0)))
            else:
                for c in range(first, end):
                    part += weights[column0 + c] * product[r, c]
            if hits:
                for c in range(first, end):
                    entry = product[r, c]
                    if entry <= limit:
                        _insert(screened, candidates, row, entry, column0 + c)
                        limit = screened[row, last]
                    if entry <= column_limits[c]:
                        _insert(screened, candidates, column0 + c, entry, row)
                        column_limits[c] = screened[column0 + c, last]
        total += weights[row] * part
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
            exact[row, c] = score(features, min(row, other), max(row, other))
            rough = np.float64(screened[row, c])
            worst = max(worst, abs(exact[row, c] - rough))
            if root:
                added += counts[other] * (np.sqrt(exact[row, c]) - np.sqrt(max(rough, 0.0)))
            else:
                added += counts[other] * (exact[row, c] - rough)
        doubt[row] = 4 * worst
        corrections[row] = counts[row] * added


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
def _collect(first, last, features, owner, members, starts, candidates, exact, limits, found, scores):
    """Give edges [first, last) their lists from the candidates, or from all where these leave a doubt."""
    k = found.shape[1]
    for e in range(first, last):
        row = owner[e]
        for c in range(candidates.shape[1]):
            other = candidates[row, c]
            for m in range(starts[other], starts[other + 1]):
                if members[m] >> 2 != e >> 2 and not _offer(found, scores, e, exact[row, c], members[m]):
                    break
        if limits[row] == np.inf or (found[e, k - 1] >= 0 and scores[e, k - 1] < limits[row]):
            continue
        found[e] = -1
        for other in range(len(starts) - 1):
            full = score(features, min(row, other), max(row, other))
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
