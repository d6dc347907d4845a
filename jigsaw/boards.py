"""Boards: the pictures that one assembly may hold, each laid out on its own, and the rectangle each must be.

A core is a part of an assembly held together by squares of four pieces whose contacts are all strong: one
strong contact that is wrong does not make two pictures one core.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from jigsaw.compiled import kernel

SPACING = 1 << 15  # places from one board to the next
_BEYOND = 2  # places that a window may reach beyond what lies on its board
_OPTIONS = 200  # windows of different areas that are considered for a board
_NEVER = 1 << 30  # cost of what cannot be
_FEW = 0.001  # share of the pieces on a board that may be far out, on each side, and are left out of account
_SPARSE = 4  # times the number of pieces: a board that is larger has no window
_REACH = 4  # contacts to either side, on the same line, with which a contact is weighed
_LINE = 0.8  # strength that these must have together, as a share of what the contact itself must have


def cores_of(layout: np.ndarray, relations: np.ndarray, contact: np.ndarray, threshold: float) -> np.ndarray:
    """Number the cores of an assembly, the largest 0; (n), -1 for pieces in none.

    They are held together by squares of four strong contacts, each on a line of contacts that are strong too:
    of two images that lie side by side, some pieces may fit by chance, but not many in a row.
    """
    n = len(layout)
    p = np.arange(n)
    sides = [4 * p + (side - layout[:, 2]) % 4 for side in range(4)]
    beside = [np.where(relations[e] >= 0, relations[e] // 4, -1) for e in sides]
    strong_right, strong_down = (
        (contact[sides[d]] > threshold)
        & (_along_line(contact[sides[d]], beside[(d + 1) % 4], beside[(d + 3) % 4]) > _LINE * threshold)
        for d in (1, 2)
    )
    right, down = beside[1], beside[2]
    square = strong_right & strong_down & strong_down[right] & strong_right[down]
    corner = np.flatnonzero(square)
    across = down[right[corner]]
    one, two = np.tile(corner, 3), np.concatenate([right[corner], down[corner], across])
    links = coo_array((np.ones(len(one), bool), (one, two)), (n, n))
    part = connected_components(links, directed=False)[1]
    return np.where(np.bincount(part)[part] >= 4, by_size(part), -1)


def _along_line(contact: np.ndarray, after: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return the mean of the contacts of each piece to one side and of those beside it, -1 for none."""
    total, count = np.where(contact >= 0, contact, 0.0), (contact >= 0).astype(float)
    for following in (after, before):
        at = following
        for _ in range(_REACH):
            there = (at >= 0) & (contact[at] >= 0)
            total, count = total + np.where(there, contact[at], 0.0), count + there
            at = np.where(there, following[at], -1)
    return np.where(contact >= 0, total / np.maximum(count, 1), -1.0)


def by_size(label: np.ndarray) -> np.ndarray:
    """Number labels anew: 0 the one that most have, and so on."""
    _, label, sizes = np.unique(label, return_inverse=True, return_counts=True)
    rank = np.empty(len(sizes), np.int32)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return rank[label]


def board_windows(count: int) -> np.ndarray:
    """Return the windows of so many boards, which have room for anything."""
    first = SPACING * np.arange(count)
    half = SPACING // 2
    return np.column_stack(
        [first - half, np.full(count, -half), first + half - 1, np.full(count, half)]
    ).astype(np.int32)


def spread(layout: np.ndarray, core: np.ndarray, count: int) -> np.ndarray:
    """Move the first cores each to the middle of a board, and all other pieces together off the boards."""
    moved = layout.copy()
    moved[:, 1] += SPACING * 4
    for i in range(count):
        mine = core == i
        middle = np.round(np.median(layout[mine, :2], axis=0)).astype(np.int32)
        moved[mine, :2] = layout[mine, :2] - middle + (SPACING * i, 0)
    return moved


