"""Writes files with a right checksum and wrong content, reads and uses them; says what came of each.

Run as `hostile_files.py KIND FIRST LAST`, in a process of its own, as what is not refused might crash it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import jigsaw
from jigsaw.errors import JigsawError
from jigsaw.files import read_hdf5, write_hdf5
from jigsaw.synthetic import picture

QUICK = jigsaw.Settings(population=4, generations=2, elite=1, members=1, rounds=1, passes=1)
TYPES = ("u1", "i2", "i4", "i8", "f4", "f8", "S3", "?")
EXTREMES = (0, 1, -1, 2, 3, 4, 127, -128, 2**15, 2**24, 2**31 - 1, -(2**31), 2**62)
KINDS = {"pieces": jigsaw.Bag, "truth": jigsaw.Truth, "edges": jigsaw.Edges, "solution": jigsaw.Solution}


def spoilt(array, rng):
    """Return an array with other values, another shape or another type."""
    how = rng.integers(5)
    if how == 0:
        return array.astype(TYPES[rng.integers(len(TYPES))])
    if how == 1:
        return array[: rng.integers(len(array) + 1)] if array.ndim else array
    if how == 2:
        return np.zeros(rng.integers(0, 4, rng.integers(0, 5)), array.dtype)
    if how == 3:
        return np.concatenate([array, array]) if array.ndim else array
    changed = array.copy()
    with np.errstate(over="ignore"):
        for _ in range(rng.integers(1, 4)):
            value = np.array(EXTREMES[rng.integers(len(EXTREMES))])
            changed.reshape(-1)[rng.integers(changed.size)] = value.astype(array.dtype)
    return changed


def spoilt_content(content, rng):
    """Return the attributes of a file with one of another kind, or without it."""
    if not content:
        return content
    key = sorted(content)[rng.integers(len(content))]
    value = [None, -1, "", "x" * 100, [], {}, float("nan"), 10**30, ...][rng.integers(9)]
    return {k: value if k == key else v for k, v in content.items() if k != key or value is not ...}


def use(kind, path, folder):
    """Read a file and do with it what it is for."""
    thing = KINDS[kind].load(path)
    files = {other: KINDS[other].load(folder / f"{other}.h5") for other in KINDS}
    files[kind] = thing
    if kind == "pieces":
        jigsaw.compare(thing)
    elif kind == "edges":
        jigsaw.solve(thing, settings=QUICK.changed(measure=thing.measure))
    elif kind == "solution":
        jigsaw.unmix(thing, files["edges"])
        measure = files["edges"].measure
        jigsaw.solve(files["edges"], settings=QUICK.changed(measure=measure), islands=[thing])
    if kind != "edges":
        jigsaw.draw(files["solution"], files["pieces"])
        jigsaw.evaluate(files["solution"], files["truth"], files["pieces"])


def main():
    """Make, read and use files."""
    kind, first, last = sys.argv[1], *map(int, sys.argv[2:])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jigsaw.cut([picture(4, 5, 6)], 6)[0].save(folder / "pieces.h5")
        bag, truth = jigsaw.cut([picture(4, 5, 6)], 6)
        truth.save(folder / "truth.h5")
        edges = jigsaw.compare(bag, ("ssd", "fused")[first % 2])
        edges.save(folder / "edges.h5")
        solution = jigsaw.solve(edges, settings=QUICK.changed(measure=edges.measure), keep=2)
        solution.save(folder / "solution.h5")
        arrays, content, notes = read_hdf5(folder / f"{kind}.h5", kind)
        for seed in range(first, last):
            rng = np.random.default_rng(seed)
            which = sorted(arrays)[rng.integers(len(arrays))]
            new, attributes = dict(arrays), content
            if rng.random() < 0.2:
                attributes = spoilt_content(content, rng)
            else:
                new[which] = spoilt(arrays[which], rng)
            print(seed, which, end=" ", flush=True)
            write_hdf5(folder / "spoilt.h5", kind, new, attributes, notes)
            try:
                use(kind, folder / "spoilt.h5", folder)
                print("harmless")
            except JigsawError:
                print("refused")
            except Exception as error:
                print(f"RAISED {error!r}")


if __name__ == "__main__":
    main()
