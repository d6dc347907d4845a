"""The paper, slowly: every kernel of the package once more in plain Python, to compare it with.

Sholomon, David & Netanyahu, "Genetic algorithm-based solver for very large multiple jigsaw puzzles of
unknown dimensions and piece orientation", GECCO 2014. Nothing here is quick and nothing is clever.

An edge is 4 piece + side; sides and directions are 0 top, 1 right, 2 bottom, 3 left. A relation is a
pair (e, f) of touching edges, e < f. A group is a dictionary {piece: (x, y, turn)}, turns clockwise.
"""

import math
from collections import Counter
from typing import NamedTuple

import numpy as np
from skimage.color import rgb2lab

STEP = {0: (0, -1), 1: (1, 0), 2: (0, 1), 3: (-1, 0)}  # where each direction leads; y points down


# --- Edges and how they fit ---------------------------------------------------------------------------


def strip(piece, side):
    """The colours along a side of a piece, clockwise: L*a*b* in whole sixteenths, (K, 3)."""
    side_on_top = np.rot90(piece, side)  # anticlockwise
    return np.rint(16 * rgb2lab(side_on_top)[0]).astype(int)


def strips(pixels):
    """The strips of all edges of a bag, in the order of edge numbers: (4 n, K, 3)."""
    return np.array([strip(piece, side) for piece in pixels for side in range(4)])


def squared(strip1, strip2):
    """The sum of squared differences of two strips that face each other, in squared sixteenths."""
    return int(((strip1 - strip2[::-1]) ** 2).sum())


def dissimilarity(strip1, strip2):
    """The root of the sum of squared differences (Equation 1)."""
    return math.sqrt(squared(strip1, strip2)) / 16


def all_squared(strips):
    """The squared dissimilarities of all edges with all edges."""
    reversed_strips = strips[:, ::-1]
    return np.array([((strip - reversed_strips) ** 2).sum(axis=(1, 2)) for strip in strips])


def gradient_compatibility(piece1, side1, piece2, side2):
    """Gallagher's Mahalanobis gradient compatibility of two edges that face each other, both ways added."""
    left = np.rot90(piece1, side1 - 1).astype(float)  # the edge now on the right
    right = np.rot90(piece2, side2 - 3).astype(float)  # the edge now on the left
    return _from_left_to_right(left, right) + _from_left_to_right(right[::-1, ::-1], left[::-1, ::-1])


def _from_left_to_right(left, right):
    gradients = left[:, -1] - left[:, -2]
    unit = np.vstack([np.zeros(3), np.ones(3), -np.ones(3), np.eye(3), -np.eye(3)])
    precision = np.linalg.inv(np.cov(np.vstack([gradients, unit]), rowvar=False))
    steps = right[:, 0] - left[:, -1] - gradients.mean(axis=0)
    return sum(step @ precision @ step for step in steps)


class Comparison(NamedTuple):
    nearest: list  # for each edge the other pieces' edges, most compatible first, ties by number
    buddy: list  # for each edge its best buddy or -1
    mean: float  # of all pairs of edges of different pieces
    dissimilarities: np.ndarray  # (4 n, 4 n)


