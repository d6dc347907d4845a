"""A second look at plain pieces: what an assembly teaches, and what is done with it."""

import io
import itertools

import numba
import numpy as np
import pytest
import reference_measures
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from puzzles import true_layout
from scipy.ndimage import gaussian_filter

import jigsaw
from jigsaw import allpairs
from jigsaw.assembly import bonds_of
from jigsaw.geometry import placed_relations
from jigsaw.measures import fused, refitted
from jigsaw.pieces import Bag
from jigsaw.pool import Pool, start_with
from jigsaw.presets import Settings
from jigsaw.second_look import look_again, plain_pieces, weigh

WIDTH, HEIGHT = 44, 32  # of the sky, in pieces


def sky(width=WIDTH, height=HEIGHT, noise=1.0, blur=0.0, quality=75):
    """A sky in the evening, with some noise, as a camera compresses it."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[: 28 * height, : 28 * width].astype(float)
    slope = np.stack([90 + y / 12 + x / 40, 120 + y / 15 - x / 60, 200 - y / 20 + x / 90], axis=-1)
    grain = rng.normal(0, 1.0, slope.shape)
    if blur:
        grain = gaussian_filter(grain, (blur, blur, 0))
    pixels = (slope + noise * grain / grain.std()).clip(0, 255).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=quality, subsampling=2)
    return np.array(Image.open(file))


@pytest.fixture(scope="module")
def cut():
    return jigsaw.cut([sky()], seed=1)


@pytest.fixture(scope="module")
def edges(cut):
    return jigsaw.compare(cut[0], "fused")


@pytest.fixture(scope="module")
def bonds(edges):
    return bonds_of(edges)


@pytest.fixture(scope="module")
def relations(cut):
    """The contacts of an assembly that is right."""
    return placed_relations(true_layout(cut[1]).astype(np.int32))


def first_choices_right(bonds, truth):
    true = placed_relations(true_layout(truth).astype(np.int32))
    return (bonds.near[:, 0] == true)[true >= 0].mean()


# --- What is learnt -------------------------------------------------------------------------------------


@numba.njit
def _fill(features, likeness, terms, scores):
    for e in range(len(likeness)):
        for f in range(len(likeness)):
            likeness[e, f] = refitted.likeness(features, e, f)
            for k, term in enumerate(refitted.terms_of(features, e, f)):
                terms[k, e, f] = term
            scores[e, f] = refitted.score(features, e, f)


def all_of(features):
    count = len(features.own)
    likeness, terms, scores = np.empty((count, count)), np.empty((6, count, count)), np.empty((count, count))
    _fill(features, likeness, terms, scores)
    return likeness, terms, scores


@st.composite
def bags_and_pairs(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count, size = draw(st.integers(3, 7)), draw(st.integers(2, 9))
    noise = draw(st.sampled_from([6, 40, 255]))
    base = draw(st.integers(0, 255 - noise))
    pixels = (base + rng.integers(0, noise + 1, (count, size, size, 3))).astype(np.uint8)
    pairs = rng.integers(0, 4 * count, (draw(st.integers(100, 300)), 2))  # so many that no strip decides
    return Bag(pixels), pairs


@given(bags_and_pairs(), st.sampled_from([1, 2, 4, 8]))
@settings(max_examples=10, deadline=None)
def test_likeness_is_how_much_more_probable_two_strips_are_together_than_alone(made, count):
    bag, pairs = made
    features = jigsaw.compare(bag, "fused").features
    found = all_of(refitted.refitted(features, *pairs.T, count))[0]
    expected = reference_measures.likenesses(bag.pixels, pairs, count)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-3 * scale + 1e-2)
    np.testing.assert_allclose(found, found.T, rtol=1e-3, atol=1e-3 * scale + 1e-2)


@given(bags_and_pairs(), st.integers(0, 2**32 - 1))
@settings(max_examples=6, deadline=None)
def test_where_all_edges_are_candidates_it_is_the_dense_reference_for_every_pair(made, seed):
    bag, pairs = made
    weights = np.random.default_rng(seed).uniform(0, 2, refitted.TERMS)
    weights[0] = 0.01  # of what the strips say: rounding is large where that is
    features = jigsaw.compare(bag, "fused").features
    learnt = refitted.refitted(features, *pairs.T)
    learnt = learnt._replace(weights=np.tile(weights, (len(learnt.own), 1)))
    found = allpairs.nearest(refitted, learnt, 3)
    expected = reference_measures.refitted(bag.pixels, pairs, weights)
    possible = reference_measures.allowed(4 * len(bag))
    np.testing.assert_allclose(all_of(found.features)[2][possible], expected[possible], rtol=1e-3, atol=2e-2)


def test_pieces_of_few_pixels_have_fewer_coordinates_and_no_fewer_are_counted():
    for size, count in itertools.product((2, 3, 5, 9, 28), (1, 4, 8)):
        pixels = np.random.default_rng(size).integers(0, 256, (3, size, size, 3), dtype=np.uint8)
        features = fused.features(pixels)
        found = refitted.spectra(features, count)
        assert found.shape == (12, refitted.coordinates(features, count))
        np.testing.assert_allclose(found, reference_measures.coefficients(pixels, count=count), atol=1e-9)


# --- Weights --------------------------------------------------------------------------------------------


def test_weights_are_found_by_which_choices_were_made():
    rng = np.random.default_rng(0)
    true = np.array([1.5, 0.0, 0.4])
    terms = rng.normal(size=(4000, 12, 3)) * [1, 1, 5]
    odds = terms @ true + rng.gumbel(size=(4000, 12))
    chosen = odds.argmax(axis=1)
    rows = np.arange(len(terms))
    terms[rows, 0], terms[rows, chosen] = terms[rows, chosen].copy(), terms[rows, 0].copy()
    terms[:, 9:][rng.random((4000, 3)) < 0.5] = np.nan  # rivals that are none
    wrong = rng.random(4000) < 0.1
    terms[wrong] = rng.normal(size=(wrong.sum(), 12, 3)) * [1, 1, 5]
    weights, loss = weigh(terms)
    np.testing.assert_allclose(weights, true, atol=0.15)
    shares = np.exp(terms @ weights)
    there = (~np.isnan(shares)).sum(axis=1)
    probable = 0.9 * shares[:, 0] / np.nansum(shares, axis=1) + 0.1 / there
    assert loss == pytest.approx(-np.log(probable).mean(), abs=0.02)
    assert loss < weigh(terms[..., 1:])[1] - 0.2


# --- The second look ------------------------------------------------------------------------------------


def test_what_an_assembly_shows_finds_more_true_neighbours_in_a_compressed_sky(cut, bonds, relations):
    again = look_again(bonds, relations, 1)
    assert first_choices_right(again, cut[1]) > first_choices_right(bonds, cut[1]) + 0.01


@pytest.mark.parametrize(("width", "height", "count"), [(22, 18, 4), (16, 12, 2), (9, 7, 1)])
def test_a_small_bag_is_enough_to_learn_fewer_coefficients_from(width, height, count, monkeypatch):
    bag, truth = jigsaw.cut([sky(width, height, noise=0.3, blur=1, quality=98)], seed=1)
    bonds = bonds_of(jigsaw.compare(bag, "fused"))
    counts, learn = [], refitted.refitted

    def noted(features, e, f, count):
        counts.append(count)
        return learn(features, e, f, count)

    monkeypatch.setattr(refitted, "refitted", noted)
    again = look_again(bonds, placed_relations(true_layout(truth).astype(np.int32)), 1)
    assert counts == [count, count]
    assert look_again(bonds, placed_relations(true_layout(truth).astype(np.int32)), 1, count + 1) is None
    assert first_choices_right(again, truth) > first_choices_right(bonds, truth) + 0.01


def test_it_does_not_depend_on_the_number_of_workers(bonds, relations):
    one, two = look_again(bonds, relations, 1), look_again(bonds, relations, 2)
    np.testing.assert_array_equal(one.near, two.near)
    np.testing.assert_array_equal(one.gains, two.gains)


def test_lists_are_sorted_hold_only_gains_and_are_never_full(bonds, relations):
    again = look_again(bonds, relations, 1)
    assert (again.near[:, -1] == -1).all()
    assert (np.diff(again.gains, axis=1) <= 0).all()
    np.testing.assert_array_equal(again.near >= 0, again.gains > 0)
    assert again.gains.max() <= bonds.none
    own = np.arange(len(again.near))[:, None] // 4
    assert (again.near // 4 != own)[again.near >= 0].all()


def test_other_pieces_keep_their_lists(cut):
    pixels = cut[0].pixels.copy()
    rough = np.arange(0, len(pixels), 10)
    pixels[rough] = np.random.default_rng(0).integers(0, 256, pixels[rough].shape)
    bonds = bonds_of(jigsaw.compare(Bag(pixels), "fused"))
    plain = plain_pieces(bonds.features)
    assert not plain[rough].any()
    again = look_again(bonds, placed_relations(true_layout(cut[1]).astype(np.int32)), 1)
    listed = bonds.near.shape[1]
    others = np.flatnonzero(np.repeat(~plain, 4))
    np.testing.assert_array_equal(again.near[others, :listed], bonds.near[others])
    for e in np.flatnonzero(np.repeat(plain, 4)):
        before, after = bonds.near[e][bonds.near[e] >= 0], again.near[e][again.near[e] >= 0]
        assert set(before[~plain[before // 4]]) == set(after[~plain[after // 4]])


def test_nothing_is_learnt_from_little_or_by_another_measure(cut, bonds, relations):
    few = relations.copy()
    few[150:] = -1
    few[few >= 150] = -1
    assert look_again(bonds, few, 1) is None
    assert look_again(bonds_of(jigsaw.compare(cut[0], "ssd")), relations, 1) is None


@pytest.mark.parametrize(("blank", "looks"), [(2, True), (10, False)])
def test_where_too_many_pieces_are_alike_to_be_listed_they_are_not_compared_again(blank, looks, monkeypatch):
    monkeypatch.setattr("jigsaw.second_look._WORTH", 0.02)  # so that nothing else speaks against it
    pixels = sky()
    pixels[: 28 * blank] = 240
    bag, truth = jigsaw.cut([pixels], seed=1)
    relations = placed_relations(true_layout(truth).astype(np.int32))
    again = look_again(bonds_of(jigsaw.compare(bag, "fused")), relations, 1)
    assert (again is not None) == looks


def test_noise_teaches_nothing():
    pixels = np.random.default_rng(0).integers(100, 106, (500, 28, 28, 3)).astype(np.uint8)
    bonds = bonds_of(jigsaw.compare(Bag(pixels), "fused"))
    layout = np.column_stack([np.arange(500) % 25, np.arange(500) // 25, np.zeros(500, int)]).astype(np.int32)
    assert look_again(bonds, placed_relations(layout), 1) is None


def test_a_pool_measures_its_members_anew(cut, bonds):
    layout = true_layout(cut[1]).astype(np.int32)
    pool = Pool(bonds, 0, 1, np.inf, lambda *_: None)
    members = pool.measured(start_with([layout]))
    assert pool.look_again(members[0])
    again = pool.measured(members)
    assert again[0].gain == pool.gain_of(layout) != members[0].gain
    shifted = start_with([layout + np.int32([3, 1, 0])])[0]
    assert not pool.look_again(shifted)  # shows the same


def looks_in(caplog):
    """Return what was said of second looks."""
    return [record for record in caplog.messages if record.startswith("second look")]


def test_a_search_that_looks_again_depends_on_no_number_of_workers(cut, edges, monkeypatch, caplog):
    bag, truth = cut
    monkeypatch.setattr("jigsaw.search._settled", lambda *_: False)
    monkeypatch.setattr("jigsaw.search.MANY", 1000)
    monkeypatch.setattr("jigsaw.pool.MANY", 1000)
    quick = Settings(
        measure="fused", population=10, generations=3, members=2, rounds=1, passes=2, budget=60.0
    )
    with caplog.at_level("DEBUG", "jigsaw.second_look"):
        one, two = (jigsaw.solve(edges, "x", quick, workers=workers, one_image=True) for workers in (1, 2))
    looks = looks_in(caplog)
    assert len(looks) >= 2
    assert looks[: len(looks) // 2] == looks[len(looks) // 2 :]
    np.testing.assert_array_equal(one.layout, two.layout)
    assert jigsaw.evaluate(one, truth, bag)["neighbor"] > 0.9


def test_a_small_bag_is_looked_at_again_though_its_search_has_settled(caplog):
    bag, truth = jigsaw.cut([sky(9, 7, noise=0.3, blur=1, quality=98)], seed=1)
    edges = jigsaw.compare(bag, "fused")
    quick = Settings(measure="fused", population=20, generations=5, members=2, rounds=1, passes=4)
    with caplog.at_level("DEBUG", "jigsaw.second_look"):
        one, two = (jigsaw.solve(edges, "x", quick, workers=workers) for workers in (1, 2))
    assert len(looks_in(caplog)) >= 2
    np.testing.assert_array_equal(one.layout, two.layout)
    assert jigsaw.evaluate(one, truth, bag)["perfect"]
