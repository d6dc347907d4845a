"""Destroying and repairing: what a move takes up, where it puts it back, and how it is taken back."""

import numpy as np
import pytest
import reference
import reference_search
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_search import Table, puzzle_of, random_layout, random_puzzle

from jigsaw.assembly import ANYWHERE
from jigsaw.geometry import placed_relations
from jigsaw.moves import (
    NO_OTHERS,
    add_region,
    bad_edges,
    improve,
    loosen,
    loosen_all,
    loosen_anywhere,
    loosen_around,
    rebuild,
)
from jigsaw.pieces import cut
from jigsaw.repair import DOCKS, add_segment, begin, make_bench, most_votes, repair, take_up, undo, wake
from jigsaw.synthetic import picture

SEEDS = st.integers(0, 2**32 - 1)
FULL, ALL = {"neighbors": 5}, {"neighbors": 100, "none": 0.4}
PIECES = 20
NEVER = np.float32(np.inf)  # sure enough for segments to be joined with one another


@pytest.fixture(scope="module", params=[FULL, ALL], ids=["full lists", "short lists"])
def puzzle(request):
    """Pieces without a picture: some fit somewhere a little, none perfectly."""
    return random_puzzle(5, PIECES, **request.param)


@pytest.fixture(scope="module")
def upright():
    return random_puzzle(6, PIECES, upright=True)


class Picture:
    """A picture cut to pieces, and where they belong."""

    def __init__(self, rows, columns, seed=0, keep_orientation=False):
        bag, truth = cut([picture(rows, columns, 8, seed)], 8, seed, keep_orientation)
        self.layout = truth.places[:, [2, 1, 3]].astype(np.int32)
        self.puzzle = puzzle_of(bag.pixels, upright=keep_orientation)
        self.pieces = len(bag)

    def at(self, x, y):
        return int(np.flatnonzero((self.layout[:, :2] == (x, y)).all(axis=1))[0])

    def table(self, **options):
        return Table(self.puzzle, self.layout, **options)


@pytest.fixture(scope="module")
def landscape():
    return Picture(4, 5, seed=3)


def scattered(puzzle, seed, window=ANYWHERE, away=0.2):
    """A table with the pieces at random within a square of 6 x 6, some away."""
    return Table(puzzle, random_layout(seed, puzzle.pieces, 6, away), window, seed)


def some_threshold(table, rng):
    """A strength at which some contacts break and some do not, mostly."""
    strengths = [*reference_search.strengths(table.group, table.assembly.contact).values(), -1.0, 1e9]
    return np.float32(rng.choice(strengths))


def as_sets(segments):
    return sorted(sorted(segment) for segment in segments)


def held(table, threshold):
    """The relations that hold by more than a threshold, by the gains to the last bit."""
    strengths = reference_search.strengths(table.group, table.assembly.contact)
    return {(e, f) for e, f in reference.relations_of([table.group]) if strengths[e] > threshold}


def motions(before, after, pieces):
    """The motions (turns, shift) that some pieces have gone through; one, if they moved as a rigid body."""
    found = set()
    for p in pieces:
        x, y, turn = before[p]
        new_x, new_y, new_turn = after[p]
        turns = (new_turn - turn) % 4
        ((x, y, _),) = reference.turned({p: (x, y, turn)}, turns).values()
        found.add((turns, new_x - x, new_y - y))
    return found


# --- What is taken up ---------------------------------------------------------------------------------


@given(SEEDS, st.integers(1, 12))
def test_a_region_is_connected_and_of_the_size_asked_for(puzzle, seed, size):
    table = scattered(puzzle, seed)
    begin(table.bench)
    group = table.group
    (piece, *_) = group
    count = add_region(table.assembly, table.bench, 0, piece, size)
    region = table.bench.members[:count].tolist()
    everything = reference_search.segments(group, reference.relations_of([group]))
    (around,) = (segment for segment in everything if piece in segment)
    assert len(set(region)) == count == min(size, len(around))
    within = {p: group[p] for p in region}
    assert reference_search.segments(within, reference.relations_of([within])) == [set(region)]


