"""Frames: the windows into which a complete picture fits."""

import numpy as np
import pytest
import reference
import reference_search
from hypothesis import given
from hypothesis import strategies as st
from reference_search import random_layout

from jigsaw.frame import filled_box, roomy_window, shapes_of, solid_part, windows
from jigsaw.geometry import placed_relations

SEEDS = st.integers(0, 2**32 - 1)


# --- Shapes -------------------------------------------------------------------------------------------


@given(st.integers(1, 200))
def test_shapes_are_all_rectangles_of_so_many_pieces(pieces):
    expected = [(w, h) for w in range(1, pieces + 1) for h in range(1, pieces + 1) if w * h == pieces]
    assert sorted(shapes_of(pieces)) == expected


def test_a_prime_number_of_pieces_makes_only_strips():
    assert sorted(shapes_of(13)) == [(1, 13), (13, 1)]
    assert shapes_of(1) == [(1, 1)]


# --- Windows ------------------------------------------------------------------------------------------


@st.composite
def scattered(draw):
    """Positions in a box that may lie anywhere, and shapes."""
    places = st.tuples(st.integers(0, 6), st.integers(0, 5))
    positions = draw(st.lists(places, min_size=1, max_size=20, unique=True))
    right, down = draw(st.tuples(st.integers(-50, 50), st.integers(-50, 50)))
    shape = st.tuples(st.integers(1, 8), st.integers(1, 8))
    shapes = draw(st.lists(shape, min_size=1, max_size=4, unique=True))
    return [(x + right, y + down) for x, y in positions], shapes


@given(scattered(), st.integers(1, 10))
def test_the_best_window_holds_as_much_as_any_there_is(case, count):
    positions, shapes = case
    found = windows(np.array(positions), shapes, count)
    most = max(
        reference_search.held_by(positions, window)
        for shape in shapes
        for window in reference_search.all_windows(positions, shape)
    )
    assert found[0][0] == most / len(positions)


@given(scattered(), st.integers(1, 10))
def test_windows_are_the_best_two_of_each_shape_best_first(case, count):
    positions, shapes = case
    found = windows(np.array(positions), shapes, count)
    expected = []
    for shape in shapes:
        shares = [
            reference_search.held_by(positions, window) / len(positions)
            for window in reference_search.all_windows(positions, shape)
            if reference_search.no_more_beyond_than_need_be(positions, window)
        ]
        expected += sorted(shares, reverse=True)[:2]
    assert [share for share, _ in found] == sorted(expected, reverse=True)[:count]


def test_of_places_that_would_do_as_well_the_first_and_the_last_are_taken():
    """Three of five columns are known: two more may lie at the left, at the right, or one on either side."""
    known = np.array([(x, y) for x in range(3) for y in range(4)])
    found = windows(known, [(5, 4)], 2)
    assert [window.tolist() for _, window in found] == [[-2, 0, 3, 4], [0, 0, 5, 4]]


def test_of_shapes_that_would_do_as_well_the_one_nearest_to_a_square_comes_first():
    known = np.array([(x, y) for x in range(3) for y in range(4)])
    shapes = [tuple(np.ptp(window.reshape(2, 2), axis=0)) for _, window in windows(known, shapes_of(24), 4)]
    assert shapes == [(4, 6), (4, 6), (6, 4), (6, 4)]


@given(scattered())
def test_a_window_holds_what_it_is_said_to_hold_and_has_its_shape(case):
    positions, shapes = case
    found = windows(np.array(positions), shapes, 8)
    for share, window in found:
        assert share == reference_search.held_by(positions, window.tolist()) / len(positions)
        left, top, right, bottom = window.tolist()
        assert (right - left, bottom - top) in shapes
        assert reference_search.no_more_beyond_than_need_be(positions, window.tolist())
    assert len({tuple(window.tolist()) for _, window in found}) == len(found)


def test_a_complete_rectangle_is_its_own_window():
    positions = np.array([(x, y) for x in range(-3, 3) for y in range(10, 14)])
    (share, window), *_ = windows(positions, shapes_of(24), 2)
    assert share == 1
    assert window.tolist() == [-3, 10, 3, 14]


