"""What is marked as wrong in an assembly, and that the scores say the same."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from puzzles import cut_noise, noise, solution_of, true_layout, turned_layout, whole

from jigsaw.evaluation import evaluate
from jigsaw.mistakes import HARMLESS, RIGHT, WRONG, find_mistakes
from jigsaw.pieces import cut


def swapped(layout, a, b):
    layout = layout.copy()
    layout[[a, b]] = layout[[b, a]]
    return layout


def piece_at(truth, row, column):
    return int(np.flatnonzero((truth.places[:, 1] == row) & (truth.places[:, 2] == column))[0])


def test_a_perfect_assembly_has_no_mistakes_however_it_is_turned():
    bag, truth = cut_noise(3, 4)
    for turns in range(4):
        found = find_mistakes(solution_of(turned_layout(true_layout(truth), turns), bag), truth, bag)
        assert (found.pieces == RIGHT).all()
        assert (found.edges == RIGHT).all()


def test_two_pieces_exchanged_are_misplaced_and_all_their_relations_wrong():
    bag, truth = cut_noise(3, 4)
    a, b = piece_at(truth, 0, 0), piece_at(truth, 2, 3)
    layout = true_layout(truth)
    layout[[a, b], :2] = layout[[b, a], :2]
    found = find_mistakes(solution_of(layout, bag), truth, bag)
    assert set(np.flatnonzero(found.pieces == WRONG)) == {a, b}
    assert (found.pieces != HARMLESS).all()
    wrong = {e // 4 for e in np.flatnonzero(found.edges)}
    beside = {piece_at(truth, *place) for place in ((0, 1), (1, 0), (2, 2), (1, 3))}
    assert wrong == {a, b} | beside
    assert np.count_nonzero(found.edges == WRONG) == 8  # four relations, two edges each


def test_a_piece_turned_in_its_place_is_misplaced():
    bag, truth = cut_noise(3, 3)
    layout = true_layout(truth)
    centre = piece_at(truth, 1, 1)
    layout[centre, 2] = (layout[centre, 2] + 1) % 4
    found = find_mistakes(solution_of(layout, bag), truth, bag)
    assert np.flatnonzero(found.pieces == WRONG).tolist() == [centre]
    assert np.count_nonzero(found.edges == WRONG) == 8


def test_identical_pieces_exchanged_are_harmless():
    tiles = [noise(4, 4, seed) for seed in range(12)]
    tiles[11] = np.rot90(tiles[0])  # identical but for a turn
    bag, truth = whole([tiles[:4], tiles[4:8], tiles[8:]])
    a, b = piece_at(truth, 0, 0), piece_at(truth, 2, 3)
    layout = true_layout(truth)
    layout[[a, b]] = layout[[b, a]]
    layout[a, 2] = (true_layout(truth)[a, 2] + 3) % 4  # so that it looks like the other
    layout[b, 2] = (true_layout(truth)[b, 2] + 1) % 4
    found = find_mistakes(solution_of(layout, bag), truth, bag)
    assert set(np.flatnonzero(found.pieces == HARMLESS)) == {a, b}
    assert (found.pieces != WRONG).all()
    assert np.count_nonzero(found.edges == HARMLESS) == 8
    assert (found.edges != WRONG).all()


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), kinds=st.integers(1, 12), moves=st.integers(0, 6))
def test_marks_add_up_to_the_scores(seed, kinds, moves):
    rng = np.random.default_rng(seed)
    tiles = [noise(3, 3, kind) for kind in rng.integers(0, kinds, 12)]
    bag, truth = whole([tiles[:4], tiles[4:8], tiles[8:]], seed=seed)
    layout = true_layout(truth)
    for _ in range(moves):
        layout = swapped(layout, *rng.choice(12, 2, replace=False))
    solution = solution_of(layout, bag)
    found, scores = find_mistakes(solution, truth, bag), evaluate(solution, truth, bag)
    touching = solution.relations.reshape(-1) >= 0
    adjacencies = 2 * (3 * 3 + 2 * 4)
    right = np.count_nonzero(touching & (found.edges == RIGHT)) / adjacencies
    harmless = np.count_nonzero(found.edges == HARMLESS) / adjacencies
    assert np.isclose(right, scores["neighbor"])
    assert np.isclose(right + harmless, scores["neighbor_identical"])
    assert np.isclose((found.pieces == RIGHT).mean(), scores["direct"])


def test_pieces_of_another_image_are_wrong_where_images_are_told_apart_or_not():
    bag, truth = cut([noise(8, 8, 1), noise(8, 8, 2)], 4)
    layout = true_layout(truth)
    first, second = (np.flatnonzero(truth.places[:, 0] == i)[0] for i in (0, 1))
    layout[[first, second], :2] = layout[[second, first], :2]
    found = find_mistakes(solution_of(layout, bag), truth, bag)
    assert set(np.flatnonzero(found.pieces == WRONG)) == {first, second}


def test_images_that_touch_but_are_told_apart_have_no_wrong_relation_between_them():
    bag, truth = cut([noise(8, 8, 1), noise(8, 8, 2)], 4)
    layout = true_layout(truth)
    layout[:, 0] -= 998 * truth.places[:, 0]  # side by side
    together, apart = (
        find_mistakes(solution_of(layout, bag, image=image), truth, bag).edges
        for image in (np.zeros(8, np.int32), truth.places[:, 0])
    )
    assert np.count_nonzero(together == WRONG) == 4
    assert (apart == RIGHT).all()
