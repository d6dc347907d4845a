"""The search, slowly: what an assembly gains, what holds together, which windows there are.

And a table with pieces on it, whose every number can be compared with that. As in `reference`, a group is a
dictionary {piece: (x, y, turn)}; here it has the pieces that are placed. Nothing is quick or clever.
"""

import itertools
from dataclasses import replace
from statistics import fmean
from typing import NamedTuple

import numpy as np
import reference

from jigsaw.assembly import (
    ANYWHERE,
    AWAY,
    PLACED,
    Bonds,
    bonds_of,
    gain_of,
    kinds_of,
    lay_out,
    make_assembly,
    read_layout,
)
from jigsaw.dissimilarity import compare
from jigsaw.geometry import DX, DY
from jigsaw.groups import piece_at
from jigsaw.pieces import Bag
from jigsaw.placements import make_plan
from jigsaw.randomness import start
from jigsaw.repair import make_bench

# --- What is gained -----------------------------------------------------------------------------------


def dissimilarities(bonds):
    """The colour differences of all edges with all edges."""
    strips = bonds.features.strips.reshape(len(bonds.near), -1, 3).astype(int)
    return np.sqrt(reference.all_squared(strips)) / 16


def all_gains(bonds, dissimilarities):
    """What every edge gains from every other: as its list says, else as its dissimilarity says."""
    none = bonds.none
    gains = np.maximum(none - (dissimilarities + dissimilarities.T) / 2, 0)
    listed = [
        dict(zip(near, gain, strict=True))
        for near, gain in zip(bonds.near.tolist(), bonds.gains, strict=True)
    ]
    for e, mine in enumerate(listed):
        for f, others in enumerate(listed):
            if f in mine:
                gains[e, f] = mine[f]
            elif e in others:
                gains[e, f] = others[e]
            elif -1 in mine or -1 in others:  # a list that is not full has everything worth having
                gains[e, f] = 0
    return gains


def contacts(group, gains):
    """What each edge of each placed piece gains from the edge it touches: {edge: gain}."""
    found = {}
    for e, f in reference.relations_of([group]):
        found[e] = found[f] = gains[e, f]
    return found


def total(group, gains):
    """The sum of the gains of all contacts."""
    return sum(contacts(group, gains).values()) / 2


def gain_there(group, gains, piece, x, y, turn):
    """What a piece would gain at a free place."""
    return total({**group, piece: (x, y, turn)}, gains) - total(group, gains)


# --- What holds together ------------------------------------------------------------------------------


def strengths(group, contact):
    """How strongly each edge that touches another is held: its contact counts twice, those beside it once."""
    facing = {(*group[p][:2], (side + group[p][2]) % 4): 4 * p + side for p in group for side in range(4)}
    steps = ((0, -1), (1, 0), (0, 1), (-1, 0))
    found = {}
    for (x, y, d), e in facing.items():
        if contact[e] >= 0:
            dx, dy = steps[(d + 1) % 4]
            line = [facing.get((x + i * dx, y + i * dy, d)) for i in (-1, 1)]
            beside = [contact[f] for f in line if f is not None and contact[f] >= 0]
            found[e] = (2 * contact[e] + sum(beside, np.float32(0))) / np.float32(2 + len(beside))
    return found


def segments(group, relations):
    """The sets of placed pieces that some relations hold together."""
    label = reference.components(relations, max(group, default=-1) + 1)
    return [{p for p in group if label[p] == name} for name in sorted({label[p] for p in group})]


def loose(group, relations, region):
    """The sets of pieces of a region that hold together and that nothing outside the region holds."""
    return [segment for segment in segments(group, relations) if segment <= set(region)]


# --- Agglomeration ------------------------------------------------------------------------------------


class Placement(NamedTuple):
    """A group, by name, moved beside another: turned clockwise about the origin, then shifted."""

    moved: int
    kept: int
    turns: int
    x: int
    y: int

    def of(self, group):
        """Where the pieces of the moved group come to lie."""
        return reference.shifted(reference.turned(group, self.turns), self.x, self.y)

    def back(self, x, y):
        """Which place comes to lie at this one."""
        ((x, y, _),) = reference.turned({0: (x - self.x, y - self.y, 0)}, -self.turns % 4).values()
        return x, y


