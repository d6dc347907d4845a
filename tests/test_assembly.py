"""Assemblies: what the contacts of placed pieces gain, and what is put into gaps."""

import numpy as np
import pytest
import reference
import reference_search
from hypothesis import given
from hypothesis import strategies as st
from reference_search import Table, fresh_gain, puzzle_of, random_layout, random_puzzle

from jigsaw.assembly import (
    ANYWHERE,
    AWAY,
    Bonds,
    bonds_of,
    fill,
    free,
    gain_at,
    kinds_of,
    lay_out,
    lift,
    place,
    window_at,
)
from jigsaw.dissimilarity import compare
from jigsaw.measures import ssd
from jigsaw.pieces import Bag, cut
from jigsaw.synthetic import picture

SEEDS = st.integers(0, 2**32 - 1)
# How long the lists of near edges are: full of what gains most; of all that gain; some full and some not.
FULL, ALL, MIXED = {"neighbors": 5}, {"neighbors": 60, "none": 0.4}, {"neighbors": 6, "none": 0.3}


@pytest.fixture(scope="module", params=[FULL, ALL], ids=["full lists", "short lists"])
def puzzle(request):
    found = random_puzzle(3, 14, **request.param)
    assert (found.bonds.near[:, -1] >= 0).all() == (request.param == FULL)
    return found


# --- Gains --------------------------------------------------------------------------------------------


