"""The search after the genetic algorithm: pictures are put together, in a frame where they fill one."""

from dataclasses import replace
from itertools import chain, repeat

import numpy as np
import pytest
from puzzles import true_layout
from reference_search import Table, puzzle_of, random_layout

import jigsaw
from jigsaw.assembly import ANYWHERE, bonds_of
from jigsaw.errors import JigsawError
from jigsaw.geometry import relations_of
from jigsaw.measures import MEASURES
from jigsaw.pieces import Bag
from jigsaw.pool import Member, Pool, Task, best_of, start_with
from jigsaw.presets import Settings
from jigsaw.search import _finished, _most_worth, _one_frame, _settled, search
from jigsaw.synthetic import picture

SIZE = 8  # pixels
QUICK = Settings(population=16, generations=3, members=3, rounds=2, passes=4, budget=60.0)
FUSED = QUICK.changed(measure="fused")


def cut(rows, columns, seed=2, **options):
    return jigsaw.cut([picture(rows, columns, SIZE, seed)], SIZE, seed, **options)


def noise(pieces, seed=0):
    return Bag(np.random.default_rng(seed).integers(0, 256, (pieces, 6, 6, 3), dtype=np.uint8))


def blank(pieces):
    return Bag(np.full((pieces, 6, 6, 3), 90, np.uint8))


def box(layout):
    """Width and height of what is placed."""
    return tuple((layout[:, :2].max(axis=0) - layout[:, :2].min(axis=0) + 1).tolist())


def assert_valid(solution, pieces):
    """Every piece is placed once, at a place of its own, and all numbers agree."""
    layout = solution.layout
    assert layout.shape == (pieces, 3)
    assert len({(x, y) for x, y, _ in layout.tolist()}) == pieces
    assert set(layout[:, 2].tolist()) <= {0, 1, 2, 3}
    assert layout[:, :2].min(axis=0).tolist() == [0, 0]
    np.testing.assert_array_equal(solution.relations, relations_of(layout))
    assert np.isfinite(solution.fitness)


def neighbour_score(solution, truth, bag):
    return jigsaw.evaluate(solution, truth, bag)["neighbor"]


# --- Puzzles ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def landscape():
    """Bonds and true layout of a complete picture of 6 x 8 pieces."""
    bag, truth = cut(6, 8)
    return bonds_of(jigsaw.compare(bag, "fused")), true_layout(truth).astype(np.int32)


def assert_same_picture(one, two):
    np.testing.assert_array_equal(relations_of(one), relations_of(two))


def test_a_solved_puzzle_stays_solved(landscape):
    bonds, true = landscape
    found = search(bonds, [true], 2, 4, seed=1)
    assert_same_picture(found.layout, true)
    assert found.framed
    assert found.in_time


@pytest.mark.parametrize("seed", [1, 2])
def test_a_scrambled_puzzle_is_solved(landscape, seed):
    bonds, true = landscape
    starts = [random_layout(10 * seed + i, len(true), 8) for i in range(3)]
    found = search(bonds, starts, 3, 8, seed)
    assert_same_picture(found.layout, true)
    assert found.framed


def test_a_single_start_and_no_rounds_are_enough_for_the_search_to_run(landscape):
    bonds, true = landscape
    found = search(bonds, [random_layout(1, len(true), 8)], 0, 1, seed=1)
    assert len({(x, y) for x, y, _ in found.layout.tolist()}) == len(true)


@pytest.mark.parametrize("seed", range(4))
def test_the_search_ends_with_the_best_it_has_seen(seed):
    """By the gains of a bag without a picture, whose pieces make no rectangle but strips."""
    rng = np.random.default_rng(4)
    puzzle = puzzle_of(rng.integers(0, 256, (41, 3, 3, 3), dtype=np.uint8))
    starts = [random_layout(i, 41, 8) for i in range(3)]
    told = []
    found = search(puzzle.bonds, starts, 4, 1, seed, on_round=lambda *step: told.append(step))
    assert not found.framed
    rounds = [name for name, *_ in told if name.startswith("round")]
    assert 4 <= len(rounds) <= 12
    assert rounds == [f"round {i + 1}" for i in range(len(rounds))]
    end = Table(puzzle, found.layout)
    end.assert_whole()
    gains = [Table(puzzle, layout).total for layout in starts] + [gain for _, gain, _ in told]
    assert end.total >= max(gains) - 1e-3


