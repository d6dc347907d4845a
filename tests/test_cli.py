"""The command `jigsaw` as people type it: what it makes, what it says, and how it refuses."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image
from puzzles import noise, photograph, solution_of, true_layout

import jigsaw
from jigsaw.chromosome import costs_of, fitness_of
from jigsaw.cli import main
from jigsaw.edges import Edges
from jigsaw.images import read_image
from jigsaw.pieces import Bag, Truth
from jigsaw.solution import Solution

COMMAND = str(Path(sys.executable).with_name("jigsaw"))
QUICK = ("--population", "20", "--generations", "4")
KEYS = {
    *("neighbor", "perfect", "neighbor_identical", "pixel_perfect", "ceiling", "direct"),
    *("pieces", "images", "images_found", "sedas", "enas", "foreign"),
    *("seconds", "seed", "preset", "version"),
}
STEPS = ("cut", "gather", "compare", "solve", "unmix", "evaluate", "draw", "table", "plot", "report", "run")


def typed(*words, **options):
    """Run `jigsaw` in a process of its own."""
    return subprocess.run(
        [COMMAND, *map(str, words)], capture_output=True, text=True, check=False, timeout=120, **options
    )


@pytest.fixture
def call(capsys):
    """Return a function that runs `jigsaw` in this process and returns exit code, output and messages."""

    def called(*words):
        capsys.readouterr()
        try:
            code = main([str(word) for word in words])
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        return code, out, err

    return called


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Two images, of 3 x 4 and 2 x 3 pieces."""
    folder = tmp_path_factory.mktemp("images")
    Image.fromarray(photograph(3, 4)).save(folder / "first.png")
    Image.fromarray(photograph(2, 3, name="coffee")).save(folder / "second.png")
    return folder


@pytest.fixture(scope="module")
def solved(images, tmp_path_factory):
    """A folder with the files of every step, made by the commands as the README has them."""
    folder = tmp_path_factory.mktemp("solved")
    at = {
        name: str(folder / name) for name in ("P.h5", "T.h5", "E.h5", "S.h5", "scores.json", "assembled.png")
    }
    steps = [
        ["cut", str(images / "first.png"), "--pieces", at["P.h5"], "--truth", at["T.h5"], "--seed", "3"],
        ["compare", at["P.h5"], "--out", at["E.h5"]],
        ["solve", at["E.h5"], "--out", at["S.h5"], *QUICK, "--seed", "5"],
        [
            *("evaluate", at["S.h5"], "--truth", at["T.h5"], "--pieces", at["P.h5"]),
            *("--out", at["scores.json"], "--set", "tiny", "--puzzle", "first", "--run", "2"),
            *("--draw", "some"),
        ],
        ["draw", at["S.h5"], "--pieces", at["P.h5"], "--out", at["assembled.png"]],
    ]
    for step in steps:
        assert main([*step, "-q"]) == 0, step
    assert sorted(os.listdir(folder)) == sorted(at)
    return folder


# -- each step -------------------------------------------------------------------------------------------


def test_cut_makes_pieces_and_their_truth(solved, images):
    bag, truth = Bag.load(solved / "P.h5"), Truth.load(solved / "T.h5")
    expected, expected_truth = jigsaw.cut([images / "first.png"], seed=3)
    assert bag.digest == expected.digest == truth.pieces_digest
    np.testing.assert_array_equal(truth.places, expected_truth.places)
    assert truth.names == ("first.png",)


def test_cut_takes_several_images_a_piece_size_and_keeps_orientation(call, images, tmp_path):
    code, _, err = call(
        *("cut", images / "first.png", images / "second.png", "--pieces", tmp_path / "P.h5"),
        *("--truth", tmp_path / "T.h5", "--piece-size", 14, "--seed", 9, "--keep-orientation"),
    )
    assert code == 0
    assert "72 pieces" in err
    truth = Truth.load(tmp_path / "T.h5")
    assert truth.shapes.tolist() == [[6, 8], [4, 6]]
    assert (truth.places[:, 3] == 0).all()
    assert truth.seed == 9
    assert Bag.load(tmp_path / "P.h5").piece_size == 14


def test_cut_takes_a_crop_of_each_image(call, images, tmp_path):
    code, _, err = call(
        *("cut", images / "first.png", images / "second.png", "--pieces", tmp_path / "P.h5"),
        *("--truth", tmp_path / "T.h5", "--crop", "2x3+1+0", "-"),
    )
    assert code == 0, err
    truth = Truth.load(tmp_path / "T.h5")
    assert truth.names == ("first.png[2x3+1+0]", "second.png")
    assert truth.shapes.tolist() == [[3, 2], [2, 3]]