def compare(strips):
    """Compare all edges of all pieces with all edges of all other pieces."""
    squares = all_squared(strips)
    edges = range(len(strips))
    others = [[f for f in edges if f // 4 != e // 4] for e in edges]
    nearest = [sorted(others[e], key=lambda f, row=squares[e]: (row[f], f)) for e in edges]
    buddy = [-1 for _ in edges]
    for e in edges:
        for f in nearest[e][:1]:
            if nearest[f][0] == e:
                buddy[e] = f
    dissimilarities = np.sqrt(squares) / 16
    pairs = [dissimilarities[e, f] for e in edges for f in others[e]]
    mean = math.fsum(pairs) / len(pairs) if pairs else 0.0
    return Comparison(nearest, buddy, mean, dissimilarities)


# --- Groups, relations, layouts -----------------------------------------------------------------------


def singles(pieces):
    """Each piece a group of its own."""
    return [{piece: (0, 0, 0)} for piece in range(pieces)]


def turned(group, turns):
    """A group turned as a whole by so many quarter turns clockwise."""
    for _ in range(turns % 4):
        group = {piece: (-y, x, (turn + 1) % 4) for piece, (x, y, turn) in group.items()}
    return group


def shifted(group, right, down):
    """A group shifted as a whole."""
    return {piece: (x + right, y + down, turn) for piece, (x, y, turn) in group.items()}


def direction(group, edge):
    """The direction in which an edge of a group faces."""
    _, _, turn = group[edge // 4]
    return (edge % 4 + turn) % 4


def place_before(group, edge):
    """The place which an edge of a group faces."""
    x, y, _ = group[edge // 4]
    right, down = STEP[direction(group, edge)]
    return x + right, y + down


def group_of(groups, edge):
    """The group that an edge belongs to."""
    return next(group for group in groups if edge // 4 in group)


def touching(group, edge):
    """The edge that touches an edge within its group, or -1."""
    wanted = place_before(group, edge)
    for piece, (x, y, turn) in group.items():
        if (x, y) == wanted:
            facing = (direction(group, edge) + 2) % 4
            return 4 * piece + (facing - turn) % 4
    return -1


def fitted(kept, moved, e, f):
    """The group `moved`, turned and shifted so that its edge f touches edge e of the group `kept`."""
    moved = turned(moved, direction(kept, e) + 2 - direction(moved, f))
    x, y, _ = moved[f // 4]
    wanted_x, wanted_y = place_before(kept, e)
    return shifted(moved, wanted_x - x, wanted_y - y)


def collide(group1, group2):
    """Whether two pieces of the two groups would lie at the same place."""
    places1 = {(x, y) for x, y, _ in group1.values()}
    places2 = {(x, y) for x, y, _ in group2.values()}
    return bool(places1 & places2)


def join(groups, e, f):
    """Assign a relation: make e and f touch by moving the smaller of their groups; False if impossible."""
    one, two = group_of(groups, e), group_of(groups, f)
    if one is two:
        return False
    if len(one) < len(two):
        one, two, e, f = two, one, f, e
    moved = fitted(one, two, e, f)
    if collide(one, moved):
        return False
    groups.remove(two)
    one.update(moved)
    return True


def relations_of(groups):
    """All relations within groups, assigned or implicit: a set of pairs (e, f), e < f."""
    found = set()
    for group in groups:
        for piece in group:
            for e in range(4 * piece, 4 * piece + 4):
                f = touching(group, e)
                if f > e:
                    found.add((e, f))
    return found


def table_of(relations, pieces):
    """Relations as a chromosome: for each edge of each piece the edge that touches it, or -1."""
    table = np.full((pieces, 4), -1)
    for e, f in relations:
        table[e // 4, e % 4] = f
        table[f // 4, f % 4] = e
    return table


def relations_in(table):
    """The relations that a chromosome's table holds."""
    return {(e, int(f)) for e, f in enumerate(np.ravel(table)) if f > e}


def group_in(layout):
    """A layout as one group."""
    return {piece: tuple(place) for piece, place in enumerate(np.asarray(layout).tolist())}


def fitness(table, dissimilarities, mean):
    """The sum over all 4 n entries, twice the mean for an entry without a relation (Equation 2)."""
    entries = np.ravel(table).tolist()
    return math.fsum(2 * mean if f < 0 else dissimilarities[e, f] for e, f in enumerate(entries))


def components(relations, pieces):
    """The sets of pieces that relations connect, as a label for each piece: the least of its set."""
    label = list(range(pieces))
    for e, f in relations:
        old, new = sorted([label[e // 4], label[f // 4]], reverse=True)
        label = [new if each == old else each for each in label]
    return label


# --- Crossover ----------------------------------------------------------------------------------------

ALL_PHASES = (1, 2, 3, 4)


def crossover(rng, parent1, parent2, nearest, buddy, mutation, phases=ALL_PHASES):
    """One child of two parents, given and returned as sets of relations.

    Relations are assigned one at a time, each merging two groups, until n - 1 of them have made one
    group of all pieces. Returned is that group. Phases left out of `phases` are skipped.
    """
    pieces = len(nearest) // 4
    groups = singles(pieces)
    if 1 in phases:
        assign_common_relations(rng, groups, parent1, parent2, mutation)
    if 2 in phases:
        assign_best_buddies(rng, groups, parent1, parent2, buddy)
    if 3 in phases:
        assign_most_compatible(rng, groups, nearest)
    if 4 in phases:
        assign_at_random(rng, groups)
    return groups[0]


def assign_common_relations(rng, groups, parent1, parent2, mutation):
    """Phase 1: relations that both parents have, each left out with a small probability."""
    for e, f in in_random_order(rng, parent1 & parent2):
        if rng.random() >= mutation:
            join(groups, e, f)


def assign_best_buddies(rng, groups, parent1, parent2, buddy):
    """Phase 2: relations of best buddies that at least one parent has."""
    for e, f in in_random_order(rng, parent1 | parent2):
        if buddy[e] == f:
            join(groups, e, f)


def assign_most_compatible(rng, groups, nearest):
    """Phase 3: for each edge, in random order, the relation with its most compatible edge."""
    for e in in_random_order(rng, range(len(nearest))):
        for f in nearest[e][:1]:
            join(groups, e, f)


def assign_at_random(rng, groups):
    """Phase 4: relations of random free edges, until one group is left."""
    while len(groups) > 1:
        join(groups, *rng.choice(free_pairs(groups)))


def free_pairs(groups):
    """All pairs of edges that touch nothing and are in different groups."""
    free = [
        [e for piece in group for e in range(4 * piece, 4 * piece + 4) if touching(group, e) < 0]
        for group in groups
    ]
    return [(e, f) for i, edges in enumerate(free) for others in free[i + 1 :] for e in edges for f in others]


def feasible_outcomes(groups):
    """What joining one free pair may lead to, each with the number of pairs that do."""
    outcomes = Counter()
    for e, f in free_pairs(groups):
        joined = [dict(group) for group in groups]
        if join(joined, e, f):
            outcomes[frozenset(relations_of(joined))] += 1
    return outcomes


def random_chromosome(rng, pieces):
    """Pieces joined at random into one group."""
    groups = singles(pieces)
    assign_at_random(rng, groups)
    return groups[0]


def in_random_order(rng, things):
    things = sorted(things)
    rng.shuffle(things)
    return things


# --- Selection ----------------------------------------------------------------------------------------


def shares(fitness):
    """Each individual's share of the roulette wheel: its distance to the worst of the generation."""
    worst = max(fitness)
    if min(fitness) == worst:
        return [1 / len(fitness)] * len(fitness)
    distances = [worst - each for each in fitness]
    return [distance / sum(distances) for distance in distances]


def stop_of(wheel, where):
    """The individual at which a wheel of shares stops, `where` being from 0 to 1 around it."""
    for individual, share in enumerate(wheel):
        if where < share:
            return individual
        where -= share
    return len(wheel) - 1
