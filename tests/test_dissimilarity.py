"""How badly two edges fit, and which edges fit an edge best."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.color import rgb2lab
from skimage.data import coffee

from jigsaw import allpairs
from jigsaw.allpairs import nearest
from jigsaw.dissimilarity import best_buddies, compare
from jigsaw.errors import JigsawError
from jigsaw.evaluation import true_layout
from jigsaw.geometry import relations_of
from jigsaw.measures import mgc, ssd
from jigsaw.pieces import Bag, cut

PALETTES = (
    [(0, 0, 0), (255, 255, 255)],
    [(0, 0, 0), (1, 1, 1), (255, 0, 0)],
    [(200, 30, 30), (30, 200, 30), (30, 30, 200), (128, 128, 128)],
)


@st.composite
def bags(draw):
    """Bags of few, tiny pieces in few colours, so that ties and identical pieces abound."""
    count = draw(st.integers(1, 12))
    size = draw(st.integers(2, 4))
    palette = np.array(draw(st.sampled_from(PALETTES)), np.uint8)
    seed = draw(st.integers(0, 2**32 - 1))
    colours = draw(st.integers(1, len(palette)))
    return Bag(palette[np.random.default_rng(seed).integers(0, colours, (count, size, size))])


def random_bag(count, size=4, seed=0):
    return Bag(np.random.default_rng(seed).integers(0, 256, (count, size, size, 3), dtype=np.uint8))


def flat(strips):
    return strips.reshape(len(strips), -1)


def features_of(strips):
    """Strips as the measure wants them: clockwise, and as an edge that touches them sees them."""
    return ssd.Features(flat(strips).astype(np.int16), flat(strips[:, ::-1]).astype(np.int16))


def padded(lists, k, missing):
    """Lists of any length as rows of k, filled up where they are too short."""
    return [row[:k] + [missing] * (k - len(row)) for row in lists]


def assert_equal_to_reference(found, expected, k, tolerance=2e-6):
    """`found` has edges, values and mean; `expected` is a comparison by the reference."""
    assert found.edges.tolist() == padded(expected.nearest, k, -1)
    values = [list(expected.dissimilarities[e, row]) for e, row in enumerate(expected.nearest)]
    np.testing.assert_array_equal(found.values, np.array(padded(values, k, np.inf), np.float32))
    assert found.mean == pytest.approx(expected.mean, rel=tolerance, abs=1e-6)


# --- Strips -------------------------------------------------------------------------------------------


def test_strips_are_read_clockwise():
    grey = np.arange(0, 90, 10, dtype=np.uint8).reshape(1, 3, 3, 1).repeat(3, axis=3)
    top, right, bottom, left = ([0, 10, 20], [20, 50, 80], [80, 70, 60], [60, 30, 0])
    clockwise = np.array([top, right, bottom, left], np.uint8)[:, :, None].repeat(3, axis=2)
    np.testing.assert_array_equal(
        ssd.features(grey).strips, flat(np.rint(16 * rgb2lab(clockwise)).astype(int))
    )


def test_turning_a_piece_moves_its_strips_on_by_one_side():
    bag = random_bag(1)
    clockwise = np.rot90(bag.pixels, -1, axes=(1, 2))
    np.testing.assert_array_equal(
        ssd.features(clockwise).strips, np.roll(ssd.features(bag.pixels).strips, 1, axis=0)
    )


@given(bags())
def test_strips_are_those_of_the_reference(bag):
    np.testing.assert_array_equal(ssd.features(bag.pixels).strips, flat(reference.strips(bag.pixels)))


@given(bags())
def test_dissimilarity_is_that_of_the_reference_whichever_edge_comes_first(bag):
    strips = reference.strips(bag.pixels)
    features = ssd.features(bag.pixels)
    for e in range(0, len(strips), 3):
        for f in range(len(strips)):
            assert ssd.score(features, e, f) == reference.squared(strips[e], strips[f])
            assert ssd.score(features, f, e) == ssd.score(features, e, f)
            assert ssd.value(ssd.score(features, e, f)) == reference.dissimilarity(strips[e], strips[f])


@pytest.mark.parametrize("size", [31, 32, 33, 200])
def test_wide_pieces_of_opposite_colours_are_summed_exactly(size):
    colours = np.array([(0, 255, 0), (0, 0, 255)], np.uint8)  # as far apart as 8-bit colours can be
    pixels = np.broadcast_to(colours[:, None, None], (2, size, size, 3))
    features, strips = ssd.features(pixels), reference.strips(pixels)
    assert ssd.score(features, 0, 4) == reference.squared(strips[0], strips[4])


def test_edges_adjacent_in_a_smooth_picture_fit_better_than_any_others():
    ramp = np.add.outer(np.arange(40), 3 * np.arange(60)).astype(np.uint8)
    bag, truth = cut([ramp[:, :, None].repeat(3, axis=2)], piece_size=20, keep_orientation=True)
    piece = {(row, column): p for p, (_, row, column, _) in enumerate(truth.places.tolist())}
    features = ssd.features(bag.pixels)
    for (row, column), p in piece.items():
        if (row, column + 1) in piece:
            right, left = 4 * p + 1, 4 * piece[row, column + 1] + 3
            touching = ssd.value(ssd.score(features, right, left))
            assert touching < 2 * np.sqrt(20)  # a step of 3 of 255 along 20 pixels
            others = [f for f in range(len(features.strips)) if f // 4 != p and f != left]
            assert all(ssd.value(ssd.score(features, right, f)) > touching for f in others)


# --- Nearest edges, best buddies, mean ----------------------------------------------------------------


@given(bags(), st.integers(1, 60))
@settings(max_examples=150)
def test_nearest_edges_buddies_and_mean_are_those_of_the_reference(bag, k):
    edges = compare(bag, neighbors=k)
    expected = reference.compare(reference.strips(bag.pixels))
    found = allpairs.Nearest(edges.nearest, edges.values, edges.mean, edges.features)
    assert_equal_to_reference(found, expected, k)
    assert edges.buddy.tolist() == expected.buddy


@given(bags(), st.integers(1, 8), st.integers(1, 9), st.integers(1, 3))
@settings(max_examples=100)
def test_many_small_blocks_and_workers_change_nothing(bag, k, block, workers):
    strips = reference.strips(bag.pixels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(allpairs, "_BLOCK", block)
        patch.setattr(allpairs, "_SPARE", 4)  # so that not every pair is kept as a candidate
        found = nearest(ssd, features_of(strips), k, workers)
    assert_equal_to_reference(found, reference.compare(strips), k)


@given(st.integers(0, 2**32 - 1), st.sampled_from([20, 2000]), st.integers(1, 3))
@settings(max_examples=40)
def test_edges_too_alike_for_single_precision_are_told_apart(seed, far, noise):
    """Two crowds of near-equal strips far apart: squares of millions, differences of a few units."""
    rng = np.random.default_rng(seed)
    crowd = rng.choice([-far, far], (4 * 15, 1, 1))
    strips = crowd + rng.integers(-noise, noise + 1, (4 * 15, 28, 3))
    found = nearest(ssd, features_of(strips), 5)
    assert_equal_to_reference(found, reference.compare(strips), 5, tolerance=1e-4)


def test_identical_pieces_are_listed_by_number():
    one = random_bag(1).pixels
    edges = compare(Bag(np.concatenate([one] * 9)), neighbors=8)
    expected = reference.compare(reference.strips(np.concatenate([one] * 9)))
    assert edges.nearest.tolist() == [row[:8] for row in expected.nearest]


def test_a_photograph_is_compared_as_by_a_full_matrix():
    bag, _ = cut([coffee()[:392, :588]], piece_size=28)
    edges = compare(bag)
    squares = reference.all_squared(reference.strips(bag.pixels)).astype(np.float64)
    piece = np.arange(len(squares)) // 4
    same = piece[:, None] == piece
    dense = np.where(same, np.inf, np.sqrt(squares) / 16)
    order = np.argsort(dense, axis=1, kind="stable")
    np.testing.assert_array_equal(edges.nearest, order[:, : edges.nearest.shape[1]])
    in_order = np.take_along_axis(dense, order, axis=1)
    np.testing.assert_array_equal(edges.values, in_order[:, : edges.values.shape[1]].astype(np.float32))
    assert edges.mean == pytest.approx(dense[~same].mean(), rel=1e-6)
    first = order[:, 0]
    assert edges.buddy.tolist() == [f if first[f] == e else -1 for e, f in enumerate(first)]


def test_sixteenths_of_a_colour_unit_are_as_good_as_exact_colours():
    bag, _ = cut([coffee()[:112, :112]], piece_size=28)
    features = ssd.features(bag.pixels)
    lab = [rgb2lab(np.rot90(piece, side))[0] for piece in bag.pixels for side in range(4)]
    for e in range(len(lab)):
        for f in range(e):
            exact = np.sqrt(((lab[e] - lab[f][::-1]) ** 2).sum())
            assert abs(ssd.value(ssd.score(features, e, f)) - exact) < np.sqrt(84) / 16


def test_the_number_of_workers_changes_no_bit():
    bag = random_bag(300, seed=5)  # three blocks of edges
    one = compare(bag, workers=1)
    for workers in (2, 3, 7):
        many = compare(bag, workers=workers)
        assert many.digest == one.digest
        np.testing.assert_array_equal(many.nearest, one.nearest)
        np.testing.assert_array_equal(many.values, one.values)
        assert many.mean == one.mean


def test_where_there_are_too_few_edges_the_list_ends_with_none():
    edges = compare(random_bag(2), neighbors=6)
    assert (edges.nearest[:, :4] >= 0).all()
    assert (edges.nearest[:, 4:] == -1).all()
    assert np.isfinite(edges.values[:, :4]).all()
    assert np.isposinf(edges.values[:, 4:]).all()


def test_no_edge_is_near_another_of_its_own_piece():
    blank = Bag(np.full((5, 3, 3, 3), 77, np.uint8))
    edges = compare(blank, neighbors=16)
    assert (edges.nearest // 4 != np.arange(20)[:, None] // 4).all()
    assert edges.mean == 0


def test_a_bag_of_one_piece_has_no_neighbours_and_no_mean():
    edges = compare(random_bag(1), neighbors=3)
    assert (edges.nearest == -1).all()
    assert np.isposinf(edges.values).all()
    assert (edges.buddy == -1).all()
    assert edges.mean == 0


# --- Best buddies -------------------------------------------------------------------------------------


def test_best_buddies_choose_each_other():
    chosen = np.array([[4], [5], [6], [4], [0], [6], [2], [-1]])
    assert best_buddies(chosen).tolist() == [4, -1, 6, -1, 0, -1, 2, -1]


def test_of_tied_edges_only_the_first_can_be_a_best_buddy():
    edges = compare(Bag(np.full((3, 2, 2, 3), 5, np.uint8)))
    assert edges.buddy.tolist() == [4, -1, -1, -1, 0, -1, -1, -1, -1, -1, -1, -1]


# --- What cannot be compared --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "named"),
    [({"measure": "smell"}, "smell"), ({"neighbors": 0}, "neighbors"), ({"workers": 0}, "workers")],
)
def test_a_wrong_request_is_named(wrong, named):
    with pytest.raises(JigsawError, match=named):
        compare(random_bag(2), **wrong)


# --- Mahalanobis gradient compatibility -----------------------------------------------------------------


@given(bags())
@settings(max_examples=60)
def test_gradient_compatibility_is_that_of_the_reference(bag):
    features = mgc.features(bag.pixels)
    for e in range(0, 4 * len(bag), 3):
        for f in range(4 * len(bag)):
            expected = reference.gradient_compatibility(bag.pixels[e // 4], e % 4, bag.pixels[f // 4], f % 4)
            assert mgc.value(mgc.score(features, e, f)) == pytest.approx(expected, rel=1e-6, abs=1e-6)
            assert mgc.score(features, e, f) == mgc.score(features, f, e)


@pytest.mark.parametrize("measure", [ssd, mgc])
def test_the_product_of_the_operands_is_close_to_the_scores(measure):
    bag, _ = cut([coffee()[:112, :168]], piece_size=28)
    features = measure.features(bag.pixels)
    left, right = measure.operands(features)
    product = left.astype(float) @ right.astype(float).T
    for e in range(0, 4 * len(bag), 5):
        scores = [measure.score(features, e, f) for f in range(4 * len(bag))]
        np.testing.assert_allclose(product[e], scores, rtol=1e-3, atol=1e-4 * max(scores))


@given(bags(), st.integers(1, 6), st.integers(1, 9))
@settings(max_examples=60)
def test_nearest_edges_by_gradient_compatibility_are_those_of_all_pairs(bag, k, block):
    features = mgc.features(bag.pixels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(allpairs, "_BLOCK", block)
        patch.setattr(allpairs, "_SPARE", 4)
        found = nearest(mgc, features, k, workers=2)
    edges = range(4 * len(bag))
    total = 0.0
    for e in edges:
        others = [(mgc.score(features, e, f), f) for f in edges if f // 4 != e // 4]
        total += sum(score for score, _ in others)
        best = sorted(others)[:k]
        assert found.edges[e].tolist() == [f for _, f in best] + [-1] * (k - len(best))
    pairs = 4 * len(bag) * (4 * len(bag) - 4)
    assert found.mean == pytest.approx(total / pairs if pairs else 0, rel=1e-4)


def test_gradient_compatibility_finds_more_true_neighbours_in_a_photograph():
    bag, truth = cut([coffee()[:392, :588]], piece_size=28)
    true = relations_of(true_layout(truth)).reshape(-1)
    inside = true >= 0
    right = {
        measure: (compare(bag, measure).nearest[inside, 0] == true[inside]).mean()
        for measure in ("ssd", "mgc")
    }
    assert right["ssd"] > 0.6
    assert right["mgc"] > right["ssd"] + 0.02