def test_a_region_has_the_nearest_pieces(landscape):
    table = landscape.table()
    begin(table.bench)
    middle = landscape.at(2, 2)
    count = add_region(table.assembly, table.bench, 0, middle, 5)
    distances = np.abs(landscape.layout[table.bench.members[:count], :2] - (2, 2)).sum(axis=1)
    assert distances.tolist() == [0, 1, 1, 1, 1]


@given(SEEDS, st.integers(1, 8), st.integers(1, 8))
def test_a_second_region_adds_only_pieces_that_the_first_has_not(puzzle, seed, size1, size2):
    table = scattered(puzzle, seed)
    begin(table.bench)
    one, two = [*table.group][:2]
    first = add_region(table.assembly, table.bench, 0, one, size1)
    count = add_region(table.assembly, table.bench, first, two, size2)
    assert first <= count <= first + size2
    region = table.bench.members[:count].tolist()
    assert len(set(region)) == count
    assert {one, two} <= set(region)


def test_there_is_no_region_around_a_piece_that_is_away(puzzle):
    table = scattered(puzzle, 1, away=0.5)
    begin(table.bench)
    assert add_region(table.assembly, table.bench, 0, table.away[0], 10) == 0


@given(SEEDS, st.integers(1, 14), st.integers(1, 6))
def test_what_nothing_outside_a_region_holds_is_taken_up_and_nothing_else(puzzle, seed, size, other):
    rng = np.random.default_rng(seed)
    table = scattered(puzzle, seed, away=0.1)
    for _ in range(3):  # marks of moves before do not matter
        before, group = table.layout, table.group
        threshold = some_threshold(table, rng)
        relations = held(table, threshold)
        begin(table.bench)
        one, two = rng.choice(sorted(group), 2).tolist()
        count = add_region(table.assembly, table.bench, 0, one, size)
        count = add_region(table.assembly, table.bench, count, two, other)
        region = table.bench.members[:count].tolist()
        loosen(table.assembly, table.bench, count, threshold)
        loose = reference_search.loose(group, relations, region)
        assert as_sets(table.floating) == as_sets(loose)
        assert sorted(table.group) == sorted(group.keys() - set().union(*loose))
        table.assert_agrees()
        undo(table.assembly, table.bonds, table.bench)
        np.testing.assert_array_equal(table.layout, before)


@given(SEEDS, st.booleans())
def test_cut_everywhere_the_largest_segment_stays(puzzle, seed, with_others):
    rng = np.random.default_rng(seed)
    table = scattered(puzzle, seed)
    group, threshold = table.group, some_threshold(table, rng)
    relations = held(table, threshold)
    others = NO_OTHERS
    if with_others:  # another assembly with about half of the contacts
        layout = table.layout
        layout[rng.random(len(layout)) < 0.3, :2] += 100
        others = placed_relations(layout)
        assert others.shape == (4 * puzzle.pieces,)
        relations &= reference.relations_in(others)
    begin(table.bench)
    loosen_all(table.assembly, table.bench, threshold, others)
    segments = reference_search.segments(group, relations)
    largest = max(segments, key=len)
    assert len(table.group) == len(largest)
    assert set(table.group) in segments
    assert as_sets([*table.floating, table.group]) == as_sets(segments)
    table.assert_agrees()


@given(SEEDS, st.integers(-3, 3), st.integers(-3, 3))
def test_what_lies_outside_the_window_is_taken_up_and_the_segment_with_most_inside_stays(puzzle, seed, x, y):
    rng = np.random.default_rng(seed)
    table = scattered(puzzle, seed, window=[x, y, x + 4, y + 4])
    group, threshold = table.group, some_threshold(table, rng)
    segments = reference_search.segments(group, held(table, threshold))
    begin(table.bench)
    loosen_all(table.assembly, table.bench, threshold, NO_OTHERS)
    inside = [
        {p for p in segment if x <= group[p][0] < x + 4 and y <= group[p][1] < y + 4} for segment in segments
    ]
    assert set(table.group) in [*inside, set()]
    assert len(table.group) == max(map(len, inside))
    assert sorted(p for segment in table.floating for p in segment) == sorted(group.keys() - set(table.group))
    table.assert_agrees()