class Told(Pool):
    """A pool whose rounds gain what they are told to, each member `apart` more than the one before."""

    def __init__(self, bonds, gains, apart):
        super().__init__(bonds, 1, 1, np.inf, lambda *step: None)
        self.names, self.gains, self.apart = [], chain(gains, repeat(0)), apart
        self.passes = set()

    def make(self, name, tasks):
        self.names.append(name)
        self.passes |= {task.passes for task in tasks}
        gain = 1000 + next(self.gains)
        return [task.member._replace(gain=gain + i * self.apart) for i, task in enumerate(tasks)]

    def crossed(self, layouts, framed=False):
        members = [
            member._replace(gain=1000 + i * self.apart, framed=framed)
            for i, member in enumerate(start_with(layouts))
        ]
        return self.cross(members, 4, 9)


@pytest.mark.parametrize(
    ("gains", "rounds"),
    [
        ([], 4),  # nothing more to gain
        ([1], 4),
        ([1, 2, 3, 4], 7),  # the fourth round was the last that brought anything
        ([1, 1.05, 1.1, 1.15, 1.2], 4),  # too little
        (range(1, 20), 12),  # there is an end to it
    ],
)
def test_crossing_goes_on_as_long_as_the_last_rounds_were_worth_it(landscape, gains, rounds):
    """`gains`: of the rounds, in thirds of a full contact, above 1,000, until nothing is gained any more."""
    bonds, true = landscape
    gains = [1.001 * gain * bonds.none / 3 for gain in gains]
    pool = Told(bonds, gains, apart=1)
    ended = pool.crossed([true, true])
    assert pool.names == [f"round {i + 1}" for i in range(rounds)]
    assert best_of(ended).gain == 1001 + max([0, *gains[:rounds]])


@pytest.mark.parametrize(("gains", "rounds"), [([], 3), ([1], 4), ([1, 1, 2], 6), (range(1, 30), 21)])
def test_of_many_pieces_crossing_ends_after_any_rounds_that_were_not_worth_it(
    monkeypatch, landscape, gains, rounds
):
    """Three in frames, and no more than four; twice as many, shorter ones, and up to 24 without."""
    monkeypatch.setattr("jigsaw.pool.MANY", 0)
    bonds, true = landscape
    gains = [1.001 * gain * bonds.none / 3 for gain in gains]
    inside, outside = Told(bonds, gains, apart=1), Told(bonds, gains, apart=1)
    inside.crossed([true, true], framed=True)
    outside.crossed([true, true])
    assert (len(inside.names), inside.passes) == (min(rounds, 4), {9})
    assert (len(outside.names), outside.passes) == (rounds + 3, {3})


@pytest.mark.parametrize(
    ("members", "gains", "rounds"),
    [
        (9, [], 2),  # eighteen tries
        (9, [0, 5], 4),  # what is gained makes it worth another eighteen
        (6, [], 3),
        (1, [], 4),  # few members are not tried so often
    ],
)
def test_crossing_ends_when_all_are_alike_and_cutting_them_up_has_brought_nothing(
    landscape, members, gains, rounds
):
    bonds, true = landscape
    pool = Told(bonds, gains, apart=0)
    ended = pool.crossed([true] * members)
    assert len(pool.names) == rounds
    assert [member.gain for member in ended] == [1000 + max([0, *gains])] * members


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_puts_a_small_picture_together(measure):
    bag, truth = cut(5, 6, seed=1)
    solution = jigsaw.solve(jigsaw.compare(bag, measure), settings=QUICK.changed(measure=measure))
    assert_valid(solution, 30)
    assert neighbour_score(solution, truth, bag) == 1
    assert solution.settings["framed"]


