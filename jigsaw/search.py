"""The search that follows the genetic algorithm in preset `best`.

members = some of the best assemblies of the last generation
improve each by destroying and repairing, again and again
if the pieces seem to be complete rectangles, one for each image:
    move members into those frames, improve and cross them inside
of a small bag: learn from the best how plain pieces go together, compare them again (second_look.py)
unless nothing new was learnt and the frames ended with members that agree:
    cross the best so far, those from the frames among them, without frames
    learn from the best how plain pieces go together, compare them again, cross; the same once more
    try frames once more
return the best, what is not placed yet put into its gaps

To cross members, for some rounds, and more while they are worth it: of each member and another, keep what
they have in common, repair, improve; keep the child if it is better. Of many pieces, what they have in common
is joined before the rest is repaired, the surest joins first (agglomeration.py).

How many frames there are is told by what the assemblies gain. A contact between pieces that do not belong
together gains a little by chance; if the pieces of one image are laid out in two frames, much more is lost
along the line between them than that.

Work is measured in moves, so that the result does not depend on the machine or the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from jigsaw.assembly import ANYWHERE, Bonds, make_bonds
from jigsaw.boards import board_windows, cores_of, fit_windows, pack, split, spread, windows_of, within
from jigsaw.frame import filled_box, shapes_of, solid_part, windows
from jigsaw.journal import Journal
from jigsaw.measures import rows
from jigsaw.measures.fused import Fused
from jigsaw.pool import ALIKE, CUTS, MANY, Member, OnRound, Pool, Task, best_of, start_with
from jigsaw.second_look import warm_up as warm_up_second_look
from jigsaw.unmixing import images_of, least_pieces, likely_images
from jigsaw.unmixing import warm_up as warm_up_unmixing

_TOLERANCE = 0.005  # share of the gain that being a rectangle may cost in the end,
_OF_SEVERAL = 0.01  # or being several: more, as it is told by them where an image ends
_BEFORE_CROSSING = 1.5  # times that, before members are crossed in it,
_HOPE = 0.27  # and at first, before they are improved, this more, over the root of the number of pieces
_WINDOWS = 4  # frames tried for each member
_STRENGTHS = (0.5, 0.85)  # of contacts that hold the solid part, as shares of the greatest
_FINE = tuple(i / 20 for i in range(6, 20))  # strengths at which many pieces are cut up to see which is best
_TRIAL = 3  # passes after which they are compared
_HELD = 0.85  # share of the solid part that a frame must hold
_SOLID = 0.3  # share of all pieces that the solid part must be
_CHANCE = 2.0  # what a contact between pieces that do not belong together may gain, after much searching
_DOUBT = 5.0  # by how many full gains one frame may seem worth less than several, and be tried nevertheless
_IMAGES = 40  # that a bag may have, at most
_LOOKS = 2  # at plain pieces, after the first, at most
_CORES = (0.5, 0.7, 0.85)  # strengths of contacts that hold cores, as shares of the greatest, by turns


class Found(NamedTuple):
    """What the search leaves."""

    layout: np.ndarray  # (n, 3): x, y, turn
    image: np.ndarray  # (n) which image each piece lies in
    framed: bool  # whether the pieces were found to be complete rectangles
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
    one_image: bool = False,
    on_round: OnRound | None = None,
    journal: Journal | None = None,
) -> Found:
    """Improve assemblies.

    Parameters
    ----------
    bonds
        The compared edges.
    layouts
        Where to start from.
    rounds
        Of crossover between members, in frames and before; more while they are worth it (pool.py).
    passes
        Over all edges that could gain more, for each member, at most.
    seed, workers
        Same seed, same result, for any number of workers, as long as the budget is not used up.
    budget
        Seconds of processor time a worker after which no new pass begins.
    size
        Width and height in pieces, where they are known; of one image.
    one_image
        Whether all pieces are known to be of one image.
    on_round
        Called after each step with its name, and gain and layout of its best assembly; in the layout, a piece
        that is not placed has turn -1.
    journal
        What an interrupted search has made already.
    """
    pool = Pool(bonds, seed, workers, budget, on_round or (lambda name, gain, layout: None), journal)
    members = pool.make("improve", [Task(member, passes) for member in start_with(layouts)])
    framed = _in_frames(pool, members, rounds, passes, size, one_image)
    best = max(framed, key=_worth, default=best_of(members))
    looked = pool.pieces <= MANY and pool.look_again(best)
    if looked:
        members, framed = pool.measured(members), pool.measured(framed)
    if looked or not _settled(pool, framed, best_of(members).gain):
        loose = [member._replace(windows=ANYWHERE, framed=False) for member in framed]
        members = _crossed(pool, _best_first([*members, *loose])[: len(members)], rounds, passes)
        late = _in_frames(pool, members, rounds, passes, size, one_image)
        framed = [*pool.measured(framed), *late] if late else []
    best = max(framed, key=_worth, default=best_of(members))
    layout = pool.filled(best)
    if best.framed:
        image = windows_of(layout, best.windows)
    elif one_image:
        image = np.zeros(len(layout), np.int32)
    else:
        image = images_of(layout, bonds)
    return Found(pack(layout, image), image, best.framed, pool.in_time)


def warm_up(features: Any) -> None:
    """Compile the kernels for the features of a measure, or load them from the cache, with two pieces."""
    near = np.array([[4, -1]] * 4 + [[0, -1]] * 4, np.int32)
    bonds = make_bonds(rows(features, np.arange(8) % len(features[0])), near, 1.0, True)
    layouts = np.array([[[0, 0, 0], [1, 0, 0]], [[0, 0, 0], [0, 1, 0]]], np.int32)
    search(bonds, layouts, 1, 1, 0)
    fit_windows(layouts[0], 1)
    if isinstance(bonds.features, Fused):
        warm_up_second_look(bonds.features)
    warm_up_unmixing()


def _in_frames(
    pool: Pool,
    members: list[Member],
    rounds: int,
    passes: int,
    size: tuple[int, int] | None,
    one_image: bool,
) -> list[Member]:
    """Go on inside frames; return members in them, none if the pieces do not seem to be whole rectangles."""
    wanted = -np.inf if size is not None else best_of(members).gain
    framed = whole = _one_frame(pool, members, size)[: len(members)]
    if size is None and not one_image:
        hopeful = [member for member in whole if member.gain > (1 - _hope(pool, _TOLERANCE)) * wanted]
        framed = [_split(pool, member) for member in whole]
        costless = any(len(member.windows) == 1 and member.gain > wanted - ALIKE for member in framed)
        if pool.pieces <= MANY or not costless:
            framed += [_split(pool, member) for member in _many_frames(pool, hopeful or members)]
    if not framed:
        return []
    first = max(framed, key=_worth)
    finished = _finished(pool, members, framed, len(first.windows), wanted, rounds, passes)
    doubtful = max(map(_worth, whole), default=-np.inf) > _worth(first) - _DOUBT * pool.bonds.none
    if len(first.windows) > 1 and doubtful:
        alone = _finished(pool, members, whole, 1, wanted, rounds, passes)
        finished = max(finished, alone, key=lambda members: max(map(_worth, members), default=-np.inf))
    return finished


def _crossed(pool: Pool, members: list[Member], rounds: int, passes: int) -> list[Member]:
    """Cross members without frames, and again after each second look that tells anything new."""
    members = pool.cross(members, rounds, passes)
    for _ in range(_LOOKS):
        if not pool.look_again(best_of(members)):
            break
        members = pool.cross(pool.measured(members), rounds, passes)
    return members


def _finished(
    pool: Pool,
    members: list[Member],
    framed: list[Member],
    number: int,
    wanted: float,
    rounds: int,
    passes: int,
) -> list[Member]:
    """Improve and cross those with so many frames; return them, or none if being so framed costs much."""
    framed = [member for member in framed if len(member.windows) == number]
    touching = int((pool.contacts(best_of(members).layout)[0] >= 0).sum()) // 2
    wanted -= _CHANCE * max(touching - _contacts(framed[0]), 0)  # between images, by chance
    cost = _TOLERANCE if number == 1 else _OF_SEVERAL
    hopeful = [member for member in framed if member.gain > (1 - _hope(pool, cost)) * wanted]
    tasks = [Task(member, passes) for member in _best_first(hopeful)[: len(members)]]
    framed = pool.make("improve", tasks)
    if not framed or best_of(framed).gain < (1 - _BEFORE_CROSSING * cost) * wanted:
        return []
    framed = pool.cross(framed, rounds, passes)
    return framed if best_of(framed).gain >= (1 - cost) * wanted else []


def _best_first(members: list[Member]) -> list[Member]:
    """Return members in the order of what they gain."""
    return sorted(members, key=lambda member: -member.gain)


def _hope(pool: Pool, cost: float) -> float:
    """Return what share of the gain being framed may cost at first, if it may cost this in the end."""
    return _BEFORE_CROSSING * cost + _HOPE / pool.pieces**0.5


def _settled(pool: Pool, framed: list[Member], outside: float) -> bool:
    """Return whether it is of no use to go on.

    That is so if two members agree and gain enough, or if there are several images; but of many pieces, only
    if two members agree on them, as there may be parts of one that are not joined yet.
    """
    several = any(len(member.windows) > 1 for member in framed)
    gains = sorted(member.gain for member in framed)
    agreed = len(gains) > 1 and gains[-1] - gains[-2] < ALIKE
    if several:
        return agreed or pool.pieces <= MANY
    return agreed and gains[-1] > outside - ALIKE


def _worth(member: Member) -> float:
    """Return the gain of a member in frames, less what as many contacts gain by chance."""
    return member.gain - _CHANCE * _contacts(member)


def _contacts(member: Member) -> int:
    """Return how many contacts there are in the frames of a member when they are full."""
    width, height = (member.windows[:, 2:] - member.windows[:, :2]).T.astype(np.int64)
    return int((2 * width * height - width - height).sum())


def _one_frame(pool: Pool, members: list[Member], size: tuple[int, int] | None) -> list[Member]:
    """Move members into frames that hold most of their solid parts; the best of each member first.

    Of many pieces, if the best member fills a frame as it is, it stays there, and the others need not look
    for other shapes.
    """
    shapes = shapes_of(pool.pieces) if size is None else [size]
    if size is not None and pool.bonds.turnable:
        shapes = [size, size[::-1]]
    complete = _complete(members, shapes) if pool.pieces > MANY else []
    count = _WINDOWS
    if complete:
        members = [member for member in members if member.gain < complete[0].gain - ALIKE]
        width, height = _shape(complete[0].windows[0])
        shapes, count = [(width, height), (height, width)], 1
    hopeful = [
        [
            member._replace(windows=window[None], framed=True)
            for window in _likely(pool, member, shapes, count, size)
        ]
        for member in members
    ]
    cuts: Iterable[Sequence[float]] = repeat(CUTS)
    if pool.pieces > MANY:
        hopeful = _likeliest(pool, hopeful)
        cuts = repeat(CUTS[1:2]) if complete else _best_cuts(pool, hopeful)
    return [*complete, *_tried(pool, "frame", hopeful, cuts)]


def _likely(
    pool: Pool, member: Member, shapes: list[tuple[int, int]], count: int, size: tuple[int, int] | None
) -> list[np.ndarray]:
    """Return windows that hold most of a solid part of a member; of many pieces, of two such parts."""
    contacts = pool.contacts(member.layout)
    found: list[np.ndarray] = []
    for strength in _STRENGTHS if pool.pieces > MANY else _STRENGTHS[:1]:
        solid = solid_part(*contacts, strength * pool.bonds.none, member.layout[:, 2] >= 0)
        positions = member.layout[solid, :2]
        for share, window in windows(positions, shapes, count) or _at_corner(positions, size):
            enough = share > _HELD and solid.sum() > _SOLID * pool.pieces
            if (size is not None or enough) and not any(np.array_equal(window, other) for other in found):
                found.append(window)
    return found


def _likeliest(pool: Pool, hopeful: list[list[Member]]) -> list[list[Member]]:
    """Choose of each member's frames that in which it gains most at once."""
    if all(len(some) < 2 for some in hopeful):
        return hopeful
    tasks = [Task(member, 0, cut=CUTS[-1] * pool.bonds.none) for some in hopeful for member in some]
    made = iter(pool.make("windows", tasks))
    gains = [[next(made).gain for _ in some] for some in hopeful]
    return [[some[int(np.argmax(g))]] if some else [] for some, g in zip(hopeful, gains, strict=True)]


