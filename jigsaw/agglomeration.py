"""Agglomeration: segments of an assembly are joined with one another, the surest joins first.

In a large sky many places gain a segment nearly as much as the right one, and each segment that is put down
wrong spoils what comes to lie beside it. So of all placements of one segment beside another, that is taken
first which gains most more than its rivals: placements that would put something else where either of the two
is to lie. As segments grow, their borders tell more, and what was doubtful becomes sure.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import from_dtype

from jigsaw.assembly import PLACED, gain_of, place, window_at
from jigsaw.compiled import kernel
from jigsaw.geometry import DX, DY
from jigsaw.groups import enter, leave, neighbour, piece_at, rotate, workspace
from jigsaw.repair import add_segment

PLACEMENTS = 12  # of a segment that are considered
_VOTES = 1 << 14
_AROUND = 1  # places around a segment in which what else may lie there is a rival
_SHARE = 0.7  # of the largest margin that the others must have to be joined in the same round

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
CLAIM = np.dtype(
    [
        ("group", np.int32),  # in whose frame the place is; -1 for an unused slot
        ("x", np.int32),
        ("y", np.int32),
        ("by", np.int32),  # which group would lie there
        ("gain", np.float32),
        ("next", np.float32),  # the most that another group would gain there
    ]
)
_PLACEMENT: Any = from_dtype(PLACEMENT)
_CLAIM: Any = from_dtype(CLAIM)


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
def _hashed(group, turns, x, y, slots):
    key = np.int64(group) * np.int64(-7046029254386353131) + np.int64(x) * np.int64(-4417276706812531889)
    key += np.int64(y) * np.int64(2685821657736338717) + np.int64(turns) * np.int64(7046029254386353131)
    key ^= key >> 29
    return (key * np.int64(-7046029254386353131) >> 36) & (slots - 1)


@kernel
def _vote(plan, kept, turns, x, y, gain):
    votes = plan.votes
    slot = _hashed(kept, turns, x, y, _VOTES)
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
def _slot_of_claim(claims, group, x, y):
    """Return the slot that holds what is claimed of a place in the frame of a group, or could."""
    slot = _hashed(group, 0, x, y, len(claims))
    while claims[slot].group >= 0:
        if claims[slot].group == group and claims[slot].x == x and claims[slot].y == y:
            break
        slot = (slot + 1) & (len(claims) - 1)
    return slot


@kernel
def _claim(claims, group, x, y, by, gain):
    """Note that another group would lie at a place; return 1 if the place was not claimed before."""
    slot = _slot_of_claim(claims, group, x, y)
    claim = claims[slot]
    if claim.group < 0:
        claims[slot].group = group
        claims[slot].x = x
        claims[slot].y = y
        claims[slot].by = by
        claims[slot].gain = gain
        claims[slot].next = 0
        return 1
    if claim.by == by:
        claims[slot].gain = max(claim.gain, gain)
    elif gain > claim.gain:
        claims[slot].next = claim.gain
        claims[slot].gain = gain
        claims[slot].by = by
    else:
        claims[slot].next = max(claim.next, gain)
    return 0


@kernel
def _rival(claims, group, x, y, by):
    """Return the most that any other group than `by` would gain at a place."""
    claim = claims[_slot_of_claim(claims, group, x, y)]
    if claim.group < 0:
        return np.float32(0)
    return claim.next if claim.by == by else claim.gain


@kernel
def _both_frames(plan, claims, placement, asking):
    """Claim the places of a placement in the frames of both groups, or ask who else claims them.

    Returns the number of places that were not claimed before, or the most that a rival gains.
    """
    records, table = plan.records, plan.table
    fresh, rival = np.float32(0), np.float32(0)
    moved, kept = placement.moved, placement.kept
    left, right = records[moved].x, records[moved].x
    top, bottom = records[moved].y, records[moved].y
    p = moved
    while True:
        x, y = rotate(records[p].x, records[p].y, placement.turns)
        if asking:
            rival = max(rival, _rival(claims, kept, x + placement.x, y + placement.y, moved))
        else:
            fresh += _claim(claims, kept, x + placement.x, y + placement.y, moved, placement.gain)
        left, right = min(left, records[p].x), max(right, records[p].x)
        top, bottom = min(top, records[p].y), max(bottom, records[p].y)
        p = records[p].ring
        if p == moved:
            break
    for own_y in range(top - _AROUND, bottom + _AROUND + 1):
        for own_x in range(left - _AROUND, right + _AROUND + 1):
            x, y = rotate(own_x, own_y, placement.turns)
            if piece_at(records, table, kept, x + placement.x, y + placement.y) >= 0:
                if asking:
                    rival = max(rival, _rival(claims, moved, own_x, own_y, kept))
                else:
                    fresh += _claim(claims, moved, own_x, own_y, kept, placement.gain)
    return rival if asking else fresh


@kernel
def claim_all(plan, claims, found, count):
    """Note all places that placements would take; False if there is not enough room to note them."""
    for slot in range(len(claims)):
        claims[slot].group = -1
    fresh = 0.0
    for i in range(count):
        fresh += _both_frames(plan, claims, found[i], False)
        if fresh > len(claims) // 2:
            return False
    return True


@kernel
def weigh(plan, claims, found, count):
    """Fill in by how much each placement gains more than its best rival."""
    first = 0
    for i in range(count):
        if found[i].moved != found[first].moved:
            first = i
        rival = _both_frames(plan, claims, found[i], True)
        j = first
        while j < count and found[j].moved == found[i].moved:
            if j != i and found[j].kept == found[i].kept:
                rival = max(rival, found[j].gain)
            j += 1
        found[i].margin = found[i].gain - rival


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


@kernel(allocates=True)
def agglomerate(plan, assembly, bonds, least):
    """Join groups, the surest joins first, as long as their margins are at least so much."""
    records = plan.records
    groups = 0
    for p in range(len(records)):
        groups += records[p].group == p
    found = np.zeros(groups * PLACEMENTS + 1, _PLACEMENT)
    claims = np.zeros(1 << int(np.ceil(np.log2(4 * len(records)))), _CLAIM)  # half full, it takes one more
    while True:
        count = 0
        for p in range(len(records)):
            if records[p].group == p and not plan.fixed[p]:
                count = placements_of(plan, assembly, bonds, p, found, count)
        while not claim_all(plan, claims, found, count):
            claims = np.zeros(2 * len(claims), _CLAIM)
        weigh(plan, claims, found, count)
        order = np.argsort(-found["margin"][:count], kind="mergesort")
        if count == 0 or found[order[0]].margin < least:
            return
        enough = max(least, _SHARE * found[order[0]].margin)
        for i in order:
            if found[i].margin < enough:
                break
            moved, kept = found[i].moved, found[i].kept
            alive = records[moved].group == moved and records[kept].group == kept
            if alive and fits(plan, assembly, found[i]):
                attach(plan, found[i])


@kernel
def take_over(plan, assembly, bench):
    """Make groups of what is placed, one for each window, and of the segments taken up."""
    records = plan.records
    plan.table[:] = -1
    plan.fixed[:] = 0
    for p in range(len(records)):
        records[p].group = -1
    for w in range(len(assembly.windows)):
        first, last, size = -1, -1, 0
        for p in range(len(records)):
            placed = assembly.records[p]
            if placed.group == PLACED and window_at(assembly, placed.x, placed.y) == w:
                if first < 0:
                    first = last = p
                records[last].ring = p
                records[p].group = first
                last = p
                size += 1
        if first >= 0:
            records[last].ring = first
            records[first].size = size
            plan.fixed[first] = 1
    for s in range(bench.counts[1]):
        begin, end = bench.first[s], bench.last[s]
        for i in range(begin, end):
            p = bench.pieces[i]
            records[p].group = bench.pieces[begin]
            records[p].ring = bench.pieces[i + 1 if i + 1 < end else begin]
        records[bench.pieces[begin]].size = end - begin
    for p in range(len(records)):
        if records[p].group >= 0:
            records[p].x = assembly.records[p].x
            records[p].y = assembly.records[p].y
            records[p].turn = assembly.records[p].turn
            enter(records, plan.table, p)


@kernel
def hand_back(plan, assembly, bonds, bench):
    """Place what has come to lie in a window; make the other groups the segments taken up."""
    records = plan.records
    bench.counts[1] = 0
    end = 0
    for group in range(len(records)):
        if records[group].group != group:
            continue
        begin = end
        p = np.int64(group)
        while True:
            x, y, turn = np.int64(records[p].x), np.int64(records[p].y), np.int64(records[p].turn)
            if not plan.fixed[group]:
                assembly.records[p].x = x
                assembly.records[p].y = y
                assembly.records[p].turn = turn
                assembly.records[p].group = bench.counts[1] + 1
                bench.pieces[end] = p
                end += 1
            elif assembly.records[p].group != PLACED:
                place(assembly, bonds, p, x, y, turn)
            p = np.int64(records[p].ring)
            if p == group:
                break
        if end > begin:
            add_segment(bench, begin, end)
