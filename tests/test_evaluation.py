"""What the scores say of right, wrong, turned, mixed and indistinguishable assemblies."""

import json

import numpy as np
import pytest
import reference_scores
from hypothesis import given, settings
from hypothesis import strategies as st
from puzzles import cut_noise, noise, patchwork, photograph, solution_of, true_layout, turned_layout, whole

import jigsaw
from jigsaw.errors import JigsawError
from jigsaw.evaluation import evaluate
from jigsaw.pieces import cut

SHARES = ("neighbor", "neighbor_identical", "direct")


def tiles(count, size=4):
    """Return so many tiles, no two of them alike."""
    return [noise(size, size, seed=100 + i) for i in range(count)]


def piece_at(truth, row, column, image=0):
    """Return the number of the piece that belongs there."""
    return int(np.flatnonzero((truth.places[:, :3] == (image, row, column)).all(axis=1))[0])


def swapped(layout, p, q):
    """Exchange two pieces, each turned as the other was."""
    layout = layout.copy()
    layout[[p, q]] = layout[[q, p]]
    return layout


def scored(layout, truth, bag):
    return evaluate(solution_of(layout, bag), truth, bag)


def in_place_of(truth, bag, p, q):
    """Return the true layout but for p and q, each lying in the other's place, looking as that did."""
    layout = true_layout(truth)
    for here, there in ((p, q), (q, p)):
        x, y, turn = true_layout(truth)[there]
        looks = reference_scores.turned(bag.pixels[there], int(turn))
        fitting = [r for r in range(4) if np.array_equal(reference_scores.turned(bag.pixels[here], r), looks)]
        layout[here] = (x, y, fitting[0])
    return layout


# -- right -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 5), (5, 1), (2, 2), (4, 6)])
@pytest.mark.parametrize("turns", range(4))
def test_the_true_layout_turned_as_a_whole_is_perfect(rows, columns, turns):
    bag, truth = cut_noise(rows, columns, seed=3)
    scores = scored(turned_layout(true_layout(truth), turns), truth, bag)
    assert [scores[key] for key in SHARES] == [1, 1, 1]
    assert scores["perfect"] is True
    assert scores["pixel_perfect"] is True
    assert scores["ceiling"] == 1
    assert (scores["pieces"], scores["images"]) == (rows * columns, 1)


def test_a_solved_photograph_is_scored_and_says_how_it_was_made():
    bag, truth = cut([photograph(3, 4)], seed=4)
    few = jigsaw.PRESETS["paper"].changed(population=30, generations=5)
    solution = jigsaw.solve(jigsaw.compare(bag), "quick", few, seed=6)
    scores = evaluate(solution, truth, bag)
    expected = reference_scores.scores(solution.layout, truth, bag.pixels)
    assert {key: scores[key] for key in expected} == expected
    assert scores["neighbor"] > 0.5
    assert scores["preset"] == "quick"
    assert (scores["seed"], scores["cut_seed"], scores["piece_size"]) == (6, 4, 28)
    assert scores["version"] == jigsaw.__version__
    assert scores["settings"]["population"] == 30
    assert list(scores["stages"]) == ["cut", "compare", "solve", "evaluate"]
    stages = scores["stages"]
    assert scores["seconds"] == pytest.approx(stages["compare"]["seconds"] + stages["solve"]["seconds"])
    assert all(stage["peak_mb"] > 1 for stage in stages.values())
    json.dumps(scores)


# -- wrong -----------------------------------------------------------------------------------------------


def test_two_swapped_pieces_cost_the_adjacencies_they_touch():
    bag, truth = cut_noise(3, 3)
    corner, opposite = piece_at(truth, 0, 0), piece_at(truth, 2, 2)
    scores = scored(swapped(true_layout(truth), corner, opposite), truth, bag)
    assert scores["neighbor"] == 8 / 12
    assert scores["neighbor_identical"] == 8 / 12
    assert scores["direct"] == 7 / 9
    assert not scores["perfect"]
    assert not scores["pixel_perfect"]
    assert scores["ceiling"] == 1


