"""Mixed bags: the search tells how many pictures there are, and finishes each in a frame of its own."""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from reference_search import random_layout
from skimage import data

import jigsaw
from jigsaw.assembly import bonds_of
from jigsaw.experiment import Experiment
from jigsaw.geometry import relations_of
from jigsaw.moves import improve
from jigsaw.presets import Settings
from jigsaw.search import search
from jigsaw.synthetic import picture
from jigsaw.unmixing import unmix

ROOT = Path(__file__).parents[1]
SIZE = 8  # pixels
QUICK = Settings(measure="fused", population=16, generations=3, members=3, rounds=2, passes=8, budget=60.0)


def mixed(*shapes, seed=2, **options):
    """The bag and the truth of generated pictures of so many rows and columns."""
    pictures = [picture(rows, columns, SIZE, seed + i) for i, (rows, columns) in enumerate(shapes)]
    return jigsaw.cut(pictures, SIZE, seed, **options)


def solved(bag, upright=False, **options):
    return jigsaw.solve(jigsaw.compare(bag, "fused", upright=upright), settings=QUICK, **options)


def boxes(solution):
    """First x, first y, end x, end y of each image."""
    parts = [solution.layout[solution.image == i, :2] for i in range(solution.image.max() + 1)]
    return [[*part.min(axis=0).tolist(), *(part.max(axis=0) + 1).tolist()] for part in parts]


