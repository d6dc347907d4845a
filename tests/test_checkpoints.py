"""A run that was interrupted goes on from its checkpoint, and ends as it would have ended."""

import logging
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from puzzles import photograph

import jigsaw
from jigsaw import cli, solver
from jigsaw.checkpoints import INTERVAL, Checkpoints
from jigsaw.errors import JigsawError
from jigsaw.files import digest, read_hdf5
from jigsaw.pool import Pool
from jigsaw.solution import Solution

SMALL = jigsaw.Settings(population=20, generations=8)
SEARCHED = jigsaw.Settings(measure="fused", population=10, generations=4, members=3, rounds=2, passes=2)
ARRAYS = ("relations", "layout", "image", "history", "shown", "snapshots")


@pytest.fixture(scope="module")
def edges():
    """Some compared pieces, for each of the measures used here."""
    bag, _ = jigsaw.cut([photograph(6, 7, 14)], 14)
    return {measure: jigsaw.compare(bag, measure) for measure in ("ssd", "fused")}


@pytest.fixture(scope="module")
def undisturbed(edges):
    """The solutions of runs that nothing interrupts."""
    return {settings: jigsaw.solve(edges[settings.measure], "x", settings) for settings in (SMALL, SEARCHED)}


def content_of(solution):
    arrays = {name: getattr(solution, name) for name in ARRAYS}
    return digest(arrays, {"settings": solution.settings, "fitness": solution.fitness})


class Interruption:
    """Interrupts a run at one of its steps; knows all that it has seen."""

    def __init__(self, at=None):
        self.at = at
        self.seen = []

    def __call__(self, step, figures, layout):
        self.seen.append(step)
        if step == self.at:
            raise KeyboardInterrupt


def interrupted(edges, settings, output, at, interval=INTERVAL, **options):
    """Run until an interruption."""
    stop = Interruption(at)
    with pytest.raises(KeyboardInterrupt):
        jigsaw.solve(
            edges[settings.measure], "x", settings, on_generation=stop, on_round=stop,
            checkpoints=Checkpoints(output, interval), **options,
        )  # fmt: skip


def resumed(edges, settings, output, **options):
    """Run again; return the solution and the steps that were done."""
    watch = Interruption()
    solution = jigsaw.solve(
        edges[settings.measure], "x", settings, on_generation=watch,
        checkpoints=Checkpoints(output), **options,
    )  # fmt: skip
    return solution, watch.seen


@pytest.mark.parametrize("at", [0, 1, 5, 8])
def test_generations_go_on_where_they_were(edges, undisturbed, tmp_path, at):
    interrupted(edges, SMALL, tmp_path / "S.h5", at)
    solution, seen = resumed(edges, SMALL, tmp_path / "S.h5", workers=2)
    assert seen == list(range(at + 1, 9))
    assert content_of(solution) == content_of(undisturbed[SMALL])


def test_a_run_may_be_interrupted_again_and_again(edges, undisturbed, tmp_path):
    for at in (2, 3, 7):
        interrupted(edges, SMALL, tmp_path / "S.h5", at, workers=1 + at % 2)
    assert content_of(resumed(edges, SMALL, tmp_path / "S.h5")[0]) == content_of(undisturbed[SMALL])


@pytest.mark.parametrize("at", ["improve", "round 1", "round 2"])
def test_a_search_goes_on_where_it_was(edges, undisturbed, tmp_path, monkeypatch, at):
    made = []
    make = Pool._make

    def counted(pool, task, number):
        if pool.pieces > 2:  # of which kernels are tried
            made.append(number)
        return make(pool, task, number)

    monkeypatch.setattr(Pool, "_make", counted)
    jigsaw.solve(edges["fused"], "x", SEARCHED)
    total, made[:] = len(made), []
    interrupted(edges, SEARCHED, tmp_path / "S.h5", at)
    before, made[:] = len(made), []
    solution, seen = resumed(edges, SEARCHED, tmp_path / "S.h5", workers=2)
    assert seen == []
    assert before > 0
    assert before + len(made) == total
    assert content_of(solution) == content_of(undisturbed[SEARCHED])


def test_the_budget_of_a_search_counts_what_was_used_before(edges, tmp_path, monkeypatch):
    settings = SEARCHED.changed(budget=100 / 1000)  # of the 1,000 pieces that a small bag is taken for
    interrupted(edges, settings, tmp_path / "S.h5", "improve")
    _, content, _ = read_hdf5(tmp_path / "S.h5.checkpoint-1", "checkpoint")
    given = []
    search = solver.search
    monkeypatch.setattr(solver, "search", lambda *words: given.append(words[-1].seconds) or search(*words))
    assert resumed(edges, settings, tmp_path / "S.h5")[0].settings["in_time"]
    assert given[0] >= content["searching"] > 0


def test_a_search_that_had_no_time_says_so_when_it_goes_on(edges, tmp_path):
    settings = SEARCHED.changed(budget=0)
    interrupted(edges, settings, tmp_path / "S.h5", "improve")
    assert not resumed(edges, settings, tmp_path / "S.h5")[0].settings["in_time"]


