"""The frame of a single complete image: windows of as many places as there are pieces."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

_MOST = 1 << 20  # windows of one shape, and places, that are looked at without a second thought;
_SPARSE = 64  # beyond that, only so many times the number of pieces: what is so scattered has no frame


def solid_part(
    relations: np.ndarray, contact: np.ndarray, threshold: float, placed: np.ndarray
) -> np.ndarray:
    """Return which placed pieces are the largest part held together by contacts above a threshold."""
    pieces = len(relations) // 4
    e = np.flatnonzero((relations >= 0) & (contact > threshold))
    links = coo_array((np.ones(len(e), bool), (e // 4, relations[e] // 4)), (pieces, pieces))
    part = connected_components(links, directed=False)[1]
    return placed & (part == np.bincount(part, placed).argmax())


def shapes_of(pieces: int) -> list[tuple[int, int]]:
    """Return the widths and heights of all rectangles of so many pieces."""
    return [(width, pieces // width) for width in range(1, pieces + 1) if pieces % width == 0]


def windows(
    positions: np.ndarray, shapes: list[tuple[int, int]], count: int
) -> list[tuple[float, np.ndarray]]:
    """Return the windows that hold most of the given positions, with the share they hold, best first.

    Two of each shape: if several hold as much, the first and the last of them. Of different shapes that hold
    as much, those nearer to a square come first.
    """
    low = positions.min(axis=0)
    width, height = (int(size) for size in positions.max(axis=0) - low + 1)
    most = max(_SPARSE * len(positions), _MOST)
    if width * height > most:
        return []
    sums = np.zeros((height + 1, width + 1), np.int64)
    sums[positions[:, 1] - low[1] + 1, positions[:, 0] - low[0] + 1] = 1
    sums = sums.cumsum(axis=0).cumsum(axis=1)
    found = []
    for w, h in shapes:
        x = np.arange(min(0, width - w), max(0, width - w) + 1)
        y = np.arange(min(0, height - h), max(0, height - h) + 1)
        if len(x) * len(y) > most:
            continue
        x0, x1 = x.clip(0, width), (x + w).clip(0, width)
        y0, y1 = y.clip(0, height), (y + h).clip(0, height)
        held = sums[np.ix_(y1, x1)] - sums[np.ix_(y0, x1)] - sums[np.ix_(y1, x0)] + sums[np.ix_(y0, x0)]
        order = np.argsort(-held, axis=None, kind="stable")
        alike = int((held == held.max()).sum())
        for at in order[[0, max(alike - 1, 1)]] if held.size > 1 else order:
            i, j = np.unravel_index(at, held.shape)
            left, top = low[0] + x[j], low[1] + y[i]
            window = np.array([left, top, left + w, top + h], np.int32)
            found.append((held[i, j] / len(positions), w + h, window))
    found.sort(key=lambda item: (-item[0], item[1]))
    return [(share, window) for share, _, window in found[:count]]


def filled_box(layout: np.ndarray) -> np.ndarray | None:
    """Return the window that the pieces fill, all of them placed; None if they fill none."""
    low, high = layout[:, :2].min(axis=0), layout[:, :2].max(axis=0) + 1
    if (layout[:, 2] < 0).any() or np.prod(high - low, dtype=np.int64) != len(layout):
        return None
    return np.array([*low, *high], np.int32)


def roomy_window(layout: np.ndarray) -> np.ndarray:
    """Return a window around the placed pieces, as small as can be, that has a place for every piece."""
    placed = layout[layout[:, 2] >= 0, :2]
    low, high = placed.min(axis=0), placed.max(axis=0) + 1
    while np.prod(high - low, dtype=np.int64) < len(layout):
        low, high = low - 1, high + 1
    return np.array([*low, *high], np.int32)