def votes_for(groups, fixed, near, gains, moved, turnable=True):
    """All placements of a group that listed pairs of open edges ask for: {placement: sum of their gains}."""
    touching = {e for group in groups.values() for pair in reference.relations_of([group]) for e in pair}
    home = {p: name for name, group in groups.items() for p in group}
    votes = {}
    for p, (x, y, turn) in groups[moved].items():
        for e in (e for e in range(4 * p, 4 * p + 4) if e not in touching):
            for f in near[e][near[e] >= 0].tolist():
                kept = home.get(f // 4, moved)
                larger = (len(groups[kept]), kept) > (len(groups[moved]), moved)
                if kept == moved or f in touching or not (larger or kept in fixed):
                    continue
                there_x, there_y, there_turn = groups[kept][f // 4]
                d = (f + there_turn) % 4
                turns = (d + 2 - e - turn) % 4
                if turns and not turnable:
                    continue
                ((x2, y2, _),) = reference.turned({p: (x, y, turn)}, turns).values()
                shift = (there_x + DX[d] - x2, there_y + DY[d] - y2)
                placement = Placement(moved, kept, turns, int(shift[0]), int(shift[1]))
                votes[placement] = votes.get(placement, 0) + gains[e, f]
    return votes


def fits_beside(groups, placement, windows=()):
    """Whether no two pieces collide, and all that is moved lies in a window, if there are any."""
    places = {place[:2] for place in groups[placement.kept].values()}
    moved = [place[:2] for place in placement.of(groups[placement.moved]).values()]
    return not places & set(moved) and all(
        any(held_by([place], window) for window in windows) for place in moved if len(windows)
    )


def gained_by(groups, gains, placement):
    """What the contacts between the two groups gain."""
    kept, moved = groups[placement.kept], groups[placement.moved]
    both = {**kept, **placement.of(moved)}
    return total(both, gains) - total(kept, gains) - total(moved, gains)


def margins(groups, gained):
    """By how much each placement gains more than any that would put something else where it puts something.

    In the frame of the group that is kept, that is where the moved one lies; in that of the moved one, where
    the other lies in a box around it that reaches one place beyond.
    """
    claims = []
    for placement, gain in gained.items():
        moved, kept = groups[placement.moved], groups[placement.kept]
        xs, ys = zip(*(place[:2] for place in moved.values()), strict=True)
        box = (min(xs) - 1, min(ys) - 1, max(xs) + 2, max(ys) + 2)
        around = [placement.back(x, y) for x, y, _ in kept.values()]
        frames = {(placement.kept, *place[:2]): placement.moved for place in placement.of(moved).values()}
        frames |= {(placement.moved, *place): placement.kept for place in around if held_by([place], box)}
        claims.append((placement, gain, frames))
    return {
        one: gain
        - max(
            (
                other_gain
                for other, other_gain, other_frames in claims
                if other != one
                and (
                    (other.moved, other.kept) == (one.moved, one.kept)
                    or any(other_frames.get(place, by) != by for place, by in frames.items())
                )
            ),
            default=0,
        )
        for one, gain, frames in claims
    }


# --- Frames -------------------------------------------------------------------------------------------


def held_by(positions, window):
    """How many positions a window holds."""
    left, top, right, bottom = window
    return sum(left <= x < right and top <= y < bottom for x, y in positions)


def all_windows(positions, shape):
    """All windows of a shape with any of the positions."""
    (width, height), (xs, ys) = shape, zip(*positions, strict=True)
    return [
        (left, top, left + width, top + height)
        for left in range(min(xs) - width + 1, max(xs) + 1)
        for top in range(min(ys) - height + 1, max(ys) + 1)
    ]


def no_more_beyond_than_need_be(positions, window):
    """Whether a window is within the box of the positions, or that within the window, across and down."""
    left, top, right, bottom = window
    xs, ys = zip(*positions, strict=True)
    across = sorted([left - min(xs), max(xs) + 1 - right])
    down = sorted([top - min(ys), max(ys) + 1 - bottom])
    return all(low >= 0 or high <= 0 for low, high in (across, down))


# --- Boards -------------------------------------------------------------------------------------------


def cores(group, gains_of_edges, threshold):
    """The sets of pieces that squares of four strong contacts, each on a strong line, hold together."""
    at = {(x, y): p for p, (x, y, _) in group.items()}
    strong = {
        e
        for e, gain in gains_of_edges.items()
        if gain > threshold and fmean(line_of(group, at, gains_of_edges, e)) > 0.8 * threshold
    }
    held = []
    for x, y in at:
        square = [at.get((x + right, y + down)) for right, down in ((0, 0), (1, 0), (1, 1), (0, 1))]
        if None not in square:
            around = zip(square, [*square[1:], square[0]], strict=True)
            if all(set(edges_between(group, p, q)) <= strong for p, q in around):
                held.append(set(square))
    return joined(held)


def line_of(group, at, gains_of_edges, e, reach=4):
    """What the contact of an edge gains, and those beside it on the same line, up to where the line ends."""
    x, y, turn = group[e // 4]
    d = (e + turn) % 4
    gains = [gains_of_edges[e]]
    for along in ((d + 1) % 4, (d + 3) % 4):
        for step in range(1, reach + 1):
            p = at.get((x + step * DX[along], y + step * DY[along]))
            beside = None if p is None else 4 * p + (d - group[p][2]) % 4
            if beside not in gains_of_edges:
                break
            gains.append(gains_of_edges[beside])
    return gains


def edges_between(group, p, q):
    """The two edges with which neighbours touch."""
    ((e, f),) = reference.relations_of([{p: group[p], q: group[q]}])
    return e, f


def joined(sets):
    """The sets made of all those that have something in common, the largest first."""
    found = []
    for new in sets:
        apart = [old for old in found if not old & new]
        found = [*apart, new.union(*(old for old in found if old & new))]
    return sorted(found, key=len, reverse=True)


def windows_on_board(positions, beyond=2):
    """All windows that reach at most two places beyond some positions: {window: how many it holds}."""
    xs, ys = zip(*positions, strict=True)
    across = range(min(xs) - beyond, max(xs) + 1 + beyond + 1)
    down = range(min(ys) - beyond, max(ys) + 1 + beyond + 1)
    return {
        (left, top, right, bottom): held_by(positions, (left, top, right, bottom))
        for left in across
        for right in across
        for top in down
        for bottom in down
        if left < right and top < bottom
    }


def area(window):
    left, top, right, bottom = window
    return (right - left) * (bottom - top)


def misfits(positions, most):
    """How badly the best window of each area fits, if it holds more than a third: {area: misfit}."""
    best = {}
    for window, held in windows_on_board(positions).items():
        if held > len(positions) // 3 and area(window) <= most:
            misfit = len(positions) - held + area(window) - held
            best[area(window)] = min(misfit, best.get(area(window), misfit))
    return best


def least_misfits(boards, pieces):
    """The least misfit of any windows whose areas add up to all pieces: {number of windows: misfit}."""
    options = [[None, *(misfits(positions, pieces).items() if positions else [])] for positions in boards]
    least = {}
    for chosen in itertools.product(*options):
        used = [option for option in chosen if option]
        if used and sum(area for area, _ in used) == pieces:
            lost = sum(len(board) for board, option in zip(boards, chosen, strict=True) if not option)
            cost = lost + sum(misfit for _, misfit in used)
            least[len(used)] = min(cost, least.get(len(used), cost))
    return least


def taken_apart(group, gains_of_edges, window, chance, least):
    """What is left of a window, cut along its weakest line again and again: groups of pieces.

    A part of less than `least` pieces is not cut off but moved beyond the other end of the window.
    """
    inside = {p: place for p, place in group.items() if held_by([place[:2]], window)}
    lines = []
    for axis, side in ((0, 3), (1, 0)):
        for at in range(window[axis] + 1, window[axis + 2]):
            beyond = [p for p, place in inside.items() if place[axis] == at]
            gains = [max(gains_of_edges.get(4 * p + (side - group[p][2]) % 4, 0), 0) for p in beyond]
            lines.append((sum(gains) / max(len(gains), 1), axis, at))
    if not lines or min(lines)[0] > chance:
        return [inside]
    _, axis, at = min(lines)
    far = {p: place for p, place in inside.items() if place[axis] >= at}
    near = {p: place for p, place in inside.items() if place[axis] < at}
    width = window[axis + 2] - window[axis]
    for small, large, by in ((far, near, -width), (near, far, width)):
        if len(small) < least:
            return [{**large, **reference.shifted(small, *((by, 0) if axis == 0 else (0, by)))}]
    first, second = list(window), list(window)
    first[axis + 2] = second[axis] = at
    return [
        part
        for half in (first, second)
        for part in taken_apart(group, gains_of_edges, tuple(half), chance, least)
    ]


# --- Pieces on a table --------------------------------------------------------------------------------


class Puzzle(NamedTuple):
    bonds: Bonds
    gains: np.ndarray  # slowly
    kinds: np.ndarray

    @property
    def pieces(self):
        return len(self.kinds)


def puzzle_of(pixels, neighbors=32, none=1.0, upright=False):
    """A bag compared by colour differences, with an open side costing `none` times as much as usual."""
    edges = compare(Bag(pixels), neighbors=neighbors, upright=upright)
    bonds = bonds_of(replace(edges, mean=none * edges.mean))
    dissimilarities = np.sqrt(reference.all_squared(reference.strips(pixels))) / 16
    return Puzzle(bonds, all_gains(bonds, dissimilarities), kinds_of(bonds))


def random_puzzle(seed, pieces, colours=256, size=3, **options):
    """Pieces of random pixels; few colours give many pieces that are alike."""
    rng = np.random.default_rng(seed)
    palette = rng.integers(0, 256, (colours, 3), dtype=np.uint8)
    return puzzle_of(palette[rng.integers(0, colours, (pieces, size, size))], **options)


def random_layout(seed, pieces, side, away=0.0, upright=False):
    """Pieces scattered over a square, some of them away."""
    rng = np.random.default_rng(seed)
    places = rng.permutation(side * side)[:pieces]
    turns = np.zeros(pieces, int) if upright else rng.integers(0, 4, pieces)
    turns[rng.random(pieces) < away] = -1
    return np.column_stack([places % side - 2, places // side + 1, turns]).astype(np.int32)


def fresh_gain(bonds, e, f):
    """Return what two edges gain by touching, nothing being remembered."""
    return gain_of(make_assembly(1), bonds, e, f)


class Table:
    """Pieces of a puzzle, placed or away, and a bench to work on them."""

    def __init__(self, puzzle, layout, window=ANYWHERE, seed=0):
        self.puzzle, self.bonds, self.gains = puzzle, puzzle.bonds, puzzle.gains
        windows = np.asarray(window, np.int32).reshape(-1, 4)  # one or several
        self.assembly = make_assembly(puzzle.pieces)._replace(windows=windows)
        self.bench, self.plan = make_bench(puzzle.pieces), make_plan(puzzle.pieces)
        start(self.bench.random, seed, 0, 0)
        lay_out(self.assembly, self.bonds, np.ascontiguousarray(layout, np.int32))

    @property
    def layout(self):
        layout = np.empty((self.puzzle.pieces, 3), np.int32)
        read_layout(self.assembly, layout)
        return layout

    @property
    def total(self):
        return float(self.assembly.total[0])

    @property
    def group(self):
        """Where the placed pieces lie."""
        return {p: place for p, place in reference.group_in(self.layout).items() if place[2] >= 0}

    @property
    def away(self):
        return np.flatnonzero(self.assembly.records["group"] == AWAY).tolist()

    @property
    def floating(self):
        """The segments that are taken up, as lists of pieces."""
        bench = self.bench
        return [bench.pieces[bench.first[s] : bench.last[s]].tolist() for s in range(bench.counts[1])]

    def piece_at(self, x, y):
        return piece_at(self.assembly.records, self.assembly.table, PLACED, x, y)

    def entered(self):
        """All pieces in the hash table, as often as they are there."""
        found = []
        for piece in self.assembly.table.tolist():
            while piece >= 0:
                found.append(piece)
                piece = int(self.assembly.records[piece]["chain"])
        return sorted(found)

    def assert_agrees(self):
        """Every number is what the slow recomputation from the layout says."""
        group = self.group
        places = [(x, y) for x, y, _ in group.values()]
        assert len(set(places)) == len(places), "two pieces lie on one another"
        assert self.entered() == sorted(group)
        for piece, (x, y, turn) in group.items():
            assert self.piece_at(x, y) == piece
            assert 0 <= turn < 4
        expected = np.full(4 * self.puzzle.pieces, -1.0)
        for e, gain in contacts(group, self.gains).items():
            expected[e] = gain
        np.testing.assert_allclose(self.assembly.contact, expected, rtol=1e-5, atol=1e-4)
        assert abs(self.total - total(group, self.gains)) < 1e-5 * (1 + abs(self.total))

    def assert_whole(self):
        """Nothing floats, all that is placed lies in a window, and every number is right."""
        assert sorted([*self.group, *self.away]) == list(range(self.puzzle.pieces))
        for x, y, _ in self.group.values():
            assert sum(held_by([(x, y)], window) for window in self.assembly.windows.tolist()) == 1
        self.assert_agrees()