def test_cut_says_what_it_crops(call, tmp_path):
    Image.fromarray(noise(60, 90)).save(tmp_path / "odd.png")
    code, _, err = call(
        "cut", tmp_path / "odd.png", "--pieces", tmp_path / "P.h5", "--truth", tmp_path / "T.h5"
    )
    assert code == 0
    assert "odd.png" in err
    assert "84 x 56" in err


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "I;16", "RGB"])
def test_cut_reads_images_of_many_kinds(call, tmp_path, mode):
    picture = Image.fromarray(photograph(2, 2))
    if mode == "I;16":
        picture = Image.fromarray(np.arange(56 * 56, dtype=np.uint16).reshape(56, 56) * 20)
    elif mode != "RGB":
        picture = picture.convert(mode)
    picture.save(tmp_path / "image.png")
    code, _, _ = call(
        "cut", tmp_path / "image.png", "--pieces", tmp_path / "P.h5", "--truth", tmp_path / "T.h5"
    )
    assert code == 0
    assert len(Bag.load(tmp_path / "P.h5")) == 4


def test_gather_makes_a_bag_that_can_be_solved_and_drawn(call, images, tmp_path):
    """For people who have pieces and no original."""
    bag, _ = jigsaw.cut([images / "first.png"], seed=1)
    (tmp_path / "pieces").mkdir()
    for i, piece in enumerate(bag.pixels):
        Image.fromarray(piece).save(tmp_path / "pieces" / f"{i}.png")
    pieces, edges, solution, picture = (tmp_path / name for name in ("P.h5", "E.h5", "S.h5", "out.png"))
    assert call("gather", tmp_path / "pieces", "--pieces", pieces)[0] == 0
    assert Bag.load(pieces).digest == bag.digest
    assert call("compare", pieces, "--out", edges)[0] == 0
    assert call("solve", edges, "--out", solution, *QUICK)[0] == 0
    assert call("draw", solution, "--pieces", pieces, "--out", picture)[0] == 0
    assert read_image(picture).shape[0] % 28 == 0


def test_compare_makes_edges(solved):
    edges, bag = Edges.load(solved / "E.h5"), Bag.load(solved / "P.h5")
    assert edges.measure == "ssd"
    assert edges.pieces == 12
    assert edges.pieces_digest == bag.digest


def test_compare_takes_measure_neighbors_and_workers(call, solved, tmp_path):
    out = tmp_path / "E.h5"
    code, _, _ = call(
        *("compare", solved / "P.h5", "--out", out, "--measure", "ssd", "--neighbors", 3, "--workers", 2)
    )
    assert code == 0
    few, all_of_them = Edges.load(out), Edges.load(solved / "E.h5")
    assert few.nearest.shape == (48, 3)
    np.testing.assert_array_equal(few.nearest, all_of_them.nearest[:, :3])


def test_solve_makes_a_solution(solved):
    solution = Solution.load(solved / "S.h5")
    assert solution.layout.shape == (12, 3)
    assert solution.relations.shape == (12, 4)
    assert len(solution.history) == 5
    assert (solution.seed, solution.preset) == (5, "paper")
    assert solution.pieces_digest == Bag.load(solved / "P.h5").digest
    assert solution.edges_digest == Edges.load(solved / "E.h5").digest


def test_solve_has_an_option_for_each_parameter(call, solved, tmp_path):
    options = {"population": 17, "generations": 3, "elite": 2, "mutation": 0.25}
    options |= {"members": 2, "rounds": 1, "passes": 3, "budget": 9.5}
    assert set(options) == set(jigsaw.PRESETS["paper"].as_dict()) - {"measure"}
    words = [word for key, value in options.items() for word in (f"--{key}", value)]
    code, _, _ = call(
        *("solve", solved / "E.h5", "--out", tmp_path / "S.h5", "--preset", "paper", "--name", "mine"),
        *("--seed", 7, "--workers", 1, *words),
    )
    assert code == 0
    solution = Solution.load(tmp_path / "S.h5")
    outcome = {
        "size": None,
        "one_image": False,
        "upright": False,
        "islands": 1,
        "framed": solution.settings["framed"],
        "in_time": True,
    }
    assert solution.settings == {"measure": "ssd", **options, **outcome}
    assert (solution.seed, solution.preset, len(solution.history)) == (7, "mine", 4)


@pytest.mark.parametrize(
    ("option", "value"),
    [("--population", 30), ("--generations", 2), ("--elite", 0), ("--mutation", 0.9), ("--seed", 6)],
)
def test_each_option_of_solve_changes_the_run(call, solved, tmp_path, option, value):
    out = tmp_path / "S.h5"
    quick = [*QUICK, "--seed", 5]
    assert call("solve", solved / "E.h5", "--out", out, *quick, option, value)[0] == 0
    changed, before = Solution.load(out), Solution.load(solved / "S.h5")
    assert not np.array_equal(changed.history, before.history)


def test_the_number_of_workers_does_not_change_the_solution(solved, tmp_path):
    for workers in (2, 3):
        out = tmp_path / f"{workers}.h5"
        done = typed("solve", solved / "E.h5", "--out", out, *QUICK, "--seed", 5, "--workers", workers)
        assert done.returncode == 0, done.stderr
        several, one = Solution.load(out), Solution.load(solved / "S.h5")
        for name in ("relations", "layout", "history", "snapshots"):
            np.testing.assert_array_equal(getattr(several, name), getattr(one, name))


