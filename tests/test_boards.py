"""Boards: which parts of an assembly may be pictures, and the rectangles they must be."""

import itertools

import numpy as np
import pytest
import reference
import reference_search
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_search import random_layout

from jigsaw.boards import (
    SPACING,
    board_windows,
    by_size,
    cores_of,
    fit_windows,
    misfit_of,
    pack,
    split,
    spread,
    windows_of,
    within,
)
from jigsaw.geometry import placed_relations

SEEDS = st.integers(0, 2**32 - 1)


def strengths(layout, seed, strong=0.7, weak=0.0):
    """What every edge gains from the edge it touches, -1 for none: mostly near 1, sometimes near `weak`."""
    rng = np.random.default_rng(seed)
    contact = np.full(4 * len(layout), -1, np.float32)
    for e, f in reference.relations_in(placed_relations(layout)):
        contact[[e, f]] = (1 if rng.random() < strong else weak) + 0.1 * rng.random()
    return contact


def gains_of_edges(contact):
    return {e: float(gain) for e, gain in enumerate(contact) if gain >= 0}


def placed(layout):
    return {p: place for p, place in reference.group_in(layout).items() if place[2] >= 0}


def block(width, height, x=0, y=0):
    """A full rectangle of pieces, not turned."""
    return np.array([[x + i % width, y + i // width, 0] for i in range(width * height)], np.int32)


def blocks(*shapes, apart=3):
    """Full rectangles side by side, and their windows."""
    layouts, windows, x = [], [], -5
    for width, height in shapes:
        layouts.append(block(width, height, x, 2))
        windows.append([x, 2, x + width, 2 + height])
        x += width + apart
    return np.concatenate(layouts), np.array(windows, np.int32)


def do_not_touch(one, two):
    """Whether there is at least one place between two windows, across or down."""
    return one[2] < two[0] or two[2] < one[0] or one[3] < two[1] or two[3] < one[1]


def all_apart(windows):
    return all(do_not_touch(one, two) for one, two in itertools.combinations(np.asarray(windows).tolist(), 2))


def shape_of(layout):
    """A layout without where it is: what must not change when it is moved."""
    moved = layout.copy()
    moved[:, :2] -= layout[0, :2]
    return moved.tolist()


# --- Cores --------------------------------------------------------------------------------------------


@given(SEEDS, st.integers(4, 40), st.sampled_from([0.0, 0.2]), st.sampled_from([0.6, 0.85, 1.0]))
def test_cores_are_what_squares_of_four_strong_contacts_hold_together(seed, pieces, away, strong):
    layout = random_layout(seed, pieces, 7, away)
    contact = strengths(layout, seed, strong)
    core = cores_of(layout, placed_relations(layout), contact, 0.5)
    expected = reference_search.cores(placed(layout), gains_of_edges(contact), 0.5)
    found = [set(np.flatnonzero(core == i).tolist()) for i in range(core.max() + 1)]
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))
    assert [len(part) for part in found] == [len(part) for part in expected]  # the largest first
    assert set(core.tolist()) <= {-1, *range(len(expected))}


def test_one_strong_contact_does_not_make_two_squares_one_core():
    layout = np.concatenate([block(2, 2), block(2, 2, x=2)])
    contact = np.where(placed_relations(layout) >= 0, np.float32(1), np.float32(-1))
    assert len(set(cores_of(layout, placed_relations(layout), contact, 0.5).tolist())) == 1
    contact[[4 * 1 + 1, 4 * 4 + 3]] = 0.1  # one of the two contacts between them
    core = cores_of(layout, placed_relations(layout), contact, 0.5)
    assert core.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("row", [0, 3, 8])
def test_two_strong_contacts_on_a_weak_line_do_not_make_two_pictures_one_core(row):
    layout = np.concatenate([block(6, 10), block(6, 10, x=6)])
    relations = placed_relations(layout)
    contact = np.where(relations >= 0, np.float32(1), np.float32(-1))
    between = [4 * (6 * y + 5) + 1 for y in range(10)]
    weak = [e for y, e in enumerate(between) if y not in (row, row + 1)]
    contact[weak] = contact[relations[weak]] = 0.05
    assert cores_of(layout, relations, contact, 0.6).tolist() == [0] * 60 + [1] * 60


@pytest.mark.parametrize("side", [0, 1, 2, 3])
def test_a_square_needs_all_of_its_four_contacts(side):
    layout = block(2, 2)
    relations = placed_relations(layout)
    contact = np.where(relations >= 0, np.float32(1), np.float32(-1))
    edge = [1, 6, 15, 8][side]  # right of the first, below the second, left of the last, above the third
    assert relations[edge] >= 0
    contact[[edge, relations[edge]]] = 0.5
    assert cores_of(layout, relations, contact, 0.5).tolist() == [-1] * 4
    assert cores_of(layout, relations, contact, 0.4).tolist() == [0] * 4


def test_a_strip_has_no_core():
    layout = block(9, 1)
    contact = np.where(placed_relations(layout) >= 0, np.float32(1), np.float32(-1))
    assert cores_of(layout, placed_relations(layout), contact, 0.5).tolist() == [-1] * 9


@given(st.lists(st.integers(-3, 6), min_size=1, max_size=40))
def test_labels_are_numbered_by_how_many_have_them(labels):
    numbers = by_size(np.array(labels)).tolist()
    pairs = set(zip(labels, numbers, strict=True))
    assert len(pairs) == len(set(labels)) == len(set(numbers))
    assert sorted(set(numbers)) == list(range(len(pairs)))
    ordered = sorted(pairs, key=lambda pair: pair[1])
    assert [label for label, _ in ordered] == sorted(set(labels), key=lambda v: (-labels.count(v), v))


# --- Boards -------------------------------------------------------------------------------------------


@given(st.integers(1, 40))
def test_boards_never_touch_and_have_room_for_anything(count):
    windows = board_windows(count)
    assert windows.shape == (count, 4)
    assert all_apart(windows)
    assert (windows[:, 2:] - windows[:, :2] >= SPACING - 1).all()


@given(SEEDS, st.integers(8, 40), st.integers(1, 4), st.sampled_from([0.0, 0.3]))
def test_cores_are_laid_out_on_boards_and_the_rest_off_them_all_as_they_lay(seed, pieces, count, away):
    layout = random_layout(seed, pieces, 7, away)
    core = np.random.default_rng(seed).integers(-1, count + 1, pieces)
    core[:count] = range(count)
    before = layout.copy()
    moved = spread(layout, core, count)
    np.testing.assert_array_equal(layout, before)
    on = np.where(core < count, core, -1)
    for i in range(-1, count):
        if (on == i).any():
            assert shape_of(moved[on == i]) == shape_of(layout[on == i])
    everywhere = moved.copy()
    everywhere[:, 2] = 0  # pieces that are away move too
    for i, window in enumerate(board_windows(count)):
        np.testing.assert_array_equal(within(everywhere, window), on == i)
        middle = np.median(moved[on == i, :2], axis=0)
        assert (np.abs(middle - (window[:2] + window[2:]) / 2) <= 1).all()


# --- Windows ------------------------------------------------------------------------------------------


@st.composite
def on_boards(draw):
    """A few pieces on each of some boards, and some on none."""
    places = st.tuples(st.integers(0, 2), st.integers(0, 2))
    boards = draw(st.lists(st.lists(places, max_size=7, unique=True), min_size=1, max_size=3))
    low = draw(st.tuples(st.integers(-4, 4), st.integers(-4, 4)))
    boards = [[(x + low[0], y + low[1]) for x, y in board] for board in boards]
    return boards, draw(st.integers(0 if any(boards) else 1, 3))


def layout_of(boards, loose):
    layout = [[x + SPACING * i, y, 0] for i, board in enumerate(boards) for x, y in board]
    return np.array([*layout, *([i, 4 * SPACING, 1] for i in range(loose))], np.int32)


@settings(max_examples=60)
@given(on_boards())
def test_windows_fit_as_well_as_any_whose_areas_add_up_for_every_number_of_them(case):
    boards, loose = case
    layout = layout_of(boards, loose)
    found = fit_windows(layout, len(boards))
    least = reference_search.least_misfits(boards, len(layout))
    assert {windows.shape[1]: misfit for misfit, windows in found} == least
    for misfit, windows in found:
        for side in windows.tolist():
            assert sum(map(reference_search.area, side)) == len(layout)
            assert all_apart(side)
            assert len({(window[0] + SPACING // 2) // SPACING for window in side}) == len(side)
            inside = sum(within(layout, window).sum() for window in side)
            assert misfit == (len(layout) - inside) * 2 - loose


@settings(max_examples=60)
@given(on_boards())
def test_of_windows_that_hold_as_much_the_first_and_the_last_are_given(case):
    boards, loose = case
    layout = layout_of(boards, loose)
    for _, (first, last) in fit_windows(layout, len(boards)):
        for one, two in zip(first.tolist(), last.tolist(), strict=True):
            i = (one[0] + SPACING // 2) // SPACING
            size = (one[2] - one[0], one[3] - one[1])
            assert size == (two[2] - two[0], two[3] - two[1])
            board = [(x + SPACING * i, y) for x, y in boards[i]]
            there = {
                window: held
                for window, held in reference_search.windows_on_board(board).items()
                if (window[2] - window[0], window[3] - window[1]) == size
            }
            best = [window for window, held in there.items() if held == max(there.values())]
            assert tuple(one) == min(best, key=lambda window: (window[1], window[0]))
            assert tuple(two) == max(best, key=lambda window: (window[1], window[0]))


def test_complete_rectangles_are_their_own_windows():
    boards = [[(x, y) for x in range(4) for y in range(3)], [(x, y) for x in range(2) for y in range(5)]]
    ((misfit, both),) = fit_windows(layout_of(boards, 0), 2)  # no single window has 22 places
    assert misfit == 0
    expected = [[0, 0, 4, 3], [SPACING, 0, SPACING + 2, 5]]
    assert both.tolist() == [expected, expected]


def test_a_rectangle_of_which_a_row_is_missing_may_have_it_above_or_below():
    board = [(x, y) for x in range(5) for y in range(4)]
    ((misfit, windows),) = fit_windows(layout_of([board], 5), 1)
    assert misfit == 5
    assert windows.tolist() == [[[0, -1, 5, 4]], [[0, 0, 5, 5]]]


def test_boards_without_anything_to_fit_have_no_windows():
    assert fit_windows(layout_of([[]], 4), 1) == []
    diagonal = [(40 * i, 40 * i) for i in range(8)]  # far too sparse
    assert fit_windows(layout_of([diagonal], 0), 1) == []


def test_a_piece_that_is_away_takes_no_place_but_needs_one():
    layout = layout_of([[(x, y) for x in range(3) for y in range(3)]], 0)
    layout[4, 2] = -1
    ((misfit, windows),) = fit_windows(layout, 1)
    assert misfit == 1
    assert windows.tolist() == [[[0, 0, 3, 3]]] * 2


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-9, -5)), min_size=1, max_size=14, unique=True))
def test_the_misfit_is_that_of_the_best_window(positions):
    expected = min(reference_search.misfits(positions, 2 * len(positions)).values(), default=np.inf)
    assert misfit_of(np.array(positions)) == expected


def test_a_rectangle_fits_and_nothing_does_not():
    assert misfit_of(block(7, 4, 3, -9)[:, :2]) == 0
    assert misfit_of(block(7, 4)[1:, :2]) == 1  # a corner is missing
    assert misfit_of(np.concatenate([block(7, 4), block(1, 1, 7)])[:, :2]) == 1  # one sticks out
    assert misfit_of(np.empty((0, 2), np.int32)) == np.inf


@given(SEEDS, st.sampled_from([0.0, 0.4]), st.integers(-3, 3), st.integers(-3, 3))
def test_a_piece_lies_within_a_window_from_its_first_to_before_its_end(seed, away, x, y):
    layout = random_layout(seed, 20, 6, away)
    window = (x, y, x + 3, y + 4)
    expected = [
        turn >= 0 and reference_search.held_by([(x, y)], window) == 1 for x, y, turn in layout.tolist()
    ]
    assert within(layout, window).tolist() == expected


def test_windows_are_numbered_by_their_pieces_the_fullest_first():
    layout, windows = blocks((2, 2), (4, 3), (3, 3))
    expected = [2] * 4 + [0] * 12 + [1] * 9
    assert windows_of(layout, windows).tolist() == expected
    assert windows_of(layout, windows[[1, 2, 0]]).tolist() == expected
    assert windows_of(layout, board_windows(1)).tolist() == [0] * 25


# --- Taking windows apart -----------------------------------------------------------------------------


def at_corner(group):
    """A group without where it is."""
    low = [min(place[axis] for place in group.values()) for axis in (0, 1)]
    return sorted(reference.shifted(group, -low[0], -low[1]).items())


@st.composite
def frames(draw):
    """Full rectangles in windows of their own, randomly turned pieces, contacts strong but on some lines."""
    side = st.integers(1, 6)
    shapes = draw(st.lists(st.tuples(side, side), min_size=1, max_size=3))
    layout, windows = blocks(*shapes, apart=15)
    rng = np.random.default_rng(draw(SEEDS))
    layout[:, 2] = rng.integers(0, 4, len(layout))
    return layout, windows, strengths(layout, rng.integers(2**32), draw(st.sampled_from([0.5, 0.7, 0.95])))


@given(frames(), st.sampled_from([0.02, 0.4, 0.6, 2.0]), st.sampled_from([1, 3, 4.5, 9]))
def test_windows_are_taken_apart_along_lines_that_gain_no_more_than_by_chance(case, chance, least):
    layout, windows, contact = case
    before = layout.copy()
    moved, parts = split(layout, windows, placed_relations(layout), contact, chance, least)
    np.testing.assert_array_equal(layout, before)
    group, gains = placed(layout), gains_of_edges(contact)
    expected = [
        part
        for window in windows.tolist()
        for part in reference_search.taken_apart(group, gains, tuple(window), chance, least)
    ]
    after = placed(moved)
    found = [{p: after[p] for p in np.flatnonzero(within(moved, part)).tolist()} for part in parts]
    assert sorted(map(at_corner, found)) == sorted(map(at_corner, expected))
    assert all_apart(parts)
    for part, pieces in zip(parts.tolist(), found, strict=True):
        assert reference_search.area(part) == len(pieces)  # frames stay full
        assert len({place[:2] for place in pieces.values()}) == len(pieces)
    for window, pieces in zip(windows.tolist(), found, strict=False):  # at least a part of each stays
        assert any(after[p] == group[p] for p in pieces)
        assert all(reference_search.held_by([group[p][:2]], window) for p in pieces)


def test_a_window_without_a_weak_line_stays_and_a_piece_has_no_lines():
    layout, windows = blocks((5, 4), (1, 1))
    contact = strengths(layout, 1, strong=1.0)
    moved, parts = split(layout, windows, placed_relations(layout), contact, 0.9, 1)
    np.testing.assert_array_equal(moved, layout)
    np.testing.assert_array_equal(parts, windows)


def held_but_for(layout, pieces, side):
    """Contacts that are strong, but for those of one side of some pieces."""
    relations = placed_relations(layout)
    contact = np.where(relations >= 0, np.float32(9), np.float32(-1))
    line = 4 * np.asarray(pieces) + side
    contact[line] = contact[relations[line]] = 0
    return relations, contact


def test_a_weak_line_takes_a_window_apart_but_a_weak_part_of_a_line_does_not():
    layout, windows = blocks((6, 4))
    third_row = np.flatnonzero(layout[:, 1] == 4)
    _, parts = split(layout, windows, *held_but_for(layout, third_row[:3], 0), 2.0, 9)
    np.testing.assert_array_equal(parts, windows)
    moved, parts = split(layout, windows, *held_but_for(layout, third_row, 0), 2.0, 9)
    far = layout[:, 1] >= 4
    assert parts.tolist() == [[-5, 2, 1, 4], [1 + SPACING, 4, 7 + SPACING, 6]]
    np.testing.assert_array_equal(moved[~far], layout[~far])
    np.testing.assert_array_equal(moved[far], layout[far] + (6 + SPACING, 0, 0))


def test_a_part_too_small_for_an_image_belongs_beyond_the_other_end():
    """A row of six pieces at the bottom, two columns of four at the left: below least, at 9."""
    layout, windows = blocks((6, 4))
    bottom, left = layout[:, 1] == 5, layout[:, 0] < -3
    moved, parts = split(layout, windows, *held_but_for(layout, np.flatnonzero(bottom), 0), 2.0, 9)
    assert parts.tolist() == [[-5, 1, 1, 5]]
    np.testing.assert_array_equal(moved, layout - np.outer(bottom, [0, 4, 0]))
    line = held_but_for(layout, np.flatnonzero(layout[:, 0] == -3), 3)
    moved, parts = split(layout, windows, *line, 2.0, 9)
    assert parts.tolist() == [[-3, 2, 3, 6]]
    np.testing.assert_array_equal(moved, layout + np.outer(left, [6, 0, 0]))
    assert len(split(layout, windows, *line, 2.0, 8)[1]) == 2  # eight are enough


def test_a_line_that_gains_just_what_chance_does_is_weak():
    layout, windows = blocks((2, 3))
    contact = np.where(placed_relations(layout) >= 0, np.float32(2), np.float32(-1))
    assert len(split(layout, windows, placed_relations(layout), contact, 1.9, 1)[1]) == 1
    assert len(split(layout, windows, placed_relations(layout), contact, 2.0, 1)[1]) == 6


# --- Packing ------------------------------------------------------------------------------------------


@given(SEEDS, st.integers(1, 40), st.integers(1, 6))
def test_packed_images_do_not_touch_and_are_as_they_were(seed, pieces, images):
    layout = random_layout(seed, pieces, 7)
    image = by_size(np.random.default_rng(seed).integers(0, images, pieces))
    before = layout.copy()
    packed = pack(layout, image)
    np.testing.assert_array_equal(layout, before)
    assert len({(x, y) for x, y, _ in packed.tolist()}) == pieces
    assert packed[:, :2].min(axis=0).tolist() == [0, 0]
    boxes = []
    for i in range(image.max() + 1):
        mine = packed[image == i]
        assert shape_of(mine) == shape_of(layout[image == i])
        boxes.append([*mine[:, :2].min(axis=0), *(mine[:, :2].max(axis=0) + 1)])
    assert all_apart(boxes)


def test_images_are_packed_in_rows_the_tallest_first_with_a_place_between():
    layout, _ = blocks((4, 2), (3, 5), (3, 3), (4, 2), apart=20)
    image = np.repeat(range(4), [8, 15, 9, 8])
    packed = pack(layout, image)
    corners = [packed[image == i, :2].min(axis=0).tolist() for i in range(4)]
    # The tall two make a row, 7 wide; with the next it would be 12, and the images together have 70 places.
    assert corners == [[0, 6], [0, 0], [4, 0], [5, 6]]


def test_one_image_is_moved_to_the_corner_and_a_wide_one_is_not_broken():
    layout = block(9, 1, -30, 7)
    packed = pack(layout, np.zeros(9, np.int32))
    np.testing.assert_array_equal(packed, block(9, 1))
