"""An assembly under repair: pieces that lie in one frame of reference, and some that do not.

What the search maximises is the sum of the gains of all contacts: how much less a relation costs than two
open sides.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from jigsaw.chromosome import none_of
from jigsaw.compiled import kernel
from jigsaw.edges import Edges
from jigsaw.geometry import DX, DY
from jigsaw.groups import enter, leave, neighbour, piece_at, workspace
from jigsaw.measures import distinct_rows, relation

PLACED = 0
AWAY = -1
_TRIES = 64  # pieces tried at a place that is to be filled, at least
_REMEMBERED = 1 << 18  # pairs of edges whose gain is remembered
ANYWHERE = np.array([[-(1 << 24), -(1 << 24), 1 << 24, 1 << 24]], np.int32)  # one window without bounds


class Bonds(NamedTuple):
    """What the search needs of an edge comparison."""

    features: Any  # of the measure, to compare any two edges
    near: np.ndarray  # (4 n, k) the most compatible edges of each edge, -1 where there are fewer
    gains: np.ndarray  # (4 n, k) what touching them gains
    none: float  # cost of an entry without a relation
    turnable: bool  # whether pieces may be turned


class Assembly(NamedTuple):
    """Pieces and where they lie; the group of a piece is PLACED, AWAY, or 1 + the segment it floats in."""

    records: np.ndarray  # one groups.RECORD a piece
    table: np.ndarray  # hash table of places
    contact: np.ndarray  # (4 n) float32: gain of what each edge touches, -1 for nothing
    total: np.ndarray  # (1) float64: gain of all contacts
    asked: np.ndarray  # pairs of edges whose gain was computed lately, hashed
    told: np.ndarray  # float32: and that gain
    windows: np.ndarray  # (m, 4) where pieces may lie: first x, first y, end x, end y of each, left to right


def bonds_of(edges: Edges) -> Bonds:
    """Return the arrays that kernels read."""
    return make_bonds(edges.features, edges.nearest, none_of(edges), not edges.upright)


def make_bonds(features: Any, nearest: np.ndarray, none: float, turnable: bool) -> Bonds:
    """Work out what edges gain by touching those that are near, and list them by that."""
    gains = np.zeros(nearest.shape, np.float32)
    _list_gains(features, nearest, none, gains)
    order = np.argsort(-gains, axis=1, kind="stable")
    gains = np.take_along_axis(gains, order, 1)
    near = np.where(gains > 0, np.take_along_axis(nearest, order, 1), -1).astype(np.int32)
    return Bonds(features, near, gains, none, turnable)


def make_assembly(pieces: int) -> Assembly:
    """Allocate an empty assembly."""
    records, table = workspace(pieces)
    return Assembly(
        records=records,
        table=table,
        contact=np.empty(4 * pieces, np.float32),
        total=np.zeros(1),
        asked=np.full(_REMEMBERED, -1, np.int64),
        told=np.empty(_REMEMBERED, np.float32),
        windows=ANYWHERE,
    )


@kernel
def _gain(features, none, e, f):
    """Return what edges e and f gain by touching, computed."""
    return np.float32(max(none - relation(features, min(e, f), max(e, f)) / 2, 0.0))


@kernel
def _list_gains(features, near, none, gains):
    """Fill in the gains of listed pairs."""
    for e in range(len(near)):
        for j in range(near.shape[1]):
            if near[e, j] >= 0:
                gains[e, j] = _gain(features, none, e, np.int64(near[e, j]))


@kernel
def slot_of(key, slots):
    """Return where to look for a key first in a hash table of so many slots, a power of two."""
    return (key * np.int64(-7046029254386353131) >> 40) & (slots - 1)


@kernel
def gain_of(assembly, bonds, e, f):
    """Return what edges e and f gain by touching, whichever is named first.

    A list that is not full holds all with which its edge gains anything, but for what the other one lists.
    Most pairs that have to be computed are asked for again soon, so they are remembered.
    """
    near, last = bonds.near, bonds.near.shape[1] - 1
    for one, other in ((e, f), (f, e)):
        for j in range(last + 1):
            if near[one, j] == other:
                return bonds.gains[one, j]
            if near[one, j] < 0:
                break
    if near[e, last] < 0 or near[f, last] < 0:
        return np.float32(0)
    pair = (np.int64(min(e, f)) << 32) | np.int64(max(e, f))
    slot = slot_of(pair, len(assembly.asked))
    if assembly.asked[slot] != pair:
        assembly.asked[slot] = pair
        assembly.told[slot] = _gain(bonds.features, bonds.none, e, f)
    return assembly.told[slot]


@kernel
def lay_out(assembly, bonds, layout):
    """Place all pieces by a layout; those with a turn of -1 are away."""
    records = assembly.records
    assembly.table[:] = -1
    assembly.contact[:] = -1
    assembly.total[0] = 0
    assembly.asked[:] = -1
    for p in range(len(records)):
        records[p].x = layout[p, 0]
        records[p].y = layout[p, 1]
        records[p].turn = max(layout[p, 2], 0)
        records[p].group = AWAY
        if layout[p, 2] >= 0:
            place(assembly, bonds, p, np.int64(layout[p, 0]), np.int64(layout[p, 1]), np.int64(layout[p, 2]))


@kernel
def read_layout(assembly, layout):
    """Write the layout; away pieces get a turn of -1."""
    records = assembly.records
    for p in range(len(records)):
        layout[p, 0] = records[p].x
        layout[p, 1] = records[p].y
        layout[p, 2] = records[p].turn if records[p].group == PLACED else -1


@kernel
def place(assembly, bonds, p, x, y, turn):
    """Put a piece down."""
    records = assembly.records
    records[p].x = x
    records[p].y = y
    records[p].turn = turn
    records[p].group = PLACED
    enter(records, assembly.table, p)
    for d in range(4):
        q = np.int64(piece_at(records, assembly.table, PLACED, x + DX[d], y + DY[d]))
        if q >= 0:
            e = 4 * p + ((d - turn) & 3)
            f = 4 * q + ((d + 2 - records[q].turn) & 3)
            gain = gain_of(assembly, bonds, e, f)
            assembly.contact[e] = gain
            assembly.contact[f] = gain
            assembly.total[0] += gain


@kernel
def lift(assembly, p, group):
    """Take a piece up; it remembers where it lay."""
    records = assembly.records
    for e in range(4 * p, 4 * p + 4):
        if assembly.contact[e] >= 0:
            f = neighbour(records, assembly.table, e)
            assembly.total[0] -= assembly.contact[e]
            assembly.contact[e] = -1
            assembly.contact[f] = -1
    leave(records, assembly.table, p)
    records[p].group = group


@kernel
def window_at(assembly, x, y):
    """Return the number of the window in which a place is, or -1."""
    first, last = 0, len(assembly.windows) - 1
    while first < last:  # the only one that may have it is the first that does not end before x
        middle = (first + last) >> 1
        if assembly.windows[middle, 2] > x:
            last = middle
        else:
            first = middle + 1
    w = assembly.windows[first]
    return first if w[0] <= x and x < w[2] and w[1] <= y and y < w[3] else -1


@kernel
def free(assembly, x, y):
    """Return whether a piece may be put at a place."""
    return window_at(assembly, x, y) >= 0 and piece_at(assembly.records, assembly.table, PLACED, x, y) < 0


@kernel
def gain_at(assembly, bonds, p, x, y, turn):
    """Return what a piece would gain at a place."""
    records = assembly.records
    total = np.float32(0)
    for d in range(4):
        q = np.int64(piece_at(records, assembly.table, PLACED, x + DX[d], y + DY[d]))
        if q >= 0:
            e, f = 4 * p + ((d - turn) & 3), 4 * q + ((d + 2 - records[q].turn) & 3)
            total += gain_of(assembly, bonds, e, f)
    return total


@kernel
def best_turn(assembly, bonds, p, x, y):
    """Return the most that a piece could gain at a place, and the turn by which it does."""
    most, by = np.float32(-1), 0
    for turn in range(4):
        if bonds.turnable or turn == assembly.records[p].turn:
            gain = gain_at(assembly, bonds, p, x, y, turn)
            if gain > most:
                most, by = gain, turn
    return most, by


@kernel(allocates=True)
def fill(assembly, bonds, kinds, tries):
    """Put all away pieces into free places of the windows, the most hemmed-in place first.

    Pieces of one kind are alike; the first of them stands for all. Where many are away, only those nearest in
    brightness to what lies around a place are tried there: so many in all, but some at every place.
    """
    pieces = np.flatnonzero(assembly.records.group == AWAY)
    away = len(pieces)
    if away == 0:
        return
    pieces = pieces[np.argsort(kinds[pieces], kind="mergesort")]
    order = kinds[pieces]
    tries = max(tries // away, _TRIES)
    holes = [(np.int64(0), np.int64(0), np.int64(0)) for _ in range(0)]
    for i in range(len(assembly.windows)):
        left, top, right, bottom = assembly.windows[i]
        for row in range(top, bottom):
            for column in range(left, right):
                if free(assembly, column, row):
                    sides = _surroundings(assembly, kinds, column, row)[0]
                    holes.append((sides, np.int64(row), np.int64(column)))
    heapify(holes)
    while away > 0 and len(holes) > 0:
        _, y, x = heappop(holes)
        if not free(assembly, x, y):
            continue
        middle = np.searchsorted(order[:away], _surroundings(assembly, kinds, x, y)[1])
        best, at, turned, tried = np.float32(-1), 0, 0, 0
        first = max(min(middle - tries // 2, away - tries), 0)
        for i in range(first, away):
            if i > first and order[i] == order[i - 1]:
                continue
            if tried == tries:
                break
            gain, turn = best_turn(assembly, bonds, pieces[i], x, y)
            if gain > best:
                best, at, turned = gain, i, turn
            tried += 1
        place(assembly, bonds, pieces[at], x, y, turned)
        away -= 1
        for i in range(at, away):
            pieces[i], order[i] = pieces[i + 1], order[i + 1]
        for d in range(4):
            u, v = x + DX[d], y + DY[d]
            if free(assembly, u, v):
                heappush(holes, (_surroundings(assembly, kinds, u, v)[0], v, u))


@kernel
def _surroundings(assembly, kinds, x, y):
    """Return on how many sides of a place no piece lies, and the mean kind of those that do, rounded down."""
    count, total = 0, 0
    for d in range(4):
        p = np.int64(piece_at(assembly.records, assembly.table, PLACED, x + DX[d], y + DY[d]))
        if p >= 0:
            count += 1
            total += kinds[p]
    return 4 - count, total // max(count, 1)


def kinds_of(bonds: Bonds) -> np.ndarray:
    """Number the kinds of pieces, dark ones first.

    Those of one kind have four edges that are alike, turned if they may be.
    """
    labels = distinct_rows(bonds.features)[1].reshape(-1, 4)
    least = labels
    for turns in (1, 2, 3) if bonds.turnable else ():
        turned = np.roll(labels, turns, axis=1)
        at = (least != turned).argmax(axis=1)[:, None]  # where they differ first
        less = np.take_along_axis(turned, at, 1) < np.take_along_axis(least, at, 1)
        least = np.where(less, turned, least)
    kinds = np.unique(least, axis=0, return_inverse=True)[1].reshape(-1)
    brightness = bonds.features[0].reshape(len(kinds), -1).sum(axis=1, dtype=np.int64)
    return np.unique(np.column_stack([brightness, kinds]), axis=0, return_inverse=True)[1].reshape(-1)
