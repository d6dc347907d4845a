"""Moves of the search: which part of an assembly is taken up to be put back better.

Segments are cut loose at weak contacts, near a spot where an edge could gain more, or everywhere. A move is
taken back if it has made the assembly worse. (Shaw, "Using constraint programming and local search methods to
solve vehicle routing problems", CP 1998: large neighbourhood search.)
"""

from __future__ import annotations

import numpy as np

from jigsaw.agglomeration import agglomerate, hand_back, take_over
from jigsaw.assembly import AWAY, PLACED, window_at
from jigsaw.compiled import kernel
from jigsaw.geometry import DX, DY
from jigsaw.groups import neighbour, piece_at
from jigsaw.randomness import below, uniform
from jigsaw.repair import add_segment, begin, repair, take_up, undo, wake

NO_OTHERS = np.empty(0, np.int32)
_REGION = 60  # pieces around a spot, at most
_ANOTHER = 0.4  # probability to prefer the next best of the edges an edge would like to touch
_DRAWS = 6  # contacts drawn, at most, for the threshold of a local move
_NOISY = 0.5  # probability that a repair is noisy
_WORTHWHILE = 0.5  # gain that makes an edge bad if it could have it and has not


@kernel
def improve(assembly, bonds, bench, bad, global_share):
    """Make one move for every edge that could gain more; return how many edges those were."""
    count = bad_edges(assembly, bonds, bad)
    for _ in range(count):
        before = assembly.total[0]
        begin(bench)
        if uniform(bench.random) < global_share:
            loosen_anywhere(assembly, bench)
        else:
            loosen_around(assembly, bonds, bench, np.int64(bad[below(bench.random, count)]))
        noise = uniform(bench.random) if uniform(bench.random) < _NOISY else 0.0
        repair(assembly, bonds, bench, noise)
        if assembly.total[0] < before - 1e-6:
            undo(assembly, bonds, bench)
    return count


@kernel
def bad_edges(assembly, bonds, bad):
    """List the edges that could gain more elsewhere; return their number."""
    count = 0
    for e in range(len(assembly.contact)):
        possible = bonds.gains[e, 0] - max(assembly.contact[e], np.float32(0))
        if bonds.near[e, 0] >= 0 and possible > _WORTHWHILE:
            bad[count] = e
            count += 1
    return count


@kernel
def loosen_around(assembly, bonds, bench, e):
    """Take up what is loose around edge e and around an edge it would like to touch."""
    random = bench.random
    size = 1 + np.int64(np.exp(uniform(random) * np.log(_REGION)))
    count = add_region(assembly, bench, 0, e >> 2, size)
    j = 0
    while j + 1 < bonds.near.shape[1] and bonds.near[e, j + 1] >= 0 and uniform(random) < _ANOTHER:
        j += 1
    wanted = np.int64(bonds.near[e, j] >> 2)
    count = add_region(assembly, bench, count, wanted, 1 + below(random, size))
    threshold = _weak_contact(assembly, bench, count, 1 + below(random, _DRAWS))
    loosen(assembly, bench, count, threshold)
    for p in (e >> 2, wanted):
        if assembly.records[p].group == AWAY:
            wake(assembly, bench, p)


@kernel
def loosen_anywhere(assembly, bench):
    """Cut everywhere at contacts no stronger than one drawn at random; keep the largest segments."""
    threshold = _weak_contact(assembly, bench, 0, 1 << below(bench.random, 7))
    loosen_all(assembly, bench, threshold, NO_OTHERS)


@kernel
def rebuild(assembly, bonds, bench, plan, threshold, others, sure):
    """Keep the largest segments held by contacts above a threshold that `others`, if given, have too; repair.

    One in each window; what lies outside is taken up in any case. Unless `sure` is infinite, segments are
    joined with one another first, as long as the margins are at least that. The assembly may become worse.
    """
    begin(bench)
    loosen_all(assembly, bench, threshold, others)
    if sure < np.inf:
        take_over(plan, assembly, bench)
        agglomerate(plan, assembly, bonds, sure)
        hand_back(plan, assembly, bonds, bench)
    repair(assembly, bonds, bench, 0.0)


@kernel
def strength(assembly, e):
    """Return how strongly an edge is held: by its contact, and half as much by those beside it on the line.

    A strong contact between weak ones is most likely wrong. -1 if the edge touches nothing.
    """
    records = assembly.records
    record = records[e >> 2]
    d = (e + record.turn) & 3
    if assembly.contact[e] < 0:
        return assembly.contact[e]
    beside, weight = np.float32(0), np.float32(2)
    for along in ((d + 1) & 3, (d + 3) & 3):
        p = np.int64(piece_at(records, assembly.table, PLACED, record.x + DX[along], record.y + DY[along]))
        if p >= 0:
            gain = assembly.contact[4 * p + ((d - records[p].turn) & 3)]
            if gain >= 0:
                beside += gain
                weight += np.float32(1)
    return (np.float32(2) * assembly.contact[e] + beside) / weight


