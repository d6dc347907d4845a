"""The search that follows the genetic algorithm in preset `best`.

members = some of the best assemblies of the last generation
improve each by destroying and repairing, again and again
if the pieces seem to be one complete rectangle:
    move members into that frame, improve and cross them inside it, return the best
cross members; try the frame once more; return the best, what is not placed yet put into its gaps

To cross members, for some rounds: of each member and another, keep what they have in common, repair, improve;
keep the child if it is better.

Work is measured in moves, so that the result does not depend on the machine or the number of workers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from jigsaw.assembly import (
    ANYWHERE,
    Assembly,
    Bonds,
    fill,
    kinds_of,
    lay_out,
    make_assembly,
    make_bonds,
    read_layout,
)
from jigsaw.frame import roomy_window, shapes_of, solid_part, windows
from jigsaw.geometry import relations_of
from jigsaw.measures import rows
from jigsaw.moves import NO_OTHERS, improve, rebuild
from jigsaw.randomness import start
from jigsaw.repair import Bench, make_bench

log = logging.getLogger(__name__)

_STREAM = 1 << 40  # of random numbers, apart from those of the generations
_PATIENCE = 3  # passes over all bad edges without any gain before a member is left alone
_CUTS = (0.25, 0.5, 0.75)  # strengths of contacts, as shares of the greatest, at which a frame cuts
_HOPE = 0.02  # share of the gain that being one rectangle may cost at first,
_TOLERANCE = 0.01  # and in the end
_WINDOWS = 2  # frames tried for each member
_TRIAL = 3  # passes after which they are compared
_HELD = 0.85  # share of the solid part that a frame must hold
_SOLID = 0.3  # share of all pieces that the solid part must be
_GLOBAL_SHARE = 0.01  # of moves that cut everywhere,
_GLOBAL_PIECES = 4.0  # and how many pieces they may cost a move, on average

OnRound = Callable[[str, float], None]


class Member(NamedTuple):
    """An assembly of the pool."""

    layout: np.ndarray  # (n, 3); a piece that is not placed has turn -1
    gain: float
    window: np.ndarray  # where pieces may lie: first x, first y, end x, end y


class Task(NamedTuple):
    """How a member is made from another."""

    member: Member
    passes: int
    others: np.ndarray | None = None  # relations of another member: keep what both have
    cut: float | None = None  # keep the largest part held by contacts above this, inside the window


class Found(NamedTuple):
    """What the search leaves."""

    layout: np.ndarray  # (n, 3): x, y, turn
    framed: bool  # whether the pieces were found to be one complete rectangle
    in_time: bool  # whether the budget of time did not cut it short


def search(
    bonds: Bonds,
    layouts: Iterable[np.ndarray],
    rounds: int,
    passes: int,
    seed: int,
    workers: int = 1,
    budget: float = np.inf,
    size: tuple[int, int] | None = None,
    on_round: OnRound | None = None,
) -> Found:
    """Improve assemblies.

    Parameters
    ----------
    bonds
        The compared edges.
    layouts
        Where to start from.
    rounds
        Of crossover between members, in a frame and before.
    passes
        Over all edges that could gain more, for each member, at most.
    seed, workers
        Same seed, same result, for any number of workers, as long as the budget is not used up.
    budget
        Seconds after which no new pass begins.
    size
        Width and height in pieces, where they are known.
    on_round
        Called with a name and the best gain after each step.
    """
    pool = _Pool(bonds, seed, workers, budget, on_round or (lambda name, gain: None))
    members = [Member(layout, -np.inf, ANYWHERE) for layout in layouts]
    members = pool.make("improve", [Task(member, passes) for member in members])
    best = pool.in_frame(members, size, rounds, passes)
    if best is None:
        members = pool.cross(members, rounds, passes)
        best = pool.in_frame(members, None, rounds, passes) or _best(members)
    return Found(pool.filled(best), best.window is not ANYWHERE, pool.in_time)


def warm_up(features: Any) -> None:
    """Compile the kernels for the features of a measure, or load them from the cache, with two pieces."""
    near = np.array([[4, -1]] * 4 + [[0, -1]] * 4, np.int32)
    bonds = make_bonds(rows(features, np.arange(8) % len(features[0])), near, 1.0, True)
    layouts = np.array([[[0, 0, 0], [1, 0, 0]], [[0, 0, 0], [0, 1, 0]]], np.int32)
    search(bonds, layouts, 1, 1, 0)


class _Pool:
    """Makes members from members, several at a time."""

    def __init__(self, bonds: Bonds, seed: int, workers: int, budget: float, on_round: OnRound) -> None:
        self.bonds, self.seed, self.workers, self.on_round = bonds, seed, workers, on_round
        self.kinds = kinds_of(bonds)
        self.pieces = len(self.kinds)
        self.global_share = min(_GLOBAL_SHARE, _GLOBAL_PIECES / self.pieces)
        self.deadline = time.monotonic() + budget
        self.in_time = True
        self._made = 0
        self._tools: list[tuple[Assembly, Bench, np.ndarray]] = []

    def cross(self, members: list[Member], rounds: int, passes: int) -> list[Member]:
        """Cross members with one another for some rounds; one that is like its partner is cut up instead."""
        count = len(members)
        for i in range(rounds if count else 0):
            tasks = []
            for m, one in enumerate(members):
                two = members[(m + 1 + i % max(count - 1, 1)) % count]
                if abs(one.gain - two.gain) > 1e-3:
                    tasks.append(Task(one, passes, others=placed_relations(two.layout)))
                else:
                    tasks.append(Task(one, passes, cut=_CUTS[(i + m) % len(_CUTS)] * self.bonds.none))
            children = self.make(f"round {i + 1}", tasks)
            members = [_best(pair) for pair in zip(members, children, strict=True)]
        return members

    def in_frame(
        self, members: list[Member], size: tuple[int, int] | None, rounds: int, passes: int
    ) -> Member | None:
        """Go on inside a frame; return the best, or None where the pieces do not seem to be one rectangle."""
        wanted = -np.inf if size is not None else _best(members).gain
        framed = [member for member in self._framed(members, size) if member.gain > (1 - _HOPE) * wanted]
        framed = self.make("improve", [Task(member, passes) for member in framed])
        framed = self.cross(framed, rounds, passes)
        if framed and _best(framed).gain >= (1 - _TOLERANCE) * wanted:
            return _best(framed)
        return None

    def _framed(self, members: list[Member], size: tuple[int, int] | None) -> list[Member]:
        """Move members into frames that hold most of their solid parts; as many as there were, if any."""
        shapes = shapes_of(self.pieces) if size is None else [size]
        if size is not None and self.bonds.turnable:
            shapes = [size, size[::-1]]
        tasks, origin = [], []
        for i, member in enumerate(members):
            solid = self._solid(member)
            positions = member.layout[solid, :2]
            for share, window in windows(positions, shapes, _WINDOWS) or _at_corner(positions, size):
                if size is not None or (share > _HELD and solid.sum() > _SOLID * self.pieces):
                    there = member._replace(window=window)
                    tasks += [Task(there, _TRIAL, cut=cut * self.bonds.none) for cut in _CUTS]
                    origin += [i] * len(_CUTS)
        tried = self.make("frame", tasks)
        best_first = sorted(range(len(tried)), key=lambda i: -tried[i].gain)
        first_of = {origin[i]: i for i in reversed(best_first)}  # the best of each origin, then the rest
        chosen = [*first_of.values(), *(i for i in best_first if i not in first_of.values())]
        return [tried[i] for i in chosen[: len(members)]]

    def make(self, name: str, tasks: list[Task]) -> list[Member]:
        """Carry out tasks, each with random numbers of its own."""
        numbers = range(self._made, self._made + len(tasks))
        self._made += len(tasks)
        with ThreadPoolExecutor(self.workers) as threads:
            made = list(threads.map(self._make, tasks, numbers))
        if made:
            log.debug("%s: gains %s", name, ", ".join(f"{member.gain:.1f}" for member in made))
            self.on_round(name, _best(made).gain)
        return made

    def _make(self, task: Task, number: int) -> Member:
        assembly, bench, bad = tools = self._take_tools()
        bonds, member = self.bonds, task.member
        start(bench.random, self.seed, _STREAM, number)
        assembly.window[:] = member.window
        lay_out(assembly, bonds, member.layout)
        if task.cut is not None:
            rebuild(assembly, bonds, bench, np.float32(task.cut), NO_OTHERS)
        if task.others is not None:
            rebuild(assembly, bonds, bench, np.float32(-1), task.others)
        if member.window is not ANYWHERE:
            fill(assembly, bonds, self.kinds)
        idle = 0
        for _ in range(task.passes):
            before = assembly.total[0]
            if time.monotonic() > self.deadline:
                self.in_time = False
                break
            if improve(assembly, bonds, bench, bad, self.global_share) == 0:
                break
            idle = 0 if assembly.total[0] > before + 1e-6 else idle + 1
            if idle == _PATIENCE:
                break
        layout = np.empty((self.pieces, 3), np.int32)
        read_layout(assembly, layout)
        gain = float(assembly.total[0])
        self._tools.append(tools)
        return Member(layout, gain, member.window)

    def filled(self, member: Member) -> np.ndarray:
        """Return a member's layout with all pieces placed."""
        assembly, _, _ = tools = self._take_tools()
        lay_out(assembly, self.bonds, member.layout)
        assembly.window[:] = roomy_window(member.layout) if member.window is ANYWHERE else member.window
        fill(assembly, self.bonds, self.kinds)
        layout = np.empty((self.pieces, 3), np.int32)
        read_layout(assembly, layout)
        self._tools.append(tools)
        return layout

    def _solid(self, member: Member) -> np.ndarray:
        assembly, _, _ = tools = self._take_tools()
        lay_out(assembly, self.bonds, member.layout)
        placed = member.layout[:, 2] >= 0
        solid = solid_part(placed_relations(member.layout), assembly.contact, self.bonds.none / 2, placed)
        self._tools.append(tools)
        return solid

    def _take_tools(self) -> tuple[Assembly, Bench, np.ndarray]:
        if self._tools:
            return self._tools.pop()
        return make_assembly(self.pieces), make_bench(self.pieces), np.empty(4 * self.pieces, np.int32)


def placed_relations(layout: np.ndarray) -> np.ndarray:
    """Return the edge touching each edge (4 n), -1 for none; a piece with turn -1 is not placed."""
    relations = np.full((len(layout), 4), -1, np.int32)
    placed = np.flatnonzero(layout[:, 2] >= 0)
    found = relations_of(layout[placed])
    relations[placed] = np.where(found >= 0, 4 * placed[found // 4] + found % 4, -1)
    return relations.reshape(-1)


def _at_corner(positions: np.ndarray, size: tuple[int, int] | None) -> list[tuple[float, np.ndarray]]:
    """Return a window of a known size at the corner of the positions, for lack of a better place."""
    if size is None:
        return []
    low = positions.min(axis=0)
    return [(0.0, np.array([*low, *(low + size)], np.int32))]


def _best(members: Iterable[Member]) -> Member:
    return max(members, key=lambda member: member.gain)