@given(SEEDS, st.integers(-3, 2), st.integers(0, 4), st.booleans())
def test_of_several_windows_each_keeps_the_segment_with_most_in_it(puzzle, seed, x, y, with_others):
    rng = np.random.default_rng(seed)
    windows = [[x, y, x + 3, y + 3], [x + 4, y, x + 6, y + 4], [x + 6, y + 5, x + 9, y + 7]]
    table = scattered(puzzle, seed, window=windows)
    group, threshold = table.group, some_threshold(table, rng)
    relations, others = held(table, threshold), NO_OTHERS
    if with_others:
        others = placed_relations(random_layout(seed + 1, puzzle.pieces, 5))
        relations &= reference.relations_in(others)
    segments = reference_search.segments(group, relations)
    begin(table.bench)
    loosen_all(table.assembly, table.bench, threshold, others)

    def inside(pieces, window):
        return {p for p in pieces if reference_search.held_by([group[p][:2]], window)}

    kept = set()
    for window in windows:  # of segments with as many there, that of the first piece
        best = max(sorted(segments, key=min), key=lambda segment: len(inside(segment, window)))
        kept |= best if inside(best, window) else set()
    assert set(table.group) == set().union(*(inside(kept, window) for window in windows))
    assert table.group.items() <= group.items()
    assert sorted(p for segment in table.floating for p in segment) == sorted(group.keys() - set(table.group))
    table.assert_agrees()


@given(SEEDS)
def test_a_move_around_an_edge_takes_up_whole_segments_and_pieces_that_were_away(puzzle, seed):
    rng = np.random.default_rng(seed)
    table = scattered(puzzle, seed, away=0.4)
    group, away = table.group, set(table.away)
    begin(table.bench)
    e = int(rng.choice(np.flatnonzero(puzzle.bonds.near[:, 0] >= 0)))
    loosen_around(table.assembly, table.bonds, table.bench, e)
    taken = [p for segment in table.floating for p in segment]
    assert len(set(taken)) == len(taken)
    assert sorted(taken) == sorted((group.keys() | away) - set(table.group) - set(table.away))
    if e // 4 in away:
        assert e // 4 in taken
    for segment in table.floating:
        if len(segment) > 1:
            assert not away & set(segment)
    table.assert_agrees()


# --- Repair -------------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 9), max_size=5 * DOCKS), st.randoms())
def test_a_segment_is_tried_at_the_places_with_most_votes(votes, random):
    bench = make_bench(1)
    slots = random.sample(range(len(bench.vote)), len(votes))
    bench.used[: len(votes)] = slots
    bench.vote[slots] = votes
    bench.counts[3] = len(votes)
    wanted = sorted(range(len(votes)), key=lambda i: -votes[i])[:DOCKS]
    assert bench.docks[: most_votes(bench)].tolist() == [slots[i] for i in wanted]


def take(table, *segments):
    """Take up segments."""
    begin(table.bench)
    for pieces in segments:
        at = table.bench.counts[2]
        s = add_segment(table.bench, at, at + len(pieces))
        for p in pieces:
            take_up(table.assembly, table.bench, p, s)


@pytest.mark.parametrize("window", [ANYWHERE, [0, 0, 5, 4]], ids=["anywhere", "in a frame"])
def test_a_piece_taken_from_a_solved_puzzle_is_put_back(landscape, window):
    for piece in range(landscape.pieces):
        table = landscape.table(window=window)
        take(table, [piece])
        assert table.group.keys() == set(range(landscape.pieces)) - {piece}
        repair(table.assembly, table.bonds, table.bench, 0.0)
        np.testing.assert_array_equal(table.layout, landscape.layout)
        table.assert_whole()


