"""What the drawn picture of an assembly shows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from puzzles import cut_noise, noise, patchwork, photograph, solution_of, true_layout, turned_layout
from reference_scores import turned

from jigsaw.drawing import BACKGROUND, draw, draw_layout
from jigsaw.errors import JigsawError
from jigsaw.images import read_image, write_image
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