@pytest.fixture(scope="module")
def glued(tmp_path_factory):
    """Two pictures, compared, and a solution that lays their pieces side by side in one rectangle."""
    folder = tmp_path_factory.mktemp("glued")
    bag, truth = jigsaw.cut([photograph(6, 5), photograph(6, 4, name="coffee")], seed=3)
    image, row, column, turn = truth.places.T
    layout = np.column_stack([column + 5 * image, row, turn])
    bag.save(folder / "P.h5")
    truth.save(folder / "T.h5")
    solution_of(layout, bag).save(folder / "S.h5")
    jigsaw.compare(bag, "fused").save(folder / "E.h5")
    return folder


def test_unmix_tells_images_apart(call, glued, tmp_path):
    code, _, err = call("unmix", glued / "S.h5", "--edges", glued / "E.h5", "--out", tmp_path / "U.h5")
    assert code == 0, err
    assert "2 images" in err
    before, after = Solution.load(glued / "S.h5"), Solution.load(tmp_path / "U.h5")
    np.testing.assert_array_equal(after.image, Truth.load(glued / "T.h5").places[:, 0])
    np.testing.assert_array_equal(after.layout, before.layout)
    assert not before.image.any()
    words = ("--truth", glued / "T.h5", "--pieces", glued / "P.h5", "--out", tmp_path / "scores.json")
    assert call("evaluate", tmp_path / "U.h5", *words)[0] == 0
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert (scores["images"], scores["images_found"], scores["foreign"]) == (2, 2, 0)


def test_unmix_says_that_one_image_is_one(call, solved, tmp_path):
    code, _, err = call("unmix", solved / "S.h5", "--edges", solved / "E.h5", "--out", tmp_path / "U.h5")
    assert code == 0, err
    assert "1 image" in err
    assert "1 images" not in err
    assert not Solution.load(tmp_path / "U.h5").image.any()


@pytest.mark.parametrize(("word", "known"), [("--one-image", True), (None, False)])
def test_pieces_may_be_known_to_be_of_one_image(call, solved, glued, tmp_path, word, known):
    words = ("solve", solved / "E.h5", "--out", tmp_path / "S.h5", *QUICK)
    assert call(*words, *filter(None, [word]))[0] == 0
    assert Solution.load(tmp_path / "S.h5").settings["one_image"] is known
    # Unmixing takes the solution at its word.
    solution = Solution.load(glued / "S.h5")
    settings = {**solution.settings, "one_image": known}
    replace(solution, settings=settings).save(tmp_path / "G.h5")
    assert call("unmix", tmp_path / "G.h5", "--edges", glued / "E.h5", "--out", tmp_path / "U.h5")[0] == 0
    assert Solution.load(tmp_path / "U.h5").image.max() == (0 if known else 1)


def test_evaluate_writes_every_score(solved):
    scores = json.loads((solved / "scores.json").read_text())
    assert set(scores) >= KEYS
    assert (scores["set"], scores["puzzle"], scores["draw"], scores["run"]) == ("tiny", "first", "some", 2)
    assert (scores["pieces"], scores["images"], scores["seed"]) == (12, 1, 5)
    assert (scores["preset"], scores["version"]) == ("paper", jigsaw.__version__)
    assert 0 <= scores["neighbor"] <= scores["neighbor_identical"] <= 1
    assert scores["seconds"] > 0


def test_draw_shows_every_piece(solved):
    picture = read_image(solved / "assembled.png")
    layout = Solution.load(solved / "S.h5").layout
    columns, rows = layout[:, :2].max(axis=0) + 1
    assert picture.shape == (28 * rows, 28 * columns, 3)


def test_draw_colours_pieces_by_their_image_if_it_is_told_the_truth(call, solved, tmp_path):
    words = ("draw", solved / "S.h5", "--pieces", solved / "P.h5", "--out", tmp_path / "out.png")
    assert call(*words, "--truth", solved / "T.h5")[0] == 0
    coloured, plain = read_image(tmp_path / "out.png"), read_image(solved / "assembled.png")
    assert coloured.shape == plain.shape
    assert not np.array_equal(coloured, plain)


def test_draw_takes_the_images_apart(call, solved, tmp_path):
    solution = Solution.load(solved / "S.h5")
    replace(solution, image=(np.arange(12) < 5).astype(np.int32)).save(tmp_path / "S.h5")
    words = ("draw", tmp_path / "S.h5", "--pieces", solved / "P.h5", "--images", tmp_path / "images")
    assert call(*words)[0] == 0
    assert sorted(os.listdir(tmp_path / "images")) == ["image-1.png", "image-2.png"]
    white = [(read_image(tmp_path / "images" / f"image-{i}.png") == 255).all(axis=2).mean() for i in (1, 2)]
    assert max(white) < 1


@pytest.mark.parametrize("show", ["assembled", "origins", "errors", "original", "bag", "generations"])
def test_draw_shows_what_is_asked_for(call, solved, tmp_path, show):
    words = ("draw", solved / "S.h5", "--pieces", solved / "P.h5", "--truth", solved / "T.h5", "--show", show)
    assert call(*words, "--out", tmp_path / "out.png", "--longest", 60)[0] == 0
    picture = read_image(tmp_path / "out.png")
    assert show == "generations" or max(picture.shape) <= 60
    truth = "" if show in ("assembled", "bag", "generations") else "--truth"
    code, _, err = call(*words[:4], *words[6:], "--out", tmp_path / "untold.png")
    assert (code, truth in err) == (int(bool(truth)), True)


