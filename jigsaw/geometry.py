"""Directions, turns and edges: the conventions every other module shares.

Sides and directions are 0 top, 1 right, 2 bottom, 3 left; x grows to the right, y downwards.
Edge 4 p + s is side s of piece p. A piece turned by r quarter turns clockwise has its side s facing
direction (s + r) mod 4.
"""

from __future__ import annotations

import numpy as np

DX = np.array([0, 1, 0, -1], np.int32)
DY = np.array([-1, 0, 1, 0], np.int32)


def rotate_array(positions: np.ndarray, turns: int) -> np.ndarray:
    """Turn an (n, 2) array of positions about the origin, clockwise."""
    x, y = positions[:, 0], positions[:, 1]
    return np.stack([(x, y), (-y, x), (-x, -y), (y, -x)][turns % 4], axis=1)


def turn_pixels(pixels: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """Turn each piece of (n, K, K, C) clockwise by its own number of quarter turns."""
    turned = pixels.copy()
    for r in (1, 2, 3):
        which = turns % 4 == r
        turned[which] = np.rot90(pixels[which], -r, axes=(1, 2))
    return turned


def relations_of(layout: np.ndarray) -> np.ndarray:
    """Return the (n, 4) table of the edge touching each edge in a layout, -1 where there is none."""
    n = len(layout)
    x, y, turn = layout.astype(np.int64).T
    x, y = x - x.min() + 1, y - y.min() + 1
    width = int(x.max()) + 2
    place = y * width + x
    order = np.argsort(place)
    sorted_places = place[order]
    relations = np.full((n, 4), -1, np.int32)
    for direction in range(4):
        wanted = place + int(DY[direction]) * width + int(DX[direction])
        at = np.minimum(np.searchsorted(sorted_places, wanted), n - 1)
        here = np.flatnonzero(sorted_places[at] == wanted)
        neighbour = order[at[here]]
        relations[here, (direction - turn[here]) % 4] = 4 * neighbour + (direction + 2 - turn[neighbour]) % 4
    return relations


def normalised(layout: np.ndarray) -> np.ndarray:
    """Shift a layout so that its bounding box begins at (0, 0)."""
    shifted = layout.copy()
    shifted[:, :2] -= layout[:, :2].min(axis=0)
    return shifted
