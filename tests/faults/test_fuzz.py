"""Whatever the input, it is read or refused with a message; nothing crashes or is written elsewhere."""

import copy
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from configs import tiny_config
from killing import PATIENCE
from puzzles import photograph
from test_damage import outcome
from test_download import FILES, TARS, tarred, zipped

from jigsaw.archives import unpack
from jigsaw.errors import JigsawError
from jigsaw.experiment import Experiment
from jigsaw.files import read_yaml
from jigsaw.images import image_size, read_image, write_image
from jigsaw.tables import make_table

VALUES = [
    None, True, False, 0, -1, 1, 2**31, 10**30, 0.5, float("inf"), float("nan"), "", "x", "../..", "/",
    "a\0b", "$(touch pwned)", "`touch pwned`", "; touch pwned", "{x}", "ä" * 1000, [], {}, [[]], [None],
    {"a": {}},
]  # fmt: skip


def spoilt(data, chance):
    """Return some bytes with a few changed, moved, doubled or left out."""
    data = bytearray(data)
    for _ in range(chance.randint(1, 8)):
        at, to = chance.randrange(len(data) + 1), chance.randrange(len(data) + 1)
        how = chance.randrange(4)
        if how == 0 and data:
            data[min(at, len(data) - 1)] = chance.choice([0, 1, 127, 128, 255, chance.randrange(256)])
        elif how == 1:
            del data[at : at + chance.randint(1, 16)]
        elif how == 2:
            data[at:at] = data[to : to + chance.randint(1, 64)]
        else:
            data[at : at + 4] = chance.choice([b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff"])
    return bytes(data)


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".tif", ".webp", ".bmp", ".ppm"])
def test_images(tmp_path, tally, monkeypatch, suffix):
    monkeypatch.setenv("JIGSAW_MAX_PIXELS", "1000000")
    chance, path = random.Random(suffix), tmp_path / f"image{suffix}"
    write_image(path, photograph(1, 2))
    data = path.read_bytes()
    for _ in range(2_000):
        path.write_bytes(spoilt(data, chance))
        for read in (read_image, image_size):
            assert outcome(read, path) in (" harmless", " refused")
        tally["inputs fuzzed"] += 1


@pytest.mark.parametrize("suffix", [".zip", *TARS])
def test_archives(tmp_path, tally, suffix):
    chance, archive, folder = random.Random(suffix), tmp_path / f"a{suffix}", tmp_path / "in" / "out"
    files = FILES.items()
    data = (zipped(archive, files) if suffix == ".zip" else tarred(archive, files, TARS[suffix])).read_bytes()
    for _ in range(500):
        archive.write_bytes(spoilt(data, chance))
        try:
            unpack(archive, folder, limit_bytes=1_000_000, limit_files=10)
            assert os.listdir(folder.parent) == ["out"]
            shutil.rmtree(folder)
        except JigsawError as error:
            assert archive.name in str(error) or folder.name in str(error)  # noqa: PT017
            assert os.listdir(folder.parent) == []
        assert sorted(os.listdir(tmp_path)) == [archive.name, "in"]
        tally["inputs fuzzed"] += 1


def keys_of(config, path=()):
    """Return the paths of all values of a configuration."""
    inside = config.items() if isinstance(config, dict) else enumerate(config)
    paths = []
    for key, value in inside:
        paths.append((*path, key))
        if isinstance(value, dict | list):
            paths += keys_of(value, (*path, key))
    return paths


def test_configurations(tmp_path, tally, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chance = random.Random(0)
    config = tiny_config(tmp_path)
    config["mixed_bags"] = {
        "two": {"images": ["tiny/a", {"image": "tiny/b", "crop": "1x1"}]},
        "drawn": {"draw": {"from": "tiny", "images": [1, 2], "bags": 2, "seed": 1}},
    }
    config["measures"] = {"sets": ["tiny"], "measures": ["ssd"]}
    paths = keys_of(config)
    refused = 0
    for _ in range(1_000):
        changed = copy.deepcopy(config)
        for path in chance.sample(paths, chance.randint(1, 2)):
            inside = changed
            try:
                for key in path[:-1]:
                    inside = inside[key]
                inside[path[-1]] = copy.deepcopy(chance.choice(VALUES))
            except (LookupError, TypeError):
                continue  # a change before has taken it away
        try:
            experiment = Experiment(changed, tmp_path)
            for name in experiment.sets:
                for job in experiment.jobs(name):
                    experiment.solver_options(job.preset, name, job.puzzle)
                    experiment.memory("solve", name, job.puzzle)
        except JigsawError:
            refused += 1
        tally["inputs fuzzed"] += 1
    assert refused > 300
    assert os.listdir(tmp_path) == ["data"]


def test_yaml_files(tmp_path, tally):
    chance, path = random.Random(1), tmp_path / "config.yaml"
    data = (Path(__file__).parents[2] / "config.yaml").read_bytes()
    for _ in range(300):
        path.write_bytes(spoilt(data, chance))
        try:
            read_yaml(path, "a configuration")
        except JigsawError as error:
            assert "config.yaml" in str(error)  # noqa: PT017
        tally["inputs fuzzed"] += 1


def test_scores(tmp_path, tally):
    chance, path = random.Random(2), tmp_path / "scores.json"
    for _ in range(500):
        record = {key: chance.choice(VALUES) for key in ("neighbor", "pieces", "seed", "preset", "seconds")}
        path.write_text(yaml.safe_dump(chance.choice([record, [record], VALUES]), default_flow_style=True))
        try:
            make_table([path], tmp_path / "table.md", "puzzles", None, None, None)
        except JigsawError as error:
            assert "scores.json" in str(error)  # noqa: PT017
        tally["inputs fuzzed"] += 1


@pytest.mark.parametrize("kind", ["pieces", "truth", "edges", "solution"])
def test_hdf5_files_with_wrong_content_and_a_right_checksum(tally, kind):
    for first in (0, 1001):
        script = Path(__file__).with_name("hostile_files.py")
        done = subprocess.run(
            [sys.executable, script, kind, str(first), str(first + 400)],
            capture_output=True, text=True, check=False, timeout=2 * PATIENCE,
        )  # fmt: skip
        lines = done.stdout.splitlines()
        assert done.returncode == 0, f"crashed ({done.returncode}) on {lines[-1:]}: {done.stderr[-500:]}"
        assert [line for line in lines if not line.endswith((" harmless", " refused"))] == []
        tally["inputs fuzzed"] += len(lines)
        tally["files damaged and refused"] += sum(line.endswith(" refused") for line in lines)
