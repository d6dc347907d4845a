"""What the documentation shows works as shown."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import pytest
import yaml

from jigsaw import measures
from jigsaw.cli import main
from jigsaw.experiment import Experiment
from jigsaw.files import read_hdf5

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def blocks(page, language):
    """Return the blocks of code of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def carry_out(block):
    """Carry out the commands of a block, and compare what they print with what stands below them."""
    for typed in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, expected = typed.partition("\n")
        words = shlex.split(command)
        if words[0] == "python":
            subprocess.run([sys.executable, *words[1:]], check=True)
            continue
        assert words[0] == "jigsaw"
        with contextlib.redirect_stdout(io.StringIO()) as out:
            assert main(words[1:]) == 0, command
        wanted = [re.escape(line).replace(r"\.\.\.", r"\S.*") for line in expected.splitlines()]
        assert re.fullmatch("\n".join(wanted), out.getvalue().strip("\n")), out.getvalue()


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory):
    """The folder of someone who has followed the tutorial."""
    folder = tmp_path_factory.mktemp("tutorial")
    with contextlib.chdir(folder):
        for block in blocks("tutorial.md", "console"):
            carry_out(block)
    return folder


def test_the_tutorial_leads_where_it_says(tutorial, monkeypatch):
    made = {"assembled.png", "scores.json", "pieces.h5", "truth.h5", "edges.h5", "solution.h5"}
    assert made <= set(os.listdir(tutorial))
    assert sorted(os.listdir(tutorial / "both" / "images")) == ["image-1.png", "image-2.png"]
    monkeypatch.chdir(tutorial)
    (code,) = blocks("tutorial.md", "python")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, {})
    assert out.getvalue() == "100% of the neighbours are right\n"


def test_programs_are_told_what_the_how_to_shows(tutorial, monkeypatch):
    monkeypatch.chdir(tutorial)
    for block in blocks("programs.md", "console"):
        carry_out(block)


def test_files_are_read_from_python_as_the_how_to_shows(tutorial, monkeypatch):
    monkeypatch.chdir(tutorial)
    names = {}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        for code in blocks("python.md", "python"):
            exec(code, names)
    assert "160 pieces of 28 pixels" in out.getvalue()
    assert "generation 20 best fitness" in out.getvalue()
    assert (tutorial / "mine.h5").exists()


@pytest.mark.parametrize("kind", ["pieces", "truth", "edges", "solution"])
def test_the_reference_lists_all_that_is_in_a_file(tutorial, kind):
    text = (DOCS / "files.md").read_text(encoding="utf-8")
    part = text.partition(f"## {kind}.h5")[2].partition("\n## ")[0]
    arrays, content, _ = read_hdf5(tutorial / "solved" / f"{kind}.h5", kind)
    found = {name if not name.startswith("features_") else "features_…" for name in arrays} | set(content)
    assert set(re.findall(r"^\| `(\w+…?)`", part, re.MULTILINE)) == found
    with h5py.File(tutorial / "solved" / f"{kind}.h5") as file:
        head = text.partition("\n## ")[0]
        assert set(re.findall(r"^\| `(\w+)`", head, re.MULTILINE)) == set(file.attrs)


@pytest.mark.parametrize("page", ["image-sets.md", "presets.md"])
def test_the_configuration_of_a_how_to_is_a_valid_one(page):
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    for block in blocks(page, "yaml"):
        for key, value in yaml.safe_load(block).items():
            config[key] = {**config[key], **value} if isinstance(value, dict) else value
    Experiment(config, ROOT)


def test_the_reference_has_every_key_of_the_configuration():
    spec = importlib.util.spec_from_file_location("reference", DOCS / "reference.py")
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    text = reference.config()
    schema = yaml.safe_load(reference.SCHEMA.read_text(encoding="utf-8"))

    def described(part):
        if isinstance(part, dict):
            if isinstance(part.get("description"), str):
                yield part["description"]
            for below in part.values():
                yield from described(below)
        elif isinstance(part, list):
            for below in part:
                yield from described(below)

    descriptions = list(described(schema["properties"]))
    assert len(descriptions) > 50
    for description in descriptions:
        assert description in text
    for key in ("`sets.NAME.folder`", "`mixed_bags.NAME.images[].crop`", "`experiments[].runs`"):
        assert key in text


def test_the_commands_have_a_how_to_for_json():
    """Those that tell programs their result are listed, and no others."""
    import argparse

    from jigsaw.cli import parser

    (steps,) = (action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    telling = {name for name, step in steps.choices.items() if "--json" in step.format_help()}
    text = (DOCS / "programs.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == telling


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
