"""Solving is killed at random moments, the parent and its workers, and ends as if nothing had happened."""

import contextlib
import os
import random
import signal
import time

import psutil
import pytest
from killing import Command, image_of, shared_memory

import jigsaw
from jigsaw.files import read_hdf5
from jigsaw.solution import Solution

PUZZLES = {432: ("cho432", 18, 24), 805: ("pomeranz805", 23, 35)}
PRESETS = {"paper": [], "best": ["--budget", "10"]}
CASES = [(pieces, preset) for pieces in PUZZLES for preset in PRESETS]
KILLS = 13  # of each of four cases


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]} pieces, preset {case[1]}")
def puzzle(request, tmp_path_factory):
    """A folder with compared edges, the command that solves them, and what an undisturbed run gives."""
    pieces, preset = request.param
    folder = tmp_path_factory.mktemp(f"{pieces}-{preset}") / "files"
    bag, _ = jigsaw.cut([image_of(*PUZZLES[pieces])])
    assert len(bag) == pieces
    edges = jigsaw.compare(bag, jigsaw.PRESETS[preset].measure, workers=2)
    edges.save(folder / "E.h5")
    jigsaw.solve(edges, settings=jigsaw.PRESETS[preset].changed(generations=1, passes=1))  # loads kernels
    words = ["solve", "E.h5", "--out", "S.h5", "--preset", preset, *PRESETS[preset]]
    words += ["--workers", "2", "--checkpoint", "0.1"]
    start = time.monotonic()
    undisturbed = Command(folder, words)
    undisturbed.process.join()
    assert undisturbed.code == 0
    seconds = time.monotonic() - start
    assert Solution.load(folder / "S.h5").settings.get("in_time", True)
    expected = content_of(folder / "S.h5")
    (folder / "S.h5").unlink()
    return folder, words, seconds, expected


def content_of(path):
    """Return arrays and content of a solution, without the notes, as bytes and text."""
    arrays, content, _ = read_hdf5(path, "solution")
    return {name: array.tobytes() for name, array in arrays.items()}, content


def finished(puzzle, solving, tally):
    """Let a run end, and compare what it leaves with what it should."""
    folder, _, _, expected = puzzle
    said = solving.wait(tally)
    assert solving.code == 0, said
    tally["results lost"] += content_of(folder / "S.h5") != expected
    assert content_of(folder / "S.h5") == expected
    assert sorted(os.listdir(folder)) == ["E.h5", "S.h5"], "something is left over"
    (folder / "S.h5").unlink()
    return said


@pytest.mark.parametrize(
    ("number", "wanted"), [(signal.SIGKILL, KILLS), (signal.SIGTERM, KILLS // 2)], ids=["SIGKILL", "SIGTERM"]
)
def test_a_run_that_is_killed_goes_on(puzzle, tally, number, wanted):
    folder, words, seconds, _ = puzzle
    chance, before = random.Random(f"{words} {number}"), shared_memory()
    kills, resumed = 0, 0
    while kills < wanted:
        solving = Command(folder, words)
        time.sleep(chance.uniform(0, 0.5) * seconds)
        said = solving.kill(number, tally)
        if solving.code == 0:  # the signal came too late
            finished(puzzle, solving, tally)
        else:
            assert solving.code in (-number, 128 + number), said
            kills += 1
        resumed += "going on from a checkpoint" in said
    said = finished(puzzle, Command(folder, words), tally)
    resumed += "going on from a checkpoint" in said
    tally["kills survived"] += kills
    assert resumed > 0
    assert shared_memory() <= before


def test_a_run_whose_workers_are_killed_ends_as_if_nothing_had_happened(puzzle, tally):
    folder, words, seconds, _ = puzzle
    chance, before = random.Random(f"{words} workers"), shared_memory()
    kills, told = 0, 0
    while kills < KILLS:
        solving, deaths, last = Command(folder, words), 0, None
        while solving.alive:
            time.sleep(chance.uniform(0, 0.05) * seconds)
            saved = {path: path.stat().st_ino for path in folder.glob("*.checkpoint-?")}
            workers = solving.workers()
            if workers and deaths < 10 and saved != last:  # again only when it has got further
                with contextlib.suppress(psutil.NoSuchProcess):
                    chance.choice(workers).kill()
                    deaths, last = deaths + 1, saved
        told += finished(puzzle, solving, tally).count("a worker died")
        kills += deaths
    tally["kills survived"] += kills
    assert told > kills / 2  # one that dies with another, or when all is done, is not told
    assert shared_memory() <= before
