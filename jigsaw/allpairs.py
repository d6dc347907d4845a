"""All pairs of edges in bounded memory: the nearest edges of each edge, and the mean over all pairs.

Equal strips are compared once. Blocks of the matrix product U Vᵀ (float32) only screen; what they let
through is rescored exactly, and a row whose screening left a doubt is compared in full.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Lock, local
from typing import NamedTuple

import numpy as np
from numba import njit
from threadpoolctl import threadpool_limits

from jigsaw.measures import ssd

_BLOCK = 512
_SPARE = 12  # candidates beyond the k wanted: own piece's four edges, and room for rounding


class Nearest(NamedTuple):
    """For each edge its k nearest edges on other pieces (ties by number), and the mean over all pairs."""

    edges: np.ndarray  # (4 n, k) int32, -1 where there are fewer than k
    values: np.ndarray  # (4 n, k) float32
    mean: float


def nearest(strips: np.ndarray, k: int, workers: int = 1) -> Nearest:
    """Compare all edges with all edges of other pieces."""
    distinct, inverse, counts = np.unique(strips, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(distinct[:, ::3].mean(axis=1), kind="stable")  # alike strips meet early
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    distinct, counts, owner = distinct[order], counts[order], position[inverse.reshape(-1)]

    kept = min(k + _SPARE, len(distinct))
    left, right = ssd.operands(distinct)
    screened = np.full((len(distinct), kept), np.inf, np.float32)
    candidates = np.full((len(distinct), kept), -1, np.int32)
    total = _screen(left, right, counts.astype(np.float32), screened, candidates, workers)
    faces = ssd.facing(distinct)
    total += _correction(distinct, faces, counts, screened, candidates)

    members = np.argsort(owner, kind="stable").astype(np.int32)  # edges by distinct strip
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    # Eight standard deviations of the rounding of a float32 sum of this length.
    doubt = 8 * np.sqrt(left.shape[1] / 12) * 2.0**-24
    norms = left[:, -2].astype(np.float64)
    certain = kept == len(distinct)
    edges = np.full((len(strips), k), -1, np.int32)
    squares = np.full((len(strips), k), -1, np.int64)

    def rescore(first: int, last: int) -> None:
        _rescore(
            first, last, distinct, faces, owner, members, starts, screened, candidates,
            norms, doubt, certain, edges, squares,
        )  # fmt: skip

    bounds = np.linspace(0, len(strips), 4 * workers + 1).astype(int)
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(rescore, bounds[:-1], bounds[1:]))
    values = np.where(edges >= 0, np.sqrt(np.maximum(squares, 0)) / ssd.SCALE, np.inf).astype(np.float32)

    same = _within_pieces(strips, ssd.facing(strips))
    pairs = len(strips) * (len(strips) - 4)
    mean = (total - same) / ssd.SCALE / pairs if pairs else 0.0
    return Nearest(edges, values, float(np.float32(mean)))


def warm_up() -> None:
    """Compile the kernels, or load them from the cache, by comparing two pieces."""
    nearest(np.arange(8 * 6, dtype=np.int16).reshape(8, 6), 1)


def _screen(
    left: np.ndarray,
    right: np.ndarray,
    counts: np.ndarray,
    values: np.ndarray,
    indices: np.ndarray,
    workers: int,
) -> float:
    """Fill the nearest candidates of every row from the upper triangle of blocks; return the sum of roots."""
    size = len(left)
    blocks = -(-size // _BLOCK)
    locks = [Lock() for _ in range(blocks)]
    sums = np.zeros((blocks, blocks))
    memory = local()

    def block(pair: tuple[int, int]) -> None:
        i, j = pair
        rows, columns = (slice(b * _BLOCK, min((b + 1) * _BLOCK, size)) for b in pair)
        if not hasattr(memory, "buffer"):
            memory.buffer = np.empty(_BLOCK * _BLOCK, np.float32)
        shape = rows.stop - rows.start, columns.stop - columns.start
        product = memory.buffer[: shape[0] * shape[1]].reshape(shape)
        np.dot(left[rows], right[columns].T, out=product)
        with locks[i]:
            if i == j:
                sums[i, j] = _scan(product, rows.start, columns.start, counts, values, indices, True)
            else:
                with locks[j]:
                    sums[i, j] = 2 * _scan(product, rows.start, columns.start, counts, values, indices, False)

    # Along diagonals, so that blocks handled at the same time share neither rows nor columns.
    pairs = [(i, i + distance) for distance in range(blocks) for i in range(blocks - distance)]
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(workers) as pool:
        list(pool.map(block, pairs))
    return float(sums.sum())


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _scan(product, row0, column0, counts, values, indices, diagonal):
    """Sum the roots of a block and offer its entries to the lists of its rows and, off the diagonal, columns.

    A chunk is first looked at as a whole, which vectorises; only one with a hit is looked at singly.
    """
    rows, columns = product.shape
    last = values.shape[1] - 1
    column_limits = np.empty(columns, np.float32)
    for c in range(columns):
        column_limits[c] = np.float32(-np.inf) if diagonal else values[column0 + c, last]
    total = 0.0
    for r in range(rows):
        row = row0 + r
        limit = values[row, last]
        roots = np.float32(0)
        for first in range(0, columns, 64):
            end = min(first + 64, columns)
            hits = 0
            for c in range(first, end):
                value = product[r, c]
                roots += counts[column0 + c] * np.sqrt(max(value, np.float32(0)))
                hits |= (value <= limit) | (value <= column_limits[c])
            if hits:
                for c in range(first, end):
                    value = product[r, c]
                    if value <= limit:
                        _insert(values, indices, row, value, column0 + c)
                        limit = values[row, last]
                    if value <= column_limits[c]:
                        _insert(values, indices, column0 + c, value, row)
                        column_limits[c] = values[column0 + c, last]
        total += counts[row] * roots
    return total


@njit(cache=True, nogil=True)
def _correction(strips, faces, counts, screened, candidates):
    """Return what exact values of the nearest pairs, where float32 is at its worst, add to the sum."""
    total = 0.0
    for i in range(len(strips)):
        for c in range(candidates.shape[1]):
            j = candidates[i, c]
            exact = np.sqrt(np.float64(ssd.squared(strips, faces, i, j)))
            total += counts[i] * counts[j] * (exact - np.sqrt(max(np.float64(screened[i, c]), 0.0)))
    return total


@njit(cache=True, nogil=True)
def _offer(edges, squares, e, square, f):
    """Put edge f into the sorted list of edge e; False if the list is full of better ones."""
    k = edges.shape[1]
    at = k
    while at > 0 and (
        edges[e, at - 1] < 0
        or squares[e, at - 1] > square
        or (squares[e, at - 1] == square and edges[e, at - 1] > f)
    ):
        if at < k:
            squares[e, at] = squares[e, at - 1]
            edges[e, at] = edges[e, at - 1]
        at -= 1
    if at == k:
        return False
    squares[e, at] = square
    edges[e, at] = f
    return True


@njit(cache=True, nogil=True)
def _rescore(
    first, last, strips, faces, owner, members, starts, screened, candidates, norms, doubt, certain,
    edges, squares,
):  # fmt: skip
    """Give edges [first, last) their exact lists from the screened candidates, or from all where in doubt."""
    k = edges.shape[1]
    kept = candidates.shape[1]
    for e in range(first, last):
        me = owner[e]
        for full in range(2):
            reach = len(strips) if full else kept
            for i in range(reach):
                other = i if full else candidates[me, i]
                square = ssd.squared(strips, faces, min(me, other), max(me, other))
                for m in range(starts[other], starts[other + 1]):
                    if members[m] >> 2 != e >> 2 and not _offer(edges, squares, e, square, members[m]):
                        break
            if certain or full:
                break
            # Whatever was not kept is at least this far away.
            bound = screened[me, kept - 1]
            bound -= doubt * (norms[me] + max(norms[me], norms[candidates[me, kept - 1]]))
            if edges[e, k - 1] >= 0 and squares[e, k - 1] < bound:
                break
            edges[e] = -1


@njit(cache=True, nogil=True)
def _within_pieces(strips, faces):
    """Sum the dissimilarities, times SCALE, of edges of one and the same piece, which are no pairs."""
    total = 0.0
    for e in range(len(strips)):
        for f in range(e & ~3, (e & ~3) + 4):
            total += np.sqrt(np.float64(ssd.squared(strips, faces, e, f)))
    return total