def test_the_seconds_of_a_run_are_those_of_all_its_parts(edges, tmp_path):
    interrupted(edges, SMALL, tmp_path / "S.h5", 5)
    _, content, _ = read_hdf5(tmp_path / "S.h5.checkpoint-1", "checkpoint")
    solution, _ = resumed(edges, SMALL, tmp_path / "S.h5")
    assert solution.notes["stages"]["solve"]["seconds"] >= content["seconds"] > 0


def test_the_last_two_checkpoints_are_kept(edges, tmp_path):
    interrupted(edges, SMALL, tmp_path / "S.h5", 5, interval=0)
    assert sorted(os.listdir(tmp_path)) == ["S.h5.checkpoint-1", "S.h5.checkpoint-2"]
    assert {read_hdf5(path, "checkpoint")[1]["generation"] for path in tmp_path.iterdir()} == {4, 5}


def test_none_is_saved_before_it_is_time(edges, tmp_path):
    jigsaw.solve(edges["ssd"], "x", SMALL, checkpoints=Checkpoints(tmp_path / "S.h5"))
    assert os.listdir(tmp_path) == []


def test_saving_that_takes_long_is_done_less_often(edges, tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    checkpoints = Checkpoints(tmp_path / "S.h5", 10)
    checkpoints.find(dict)

    def slow(*words):
        saved.append(now[0])
        now[0] += 3

    saved = []
    monkeypatch.setattr("jigsaw.checkpoints.write_hdf5", slow)
    with checkpoints.of(lambda: solver.State({}, {"at": f"second {now[0]}"})):
        for second in range(100):
            now[0] = max(now[0], second)
            checkpoints.offer()
    assert saved == [10, 43, 76]


def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(edges, undisturbed, tmp_path, caplog):
    interrupted(edges, SMALL, tmp_path / "S.h5", 5, interval=0)
    slots = [tmp_path / f"S.h5.checkpoint-{i}" for i in (1, 2)]
    last = max(slots, key=lambda slot: read_hdf5(slot, "checkpoint")[1]["number"])
    last.write_bytes(last.read_bytes()[:-100])
    solution, seen = resumed(edges, SMALL, tmp_path / "S.h5")
    assert f"{last.name}: is not a whole checkpoint file" in caplog.text
    assert seen == [5, 6, 7, 8]
    assert content_of(solution) == content_of(undisturbed[SMALL])


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"seed": 1}, "seed"),
        ({"settings": SMALL.changed(population=21)}, "settings"),
        ({"one_image": True}, "one_image"),
        ({"edges": "fewer"}, "edges"),
        ({"version": "99"}, "version"),
    ],
)
def test_a_run_with_other_parameters_says_why_it_starts_anew(
    edges, tmp_path, monkeypatch, caplog, changes, named
):
    caplog.set_level(logging.INFO, "jigsaw")
    interrupted(edges, SMALL, tmp_path / "S.h5", 5)
    options = {"settings": SMALL, "seed": 0, "one_image": False, "edges": edges["ssd"], **changes}
    if named == "edges":
        bag, _ = jigsaw.cut([photograph(5, 7, 14)], 14)
        options["edges"] = jigsaw.compare(bag)
    monkeypatch.setattr(solver, "VERSION", options.pop("version", solver.VERSION))
    expected = jigsaw.solve(**options)
    solution = jigsaw.solve(**options, checkpoints=Checkpoints(tmp_path / "S.h5"))
    assert f"S.h5.checkpoint-1: is of a run with other {named}; starting anew" in caplog.text
    assert content_of(solution) == content_of(expected)


def test_a_run_that_cannot_save_its_state_goes_on(edges, undisturbed, tmp_path, caplog):
    for i in (1, 2):
        (tmp_path / f"S.h5.checkpoint-{i}").mkdir()
    solution = jigsaw.solve(edges["ssd"], "x", SMALL, checkpoints=Checkpoints(tmp_path / "S.h5", 0))
    assert "no checkpoint was saved" in caplog.text
    assert content_of(solution) == content_of(undisturbed[SMALL])


@pytest.mark.parametrize("interval", [-1, float("nan")])
def test_an_interval_is_a_number_of_seconds(tmp_path, interval):
    with pytest.raises(JigsawError, match="checkpoint is"):
        Checkpoints(tmp_path / "S.h5", interval)


def test_the_interval_of_the_command_is_that_of_the_package():
    assert cli.parser().parse_args(["solve", "E.h5", "--out", "S.h5"]).checkpoint == INTERVAL


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_the_command_goes_on_when_it_is_started_again(edges, tmp_path, end):
    edges["ssd"].save(tmp_path / "E.h5")
    command = [
        sys.executable, "-m", "jigsaw", "solve", "E.h5", "--out", "S.h5", "--population", "20",
        "--generations", "400", "--workers", "2", "--checkpoint", "0",
    ]  # fmt: skip
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "S.h5.checkpoint-2").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(end)
    process.communicate(timeout=30)
    assert process.returncode == (-end if end == signal.SIGKILL else 128 + end)
    assert not (tmp_path / "S.h5").exists()
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120)
    assert "going on from a checkpoint: generation " in again.stderr
    assert sorted(os.listdir(tmp_path)) == ["E.h5", "S.h5"]
    settings = SMALL.changed(generations=400)
    expected = jigsaw.solve(edges["ssd"], "paper", settings)
    np.testing.assert_equal(content_of(Solution.load(tmp_path / "S.h5")), content_of(expected))
