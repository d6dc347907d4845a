"""Roulette-wheel selection: the fitter a chromosome, the more often it becomes a parent."""

import numpy as np
import pytest
import reference
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from jigsaw.randomness import start, uniform
from jigsaw.selection import spin, two_parents, wheel_of

FALSE_ALARM = 1e-6
GOLDEN = 0x9E3779B97F4A7C15  # what the state of the generator grows by with every number drawn

populations = st.lists(st.floats(1, 1e6), min_size=3, max_size=20)


def started(index=0):
    state = np.zeros(1, np.uint64)
    start(state, 11, 0, index)
    return state


def drawn(before, after):
    """How many random numbers were drawn between two states of the generator."""
    return (int(after[0]) - int(before[0])) * pow(GOLDEN, -1, 2**64) % 2**64


@given(populations)
def test_the_wheel_has_the_shares_of_the_reference(fitness):
    assume(max(fitness) - min(fitness) > 1e-3 * max(fitness))
    shares = np.diff(wheel_of(np.array(fitness)), prepend=0)
    np.testing.assert_allclose(shares, reference.shares(fitness), atol=1e-4)


def test_a_share_is_the_distance_to_the_worst():
    shares = np.diff(wheel_of(np.array([50.0, 90.0, 100.0, 60.0])), prepend=0)
    np.testing.assert_allclose(shares, [0.5, 0.1, 0.0, 0.4], atol=1e-6)


@given(populations)
def test_the_wheel_goes_once_around_and_leaves_nobody_out(fitness):
    wheel = wheel_of(np.array(fitness))
    assert wheel[-1] == pytest.approx(1, abs=1e-12)
    assert (np.diff(wheel, prepend=0) > 0).all()


@pytest.mark.parametrize("fitness", [0.0, 1.0, 1e7])
def test_equals_are_chosen_evenly(fitness):
    shares = np.diff(wheel_of(np.full(8, fitness)), prepend=0)
    np.testing.assert_allclose(shares, 1 / 8)


@given(populations, st.integers(0, 2**32))
def test_the_wheel_stops_where_the_random_number_points(fitness, index):
    wheel = wheel_of(np.array(fitness))
    shares = np.diff(wheel, prepend=0)
    where = uniform(started(index))
    assume(np.abs(wheel - where).min() > 1e-9)
    assert spin(started(index), wheel) == reference.stop_of(shares.tolist(), where)


def test_parents_are_chosen_as_often_as_their_shares_say():
    fitness = [10.0, 20.0, 15.0, 40.0, 35.0]
    wheel, state = wheel_of(np.array(fitness)), started()
    counts = np.bincount([spin(state, wheel) for _ in range(10_000)], minlength=5)
    assert counts[3] == 0  # the worst has but a sliver
    shares = np.delete(reference.shares(fitness), 3)
    assert stats.chisquare(np.delete(counts, 3), 10_000 * shares).pvalue > FALSE_ALARM


def test_two_parents_differ_and_the_second_is_chosen_among_the_others():
    fitness = [10.0, 20.0, 15.0, 40.0]
    share = reference.shares(fitness)
    wheel, state = wheel_of(np.array(fitness)), started()
    pairs = [(one, two) for one in range(3) for two in range(3) if one != two]
    counts = dict.fromkeys(pairs, 0)
    for _ in range(10_000):
        counts[two_parents(state, wheel)] += 1
    expected = [10_000 * share[one] * share[two] / (1 - share[one]) for one, two in pairs]
    assert stats.chisquare([counts[pair] for pair in pairs], expected).pvalue > FALSE_ALARM


def test_a_second_parent_is_soon_found_though_one_is_far_better_than_all_others():
    wheel = wheel_of(np.array([1.0, 2.0, 2.0]))
    before, state = started(), started()
    one, two = two_parents(state, wheel)
    assert one != two
    assert drawn(before, state) < 1000