def fit_windows(layout: np.ndarray, count: int) -> list[tuple[int, np.ndarray]]:
    """Choose windows for some of the boards, so that together they have a place for each piece.

    Returns for every number of windows the choice for which fewest pieces lie outside and fewest places are
    empty, with that number of misfits. Windows come twice, (2, m, 4): where several would do, that at the top
    left and that at the bottom right.
    """
    boards = [layout[within(layout, window), :2] for window in board_windows(count)]
    options = [_options(positions, len(layout)) for positions in boards]
    first = np.cumsum([0, *map(len, options)])
    area, misfit, window = (
        np.array([option[i] for some in options for option in some], np.int64) for i in range(3)
    )
    cost, chosen = _knapsack(first, area, misfit, np.array([len(b) for b in boards]), len(layout))
    found = []
    for number in range(1, count + 1):
        if cost[number] < _NEVER:
            used, left, windows = number, len(layout), []
            for i in reversed(range(count)):
                o = chosen[i, used, left]
                if o >= 0:
                    windows.append(window[first[i] + o])
                    used, left = used - 1, left - area[first[i] + o]
            found.append((int(cost[number]), np.array(windows[::-1], np.int32).swapaxes(0, 1)))
    return found


@kernel(allocates=True)
def _knapsack(first, area, misfit, lost, pieces):
    """Choose one option or none for each board, so that the areas add up, for every number of options chosen.

    Option o of board i is at first[i] + o; without one, what is on the board is lost. Returns the least cost
    for each number, and which option a board has at each number and sum of areas up to it, -1 for none.
    """
    count = len(lost)
    cost = np.full((count + 1, pieces + 1), _NEVER, np.int32)
    cost[0, 0] = 0
    chosen = np.full((count, count + 1, pieces + 1), -1, np.int16)
    more = np.empty_like(cost)
    for i in range(count):
        for number in range(i + 2):
            for total in range(pieces + 1):
                more[number, total] = min(cost[number, total] + lost[i], _NEVER)
        for o in range(first[i + 1] - first[i]):
            a, m = area[first[i] + o], misfit[first[i] + o]
            for number in range(i + 1):
                for total in range(pieces + 1 - a):
                    if cost[number, total] + m < more[number + 1, total + a]:
                        more[number + 1, total + a] = cost[number, total] + m
                        chosen[i, number + 1, total + a] = o
        cost[: i + 2] = more[: i + 2]
    return cost[:, pieces], chosen