@pytest.mark.parametrize(
    ("many", "framed", "joins"), [(0, False, True), (0, True, False), (2000, False, False)]
)
def test_segments_of_many_pieces_in_no_frame_are_joined_with_one_another(
    monkeypatch, landscape, many, framed, joins
):
    bonds, true = landscape
    margins = []
    monkeypatch.setattr("jigsaw.pool.MANY", many)
    monkeypatch.setattr("jigsaw.pool.rebuild", lambda *arguments: margins.append(float(arguments[-1])))
    (member,) = start_with([true])
    tasks = [Task(member, 0, cut=1.0), Task(member, 0, others=relations_of(true).reshape(-1))]
    windows = np.array([[0, 0, 100, 100]], np.int32)
    placed = [task._replace(member=member._replace(framed=framed, windows=windows)) for task in tasks]
    Pool(bonds, 1, 1, np.inf, lambda *step: None).make("test", placed)
    assert [margin < np.inf for margin in margins] == [joins, joins]


def test_many_pieces_of_which_some_are_missing_are_put_together_by_any_number_of_workers(monkeypatch):
    monkeypatch.setattr("jigsaw.pool.MANY", 50)
    monkeypatch.setattr("jigsaw.search.MANY", 50)
    bag, truth = cut(8, 12, missing=0.1)
    edges = jigsaw.compare(bag, "fused")
    poor = Settings(measure="fused", population=5, generations=1, elite=1, members=3, budget=60.0)
    one, two = (jigsaw.solve(edges, settings=poor, workers=workers) for workers in (1, 2))
    assert neighbour_score(one, truth, bag) == 1
    assert not one.settings["framed"]
    np.testing.assert_array_equal(one.layout, two.layout)


def test_the_search_solves_what_the_genetic_algorithm_has_only_begun():
    bag, truth = cut(8, 12)
    edges = jigsaw.compare(bag, "fused")
    poor = Settings(measure="fused", population=5, generations=1, elite=1, budget=60.0)
    before = jigsaw.solve(edges, settings=poor)
    after = jigsaw.solve(edges, settings=poor.changed(members=3))
    assert neighbour_score(before, truth, bag) < 0.95
    assert neighbour_score(after, truth, bag) == 1
    assert after.fitness < before.fitness
    np.testing.assert_array_equal(after.history, before.history)


# --- Frames -------------------------------------------------------------------------------------------


def test_a_complete_rectangle_is_framed():
    bag, truth = cut(8, 12)
    solution = jigsaw.solve(jigsaw.compare(bag, "fused"), settings=FUSED)
    assert solution.settings["framed"]
    assert sorted(box(solution.layout)) == [8, 12]
    assert neighbour_score(solution, truth, bag) == 1


def steps_of_many(monkeypatch, bonds, starts):
    """Search as if the pieces were many; return what was found and the names of the steps."""
    monkeypatch.setattr("jigsaw.search.MANY", 0)
    told = []
    found = search(bonds, starts, 2, 4, 0, on_round=lambda name, *_: told.append(name))
    return found, told


def test_of_many_pieces_that_fill_a_rectangle_already_no_other_frame_is_tried(monkeypatch, landscape):
    bonds, true = landscape
    found, steps = steps_of_many(monkeypatch, bonds, [true, true])
    assert found.framed
    assert steps == ["improve", "improve", "round 1", "round 2"]
    np.testing.assert_array_equal(relations_of(found.layout), relations_of(true))


def test_of_many_pieces_one_frame_a_member_is_tried_to_the_end(monkeypatch, landscape):
    bonds, true = landscape
    ragged = true.copy()
    ragged[np.argmax(true[:, 0] + true[:, 1]), :2] = -40, -40  # the lower right corner lies apart
    monkeypatch.setattr("jigsaw.pool.improve", lambda *_: 0)  # nor does anything put it right
    monkeypatch.setattr("jigsaw.search._HELD", 0.5)
    tasks = {}
    make = Pool.make
    monkeypatch.setattr(
        Pool, "make", lambda self, name, todo: tasks.setdefault(name, todo) and make(self, name, todo)
    )
    found, _ = steps_of_many(monkeypatch, bonds, [ragged])
    assert len(tasks["windows"]) > 1
    assert {task.passes for task in tasks["windows"]} == {0}
    assert len({task.member.windows.tobytes() for task in tasks["frame"]}) == 1
    assert found.framed
    np.testing.assert_array_equal(relations_of(found.layout), relations_of(true))


