"""The measures of how well two edges fit, and what is known of the pieces' orientation."""

import numba
import numpy as np
import pytest
import reference
import reference_measures
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from skimage.data import chelsea

from jigsaw import allpairs
from jigsaw.dissimilarity import compare
from jigsaw.edges import Edges
from jigsaw.measures import MEASURES, distinct_rows, fused, measure_called, mgc, prediction, relation
from jigsaw.measures import score as score_of
from jigsaw.measures import value as value_of
from jigsaw.pieces import Bag, cut
from jigsaw.synthetic import picture

PALETTES = (
    [(0, 0, 0), (255, 255, 255)],
    [(0, 0, 0), (1, 1, 1), (255, 0, 0)],
    [(200, 30, 30), (30, 200, 30), (30, 30, 200), (128, 128, 128)],
)
SCREENED = ("prediction", "fused")
every_measure = pytest.mark.parametrize("measure", MEASURES)
turned_or_upright = pytest.mark.parametrize("upright", [False, True], ids=["turned", "upright"])


@st.composite
def varied_bags(draw, most=19):
    """Bags of noise, strong or faint, in colour or grey: no two edges look alike, all are candidates."""
    count = draw(st.integers(1, most))
    size = draw(st.integers(2, 9))
    channels = draw(st.sampled_from([1, 3]))
    noise = draw(st.sampled_from([6, 40, 255]))
    base = draw(st.integers(0, 255 - noise))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pixels = (base + rng.integers(0, noise + 1, (count, size, size, channels))).astype(np.uint8)
    bag = Bag(np.ascontiguousarray(np.broadcast_to(pixels, (count, size, size, 3))))
    looks, _, _ = distinct_rows(mgc.features(bag.pixels))
    assume(len(looks) == 4 * count)
    return bag