def test_draw_makes_a_film(call, solved, tmp_path):
    words = ("draw", solved / "S.h5", "--pieces", solved / "P.h5", "--animate", tmp_path / "run.webp")
    assert call(*words)[0] == 0
    with Image.open(tmp_path / "run.webp") as film:
        assert film.n_frames > 10


def test_a_page_is_made_of_scores_plots_and_pictures(call, solved, tmp_path):
    run = tmp_path / "pictures/tiny/first/paper/2"
    drawing = ("draw", solved / "S.h5", "--pieces", solved / "P.h5", "--truth", solved / "T.h5")
    assert call(*drawing, "--all", run)[0] == 0
    assert call("plot", solved / "scores.json", "--out", tmp_path / "plots")[0] == 0
    plots = sorted((tmp_path / "plots").iterdir())
    words = ("report", solved / "scores.json", "--pictures", tmp_path / "pictures")
    assert call(*words, "--plots", *plots, "--out", tmp_path / "report.html")[0] == 0
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert text.count("<svg") == len(plots) + 1 == 5
    assert "pictures/tiny/first/paper/2/thumbnail.webp" in text


def test_evaluate_tells_the_fitness_of_the_true_image_given_the_edges(call, solved, tmp_path):
    words = ("evaluate", solved / "S.h5", "--truth", solved / "T.h5", "--pieces", solved / "P.h5")
    assert call(*words, "--edges", solved / "E.h5", "--out", tmp_path / "scores.json")[0] == 0
    scores = json.loads((tmp_path / "scores.json").read_text())
    right = solution_of(true_layout(Truth.load(solved / "T.h5")), Bag.load(solved / "P.h5"))
    expected = fitness_of(costs_of(Edges.load(solved / "E.h5")), right.relations.reshape(-1))
    assert scores["true_fitness"] == pytest.approx(expected)
    history = Solution.load(solved / "S.h5").history
    assert scores["history"] == pytest.approx(history[:, 0].tolist(), abs=1e-3)
    assert "true_fitness" not in json.loads((solved / "scores.json").read_text())


@pytest.mark.parametrize("words", [[], ["--truth", "T.h5"], ["--out", "a.png", "--images", "b"]])
def test_draw_draws_one_thing(call, solved, words):
    code, _, err = call("draw", solved / "S.h5", "--pieces", solved / "P.h5", *words)
    assert code == 2
    assert "--out" in err
    assert "--images" in err


@pytest.mark.parametrize("ending", ["csv", "md", "tex"])
def test_table_is_made_by_its_ending(call, solved, tmp_path, ending):
    out = tmp_path / f"table.{ending}"
    assert call("table", solved / "scores.json", solved / "scores.json", "--out", out)[0] == 0
    text = out.read_text()
    mark = {"csv": "set,puzzle,preset", "md": "| set ", "tex": r"\begin{tabular}"}[ending]
    assert mark in text
    assert text.count("first") == 2
    assert "mean" in text


def test_table_puts_published_results_beside_ours(call, solved, tmp_path):
    (tmp_path / "published.yaml").write_text(
        "a: {name: Ada, citation: Ada 1843, results: {tiny: {neighbor: 50}}}\n"
        "b: {name: Bob, citation: Bob 1950, results: {tiny: {neighbor: 60}}}\n"
    )
    words = ["table", solved / "scores.json", "--out", tmp_path / "t.csv", "--published"]
    words += [tmp_path / "published.yaml", "--kind", "comparison"]
    assert call(*words)[0] == 0
    text = (tmp_path / "t.csv").read_text()
    assert "Ada" in text
    assert "Bob" in text
    assert call(*words, "--beside", "b")[0] == 0
    assert "Ada" not in (tmp_path / "t.csv").read_text()
    assert call(*words, "--beside")[0] == 0
    assert "Bob" not in (tmp_path / "t.csv").read_text()


def test_run_does_all_of_it(images, tmp_path):
    done = typed(
        *("run", images / "first.png", images / "second.png", "--out", tmp_path / "out", "--seed", 2),
        *("--workers", 2, "--preset", "paper", *QUICK),
    )
    assert done.returncode == 0, done.stderr
    wanted = {"pieces.h5", "truth.h5", "edges.h5", "solution.h5", "scores.json", "assembled.png", "images"}
    assert set(os.listdir(tmp_path / "out")) == wanted
    scores = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert set(scores) >= KEYS
    assert (scores["pieces"], scores["images"], scores["seed"], scores["cut_seed"]) == (18, 2, 2, 2)
    table, _, _ = done.stdout.partition("\n\n")
    lines = {line.split("  ")[0].strip(): line.split()[-1] for line in table.splitlines()}
    assert lines["pieces"] == "18"
    assert lines["images"] == str(scores["images_found"])
    assert len(os.listdir(tmp_path / "out" / "images")) == scores["images_found"]
    assert lines["perfect"] == ("yes" if scores["perfect"] else "no")
    assert f"{100 * scores['neighbor']:.2f} %" in done.stdout


