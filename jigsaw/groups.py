"""Groups of joined pieces: joining two along an edge, with turning, shifting and collision (the paper's
Section on relative relations).

A piece's record holds its position and turn in the frame of its group. A group is named after one of
its pieces, which keeps its size; its pieces form a ring. A hash table over (group, x, y) finds the piece
at a place, so joining costs no more than the pieces of the smaller group.
"""

from __future__ import annotations

import numpy as np

from jigsaw.compiled import kernel
from jigsaw.geometry import DX, DY

RECORD = np.dtype(
    [
        ("x", np.int32),
        ("y", np.int32),
        ("turn", np.int32),
        ("group", np.int32),
        ("ring", np.int32),  # next piece of the same group
        ("chain", np.int32),  # next piece in the same slot of the hash table
        ("size", np.int32),  # of the group named after this piece
        ("unused", np.int32),  # 32 bytes: two records a cache line
    ]
)


_NEAR_FIRST = 25  # pieces; for smaller groups the whole test costs no more


def workspace(pieces: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the records and the hash table for a number of pieces."""
    slots = 1 << int(np.ceil(np.log2(2 * pieces + 2)))
    return np.zeros(pieces, RECORD), np.full(slots, -1, np.int32)


@kernel
def rotate(x, y, turns):
    """Turn a position about the origin by `turns` quarter turns clockwise."""
    if turns == 0:
        return x, y
    if turns == 1:
        return -y, x
    if turns == 2:
        return -x, -y
    return y, -x


@kernel
def _slot(table, group, x, y):
    key = np.uint32(x) * np.uint32(73856093)
    key ^= np.uint32(y) * np.uint32(19349663)
    key ^= np.uint32(group) * np.uint32(83492791)
    key ^= key >> np.uint32(15)
    return np.int64(key & np.uint32(table.shape[0] - 1))


@kernel
def piece_at(records, table, group, x, y):
    """Return the piece of a group at a place, or -1."""
    p = table[_slot(table, group, x, y)]
    while p >= 0:
        record = records[p]
        if record.x == x and record.y == y and record.group == group:
            return p
        p = record.chain
    return p


@kernel
def enter(records, table, p):
    """Enter a piece's place in the hash table."""
    slot = _slot(table, records[p].group, records[p].x, records[p].y)
    records[p].chain = table[slot]
    table[slot] = p


@kernel
def leave(records, table, p):
    """Remove a piece's place from the hash table."""
    slot = _slot(table, records[p].group, records[p].x, records[p].y)
    q = table[slot]
    if q == p:
        table[slot] = records[p].chain
        return
    while records[q].chain != p:
        q = records[q].chain
    records[q].chain = records[p].chain


@kernel
def neighbour(records, table, e):
    """Return the edge that touches edge e, or -1."""
    p = e >> 2
    d = ((e & 3) + records[p].turn) & 3
    q = piece_at(records, table, records[p].group, records[p].x + DX[d], records[p].y + DY[d])
    if q < 0:
        return -1
    return 4 * q + ((d + 2 - records[q].turn) & 3)


@kernel
def _collides_near(records, table, q, moved, kept, turns, shift_x, shift_y):
    """Return whether a piece close to q collides: where two large groups meet, one mostly does."""
    for y in range(records[q].y - 2, records[q].y + 3):
        for x in range(records[q].x - 2, records[q].x + 3):
            new_x, new_y = rotate(x, y, turns)
            if (
                piece_at(records, table, kept, new_x + shift_x, new_y + shift_y) >= 0
                and piece_at(records, table, moved, x, y) >= 0
            ):
                return True
    return False


@kernel
def join(records, table, e, f, turnable=True):
    """Make edges e and f touch by turning and shifting the smaller of their groups.

    False, with nothing changed, if they are in one group already, if any two pieces would collide, or if a
    turn would be needed and pieces are not turnable.
    """
    p, q = e >> 2, f >> 2
    if records[p].group == records[q].group:
        return False
    if records[records[p].group].size < records[records[q].group].size:
        e, f, p, q = f, e, q, p
    kept, moved = records[p].group, records[q].group
    d = ((e & 3) + records[p].turn) & 3
    turns = (d + 2 - (f & 3) - records[q].turn) & 3
    if turns != 0 and not turnable:
        return False
    x, y = rotate(records[q].x, records[q].y, turns)
    shift_x = records[p].x + DX[d] - x
    shift_y = records[p].y + DY[d] - y

    if records[moved].size > _NEAR_FIRST and _collides_near(
        records, table, q, moved, kept, turns, shift_x, shift_y
    ):
        return False
    r = q
    while True:
        x, y = rotate(records[r].x, records[r].y, turns)
        if piece_at(records, table, kept, x + shift_x, y + shift_y) >= 0:
            return False
        r = records[r].ring
        if r == q:
            break
    while True:
        leave(records, table, r)
        x, y = rotate(records[r].x, records[r].y, turns)
        records[r].x = x + shift_x
        records[r].y = y + shift_y
        records[r].turn = (records[r].turn + turns) & 3
        records[r].group = kept
        enter(records, table, r)
        r = records[r].ring
        if r == q:
            break
    records[p].ring, records[q].ring = records[q].ring, records[p].ring
    records[kept].size += records[moved].size
    return True