def test_a_piece_in_its_place_but_turned_is_wrong():
    bag, truth = cut_noise(3, 3)
    layout = true_layout(truth)
    layout[piece_at(truth, 1, 1), 2] += 1
    layout[:, 2] %= 4
    scores = scored(layout, truth, bag)
    assert scores["neighbor"] == 8 / 12
    assert scores["direct"] == 8 / 9
    assert not scores["pixel_perfect"]


def test_a_shift_costs_the_seam_but_not_twice():
    """A column moved from the right end to the left breaks one seam; the rest is directly right."""
    bag, truth = cut_noise(3, 5)
    layout = true_layout(truth)
    layout[layout[:, 0] == 4, 0] = -1
    scores = scored(layout, truth, bag)
    assert scores["neighbor"] == (2 * 15 - 3 - 5 - 3) / (2 * 15 - 3 - 5)
    assert scores["direct"] == 12 / 15
    assert not scores["perfect"]


def test_scattered_pieces_score_nothing_but_one_in_place():
    bag, truth = cut_noise(2, 3)
    layout = np.array([[10 * p, 7 * p * p, p % 4] for p in range(6)])
    scores = scored(layout, truth, bag)
    assert scores["neighbor"] == 0
    assert scores["neighbor_identical"] == 0
    assert scores["direct"] == 1 / 6


def test_one_wrong_adjacency_of_very_many_is_not_perfect():
    bag, truth = cut_noise(60, 60, size=2)
    layout = true_layout(truth)
    corner = piece_at(truth, 0, 0)
    layout[corner, 2] = (layout[corner, 2] + 1) % 4
    scores = scored(layout, truth, bag)
    assert scores["neighbor"] == (7080 - 2) / 7080
    assert scores["perfect"] is False


# -- indistinguishable pieces ----------------------------------------------------------------------------


def twins_apart():
    """A picture of 2 x 3 with the same piece in two corners."""
    a, b, c, d, e = tiles(5)
    return whole([[a, b, c], [d, e, a]])


def test_two_identical_pieces_exchanged_look_right_but_are_not_strictly():
    bag, truth = twins_apart()
    p, q = piece_at(truth, 0, 0), piece_at(truth, 1, 2)
    scores = scored(in_place_of(truth, bag, p, q), truth, bag)
    assert scores["neighbor"] == 3 / 7
    assert scores["perfect"] is False
    assert scores["neighbor_identical"] == 1
    assert scores["pixel_perfect"] is True
    assert scores["direct"] == 4 / 6
    assert scores["ceiling"] == 3 / 7


def test_the_ceiling_counts_duplicates_even_where_they_lie_right():
    bag, truth = twins_apart()
    scores = scored(true_layout(truth), truth, bag)
    assert scores["neighbor"] == 1
    assert scores["ceiling"] == 3 / 7


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_pieces_identical_but_for_a_turn_may_be_exchanged(turns):
    a, b, c, d, e = tiles(5)
    bag, truth = whole([[a, b, c], [d, e, reference_scores.turned(a, turns)]], seed=turns)
    p, q = piece_at(truth, 0, 0), piece_at(truth, 1, 2)
    scores = scored(in_place_of(truth, bag, p, q), truth, bag)
    assert scores["neighbor"] == 3 / 7
    assert scores["neighbor_identical"] == 1
    assert scores["pixel_perfect"] is True
    assert scores["ceiling"] == 3 / 7


def test_an_identical_piece_put_in_wrongly_turned_shows():
    bag, truth = twins_apart()
    p, q = piece_at(truth, 0, 0), piece_at(truth, 1, 2)
    layout = in_place_of(truth, bag, p, q)
    layout[p, 2] = (layout[p, 2] + 2) % 4
    scores = scored(layout, truth, bag)
    assert scores["neighbor_identical"] == 5 / 7
    assert scores["pixel_perfect"] is False


def half_turn_symmetric(seed):
    tile = noise(4, 4, seed)
    return np.maximum(tile, reference_scores.turned(tile, 2))


