"""How good a measure is, told from the truth."""

from dataclasses import replace

import numpy as np
import pytest
from puzzles import cut_noise, noise, true_layout
from reference_scores import touching
from skimage.data import astronaut, chelsea

from jigsaw.dissimilarity import compare
from jigsaw.errors import JigsawError
from jigsaw.measures import MEASURES
from jigsaw.pieces import cut
from jigsaw.quality import quality

TOP, RIGHT, BOTTOM, LEFT = range(4)
SHARES = ("first_choice", "buddy_precision", "buddy_recall")


def true_table(truth):
    """Return for each edge the edge that truly touches it, or -1."""
    table = np.full(4 * len(truth.places), -1, np.int32)
    for e, f in touching(true_layout(truth)).items():
        table[e] = f
    return table


def chosen(bag, first, buddy):
    """Return the comparison of a bag in which each edge has the given first choice and buddy."""
    edges = compare(bag, neighbors=1)
    nearest = np.array(first, np.int32)[:, None]
    return replace(edges, nearest=nearest, buddy=np.array(buddy, np.int32))


def shares(report):
    return tuple(report[name] for name in SHARES)


def three_in_a_row():
    """Return three upright pieces side by side, and their numbers from left to right."""
    bag, truth = cut([noise(4, 12)], 4, keep_orientation=True)
    return bag, truth, np.argsort(truth.places[:, 2]).tolist()


def test_a_comparison_that_knows_all_neighbours_is_perfect():
    bag, truth = cut_noise(4, 5)
    true = true_table(truth)
    assert shares(quality(chosen(bag, true, true), truth)) == (1, 1, 1)


def test_neighbours_are_counted_by_hand():
    """Of four edges that have neighbours three choose theirs; of four buddies two are true."""
    bag, truth, (a, b, c) = three_in_a_row()
    first = np.full(12, -1)
    buddy = np.full(12, -1)
    first[4 * a + RIGHT] = buddy[4 * a + RIGHT] = 4 * b + LEFT
    first[4 * b + LEFT] = buddy[4 * b + LEFT] = 4 * a + RIGHT
    first[4 * b + RIGHT] = 4 * a + TOP
    first[4 * c + LEFT] = 4 * b + RIGHT
    first[4 * a + TOP] = buddy[4 * a + TOP] = 4 * c + BOTTOM
    first[4 * c + BOTTOM] = buddy[4 * c + BOTTOM] = 4 * a + TOP
    report = quality(chosen(bag, first, buddy), truth)
    assert shares(report) == (3 / 4, 2 / 4, 2 / 4)
    assert report["pieces"] == 3
    assert report["measure"] == "ssd"


def test_a_buddy_beyond_the_border_is_wrong_and_none_there_is_no_merit():
    bag, truth, (a, _, c) = three_in_a_row()
    true = true_table(truth)
    buddy = true.copy()
    buddy[4 * a + TOP], buddy[4 * c + TOP] = 4 * c + TOP, 4 * a + TOP
    assert shares(quality(chosen(bag, true, buddy), truth)) == (1, 4 / 6, 1)
    nothing = np.full(12, -1)
    assert shares(quality(chosen(bag, nothing, nothing), truth)) == (0, 1, 0)


def test_only_the_first_of_a_list_counts():
    bag, truth = cut_noise(3, 3)
    true = true_table(truth)
    lists = compare(bag, neighbors=2)
    second = replace(lists, nearest=np.column_stack([(true + 4) % 36, true]).astype(np.int32))
    assert quality(second, truth)["first_choice"] == 0


def test_a_lost_piece_is_nobodys_neighbour():
    bag, truth = cut([noise(20, 20)], 4, missing=0.4)
    true = true_table(truth)
    assert (true >= 0).sum() < 80
    assert shares(quality(chosen(bag, true, true), truth)) == (1, 1, 1)


def test_where_nothing_touches_nothing_can_be_wrong():
    bag, truth = cut_noise(1, 1)
    assert shares(quality(compare(bag), truth)) == (1, 1, 1)


def test_the_truth_of_another_puzzle_is_refused():
    bag, _ = cut_noise(2, 3, seed=0)
    _, other = cut_noise(2, 3, seed=1)
    with pytest.raises(JigsawError, match="one puzzle"):
        quality(compare(bag), other)


def test_the_seconds_are_those_of_the_comparison():
    bag, truth = cut_noise(2, 3)
    edges = compare(bag)
    assert quality(edges, truth)["seconds"] == edges.notes["stages"]["compare"]["seconds"]
    assert quality(replace(edges, notes={}), truth)["seconds"] == 0


@pytest.mark.parametrize("measure", MEASURES)
def test_a_measure_judges_a_smooth_picture_well(measure):
    """A gentle slope of all three colours."""
    down, right = np.indices((48, 64))
    slope = np.stack([2 * down, 3 * right, down + 2 * right], axis=2).astype(np.uint8)
    bag, truth = cut([slope], 16)
    assert shares(quality(compare(bag, measure), truth))[0] > 0.9


@pytest.mark.parametrize("photograph", [chelsea, astronaut])
def test_fused_finds_more_true_neighbours_in_a_photograph_than_any_other_measure(photograph):
    bag, truth = cut([photograph()], 20)
    right = {measure: quality(compare(bag, measure), truth) for measure in MEASURES}
    for other in ("ssd", "mgc", "prediction"):
        assert right["fused"]["first_choice"] > right[other]["first_choice"]
        assert right["fused"]["buddy_recall"] > right[other]["buddy_recall"]
    assert right["fused"]["first_choice"] > right["ssd"]["first_choice"] + 0.05


@pytest.mark.parametrize("measure", ["ssd", "mgc"])
def test_who_knows_which_way_up_pieces_go_makes_no_choice_worse(measure):
    bag, truth = cut([chelsea()], 20, keep_orientation=True)
    true = true_table(truth)
    turned, upright = compare(bag, measure), compare(bag, measure, upright=True)
    was_right = (turned.nearest[:, 0] == true) & (true >= 0)
    assert (upright.nearest[was_right, 0] == true[was_right]).all()
    better, before = quality(upright, truth), quality(turned, truth)
    assert better["first_choice"] > before["first_choice"]
    assert better["buddy_recall"] > before["buddy_recall"]