def _best_cuts(pool: Pool, hopeful: list[list[Member]]) -> list[Sequence[float]]:
    """Return at which strengths members, of one frame each, gain most at once if they are cut up for it."""
    tasks = [Task(one, 0, cut=cut * pool.bonds.none) for some in hopeful for one in some for cut in _FINE]
    made = iter(pool.make("cuts", tasks))
    gains = [[next(made).gain for _ in some for _ in _FINE] for some in hopeful]
    return [[_FINE[i] for i in np.argsort([-g for g in some], kind="stable")[: len(CUTS)]] for some in gains]


def _complete(members: list[Member], shapes: list[tuple[int, int]]) -> list[Member]:
    """Return the best members, in their frames, if they fill rectangles of given shapes as they are."""
    best = [member for member in members if member.gain > best_of(members).gain - ALIKE]
    boxes = [filled_box(member.layout) for member in best]
    return [
        member._replace(windows=box[None], framed=True)
        for member, box in zip(best, boxes, strict=True)
        if box is not None and _shape(box) in shapes
    ]


def _shape(window: np.ndarray) -> tuple[int, int]:
    """Return the width and height of a window."""
    return int(window[2] - window[0]), int(window[3] - window[1])


def _many_frames(pool: Pool, members: list[Member]) -> list[Member]:
    """Lay cores of members out on boards of their own; move them into as many frames as are worth most."""
    fits: dict[int, list[tuple[int, Member, np.ndarray]]] = {}
    for member in _on_boards(pool, members):
        for misfit, frames in fit_windows(member.layout, len(member.windows)):
            fits.setdefault(frames.shape[1], []).append((misfit, member, frames))
    if not fits:
        return []
    for some in fits.values():
        some.sort(key=lambda fit: fit[0])
    found: dict[int, Member] = {}

    def worth(number: int) -> float:
        if number not in found:
            tried = _tried(pool, f"{number} frames", _aligned(pool, fits[number][:2]), repeat(CUTS[1:2]))
            found[number] = max((_split(pool, member) for member in tried), key=_worth)
        return _worth(found[number])

    best = _most_worth(sorted(fits), min(fits, key=lambda number: fits[number][0][0]), worth)
    return [found[best], *_tried(pool, "frames", _aligned(pool, fits[best][: len(members)]), repeat(CUTS))]