def fully_symmetric(seed):
    tile = half_turn_symmetric(seed)
    return np.maximum(tile, reference_scores.turned(tile, 1))


def test_a_piece_that_looks_the_same_upside_down_may_lie_so():
    a, b, c, d = tiles(4)
    bag, truth = whole([[a, b, c], [d, half_turn_symmetric(1), noise(4, 4, 9)]])
    layout = true_layout(truth)
    p = piece_at(truth, 1, 1)
    for turns, looks_right in ((1, False), (2, True), (3, False)):
        moved = layout.copy()
        moved[p, 2] = (moved[p, 2] + turns) % 4
        scores = scored(moved, truth, bag)
        assert scores["neighbor"] == 4 / 7
        assert scores["neighbor_identical"] == (1 if looks_right else 4 / 7)
        assert scores["pixel_perfect"] is looks_right
        assert scores["ceiling"] == 1  # it has no twin


def test_a_piece_that_looks_the_same_all_ways_may_lie_any_way():
    a, b, c, d = tiles(4)
    bag, truth = whole([[a, b, c], [d, fully_symmetric(1), noise(4, 4, 9)]])
    p = piece_at(truth, 1, 1)
    for turns in (1, 2, 3):
        layout = true_layout(truth)
        layout[p, 2] = (layout[p, 2] + turns) % 4
        scores = scored(layout, truth, bag)
        assert scores["neighbor"] == 4 / 7
        assert scores["neighbor_identical"] == 1
        assert scores["pixel_perfect"] is True


def test_mirrored_pieces_are_not_identical():
    a, b, c, d, e = tiles(5)
    bag, truth = whole([[a, b, c], [d, e, a[:, ::-1]]])
    p, q = piece_at(truth, 0, 0), piece_at(truth, 1, 2)
    scores = scored(swapped(true_layout(truth), p, q), truth, bag)
    assert scores["ceiling"] == 1
    assert scores["neighbor_identical"] < 1
    assert scores["pixel_perfect"] is False


@pytest.mark.parametrize("order", [(1, 2, 0), (2, 0, 1), (2, 1, 0), (0, 2, 1)])
def test_a_blank_picture_is_pixel_perfect_in_any_order(order):
    """Most pieces may agree on a motion under which the picture is not there, and yet it is there."""
    blank = np.full((4, 12, 3), 200, np.uint8)
    bag, truth = cut([blank], 4)
    layout = true_layout(truth)
    by_column = [piece_at(truth, 0, column) for column in range(3)]
    layout[[by_column[i] for i in order], 0] = (0, 1, 2)
    scores = scored(layout, truth, bag)
    assert scores["ceiling"] == 0
    assert scores["neighbor_identical"] == 1
    assert scores["pixel_perfect"] is True


def test_a_blank_picture_of_other_dimensions_is_not_pixel_perfect():
    blank = np.full((8, 12, 3), 200, np.uint8)
    bag, truth = cut([blank], 4)
    scores = scored([[p, 0, 0] for p in range(6)], truth, bag)
    assert scores["neighbor_identical"] == 5 / 7
    assert scores["pixel_perfect"] is False


# -- mixed bags ------------------------------------------------------------------------------------------


def mixed(shapes=((2, 3), (3, 2)), seed=0):
    pictures = [noise(rows * 4, columns * 4, seed=20 + i) for i, (rows, columns) in enumerate(shapes)]
    return cut(pictures, 4, seed)


def test_images_apart_are_all_perfect():
    bag, truth = mixed()
    scores = scored(true_layout(truth), truth, bag)
    assert [scores[key] for key in SHARES] == [1, 1, 1]
    assert scores["perfect"] is True
    assert scores["pixel_perfect"] is True
    assert scores["images"] == len(scores["per_image"]) == 2
    assert [row["pieces"] for row in scores["per_image"]] == [6, 6]
    assert all(row["neighbor"] == row["direct"] == 1 for row in scores["per_image"])