@kernel
def _weak_contact(assembly, bench, count, draws):
    """Return the least gain of some contacts drawn in the region, or anywhere if `count` is 0."""
    least = np.float32(np.inf)
    for _ in range(draws):
        if count > 0:
            p = bench.members[below(bench.random, count)]
        else:
            p = below(bench.random, len(assembly.records))
        e = 4 * p + below(bench.random, 4)
        if assembly.contact[e] >= 0:
            least = min(least, strength(assembly, e))
    return least if least < np.inf else np.float32(0)


@kernel
def _mark(assembly, bench, p):
    """Make a piece part of the region of a move, and note how strongly it is held before anything changes."""
    bench.mark[p] = 2 * bench.counts[0]
    for e in range(4 * p, 4 * p + 4):
        bench.strength[e] = strength(assembly, e)


@kernel
def add_region(assembly, bench, count, p, size):
    """Add up to `size` pieces around a placed piece to the region of a move; return how many it has now."""
    unseen = 2 * bench.counts[0]
    if assembly.records[p].group != PLACED or bench.mark[p] >= unseen:
        return count
    _mark(assembly, bench, p)
    bench.members[count] = p
    at, end, stop = count, count + 1, count + size
    while at < end and end < stop:
        p = bench.members[at]
        at += 1
        for e in range(4 * p, 4 * p + 4):
            if assembly.contact[e] >= 0:
                q = np.int64(neighbour(assembly.records, assembly.table, e) >> 2)
                if bench.mark[q] < unseen:
                    _mark(assembly, bench, q)
                    bench.members[end] = q
                    end += 1
                    if end == stop:
                        break
    return end


@kernel
def _segment(assembly, bench, p, threshold, others):
    """Collect the pieces of the region held to p by more than a threshold, behind those taken up.

    Where `others` is given, only by contacts that it has too. Returns where the list ends, and whether
    something outside the region holds them.
    """
    unseen = 2 * bench.counts[0]
    at = bench.counts[2]
    end = at + 1
    bench.pieces[at] = p
    bench.mark[p] = unseen + 1
    anchored = False
    while at < end:
        p = bench.pieces[at]
        at += 1
        for e in range(4 * p, 4 * p + 4):
            if assembly.contact[e] >= 0 and bench.strength[e] > threshold:
                f = np.int64(neighbour(assembly.records, assembly.table, e))
                q = f >> 2
                if len(others) > 0 and others[e] != f:
                    continue
                if bench.mark[q] < unseen:
                    anchored = True
                elif bench.mark[q] == unseen:
                    bench.mark[q] = unseen + 1
                    bench.pieces[end] = q
                    end += 1
    return end, anchored


@kernel
def _take_up_segment(assembly, bench, end):
    """Take up the pieces collected up to `end`, as one segment."""
    first = bench.counts[2]
    s = add_segment(bench, first, end)
    for i in range(first, end):
        take_up(assembly, bench, bench.pieces[i], s)


@kernel
def loosen(assembly, bench, count, threshold):
    """Take up the segments of the region that nothing outside it holds by more than a threshold."""
    for i in range(count):
        p = bench.members[i]
        if bench.mark[p] == 2 * bench.counts[0]:
            end, anchored = _segment(assembly, bench, p, threshold, NO_OTHERS)
            if not anchored:
                _take_up_segment(assembly, bench, end)


@kernel(allocates=True)
def loosen_all(assembly, bench, threshold, others):
    """Cut all into segments; take up all but the largest of each window, and what lies outside."""
    records = assembly.records
    unseen = 2 * bench.counts[0]
    count = len(assembly.windows)
    largest, size, within = np.full(count, -1), np.zeros(count, np.int64), np.zeros(count, np.int64)
    for taking in range(2):
        for p in range(len(records)):
            if taking:
                bench.mark[p] = unseen
            else:
                _mark(assembly, bench, p)
        for first in range(len(records)):
            if records[first].group != PLACED or bench.mark[first] != unseen:
                continue
            end, _ = _segment(assembly, bench, first, threshold, others)
            if taking:
                if not np.any(largest == first):
                    _take_up_segment(assembly, bench, end)
                continue
            within[:] = 0
            for i in range(bench.counts[2], end):
                at = window_at(assembly, records[bench.pieces[i]].x, records[bench.pieces[i]].y)
                if at >= 0:
                    within[at] += 1
            for i in range(count):
                if within[i] > size[i]:
                    largest[i], size[i] = first, within[i]
    for p in range(len(records)):
        if records[p].group == PLACED and window_at(assembly, records[p].x, records[p].y) < 0:
            wake(assembly, bench, p)