def _most_worth(numbers: list[int], likely: int, worth: Callable[[int], float]) -> int:
    """Return the number that is worth most: the likely one, or one that a search among all comes to.

    The nearer to the right number, the better, mostly. So, of more than three, the third that is worse is
    left out, again and again.
    """
    while len(numbers) > 3:
        third = len(numbers) // 3
        worse_below = worth(numbers[third]) < worth(numbers[-1 - third])
        numbers = numbers[third + 1 :] if worse_below else numbers[: -1 - third]
    return max([likely, *numbers], key=worth)


def _aligned(pool: Pool, fits: list[tuple[int, Member, np.ndarray]]) -> list[list[Member]]:
    """Choose for each frame, of the two places where it holds as much, that in which its pieces gain more."""
    tasks = [
        Task(member._replace(windows=frames, framed=True), _TRIAL, cut=CUTS[1] * pool.bonds.none)
        for _, member, both in fits
        for frames in both
    ]
    made = pool.make("align", tasks)
    aligned = []
    for (_, member, both), first, last in zip(fits, made[::2], made[1::2], strict=True):
        better = np.stack([_gains(pool, first), _gains(pool, last)]).argmax(axis=0)
        frames = both[better, np.arange(len(better))]
        aligned.append([member._replace(windows=frames, framed=True)])
    return aligned


