"""What is kept of a complete run, and README's headline; the workflow's part is in test_workflow.py."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from generated import record

from jigsaw.errors import JigsawError
from jigsaw.experiment import Experiment, Job
from jigsaw.headline import MARKS, core_hours, headline, with_headline
from jigsaw.presets import PRESETS
from jigsaw.records import read_published, read_records
from jigsaw.reference import compact, difference, lacking, published_beside, scores_of, write_tables
from jigsaw.tables import make_table

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "results" / "reference"
SOLVERS = [
    {"name": "Ours truly", "results": {"cho432": {"neighbor": 94.88}, "mcgill540": {"neighbor": 90}}},
    {"name": "Another", "results": {"cho432": {"neighbor": 80.5}}},
]


STAGES = {
    stage: {"seconds": 1.0, "core_seconds": 3600.0, "peak_mb": 7.0} for stage in ("cut", "compare", "solve")
}


def cells(table):
    """Return the cells of a Markdown table, row by row, without the rule below the titles."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return [rows[0], *rows[2:]]


def test_the_headline_has_a_row_for_every_set_that_others_have_solved_and_a_column_for_every_solver():
    records = [
        record("cho432", "1", "best", neighbor=1.0, stages=STAGES),
        record("cho432", "2", "best", neighbor=0.98, pixel_perfect=False, stages=STAGES),
        record("cho432", "1", "paper", neighbor=0.9, stages=STAGES),
        record("cho432", "2", "paper", neighbor=0.8, stages=STAGES),
        record("mcgill540", "1", "best", neighbor=0.97, pieces=540, stages=STAGES),
        record("pomeranz805", "1", "paper", neighbor=0.9, pieces=805, stages=STAGES),
        record("holidays", "1", "best", neighbor=0.5, pieces=100, stages=STAGES),
        record("mixed_bags", "four432", "best", neighbor=0.1, pieces=1728, stages=STAGES),
    ]
    text = headline(records, SOLVERS)
    titles, first, second = cells(text.split("\n\n")[0])
    assert titles[:8] == [
        "set", "pieces", "images", "ceiling", "**best**", "**paper**", "Ours truly", "Another"
    ]  # fmt: skip
    assert first == ["cho432", "432", "2", "100.00", "99.00", "85.00", "94.88", "80.50", "1", "3", "7"]
    assert second[:8] == ["mcgill540", "540", "1", "100.00", "97.00", "", "90.00", ""]
    assert "All 8 runs" in text
    assert "Linux x86_64" in text


def test_the_headline_says_so_if_the_presets_ran_on_different_numbers_of_images():
    runs = [record("cho432", puzzle, "best", stages=STAGES) for puzzle in "123"]
    runs.append(record("cho432", "2", "paper", stages=STAGES))
    assert cells(headline(runs, SOLVERS).split("\n\n")[0])[1][2] == "3 (`paper`: 1)"


def test_pixel_perfect_images_are_a_mean_over_runs():
    runs = [record(run=run, pixel_perfect=run == 0, stages=STAGES) for run in range(2)]
    assert cells(headline(runs, SOLVERS).split("\n\n")[0])[1][8] == "0.5"


def test_the_headline_goes_between_its_marks_and_nothing_else_changes():
    text = f"# Title\n\n{MARKS[0]}\nold\n{MARKS[1]}\n\nText \\1\n"
    once = with_headline(text, "| new \\1 |")
    assert once == f"# Title\n\n{MARKS[0]}\n\n| new \\1 |\n\n{MARKS[1]}\n\nText \\1\n"
    assert with_headline(once, "| new \\1 |") == once


@pytest.mark.parametrize("text", ["", f"{MARKS[0]}", f"{MARKS[1]} {MARKS[0]}", f"{MARKS[0]}{MARKS[1]}" * 2])
def test_a_readme_without_one_place_for_the_headline_is_refused(text):
    with pytest.raises(JigsawError, match="no place for the headline"):
        with_headline(text, "")


