"""Every kind of file, damaged at very many places, is refused or reads as before."""

import json

import numpy as np
import pytest
from puzzles import photograph
from test_files import KINDS, originals, spoilt  # noqa: F401

import jigsaw
from jigsaw.checkpoints import Checkpoints
from jigsaw.errors import JigsawError
from jigsaw.files import read_json
from jigsaw.images import read_image, write_image

PLACES = 2_000


def counted(found, tally):
    """Add to the tally what reading damaged files gave, all of which must be harmless or refused."""
    tally["files damaged and refused"] += sum(line.endswith(" refused") for line in found)
    tally["files damaged without harm"] += sum(line.endswith(" harmless") for line in found)
    assert [line for line in found if not line.endswith((" harmless", " refused"))] == []


def outcome(read, path):
    """Return what reading a file gives: an error that names it is as it should be."""
    try:
        read(path)
    except JigsawError as error:
        return " refused" if path.name in str(error) else f" UNNAMED {error}"
    return " harmless"


def damages(size, seed):
    """Return random bits to flip, and random lengths to cut a file to."""
    rng = np.random.default_rng(seed)
    flips = [[int(place), int(rng.integers(8))] for place in rng.integers(0, size, PLACES)]
    return flips + [[int(length), None] for length in rng.integers(0, size, PLACES // 4)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_refused_or_harmless(originals, tmp_path, tally, kind):  # noqa: F811
    original = originals / f"{kind}.h5"
    counted(spoilt(kind, original, tmp_path / "x.h5", damages(original.stat().st_size, 0)), tally)


def test_no_damage_to_its_checkpoints_changes_the_result_of_a_run(tmp_path, tally, caplog):
    settings = jigsaw.Settings(population=6, generations=6)
    edges = jigsaw.compare(jigsaw.cut([photograph(3, 4)])[0])
    expected = jigsaw.solve(edges, settings=settings)

    def stop(generation, *_):
        if generation == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        jigsaw.solve(
            edges, settings=settings, on_generation=stop, checkpoints=Checkpoints(tmp_path / "S.h5", 0)
        )
    slots = [tmp_path / f"S.h5.checkpoint-{i}" for i in (1, 2)]
    whole = [slot.read_bytes() for slot in slots]
    places = damages(min(map(len, whole)), 1)[:: PLACES // 300]
    for (place, bit), slot in zip(places, slots * PLACES, strict=False):
        for path, data in zip(slots, whole, strict=True):
            changed = bytearray(data[:place] if bit is None and path == slot else data)
            if bit is not None and path == slot:
                changed[place] ^= 1 << bit
            path.write_bytes(changed)
        caplog.clear()
        found = jigsaw.solve(edges, settings=settings, checkpoints=Checkpoints(tmp_path / "S.h5"))
        for name in ("relations", "layout", "history", "snapshots"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        refused = "passing over a checkpoint" in caplog.text
        tally[f"files damaged {'and refused' if refused else 'without harm'}"] += 1


def test_damaged_scores_are_refused_or_still_json(tmp_path, tally):
    path = tmp_path / "scores.json"
    data = json.dumps({"neighbor": 0.5, "names": ["ä", "b"], "more": [1, None, True]}).encode()
    for place, bit in damages(len(data), 2):
        changed = bytearray(data if bit is not None else data[:place])
        if bit is not None:
            changed[place] ^= 1 << bit
        path.write_bytes(changed)
        counted([outcome(read_json, path)], tally)


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".tif", ".webp", ".bmp", ".ppm"])
def test_a_damaged_image_is_refused_or_still_an_image(tmp_path, tally, suffix):
    path = tmp_path / f"image{suffix}"
    write_image(path, photograph(2, 3))
    data = path.read_bytes()
    for place, bit in damages(len(data), 3):
        changed = bytearray(data if bit is not None else data[:place])
        if bit is not None:
            changed[place] ^= 1 << bit
        path.write_bytes(changed)
        counted([outcome(read_image, path)], tally)