@pytest.mark.parametrize("turns", range(4))
def test_images_side_by_side_touching_and_one_turned_are_all_perfect(turns):
    """A solver that makes one assembly cannot but let images touch."""
    bag, truth = mixed()
    layout = true_layout(truth)
    second = truth.places[:, 0] == 1
    layout[second] = turned_layout(layout[second], turns)
    layout[second, :2] -= layout[second, :2].min(axis=0)
    layout[second, 0] += 3
    scores = scored(layout, truth, bag)
    assert [scores[key] for key in SHARES] == [1, 1, 1]
    assert scores["pixel_perfect"] is True
    assert scores["perfect"] is True


def test_scores_are_told_for_each_image():
    bag, truth = mixed()
    layout = true_layout(truth)
    layout = swapped(layout, piece_at(truth, 0, 0, image=1), piece_at(truth, 2, 1, image=1))
    scores = scored(layout, truth, bag)
    first, second = scores["per_image"]
    assert (first["neighbor"], first["direct"], first["pixel_perfect"]) == (1, 1, True)
    assert (second["neighbor"], second["direct"], second["pixel_perfect"]) == (3 / 7, 4 / 6, False)
    assert scores["neighbor"] == 10 / 14
    assert scores["direct"] == 10 / 12
    assert scores["pixel_perfect"] is False


def test_a_piece_of_a_foreign_image_counts_against_both():
    bag, truth = mixed()
    layout = swapped(true_layout(truth), piece_at(truth, 0, 0, 0), piece_at(truth, 0, 0, 1))
    scores = scored(layout, truth, bag)
    for row in scores["per_image"]:
        assert row["neighbor"] == 5 / 7
        assert row["direct"] == 5 / 6
        assert row["pixel_perfect"] is False


def test_images_of_different_size_count_by_their_pieces():
    bag, truth = mixed(shapes=((1, 2), (3, 4)))
    layout = true_layout(truth)
    small = truth.places[:, 0] == 0
    layout[small, 1] = (50, 90)
    scores = scored(layout, truth, bag)
    assert scores["neighbor"] == 17 / 18
    assert scores["direct"] == 13 / 14


def test_images_have_their_names(tmp_path):
    from jigsaw.images import write_image

    for name in ("b.png", "a.png"):
        write_image(tmp_path / name, noise(8, 8))
    bag, truth = cut([tmp_path / "b.png", tmp_path / "a.png"], 4)
    scores = scored(true_layout(truth), truth, bag)
    assert [row["image"] for row in scores["per_image"]] == ["b.png", "a.png"]


def test_the_same_image_twice_is_there_only_if_it_is_there_twice():
    picture = patchwork([tiles(2)])
    bag, truth = cut([picture, picture], 4)
    layout = true_layout(truth)
    assert scored(layout, truth, bag)["pixel_perfect"] is True
    one = [piece_at(truth, 0, column, image=1) for column in (0, 1)]
    layout[one, 1] = (50, 90)  # the second copy lies in two places
    assert scored(layout, truth, bag)["pixel_perfect"] is False


# -- images told apart -----------------------------------------------------------------------------------


def apart(layout, truth, bag, image):
    """Return the scores of a solution whose pieces were put into these separate images."""
    return evaluate(solution_of(layout, bag, image=np.array(image, np.int32)), truth, bag)


def side_by_side(truth):
    """Return the true images touching each other in one row."""
    layout = true_layout(truth)
    layout[:, 0] -= 997 * truth.places[:, 0]
    return layout


@pytest.mark.parametrize("turns", range(4))
def test_images_told_apart_without_a_mistake_score_one_wherever_they_lie(turns):
    bag, truth = mixed()
    layout = turned_layout(side_by_side(truth), turns)
    scores = apart(layout, truth, bag, 1 - truth.places[:, 0])
    assert (scores["images"], scores["images_found"]) == (2, 2)
    assert (scores["sedas"], scores["enas"], scores["foreign"]) == (1, 1, 0)
    assert [row["solved"] for row in scores["per_image"]] == [1, 0]
    assert all((row["sedas"], row["enas"], row["foreign"]) == (1, 1, 0) for row in scores["per_image"])


