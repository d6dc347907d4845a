"""What the documentation shows works as shown."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from jigsaw import measures

ROOT = Path(__file__).parents[1]


USE = """
import numpy as np
import jigsaw
from jigsaw.synthetic import picture

bag, truth = jigsaw.cut([picture(6, 5, 10, seed=3)], piece_size=10)
edges = jigsaw.compare(bag, "mine")
border = [np.rot90(piece, side)[0].astype(int) for piece in bag.pixels for side in range(4)]
for e in range(len(edges)):
    distances = {f: np.abs(border[e] - border[f][::-1]).sum() for f in range(len(border)) if f // 4 != e // 4}
    assert edges.nearest[e, 0] == min(distances, key=lambda f: (distances[f], f))
    assert edges.values[e, 0] == min(distances.values())
solution = jigsaw.solve(edges, "mine", jigsaw.Settings(measure="mine", population=20, generations=5))
print(jigsaw.evaluate(solution, truth, bag)["neighbor"])
"""


def test_the_measure_of_the_how_to_compares_and_solves(tmp_path):
    """One file and one name, in a copy of the package, so that compiled kernels do not mix."""
    text = (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")
    (code,) = (
        block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "class Mine" in block
    )
    shutil.copytree(ROOT / "jigsaw", tmp_path / "jigsaw", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "jigsaw" / "measures" / "mine.py").write_text(code, encoding="utf-8")
    registry = tmp_path / "jigsaw" / "measures" / "__init__.py"
    before = registry.read_text(encoding="utf-8")
    registry.write_text(before.replace("MEASURES = (", 'MEASURES = ("mine", '), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", USE],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) > 0.5


def test_every_measure_is_in_the_list():
    text = (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)`", text, re.MULTILINE) == list(measures.MEASURES)