def test_a_large_assembly_with_more_than_64_places_a_piece_in_its_box_has_no_window(monkeypatch):
    assert len(windows(np.array([(0, 0), (15, 8)]), [(16, 9)], 2)) == 1  # small ones are always looked at
    monkeypatch.setattr("jigsaw.frame._MOST", 1)
    assert len(windows(np.array([(0, 0), (15, 7)]), [(16, 8)], 2)) == 1
    assert windows(np.array([(0, 0), (15, 8)]), [(16, 9)], 2) == []
    diagonal = np.array([(i, i) for i in range(100)])
    assert windows(diagonal, shapes_of(100), 2) == []


# --- The solid part -----------------------------------------------------------------------------------


@given(SEEDS, st.sampled_from([0.0, 0.3]), st.floats(0, 1))
def test_the_solid_part_is_the_largest_that_strong_contacts_hold_together(seed, away, threshold):
    layout = random_layout(seed, 20, 6, away)
    relations = placed_relations(layout)
    contact = np.full(80, -1, np.float32)
    rng = np.random.default_rng(seed)
    for e, f in reference.relations_in(relations):
        contact[[e, f]] = rng.random()
    strong = {(e, f) for e, f in reference.relations_in(relations) if contact[e] > threshold}
    placed = layout[:, 2] >= 0
    parts = reference_search.segments(dict.fromkeys(np.flatnonzero(placed).tolist()), strong)
    solid = set(np.flatnonzero(solid_part(relations, contact, threshold, placed)).tolist())
    assert solid in parts
    assert len(solid) == max(map(len, parts))


def test_of_two_blocks_that_touch_weakly_the_larger_is_solid():
    layout = np.array([[x, 0, 0] for x in range(5)])
    contact = np.full(20, -1, np.float32)
    for piece, strength in enumerate([9, 1, 9, 9]):  # between a piece and the next
        contact[[4 * piece + 1, 4 * piece + 7]] = strength
    everything = np.ones(5, bool)
    solid = solid_part(placed_relations(layout), contact, 5, everything)
    assert solid.tolist() == [False, False, True, True, True]


# --- Room for all -------------------------------------------------------------------------------------


@given(SEEDS, st.integers(1, 30), st.sampled_from([0.0, 0.5, 0.9]))
def test_a_roomy_window_holds_what_is_placed_and_has_a_place_for_every_piece(seed, pieces, away):
    layout = random_layout(seed, pieces, 6, away)
    layout[0, 2] = 0  # at least one is placed
    left, top, right, bottom = roomy_window(layout).tolist()
    placed = layout[layout[:, 2] >= 0]
    assert reference_search.held_by(placed[:, :2].tolist(), (left, top, right, bottom)) == len(placed)
    assert (right - left) * (bottom - top) >= pieces
    box = [*placed[:, :2].min(axis=0).tolist(), *(placed[:, :2].max(axis=0) + 1).tolist()]
    if [left, top, right, bottom] != box:  # a window by one smaller all around would not do
        assert (right - left - 2) * (bottom - top - 2) < pieces


@pytest.mark.parametrize("away", [3, 5])
def test_a_roomy_window_grows_evenly_around_what_is_placed(away):
    layout = np.array([[7, 9, 0]] + [[0, 0, -1]] * away)
    assert roomy_window(layout).tolist() == [6, 8, 9, 11]


# --- Boxes that are filled ----------------------------------------------------------------------------


@given(width=st.integers(1, 6), height=st.integers(1, 6), x=st.integers(-9, 9), y=st.integers(-9, 9))
def test_pieces_that_fill_a_rectangle_have_it_for_a_box(width, height, x, y):
    layout = np.array([[x + i % width, y + i // width, i % 4] for i in range(width * height)], np.int32)
    np.testing.assert_array_equal(filled_box(layout), [x, y, x + width, y + height])


def test_pieces_with_a_gap_or_one_that_is_away_fill_no_box():
    whole = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], np.int32)
    assert filled_box(whole) is not None
    assert filled_box(whole[:3]) is None
    whole[2, 2] = -1
    assert filled_box(whole) is None
