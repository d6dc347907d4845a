"""Sizes and shapes at which something might overflow."""

import numpy as np
import pytest

import jigsaw
from jigsaw.geometry import relations_of
from jigsaw.presets import settings_of
from jigsaw.synthetic import picture


@pytest.mark.parametrize(
    ("rows", "columns", "piece_size", "population"),
    [(184, 181, 4, 5), (1, 5_000, 6, 20), (5_000, 1, 6, 20)],
    ids=["more pieces than 16 bits can number", "one row", "one column"],
)
def test_a_large_or_long_puzzle_is_cut_compared_solved_drawn_and_scored(
    rows, columns, piece_size, population
):
    bag, truth = jigsaw.cut([picture(rows, columns, piece_size)], piece_size)
    assert len(bag) == rows * columns
    edges = jigsaw.compare(bag, neighbors=2, workers=2)
    settings = settings_of("paper").changed(population=population, generations=2)
    solution = jigsaw.solve(edges, settings=settings, workers=2)
    assert len(np.unique(solution.layout[:, :2], axis=0)) == len(bag)
    np.testing.assert_array_equal(solution.relations, relations_of(solution.layout))
    scores = jigsaw.evaluate(solution, truth, bag)
    chance = 1 / len(bag)
    assert scores["neighbor"] > 1_000 * chance
    if len(bag) <= 5_000:
        assert jigsaw.draw(solution, bag).shape[2] == 3


def test_a_generated_picture_has_no_two_pieces_alike_and_is_the_same_for_the_same_seed():
    one, again, other = picture(9, 7, 14), picture(9, 7, 14), picture(9, 7, 14, seed=1)
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
    bag, truth = jigsaw.cut([one], 14)
    true = jigsaw.evaluate(jigsaw.solve(jigsaw.compare(bag)), truth, bag)
    assert true["ceiling"] == 1
