"""What the documentation shows works as shown."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import jigsaw
from jigsaw import measures
from jigsaw.synthetic import picture

ROOT = Path(__file__).parents[1]


@pytest.fixture
def documented_measure(tmp_path, monkeypatch):
    """Add the measure of docs/measures.md as its text says: one file and one name."""
    text = (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")
    (code,) = (
        block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "class Mine" in block
    )
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(measures, "__path__", [*measures.__path__, str(tmp_path)])
    monkeypatch.setattr(measures, "MEASURES", (*measures.MEASURES, "mine"))
    monkeypatch.setattr("jigsaw.presets.MEASURES", (*measures.MEASURES, "mine"))
    yield importlib.import_module("jigsaw.measures.mine")
    del sys.modules["jigsaw.measures.mine"]


def test_the_measure_of_the_how_to_compares_and_solves(documented_measure):
    bag, truth = jigsaw.cut([picture(6, 5, 10, seed=3)], piece_size=10)
    edges = jigsaw.compare(bag, "mine")
    border = [np.rot90(piece, side)[0].astype(int) for piece in bag.pixels for side in range(4)]
    for e in range(len(edges)):
        distances = {
            f: np.abs(border[e] - border[f][::-1]).sum() for f in range(len(border)) if f // 4 != e // 4
        }
        assert edges.nearest[e, 0] == min(distances, key=lambda f: (distances[f], f))
        assert edges.values[e, 0] == min(distances.values())
    settings = jigsaw.Settings(measure="mine", population=20, generations=5)
    solution = jigsaw.solve(edges, "mine", settings)
    assert jigsaw.evaluate(solution, truth, bag)["pieces"] == len(bag)


def test_every_measure_is_in_the_list():
    text = (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)`", text, re.MULTILINE) == list(measures.MEASURES)