def test_images_not_told_apart_have_each_other_as_foreign_pieces():
    bag, truth = mixed(shapes=((2, 3), (2, 2)))
    scores = apart(true_layout(truth), truth, bag, np.zeros(10))
    first, second = scores["per_image"]
    assert (first["sedas"], second["sedas"]) == (6 / 10, 4 / 10)
    assert (first["enas"], second["enas"]) == (6 / 10, 4 / 10)
    assert (first["foreign"], second["foreign"]) == (4, 6)
    assert scores["images_found"] == 1
    assert scores["sedas"] == 0.5
    assert scores["foreign"] == 10
    assert scores["perfect"] is True  # as one assembly


def test_an_image_split_in_two_counts_by_its_larger_part():
    bag, truth = mixed()
    right = (truth.places[:, 0] == 0) & (truth.places[:, 2] == 2)
    scores = apart(true_layout(truth), truth, bag, truth.places[:, 0] + 2 * right)
    first, second = scores["per_image"]
    assert scores["images_found"] == 3
    assert first["neighbor"] == 1  # the assembly has all its adjacencies
    assert first["sedas"] == 4 / 6
    assert first["enas"] == (4 * 4 - 2) / 24  # two sides lost their neighbours
    assert (first["solved"], first["foreign"]) == (0, 0)
    assert second["sedas"] == second["enas"] == 1


def test_a_foreign_piece_counts_against_the_image_it_is_in_and_is_missed_in_its_own():
    bag, truth = mixed()
    image = truth.places[:, 0].copy()
    stray = piece_at(truth, 0, 0, image=1)
    image[stray] = 0
    layout = true_layout(truth)
    layout[stray] = (50, 50, 0)  # of image 0, but touching nothing
    first, second = apart(layout, truth, bag, image)["per_image"]
    assert first["sedas"] == first["enas"] == 6 / 7
    assert first["foreign"] == 1
    assert second["sedas"] == 5 / 6
    assert second["enas"] == (5 * 4 - 2) / 24
    assert second["foreign"] == 0


def test_pieces_of_other_separate_images_touch_nothing():
    """Two images side by side in the assembly have right borders once they are told apart."""
    bag, truth = mixed(shapes=((2, 3), (2, 2)))
    layout = side_by_side(truth)
    assert apart(layout, truth, bag, truth.places[:, 0])["enas"] == 1
    assert apart(layout, truth, bag, np.zeros(10))["enas"] < 0.5


def test_the_number_of_a_separate_image_need_not_be_small():
    bag, truth = mixed()
    scores = apart(true_layout(truth), truth, bag, 70_000 * truth.places[:, 0])
    assert scores["images_found"] == 2
    assert [row["solved"] for row in scores["per_image"]] == [0, 70_000]
    assert scores["enas"] == 1


def test_twenty_images_of_very_many_pieces_are_scored_at_once():
    pictures = [noise(2 * 33, 2 * 34, seed=i) for i in range(20)]
    bag, truth = cut(pictures, 2)
    image = np.random.default_rng(0).integers(0, len(bag), len(bag))  # hardly two pieces together
    scores = apart(true_layout(truth), truth, bag, image)
    assert scores["pieces"] == 22_440
    assert scores["stages"]["evaluate"]["seconds"] < 20
    assert 0 < scores["sedas"] < 0.01


# -- all of it, against the reference --------------------------------------------------------------------


