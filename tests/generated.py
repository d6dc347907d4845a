"""Records of generated results, as many as a whole benchmark has, and pictures for them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
from PIL import Image
from puzzles import photograph

SETS = {
    "bundled": (7, 306), "cho432": (20, 432), "mcgill540": (20, 540), "pomeranz805": (20, 805),
    "pomeranz2360": (3, 2360), "pomeranz3300": (3, 3300), "sholomon5015": (20, 5015),
    "sholomon10375": (20, 10375), "sholomon22755": (20, 22755), "mixed_bags": (20, 1610),
}  # fmt: skip
STAGES = ("generation 1", "generation 2", "generation 3", "generation 4", "generation 5", "after the search")


def record(name="cho432", puzzle="1", preset="best", neighbor=1.0, pieces=432, exponent=1.25, **changes):
    """Return a record of scores; its seconds grow with the number of pieces to the power of an exponent."""
    images = 3 if name == "mixed_bags" else 1
    seconds = 4 * (pieces / 432) ** exponent
    score = {
        "pieces": pieces, "neighbor": neighbor, "perfect": neighbor == 1, "ceiling": 1.0, "direct": neighbor,
        "pixel_perfect": neighbor == 1, "sedas": neighbor, "enas": neighbor, "foreign": 0,
    }  # fmt: skip
    return {
        "set": name, "puzzle": puzzle, "draw": "", "run": 0, **score, "neighbor_identical": neighbor,
        "images": images, "images_found": images,
        "per_image": [{**score, "image": f"{i}.png", "solved": i} for i in range(images)],
        "fitness": 1000.0, "true_fitness": 1000.0,
        "history": [round(1000 + 2000 * 0.9**generation, 3) for generation in range(101)],
        "seconds": seconds,
        "stages": {
            "cut": {"seconds": 0.05, "peak_mb": 120.0},
            "compare": {"seconds": round(seconds / 10, 3), "peak_mb": 200.0},
            "solve": {"seconds": round(seconds * 0.9, 3), "peak_mb": 300.0},
            "evaluate": {"seconds": 0.1, "peak_mb": 150.0},
        },
        "seed": 0, "cut_seed": 0, "piece_size": 28, "preset": preset,
        "settings": {"measure": "fused", "population": 300, "generations": 100, "elite": 4, "members": 6},
        "version": "0.1.0",
        "provenance": {
            "version": "0.1.0", "commit": "0123456789ab", "python": "3.11.2", "machine": "Linux x86_64",
            "libraries": {"numpy": "2.4.6", "h5py": "3.16.0"},
        },
        **changes,
    }  # fmt: skip


def benchmark():
    """Return the records of two presets on all puzzles of a whole benchmark."""
    rng = np.random.default_rng(0)
    return [
        record(name, f"{number:02d}", preset, float(1 - max(0, rng.normal(0, spread))), pieces)
        for name, (count, pieces) in SETS.items()
        for number in range(1, count + 1)
        for preset, spread in (("paper", 0.05), ("best", 0.01))
    ]


def draw_runs(records, folder, longest=1600):
    """Make pictures for all runs, the same files for each."""
    original = Path(folder) / ".original"
    (original / "frames").mkdir(parents=True)
    picture = Image.fromarray(photograph(12, 16)).resize((longest, longest * 3 // 4))
    files = [f"frames/{i}" for i in range(1, len(STAGES))]
    names = ["original", "bag", "assembled", "errors", "generations", "animation", "origins", *files]
    for i, name in enumerate(names):
        picture.rotate(7 * i).save(original / f"{name}.webp", quality=60, method=0)
    picture.resize((320, 240)).save(original / "thumbnail.webp")
    stages = [{"name": n, "file": f"{f}.webp"} for n, f in zip(STAGES, [*files, "assembled"], strict=True)]
    (original / "pictures.json").write_text(json.dumps({"stages": stages}))
    for run in records:
        place = Path(folder, run["set"], run["puzzle"], run["preset"], str(run["run"]))
        for path in original.rglob("*.*"):
            new = place / path.relative_to(original)
            new.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, new)
