"""Small puzzles, and solutions laid by hand, for the tests."""

from __future__ import annotations

import numpy as np
from reference_scores import touching
from skimage import data

import jigsaw
from jigsaw.pieces import Bag, Truth, cut
from jigsaw.solution import Solution


def noise(height, width, seed=0):
    """Return a picture in which no two pieces are alike."""
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def photograph(rows=3, columns=4, size=28, name="astronaut"):
    """Return a crop of a photograph, so many pieces high and wide."""
    return getattr(data, name)()[60 : 60 + rows * size, 120 : 120 + columns * size, :3].copy()


def patchwork(tiles):
    """Return the picture made of rows of square tiles."""
    return np.concatenate([np.concatenate(row, axis=1) for row in tiles], axis=0)


def true_layout(truth):
    """Return x, y and turn of every piece, images far apart."""
    image, row, column, turn = truth.places.T
    return np.column_stack([column + 1000 * image, row, turn]).astype(np.int64)


def turned_layout(layout, turns):
    """Turn a whole assembly clockwise, so many quarter turns."""
    x, y, turn = layout.T
    for _ in range(turns % 4):
        x, y = -y, x
    return np.column_stack([x, y, (turn + turns) % 4])


def solution_of(layout, bag, **changes):
    """Return a solution that lays the pieces so."""
    layout = np.array(layout, np.int32)
    layout[:, :2] -= layout[:, :2].min(axis=0)
    relations = np.full((len(layout), 4), -1, np.int32)
    for e, f in touching(layout).items():
        relations[e // 4, e % 4] = f
    content = {
        "relations": relations,
        "layout": layout,
        "image": np.zeros(len(layout), np.int32),
        "fitness": 1.0,
        "history": np.zeros((2, 3)),
        "shown": np.array([1], np.int32),
        "snapshots": layout[None],
        "settings": {
            **jigsaw.PRESETS["paper"].as_dict(),
            **{"size": None, "one_image": False, "upright": False},
        },
        "preset": "paper",
        "seed": 5,
        "pieces_digest": bag.digest,
        "edges_digest": "",
    }
    return Solution(**{**content, **changes})


def cut_noise(rows, columns, size=4, seed=0):
    """Return the bag and the truth of a picture in which no two pieces are alike."""
    return cut([noise(rows * size, columns * size, seed)], size, seed)


def whole(tiles, seed=0) -> tuple[Bag, Truth]:
    """Return the bag and the truth of a picture made of square tiles."""
    return cut([patchwork(tiles)], len(tiles[0][0]), seed)
