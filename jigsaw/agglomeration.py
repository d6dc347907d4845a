"""Agglomeration: segments of an assembly are joined with one another, the surest joins first.

In a large sky many places gain a segment nearly as much as the right one, and each segment that is put down
wrong spoils what comes to lie beside it. So of all placements of one segment beside another, that is taken
first which gains most more than its rivals: placements that would put something else where either of the two
is to lie. As segments grow, their borders tell more, and what was doubtful becomes sure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import from_dtype

from jigsaw.assembly import PLACED, place, window_at
from jigsaw.compiled import kernel
from jigsaw.groups import enter, piece_at, rotate
from jigsaw.placements import PLACEMENT, PLACEMENTS, attach, fits, hashed, placements_of
from jigsaw.repair import add_segment

_AROUND = 1  # places around a segment in which what else may lie there is a rival
_SHARE = 0.7  # of the largest margin that the others must have to be joined in the same round

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


@kernel
def _slot_of_claim(claims, group, x, y):
    """Return the slot that holds what is claimed of a place in the frame of a group, or could."""
    slot = hashed(group, 0, x, y, len(claims))
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


@kernel(allocates=True)
def take_over(plan, assembly, bench):
    """Make groups of what is placed, one for each window, and of the segments taken up."""
    records = plan.records
    plan.table[:] = -1
    plan.fixed[:] = 0
    for p in range(len(records)):
        records[p].group = -1
    last = np.full(len(assembly.windows), -1)  # piece so far in each window
    for p in range(len(records)):
        placed = assembly.records[p]
        if placed.group != PLACED:
            continue
        w = window_at(assembly, placed.x, placed.y)
        if last[w] < 0:
            records[p].group = p
            records[p].ring = p
            records[p].size = 0
            plan.fixed[p] = 1
        else:
            group = records[last[w]].group
            records[p].group = group
            records[p].ring = group
            records[last[w]].ring = p
        records[records[p].group].size += 1
        last[w] = p
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