def test_a_piece_that_was_away_is_put_where_it_belongs(landscape):
    for piece in range(landscape.pieces):
        layout = landscape.layout.copy()
        layout[piece] = 77, 77, -1
        table = Table(landscape.puzzle, layout)
        begin(table.bench)
        wake(table.assembly, table.bench, piece)
        repair(table.assembly, table.bonds, table.bench, 0.0)
        np.testing.assert_array_equal(table.layout, landscape.layout)


def test_a_segment_that_lies_elsewhere_and_turned_is_moved_back_as_a_whole(landscape):
    corner = [landscape.at(x, y) for x in (3, 4) for y in (2, 3)]
    for turns in range(4):
        elsewhere = reference.turned({p: tuple(landscape.layout[p].tolist()) for p in corner}, turns)
        elsewhere = reference.shifted(elsewhere, 40, -30)
        layout = landscape.layout.copy()
        for p, there in elsewhere.items():
            layout[p] = there
        table = Table(landscape.puzzle, layout)
        take(table, corner)
        repair(table.assembly, table.bonds, table.bench, 0.0)
        np.testing.assert_array_equal(table.layout, landscape.layout)
        table.assert_whole()


@pytest.fixture(scope="module")
def strip():
    """A strip of six pieces of which only those that belong together gain anything."""
    whole = Picture(1, 6, seed=4)
    near = placed_relations(whole.layout)[:, None]
    bonds = whole.puzzle.bonds._replace(near=near, gains=np.where(near >= 0, 10, 0).astype(np.float32))
    gains = np.zeros((24, 24))
    gains[np.flatnonzero(near >= 0), near[near >= 0]] = 10
    whole.puzzle = whole.puzzle._replace(bonds=bonds, gains=gains)
    return whole