def assert_valid(solution, pieces):
    """Every piece has a place of its own; images are numbered by size and do not touch."""
    assert len({(x, y) for x, y, _ in solution.layout.tolist()}) == pieces
    assert set(solution.layout[:, 2].tolist()) <= {0, 1, 2, 3}
    assert solution.layout[:, :2].min(axis=0).tolist() == [0, 0]
    relations = relations_of(solution.layout)
    np.testing.assert_array_equal(solution.relations, relations)
    assert solution.image.shape == (pieces,)
    sizes = np.bincount(solution.image)
    assert sizes.min() > 0
    assert (np.diff(sizes) <= 0).all()
    e = np.flatnonzero(relations.reshape(-1) >= 0)
    assert (solution.image[relations.reshape(-1)[e] // 4] == solution.image[e // 4]).all()
    for one, two in itertools.combinations(boxes(solution), 2):
        assert one[2] < two[0] or two[2] < one[0] or one[3] < two[1] or two[3] < one[1]


def assert_solved(solution, truth, bag):
    """Every picture is an image by itself, without any mistake."""
    assert_valid(solution, len(bag))
    scores = jigsaw.evaluate(solution, truth, bag)
    assert scores["images_found"] == scores["images"]
    assert scores["neighbor"] == 1
    assert scores["foreign"] == 0
    assert all(row["enas"] == row["sedas"] == 1 for row in scores["per_image"])
    assert [row["solved"] for row in scores["per_image"]] == order_of(truth)
    areas = [(right - left) * (bottom - top) for left, top, right, bottom in boxes(solution)]
    assert areas == np.bincount(solution.image).tolist()


def order_of(truth):
    """The number by size that each picture should have, if all sizes are different."""
    sizes = (-truth.shapes.prod(axis=1)).tolist()
    assert len(set(sizes)) == len(sizes)
    return [sorted(sizes).index(size) for size in sizes]


BAGS = {
    "two": [(6, 8), (7, 5)],
    "three": [(5, 8), (7, 7), (6, 5)],
    "one fits beside the other": [(6, 8), (6, 5)],  # together 6 x 13
    "three that make one rectangle": [(6, 4), (6, 6), (6, 5)],  # 6 x 15
    "small beside large": [(9, 10), (4, 4)],
}


@pytest.mark.parametrize("shapes", BAGS.values(), ids=BAGS.keys())
def test_the_pictures_of_a_bag_are_counted_told_apart_and_put_together(shapes):
    bag, truth = mixed(*shapes)
    assert_solved(solved(bag), truth, bag)


def test_one_compilation_serves_all_windows():
    """Whatever frames are tried, their arrays are of one kind: nothing is compiled while the search runs."""
    solved(mixed(*BAGS["three"])[0])
    assert len({assembly for assembly, *_ in improve.signatures}) == 1


@pytest.mark.parametrize("seed", [20, 30, 40])
def test_two_pictures_that_fit_in_one_rectangle_are_told_apart(seed):
    bag, truth = mixed((6, 8), (6, 5), seed=seed)
    assert_solved(solved(bag, seed=seed), truth, bag)


def test_pictures_already_put_together_as_one_rectangle_are_told_apart():
    """Even if that is all the search has to begin with."""
    bag, truth = mixed((6, 8), (6, 5))
    image, row, column, turn = truth.places.T
    glued = np.column_stack([column + 8 * image, row, turn]).astype(np.int32)
    found = search(bonds_of(jigsaw.compare(bag, "fused")), [glued], 1, 4, seed=0)
    assert found.framed
    np.testing.assert_array_equal(found.image, image)
    expected = relations_of(glued + np.outer(image, [1, 0, 0]))  # a place between them
    np.testing.assert_array_equal(relations_of(found.layout), expected)


def test_upright_pictures_are_told_apart_and_not_turned():
    bag, truth = mixed((6, 8), (7, 5), keep_orientation=True)
    solution = solved(bag, upright=True)
    assert_solved(solution, truth, bag)
    assert (solution.layout[:, 2] == 0).all()
    shapes = [[bottom - top, right - left] for left, top, right, bottom in boxes(solution)]
    assert shapes == truth.shapes.tolist()


def test_pieces_known_to_be_of_one_image_are_not_told_apart():
    bag, truth = mixed((6, 8), (6, 5))
    solution = solved(bag, one_image=True)
    assert not solution.image.any()
    assert_valid(solution, 78)
    assert solution.settings["one_image"] is True
    unknown = solved(bag)
    assert unknown.settings["one_image"] is False
    assert jigsaw.evaluate(unknown, truth, bag)["images_found"] == 2


def test_unmixing_leaves_what_the_search_has_told_apart():
    bag, _ = mixed((6, 8), (7, 5))
    edges = jigsaw.compare(bag, "fused")
    solution = jigsaw.solve(edges, settings=QUICK)
    assert unmix(solution, edges) is solution


@pytest.mark.parametrize("shape", [(6, 8), (4, 12), (7, 7)])
def test_a_bag_of_one_picture_is_one_image(shape):
    bag, truth = mixed(shape)
    solution = solved(bag)
    assert_solved(solution, truth, bag)
    assert not solution.image.any()


@pytest.mark.parametrize("shapes", [[(6, 8), (6, 5)], [(5, 8), (7, 7), (6, 5)]])
def test_the_same_seed_gives_the_same_images_for_any_number_of_workers(shapes):
    bag, _ = mixed(*shapes)
    one, two = (solved(bag, workers=workers, seed=4) for workers in (1, 2))
    np.testing.assert_array_equal(one.layout, two.layout)
    np.testing.assert_array_equal(one.image, two.image)
    assert one.fitness == two.fitness


@pytest.mark.parametrize("missing", [0.05, 0.3])
def test_with_pieces_missing_every_piece_is_still_placed(missing):
    bag, truth = mixed((6, 8), (7, 6), missing=missing)
    solution = solved(bag)
    assert_valid(solution, len(bag))
    assert jigsaw.evaluate(solution, truth, bag)["neighbor"] > 0.8


def test_without_time_every_piece_is_still_placed():
    bag, _ = mixed((6, 8), (7, 5))
    solution = jigsaw.solve(jigsaw.compare(bag, "fused"), settings=QUICK.changed(budget=0.0))
    assert_valid(solution, 83)
    assert not solution.settings["in_time"]


@pytest.mark.parametrize("seed", range(3))
def test_a_bag_scrambled_to_single_pieces_is_told_apart(seed):
    bag, truth = mixed((6, 8), (7, 5))
    bonds = bonds_of(jigsaw.compare(bag, "fused"))
    starts = [random_layout(10 * seed + i, len(bag), 12) for i in range(3)]
    found = search(bonds, starts, 2, 6, seed)
    np.testing.assert_array_equal(found.image, truth.places[:, 0])
    assert found.framed


# --- Photographs --------------------------------------------------------------------------------------


BUNDLED = sorted(Experiment.load(ROOT / "config.yaml").images("bundled").items())
REAL = sorted(Path(os.environ.get("JIGSAW_DATA") or "nowhere", "cho432").glob("*.png"))


@pytest.mark.parametrize("path", [path for _, path in BUNDLED], ids=[name for name, _ in BUNDLED])
@pytest.mark.parametrize("size", [40, 56])
def test_a_photograph_is_never_split(path, size):
    bag, _ = jigsaw.cut([path], size)
    solution = solved(bag, seed=1)
    assert_valid(solution, len(bag))
    assert not solution.image.any()


@pytest.mark.skipif(not REAL, reason="the images of cho432 are not in JIGSAW_DATA")
@pytest.mark.parametrize("path", REAL, ids=[path.stem for path in REAL])
def test_an_image_of_the_benchmark_is_never_split(path):
    bag, _ = jigsaw.cut([path], seed=11)
    solution = jigsaw.solve(jigsaw.compare(bag, "fused"), "best", seed=11, workers=2)
    assert_valid(solution, len(bag))
    assert not solution.image.any()


@pytest.mark.parametrize(
    "path",
    [*(path for _, path in BUNDLED), *REAL],
    ids=[*(name for name, _ in BUNDLED), *(p.stem for p in REAL)],
)
def test_what_the_papers_preset_makes_of_one_photograph_is_never_split(path):
    bag, _ = jigsaw.cut([path])
    solution = jigsaw.solve(jigsaw.compare(bag, "ssd"), "paper", seed=2, workers=2)
    assert not unmix(solution, jigsaw.compare(bag, "fused")).image.any()


def test_photographs_are_told_apart():
    photographs = [
        data.astronaut()[:400, :320], data.chelsea()[:280, :440], data.coffee()[:400, :560]
    ]  # fmt: skip
    bag, truth = jigsaw.cut(photographs, 40, 1)
    solution = solved(bag, seed=1)
    assert_valid(solution, len(bag))
    scores = jigsaw.evaluate(solution, truth, bag)
    assert scores["images_found"] == 3
    assert scores["foreign"] == 0
    assert scores["neighbor"] > 0.9
