"""Destroy and repair: cut an assembly into rigid segments, take some up, put them back where they gain most.

The cost of a move is that of the pieces it takes up and the places they could go to, whatever the size of
the puzzle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jigsaw.assembly import AWAY, PLACED, best_turn, free, gain_at, lift, place, slot_of
from jigsaw.compiled import kernel
from jigsaw.geometry import DX, DY
from jigsaw.groups import rotate
from jigsaw.randomness import below, uniform

GONE = np.float32(-2)  # instead of the gain of a segment: there is nothing left to do about it
GAPS = 64  # gaps tried for a piece that gains nothing anywhere
DOCKS = 16  # places evaluated exactly for each segment
_VOTES = 1 << 14
_BACK = 1e-3  # by which a segment prefers to be where it was


class Bench(NamedTuple):
    """Scratch memory of one worker for one move after another."""

    members: np.ndarray  # (n) pieces of the region of a move
    mark: np.ndarray  # (n) number of the move whose region a piece is in
    strength: np.ndarray  # (4 n) how strongly the edges of the region were held before the move
    pieces: np.ndarray  # (n) pieces taken up, segment by segment
    old: np.ndarray  # (n, 4) x, y, turn, group before the move, in the order of `pieces`
    first: np.ndarray  # (2 n) where each segment begins in `pieces`
    last: np.ndarray  # (2 n) and ends
    motion: np.ndarray  # (2 n, 3) best known motion of each segment: turns, x, y
    gain: np.ndarray  # (2 n) what it gains; -1 if there is none, GONE if it needs none
    stale: np.ndarray  # (2 n) whether `motion` is to be found anew
    since: np.ndarray  # (2 n) number of the last docking before `motion` was looked at
    key: np.ndarray  # votes for motions: hash table
    vote: np.ndarray
    used: np.ndarray  # slots of the hash table in use
    docks: np.ndarray  # (DOCKS) those of them with most votes
    counts: np.ndarray  # (5) moves so far, segments, pieces taken up, votes, dockings so far
    random: np.ndarray


def make_bench(pieces: int) -> Bench:
    """Allocate the scratch memory."""
    return Bench(
        members=np.empty(pieces, np.int64),
        mark=np.zeros(pieces, np.int64),
        strength=np.empty(4 * pieces, np.float32),
        pieces=np.empty(pieces, np.int64),
        old=np.empty((pieces, 4), np.int64),
        first=np.empty(2 * pieces + 1, np.int64),
        last=np.empty(2 * pieces + 1, np.int64),
        motion=np.empty((2 * pieces + 1, 3), np.int64),
        gain=np.empty(2 * pieces + 1, np.float32),
        stale=np.empty(2 * pieces + 1, np.uint8),
        since=np.zeros(2 * pieces + 1, np.int64),
        key=np.full(_VOTES, -1, np.int64),
        vote=np.zeros(_VOTES, np.float32),
        used=np.empty(_VOTES, np.int64),
        docks=np.empty(DOCKS, np.int64),
        counts=np.zeros(5, np.int64),
        random=np.zeros(1, np.uint64),
    )


@kernel
def begin(bench):
    """Begin a move: nothing is taken up yet."""
    bench.counts[0] += 1
    bench.counts[1] = 0
    bench.counts[2] = 0


# -- docking -------------------------------------------------------------------------------------------


@kernel
def _vote(bench, turns, x, y, gain):
    """Add to what is known to be gained by a motion."""
    key = (np.int64(x + (1 << 28)) << 32) | (np.int64(y + (1 << 28)) << 2) | turns
    slot = slot_of(key, _VOTES)
    while bench.key[slot] != key:
        if bench.key[slot] == -1:
            if bench.counts[3] >= _VOTES // 2:
                return
            bench.key[slot] = key
            bench.vote[slot] = 0
            bench.used[bench.counts[3]] = slot
            bench.counts[3] += 1
            break
        slot = (slot + 1) & (_VOTES - 1)
    bench.vote[slot] += gain


@kernel
def most_votes(bench):
    """List the slots with most votes, best first, of equals that used first; return their number."""
    count = 0
    for u in range(bench.counts[3]):
        slot = bench.used[u]
        if count == DOCKS and bench.vote[slot] <= bench.vote[bench.docks[DOCKS - 1]]:
            continue
        at = min(count, DOCKS - 1)
        while at > 0 and bench.vote[slot] > bench.vote[bench.docks[at - 1]]:
            bench.docks[at] = bench.docks[at - 1]
            at -= 1
        bench.docks[at] = slot
        count = min(count + 1, DOCKS)
    return count


@kernel
def _fits(assembly, bench, begin, end, turns, x, y):
    """Return whether all pieces of a segment find a free place after a motion."""
    for i in range(begin, end):
        record = assembly.records[bench.pieces[i]]
        px, py = rotate(record.x, record.y, turns)
        if not free(assembly, px + x, py + y):
            return False
    return True


@kernel
def _worth(assembly, bonds, bench, begin, end, turns, x, y):
    """Return what a segment would gain after a motion, by contacts with placed pieces."""
    total = np.float32(0)
    for i in range(begin, end):
        p = bench.pieces[i]
        record = assembly.records[p]
        px, py = rotate(record.x, record.y, turns)
        total += gain_at(assembly, bonds, p, px + x, py + y, (record.turn + turns) & 3)
    return total


@kernel
def _motion(assembly, bonds, e, f):
    """Return the motion that brings edge e to the placed edge f, and whether its piece can lie there."""
    piece, placed = assembly.records[e >> 2], assembly.records[f >> 2]
    d = (f + placed.turn) & 3
    turns = (d + 2 - e - piece.turn) & 3
    x, y = placed.x + DX[d], placed.y + DY[d]
    px, py = rotate(piece.x, piece.y, turns)
    return turns, x - px, y - py, (turns == 0 or bonds.turnable) and free(assembly, x, y)


@kernel
def _find_dock(assembly, bonds, bench, s, noise):
    """Find where segment s gains most.

    Every pair of one of its edges and a placed edge that is near to it votes for the motion that brings
    them together; the motions with most votes are looked at exactly. A segment of several pieces may also go
    back to where it was, even if it gains nothing there: that is better than to be taken to pieces.
    """
    records = assembly.records
    begin, end = bench.first[s], bench.last[s]
    bench.counts[3] = 0
    for i in range(begin, end):
        p = bench.pieces[i]
        for side in range(4):
            e = 4 * p + side
            for j in range(bonds.near.shape[1]):
                f = np.int64(bonds.near[e, j])
                if f < 0:
                    break
                q = f >> 2
                if records[q].group != PLACED or assembly.contact[f] >= 0:
                    continue
                turns, x, y, possible = _motion(assembly, bonds, e, f)
                if possible:
                    _vote(bench, turns, x, y, bonds.gains[e, j])
    bench.gain[s] = -1
    if end > begin + 1:
        _consider(assembly, bonds, bench, s, 0, 0, 0, noise, _BACK)
    for i in range(most_votes(bench)):
        key = bench.key[bench.docks[i]]
        turns = key & 3
        y = ((key >> 2) & ((1 << 30) - 1)) - (1 << 28)
        x = (key >> 32) - (1 << 28)
        _consider(assembly, bonds, bench, s, turns, x, y, noise, 0.0)
    for u in range(bench.counts[3]):
        bench.key[bench.used[u]] = -1
    bench.stale[s] = 0


@kernel
def _consider(assembly, bonds, bench, s, turns, x, y, noise, bonus):
    """Take a motion for the best of segment s so far if it fits and gains more."""
    begin, end = bench.first[s], bench.last[s]
    if _fits(assembly, bench, begin, end, turns, x, y):
        worth = _worth(assembly, bonds, bench, begin, end, turns, x, y)
        if noise > 0:
            worth *= np.float32(1 + noise * (uniform(bench.random) - 0.5))
        worth += np.float32(bonus)
        if worth > bench.gain[s]:
            bench.gain[s] = worth
            bench.motion[s, 0] = turns
            bench.motion[s, 1] = x
            bench.motion[s, 2] = y
            bench.since[s] = bench.counts[4]


# -- repair --------------------------------------------------------------------------------------------


@kernel
def take_up(assembly, bench, p, s):
    """Take a placed or away piece up as the next of segment s."""
    at = bench.counts[2]
    records = assembly.records
    bench.pieces[at] = p
    bench.old[at, 0] = records[p].x
    bench.old[at, 1] = records[p].y
    bench.old[at, 2] = records[p].turn
    bench.old[at, 3] = records[p].group
    if records[p].group == PLACED:
        lift(assembly, p, s + 1)
    else:
        records[p].group = s + 1
    bench.counts[2] = at + 1


@kernel
def add_segment(bench, first, last):
    """Make pieces taken up [first, last) a segment."""
    s = bench.counts[1]
    bench.first[s] = first
    bench.last[s] = last
    bench.stale[s] = 1
    bench.gain[s] = -1
    bench.counts[1] = s + 1
    return s


@kernel
def _dock(assembly, bonds, bench, s, noise):
    """Put segment s where it gains most, and call those that could now join it."""
    turns, x, y = bench.motion[s, 0], bench.motion[s, 1], bench.motion[s, 2]
    records = assembly.records
    for i in range(bench.first[s], bench.last[s]):
        p = bench.pieces[i]
        px, py = rotate(records[p].x, records[p].y, turns)
        place(assembly, bonds, p, px + x, py + y, (records[p].turn + turns) & 3)
    bench.gain[s] = GONE
    bench.counts[4] += 1
    for i in range(bench.first[s], bench.last[s]):
        for f in range(4 * bench.pieces[i], 4 * bench.pieces[i] + 4):
            if assembly.contact[f] < 0:
                _call(assembly, bonds, bench, f, noise)


@kernel
def _call(assembly, bonds, bench, f, noise):
    """Let segments look whether they gain more beside edge f, which is placed now; wake what is away."""
    for j in range(bonds.near.shape[1]):
        e = np.int64(bonds.near[f, j])
        if e < 0:
            break
        group = assembly.records[e >> 2].group
        if group == AWAY:
            wake(assembly, bench, e >> 2)
        elif group > PLACED and not bench.stale[group - 1]:
            turns, x, y, possible = _motion(assembly, bonds, e, f)
            if possible and not _known(bench, group - 1, turns, x, y):
                _consider(assembly, bonds, bench, group - 1, turns, x, y, noise, 0.0)


@kernel
def _known(bench, s, turns, x, y):
    """Return whether a motion is the best of segment s, and was looked at since the last docking."""
    best = bench.motion[s]
    return bench.since[s] == bench.counts[4] and best[0] == turns and best[1] == x and best[2] == y


@kernel
def wake(assembly, bench, p):
    """Take up a single piece, mostly one that is away, as a segment."""
    s = add_segment(bench, bench.counts[2], bench.counts[2] + 1)
    take_up(assembly, bench, p, s)


@kernel
def repair(assembly, bonds, bench, noise):
    """Put all segments back, the one that gains most first.

    A segment that fits nowhere is taken to pieces; a piece that fits nowhere goes into a gap the move has
    left, or is away.
    """
    while True:
        best = -1
        s = 0
        while s < bench.counts[1]:
            if bench.gain[s] != GONE:
                if bench.stale[s]:
                    _find_dock(assembly, bonds, bench, s, noise)
                if bench.gain[s] > 0 and (best < 0 or bench.gain[s] > bench.gain[best]):
                    best = s
            s += 1
        if best >= 0:
            if _fits(
                assembly, bench, bench.first[best], bench.last[best],
                bench.motion[best, 0], bench.motion[best, 1], bench.motion[best, 2],
            ):  # fmt: skip
                _dock(assembly, bonds, bench, best, noise)
            else:
                bench.stale[best] = 1
        elif not _break_up(assembly, bench):
            break
    _fill_gaps(assembly, bonds, bench)


@kernel
def _break_up(assembly, bench):
    """Take the segments that are left to pieces; False if there is none of several pieces."""
    found = False
    for s in range(bench.counts[1]):
        if bench.gain[s] != GONE and bench.last[s] > bench.first[s] + 1:
            found = True
            bench.gain[s] = GONE
            for i in range(bench.first[s], bench.last[s]):
                assembly.records[bench.pieces[i]].group = add_segment(bench, i, i + 1) + 1
    return found


@kernel
def _fill_gaps(assembly, bonds, bench):
    """Put pieces that gain nothing anywhere into gaps; those that find none are away."""
    records = assembly.records
    count = bench.counts[2]
    for s in range(bench.counts[1]):
        if bench.gain[s] == GONE:
            continue
        p = bench.pieces[bench.first[s]]
        records[p].group = AWAY
        best = np.float32(-1)
        at = -1
        turned = 0
        offset = below(bench.random, count)
        for tried in range(min(count, GAPS)):
            i = (offset + tried) % count
            x, y = bench.old[i, 0], bench.old[i, 1]
            if bench.old[i, 3] != PLACED or not free(assembly, x, y):
                continue
            gain, turn = best_turn(assembly, bonds, p, x, y)
            if gain > best:
                best, at, turned = gain, i, turn
        if at >= 0:
            place(assembly, bonds, p, bench.old[at, 0], bench.old[at, 1], turned)


@kernel
def undo(assembly, bonds, bench):
    """Put everything back where it was before the move."""
    records = assembly.records
    for i in range(bench.counts[2]):
        if records[bench.pieces[i]].group == PLACED:
            lift(assembly, bench.pieces[i], AWAY)
    for i in range(bench.counts[2]):
        p = bench.pieces[i]
        if bench.old[i, 3] == PLACED:
            place(assembly, bonds, p, bench.old[i, 0], bench.old[i, 1], bench.old[i, 2])
        else:
            records[p].x = bench.old[i, 0]
            records[p].y = bench.old[i, 1]
            records[p].turn = bench.old[i, 2]
            records[p].group = AWAY