@st.composite
def plain_bags(draw):
    """Bags of few, tiny pieces in few colours: ties, flat pieces and identical ones abound."""
    count = draw(st.integers(1, 10))
    size = draw(st.integers(2, 4))
    palette = np.array(draw(st.sampled_from(PALETTES)), np.uint8)
    colours = draw(st.integers(1, len(palette)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return Bag(palette[rng.integers(0, colours, (count, size, size))])


any_bags = st.one_of(varied_bags(), plain_bags())


def random_bag(count, size=4, seed=0):
    return Bag(np.random.default_rng(seed).integers(0, 256, (count, size, size, 3), dtype=np.uint8))


def flat_pieces(greys, size=4):
    """Pieces of one grey each."""
    return np.broadcast_to(np.array(greys, np.uint8)[:, None, None, None], (len(greys), size, size, 3)).copy()


@pytest.fixture(scope="module")
def generated():
    """Return 150 pieces of a generated picture, upright; far more edges than are candidates of one."""
    bag, _ = cut([picture(10, 15, 8)], 8, keep_orientation=True)
    assert 4 * len(bag) > 5 * fused.CANDIDATES
    return bag


@numba.njit
def _fill(features, matrix, relations):
    for e in range(len(matrix)):
        for f in range(len(matrix)):
            matrix[e, f] = value_of(features, score_of(features, e, f))
            relations[e, f] = relation(features, e, f)


def all_values(features):
    """Return the dissimilarities of all pairs of edges, and of all pairs both ways together."""
    matrix, relations = np.empty((2, len(features[0]), len(features[0])))
    _fill(features, matrix, relations)
    return matrix, relations


def filled(lists, k, missing=-1):
    """Lists of any length as rows of k."""
    return [row[:k] + [missing] * (k - len(row)) for row in lists]


def first_choices(comparison):
    return np.array([row[0] for row in comparison.nearest])


def assert_compared_as(edges, expected):
    """The lists and best buddies are those of the reference."""
    k = edges.nearest.shape[1]
    assert edges.nearest.tolist() == filled(expected.nearest, k)
    values = [list(expected.dissimilarities[e, row]) for e, row in enumerate(expected.nearest)]
    np.testing.assert_allclose(edges.values, filled(values, k, np.inf), rtol=1e-6, atol=1e-6)
    assert edges.buddy.tolist() == expected.buddy


# --- Prediction ---------------------------------------------------------------------------------------


@given(any_bags)
@settings(max_examples=60)
def test_prediction_is_that_of_the_reference(bag):
    values, _ = all_values(prediction.features(bag.pixels))
    np.testing.assert_array_equal(values, reference_measures.prediction(bag.pixels))


def test_a_black_and_a_white_piece_are_a_hundred_apart_at_every_pixel():
    values, _ = all_values(prediction.features(flat_pieces([0, 255], size=5)))
    assert (values[:4, 4:] == 5 * 100).all()
    assert (values[4:, :4] == 5 * 100).all()
    assert (values[:4, :4] == 0).all()


def test_what_grows_darker_towards_the_edge_is_expected_to_grow_darker_still():
    """Beside a dark piece, black is what a fading piece expects; to black, the fading piece is a surprise."""
    fading, black, dark = flat_pieces([119, 0, 119])
    fading[1] = 198  # the row below the top
    values, _ = all_values(prediction.features(np.stack([fading, black, dark])))
    top, of_black, of_dark = 0, 4, 8
    assert values[top, of_black] < values[of_black, top]
    assert values[of_dark, top] == 0 < values[top, of_dark]


def test_prediction_is_not_the_same_from_both_sides():
    values, _ = all_values(prediction.features(random_bag(6).pixels))
    different = values != values.T
    assert different[reference_measures.allowed(24)].mean() > 0.9


@given(any_bags, st.integers(1, 80), st.booleans())
@settings(max_examples=40)
def test_the_lists_of_prediction_hold_what_comes_nearest_to_each_edges_own_expectation(bag, k, upright):
    possible = reference_measures.allowed(4 * len(bag), upright)
    expected = reference_measures.compare(reference_measures.prediction(bag.pixels), possible)
    assert_compared_as(compare(bag, "prediction", k, upright=upright), expected)


@turned_or_upright
def test_screening_by_squares_misses_hardly_any_first_choice_of_prediction(generated, upright):
    possible = reference_measures.allowed(4 * len(generated), upright)
    expected = reference_measures.compare(reference_measures.prediction(generated.pixels), possible)
    edges = compare(generated, "prediction", upright=upright)
    assert (edges.nearest[:, 0] == first_choices(expected)).mean() >= 0.99  # 1.0 when written
    found = [len(set(row) & set(best[:8])) for row, best in zip(edges.nearest, expected.nearest, strict=True)]
    assert np.mean(found) >= 0.97 * 8
    assert (edges.buddy == expected.buddy).mean() >= 0.97


def test_prediction_is_screened_by_the_squares_of_both_directions():
    bag = random_bag(7, size=5)
    features = prediction.features(bag.pixels)
    left, right = prediction.operands(features)
    border, following = reference_measures.rows_of(bag.pixels, lab=True)
    expected, facing = 2 * border - following, border[:, ::-1]
    one_way = np.array([((each - facing) ** 2).sum(axis=(1, 2)) for each in expected])
    np.testing.assert_allclose(left.astype(float) @ right.T, one_way + one_way.T, rtol=1e-4)


# --- Mahalanobis gradient compatibility -----------------------------------------------------------------


@given(any_bags)
@settings(max_examples=60)
def test_gradient_compatibility_is_that_of_the_reference_and_bit_for_bit_the_same_both_ways(bag):
    values, _ = all_values(mgc.features(bag.pixels))
    np.testing.assert_allclose(
        values, reference_measures.gradient_compatibility(bag.pixels), rtol=1e-8, atol=1e-6
    )
    np.testing.assert_array_equal(values, values.T)
    assert (values >= 0).all()


def test_the_two_references_of_gradient_compatibility_agree():
    pixels = random_bag(3, size=6).pixels
    dense = reference_measures.gradient_compatibility(pixels)
    for e in range(12):
        for f in range(12):
            one = reference.gradient_compatibility(pixels[e // 4], e % 4, pixels[f // 4], f % 4)
            assert dense[e, f] == pytest.approx(one)


@pytest.mark.parametrize("size", [28, 100, 256])
def test_colours_of_wide_pieces_are_summed_without_loss(size):
    rng = np.random.default_rng(size)
    pixels = np.stack([rng.integers(0, 6, (size, size, 3)), rng.integers(250, 256, (size, size, 3))])
    pixels = pixels.astype(np.uint8)
    values, _ = all_values(mgc.features(pixels))
    np.testing.assert_allclose(values, reference_measures.gradient_compatibility(pixels), rtol=1e-11)


# --- Fused ----------------------------------------------------------------------------------------------


@given(varied_bags(), st.booleans())
@settings(max_examples=25)
def test_where_all_edges_are_candidates_fused_is_the_dense_reference_for_every_pair(bag, upright):
    expected = reference_measures.fused(bag.pixels, upright)
    possible = reference_measures.allowed(4 * len(bag), upright)
    edges = compare(bag, "fused", neighbors=9, upright=upright)
    values, _ = all_values(edges.features)
    np.testing.assert_allclose(values[possible], expected[possible], rtol=1e-6, atol=1e-6)
    assert_compared_as(edges, reference_measures.compare(expected, possible))


@given(any_bags, st.booleans())
@settings(max_examples=15)
def test_fused_is_symmetric_and_from_0_to_the_limit(bag, upright):
    values, _ = all_values(compare(bag, "fused", upright=upright).features)
    np.testing.assert_array_equal(values, values.T)
    assert (values >= 0).all()
    assert (values <= fused.LIMIT).all()
    assert reference_measures.MOST == fused.LIMIT


@turned_or_upright
def test_screening_by_gradient_compatibility_misses_hardly_any_first_choice_of_fused(generated, upright):
    possible = reference_measures.allowed(4 * len(generated), upright)
    dense = reference_measures.fused(generated.pixels, upright)
    expected = reference_measures.compare(dense, possible)
    edges = compare(generated, "fused", upright=upright)
    assert (edges.nearest[:, 0] == first_choices(expected)).mean() >= 0.97  # 0.997 and 1.0 when written
    assert (edges.buddy == expected.buddy).mean() >= 0.97
    assert edges.mean == pytest.approx(expected.mean, rel=0.02)
    values, _ = all_values(edges.features)
    likely = possible & (dense < 6)
    assert likely.sum() > 500
    assert (np.abs(values - dense)[likely] < 0.05).mean() >= 0.97


@pytest.mark.parametrize("count", [2, 3, 10, 40])
@turned_or_upright
def test_any_of_many_identical_flat_pieces_is_as_probable_as_any_other(count, upright):
    edges = compare(Bag(flat_pieces([90] * count)), "fused", upright=upright)
    rivals = (1 if upright else 4) * (count - 1)
    values, _ = all_values(edges.features)
    possible = reference_measures.allowed(4 * count, upright)
    assert len(np.unique(values[possible])) == 1
    # A piece's own sides may count as rivals, too.
    assert np.log(rivals) - 1e-6 <= values[possible][0] <= np.log(rivals + 3) + 1e-6
    assert edges.mean == pytest.approx(values[possible][0])


@turned_or_upright
def test_two_equal_candidates_share_what_one_alone_would_get(upright):
    """Twins of all pieces halve every probability but for what is nearly certain: ln 2 more to pay."""
    bag = random_bag(30, size=6, seed=3)
    alone = compare(bag, "fused", upright=upright)
    twins = compare(Bag(np.concatenate([bag.pixels, bag.pixels])), "fused", upright=upright)
    one, _ = all_values(alone.features)
    two, _ = all_values(twins.features)
    possible = reference_measures.allowed(120, upright)
    np.testing.assert_allclose(two[:120, :120], two[120:, 120:], rtol=1e-12)
    np.testing.assert_allclose(two[:120, :120], two[:120, 120:], rtol=1e-12)
    likely = possible & (one < 3)
    assert likely.sum() > 100
    assert np.median((two[:120, :120] - one)[likely]) == pytest.approx(np.log(2), abs=0.05)


@pytest.mark.parametrize("flat", [1, 2, 3])
def test_a_flat_piece_is_judged_by_what_it_could_touch_and_not_by_its_own_sides(flat):
    """All four sides of a flat piece are alike, and none of them is a rival of another."""
    pixels = random_bag(8, size=4).pixels
    pixels[:flat] = flat_pieces([40, 120, 200][:flat])
    values, _ = all_values(compare(Bag(pixels), "fused").features)
    expected = reference_measures.fused(pixels)
    possible = reference_measures.allowed(32)
    np.testing.assert_allclose(values[possible], expected[possible], atol=0.2)


@pytest.mark.parametrize("measure", SCREENED)
@turned_or_upright
def test_the_number_of_workers_changes_no_bit(generated, measure, upright):
    one = compare(generated, measure, workers=1, upright=upright)
    for workers in (2, 3):
        assert compare(generated, measure, workers=workers, upright=upright).digest == one.digest


# --- Candidates of measures that are no matrix product ------------------------------------------------


@pytest.mark.parametrize("measure", SCREENED)
@pytest.mark.parametrize("kept", [1, 3, 10])
def test_whoever_considers_an_edge_is_considered_by_it_unless_that_has_better(measure, kept):
    bag = random_bag(12, size=3, seed=kept)
    features = compare(bag, measure).features
    values = all_values(features)[0] * (16 if measure == "prediction" else 1)  # scores
    rng = np.random.default_rng(kept)
    before = np.array([rng.choice(48, kept, replace=False) for _ in range(48)], np.int32)
    before[rng.random(before.shape) < 0.2] = -1
    exact = np.where(before >= 0, np.take_along_axis(values, before.astype(int), axis=1), np.inf)
    after, scores = before.copy(), exact.copy()
    allpairs._share(features, after, scores)
    for e in range(48):
        known = after[e][after[e] >= 0]
        assert len(set(known.tolist())) == len(known)
        np.testing.assert_allclose(scores[e][after[e] >= 0], values[e, known])
        assert (np.sort(scores[e]) <= np.sort(exact[e])).all()
        for f in set(before[e].tolist()) & set(known.tolist()):
            assert e in after[f] or values[f, e] >= scores[f].max()
    assert (after != before).any()


@pytest.mark.parametrize("measure", SCREENED)
@turned_or_upright
def test_with_few_candidates_lists_are_in_order_and_who_lists_an_edge_was_offered_to_it(
    generated, measure, upright
):
    module = measure_called(measure)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CANDIDATES", 3)
        patch.setattr(allpairs, "_SPARE", 4)
        edges = compare(generated, measure, neighbors=5, upright=upright)
    assert (edges.nearest >= 0).all()
    assert_in_order(edges)
    values, _ = all_values(edges.features)
    in_list = np.take_along_axis(values, edges.nearest.astype(int), axis=1)
    np.testing.assert_allclose(edges.values, in_list, rtol=1e-6)
    for e, row in enumerate(edges.nearest):
        for f in row:
            assert e in edges.nearest[f] or values[f, e] >= edges.values[f, -1] - 1e-5


@pytest.mark.parametrize("measure", SCREENED)
def test_as_many_nearest_edges_are_kept_as_are_wanted_even_beyond_the_candidates(generated, measure):
    edges = compare(generated, measure, neighbors=100)
    assert (edges.nearest >= 0).all()
    assert_in_order(edges)


# --- All measures ---------------------------------------------------------------------------------------


def assert_in_order(edges):
    """Lists hold pairs that can touch, none twice, best first, ties by number, and end with none."""
    possible = reference_measures.allowed(len(edges), edges.upright)
    for e, (row, values) in enumerate(zip(edges.nearest.tolist(), edges.values.tolist(), strict=True)):
        known = [f for f in row if f >= 0]
        assert row == known + [-1] * (len(row) - len(known))
        assert all(possible[e, f] for f in known)
        assert len(set(known)) == len(known) == min(len(row), possible[e].sum())
        assert np.isfinite(values[: len(known)]).all()
        assert np.isposinf(values[len(known) :]).all()
        assert values == sorted(values)
        if edges.measure in ("ssd", "prediction"):  # of whole numbers; others may look tied without being so
            pairs = list(zip(values[: len(known)], known, strict=True))
            assert pairs == sorted(pairs)


@every_measure
@given(bag=plain_bags(), k=st.integers(1, 50), upright=st.booleans())
@settings(max_examples=15)
def test_lists_hold_other_pieces_best_first(measure, bag, k, upright):
    assert_in_order(compare(bag, measure, k, upright=upright))


@every_measure
@turned_or_upright
def test_equal_edges_are_listed_by_number(measure, upright):
    """Of five copies of a bag, each list names all copies of an edge together, in order."""
    one = random_bag(4, size=5, seed=1).pixels
    edges = compare(Bag(np.concatenate([one] * 5)), measure, neighbors=10, upright=upright)
    for e, row in enumerate(edges.nearest.tolist()):
        for first, f in enumerate(row[:6]):
            copies = [g for g in range(f % 16, 80, 16) if g // 4 != e // 4]
            if f == copies[0] and edges.values[e, first] < (12 if measure == "fused" else np.inf):
                assert row[first : first + len(copies)] == copies


@every_measure
def test_a_relation_costs_what_it_does_from_both_sides(measure):
    edges = compare(random_bag(5), measure)
    values, relations = all_values(edges.features)
    np.testing.assert_allclose(relations, values + values.T, rtol=1e-12)


@every_measure
@turned_or_upright
@pytest.mark.parametrize("flat", [False, True], ids=["varied", "flat"])
def test_a_bag_of_one_piece_has_no_neighbours_and_no_mean(measure, upright, flat):
    bag = Bag(flat_pieces([7])) if flat else random_bag(1)
    edges = compare(bag, measure, neighbors=3, upright=upright)
    assert (edges.nearest == -1).all()
    assert np.isposinf(edges.values).all()
    assert (edges.buddy == -1).all()
    assert edges.mean == 0


@every_measure
@turned_or_upright
@pytest.mark.parametrize("kind", ["varied", "flat", "identical"])
def test_of_two_pieces_each_has_only_the_other(measure, upright, kind):
    flat = flat_pieces([7, 200] if kind == "flat" else [7, 7])
    bag = random_bag(2) if kind == "varied" else Bag(flat)
    edges = compare(bag, measure, neighbors=5, upright=upright)
    assert_in_order(edges)
    assert (edges.nearest >= 0).sum() == 8 * (1 if upright else 4)
    if upright:
        assert edges.nearest[:, 0].tolist() == [6, 7, 4, 5, 2, 3, 0, 1]
        assert edges.buddy.tolist() == [6, 7, 4, 5, 2, 3, 0, 1]


@every_measure
@turned_or_upright
def test_the_mean_is_that_of_all_pairs_that_can_touch(generated, measure, upright):
    edges = compare(generated, measure, upright=upright)
    values, _ = all_values(edges.features)
    possible = reference_measures.allowed(len(edges), upright)
    assert edges.mean == pytest.approx(values[possible].mean(), rel=0.02)


@every_measure
@turned_or_upright
def test_a_sample_draws_all_pairs_of_a_small_bag_equally_often(measure, upright):
    """Pieces of very different greys, so that no pair can be left out or drawn twice as often unnoticed."""
    pixels = flat_pieces([0, 40, 90, 255], size=3)
    edges = compare(Bag(pixels), measure, upright=upright)
    values, _ = all_values(edges.features)
    possible = reference_measures.allowed(16, upright)
    assert edges.mean == pytest.approx(values[possible].mean(), rel=0.02)


@every_measure
@turned_or_upright
def test_saved_edges_are_loaded_as_they_were(tmp_path, measure, upright):
    edges = compare(random_bag(6, size=3), measure, neighbors=7, upright=upright)
    edges.save(tmp_path / "edges.h5")
    loaded = Edges.load(tmp_path / "edges.h5")
    assert loaded.upright is upright
    assert loaded.measure == measure
    assert loaded.mean == edges.mean
    assert loaded.digest == edges.digest
    assert type(loaded.features) is measure_called(measure).Features
    for name in ("nearest", "values", "buddy"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(edges, name))
    for one, other in zip(loaded.features, edges.features, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
    np.testing.assert_array_equal(all_values(loaded.features)[0], all_values(edges.features)[0])


@every_measure
def test_knowing_the_orientation_makes_another_comparison(measure):
    bag = random_bag(3)
    assert compare(bag, measure).upright is False
    assert compare(bag, measure).digest != compare(bag, measure, upright=True).digest


# --- Upright pieces -----------------------------------------------------------------------------------


@given(any_bags, st.integers(1, 20), st.integers(1, 9), st.integers(1, 3))
@settings(max_examples=40)
def test_of_upright_pieces_the_nearest_of_the_opposite_sides_are_listed(bag, k, block, workers):
    strips = reference.strips(bag.pixels)
    possible = reference_measures.allowed(len(strips), upright=True)
    expected = reference_measures.compare(np.sqrt(reference.all_squared(strips)) / 16, possible)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(allpairs, "_BLOCK", block)
        patch.setattr(allpairs, "_SPARE", 1)  # so that not every pair is kept as a candidate
        edges = compare(bag, "ssd", k, workers, upright=True)
    assert_compared_as(edges, expected)
    assert edges.mean == pytest.approx(expected.mean, rel=0.03)


@given(any_bags, st.integers(1, 20), st.integers(1, 9), st.integers(1, 3))
@settings(max_examples=25)
def test_of_upright_pieces_gradient_compatibility_compares_opposite_sides_only(bag, k, block, workers):
    values, _ = all_values(mgc.features(bag.pixels))  # which are those of the reference, rounded alike
    possible = reference_measures.allowed(len(values), upright=True)
    expected = reference_measures.compare(values, possible)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(allpairs, "_BLOCK", block)
        patch.setattr(allpairs, "_SPARE", 1)
        edges = compare(bag, "mgc", k, workers, upright=True)
    assert_compared_as(edges, expected)
    assert edges.mean == pytest.approx(expected.mean, rel=0.03)


@pytest.mark.parametrize("measure", ["ssd", "mgc"])
def test_an_upright_photograph_is_compared_as_by_a_full_matrix(measure):
    bag, _ = cut([chelsea()], piece_size=25, keep_orientation=True)
    values, _ = all_values(measure_called(measure).features(bag.pixels))
    possible = reference_measures.allowed(len(values), upright=True)
    expected = reference_measures.compare(values, possible)
    edges = compare(bag, measure, upright=True)
    assert_compared_as(edges, expected)
    assert edges.mean == pytest.approx(expected.mean, rel=0.02)


@every_measure
def test_an_upright_edge_with_fewer_neighbours_than_are_kept_has_a_list_that_ends_with_none(measure):
    """Of 20 pieces an upright edge can touch 19, and 32 are kept."""
    edges = compare(random_bag(20), measure, upright=True)
    assert edges.nearest.shape == (80, 32)
    assert (edges.nearest[:, :19] >= 0).all()
    assert (edges.nearest[:, 19:] == -1).all()
    assert np.isfinite(edges.values[:, :19]).all()
    assert np.isposinf(edges.values[:, 19:]).all()


def test_a_top_next_to_its_like_is_no_neighbour_if_pieces_are_upright():
    """Two pieces whose tops are alike, and nothing else is."""
    pixels = random_bag(4, size=6).pixels
    pixels[1, 0] = pixels[0, 0, ::-1]
    assert compare(Bag(pixels)).buddy[[0, 4]].tolist() == [4, 0]
    upright = compare(Bag(pixels), upright=True)
    assert 4 not in upright.nearest[0]
    assert 0 not in upright.nearest[4]