def split(
    layout: np.ndarray,
    windows: np.ndarray,
    relations: np.ndarray,
    contact: np.ndarray,
    chance: float,
    least: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Take windows apart along straight lines whose contacts gain no more than by chance, on average.

    Parts of less than `least` pieces are no image by themselves: they are what lies beyond the other end of a
    window that is somewhat off, and are moved there, the window with them. Returns the layout and all
    windows, new ones far from the others.
    """
    layout, parts = layout.copy(), [list(window) for window in windows.tolist()]
    beyond = max(window[2] for window in parts) + SPACING
    done = 0
    while done < len(parts):
        window = parts[done]
        mine = within(layout, window)
        line = _weakest_line(layout, window, mine, relations, contact)
        if line is None or line[0] > chance:
            done += 1
            continue
        _, axis, at = line
        first, end = window[axis], window[axis + 2]
        far = mine & (layout[:, axis] >= at)
        near = mine & ~far
        if min(near.sum(), far.sum()) < least:
            moved, by, shift = (
                (far, first - end, at - end) if far.sum() < least else (near, end - first, at - first)
            )
            layout[moved, axis] += by
            window[axis], window[axis + 2] = first + shift, end + shift
            done += 1
            continue
        rest = list(window)
        window[axis + 2] = rest[axis] = at
        layout[far, 0] += beyond - rest[0]
        rest[0], rest[2] = beyond, beyond + rest[2] - rest[0]
        beyond = rest[2] + SPACING
        parts.append(rest)
    return layout, np.array(parts, np.int32)


def _weakest_line(
    layout: np.ndarray, window: Sequence[int], mine: np.ndarray, relations: np.ndarray, contact: np.ndarray
) -> tuple[float, int, int] | None:
    """Return the mean gain along the weakest line across a window, its axis, and where it is."""
    found = []
    for axis, side in ((0, 3), (1, 0)):  # what an edge that faces left or up touches
        first, end = window[axis], window[axis + 2]
        p = np.flatnonzero(mine)
        e = 4 * p + (side - layout[p, 2]) % 4
        gain = np.where(relations[e] >= 0, contact[e], 0)
        total = np.bincount(layout[p, axis] - first, gain, end - first)[1:]
        count = np.bincount(layout[p, axis] - first, minlength=end - first)[1:]
        if len(total):
            mean = total / np.maximum(count, 1)
            found.append((float(mean.min()), axis, first + 1 + int(mean.argmin())))
    return min(found, default=None)


def within(layout: np.ndarray, window: Sequence[int]) -> np.ndarray:
    """Return which placed pieces lie in a window."""
    left, top, right, bottom = window
    x, y, turn = layout.T
    return (left <= x) & (x < right) & (top <= y) & (y < bottom) & (turn >= 0)


def _options(positions: np.ndarray, most: int) -> list[tuple[int, int, np.ndarray]]:
    """Return the best windows of all areas: area, pieces outside and places empty, first and last window."""
    if len(positions) == 0:
        return []
    low, high = (np.quantile(positions, q, axis=0, method="nearest") for q in (_FEW, 1 - _FEW))
    low, high = low - _BEYOND, high + _BEYOND
    width, height = (int(size) for size in high - low + 1)
    if width * height > _SPARSE * len(positions) + 256:
        return []
    x, y = positions[((low <= positions) & (positions <= high)).all(axis=1)].T
    sums = np.zeros((height + 1, width + 1), np.int32)
    sums[y - low[1] + 1, x - low[0] + 1] = 1
    sums = sums.cumsum(axis=0).cumsum(axis=1).astype(np.int32)
    held, first, last = _best_windows(sums, len(positions) // 3 + 1, most)
    best: dict[int, tuple[int, int, np.ndarray]] = {}
    for h, w in np.argwhere(held > len(positions) // 3).tolist():
        area, misfit = h * w, len(positions) + h * w - 2 * int(held[h, w])
        if area not in best or misfit < best[area][1]:
            corners = low + np.stack([first[h, w], last[h, w]])
            best[area] = (area, misfit, np.hstack([corners, corners + np.array([w, h])]))
    return sorted(best.values(), key=lambda option: option[1])[:_OPTIONS]


def misfit_of(positions: np.ndarray) -> float:
    """Return how many positions lie outside, and places are empty in, the window that fits them best."""
    return min((misfit for _, misfit, _ in _options(positions, 2 * len(positions))), default=np.inf)


@kernel(allocates=True)
def _best_windows(sums, least, most):
    """Return for every height and width the most a window holds, and x, y of the first and last that do.

    Only windows of an area from `least` to `most` are looked at.
    """
    height, width = sums.shape
    held = np.zeros((height, width), np.int32)
    first = np.zeros((height, width, 2), np.int32)
    last = np.zeros((height, width, 2), np.int32)
    for h in range(1, height):
        for w in range((least + h - 1) // h, min(width, most // h + 1)):
            for y in range(height - h):
                for x in range(width - w):
                    inside = sums[y + h, x + w] - sums[y, x + w] - sums[y + h, x] + sums[y, x]
                    if inside > held[h, w]:
                        held[h, w] = inside
                        first[h, w] = x, y
                    if inside == held[h, w]:
                        last[h, w] = x, y
    return held, first, last


def pack(layout: np.ndarray, image: np.ndarray) -> np.ndarray:
    """Move images side by side, in rows, with a place between them, the tallest first."""
    packed = layout.copy()
    corner = {i: layout[image == i, :2].min(axis=0) for i in np.unique(image).tolist()}
    size = {i: layout[image == i, :2].max(axis=0) - low + 1 for i, low in corner.items()}
    across = max(
        int(np.ceil(np.sqrt(1.6 * sum(int(np.prod(s + 1)) for s in size.values())))),
        max(int(s[0]) for s in size.values()),
    )
    x = y = row = 0
    for i in sorted(size, key=lambda i: (-size[i][1], i)):
        if x > 0 and x + size[i][0] > across:
            x, y, row = 0, y + row + 1, 0
        packed[image == i, :2] += (np.array([x, y]) - corner[i]).astype(packed.dtype)
        x += int(size[i][0]) + 1
        row = max(row, int(size[i][1]))
    return packed


def windows_of(layout: np.ndarray, windows: np.ndarray) -> np.ndarray:
    """Return in which window each piece lies, the largest window being 0."""
    return by_size(np.select([within(layout, window) for window in windows], range(len(windows)), 0))