def pairs_of(pieces):
    return [(e, f) for e in range(4 * pieces) for f in range(4 * pieces) if e // 4 != f // 4]


def test_a_contact_gains_what_it_costs_less_than_two_open_sides(puzzle):
    for e, f in pairs_of(puzzle.pieces):
        assert fresh_gain(puzzle.bonds, e, f) == pytest.approx(puzzle.gains[e, f], abs=1e-4)


def test_nothing_gains_less_than_nothing_and_the_worst_pairs_gain_nothing():
    puzzle = random_puzzle(5, 8, neighbors=3, none=0.35)
    found = np.array([fresh_gain(puzzle.bonds, e, f) for e, f in pairs_of(8)])
    assert (found >= 0).all()
    assert (found == 0).any()
    assert (found > 0).any()


def test_the_gain_of_a_listed_pair_is_the_listed_one():
    puzzle = random_puzzle(4, 6, neighbors=3)
    marked = puzzle.bonds._replace(gains=puzzle.bonds.gains + np.arange(3, dtype=np.float32) * 1000)
    for e, near in enumerate(marked.near.tolist()):
        for j, f in enumerate(near):
            assert fresh_gain(marked, e, f) == marked.gains[e, j]


def test_a_list_holds_what_gains_anything_and_no_more():
    edges = compare(
        Bag(np.random.default_rng(1).integers(0, 256, (9, 3, 3, 3), dtype=np.uint8)), neighbors=40
    )
    bonds = bonds_of(edges)
    gaining = edges.values < 2 * edges.mean
    assert not gaining.all()
    np.testing.assert_array_equal(bonds.near, np.where(gaining & (edges.nearest >= 0), edges.nearest, -1))
    np.testing.assert_array_equal(bonds.gains > 0, bonds.near >= 0)
    assert bonds.none == 2 * edges.mean
    assert bonds.turnable


def test_an_edge_whose_list_is_not_full_gains_nothing_from_an_unlisted_one():
    puzzle = random_puzzle(6, 6, neighbors=2)
    near = puzzle.bonds.near.copy()
    near[::3, 1] = -1  # every third list is short
    bonds = puzzle.bonds._replace(near=near)
    gains = reference_search.all_gains(bonds, reference_search.dissimilarities(bonds))
    seen = {False: 0, True: 0}
    for e, f in pairs_of(6):
        if f not in near[e] and e not in near[f]:
            short = -1 in near[[e, f]]
            seen[short] += gains[e, f] > 0 or short
            assert fresh_gain(bonds, e, f) == pytest.approx(gains[e, f], abs=1e-4)
            assert (fresh_gain(bonds, e, f) == 0) or not short
    assert min(seen.values()) > 20


def assert_alike(bonds, e, f):
    there, back = fresh_gain(bonds, e, f), fresh_gain(bonds, f, e)
    assert abs(there - back) <= 1e-6 * bonds.none, f"edges {e} and {f}: {there}, the other way {back}"


def test_a_contact_gains_the_same_whichever_of_the_two_edges_is_named_first():
    puzzle = random_puzzle(9, 12, **MIXED)
    full = puzzle.bonds.near[:, -1] >= 0
    assert 0.05 < full.mean() < 0.95
    for e, f in pairs_of(12):
        assert_alike(puzzle.bonds, e, f)


@pytest.mark.parametrize("measure", ["ssd", "mgc", "prediction", "fused"])
def test_by_any_measure_a_contact_gains_the_same_from_both_sides(measure):
    bag, _ = cut([picture(4, 6, 7, seed=2)], 7)
    bonds = bonds_of(compare(bag, measure, neighbors=12))
    for e, f in pairs_of(len(bag)):
        assert_alike(bonds, e, f)


# --- Placing and lifting ------------------------------------------------------------------------------


@given(SEEDS, st.lists(st.tuples(st.integers(0, 13), st.integers(0, 8)), max_size=60))
def test_after_any_placing_and_lifting_every_number_is_what_the_layout_says(puzzle, seed, steps):
    rng = np.random.default_rng(seed)
    table = Table(puzzle, np.full((puzzle.pieces, 3), -1))
    group = {}
    for piece, where in steps:
        x, y, turn = where % 3 - 1, where // 3 + 1, int(rng.integers(4))
        if piece in group:
            lift(table.assembly, piece, AWAY)
            del group[piece]
        elif free(table.assembly, x, y):
            gain = gain_at(table.assembly, table.bonds, piece, x, y, turn)
            assert gain == pytest.approx(
                reference_search.gain_there(group, table.gains, piece, x, y, turn), rel=1e-5, abs=1e-4
            )
            place(table.assembly, table.bonds, piece, x, y, turn)
            group[piece] = (x, y, turn)
        else:
            assert (x, y) in {place[:2] for place in group.values()}
        assert table.group == group
    table.assert_whole()


def test_an_assembly_laid_out_anew_forgets_what_lay_there_before(puzzle):
    table = Table(puzzle, random_layout(1, puzzle.pieces, 5))
    following = random_layout(2, puzzle.pieces, 5, away=0.3)
    again = Table(puzzle, following)
    lay_out(table.assembly, table.bonds, following)
    table.assert_whole()
    np.testing.assert_array_equal(table.layout, again.layout)
    np.testing.assert_array_equal(table.assembly.contact, again.assembly.contact)
    assert table.total == again.total


@given(SEEDS, st.sampled_from([0.0, 0.4]))
def test_a_layout_is_read_as_it_was_laid(puzzle, seed, away):
    layout = random_layout(seed, puzzle.pieces, 4, away)
    table = Table(puzzle, layout)
    np.testing.assert_array_equal(table.layout, layout)
    assert table.away == np.flatnonzero(layout[:, 2] < 0).tolist()
    table.assert_whole()


def test_the_order_in_which_pieces_are_placed_does_not_matter(puzzle):
    layout = random_layout(4, puzzle.pieces, 4)
    table = Table(puzzle, layout)
    for piece in range(puzzle.pieces):
        lift(table.assembly, piece, AWAY)
    assert table.total == pytest.approx(0, abs=1e-6)
    assert (table.assembly.contact == -1).all()
    for piece in reversed(range(puzzle.pieces)):
        place(table.assembly, table.bonds, piece, *layout[piece].tolist())
    table.assert_whole()
    assert table.total == pytest.approx(Table(puzzle, layout).total, rel=1e-6)


def test_a_lifted_piece_touches_nothing_and_remembers_where_it_lay(puzzle):
    layout = random_layout(5, puzzle.pieces, 4)
    table = Table(puzzle, layout)
    lift(table.assembly, 3, 7 + 1)
    record = table.assembly.records[3]
    assert (record["x"], record["y"], record["turn"], record["group"]) == (*layout[3], 8)
    assert (table.assembly.contact[12:16] == -1).all()
    assert table.piece_at(*layout[3, :2].tolist()) == -1
    table.assert_agrees()


@given(SEEDS)
def test_contacts_are_right_however_few_of_their_gains_are_remembered(puzzle, seed):
    table = Table(puzzle, random_layout(seed, puzzle.pieces, 4, away=1))
    table.assembly = table.assembly._replace(asked=np.full(2, -1), told=np.empty(2, np.float32))
    for p, (x, y, turn) in enumerate(random_layout(seed, puzzle.pieces, 4).tolist()):
        place(table.assembly, table.bonds, p, x, y, turn)
    table.assert_agrees()


def test_a_place_is_free_within_the_window_where_nothing_lies(puzzle):
    layout = random_layout(6, puzzle.pieces, 4)
    table = Table(puzzle, layout, window=[-2, 1, 1, 5])
    taken = {(x, y) for x, y, _ in layout.tolist()}
    for x in range(-5, 6):
        for y in range(-3, 9):
            assert free(table.assembly, x, y) == (-2 <= x < 1 and 1 <= y < 5 and (x, y) not in taken)


def test_a_place_is_free_in_any_of_several_windows(puzzle):
    windows = [[-2, 1, 0, 3], [1, 4, 3, 8], [4, -3, 6, 5]]
    layout = random_layout(6, puzzle.pieces, 4)
    table = Table(puzzle, layout, window=windows)
    taken = {(x, y) for x, y, _ in layout.tolist()}
    for x in range(-4, 8):
        for y in range(-5, 10):
            held = [i for i, window in enumerate(windows) if reference_search.held_by([(x, y)], window)]
            assert window_at(table.assembly, x, y) == (held[0] if held else -1)
            assert free(table.assembly, x, y) == (bool(held) and (x, y) not in taken)


# --- Filling gaps -------------------------------------------------------------------------------------

ALL = 1 << 20  # tries: enough for every piece at every place


@given(SEEDS, st.integers(1, 5), st.integers(1, 5), st.sampled_from([0.2, 1.0]))
def test_every_piece_that_is_away_is_put_into_the_window_if_there_is_room(puzzle, seed, width, height, away):
    side = 4
    layout = random_layout(seed, puzzle.pieces, side, away)
    table = Table(puzzle, layout, window=[-2, 1, width - 2, height + 1])
    before = table.group
    room = sum(
        (x, y) not in {place[:2] for place in before.values()}
        for x in range(-2, width - 2)
        for y in range(1, height + 1)
    )
    fill(table.assembly, table.bonds, puzzle.kinds, ALL)
    assert len(table.away) == max(puzzle.pieces - len(before) - room, 0)
    for piece, place_then in before.items():
        assert table.group[piece] == place_then
    for piece in table.group.keys() - before.keys():
        x, y, _ = table.group[piece]
        assert -2 <= x < width - 2
        assert 1 <= y < height + 1
    table.assert_agrees()


@given(SEEDS, st.sampled_from([0.2, 0.6, 1.0]))
def test_pieces_that_are_away_fill_all_windows(puzzle, seed, away):
    windows = [[-2, 1, 1, 3], [0, 4, 2, 8], [8, 0, 10, 2]]  # the last is empty
    layout = random_layout(seed, puzzle.pieces, 4, away)
    table = Table(puzzle, layout, window=windows)
    before = table.group
    places = [(x, y) for x, y, _ in before.values()]
    room = sum(map(reference_search.area, windows)) - sum(
        reference_search.held_by(places, window) for window in windows
    )
    fill(table.assembly, table.bonds, puzzle.kinds, ALL)
    assert len(table.away) == max(puzzle.pieces - len(before) - room, 0)
    assert before.items() <= table.group.items()
    for piece in table.group.keys() - before.keys():
        assert sum(reference_search.held_by([table.group[piece][:2]], window) for window in windows) == 1
    table.assert_agrees()


@given(SEEDS)
def test_each_gap_gets_the_piece_that_gains_most_there(puzzle, seed):
    layout = random_layout(seed, puzzle.pieces, 4)
    gone = np.random.default_rng(seed).permutation(puzzle.pieces)[:3]
    layout[gone, 2] = -1
    x, y = layout[gone[0], :2].tolist()  # the only gap
    table = Table(puzzle, layout, window=[x, y, x + 1, y + 1])
    before = table.group
    fill(table.assembly, table.bonds, puzzle.kinds, ALL)
    (new,) = table.group.keys() - before.keys()
    gains = {
        (piece, turn): reference_search.gain_there(before, table.gains, piece, x, y, turn)
        for piece in gone.tolist()
        for turn in range(4)
    }
    assert gains[new, table.group[new][2]] == pytest.approx(max(gains.values()), rel=1e-5, abs=1e-4)


def test_the_most_hemmed_in_gap_is_filled_first():
    puzzle = random_puzzle(7, 9)
    layout = np.array([[i % 3, i // 3, 0] for i in range(9)])
    layout[[4, 8], 2] = -1  # the middle, four neighbours, and a corner, two
    window = [0, 0, 3, 3]
    table = Table(puzzle, layout, window)
    before = table.group
    fill(table.assembly, table.bonds, puzzle.kinds, ALL)
    gains = {
        (piece, turn): reference_search.gain_there(before, table.gains, piece, 1, 1, turn)
        for piece in (4, 8)
        for turn in range(4)
    }
    in_the_middle = table.piece_at(1, 1)
    assert (in_the_middle, table.group[in_the_middle][2]) == max(gains, key=gains.get)


def test_upright_pieces_are_not_turned_to_fill_a_gap():
    puzzle = random_puzzle(8, 12, upright=True)
    assert not puzzle.bonds.turnable
    layout = random_layout(3, 12, 4, away=0.6, upright=True)
    assert (layout[:, 2] < 0).sum() > 3
    table = Table(puzzle, layout, window=[-2, 1, 2, 5])
    fill(table.assembly, table.bonds, puzzle.kinds, ALL)
    assert not table.away
    assert (table.layout[:, 2] == 0).all()


def test_of_pieces_that_are_alike_the_first_stands_for_all():
    pixels = np.random.default_rng(2).integers(0, 256, (4, 3, 3, 3), dtype=np.uint8)
    puzzle = puzzle_of(np.concatenate([pixels, pixels]))  # pieces 4 to 7 are like 0 to 3
    layout = np.array([[0, 0, 0], *[[9, 9, -1]] * 7])
    table = Table(puzzle, layout, window=[0, 0, 4, 2])
    fill(table.assembly, table.bonds, puzzle.kinds, ALL)
    assert not table.away
    table.assert_whole()
    # Where kinds are not known to be alike, the outcome gains as much.
    unaware = Table(puzzle, layout, window=[0, 0, 4, 2])
    fill(unaware.assembly, unaware.bonds, np.arange(8), ALL)
    assert unaware.total == pytest.approx(table.total)


@pytest.mark.parametrize("kind", [0, 90, 199])
def test_of_many_pieces_those_of_kinds_near_to_what_lies_around_are_tried(kind):
    """Of 199 pieces, 64 at the first place, and 64 at the next."""
    puzzle = random_puzzle(9, 200)
    kinds = np.roll(np.arange(200), -kind)  # piece 0 is of that kind
    layout = np.array([[0, 0, 0], *[[9, 9, -1]] * 199])
    some, all_tried = (Table(puzzle, layout, window=[0, 0, 3, 1]) for _ in range(2))
    fill(some.assembly, some.bonds, kinds, 0)
    fill(all_tried.assembly, all_tried.bonds, kinds, ALL)
    away = sorted(range(1, 200), key=lambda p: kinds[p])
    for at in (1, 2):
        before = {p: there for p, there in some.group.items() if there[0] < at}
        around = kinds[some.piece_at(at - 1, 0)]
        first = sum(kinds[p] < around for p in away) - 32
        first = max(min(first, len(away) - 64), 0)
        gains = {
            (p, turn): reference_search.gain_there(before, some.gains, p, at, 0, turn)
            for p in away[first : first + 64]
            for turn in range(4)
        }
        piece = some.piece_at(at, 0)
        assert gains[piece, some.group[piece][2]] == pytest.approx(max(gains.values()), rel=1e-5)
        away.remove(piece)
    assert all_tried.total > some.total


def test_a_piece_is_taken_for_another_of_its_kind():
    """Told that all are of one kind, filling does not look at any but the first."""
    puzzle = random_puzzle(2, 6)
    layout = np.array([[0, 0, 0], *[[9, 9, -1]] * 5])
    table = Table(puzzle, layout, window=[0, 0, 2, 1])
    fill(table.assembly, table.bonds, np.zeros(6, np.int64), ALL)
    assert table.piece_at(1, 0) == 1


# --- Kinds --------------------------------------------------------------------------------------------


def kinds_by_looks(pixels, turnable):
    """Number pieces by their four strips, slowly."""
    strips = reference.strips(pixels).reshape(len(pixels), 4, -1).tolist()
    looks = [min(piece[turn:] + piece[:turn] for turn in range(4 if turnable else 1)) for piece in strips]
    return [looks.index(look) for look in looks]


@pytest.mark.parametrize("upright", [False, True])
@given(SEEDS)
def test_pieces_are_of_one_kind_if_their_edges_are_alike(upright, seed):
    rng = np.random.default_rng(seed)
    few = rng.integers(0, 2, (4, 2, 2, 1), dtype=np.uint8) * np.array([255, 0, 90], np.uint8)
    which = rng.integers(0, 4, 12)
    pixels = np.stack([np.rot90(few[i], rng.integers(4)) for i in which])
    bonds = Bonds(ssd.features(pixels), *[None] * 3, turnable=not upright)
    expected = kinds_by_looks(pixels, turnable=not upright)
    found = kinds_of(bonds).tolist()
    pairs = set(zip(found, expected, strict=True))
    assert len(pairs) == len(set(found)) == len(set(expected))


def test_a_turned_piece_is_of_the_same_kind_only_if_pieces_may_be_turned():
    piece = np.random.default_rng(3).integers(0, 256, (4, 4, 3), dtype=np.uint8)
    pixels = np.stack([piece, np.rot90(piece), np.rot90(piece, 2), np.rot90(piece, 3), piece])
    assert len(set(random_kinds(pixels, upright=False))) == 1
    upright = random_kinds(pixels, upright=True)
    assert len(set(upright)) == 4
    assert upright[0] == upright[4]


def test_dark_kinds_come_first():
    brightness = np.random.default_rng(4).permutation(30)
    pixels = np.broadcast_to(5 * brightness[:, None, None, None], (30, 4, 4, 3)).astype(np.uint8)
    assert random_kinds(pixels, upright=False) == brightness.tolist()


def random_kinds(pixels, upright):
    return kinds_of(bonds_of(compare(Bag(pixels), upright=upright))).tolist()


def test_a_window_without_bounds_has_room_everywhere(puzzle):
    table = Table(puzzle, np.full((puzzle.pieces, 3), -1), window=ANYWHERE)
    assert free(table.assembly, -1_000_000, 1_000_000)
