"""Placements: one group of pieces beside another, what that gains, and how the two become one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jigsaw.assembly import gain_of, slot_of, window_at
from jigsaw.compiled import kernel
from jigsaw.geometry import DX, DY
from jigsaw.groups import enter, leave, neighbour, piece_at, rotate, workspace

PLACEMENTS = 12  # of a group that are considered
_VOTES = 1 << 14

PLACEMENT = np.dtype(
    [
        ("moved", np.int32),  # the group that is moved,
        ("kept", np.int32),  # that beside which it comes to lie,
        ("turns", np.int32),  # and how
        ("x", np.int32),
        ("y", np.int32),
        ("gain", np.float32),
        ("margin", np.float32),  # by which it gains more than its rivals
    ]
)


class Plan(NamedTuple):
    """Scratch memory of one worker: all segments as groups, what is known of the places for one of them."""

    records: np.ndarray  # one groups.RECORD a piece
    table: np.ndarray  # hash table of places
    fixed: np.ndarray  # (n) whether the group named after a piece lies in a window and stays there
    votes: np.ndarray  # of PLACEMENT, a hash table: gains of listed edges
    used: np.ndarray  # slots in use
    counts: np.ndarray  # (1) their number


def make_plan(pieces: int) -> Plan:
    """Allocate the scratch memory."""
    votes = np.zeros(_VOTES, PLACEMENT)
    votes["kept"] = -1
    return Plan(
        *workspace(pieces),
        fixed=np.zeros(pieces, np.uint8),
        votes=votes,
        used=np.zeros(_VOTES, np.int64),
        counts=np.zeros(1, np.int64),
    )


@kernel
def hashed(group, turns, x, y, slots):
    """Return where to look first for a place, or a motion, in the frame of a group."""
    key = np.int64(group) * np.int64(-4417276706812531889) + np.int64(x) * np.int64(3202034522624059733)
    key += np.int64(y) * np.int64(2685821657736338717) + np.int64(turns)
    return slot_of(key ^ (key >> 29), slots)


@kernel
def _vote(plan, kept, turns, x, y, gain):
    """Add to what is known to be gained by a motion beside a group."""
    votes = plan.votes
    slot = hashed(kept, turns, x, y, _VOTES)
    while votes[slot].kept >= 0:
        v = votes[slot]
        if v.kept == kept and v.turns == turns and v.x == x and v.y == y:
            votes[slot].gain += gain
            return
        slot = (slot + 1) & (_VOTES - 1)
    if plan.counts[0] >= _VOTES // 2:
        return
    votes[slot].kept = kept
    votes[slot].turns = turns
    votes[slot].x = x
    votes[slot].y = y
    votes[slot].gain = gain
    plan.used[plan.counts[0]] = slot
    plan.counts[0] += 1


@kernel
def fits(plan, assembly, placement):
    """Return whether a group may be moved as a placement says."""
    records, table = plan.records, plan.table
    p = first = placement.moved
    while True:
        x, y = rotate(records[p].x, records[p].y, placement.turns)
        x += placement.x
        y += placement.y
        if piece_at(records, table, placement.kept, x, y) >= 0:
            return False
        if plan.fixed[placement.kept] and window_at(assembly, x, y) < 0:
            return False
        p = records[p].ring
        if p == first:
            return True


@kernel
def worth(plan, assembly, bonds, placement):
    """Return what a placement gains, by all contacts between the two groups."""
    records, table = plan.records, plan.table
    total = np.float32(0)
    p = first = np.int64(placement.moved)
    while True:
        x, y = rotate(records[p].x, records[p].y, placement.turns)
        turn = records[p].turn + placement.turns
        for d in range(4):
            q = np.int64(
                piece_at(records, table, placement.kept, x + placement.x + DX[d], y + placement.y + DY[d])
            )
            if q >= 0:
                e, f = 4 * p + ((d - turn) & 3), 4 * q + ((d + 2 - records[q].turn) & 3)
                total += gain_of(assembly, bonds, e, f)
        p = np.int64(records[p].ring)
        if p == first:
            return total


@kernel
def placements_of(plan, assembly, bonds, group, found, count):
    """List the best placements of a group beside larger ones, behind those found; return their number."""
    records, table = plan.records, plan.table
    first = p = np.int64(group)
    size = records[group].size
    plan.counts[0] = 0
    while True:
        for side in range(4):
            e = 4 * p + side
            if neighbour(records, table, e) >= 0:
                continue
            for j in range(bonds.near.shape[1]):
                f = np.int64(bonds.near[e, j])
                if f < 0:
                    break
                q = f >> 2
                kept = np.int64(records[q].group)
                if kept < 0:  # away
                    continue
                larger = records[kept].size > size or (records[kept].size == size and kept > group)
                if kept == group or not (larger or plan.fixed[kept]) or neighbour(records, table, f) >= 0:
                    continue
                d = ((f & 3) + records[q].turn) & 3
                turns = (d + 2 - side - records[p].turn) & 3
                if turns != 0 and not bonds.turnable:
                    continue
                x, y = rotate(records[p].x, records[p].y, turns)
                x, y = records[q].x + DX[d] - x, records[q].y + DY[d] - y
                _vote(plan, kept, turns, x, y, bonds.gains[e, j])
        p = np.int64(records[p].ring)
        if p == first:
            break
    # the most votes first; of these, what they gain exactly
    for _ in range(PLACEMENTS):
        best = -1
        for u in range(plan.counts[0]):
            slot = plan.used[u]
            if plan.votes[slot].gain > 0 and (best < 0 or plan.votes[slot].gain > plan.votes[best].gain):
                best = slot
        if best < 0:
            break
        plan.votes[best].gain = 0
        found[count] = plan.votes[best]
        found[count].moved = group
        if fits(plan, assembly, found[count]):
            found[count].gain = worth(plan, assembly, bonds, found[count])
            if found[count].gain > 0:
                count += 1
    for u in range(plan.counts[0]):
        plan.votes[plan.used[u]].kept = -1
    return count


@kernel
def attach(plan, placement):
    """Move a group beside another; they are one then, in the frame of that which is kept."""
    records, table = plan.records, plan.table
    moved, kept = placement.moved, placement.kept
    p = moved
    while True:
        following = records[p].ring
        leave(records, table, p)
        x, y = rotate(records[p].x, records[p].y, placement.turns)
        records[p].x = x + placement.x
        records[p].y = y + placement.y
        records[p].turn = (records[p].turn + placement.turns) & 3
        records[p].group = kept
        enter(records, table, p)
        p = following
        if p == moved:
            break
    records[moved].ring, records[kept].ring = records[kept].ring, records[moved].ring
    records[kept].size += records[moved].size
