"""A disk that is full or must not be written: a clear message, and nothing lost that was there."""

import os
import subprocess

import pytest
from killing import Command
from PIL import Image
from puzzles import photograph

import jigsaw

FULL = "No space left on device"


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own with room for half a megabyte, and the files of a puzzle."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", disk], check=False).returncode:
        pytest.skip("only root may mount")
    Image.fromarray(photograph(8, 9)).save(tmp_path / "image.png")
    jigsaw.run([tmp_path / "image.png"], tmp_path / "made", settings=jigsaw.Settings(generations=5))
    yield disk
    subprocess.run(["umount", disk], check=True)


COMMANDS = {
    "cut": "cut image.png --pieces disk/out.h5 --truth disk/truth.h5",
    "compare": "compare made/pieces.h5 --out disk/out.h5",
    "solve": "solve made/edges.h5 --out disk/out.h5",
    "run": "run image.png --out disk",
    "draw": "draw made/solution.h5 --pieces made/pieces.h5 --out disk/out.png",
    "evaluate": "evaluate made/solution.h5 --truth made/truth.h5 --pieces made/pieces.h5 --out disk/out.json",
    "table": "table made/scores.json --out disk/out.md",
}


def done(tally, folder, words):
    """Run a command to its end; return its exit code and what it said."""
    command = Command(folder, words)
    said = command.wait(tally)
    return command.code, said


def fill(disk, leave=0):
    """Write until nothing more goes onto the disk."""
    with open(disk / "filling", "wb", buffering=0) as stream:
        try:
            while True:
                stream.write(bytes(4096))
        except OSError:
            pass
        stream.truncate(max(stream.tell() - leave, 0))


@pytest.mark.parametrize("leave", [0, 8192])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_told_and_leaves_what_was_there(small_disk, tally, command, leave):
    (small_disk / "out.h5").write_text("old")
    fill(small_disk, leave)
    before = {path.name: path.read_bytes() for path in small_disk.iterdir()}
    code, said = done(tally, small_disk.parent, [*COMMANDS[command].split(), "--log", "disk/log"])
    if leave and command in ("evaluate", "table"):
        assert code == 0  # there was room
        return
    assert code == 1, said
    assert FULL in said
    assert "Traceback" not in said
    lost = {name for name, data in before.items() if (small_disk / name).read_bytes() != data}
    tally["results lost"] += len(lost)
    assert lost == set()
    assert not [name for name in os.listdir(small_disk) if name.startswith(".")]


def test_a_run_on_a_full_disk_goes_on_without_checkpoints_and_can_be_finished_elsewhere(small_disk, tally):
    fill(small_disk)
    words = [*COMMANDS["solve"].split(), "--generations", "50", "--checkpoint", "0"]
    code, said = done(tally, small_disk.parent, words)
    assert "no checkpoint was saved" in said
    assert code == 1
    assert FULL in said
    (small_disk / "filling").unlink()
    code, said = done(tally, small_disk.parent, words)
    assert code == 0, said


@pytest.mark.parametrize("command", COMMANDS)
def test_a_disk_that_must_not_be_written_is_told(small_disk, tally, command):
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    code, said = done(tally, small_disk.parent, COMMANDS[command].split())
    assert code == 1, said
    assert "Read-only file system" in said
    assert "Traceback" not in said
