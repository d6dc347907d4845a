"""What jobs ask for covers what was measured, grows with puzzles and attempts, and is told beforehand."""

from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from configs import folder_of, tiny_config

from jigsaw.cli import main
from jigsaw.estimate import by_set, of_puzzle
from jigsaw.experiment import Experiment
from jigsaw.presets import PRESETS
from jigsaw.resources import FILE, core_seconds, memory, needs

ROOT = Path(__file__).parents[1]
MEASURED = yaml.safe_load(FILE.read_text())["measured"]
STAGES = ("cut", "compare", "quality", "solve", "unmix", "evaluate", "draw")
SIZES = (100, 432, 5_000, 22_755, 100_000)


@pytest.fixture(autouse=True)
def _no_data(monkeypatch):
    monkeypatch.delenv("JIGSAW_DATA", raising=False)


def settings_of(stage):
    return PRESETS["best"] if stage.startswith("solve") else None


@pytest.mark.parametrize("row", MEASURED, ids=lambda row: f"{row['stage']} {row['image']}")
def test_every_job_that_was_measured_would_have_had_enough(row):
    stage, _, variant = row["stage"].partition(", ")
    settings = PRESETS.get(variant) if stage == "solve" else None
    asked = needs(stage, row["pieces"], settings)
    assert row["mb"] <= asked.mem_mb
    assert row["core_seconds"] <= 60 * asked.runtime


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_was_measured_at_several_sizes(stage):
    sizes = {row["pieces"] for row in MEASURED if row["stage"].split(",")[0] == stage}
    assert len(sizes) >= 3
    assert max(sizes) >= 5_000


@pytest.mark.parametrize("stage", STAGES)
def test_larger_puzzles_get_more(stage):
    asked = [needs(stage, pieces, settings_of(stage)) for pieces in SIZES]
    assert all(few.mem_mb < many.mem_mb for few, many in pairwise(asked))
    assert all(few.runtime <= many.runtime for few, many in pairwise(asked))
    assert all(few.cores <= many.cores for few, many in pairwise(asked))
    assert asked[0].cores == 1
    assert asked[-1].cores == (16 if stage in ("compare", "solve") else 1)


@pytest.mark.parametrize("stage", STAGES)
def test_every_attempt_asks_for_more_memory_and_time(stage):
    first, second, third = (needs(stage, 5_000, settings_of(stage), attempt) for attempt in (1, 2, 3))
    assert first.mem_mb < second.mem_mb < third.mem_mb
    assert first.runtime < second.runtime < third.runtime
    assert first.cores == second.cores == third.cores


def test_a_larger_population_needs_more_memory_and_time():
    paper = PRESETS["paper"]
    larger = paper.changed(population=3000)
    assert memory("solve", 5_000, larger) > memory("solve", 5_000, paper) + 700
    assert core_seconds("solve", 5_000, larger) > 5 * core_seconds("solve", 5_000, paper)


def test_a_search_is_expected_to_end_with_its_budget_but_is_given_all_of_it():
    best = PRESETS["best"]
    without = core_seconds("solve", 5_000, best.changed(members=0))
    assert core_seconds("solve", 5_000, best.changed(budget=0)) == without
    assert without < core_seconds("solve", 5_000, best) <= without + best.budget * 5_000
    long = best.changed(budget=10)
    assert 60 * needs("solve", 5_000, long).runtime > 50_000
    assert core_seconds("solve", 5_000, long) < 50_000


def test_an_estimate_counts_every_job_of_a_set(tmp_path):
    config = tiny_config(tmp_path)
    config["presets"]["joined"] = {"base": "best", "islands": 3}
    config["experiments"] = [{"sets": "all", "presets": ["quick", "joined"], "runs": 2}]
    config["measures"] = {"sets": ["tiny"], "measures": ["mgc"]}
    rows = by_set(Experiment(config, ROOT)).rows
    # cut; ssd, fused, mgc; quality; and twice: quick, three islands and their join, two scores, two pictures
    assert [row[:4] for row in rows] == [["tiny", 6, 2, 46], ["total", None, 2, 46]]
    assert rows[0][4] > 0


def test_an_estimate_counts_bags_with_what_tells_their_images_apart(tmp_path):
    config = tiny_config(tmp_path)
    config["mixed_bags"] = {"both": {"images": ["tiny/a", "tiny/b"]}}
    rows = by_set(Experiment(config, ROOT)).rows
    # cut, two measures, solve, unmix, evaluate, draw
    assert [row[:4] for row in rows[:2]] == [["tiny", 6, 2, 10], ["mixed_bags", 12, 1, 7]]


def test_a_set_that_is_not_there_is_estimated_as_declared(tmp_path):
    config = tiny_config(tmp_path)
    config["sets"]["tiny"] = {"title": "T", "folder": "gone", "images": 5, "pieces": 1000}
    config["sets"]["unknown"] = {"title": "U", "folder": "gone"}
    rows = by_set(Experiment(config, ROOT)).rows
    assert [row[:4] for row in rows] == [["tiny", 1000, 5, 25], ["total", None, 5, 25]]


def test_nothing_to_estimate_is_nothing(tmp_path):
    config = tiny_config(tmp_path)
    config["sets"]["tiny"] = {"title": "T", "folder": "gone"}
    assert by_set(Experiment(config, ROOT)).rows == [["total", None, 0, 0, 0, 0]]


def test_the_command_estimates_the_experiment_and_one_puzzle(tmp_path, capsys):
    folder_of(tmp_path / "data" / "tiny", ["a.png"])
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(tiny_config(tmp_path)))
    assert main(["estimate", "--config", str(tmp_path / "config.yaml")]) == 0
    assert "| tiny " in capsys.readouterr().out
    assert main(["estimate", "--pieces", "100000"]) == 0
    assert capsys.readouterr().out == of_puzzle(100_000, PRESETS).markdown()
    assert main(["estimate", "--pieces", "1"]) == 1
    assert "at least 2" in capsys.readouterr().err


def test_the_documentation_tells_what_the_command_tells():
    text = (ROOT / "docs" / "slurm.md").read_text(encoding="utf-8")
    told = by_set(Experiment.load(ROOT / "config.yaml")).markdown()
    declared = [line for line in told.splitlines() if line.startswith("| ")]
    assert len(declared) > 10
    for line in declared:
        if not line.startswith(("| mixed_bags", "| total")):  # of images that may not be here
            assert _squeezed(line) in _squeezed(text)
    assert _squeezed(of_puzzle(100_000, PRESETS).markdown().split("\n\n")[1]) in _squeezed(text)


def _squeezed(text):
    """Return a text without what depends on the width of columns."""
    return " ".join(text.replace("-", "").split())
