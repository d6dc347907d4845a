"""Measures of how badly two edges fit, by name.

A measure is a module with

- `Features`, a NamedTuple (its class of a name of its own) of arrays with one row an edge, the first of which
  holds the border's colours, and `features(pixels)`, which makes them: all it takes to compare two edges;
- `operands(features)`: float32 matrices U and V whose product U Vᵀ approximates the scores of all pairs;
- `score(features, e, f)`: a kernel, the exact score of a pair;
- `value(score)`: a kernel, the dissimilarity that a score stands for, growing with it;
- `ROOT`: whether that is proportional to the score's root, or else to the score itself.

and, where it is so,

- `CANDIDATES`: the product U Vᵀ is only a relative of the measure; this many of its nearest are rescored;
- `SYMMETRIC = False`: the score of (e, f) is not that of (f, e);
- `fitted(features, rivals, candidates, wanted)`: features with what is fitted to the whole bag;
- `NONE`: cost of an open side, instead of twice the mean dissimilarity.

To add one, write such a module and name it in `MEASURES`; docs/measures.md has an example.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from jigsaw.errors import JigsawError

MEASURES = ("ssd", "mgc", "prediction", "fused")


def measure_called(name: str) -> ModuleType:
    """Return the module of a measure."""
    if name not in MEASURES:
        raise JigsawError(f"unknown measure {name!r}; known: {', '.join(MEASURES)}")
    return importlib.import_module(f"jigsaw.measures.{name}")


def rows(features: Any, which: np.ndarray) -> Any:
    """Return the features of some edges."""
    return type(features)(*(array[which] for array in features))


def distinct_rows(features: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the first edge of each look, which look each edge has, and how many edges have each look."""
    data = np.hstack([np.ascontiguousarray(array).view(np.uint8) for array in features])
    rows = data.view(np.dtype((np.void, data.shape[1]))).reshape(-1)
    _, first, look, counts = np.unique(rows, return_index=True, return_inverse=True, return_counts=True)
    return first, look, counts


def outer_pixels(pixels: np.ndarray, depth: int = 0) -> np.ndarray:
    """Return the pixels of all edges at a depth below the border, read clockwise: (4 n, K, C)."""
    last = pixels.shape[1] - 1 - depth
    sides = [pixels[:, depth], pixels[:, :, last], pixels[:, last, ::-1], pixels[:, ::-1, depth]]
    return np.stack(sides, axis=1).reshape(-1, *pixels.shape[2:])


def planes(strips: np.ndarray) -> np.ndarray:
    """Return (4 n, K, 3) colours with those of each channel together: (4 n, 3 K)."""
    return np.ascontiguousarray(strips.transpose(0, 2, 1)).reshape(len(strips), -1)


def lab(colours: np.ndarray, scale: int) -> np.ndarray:
    """Return RGB colours as whole numbers of 1/scale of a L*a*b* unit, int16."""
    if not colours.any():  # black: where only types and shapes are wanted, the library is not loaded
        return np.zeros(colours.shape, np.int16)
    from skimage.color import rgb2lab

    return np.rint(rgb2lab(colours) * scale).astype(np.int16)


def score(features: Any, e: int, f: int) -> float:
    """Return the exact score of a pair of edges by the measure whose features these are; in kernels only."""
    raise TypeError("only compiled kernels can call this")


def value(features: Any, score: float) -> float:
    """Return the dissimilarity that a score stands for; in kernels only."""
    raise TypeError("only compiled kernels can call this")


def relation(features: Any, e: int, f: int) -> float:
    """Return the dissimilarities of e with f and of f with e together; in kernels only."""
    raise TypeError("only compiled kernels can call this")


def _home(features: Any) -> Any:
    return sys.modules[features.instance_class.__module__]


@overload(score)
def _score(features, e, f):
    if isinstance(features, types.BaseNamedTuple):
        own = _home(features).score
        return lambda features, e, f: own(features, e, f)
    return None


@overload(value)
def _value(features, score):
    if isinstance(features, types.BaseNamedTuple):
        own = _home(features).value
        return lambda features, score: own(score)
    return None


@overload(relation)
def _relation(features, e, f):
    if isinstance(features, types.BaseNamedTuple):
        home = _home(features)
        own, own_value = home.score, home.value
        if getattr(home, "SYMMETRIC", True):
            return lambda features, e, f: 2 * own_value(own(features, e, f))
        return lambda features, e, f: own_value(own(features, e, f)) + own_value(own(features, f, e))
    return None