def test_a_segment_that_gains_nothing_anywhere_goes_back_whole_to_where_it_was(strip):
    apart = strip.layout.copy()
    segment = [strip.at(4, 0), strip.at(5, 0)]
    apart[segment, :2] += 7, 3  # where it touches nothing
    open_sides = strip.puzzle.bonds.near.copy()
    torn = 4 * strip.at(3, 0), 4 * strip.at(4, 0)  # and no edge between it and the rest likes another
    for first in torn:
        for e in range(first, first + 4):
            if open_sides[e, 0] >= 0 and {open_sides[e, 0] // 4, e // 4} == {strip.at(3, 0), strip.at(4, 0)}:
                open_sides[e, 0] = -1
    puzzle = strip.puzzle._replace(bonds=strip.puzzle.bonds._replace(near=open_sides))
    table = Table(puzzle, apart)
    take(table, segment)
    repair(table.assembly, table.bonds, table.bench, 0.0)
    np.testing.assert_array_equal(table.layout, apart)


def test_upright_pieces_find_back_but_a_turned_segment_does_not():
    upright = Picture(4, 5, seed=3, keep_orientation=True)
    assert (upright.layout[:, 2] == 0).all()
    assert not upright.puzzle.bonds.turnable
    for piece in range(upright.pieces):
        table = upright.table()
        take(table, [piece])
        repair(table.assembly, table.bonds, table.bench, 0.0)
        np.testing.assert_array_equal(table.layout, upright.layout)
    corner = [upright.at(x, y) for x in (3, 4) for y in (2, 3)]
    layout = upright.layout.copy()
    layout[corner, 2] = 1
    table = Table(upright.puzzle, layout)
    take(table, *([p] for p in corner))
    repair(table.assembly, table.bonds, table.bench, 0.0)
    assert (table.layout[corner, 2] % 4 != 0).all()  # still turned, or away


def test_a_piece_follows_the_one_it_belongs_to(strip):
    """The last piece fits nowhere until the last but one, taken up after it, is in its place."""
    last, last_but_one = strip.at(5, 0), strip.at(4, 0)
    layout = strip.layout.copy()
    layout[last], layout[last_but_one] = (40, 7, 1), (50, -9, 2)
    table = Table(strip.puzzle, layout)
    take(table, [last], [last_but_one])
    repair(table.assembly, table.bonds, table.bench, 0.0)
    np.testing.assert_array_equal(table.layout, strip.layout)
    table.assert_whole()


@pytest.mark.parametrize("turns", range(4))
def test_a_segment_follows_the_one_it_belongs_to(landscape, turns):
    """The right half fits nowhere, by far, until the middle, taken up after it, is in its place."""
    right = [landscape.at(x, y) for x in (3, 4) for y in range(4)]
    middle = [landscape.at(2, y) for y in range(4)]
    elsewhere = reference.turned({p: tuple(landscape.layout[p].tolist()) for p in right}, turns)
    layout = landscape.layout.copy()
    for p, there in reference.shifted(elsewhere, 40, -30).items():
        layout[p] = there
    layout[middle, :2] += -50, 9
    table = Table(landscape.puzzle, layout)
    take(table, right, middle)
    repair(table.assembly, table.bonds, table.bench, 0.0)
    np.testing.assert_array_equal(table.layout, landscape.layout)
    table.assert_whole()


def test_a_piece_that_is_away_is_called_by_the_one_it_belongs_to(strip):
    layout = strip.layout.copy()
    away = [strip.at(x, 0) for x in (3, 4, 5)]
    layout[away, 2] = -1
    table = Table(strip.puzzle, layout)
    begin(table.bench)
    wake(table.assembly, table.bench, away[0])
    repair(table.assembly, table.bonds, table.bench, 0.0)
    np.testing.assert_array_equal(table.layout, strip.layout)
    table.assert_whole()


@given(SEEDS)
def test_a_segment_moves_as_a_rigid_body_unless_it_is_taken_to_pieces(landscape, seed):
    rng = np.random.default_rng(seed)
    table = landscape.table(seed=seed)
    group = table.group
    begin(table.bench)
    threshold = some_threshold(table, rng)
    loosen_all(table.assembly, table.bench, threshold, NO_OTHERS)
    segments = table.floating
    repair(table.assembly, table.bonds, table.bench, 0.0)
    table.assert_whole()
    broken = table.floating[len(segments) :]  # segments begun later: what was taken to pieces
    singles = {p for segment in broken for p in segment}
    for segment in segments:
        if not singles & set(segment) and set(segment) <= table.group.keys():
            assert len(motions(group, table.group, segment)) == 1


@given(SEEDS, st.sampled_from([0.0, 0.7]), st.booleans())
def test_after_a_repair_every_piece_is_placed_or_away_and_all_numbers_are_right(puzzle, seed, noise, framed):
    rng = np.random.default_rng(seed)
    table = scattered(puzzle, seed, window=[-2, 1, 4, 7] if framed else ANYWHERE)
    for _ in range(3):
        group = table.group
        begin(table.bench)
        pieces = rng.permutation(sorted(group)).tolist()
        cuts = np.sort(rng.integers(0, len(pieces) // 2, 3)).tolist()
        # Any pieces, touching or not, are a rigid segment if the move says so.
        take(table, *(pieces[a:b] for a, b in zip([0, *cuts], cuts, strict=False) if a < b))
        repair(table.assembly, table.bonds, table.bench, noise)
        table.assert_whole()


@given(SEEDS)
def test_upright_pieces_are_never_turned(upright, seed):
    table = Table(upright, random_layout(seed, PIECES, 6, away=0.2, upright=True), seed=seed)
    bad = np.empty(4 * PIECES, np.int32)
    improve(table.assembly, upright.bonds, table.bench, bad, 0.2)
    assert set(table.layout[:, 2].tolist()) <= {-1, 0}
    table.assert_whole()


def test_a_piece_that_fits_nowhere_fills_a_gap_or_is_away():
    """Two pieces, of which no edge gains anything from the other."""
    puzzle = random_puzzle(1, 2)
    nothing = puzzle._replace(
        bonds=puzzle.bonds._replace(near=np.full_like(puzzle.bonds.near, -1)), gains=np.zeros((8, 8))
    )
    table = Table(nothing, np.array([[0, 0, 0], [1, 0, 3]]))
    take(table, [0, 1])
    repair(table.assembly, table.bonds, table.bench, 0.0)
    assert sorted((x, y) for x, y, _ in table.group.values()) == [(0, 0), (1, 0)]
    table.assert_whole()

    table = Table(nothing, np.array([[0, 0, 0], [5, 5, -1]]))
    begin(table.bench)
    wake(table.assembly, table.bench, 1)
    repair(table.assembly, table.bonds, table.bench, 0.0)
    assert table.away == [1]
    assert table.group == {0: (0, 0, 0)}


# --- Undo ---------------------------------------------------------------------------------------------


@given(SEEDS, st.sampled_from([0.0, 0.9]), st.booleans())
def test_a_move_that_is_taken_back_leaves_no_trace(puzzle, seed, noise, everywhere):
    rng = np.random.default_rng(seed)
    table = scattered(puzzle, seed, away=0.3)
    for _ in range(4):
        before, total = table.layout, table.total
        contact, records = table.assembly.contact.copy(), table.assembly.records.copy()
        begin(table.bench)
        if everywhere:
            loosen_anywhere(table.assembly, table.bench)
        else:
            e = int(rng.choice(np.flatnonzero(puzzle.bonds.near[:, 0] >= 0)))
            loosen_around(table.assembly, table.bonds, table.bench, e)
        repair(table.assembly, table.bonds, table.bench, noise)
        undo(table.assembly, table.bonds, table.bench)
        np.testing.assert_array_equal(table.layout, before)
        for name in ("x", "y", "turn", "group"):
            np.testing.assert_array_equal(table.assembly.records[name], records[name])
        exact = (puzzle.bonds.near[:, -1] < 0).all()  # all gains are listed, so none is calculated anew
        assert table.total == pytest.approx(total, rel=0 if exact else 1e-6, abs=0 if exact else 1e-4)
        np.testing.assert_allclose(table.assembly.contact, contact, rtol=0 if exact else 1e-5)
        table.assert_whole()


# --- Moves --------------------------------------------------------------------------------------------


@given(SEEDS)
def test_edges_are_bad_that_could_gain_more(puzzle, seed):
    table = scattered(puzzle, seed)
    bad = np.empty(4 * puzzle.pieces, np.int32)
    count = bad_edges(table.assembly, table.bonds, bad)
    have = reference_search.contacts(table.group, table.gains)
    expected = [
        e
        for e, (near, gain) in enumerate(zip(table.bonds.near[:, 0], table.bonds.gains[:, 0], strict=True))
        if near >= 0 and gain - have.get(e, 0) > 0.5
    ]
    assert bad[:count].tolist() == expected


@settings(max_examples=60)
@given(SEEDS, st.booleans(), st.sampled_from([0.0, 0.1, 1.0]))
def test_improving_never_makes_it_worse(puzzle, seed, framed, global_share):
    table = scattered(puzzle, seed, window=[-2, 1, 4, 7] if framed else ANYWHERE)
    bad = np.empty(4 * puzzle.pieces, np.int32)
    for _ in range(2):
        before = table.total
        moves = improve(table.assembly, table.bonds, table.bench, bad, global_share)
        assert table.total >= before - 1e-4 * (1 + moves)  # but for rounding
        table.assert_whole()


def test_improving_leaves_a_solved_puzzle_as_it_is(landscape):
    table = landscape.table()
    bad = np.empty(4 * landscape.pieces, np.int32)
    assert improve(table.assembly, table.bonds, table.bench, bad, 0.1) > 0  # sides of the picture are bad
    np.testing.assert_array_equal(placed_relations(table.layout), placed_relations(landscape.layout))


def test_improving_an_assembly_in_which_everything_is_perfect_does_nothing(landscape):
    table = landscape.table()
    bonds = table.bonds._replace(gains=np.full_like(table.bonds.gains, 0.4))  # nothing worthwhile
    bad = np.empty(4 * landscape.pieces, np.int32)
    assert improve(table.assembly, bonds, table.bench, bad, 0.1) == 0
    assert table.bench.counts[0] == 0


def test_improving_again_and_again_solves_an_easy_puzzle(landscape):
    table = Table(landscape.puzzle, random_layout(1, landscape.pieces, 6), seed=1)
    bad = np.empty(4 * landscape.pieces, np.int32)
    for _ in range(25):
        improve(table.assembly, table.bonds, table.bench, bad, 0.01)
    assert table.total == pytest.approx(landscape.table().total)


@settings(max_examples=60)
@given(SEEDS, st.integers(-4, 4), st.integers(-4, 4), st.booleans())
def test_what_is_rebuilt_lies_in_the_window_whole(puzzle, seed, x, y, with_others):
    rng = np.random.default_rng(seed)
    table = scattered(puzzle, seed, window=[x, y, x + 5, y + 5])
    others = placed_relations(random_layout(seed + 1, puzzle.pieces, 6)) if with_others else NO_OTHERS
    rebuild(table.assembly, table.bonds, table.bench, table.plan, some_threshold(table, rng), others, NEVER)
    table.assert_whole()


@settings(max_examples=60)
@given(SEEDS, st.integers(-4, 2), st.integers(-4, 4))
def test_what_is_rebuilt_and_improved_lies_in_its_windows(puzzle, seed, x, y):
    windows = [[x, y, x + 4, y + 3], [x + 5, y, x + 8, y + 4]]
    table = scattered(puzzle, seed, window=windows)
    rebuild(table.assembly, table.bonds, table.bench, table.plan, np.float32(2), NO_OTHERS, NEVER)
    table.assert_whole()
    before = table.total
    bad = np.empty(4 * puzzle.pieces, np.int32)
    moves = improve(table.assembly, table.bonds, table.bench, bad, 0.2)
    assert table.total >= before - 1e-4 * (1 + moves)
    table.assert_whole()


def test_what_two_assemblies_have_in_common_is_kept(landscape):
    """The left half of the picture is right in one, and everything but a piece in the other."""
    one, two = landscape.layout.copy(), landscape.layout.copy()
    right = one[:, 0] >= 3
    one[right, :2] = random_layout(2, right.sum(), 6)[:, :2] + 20
    table = Table(landscape.puzzle, one)
    others = placed_relations(two)
    rebuild(table.assembly, table.bonds, table.bench, table.plan, np.float32(-1), others, NEVER)
    np.testing.assert_array_equal(table.layout[~right], one[~right])
    np.testing.assert_array_equal(table.layout, landscape.layout)  # the rest is easy


def test_nothing_in_common_leaves_a_single_piece_where_it_was(puzzle):
    table = scattered(puzzle, 3, away=0)
    before = table.group
    begin(table.bench)
    nothing = np.full(4 * puzzle.pieces, -1, np.int32)
    loosen_all(table.assembly, table.bench, np.float32(-1), nothing)
    assert len(table.group) == 1
    assert table.group.items() <= before.items()


@given(SEEDS, st.sampled_from([0.0, 0.5]))
def test_the_relations_of_placed_pieces_are_those_of_the_reference(seed, away):
    layout = random_layout(seed, 15, 5, away)
    group = {p: place for p, place in reference.group_in(layout).items() if place[2] >= 0}
    expected = reference.table_of(reference.relations_of([group]), 15)
    np.testing.assert_array_equal(placed_relations(layout), expected.reshape(-1))


def test_the_same_random_numbers_give_the_same_moves(puzzle):
    bad = np.empty(4 * puzzle.pieces, np.int32)
    layouts = []
    for seed in (5, 5, 6):
        table = Table(puzzle, random_layout(1, puzzle.pieces, 6), seed=seed)
        improve(table.assembly, table.bonds, table.bench, bad, 0.1)
        layouts.append(table.layout)
    np.testing.assert_array_equal(layouts[0], layouts[1])
    assert (layouts[0] != layouts[2]).any()
