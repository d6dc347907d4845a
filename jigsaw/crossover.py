"""The paper's crossover: one child of two parents, in four phases of joining groups.

1. relations common to both parents, each left out with a small probability (mutation);
2. best-buddy relations that at least one parent has;
3. each edge's most compatible edge;
4. random relations,
each phase in random order, until the n - 1 joins have made one group.

Relations common to both parents form rigid parts of either parent and never collide, so phase 1 labels
connected components and takes positions from the first parent. Everything later touches only `open`
edges: those whose neighbour in the first parent is none, or is now in another group.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jigsaw.chromosome import entry_cost
from jigsaw.compiled import kernel
from jigsaw.groups import enter, join, neighbour, workspace
from jigsaw.randomness import below, shuffle, uniform


class Workspace(NamedTuple):
    """Scratch memory of one worker, reused for every child."""

    records: np.ndarray  # one RECORD a piece
    table: np.ndarray  # hash table of places
    open: np.ndarray  # (4 n) edges that phases 2 to 4 may join
    is_open: np.ndarray  # (4 n) whether an edge is one of them
    pairs: np.ndarray  # (4 n) edges in the order in which a phase tries them
    loose: np.ndarray  # (4 n) open edges outside the reference group of phase 4
    random: np.ndarray  # state of the random generator
    turnable: bool  # whether groups may be turned


def make_workspace(pieces: int, turnable: bool = True) -> Workspace:
    """Allocate the scratch memory for puzzles of so many pieces."""
    records, table = workspace(pieces)
    return Workspace(
        records=records,
        table=table,
        open=np.empty(4 * pieces, np.int32),
        is_open=np.empty(4 * pieces, np.uint8),
        pairs=np.empty(4 * pieces, np.int32),
        loose=np.empty(4 * pieces, np.int32),
        random=np.zeros(1, np.uint64),
        turnable=turnable,
    )


@kernel
def cross(work, costs, mutation, relations1, layout1, fitness1, relations2, relations, layout):
    """Make a child of two parents; write its relations and layout and return its fitness."""
    groups = common_parts(work, mutation, relations1, layout1, relations2, relations)
    if groups == 1:
        return record_child(work, costs, 0, relations1, fitness1, relations, layout)
    opened = open_edges(work, relations1)
    groups = try_buddies(work, costs.buddy, relations1, relations2, opened, groups)
    groups = try_nearest(work, costs.nearest, opened, groups)
    join_at_random(work, opened, groups)
    return record_child(work, costs, opened, relations1, fitness1, relations, layout)


@kernel
def random_chromosome(work, costs, relations, layout):
    """Join single pieces at random into one group; write relations and layout and return the fitness."""
    records = work.records
    pieces = len(records)
    work.table[:] = -1
    for p in range(pieces):
        records[p].x = 0
        records[p].y = 0
        records[p].turn = 0
        records[p].group = p
        records[p].ring = p
        records[p].size = 1
        enter(records, work.table, p)
    for e in range(4 * pieces):
        work.open[e] = e
        relations[e] = -1
    join_at_random(work, 4 * pieces, pieces)
    alone = 4 * pieces * costs.none
    return record_child(work, costs, 4 * pieces, relations, alone, relations, layout)


@kernel
def common_parts(work, mutation, relations1, layout1, relations2, common):
    """Phase 1: make groups of the pieces joined in both parents; return their number.

    `common` is left holding the relations used.
    """
    records, table, stack = work.records, work.table, work.pairs
    pieces = len(records)
    for e in range(4 * pieces):
        common[e] = relations1[e] if relations1[e] == relations2[e] else -1
    if mutation > 0:
        # Jumps from one left out to the next: the same as asking each relation in turn.
        e = 0
        while True:
            e += _jump(work.random, mutation)
            if e >= 4 * pieces:
                break
            f = common[e]
            if f > e:
                common[e] = -1
                common[f] = -1
            e += 1

    for p in range(pieces):
        records[p].group = -1
    table[:] = -1
    groups = 0
    for first in range(pieces):
        if records[first].group >= 0:
            continue
        groups += 1
        records[first].group = first
        stack[0] = first
        height = 1
        size = 0
        last = first
        while height > 0:
            height -= 1
            p = stack[height]
            size += 1
            records[last].ring = p
            last = p
            records[p].x = layout1[p, 0]
            records[p].y = layout1[p, 1]
            records[p].turn = layout1[p, 2]
            for e in range(4 * p, 4 * p + 4):
                if common[e] >= 0:
                    q = common[e] >> 2
                    if records[q].group < 0:
                        records[q].group = first
                        stack[height] = q
                        height += 1
        if size == pieces:
            return 1
        records[last].ring = first
        records[first].size = size
    for p in range(pieces):
        enter(records, table, p)
    return groups


@kernel
def _jump(random, probability):
    """Return how many fail before the next success, each succeeding with the given probability."""
    if probability >= 1:
        return 0
    return np.int64(min(np.log(1.0 - uniform(random)) / np.log(1.0 - probability), 2.0e9))


@kernel
def open_edges(work, relations1):
    """List the edges that have no neighbour within their group after phase 1; return their number."""
    records = work.records
    count = 0
    for e in range(len(relations1)):
        f = relations1[e]
        is_open = f < 0 or records[f >> 2].group != records[e >> 2].group
        work.is_open[e] = is_open
        if is_open:
            work.open[count] = e
            count += 1
    return count


@kernel
def try_buddies(work, buddy, relations1, relations2, opened, groups):
    """Phase 2: join best buddies that touch in at least one parent; return the groups left."""
    count = 0
    for i in range(opened):
        e = work.open[i]
        f = buddy[e]
        if f > e and (relations1[e] == f or relations2[e] == f) and _joinable(work, e, f):
            work.pairs[count] = e
            count += 1
    return _join_in_random_order(work, count, buddy, groups)


@kernel
def try_nearest(work, nearest, opened, groups):
    """Phase 3: join each edge with its most compatible edge; return the groups left."""
    count = 0
    for i in range(opened):
        e = work.open[i]
        f = nearest[e]
        if f >= 0 and _joinable(work, e, f):
            work.pairs[count] = e
            count += 1
    return _join_in_random_order(work, count, nearest, groups)


@kernel
def _join_in_random_order(work, count, partner, groups):
    """Try to join each of the listed edges with its partner; return the groups left."""
    shuffle(work.random, work.pairs, count)
    for i in range(count):
        if groups == 1:
            break
        e = work.pairs[i]
        if join(work.records, work.table, e, partner[e], work.turnable):
            groups -= 1
    return groups


@kernel
def _joinable(work, e, f):
    """Return whether f is open and in another group; e is known to be open."""
    return work.is_open[f] and work.records[f >> 2].group != work.records[e >> 2].group


@kernel
def join_at_random(work, opened, groups):
    """Phase 4: join random pairs of open edges until one group is left.

    Every pair of open edges in different groups is equally likely. The first edge is drawn outside one
    reference group, a large one, in which most draws would be lost; a pair with both edges outside it
    could come either way round, so it is accepted half the time.
    """
    if groups == 1:
        return
    records, table, random = work.records, work.table, work.random
    anywhere, loose = work.pairs, work.loose
    count = 0
    reference = records[work.open[0] >> 2].group
    for i in range(opened):
        e = work.open[i]
        if neighbour(records, table, e) < 0:
            anywhere[count] = e
            count += 1
            group = records[e >> 2].group
            if records[group].size > records[reference].size:
                reference = group
    outside = _outside(records, anywhere, count, reference, loose)
    while groups > 1:
        i = below(random, outside)
        e = loose[i]
        if records[e >> 2].group == reference or neighbour(records, table, e) >= 0:
            outside -= 1
            loose[i] = loose[outside]
            continue
        j = below(random, count)
        f = anywhere[j]
        if neighbour(records, table, f) >= 0:
            count -= 1
            anywhere[j] = anywhere[count]
            continue
        if records[f >> 2].group != reference and uniform(random) < 0.5:
            continue
        if join(records, table, e, f, work.turnable):
            groups -= 1
            group = records[e >> 2].group
            absorbed = records[reference].group != reference
            if absorbed or records[group].size > 2 * records[reference].size:
                reference = group
                outside = _outside(records, anywhere, count, reference, loose)


@kernel
def _outside(records, edges, count, reference, loose):
    """List the edges that are not in the reference group; return their number."""
    outside = 0
    for i in range(count):
        if records[edges[i] >> 2].group != reference:
            loose[outside] = edges[i]
            outside += 1
    return outside


@kernel
def record_child(work, costs, opened, relations1, fitness1, relations, layout):
    """Write the child's relations and layout; return its fitness, by what differs from the first parent."""
    records, table = work.records, work.table
    fitness = fitness1
    for e in range(len(relations)):
        relations[e] = relations1[e]
    for i in range(opened):
        e = work.open[i]
        old = relations1[e]
        new = neighbour(records, table, e)
        if new != old:
            fitness += entry_cost(costs, e, new) - entry_cost(costs, e, old)
            relations[e] = new
    for p in range(len(records)):
        layout[p, 0] = records[p].x
        layout[p, 1] = records[p].y
        layout[p, 2] = records[p].turn
    return fitness
