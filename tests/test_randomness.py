"""The random generator: the published one, even, and a stream of its own for every child."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import jigsaw
from jigsaw.randomness import below, bits, shuffle, start, uniform

FALSE_ALARM = 1e-6
WORD = 2**64


def mixed(z):
    """The finaliser of splitmix64, in Python's whole numbers."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def splitmix(seed, count):
    """The first numbers of splitmix64 from a seed."""
    return [mixed((seed + i * 0x9E3779B97F4A7C15) % WORD) for i in range(1, count + 1)]


def started(seed=0, stream=0, index=0):
    state = np.zeros(1, np.uint64)
    start(state, seed, stream, index)
    return state


def test_the_generator_gives_the_published_numbers_of_splitmix64():
    published = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    state = np.array([1234567], np.uint64)
    assert [int(bits(state)) for _ in range(5)] == published
    assert splitmix(1234567, 5) == published


@given(st.integers(0, WORD - 1))
def test_the_generator_is_splitmix64_from_any_state(seed):
    state = np.array([seed], np.uint64)
    assert [int(bits(state)) for _ in range(4)] == splitmix(seed, 4)


@given(st.integers(0, WORD - 1))
def test_a_uniform_number_is_the_upper_53_bits(seed):
    state = np.array([seed], np.uint64)
    number = uniform(state)
    assert number == (splitmix(seed, 1)[0] >> 11) / 2**53
    assert 0 <= number < 1


def test_uniform_numbers_are_uniform():
    state = started(1)
    numbers = [uniform(state) for _ in range(20_000)]
    assert stats.kstest(numbers, "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_every_number_below_a_limit_is_equally_likely(limit):
    state = started(2)
    counts = np.bincount([below(state, limit) for _ in range(200 * limit)], minlength=limit)
    assert len(counts) == limit
    if limit > 1:
        assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_every_order_of_a_shuffle_is_equally_likely_and_the_rest_is_left_alone():
    state = started(3)
    seen = {}
    for _ in range(4800):
        values = np.arange(6, dtype=np.int32)
        shuffle(state, values, 4)
        assert values[4:].tolist() == [4, 5]
        order = tuple(values[:4].tolist())
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 24
    assert stats.chisquare(list(seen.values())).pvalue > FALSE_ALARM


def test_each_child_of_each_generation_has_a_stream_of_its_own():
    of_child = [
        (seed, generation, child) for seed in range(5) for generation in range(20) for child in range(50)
    ]
    firsts = {int(bits(started(*names))) for names in of_child}
    assert len(firsts) == len(of_child)


def test_seed_generation_and_child_are_not_interchangeable():
    names = [(1, 2, 3), (1, 3, 2), (2, 1, 3), (2, 3, 1), (3, 1, 2), (3, 2, 1)]
    assert len({int(bits(started(*name))) for name in names}) == 6


def test_numbers_of_neighbouring_streams_are_unrelated():
    numbers = np.array(
        [[uniform(started(4, 1, child)), uniform(started(4, 2, child))] for child in range(5000)]
    )
    assert stats.kstest(numbers[:, 0], "uniform").pvalue > FALSE_ALARM
    assert stats.pearsonr(numbers[:, 0], numbers[:, 1]).pvalue > FALSE_ALARM
    assert stats.pearsonr(numbers[1:, 0], numbers[:-1, 0]).pvalue > FALSE_ALARM


def test_the_same_names_begin_the_same_stream():
    assert int(bits(started(2**63 - 1, 99, 299))) == int(bits(started(2**63 - 1, 99, 299)))


def test_an_edit_of_the_generator_changes_what_every_kernel_draws(tmp_path):
    """Compiled kernels are kept on disk, each with the generator compiled into it."""
    package = tmp_path / "jigsaw"
    shutil.copytree(Path(jigsaw.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    script = (
        "import numpy as np; from jigsaw.selection import spin; "
        "print([spin(np.array([i], np.uint64), np.linspace(0, 1, 99)) for i in range(20)])"
    )
    hidden = ("NUMBA_CACHE_DIR", "PYTHONPATH")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}

    def drawn():
        return subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True,
            check=True,
        ).stdout  # fmt: skip

    before = drawn()
    generator = package / "randomness.py"
    text = generator.read_text()
    assert "7C15" in text
    generator.write_text(text.replace("7C15", "7C17"))
    assert drawn() != before
