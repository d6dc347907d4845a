"""What the plots show of records of scores."""

import re

import pytest
from generated import record

from jigsaw.plots import accuracy_plot, fitness_plot, save_plots

SMITH = {"name": "Smith", "results": {"cho432": {"neighbor": 94.88}}}
NOBODY = {"name": "Nobody", "results": {}}


RUNS = [
    *(record(puzzle=name, preset=preset) for name in ("5", "8") for preset in ("paper", "best")),
    *(record("other", str(pieces), pieces=pieces, exponent=1.5) for pieces in (805, 5015)),
]


@pytest.fixture(scope="module")
def plots(tmp_path_factory):
    """The plots of some runs as text, by name."""
    folder = tmp_path_factory.mktemp("plots")
    save_plots(RUNS, [SMITH, NOBODY], folder)
    return {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.svg")}


def texts(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_there_are_four_plots_whose_ink_is_that_of_the_page(plots):
    assert set(plots) == {"accuracy", "fitness", "scaling", "stages"}
    assert all("currentColor" in svg for svg in plots.values())


def test_accuracy_names_sets_images_presets_and_those_who_published_means(plots):
    words = texts(plots["accuracy"])
    assert {"cho432", "other", "5", "8", "paper", "best", "ceiling", "mean of Smith"} <= set(words)
    assert "mean of Nobody" not in words


def test_images_stand_in_the_order_of_their_names_whichever_preset_ran_on_which():
    runs = [record(puzzle=name, preset="paper") for name in ("2", "10")] + [record(puzzle="3", preset="best")]
    (axes,) = accuracy_plot(runs, []).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "3", "10"]


def test_the_fitted_exponent_is_that_of_the_seconds(plots):
    words = texts(plots["scaling"])
    assert "best: pieces to the power of 1.50" in words
    assert "best: 300 + 0 per 1,000 pieces" in words  # memory does not grow
    assert words.count("paper") == 2  # one size alone has no exponent


def test_fitness_is_shown_against_that_of_the_true_image(plots):
    assert "the true image" in texts(plots["fitness"])
    unknown = {key: value for key, value in record().items() if key != "true_fitness"}
    generations, end, true = fitness_plot([record(), unknown]).axes[0].lines
    assert (generations.get_xdata()[0], generations.get_ydata()[0]) == (1, 2.8)
    assert (generations.get_xdata()[-1], end.get_xdata()[0]) == (100, 100)
    assert set(true.get_ydata()) == {1}


def test_every_stage_has_a_bar_with_its_seconds(plots):
    words = texts(plots["stages"])
    assert {"cut", "compare", "solve", "evaluate", "cho432", "other", "paper", "best"} <= set(words)
    assert {"3.6 s", "0.4 s"} <= set(words)


def test_the_same_records_give_the_same_plots(plots, tmp_path):
    save_plots(RUNS, [SMITH, NOBODY], tmp_path)
    assert plots == {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.svg")}
