"""Puts shuffled, turned square pieces of one or several photographs together again.

    import jigsaw

    bag, truth = jigsaw.cut(["photograph.jpg"])
    edges = jigsaw.compare(bag)
    solution = jigsaw.solve(edges, workers=2)
    scores = jigsaw.evaluate(solution, truth, bag)
    picture = jigsaw.draw(solution, bag)

Each step is also a sub-command of `jigsaw`. The solver is the genetic algorithm of Sholomon, David &
Netanyahu (GECCO 2014).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jigsaw.dissimilarity import compare
    from jigsaw.drawing import draw
    from jigsaw.edges import Edges
    from jigsaw.errors import JigsawError
    from jigsaw.evaluation import evaluate
    from jigsaw.pieces import Bag, Truth, cut, gather
    from jigsaw.presets import PRESETS, Settings
    from jigsaw.provenance import VERSION as __version__
    from jigsaw.puzzle import run
    from jigsaw.solution import Solution
    from jigsaw.solver import solve
    from jigsaw.unmixing import unmix

# Where each public name lives; imported when first used, as compiled kernels take a while to load.
_HOMES = {
    "Bag": "pieces",
    "Edges": "edges",
    "JigsawError": "errors",
    "PRESETS": "presets",
    "Settings": "presets",
    "Solution": "solution",
    "Truth": "pieces",
    "compare": "dissimilarity",
    "cut": "pieces",
    "draw": "drawing",
    "evaluate": "evaluation",
    "gather": "pieces",
    "run": "puzzle",
    "solve": "solver",
    "unmix": "unmixing",
}

__all__ = [
    "PRESETS",
    "Bag",
    "Edges",
    "JigsawError",
    "Settings",
    "Solution",
    "Truth",
    "__version__",
    "compare",
    "cut",
    "draw",
    "evaluate",
    "gather",
    "run",
    "solve",
    "unmix",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("jigsaw.provenance").VERSION
    if name in _HOMES:
        return getattr(importlib.import_module(f"jigsaw.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'jigsaw' has no attribute {name!r}")
