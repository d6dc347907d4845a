"""The folder of all pictures of a puzzle."""

import json

import numpy as np
import pytest
from PIL import Image
from puzzles import cut_noise, noise, photograph, solution_of, true_layout, turned_layout

from jigsaw.errors import JigsawError
from jigsaw.pictures import LONGEST, draw_all
from jigsaw.pieces import cut

NAMES = {"original", "bag", "assembled", "errors", "generations", "animation", "thumbnail"}


def pixels(path):
    """Return a picture with its alpha channel."""
    with Image.open(path) as image:
        return np.array(image.convert("RGBA")).astype(int)


def names(folder):
    return {path.stem for path in folder.glob("*.webp")}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """All pictures of a photograph that lies on its side, but for one piece that lies beside it."""
    folder = tmp_path_factory.mktemp("pictures")
    bag, truth = cut([photograph(4, 5)])
    layout = true_layout(truth)
    stray = np.flatnonzero((layout[:, :2] == 0).all(axis=1))[0]
    layout[stray, :2] = (5, 3)
    solution = solution_of(turned_layout(layout, 1), bag)
    draw_all(solution, bag, truth, folder)
    return folder


def test_every_kind_of_picture_is_there(drawn):
    assert names(drawn) == NAMES
    assert not (drawn / "images").exists()


def test_the_assembly_is_upright_and_covers_the_original(drawn):
    original, assembled = pixels(drawn / "original.webp"), pixels(drawn / "assembled.webp")
    assert original.shape == assembled.shape == (4 * 28, 6 * 28, 4)
    both = (original[..., 3] > 0) & (assembled[..., 3] > 0)
    assert both.sum() == 19 * 28 * 28
    assert np.abs(original - assembled)[both].mean() < 4
    assert np.abs(original[both][:, :3] - photograph(4, 5).astype(int)[both[:, : 5 * 28]]).mean() < 4


def test_errors_lie_over_the_assembly(drawn):
    errors = pixels(drawn / "errors.webp")
    red = errors[..., 0] - errors[..., 1:3].max(axis=2) > 30
    assert red[3 * 28 + 4 : 4 * 28 - 4, 5 * 28 + 4 :].mean() > 0.9
    assert red[: 3 * 28, : 5 * 28 - 28].mean() < 0.1


def test_the_stages_of_the_run_are_listed_with_their_pictures(drawn):
    stages = json.loads((drawn / "pictures.json").read_text())["stages"]
    assert [stage["name"] for stage in stages] == ["generation 1"]
    assert all((drawn / stage["file"]).is_file() for stage in stages)


def test_without_the_truth_only_what_needs_it_is_left_out(tmp_path):
    bag, truth = cut_noise(3, 4)
    draw_all(solution_of(true_layout(truth), bag), bag, None, tmp_path)
    assert names(tmp_path) == NAMES - {"original", "errors"}


def test_mixed_bags_are_drawn_by_origin_and_taken_apart(tmp_path):
    bag, truth = cut([noise(8, 8, 1), noise(8, 12, 2)], 4)
    layout = true_layout(truth)
    layout[:, 0] -= 990 * truth.places[:, 0]
    draw_all(solution_of(layout, bag, image=truth.places[:, 0]), bag, truth, tmp_path)
    assert names(tmp_path) == NAMES | {"origins"}
    assert sorted(path.name for path in (tmp_path / "images").iterdir()) == ["image-1.png", "image-2.png"]


def test_several_images_found_in_one_are_taken_apart_too(tmp_path):
    bag, truth = cut_noise(2, 4)
    image = (truth.places[:, 2] > 1).astype(np.int32)
    draw_all(solution_of(true_layout(truth), bag, image=image), bag, truth, tmp_path)
    assert names(tmp_path) == NAMES
    assert len(list((tmp_path / "images").iterdir())) == 2


def test_files_of_different_puzzles_are_refused(tmp_path):
    (bag, truth), (_, other) = cut_noise(2, 3, seed=0), cut_noise(2, 3, seed=1)
    with pytest.raises(JigsawError, match="truth is not that of these pieces"):
        draw_all(solution_of(true_layout(truth), bag), bag, other, tmp_path)
    assert not list(tmp_path.iterdir())


def test_large_puzzles_are_drawn_scaled_down(tmp_path):
    bag, truth = cut([noise(20 * 28, 75 * 28)])
    draw_all(solution_of(true_layout(truth), bag), bag, truth, tmp_path)
    for name in ("original", "assembled", "errors"):
        assert pixels(tmp_path / f"{name}.webp").shape[:2] == (20 * 21, 75 * 21)
    assert LONGEST // 75 == 21
    assert max(pixels(tmp_path / "thumbnail.webp").shape) <= 320
