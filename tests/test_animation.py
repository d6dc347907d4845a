"""The course of a run, and the film of it."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageSequence
from puzzles import cut_noise, photograph, solution_of, true_layout, turned_layout

from jigsaw.animation import Glide, animate
from jigsaw.course import course, draw_course, upright
from jigsaw.drawing import BACKGROUND, draw, draw_bag
from jigsaw.errors import JigsawError
from jigsaw.geometry import motions, relations_of
from jigsaw.pieces import cut


def shuffled(pieces, rng):
    """Return a random layout without two pieces at one place."""
    places = rng.permutation(2 * pieces)[:pieces]
    return np.column_stack([places % 6, places // 6, rng.integers(0, 4, pieces)])


def evolved(bag, truth, members=0):
    """Return a solution that shows generations 1 and 2, the second turned as a whole, and 9."""
    final = true_layout(truth)
    shown = [shuffled(len(bag), np.random.default_rng(3)), turned_layout(final, 1), final]
    solution = solution_of(final, bag)
    changes = {"shown": np.array([1, 2, 9], np.int32), "snapshots": np.stack(shown)}
    return solution_of(final, bag, settings={**solution.settings, "members": members}, **changes)


# -- course ----------------------------------------------------------------------------------------------


def test_the_course_names_the_generations_and_ends_with_the_solution():
    bag, truth = cut_noise(3, 4)
    assert [stage.name for stage in course(evolved(bag, truth))] == [
        "generation 1", "generation 2", "generation 9",
    ]  # fmt: skip
    searched = course(evolved(bag, truth, members=2))
    assert [stage.name for stage in searched][2:] == ["generation 9", "after the search"]
    np.testing.assert_array_equal(searched[-1].layout, evolved(bag, truth).layout)


def test_stages_are_turned_to_fit_the_next_but_not_changed():
    bag, truth = cut_noise(3, 4)
    solution = evolved(bag, truth)
    stages = course(solution)
    np.testing.assert_array_equal(stages[1].layout, solution.layout)  # it was turned as a whole
    for stage, snapshot in zip(stages, solution.snapshots, strict=True):
        assert len(np.unique(motions(snapshot, stage.layout), axis=0)) == 1


def test_the_stages_are_drawn_side_by_side():
    bag, truth = cut([photograph()])
    strip = draw_course(evolved(bag, truth), bag)
    assert strip.shape == (360, 3 * 336 - 16, 3)
    second, third = strip[:320, 336:656], strip[:320, 672:]
    np.testing.assert_array_equal(second, third)
    assert (strip[322:, 336:656] == 0).any()  # its name


# -- gliding ---------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), pieces=st.integers(1, 18))
def test_pieces_start_and_end_where_they_lie(seed, pieces):
    rng = np.random.default_rng(seed)
    before, after = shuffled(pieces, rng), shuffled(pieces, rng)
    for share, layout in ((0, before), (1, after)):
        places, angles = Glide(before, after).at(share)
        np.testing.assert_allclose(places, layout[:, :2], atol=1e-9)
        np.testing.assert_allclose(angles % 360, 90 * layout[:, 2])


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), share=st.floats(0, 1), turns=st.integers(0, 3))
def test_a_segment_glides_as_one(seed, share, turns):
    rng = np.random.default_rng(seed)
    before = np.column_stack([*np.indices((3, 4)).reshape(2, -1), rng.integers(0, 4, 12)])
    after = turned_layout(before, turns) + np.array([7, 5, 0])
    places, angles = Glide(before, after).at(share)

    def distances(points):
        return np.linalg.norm(points[:, None] - points[None], axis=2)

    np.testing.assert_allclose(distances(places), distances(before[:, :2].astype(float)), atol=1e-9)
    assert np.ptp(angles - 90 * before[:, 2]) < 1e-9


def test_what_stays_stays_still():
    before = np.array([[0, 0, 1], [1, 0, 2], [5, 5, 0]])
    after = np.array([[0, 0, 1], [1, 0, 2], [2, 0, 3]])
    places, angles = Glide(before, after).at(0.4)
    np.testing.assert_allclose(places[:2], before[:2, :2])
    np.testing.assert_allclose(angles[:2], [90, 180])
    assert 2 < places[2, 0] < 5
    assert relations_of(before)[2].max() == -1


# -- the film --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[".webp", ".gif"])
def film(request, tmp_path_factory):
    """A film, its frames and how long each is shown, the bag and the solution."""
    bag, truth = cut([photograph()])
    path = tmp_path_factory.mktemp("film") / f"run{request.param}"
    solution = evolved(bag, truth, members=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jigsaw.animation.LONGEST", {"webp": 160, "gif": 160})
        animate(solution, bag, path)
    with Image.open(path) as image:
        frames = [
            (np.array(_on_white(frame)), frame.info["duration"]) for frame in ImageSequence.Iterator(image)
        ]
    return frames, bag, solution


def _on_white(frame):
    white = Image.new("RGBA", frame.size, BACKGROUND)
    return Image.alpha_composite(white, frame.convert("RGBA")).convert("RGB")


def alike(frame, picture):
    """Return how much a frame looks like a picture, from -1 to 1."""
    small = np.array(Image.fromarray(picture).resize(frame.shape[1::-1]))
    return np.corrcoef(frame.astype(float).ravel(), small.astype(float).ravel())[0, 1]


def test_a_film_begins_with_the_bag_and_ends_with_the_solution(film):
    frames, bag, solution = film
    assert alike(frames[0][0], draw_bag(bag, columns=4)) > 0.97
    assert alike(frames[-1][0], draw(solution, bag)) > 0.97
    assert alike(frames[-1][0], draw_bag(bag, columns=4)) < 0.9


def test_a_film_rests_at_its_stages_and_moves_smoothly_between(film):
    frames, _, _ = film
    times = [time for _, time in frames]
    assert times[-1] > 1000
    assert 30 <= min(times) <= 60
    assert frames[0][0].shape[:2] == (120, 160)
    changes = [np.abs(a.astype(int) - b).mean() for (a, _), (b, _) in pairwise(frames)]
    assert max(changes) < 255 * 0.35


def test_a_film_is_upright_if_the_truth_is_told():
    bag, truth = cut_noise(3, 4)
    solution = solution_of(turned_layout(true_layout(truth), 1), bag)
    np.testing.assert_array_equal(upright(solution, truth).layout, true_layout(truth))


def test_other_endings_are_refused(tmp_path):
    bag, truth = cut_noise(2, 2)
    with pytest.raises(JigsawError, match=r"\.webp or \.gif"):
        animate(evolved(bag, truth), bag, tmp_path / "run.mp4")