def test_of_many_pieces_members_are_cut_up_for_a_frame_where_they_gain_most_at_once(monkeypatch, landscape):
    bonds, true = landscape
    ragged = true.copy()
    ragged[true[:, 0] >= 5, :2] += 20, 0  # three columns lie apart
    monkeypatch.setattr("jigsaw.pool.improve", lambda *_: 0)  # nor does anything put them right
    monkeypatch.setattr("jigsaw.search._HELD", 0.5)
    made, make = {}, Pool.make

    def making(self, name, tasks):
        found = make(self, name, tasks)
        return made.setdefault(name, list(zip(tasks, found, strict=True))) and found

    monkeypatch.setattr(Pool, "make", making)
    steps_of_many(monkeypatch, bonds, [ragged])
    gains = {task.cut: member.gain for task, member in made["cuts"]}
    assert {task.passes for task, _ in made["cuts"]} == {0}
    assert len(gains) > 10
    tried = [task.cut for task, _ in made["frame"]]
    assert len(set(tried)) == 3
    assert min(gains[cut] for cut in tried) >= max(gain for cut, gain in gains.items() if cut not in tried)


def test_of_many_pieces_frames_are_sought_for_what_is_held_strongly_too(monkeypatch, landscape):
    """The whole of two parts fits no frame; the one that is held strongly does."""
    bonds, true = landscape
    layout = true.copy()
    layout[true[:, 0] >= 5, 1] += 40  # columns that lie far below, and yet are said to be held a little
    parts = {0.5: np.ones(len(true), bool), 0.85: true[:, 0] < 5}
    monkeypatch.setattr(
        "jigsaw.search.solid_part",
        lambda relations, contact, least, placed: parts[round(least / bonds.none, 2)],
    )
    pool = Pool(bonds, 0, 1, np.inf, lambda *_: None)
    (member,) = pool.measured(start_with([layout]))
    assert _one_frame(pool, [member], None) == []
    monkeypatch.setattr("jigsaw.search.MANY", 0)
    framed = _one_frame(pool, [member], None)
    assert framed
    assert {box(member.layout) for member in framed} <= {(8, 6), (6, 8)}


@pytest.mark.parametrize(
    ("worth", "likely", "found"),
    [
        ([5, 1, 2, 0], 0, 0),  # what fits best is tried, even if its neighbour is worth least
        ([1, 2, 3, 9, 3, 2, 1, 0], 0, 3),  # and is not taken if another is worth more
        ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 4, 9),
        ([7], 0, 0),
    ],
)
def test_of_several_numbers_of_frames_that_worth_most_is_found(worth, likely, found):
    asked = []
    assert _most_worth(list(range(len(worth))), likely, lambda n: asked.append(n) or worth[n]) == found
    assert likely in asked


def test_what_was_made_in_a_frame_goes_on_without_it(monkeypatch, landscape):
    """One member alone settles nothing; as it is the best, it takes the place of the worst of the others."""
    bonds, true = landscape
    alone = Member(true, 1e6, np.array([[0, 0, 8, 6]], np.int32), framed=True)
    crossed = []
    monkeypatch.setattr("jigsaw.search._in_frames", lambda *given: [alone])
    monkeypatch.setattr(Pool, "cross", lambda pool, members, *given: crossed.extend(members) or members)
    found = search(bonds, [random_layout(i, len(true), 8) for i in range(3)], 2, 1, seed=1)
    assert [member.framed for member in crossed] == [False] * 3
    np.testing.assert_array_equal(crossed[0].layout, true)
    np.testing.assert_array_equal(crossed[0].windows, ANYWHERE)
    assert crossed[1].gain >= crossed[2].gain
    assert_same_picture(found.layout, true)


def test_of_all_that_were_moved_into_frames_the_best_are_improved(landscape):
    bonds, true = landscape
    pool = Told(bonds, [], 1)
    frame = np.array([[0, 0, 8, 6]], np.int32)
    framed = [Member(true, 999 + gain / 9, frame, framed=True) for gain in (3, 8, 1, 7, 9, 2)]
    two = frame.repeat(2, axis=0)
    improved = []
    pool.make = lambda name, tasks: improved.extend(task.member.gain for task in tasks) or []
    outside = start_with([true, true, true])
    _finished(pool, outside, [*framed, Member(true, 2000, two, framed=True)], 1, 1000, 1, 1)
    assert improved == [999 + gain / 9 for gain in (9, 8, 7)]


