"""What people see of a run on a terminal, and programs in a pipe."""

import json
import os
import pty
import re
import signal
import subprocess

import pytest
from PIL import Image
from puzzles import photograph
from test_cli import COMMAND

import jigsaw
from jigsaw.cli import main

RUN = ("run", "photograph.png", "--out", "out", "--population", "20", "--generations", "12")
SEARCH = ("--preset", "best", "--members", "2", "--rounds", "1", "--passes", "2")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("place")
    Image.fromarray(photograph(4, 5)).save(place / "photograph.png")
    return place


def on_terminal(place, *words, interrupt_at=None):
    """Run `jigsaw` on a terminal; return exit code and all that was seen."""
    outer, inner = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    process = subprocess.Popen([COMMAND, *words], cwd=place, stdout=inner, stderr=inner, env=environment)
    os.close(inner)
    seen = b""
    while True:
        try:
            part = os.read(outer, 65536)
        except OSError:  # all have closed it
            break
        if not part:
            break
        seen += part
        if interrupt_at is not None and interrupt_at in seen:
            process.send_signal(signal.SIGINT)
            interrupt_at = None
    os.close(outer)
    return process.wait(30), seen.decode()


def plain(text):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def test_a_terminal_shows_bars_with_messages_above_them_and_a_table(place):
    code, seen = on_terminal(place, *RUN, *SEARCH, "-v")
    assert code == 0, seen
    text = plain(seen)
    assert re.search(r"generation \S+ +12/12 best fitness [\d.]+, [\d.]+/s +0:00:\d\d 0:00:00", text), text
    assert re.search(r"search +\S+ +\d+/\? +round 1, gain [\d.]+ +0:00:\d\d", text), text
    lines = text.replace("\r", "\n").splitlines()
    messages = [line for line in lines if "DEBUG generation" in line]
    assert len(messages) == 13
    assert all(re.match(r"\d\d:\d\d:\d\d DEBUG", line) for line in messages)
    assert "INFO generation" not in text  # the bar says it
    assert re.search(r"^pieces +20", text, re.MULTILINE)


def test_the_live_page_stays_on_a_terminal_until_an_interrupt(place):
    code, seen = on_terminal(place, *RUN, "--live", interrupt_at=b"until you press Ctrl-C")
    assert code == 0, seen
    assert len(set(re.findall(r"http://127.0.0.1:\d+/", seen))) == 1
    assert "pixel-perfect" in seen  # the result was there before
    assert "Traceback" not in seen


@pytest.fixture
def piped(place, monkeypatch, capsys):
    """Return a function that runs `jigsaw` where there is no terminal, and returns output and messages."""
    monkeypatch.chdir(place)

    def run(*words):
        capsys.readouterr()
        assert main(words) == 0
        return capsys.readouterr()

    return run


def test_a_pipe_gets_lines_and_no_colours(piped):
    out, err = piped(*RUN, *SEARCH)
    assert "\x1b" not in out + err
    assert "generation 12 of 12: best fitness" in err
    assert re.search(r"search, round 1: best gain [\d.]+", err)
    assert "" not in err.splitlines()
    assert re.search(r"^pieces +20$", out, re.MULTILINE)


def test_a_long_run_says_how_fast_it_is_and_how_long_it_will_take(piped):
    _, err = piped(*RUN[:-1], "100")
    assert re.search(r"generation 50 of 100: best fitness [\d.]+, mean [\d.]+, [\d.]+/s, 0:00:\d\d left", err)


def test_quiet_says_nothing_but_to_the_log(piped, place):
    assert piped(*RUN, "--quiet", "--log", "log") == ("", "")
    assert "generation 12 of 12" in (place / "log").read_text()


def test_the_table_names_every_image_of_several(piped, place):
    Image.fromarray(photograph(2, 3, name="coffee")).save(place / "coffee.png")
    out, _ = piped("run", "photograph.png", "coffee.png", *RUN[2:])
    rows = dict(re.findall(r"^(\S+\.png) +(\d+) .*$", out, re.MULTILINE))
    assert rows == {"photograph.png": "20", "coffee.png": "6"}


@pytest.fixture
def told(piped):
    """Return a function that runs `jigsaw --json` and returns what it tells."""
    return lambda *words: json.loads(piped(*words, "--json").out)


def test_every_step_tells_programs_its_result(told, place):
    bag = told("cut", "photograph.png", "--pieces", "P.h5", "--truth", "T.h5")
    assert (bag["pieces"], bag["piece_size"]) == (20, 28)
    assert bag["images"] == [{"image": "photograph.png", "rows": 4, "columns": 5}]
    edges = told("compare", "P.h5", "--out", "E.h5")
    assert (edges["measure"], edges["pieces"]) == ("ssd", 20)
    assert edges["mean"] == jigsaw.Edges.load(place / "E.h5").mean
    found = told("solve", "E.h5", "--out", "S.h5", "--population", "20", "--generations", "12", "--seed", "4")
    solution = jigsaw.Solution.load(place / "S.h5")
    assert (found["fitness"], found["seed"], found["file"]) == (solution.fitness, 4, "S.h5")
    assert [found["width"] - 1, found["height"] - 1] == solution.layout[:, :2].max(axis=0).tolist()
    unmixed = told("unmix", "S.h5", "--edges", "E.h5", "--out", "U.h5")
    assert unmixed["images"] == jigsaw.Solution.load(place / "U.h5").image.max() + 1
    for command, files, out in (
        ("quality", ["E.h5", "--truth", "T.h5"], "quality.json"),
        ("evaluate", ["S.h5", "--truth", "T.h5", "--pieces", "P.h5"], "scores.json"),
    ):
        assert told(command, *files, "--out", out) == json.loads((place / out).read_text())


def test_pieces_of_a_folder_are_told_of_too(told, place):
    (place / "pieces").mkdir()
    for i in range(3):
        Image.fromarray(photograph(1, 1)).save(place / "pieces" / f"{i}.png")
    expected = {"file": "P.h5", "pieces": 3, "piece_size": 28}
    assert told("gather", "pieces", "--pieces", "P.h5") == expected


def test_a_run_tells_programs_its_scores(told, place):
    assert told(*RUN) == json.loads((place / "out" / "scores.json").read_text())


def test_a_program_is_told_nothing_when_something_went_wrong(capsys):
    assert main(["solve", "nowhere.h5", "--out", "S.h5", "--json"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "nowhere.h5" in err
