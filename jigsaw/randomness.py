"""A small random generator for compiled kernels: splitmix64, its state in an array of one uint64.

Every child of every generation gets a stream of its own, so results do not depend on which worker
makes it. (Steele, Lea & Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.)
"""

from __future__ import annotations

import numpy as np

from jigsaw.compiled import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)


@kernel
def _mixed(z):
    z = (z ^ (z >> np.uint64(30))) * _MIX1
    z = (z ^ (z >> np.uint64(27))) * _MIX2
    return z ^ (z >> np.uint64(31))


@kernel
def start(state, seed, stream, index):
    """Begin the stream of random numbers that belongs to (seed, stream, index)."""
    z = _mixed(np.uint64(seed) + _GOLDEN)
    z = _mixed(z + np.uint64(stream) * _GOLDEN + _GOLDEN)
    state[0] = _mixed(z + np.uint64(index) * _GOLDEN + _GOLDEN)


@kernel
def bits(state):
    """Return 64 random bits."""
    state[0] += _GOLDEN
    return _mixed(state[0])


@kernel
def uniform(state):
    """Return a number in [0, 1)."""
    return np.float64(bits(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def below(state, limit):
    """Return an integer in [0, limit), for limits far below 2**32."""
    return np.int64(((bits(state) >> np.uint64(32)) * np.uint64(limit)) >> np.uint64(32))


@kernel
def shuffle(state, values, count):
    """Shuffle the first `count` values in place."""
    for i in range(count - 1, 0, -1):
        j = below(state, i + 1)
        values[i], values[j] = values[j], values[i]