@pytest.mark.parametrize(
    ("windows", "apart", "many", "small"),
    [
        (1, 0, True, True),  # two members that agree
        (1, 1, False, False),
        (2, 0, True, True),
        (2, 1, False, True),  # several images: of many pieces, they may be parts of one
    ],
)
def test_members_that_agree_settle_it(monkeypatch, landscape, windows, apart, many, small):
    bonds, true = landscape
    pool = Told(bonds, [], 1)
    frames = np.array([[0, 0, 8, 6]], np.int32).repeat(windows, axis=0)
    framed = [Member(true, 1000 + i * apart, frames, framed=True) for i in range(2)]
    assert _settled(pool, framed, 1000) == small
    monkeypatch.setattr("jigsaw.search.MANY", 0)
    assert _settled(pool, framed, 1000) == many
    assert not _settled(pool, [], 1000)


def test_a_bag_with_missing_pieces_is_not_forced_into_a_rectangle():
    bag, truth = cut(8, 12, missing=0.1)
    assert len(bag) == 86
    solution = jigsaw.solve(jigsaw.compare(bag, "fused"), settings=FUSED)
    assert_valid(solution, 86)
    assert not solution.settings["framed"]
    assert neighbour_score(solution, truth, bag) > 0.9


def test_a_mixed_bag_is_not_forced_into_one_rectangle():
    pictures = [picture(7, 7, SIZE, 2), picture(5, 8, SIZE, 5)]
    bag, truth = jigsaw.cut(pictures, SIZE, 1)
    solution = jigsaw.solve(jigsaw.compare(bag, "fused"), settings=FUSED)
    assert_valid(solution, 89)
    assert np.prod(box(solution.layout)) > 89
    scores = jigsaw.evaluate(solution, truth, bag)
    assert scores["neighbor"] > 0.9
    assert all(row["neighbor"] > 0.9 for row in scores["per_image"])


# --- Known sizes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(12, 4), (4, 12)])
def test_a_known_size_is_kept_either_way_round(size):
    bag, truth = cut(4, 12)
    solution = jigsaw.solve(jigsaw.compare(bag, "fused"), settings=FUSED, size=size)
    assert_valid(solution, 48)
    assert sorted(box(solution.layout)) == [4, 12]
    assert solution.settings["size"] == size
    assert neighbour_score(solution, truth, bag) == 1


@pytest.mark.parametrize("size", [(8, 6), (6, 8)])
def test_a_solved_puzzle_needs_no_turn_to_keep_a_known_size(landscape, size):
    bonds, true = landscape
    found = search(bonds, [true], 0, 1, seed=0, budget=0.0, size=size)
    assert_same_picture(found.layout, true)
    assert box(found.layout) == (8, 6)


@pytest.mark.parametrize("size", [(6, 8), (3, 16), (48, 1)])
def test_a_known_size_is_kept_even_if_it_is_wrong(size):
    bag, _ = cut(4, 12)
    solution = jigsaw.solve(jigsaw.compare(bag, "fused"), settings=FUSED, size=size)
    assert_valid(solution, 48)
    assert sorted(box(solution.layout)) == sorted(size)


def test_a_known_size_has_room_for_missing_pieces():
    bag, truth = cut(8, 10, missing=0.1)
    solution = jigsaw.solve(jigsaw.compare(bag, "fused"), settings=FUSED, size=(10, 8))
    assert_valid(solution, 72)
    width, height = box(solution.layout)
    assert min(width, height) <= 8
    assert max(width, height) <= 10
    assert neighbour_score(solution, truth, bag) > 0.9


def test_a_known_size_is_kept_where_no_two_edges_tell_anything():
    """All pieces are blank: no contact is stronger than another, and the solid part is a single piece."""
    solution = jigsaw.solve(jigsaw.compare(blank(100)), settings=QUICK, size=(10, 10))
    assert_valid(solution, 100)
    assert box(solution.layout) == (10, 10)


def test_a_known_size_is_kept_if_it_is_much_larger_than_the_picture():
    bag, _ = cut(3, 4)
    solution = jigsaw.solve(jigsaw.compare(bag, "fused"), settings=FUSED, size=(1000, 1))
    assert_valid(solution, 12)
    assert min(box(solution.layout)) == 1