@st.composite
def puzzles_and_layouts(draw):
    """Give a small puzzle of few kinds of tiles, some symmetric, and a more or less disturbed layout."""
    size = 2
    kinds = [noise(size, size, seed=i) for i in range(4)]
    kinds += [
        np.maximum(kinds[0], reference_scores.turned(kinds[0], 2)),
        np.full((size, size, 3), 7, np.uint8),
    ]
    kinds = kinds[draw(st.integers(0, 5)) :]  # sometimes the blank one alone
    shapes = draw(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=2))
    pictures = [
        patchwork(
            [
                [
                    reference_scores.turned(draw(st.sampled_from(kinds)), draw(st.integers(0, 3)))
                    for _ in range(columns)
                ]
                for _ in range(rows)
            ]
        )
        for rows, columns in shapes
    ]
    bag, truth = cut(pictures, size, draw(st.integers(0, 99)))
    layout = true_layout(truth)
    layout[:, 0] -= 997 * truth.places[:, 0]  # images touch
    n = len(layout)
    for _ in range(draw(st.integers(0, 4))):
        layout = swapped(layout, draw(st.integers(0, n - 1)), draw(st.integers(0, n - 1)))
    for _ in range(draw(st.integers(0, 2))):
        layout[draw(st.integers(0, n - 1)), 2] = draw(st.integers(0, 3))
    return bag, truth, turned_layout(layout, draw(st.integers(0, 3)))


@given(puzzles_and_layouts())
@settings(max_examples=120, deadline=None)
def test_scores_agree_with_the_reference(puzzle):
    bag, truth, layout = puzzle
    scores = scored(layout, truth, bag)
    expected = reference_scores.scores(layout, truth, bag.pixels)
    for key in ("neighbor", "neighbor_identical", "ceiling", "direct"):
        assert scores[key] == pytest.approx(expected[key]), key
    for key in ("perfect", "pixel_perfect", "pieces", "images"):
        assert scores[key] == expected[key], key


@given(puzzles_and_layouts(), st.data())
@settings(max_examples=120, deadline=None)
def test_scores_of_separate_images_agree_with_the_reference(puzzle, data):
    bag, truth, layout = puzzle
    image = truth.places[:, 0].copy()
    for _ in range(data.draw(st.integers(0, 4))):
        image[data.draw(st.integers(0, len(bag) - 1))] = data.draw(st.integers(0, 3))
    scores = apart(layout, truth, bag, image)
    expected = reference_scores.separation(layout, image, truth)
    for row, wanted in zip(scores["per_image"], expected, strict=True):
        assert {key: row[key] for key in wanted} == wanted
    for key in ("sedas", "enas"):
        assert scores[key] == pytest.approx(sum(row[key] for row in expected) / len(expected))
    assert scores["foreign"] == sum(row["foreign"] for row in expected)
    assert scores["images_found"] == len(set(image.tolist()))


@given(rows=st.integers(1, 5), columns=st.integers(1, 5), seed=st.integers(0, 999), spread=st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_scores_of_random_layouts_agree_with_the_reference(rows, columns, seed, spread):
    bag, truth = cut_noise(rows, columns, size=2, seed=seed)
    rng = np.random.default_rng(seed)
    n = rows * columns
    width = n + spread
    places = rng.choice(width * (rows + spread), n, replace=False)
    layout = np.column_stack([places % width, places // width, rng.integers(0, 4, n)])
    scores = scored(layout, truth, bag)
    expected = reference_scores.scores(layout, truth, bag.pixels)
    assert {key: scores[key] for key in expected} == pytest.approx(expected)


# -- of one puzzle ---------------------------------------------------------------------------------------


def test_solution_truth_and_pieces_of_different_puzzles_are_refused():
    (bag, truth), (other_bag, other_truth) = cut_noise(2, 3, seed=0), cut_noise(2, 3, seed=1)
    mine, other = (solution_of(true_layout(t), b) for t, b in ((truth, bag), (other_truth, other_bag)))
    for wrong in ((other, truth, bag), (mine, other_truth, bag), (mine, truth, other_bag)):
        with pytest.raises(JigsawError, match="one puzzle"):
            evaluate(*wrong)


def test_the_same_image_cut_with_another_seed_is_another_puzzle():
    picture = noise(8, 12)
    (bag, truth), (_, other) = (cut([picture], 4, seed) for seed in (0, 1))
    with pytest.raises(JigsawError, match="one puzzle"):
        evaluate(solution_of(true_layout(truth), bag), other, bag)