@pytest.mark.parametrize("word", ["--one-image", None])
def test_run_tells_images_apart_unless_they_are_known_to_be_one(call, tmp_path, word):
    for name in ("astronaut", "coffee"):
        Image.fromarray(photograph(6, 5 if name == "coffee" else 6, name=name)).save(tmp_path / f"{name}.png")
    words = ("run", tmp_path / "astronaut.png", tmp_path / "coffee.png", "--out", tmp_path / "out")
    code, _, err = call(*words, "--population", 100, "--generations", 15, *filter(None, [word]))
    assert code == 0, err
    scores = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert scores["images_found"] == (1 if word else 2)
    assert len(os.listdir(tmp_path / "out" / "images")) == scores["images_found"]
    assert ("unmix" in scores["stages"]) == (word is None)
    # What is kept of the comparison is what the solver used.
    assert Edges.load(tmp_path / "out" / "edges.h5").measure == "ssd"


def test_run_takes_crops(call, images, tmp_path):
    assert call("run", images / "first.png", "--out", tmp_path, *QUICK, "--crop", "2x2+2+1")[0] == 0
    assert Truth.load(tmp_path / "truth.h5").names == ("first.png[2x2+2+1]",)


def test_run_is_the_same_as_its_steps(call, images, solved, tmp_path):
    assert call("run", images / "first.png", "--out", tmp_path, *QUICK, "--seed", 3)[0] == 0
    assert Bag.load(tmp_path / "pieces.h5").digest == Bag.load(solved / "P.h5").digest
    assert Edges.load(tmp_path / "edges.h5").digest == Edges.load(solved / "E.h5").digest


@pytest.mark.parametrize(("height", "width"), [(28, 28), (28, 56)])
def test_the_smallest_puzzles_are_solved(call, tmp_path, height, width):
    Image.fromarray(noise(height, width)).save(tmp_path / "small.png")
    code, out, err = call("run", tmp_path / "small.png", "--out", tmp_path / "out", *QUICK)
    assert code == 0, err
    assert "perfect" in out


def test_a_blank_picture_is_solved(call, tmp_path):
    """All edges fit all others equally well."""
    Image.new("RGB", (84, 56), "white").save(tmp_path / "blank.png")
    code, _, err = call("run", tmp_path / "blank.png", "--out", tmp_path / "out", *QUICK)
    assert code == 0, err
    assert json.loads((tmp_path / "out" / "scores.json").read_text())["ceiling"] == 0