@pytest.mark.parametrize("size", [(3, 3), (0, 12), (-3, -4), (11, 1)])
def test_a_size_without_room_for_all_pieces_is_refused(size):
    edges = jigsaw.compare(noise(12), "fused")
    with pytest.raises(JigsawError, match=f"size is {size[0]}x{size[1]}, which has no room for 12 pieces"):
        jigsaw.solve(edges, settings=FUSED, size=size)


@pytest.mark.parametrize("size", [(10**12, 1), (1 << 20, 1 << 20), (121, 100)])
def test_a_size_that_is_next_to_empty_is_refused(size):
    edges = jigsaw.compare(noise(12), "fused")
    with pytest.raises(JigsawError, match="12 pieces would fill next to nothing"):
        jigsaw.solve(edges, settings=FUSED, size=size)


def test_a_size_is_refused_where_there_is_no_search():
    with pytest.raises(JigsawError, match="use preset 'best', or --members"):
        jigsaw.solve(jigsaw.compare(noise(12)), "paper", size=(4, 3))


# --- Known orientation --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preset", "changes"),
    [
        ("paper", {"population": 16, "generations": 4}),
        ("best", {"population": 16, "generations": 3, "members": 3, "budget": 60.0}),
    ],
)
def test_upright_pieces_are_not_turned(preset, changes):
    bag, truth = cut(6, 8, keep_orientation=True)
    settings = jigsaw.PRESETS[preset].changed(**changes)
    edges = jigsaw.compare(bag, settings.measure, upright=True)
    solution = jigsaw.solve(edges, preset, settings)
    assert_valid(solution, 48)
    assert (solution.layout[:, 2] == 0).all()
    assert solution.settings["upright"]
    assert neighbour_score(solution, truth, bag) == 1
    assert box(solution.layout) == (8, 6)


@pytest.mark.parametrize("measure", MEASURES)
def test_even_upright_pieces_without_a_picture_are_not_turned(measure):
    edges = jigsaw.compare(noise(20), measure, upright=True)
    solution = jigsaw.solve(edges, settings=QUICK.changed(measure=measure))
    assert_valid(solution, 20)
    assert (solution.layout[:, 2] == 0).all()


def test_a_known_size_of_upright_pieces_is_not_turned():
    bag, _ = cut(6, 8, keep_orientation=True)
    edges = jigsaw.compare(bag, "fused", upright=True)
    for size in [(8, 6), (6, 8)]:
        solution = jigsaw.solve(edges, settings=FUSED, size=size)
        assert_valid(solution, 48)
        assert box(solution.layout) == size
        assert (solution.layout[:, 2] == 0).all()


# --- The same seed, the same solution -----------------------------------------------------------------


@pytest.fixture(scope="module")
def hard():
    """A bag without a picture, whose search never comes to an end."""
    return jigsaw.compare(noise(40), "fused")


@pytest.fixture(scope="module")
def alone(hard):
    """Its solution by one worker."""
    return jigsaw.solve(hard, settings=FUSED, seed=3)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_same_seed_gives_the_same_result_for_any_number_of_workers(hard, alone, workers):
    again = jigsaw.solve(hard, settings=FUSED, seed=3, workers=workers)
    np.testing.assert_array_equal(again.layout, alone.layout)
    np.testing.assert_array_equal(again.relations, alone.relations)
    assert again.fitness == alone.fitness


def test_another_seed_may_give_another_result(hard, alone):
    other = jigsaw.solve(hard, settings=FUSED, seed=4)
    assert other.relations.tolist() != alone.relations.tolist()
    assert_valid(other, 40)


def test_the_search_itself_depends_on_its_seed_and_not_on_its_workers(hard):
    bonds = bonds_of(hard)
    starts = [random_layout(i, 40, 8) for i in range(3)]
    results = [
        search(bonds, starts, 0, 1, seed, workers).layout for seed, workers in [(1, 1), (1, 3), (2, 1)]
    ]
    np.testing.assert_array_equal(results[0], results[1])
    assert (results[0] != results[2]).any()


