"""Assemblies that the search works on, and how new ones are made of them, several at a time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from jigsaw.assembly import (
    ANYWHERE,
    Assembly,
    Bonds,
    fill,
    kinds_of,
    lay_out,
    make_assembly,
    read_layout,
)
from jigsaw.frame import roomy_window
from jigsaw.geometry import placed_relations
from jigsaw.journal import Journal
from jigsaw.measures.refitted import COEFFICIENTS
from jigsaw.moves import NO_OTHERS, improve, rebuild
from jigsaw.placements import Plan, make_plan
from jigsaw.randomness import start
from jigsaw.repair import Bench, make_bench
from jigsaw.second_look import look_again

log = logging.getLogger(__name__)

CUTS = (0.25, 0.5, 0.75)  # strengths of contacts, as shares of the greatest, at which members are cut up
ALIKE = 1e-3  # members that gain the same, but for this, are taken to be the same
MANY = 2000  # pieces, of which a step takes so long that what rarely helps is left out
_STREAM = 1 << 40  # of random numbers, apart from those of the generations
_PATIENCE = 3  # passes over all bad edges without any gain before a member is left alone
_WORTH_MORE = 1e-4  # share of the gain, and
_AT_LEAST = 1 / 3  # of the gain of one contact as strong as can be, that so many
_LATE = 3  # rounds must bring for crossing to go on,
_LONGER = 3  # up to so many times as long as asked for
_SURE = 1.0  # least margin by which segments, of bags of many pieces and in no frame, are joined;
_MORE = 2  # then there are so many times more rounds of crossing,
_SHORTER = 3  # with so many times fewer passes each
_FILLING = 1 << 17  # pieces that filling a frame may try, one place after another
_TRIES = 18  # at cutting up members that are all alike, after which crossing ends
_GLOBAL_SHARE = 0.01  # of moves that cut everywhere,
_GLOBAL_PIECES = 4.0  # how many pieces they may cost a move, on average,
_GLOBAL_LARGE = 5000  # and how many pieces a bag may have before these moves, ever slower, become still rarer

OnRound = Callable[[str, float, np.ndarray], None]


class Member(NamedTuple):
    """An assembly of the pool."""

    layout: np.ndarray  # (n, 3); a piece that is not placed has turn -1
    gain: float
    windows: np.ndarray  # (m, 4) where pieces may lie: first x, first y, end x, end y of each
    framed: bool = False  # whether the windows are frames, to be filled


class Task(NamedTuple):
    """How a member is made from another."""

    member: Member
    passes: int
    others: np.ndarray | None = None  # relations of another member: keep what both have
    cut: float | None = None  # keep the largest parts held by contacts above this, inside the windows


class Pool:
    """Makes members from members."""

    def __init__(
        self,
        bonds: Bonds,
        seed: int,
        workers: int,
        budget: float,
        on_round: OnRound,
        journal: Journal | None = None,
    ) -> None:
        self.bonds = self._first = bonds
        self._shown = np.empty(0, np.int64)  # the contacts by which plain pieces were compared last
        self.seed, self.workers, self.on_round = seed, workers, on_round
        self.kinds = kinds_of(bonds)
        self.pieces = len(self.kinds)
        rarer = min(_GLOBAL_LARGE / self.pieces, 1.0) ** 2
        self.global_share = min(_GLOBAL_SHARE, rarer * _GLOBAL_PIECES / self.pieces)
        self.budget = budget
        self._journal = journal or Journal(workers)
        self.in_time = self._journal.in_time
        self._made = 0
        self._tools: list[tuple[Assembly, Bench, Plan, np.ndarray]] = []

    def cross(self, members: list[Member], rounds: int, passes: int) -> list[Member]:
        """Cross members with one another; one that is like its partner is cut up instead.

        For some rounds, and up to three times as many as long as the last ones have been worth it; but not
        once all are alike and cutting them up, so many times, has brought nothing. Of many pieces, no round
        is for nothing: crossing ends as soon as the last few were not worth it, and, in frames, after as many
        as asked for, since more comes of it without. There, segments are joined with one another, which
        leaves less to improve, so that rounds are more and shorter.
        """
        count = len(members)
        gains = [best_of(members).gain] if members else []
        late, least, most = _LATE, rounds, _LONGER * rounds
        if self.pieces > MANY:
            if any(member.framed for member in members):
                most = rounds
            else:
                passes, late, most = max(passes // _SHORTER, 1), _MORE * _LATE, _MORE * most
            least = min(most, late)
        in_vain = 0  # times that one of members that are all alike was cut up
        for i in range(most if members else 0):
            worth = max(_WORTH_MORE * gains[i], _AT_LEAST * self.bonds.none)
            if i >= least and gains[i] - gains[max(i - late, 0)] < worth:
                break
            if in_vain >= _TRIES:
                break
            alike = all(member.gain > gains[i] - ALIKE for member in members)
            tasks = []
            for m, one in enumerate(members):
                two = members[(m + 1 + i % max(count - 1, 1)) % count]
                if abs(one.gain - two.gain) > ALIKE:
                    tasks.append(Task(one, passes, others=placed_relations(two.layout)))
                else:
                    tasks.append(Task(one, passes, cut=CUTS[(i + m) % len(CUTS)] * self.bonds.none))
            children = self.make(f"round {i + 1}", tasks)
            members = [best_of(pair) for pair in zip(members, children, strict=True)]
            gains.append(best_of(members).gain)
            in_vain = in_vain + count if alike and gains[-1] < gains[-2] + ALIKE else 0
        return members

    def look_again(self, member: Member) -> bool:
        """Compare plain pieces again, by what a member shows of them; return whether that tells anything new.

        From then on gains are others, also those of members that there are. (`measured`)
        """
        relations = placed_relations(member.layout)
        if np.array_equal(relations, self._shown):
            return False
        least = 1 if self.pieces <= MANY else COEFFICIENTS
        bonds = look_again(self._first, relations, self.workers, least)
        if bonds is None:
            return False
        self.bonds, self._shown = bonds, relations
        return True

    def measured(self, members: list[Member]) -> list[Member]:
        """Return members with what they gain now."""
        return [member._replace(gain=self.gain_of(member.layout)) for member in members]

    def gain_of(self, layout: np.ndarray) -> float:
        """Return what a layout gains."""
        return float(self.contacts(layout)[1].clip(0).sum(dtype=np.float64) / 2)

    def make(self, name: str, tasks: list[Task]) -> list[Member]:
        """Carry out tasks, each with random numbers of its own."""
        numbers = range(self._made, self._made + len(tasks))
        self._made += len(tasks)
        threads = ThreadPoolExecutor(self.workers)
        try:
            made = list(threads.map(self._make_once, tasks, numbers))
        finally:
            threads.shutdown(wait=False, cancel_futures=True)  # an interrupt does not wait for tasks
        if made:
            log.debug("%s: gains %s", name, ", ".join(f"{member.gain:.1f}" for member in made))
            best = best_of(made)
            self.on_round(name, best.gain, best.layout)
        return made

    def _make_once(self, task: Task, number: int) -> Member:
        before = self._journal.made(number)
        if before is not None:
            return task.member._replace(layout=before[0], gain=before[1])
        made = self._make(task, number)
        self._journal.note(number, made.layout, made.gain, self.in_time)
        return made

    def _make(self, task: Task, number: int) -> Member:
        assembly, bench, plan, bad = tools = self._take_tools()
        bonds, member = self.bonds, task.member
        assembly = _inside(assembly, member.windows)
        start(bench.random, self.seed, _STREAM, number)
        lay_out(assembly, bonds, member.layout)
        sure = np.float32(np.inf if member.framed or self.pieces <= MANY else _SURE)
        if task.cut is not None:
            rebuild(assembly, bonds, bench, plan, np.float32(task.cut), NO_OTHERS, sure)
        if task.others is not None:
            rebuild(assembly, bonds, bench, plan, np.float32(-1), task.others, sure)
        if member.framed:
            fill(assembly, bonds, self.kinds, _FILLING)
        idle = 0
        for _ in range(task.passes):
            before = assembly.total[0]
            if self._journal.seconds > self.budget:
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
        return member._replace(layout=layout, gain=gain)

    def filled(self, member: Member) -> np.ndarray:
        """Return a member's layout with all pieces placed."""
        assembly, _, _, _ = tools = self._take_tools()
        windows = member.windows if member.framed else roomy_window(member.layout)[None]
        assembly = _inside(assembly, windows)
        lay_out(assembly, self.bonds, member.layout)
        fill(assembly, self.bonds, self.kinds, _FILLING)
        layout = np.empty((self.pieces, 3), np.int32)
        read_layout(assembly, layout)
        self._tools.append(tools)
        return layout

    def contacts(self, layout: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the edge that each edge touches and what that gains, -1 for none."""
        assembly, _, _, _ = tools = self._take_tools()
        lay_out(assembly, self.bonds, layout)
        contact = assembly.contact.copy()
        self._tools.append(tools)
        return placed_relations(layout), contact

    def _take_tools(self) -> tuple[Assembly, Bench, Plan, np.ndarray]:
        if self._tools:
            return self._tools.pop()
        bad = np.empty(4 * self.pieces, np.int32)
        return make_assembly(self.pieces), make_bench(self.pieces), make_plan(self.pieces), bad


def _inside(assembly: Assembly, windows: np.ndarray) -> Assembly:
    """Return the assembly with these windows, left to right, in memory as the kernels are compiled for."""
    return assembly._replace(windows=np.ascontiguousarray(windows[np.argsort(windows[:, 0])]))


def start_with(layouts: Iterable[np.ndarray]) -> list[Member]:
    """Return members that may lie anywhere."""
    return [Member(layout, -np.inf, ANYWHERE) for layout in layouts]


def best_of(members: Iterable[Member]) -> Member:
    """Return the member that gains most."""
    return max(members, key=lambda member: member.gain)
