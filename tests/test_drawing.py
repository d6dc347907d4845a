"""What the drawn picture of an assembly shows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from puzzles import cut_noise, noise, patchwork, photograph, solution_of, true_layout, turned_layout, whole
from reference_scores import turned

from jigsaw.drawing import (
    BACKGROUND,
    MARKS,
    colour_of,
    draw,
    draw_errors,
    draw_images,
    draw_layout,
    draw_original,
    save_images,
    shrunk,
)
from jigsaw.errors import JigsawError
from jigsaw.images import read_image, write_image
from jigsaw.mistakes import HARMLESS, WRONG
from jigsaw.pieces import cut


@given(rows=st.integers(1, 5), columns=st.integers(1, 5), size=st.integers(2, 6), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_the_true_layout_drawn_is_the_image(rows, columns, size, seed):
    picture = noise(rows * size, columns * size, seed)
    bag, truth = cut([picture], size, seed)
    np.testing.assert_array_equal(draw(solution_of(true_layout(truth), bag), bag), picture)


@pytest.mark.parametrize("turns", range(4))
def test_an_assembly_turned_as_a_whole_is_the_image_turned(turns):
    picture = photograph(3, 4)
    bag, truth = cut([picture])
    drawn = draw(solution_of(turned_layout(true_layout(truth), turns), bag), bag)
    np.testing.assert_array_equal(drawn, turned(picture, turns))


def test_each_piece_is_drawn_where_it_lies_as_it_lies():
    bag, _ = cut_noise(1, 3)
    a, b, c = bag.pixels
    blank = np.full_like(a, 0) + np.array(BACKGROUND, np.uint8)
    drawn = draw(solution_of([[0, 0, 1], [2, 0, 0], [1, 1, 3]], bag), bag)
    expected = patchwork([[turned(a, 1), blank, b], [blank, turned(c, 3), blank]])
    np.testing.assert_array_equal(drawn, expected)


def test_images_of_a_mixed_bag_are_drawn_apart_as_they_lie():
    first, second = noise(8, 8, 1), noise(8, 8, 2)
    bag, truth = cut([first, second], 4)
    layout = true_layout(truth)
    layout[:, 0] -= 997 * truth.places[:, 0]
    drawn = draw(solution_of(layout, bag), bag)
    assert drawn.shape == (8, 20, 3)
    np.testing.assert_array_equal(drawn[:, :8], first)
    np.testing.assert_array_equal(drawn[:, 8:12], np.broadcast_to(BACKGROUND, (8, 4, 3)))
    np.testing.assert_array_equal(drawn[:, 12:], second)


def test_the_layouts_of_early_generations_can_be_drawn():
    bag, truth = cut_noise(2, 2)
    solution = solution_of(true_layout(truth), bag)
    np.testing.assert_array_equal(draw_layout(solution.snapshots[0], bag.pixels), draw(solution, bag))


def test_pieces_of_another_puzzle_are_refused():
    (bag, truth), (other, _) = cut_noise(2, 3, seed=0), cut_noise(2, 3, seed=1)
    with pytest.raises(JigsawError, match="not one of these pieces"):
        draw(solution_of(true_layout(truth), bag), other)


def test_a_drawn_picture_written_as_png_is_the_image(tmp_path):
    picture = photograph(2, 3)
    bag, truth = cut([picture])
    write_image(tmp_path / "assembled.png", draw(solution_of(true_layout(truth), bag), bag))
    np.testing.assert_array_equal(read_image(tmp_path / "assembled.png"), picture)


# -- coloured by origin ----------------------------------------------------------------------------------


def grey_bag(shapes, size=28):
    """Return the bag and the truth of grey images, and their layout side by side, touching."""
    pictures = [np.full((rows * size, columns * size, 3), 100, np.uint8) for rows, columns in shapes]
    bag, truth = cut(pictures, size)
    layout = true_layout(truth)
    firsts = np.cumsum([0, *(columns for _, columns in shapes)])[truth.places[:, 0]]
    layout[:, 0] += firsts - 1000 * truth.places[:, 0]
    return bag, truth, layout


def test_pieces_have_the_tint_of_their_image_and_an_outline_where_it_ends():
    bag, truth, layout = grey_bag([(2, 2), (2, 1)])
    drawn = draw(solution_of(layout, bag), bag, truth)
    assert drawn.shape == (56, 84, 3)
    first, second = (np.array(colour_of(image)) for image in (0, 1))
    for x, colour in ((14, first), (42, first), (70, second)):
        mixed = 100 * 0.6 + 0.4 * colour
        for y in (14, 27, 28, 42):  # inside an image there is no line
            np.testing.assert_allclose(drawn[y, x], mixed, atol=1.5)
    np.testing.assert_allclose(drawn[14, 28], 100 * 0.6 + 0.4 * first, atol=1.5)
    for x, colour in ((54, first), (55, first), (56, second), (57, second), (0, first), (83, second)):
        np.testing.assert_array_equal(drawn[14, x], colour)
    for y in (0, 55):
        np.testing.assert_array_equal(drawn[y, 20], first)
        np.testing.assert_array_equal(drawn[y, 70], second)
    np.testing.assert_allclose(drawn[14, 53], 100 * 0.6 + 0.4 * first, atol=1.5)


def test_a_foreign_piece_is_outlined_on_all_sides_however_it_is_turned():
    bag, truth, layout = grey_bag([(3, 3), (1, 1)])
    centre = np.flatnonzero((layout[:, 0] == 1) & (layout[:, 1] == 1))[0]
    stray = np.flatnonzero(truth.places[:, 0] == 1)[0]
    layout[[centre, stray]] = layout[[stray, centre]]
    layout[stray, 2] = 1
    drawn = draw(solution_of(layout, bag), bag, truth)
    for x, y in ((28, 42), (55, 42), (42, 28), (42, 55)):
        np.testing.assert_array_equal(drawn[y, x], colour_of(1))
    for x, y in ((27, 42), (56, 42), (42, 27), (42, 56)):
        np.testing.assert_array_equal(drawn[y, x], colour_of(0))


def test_the_picture_can_still_be_seen_through_the_tint():
    bag, truth = cut([photograph(3, 4)])
    drawn = draw(solution_of(true_layout(truth), bag), bag, truth)[4:-4, 4:-4].astype(float)
    plain = photograph(3, 4)[4:-4, 4:-4].astype(float)
    assert np.corrcoef(drawn.ravel(), plain.ravel())[0, 1] > 0.7


def test_colours_of_twenty_images_can_be_told_apart():
    colours = np.array([colour_of(image) for image in range(20)], float)
    distances = np.abs(colours[:, None] - colours[None]).sum(axis=2)
    assert distances[~np.eye(20, dtype=bool)].min() > 60
    few = distances[:5, :5]
    assert few[~np.eye(5, dtype=bool)].min() > 140


def test_the_truth_of_another_puzzle_is_refused():
    (bag, truth), (_, other) = cut_noise(2, 3, seed=0), cut_noise(2, 3, seed=1)
    with pytest.raises(JigsawError, match="truth is not that of these pieces"):
        draw(solution_of(true_layout(truth), bag), bag, other)


# -- errors, the original, large puzzles ---------------------------------------------------------------------


def test_errors_are_marked_where_they_are_and_nowhere_else():
    size = 28
    bag, truth = cut([100 + noise(3 * size, 4 * size) // 16], size)
    layout = true_layout(truth)
    a, b = (np.flatnonzero((layout[:, :2] == place).all(axis=1))[0] for place in ((0, 0), (3, 2)))
    layout[[a, b]] = layout[[b, a]]
    drawn = draw_errors(solution_of(layout, bag), bag, truth).astype(int)
    red = drawn[..., 0] - drawn[..., 1:].max(axis=2) > 20
    tiles = red.reshape(3, size, 4, size).swapaxes(1, 2)
    inside = tiles[:, :, 4:-4, 4:-4].mean(axis=(2, 3))
    assert (inside > 0.9).sum() == 2
    assert inside[0, 0] > 0.9
    assert inside[2, 3] > 0.9
    assert (inside < 0.01).sum() == 10
    np.testing.assert_array_equal(drawn[10, 27], MARKS[WRONG])  # the line to the piece on the right
    np.testing.assert_array_equal(drawn[10, 28], MARKS[WRONG])
    assert (drawn[10, 0] != MARKS[WRONG]).any()  # nothing is beside it


def test_identical_pieces_exchanged_have_a_colour_of_their_own():
    tile = noise(28, 28)
    tiles = [[tile, noise(28, 28, 1)], [noise(28, 28, 2), noise(28, 28, 3)], [noise(28, 28, 4), tile]]
    bag, truth = whole(tiles)
    layout = true_layout(truth)
    a, b = (np.flatnonzero((layout[:, :2] == place).all(axis=1))[0] for place in ((0, 0), (1, 2)))
    layout[[a, b], :2] = layout[[b, a], :2]
    drawn = draw_errors(solution_of(layout, bag), bag, truth)
    np.testing.assert_array_equal(drawn[10, 27], MARKS[HARMLESS])
    assert not (drawn == MARKS[WRONG]).all(axis=2).any()


def test_the_original_is_drawn_from_the_pieces():
    first, second = noise(8, 8, 1), noise(8, 12, 2)
    bag, truth = cut([first, second], 4)
    drawn = draw_original(bag, truth)
    np.testing.assert_array_equal(drawn[:, :8], first)
    np.testing.assert_array_equal(drawn[:, 12:], second)


def test_errors_of_another_puzzle_are_not_drawn():
    (bag, truth), (_, other) = cut_noise(2, 3, seed=0), cut_noise(2, 3, seed=1)
    with pytest.raises(JigsawError, match="truth is not that of these pieces"):
        draw_errors(solution_of(true_layout(truth), bag), bag, other)


@given(size=st.integers(1, 11))
@settings(max_examples=11, deadline=None)
def test_pieces_are_scaled_down_each_by_itself(size):
    pieces = np.arange(0, 250, 5, np.uint8)[:, None, None, None] + np.zeros((1, 10, 10, 3), np.uint8)
    small = shrunk(pieces, size)
    assert small.shape == (50, min(size, 10), min(size, 10), 3)
    assert (small == pieces[:, :1, :1]).all()


def test_pieces_scaled_down_by_a_whole_number_are_averages_of_blocks():
    pieces = noise(12 * 5, 12).reshape(5, 12, 12, 3)
    blocks = pieces.reshape(5, 4, 3, 4, 3, 3).mean(axis=(2, 4))
    np.testing.assert_allclose(shrunk(pieces, 4), blocks, atol=1)


@pytest.mark.parametrize("longest", [100, 30, 7])
def test_a_picture_is_no_longer_than_asked_for(longest):
    bag, truth = cut_noise(3, 8)
    height, width, _ = draw(solution_of(true_layout(truth), bag), bag, longest=longest).shape
    assert width <= longest
    assert height <= width


# -- taken apart -----------------------------------------------------------------------------------------


def three_images():
    """Return three pictures, their bag, and a solution in which they touch and are told apart."""
    pictures = [noise(8, 8, 1), noise(12, 16, 2), noise(8, 12, 3)]
    bag, truth = cut(pictures, 4)
    layout = true_layout(truth)
    layout[:, 0] -= 996 * truth.places[:, 0]
    image = np.array([2, 0, 5], np.int32)[truth.places[:, 0]]
    return pictures, bag, truth, solution_of(layout, bag, image=image)


def test_each_separate_image_is_drawn_by_itself_the_largest_first():
    (small, large, middle), bag, _, solution = three_images()
    drawn = draw_images(solution, bag)
    assert len(drawn) == 3
    for picture, expected in zip(drawn, (large, middle, small), strict=True):
        np.testing.assert_array_equal(picture, expected)


def test_images_not_told_apart_are_one():
    bag, truth = cut_noise(2, 3)
    solution = solution_of(true_layout(truth), bag)
    (picture,) = draw_images(solution, bag)
    np.testing.assert_array_equal(picture, draw(solution, bag))


def test_separate_images_can_be_coloured_too():
    _, bag, truth, solution = three_images()
    corners = [tuple(picture[0, 0].tolist()) for picture in draw_images(solution, bag, truth)]
    assert corners == [colour_of(1), colour_of(2), colour_of(0)]


def test_separate_images_replace_those_of_an_earlier_run_and_nothing_else(tmp_path):
    pictures = [noise(4, 4, seed) for seed in range(3)]
    save_images(tmp_path / "images", pictures)
    (tmp_path / "images" / "image-of-mine.png").write_bytes(b"mine")
    save_images(tmp_path / "images", pictures[:1])
    left = sorted(path.name for path in (tmp_path / "images").iterdir())
    assert left == ["image-1.png", "image-of-mine.png"]
    np.testing.assert_array_equal(read_image(tmp_path / "images" / "image-1.png"), pictures[0])