# --- What a run tells ---------------------------------------------------------------------------------


def test_a_search_without_time_still_places_every_piece_and_says_so(hard, caplog):
    solution = jigsaw.solve(hard, settings=FUSED.changed(budget=0.0))
    assert_valid(solution, 40)
    assert solution.settings["in_time"] is False
    assert "used up its budget of 0 s" in caplog.text


def test_a_search_with_time_says_so(alone):
    assert alone.settings["in_time"] is True


def test_without_a_search_nothing_is_said_of_it():
    solution = jigsaw.solve(jigsaw.compare(noise(9)), settings=Settings(population=8, generations=2))
    assert not solution.settings.keys() & {"framed", "in_time"}
    assert solution.settings["size"] is None
    assert solution.settings["upright"] is False


def test_every_step_is_announced(landscape):
    bonds, true = landscape
    told = []
    starts = [random_layout(i, len(true), 8) for i in range(2)]
    search(bonds, starts, 2, 4, 0, on_round=lambda *step: told.append(step))
    names = [name for name, *_ in told]
    assert names[:2] == ["improve", "frame"]
    assert names[-3:] == ["improve", "round 1", "round 2"]
    assert all(gain > 0 for _, gain, _ in told)
    for _, _, layout in told:
        placed = layout[layout[:, 2] >= 0]
        assert len(np.unique(placed[:, :2], axis=0)) == len(placed) > 0


# --- Few pieces, odd pieces ---------------------------------------------------------------------------


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("pieces", [1, 2, 3])
def test_few_pieces_are_placed(measure, pieces):
    solution = jigsaw.solve(jigsaw.compare(noise(pieces), measure), settings=QUICK.changed(measure=measure))
    assert_valid(solution, pieces)
    assert solution.settings["in_time"]


@pytest.mark.parametrize("pieces", [1, 2, 3])
def test_few_pieces_keep_a_known_size(pieces):
    solution = jigsaw.solve(jigsaw.compare(noise(pieces), "fused"), settings=FUSED, size=(pieces, 1))
    assert_valid(solution, pieces)
    assert sorted(box(solution.layout)) == [1, pieces]


def test_a_strip_is_put_together_if_its_size_is_known():
    bag, truth = cut(1, 20)
    solution = jigsaw.solve(jigsaw.compare(bag, "fused"), settings=FUSED, size=(20, 1))
    assert_valid(solution, 20)
    assert sorted(box(solution.layout)) == [1, 20]
    assert neighbour_score(solution, truth, bag) == 1


def test_a_strip_of_unknown_size_is_whole_too():
    bag, _ = cut(1, 20)
    assert_valid(jigsaw.solve(jigsaw.compare(bag, "fused"), settings=FUSED), 20)


@pytest.mark.parametrize("upright", [False, True])
@pytest.mark.parametrize("measure", MEASURES)
def test_pieces_that_are_all_alike_are_placed(measure, upright):
    edges = jigsaw.compare(blank(20), measure, upright=upright)
    solution = jigsaw.solve(edges, settings=QUICK.changed(measure=measure))
    assert_valid(solution, 20)
    if upright:
        assert (solution.layout[:, 2] == 0).all()


def test_a_bag_in_which_hardly_anything_gains_is_placed():
    edges = jigsaw.compare(noise(30))
    bonds = bonds_of(replace(edges, mean=0.2 * edges.mean))
    for seed in range(5):
        found = search(bonds, [random_layout(seed, 30, 6)], 1, 3, seed)
        assert len({(x, y) for x, y, _ in found.layout.tolist()}) == 30


@pytest.mark.parametrize("away", [0, 3])
def test_pieces_that_are_away_at_the_start_are_placed_in_the_end(away):
    """Even where all are blank and nothing is solid."""
    layout = np.array([[x, 0, 0] for x in range(6)], np.int32)
    layout[away, 2] = -1
    found = search(bonds_of(jigsaw.compare(blank(6))), [layout], 1, 2, seed=0)
    assert len({(x, y) for x, y, turn in found.layout.tolist() if turn >= 0}) == 6


def test_more_members_than_chromosomes_are_refused():
    with pytest.raises(JigsawError, match="members is 9, but must not be more than population"):
        Settings(population=8, members=9)
