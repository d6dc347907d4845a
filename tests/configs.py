"""Small image sets and configurations for the tests."""

from __future__ import annotations

from PIL import Image
from puzzles import noise


def folder_of(folder, names, height=56, width=84):
    """Fill a folder with images, six pieces each."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, name in enumerate(names):
        Image.fromarray(noise(height, width, seed=i)).save(folder / name)
    return folder


def tiny_config(place):
    """Return a configuration of one small set of two images in the folder data/tiny."""
    folder_of(place / "data" / "tiny", ["a.png", "b.png"])
    return {
        "seed": 0,
        "piece_size": 28,
        "data_dir": str(place / "data"),
        "sets": {"tiny": {"title": "Tiny", "folder": "tiny"}},
        "mixed_bags": {},
        "presets": {"quick": {"base": "paper", "population": 20, "generations": 5}},
        "experiments": [{"sets": "all", "presets": ["quick"]}],
        "tables": {"accuracy": {}, "comparison": {}, "performance": {}},
    }