def kept_records(config):
    """Return the files of records in the order of the configuration."""
    return [KEPT / "records" / f"{name}.json" for name in [*config["sets"], "mixed_bags"]]


def test_the_course_of_the_generations_is_kept_of_first_runs_of_what_is_plotted():
    records = [record(preset=preset, run=run) for preset in ("best", "short") for run in range(2)]
    kept = [len(one.get("history", [])) for one in json.loads(compact(records, ["best"]))]
    assert kept == [101, 0, 0, 0]


def test_compact_records_make_the_same_tables(tmp_path):
    records = [record(puzzle=str(i), run=run, neighbor=0.9 + i / 100) for i in range(3) for run in range(2)]
    (tmp_path / "whole.json").write_text(json.dumps(records))
    (tmp_path / "compact.json").write_text(compact(records))
    for kind in ("puzzles", "accuracy", "performance"):
        for name in ("whole", "compact"):
            make_table([tmp_path / f"{name}.json"], tmp_path / f"{name}.csv", kind)
        assert (tmp_path / "whole.csv").read_bytes() == (tmp_path / "compact.csv").read_bytes()
    assert len((tmp_path / "compact.json").read_text().splitlines()) == len(records) + 2


def test_core_hours_count_what_runs_share_once():
    runs = [
        record(stages=STAGES, run=run, preset=preset, settings={"measure": measure})
        for run in range(2)
        for preset, measure in (("paper", "ssd"), ("best", "fused"))
    ]
    assert core_hours(runs) == 1 + 2 + 4


def test_what_differs_is_named_and_costs_are_not_compared():
    old = {**record(), "solution": "a"}
    assert difference(old, {**old, "seconds": 1e9, "stages": {}, "provenance": {}}) == ""
    assert difference(old, {**old, "solution": "b", "fitness": -1.0}) == "solution, fitness"


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({}, True),
        ({"budget": 1.0}, True),
        ({"budget": 1.0, "in_time": False}, False),  # with another budget it might have ended otherwise
        ({"members": 5}, False),
    ],
)
def test_a_run_is_kept_as_long_as_what_decides_it_is_the_same(tmp_path, changed, wanted):
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    config |= {"only": ["bundled"]}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    settings = {**PRESETS["best"].as_dict(), "in_time": True, **changed}
    kept = {
        **record("bundled", "coffee", "best", settings=settings, stages=STAGES),
        "solution": "a",
        "run": 0,
    }
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "bundled.json").write_text(compact([kept]))
    coffee = scores_of(Job("bundled", "coffee", "best", 0))
    assert (coffee not in lacking(tmp_path / "config.yaml", tmp_path)) == wanted


@pytest.mark.skipif(not KEPT.is_dir(), reason="no reference results are kept yet")
def test_readme_opens_with_the_reference_results():
    config = yaml.safe_load((KEPT / "config.yaml").read_text(encoding="utf-8"))
    records = read_records(path for path in kept_records(config) if path.is_file())
    table = headline(records, published_beside(Experiment(config, ROOT)))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert with_headline(text, table) == text


@pytest.mark.skipif(not KEPT.is_dir(), reason="no reference results are kept yet")
def test_the_reference_tables_follow_from_the_reference_records(tmp_path):
    shutil.copytree(KEPT / "records", tmp_path / "records")
    write_tables(tmp_path, Experiment.load(KEPT / "config.yaml"))
    made, kept = (
        {path.name: path.read_bytes() for path in (folder / "tables").iterdir() if path.suffix != ".png"}
        for folder in (tmp_path, KEPT)
    )
    assert made == kept


def test_published_results_are_those_of_the_comparison():
    experiment = Experiment.load(ROOT / "config.yaml")
    named = experiment.config["tables"]["comparison"]["beside"]
    assert published_beside(experiment) == read_published(ROOT / "workflow/published.yaml", named)