def _gains(pool: Pool, member: Member) -> np.ndarray:
    """Return what the pieces in each frame of a member gain."""
    contact = pool.contacts(member.layout)[1].clip(0).reshape(-1, 4).sum(axis=1)
    return np.array([contact[within(member.layout, window)].sum() for window in member.windows])


def _on_boards(pool: Pool, members: list[Member]) -> list[Member]:
    """Lay the cores of members out on boards of their own, where they have several that may be images."""
    tasks = []
    for i, member in enumerate(members):
        threshold = _CORES[i % len(_CORES)] * pool.bonds.none
        cores = cores_of(member.layout, *pool.contacts(member.layout), threshold)
        count = min(likely_images(cores), _IMAGES)
        if count > 1:
            boards = Member(spread(member.layout, cores, count), -np.inf, board_windows(count))
            tasks.append(Task(boards, _TRIAL, cut=CUTS[0] * pool.bonds.none))
    return pool.make("boards", tasks)


def _tried(
    pool: Pool, name: str, hopeful: list[list[Member]], cuts: Iterable[Sequence[float]]
) -> list[Member]:
    """Fill the frames of members, cut up in several ways; return the best of each origin, then the rest.

    `cuts` are the strengths at which the members of each origin are cut up.
    """
    tasks, origin = [], []
    for i, (members, strengths) in enumerate(zip(hopeful, cuts, strict=False)):
        for member in members:
            tasks += [Task(member, _TRIAL, cut=cut * pool.bonds.none) for cut in strengths]
            origin += [i] * len(strengths)
    tried = pool.make(name, tasks)
    best_first = sorted(range(len(tried)), key=lambda i: -tried[i].gain)
    first_of = {origin[i]: i for i in reversed(best_first)}
    chosen = [*first_of.values(), *(i for i in best_first if i not in first_of.values())]
    return [tried[i] for i in chosen]


def _split(pool: Pool, member: Member) -> Member:
    """Take apart frames that seem to hold several images, and shift those that seem to be off."""
    contacts = pool.contacts(member.layout)
    layout, frames = split(member.layout, member.windows, *contacts, _CHANCE, least_pieces(pool.pieces))
    return max(member, Member(layout, pool.gain_of(layout), frames, True), key=_worth)


def _at_corner(positions: np.ndarray, size: tuple[int, int] | None) -> list[tuple[float, np.ndarray]]:
    """Return a window of a known size at the corner of the positions, for lack of a better place."""
    if size is None:
        return []
    low = positions.min(axis=0)
    return [(0.0, np.array([*low, *(low + size)], np.int32))]