@pytest.mark.parametrize("stage", ["compare", "solve", "search"])
def test_compile_needs_nothing_and_leaves_nothing(stage, tmp_path):
    done = typed("compile", stage, "ssd", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert os.listdir(tmp_path) == []


def test_compile_knows_its_measures(tmp_path):
    done = typed("compile", "compare", "sdd", cwd=tmp_path)
    assert done.returncode == 1
    assert "unknown measure 'sdd'; known: ssd, mgc, prediction, fused" in done.stderr


def test_a_size_is_width_by_height(call, solved, tmp_path):
    for text in ("24", "24x", "x18", "24*18", "axb"):
        code, _, err = call("solve", solved / "E.h5", "--out", tmp_path / "S.h5", "--size", text)
        assert code == 2
        assert "is not WxH, as in 24x18" in err


def test_fetch_gets_a_declared_set(call, tmp_path):
    root = Path(__file__).parents[1]
    shutil.copytree(root / "workflow", tmp_path / "workflow")
    (tmp_path / "source").mkdir()
    Image.fromarray(noise(28, 28)).save(tmp_path / "source" / "a.png")
    archive = shutil.make_archive(str(tmp_path / "set"), "gztar", tmp_path / "source")
    text = (root / "config.yaml").read_text()
    added = f"  mine: {{title: Mine, folder: mine, url: '{Path(archive).as_uri()}'}}\n  cho432:"
    (tmp_path / "config.yaml").write_text(text.replace("  cho432:", added, 1))
    code, _, err = call("fetch", "mine", "--config", tmp_path / "config.yaml")
    assert code == 0, err
    assert os.listdir(tmp_path / "data" / "mine") == ["a.png"]


# -- what it says ----------------------------------------------------------------------------------------


def test_version():
    for command in ([COMMAND], [sys.executable, "-m", "jigsaw"]):
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout == f"jigsaw {jigsaw.__version__}\n"


def test_the_version_is_that_of_the_project():
    import tomllib

    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert project["version"] == jigsaw.__version__


def test_help_names_every_step(call):
    code, out, _ = call("--help")
    assert code == 0
    for step in STEPS:
        assert f"\n    {step} " in out
        code, text, _ = call(step, "--help")
        assert code == 0
        assert f"usage: jigsaw {step}" in text


def test_help_does_not_load_the_solver():
    script = "import sys; from jigsaw.cli import parser; parser(); sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize("words", [[], ["jump"], ["cut"], ["solve", "E.h5"], ["cut", "a", "--seed", "x"]])
def test_a_mistyped_command_shows_how_it_is_used(call, words):
    code, _, err = call(*words)
    assert code == 2
    assert "usage: jigsaw" in err


def test_progress_is_told_in_lines_where_there_is_no_terminal(call, solved, tmp_path):
    words = ("solve", solved / "E.h5", "--out", tmp_path / "S.h5", "--population", 10, "--generations", 20)
    code, out, err = call(*words)
    assert code == 0
    assert re.search(r"^pieces +12\n", out)
    assert "generation 20 of 20: best fitness" in err
    assert 5 <= err.count(" of 20: ") <= 25


def test_quiet_says_nothing_and_verbose_says_more(call, solved, tmp_path):
    words = ("solve", solved / "E.h5", "--out", tmp_path / "S.h5", *QUICK)
    _, _, normal = call(*words)
    _, _, verbose = call(*words, "-v")
    assert call(*words, "-q") == (0, "", "")
    assert call(*words, "--quiet")[2] == ""
    assert len(verbose.splitlines()) > len(normal.splitlines()) > 0
    assert call(*words, "-q", "-v")[0] == 2


def test_quiet_still_says_what_went_wrong(call, tmp_path):
    code, _, err = call("compare", tmp_path / "P.h5", "--out", tmp_path / "E.h5", "-q")
    assert code == 1
    assert "P.h5" in err


def test_the_log_file_has_what_the_console_has(solved, tmp_path):
    log = tmp_path / "logs" / "solve.log"
    done = typed(
        *("solve", solved / "E.h5", "--out", tmp_path / "S.h5", *QUICK, "--workers", 2, "--log", log, "-v")
    )
    assert done.returncode == 0
    # Records of two workers may come in either order.
    assert sorted(log.read_text().splitlines()) == sorted(done.stderr.splitlines())
    assert "solving 12 pieces" in done.stderr
    assert done.stderr.count("is ready") == 2  # the workers' own messages


def test_the_log_file_has_the_error(call, tmp_path):
    log = tmp_path / "log"
    assert call("compare", tmp_path / "P.h5", "--out", tmp_path / "E.h5", "--log", log)[0] == 1
    assert "P.h5: there is no such file" in log.read_text()


def test_a_log_that_cannot_be_written_is_refused(call, solved, tmp_path):
    (tmp_path / "file").write_text("in the way")
    code, _, err = call(
        "compare", solved / "P.h5", "--out", tmp_path / "E.h5", "--log", tmp_path / "file" / "log"
    )
    assert code == 1
    assert "file/log" in err
    assert not (tmp_path / "E.h5").exists()


# -- bad input -------------------------------------------------------------------------------------------


@pytest.fixture
def bad(images, solved, tmp_path):
    """A folder with everything that can be wrong, and good files beside."""
    for path in solved.iterdir():
        shutil.copy(path, tmp_path / path.name)
    shutil.copy(images / "first.png", tmp_path / "good.png")
    whole = (images / "first.png").read_bytes()
    (tmp_path / "truncated.png").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "text.png").write_text("no image")
    (tmp_path / "folder.png").mkdir()
    Image.fromarray(noise(20, 200)).save(tmp_path / "small.png")
    for name, sizes in (("unequal", [(9, 9), (8, 8)]), ("oblong", [(9, 8)]), ("nothing", [])):
        (tmp_path / name).mkdir()
        for i, size in enumerate(sizes):
            Image.fromarray(noise(*size)).save(tmp_path / name / f"{i}.png")
    edges = Edges.load(solved / "E.h5")
    replace(edges, measure="guess").save(tmp_path / "measured.h5")
    bag, truth = jigsaw.cut([images / "first.png"], seed=99)
    bag.save(tmp_path / "P2.h5")
    truth.save(tmp_path / "T2.h5")
    jigsaw.compare(bag).save(tmp_path / "E2.h5")
    for version, name in ((0, "older.h5"), (99, "newer.h5")):
        shutil.copy(solved / "E.h5", tmp_path / name)
        with h5py.File(tmp_path / name, "r+") as file:
            file.attrs["format"] = version
    data = (solved / "E.h5").read_bytes()
    (tmp_path / "truncated.h5").write_bytes(data[: len(data) // 2])
    (tmp_path / "text.h5").write_text("no HDF5")
    (tmp_path / "text.json").write_text("no JSON")
    (tmp_path / "other.json").write_text("{}")
    return tmp_path


CUT = "--pieces out.h5 --truth out2.h5"
BAD = [
    # missing or unreadable images, and too small ones
    (f"cut nowhere.png {CUT}", "nowhere.png"),
    (f"cut good.png nowhere.png {CUT}", "nowhere.png"),
    (f"cut truncated.png {CUT}", "truncated.png"),
    (f"cut empty.png {CUT}", "empty.png"),
    (f"cut text.png {CUT}", "text.png"),
    (f"cut folder.png {CUT}", "folder.png"),
    (f"cut small.png {CUT}", "small.png"),
    (f"cut good.png {CUT} --piece-size 200", "good.png"),
    (f"cut good.png {CUT} --piece-size 1", "piece size"),
    (f"cut good.png {CUT} --piece-size -28", "piece size"),
    (f"cut good.png {CUT} --seed -1", "seed"),
    (f"cut good.png {CUT} --crop 2x2 2x2", "2 crops were given for 1 images"),
    (f"cut good.png {CUT} --crop 2", "crop '2' is not WxH+X+Y"),
    (f"cut good.png {CUT} --crop 5x2", "good.png: crop 5x2+0+0 reaches beyond the image, which is 4x3"),
    ("run good.png --out out --crop 2x4", "good.png: crop 2x4+0+0"),
    ("run nowhere.png --out out", "nowhere.png"),
    ("run truncated.png --out out", "truncated.png"),
    ("run small.png --out out", "small.png"),
    ("run good.png --out out --preset papyrus", "papyrus"),
    ("run good.png --out out --workers 0", "workers"),
    ("run good.png --out out --seed -1", "seed"),
    ("run good.png --out good.png/out", "good.png/out"),
    # pieces
    ("gather unequal --pieces out.h5", "unequal/1.png"),
    ("gather oblong --pieces out.h5", "oblong/0.png"),
    ("gather nothing --pieces out.h5", "nothing"),
    ("gather nowhere --pieces out.h5", "nowhere"),
    ("gather good.png --pieces out.h5", "good.png"),
    # the wrong file
    ("compare nowhere.h5 --out out.h5", "nowhere.h5"),
    ("compare E.h5 --out out.h5", "E.h5"),
    ("compare text.h5 --out out.h5", "text.h5"),
    ("compare P.h5 --out out.h5 --measure guess", "guess"),
    ("compare P.h5 --out out.h5 --neighbors 0", "neighbors"),
    ("compare P.h5 --out out.h5 --workers 0", "workers"),
    ("compare P.h5 --out good.png/out.h5", "good.png/out.h5"),
    ("solve nowhere.h5 --out out.h5", "nowhere.h5"),
    ("solve P.h5 --out out.h5", "P.h5"),
    ("solve older.h5 --out out.h5", "older.h5"),
    ("solve newer.h5 --out out.h5", "newer.h5"),
    ("solve truncated.h5 --out out.h5", "truncated.h5"),
    ("solve text.h5 --out out.h5", "text.h5"),
    ("solve measured.h5 --out out.h5", "measured.h5"),
    ("solve good.png --out out.h5", "good.png"),
    # the live page
    ("solve E.h5 --out out.h5 --live", "--pieces"),
    ("solve E.h5 --out out.h5 --pieces P.h5", "--live"),
    ("solve E.h5 --out out.h5 --live --pieces P2.h5", "E.h5, P2.h5: the edges are not those of the pieces"),
    ("solve E.h5 --out out.h5 --live --pieces nowhere.h5", "nowhere.h5"),
    ("solve E.h5 --out out.h5 --live --pieces P.h5 --quiet", "--quiet"),
    ("run good.png --out out --live --quiet", "--quiet"),
    # settings
    ("solve E.h5 --out out.h5 --preset papyrus", "papyrus"),
    ("solve E.h5 --out out.h5 --population 2", "population"),
    ("solve E.h5 --out out.h5 --generations 0", "generations"),
    ("solve E.h5 --out out.h5 --elite -1", "elite"),
    ("solve E.h5 --out out.h5 --elite 300", "elite"),
    ("solve E.h5 --out out.h5 --mutation 1.5", "mutation"),
    ("solve E.h5 --out out.h5 --mutation nan", "mutation"),
    ("solve E.h5 --out out.h5 --budget nan", "budget"),
    ("solve E.h5 --out out.h5 --workers 0", "workers"),
    ("solve E.h5 --out out.h5 --workers 100000", "workers"),
    ("solve E.h5 --out out.h5 --population 1000000000000", "GiB"),
    ("solve E.h5 --out out.h5 --checkpoint -1", "checkpoint"),
    ("solve E.h5 --out out.h5 --seed -1", "seed"),
    ("solve E.h5 --out out.h5 --seed 9223372036854775808", "seed"),
    # files of different puzzles
    ("evaluate S.h5 --truth T.h5 --pieces P2.h5 --out out.json", "P2.h5"),
    ("evaluate S.h5 --truth T2.h5 --pieces P.h5 --out out.json", "T2.h5"),
    ("evaluate S.h5 --truth T2.h5 --pieces P2.h5 --out out.json", "S.h5"),
    ("evaluate S.h5 --truth P.h5 --pieces P.h5 --out out.json", "P.h5"),
    ("evaluate E.h5 --truth T.h5 --pieces P.h5 --out out.json", "E.h5"),
    ("evaluate nowhere.h5 --truth T.h5 --pieces P.h5 --out out.json", "nowhere.h5"),
    ("unmix S.h5 --edges E2.h5 --out out.h5", "S.h5, E2.h5: solution and edges are not of one puzzle"),
    ("unmix S.h5 --edges P.h5 --out out.h5", "P.h5"),
    ("unmix E.h5 --edges E.h5 --out out.h5", "E.h5"),
    ("unmix nowhere.h5 --edges E.h5 --out out.h5", "nowhere.h5"),
    ("unmix S.h5 --edges nowhere.h5 --out out.h5", "nowhere.h5"),
    ("unmix S.h5 --edges truncated.h5 --out out.h5", "truncated.h5"),
    ("unmix S.h5 --edges measured.h5 --out out.h5", "guess"),
    ("draw S.h5 --pieces P2.h5 --out out.png", "P2.h5"),
    ("draw P.h5 --pieces P.h5 --out out.png", "P.h5"),
    ("draw S.h5 --pieces nowhere.h5 --out out.png", "nowhere.h5"),
    ("draw S.h5 --pieces P.h5 --out out.txt", "out.txt"),
    ("draw S.h5 --pieces P2.h5 --images out", "P2.h5"),
    ("draw S.h5 --pieces P.h5 --truth T2.h5 --out out.png", "T2.h5"),
    ("draw S.h5 --pieces P.h5 --truth P.h5 --out out.png", "P.h5"),
    ("draw S.h5 --pieces P.h5 --images good.png", "good.png"),
    ("draw S.h5 --pieces P.h5 --all good.png", "good.png"),
    ("draw S.h5 --pieces P.h5 --truth T2.h5 --all out", "T2.h5"),
    ("draw S.h5 --pieces P.h5 --animate out.mp4", "out.mp4"),
    ("draw S.h5 --pieces P2.h5 --animate out.gif", "P2.h5"),
    ("draw S.h5 --pieces P.h5 --show errors --out out.png", "--truth"),
    ("draw S.h5 --pieces P.h5 --longest 0 --out out.png", "0 pixels"),
    ("evaluate S.h5 --truth T.h5 --pieces P.h5 --edges E2.h5 --out out.json", "E2.h5"),
    # plots and the page
    ("plot nowhere.json --out out", "nowhere.json"),
    ("plot scores.json --presets slow --out out", "slow"),
    ("report scores.json --pictures out --out out.html", "has no pictures"),
    ("report other.json --pictures out --out out.html", "other.json"),
    # tables
    ("table nowhere.json --out out.md", "nowhere.json"),
    ("table text.json --out out.md", "text.json"),
    ("table other.json --out out.md", "other.json"),
    ("table scores.json other.json --out out.md", "other.json"),
    ("table P.h5 --out out.md", "P.h5"),
    ("table scores.json --out out.txt", "out.txt"),
    ("table scores.json --out out.md --kind speed", "speed"),
    ("table scores.json --out out.md --published nowhere.yaml", "nowhere.yaml"),
    # sets
    ("fetch cho432 --config nowhere.yaml", "nowhere.yaml"),
    ("fetch cho432 --config text.json", "text.json"),
]


@pytest.mark.parametrize(("words", "named"), BAD, ids=[words for words, _ in BAD])
def test_bad_input_is_refused_in_a_sentence_and_leaves_nothing(call, bad, monkeypatch, words, named):
    monkeypatch.chdir(bad)
    before = {path: path.stat().st_mtime_ns for path in bad.rglob("*") if path.is_file()}
    code, out, err = call(*words.split())
    assert code == 1
    assert out == ""
    errors = [line for line in err.splitlines() if " ERROR " in line]
    assert len(errors) == 1
    assert named in errors[0]
    assert "Traceback" not in err
    assert {path: path.stat().st_mtime_ns for path in bad.rglob("*") if path.is_file()} == before
    assert not (bad / "out").exists()


def test_bad_input_shows_no_traceback_in_a_process_of_its_own(bad):
    done = typed("cut", "truncated.png", "--pieces", "out.h5", "--truth", "out2.h5", cwd=bad)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "truncated.png" in done.stderr


def test_a_cut_whose_pieces_cannot_be_written_leaves_no_truth(call, bad, monkeypatch):
    monkeypatch.chdir(bad)
    code, _, err = call("cut", "good.png", "--pieces", "good.png/P.h5", "--truth", "out.h5")
    assert code == 1
    assert "good.png/P.h5" in err
    assert not (bad / "out.h5").exists()


def test_one_file_cannot_be_both_pieces_and_truth(call, bad, monkeypatch):
    monkeypatch.chdir(bad)
    code, _, err = call("cut", "good.png", "--pieces", "out.h5", "--truth", "out.h5")
    assert code != 0
    assert "out.h5" in err or "--truth" in err


def test_a_failed_step_leaves_the_old_output(call, bad, monkeypatch):
    monkeypatch.chdir(bad)
    before = (bad / "S.h5").read_bytes()
    assert call("solve", "truncated.h5", "--out", "S.h5")[0] == 1
    assert (bad / "S.h5").read_bytes() == before


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_all_processes_and_leaves_a_checkpoint(solved, tmp_path, end):
    words = ["solve", solved / "E.h5", "--out", tmp_path / "S.h5", "--generations", 10**6, "--workers", 2]
    log = tmp_path / "log"
    process = subprocess.Popen(
        [COMMAND, *map(str, words), "-v", "--log", str(log)], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not (log.exists() and "generation 3:" in log.read_text()) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(end)
    _, err = process.communicate(timeout=30)  # ends only when the workers, too, have closed the pipe
    assert process.returncode == 128 + end
    assert "Traceback" not in err
    assert sorted(os.listdir(tmp_path)) == ["S.h5.checkpoint-1", "log"]
