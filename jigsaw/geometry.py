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


def motions(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return for each piece the rigid motion, (turn, x, y), that brings it from one layout into another."""
    turns = (after[:, 2] - before[:, 2]) % 4
    turned = np.stack([rotate_array(before[:, :2], r) for r in range(4)])[turns, np.arange(len(turns))]
    return np.column_stack([turns, after[:, :2] - turned])


def most_common(motions: np.ndarray) -> np.ndarray:
    """Return the motion that most pieces go through."""
    kinds, votes = np.unique(motions, axis=0, return_counts=True)
    return kinds[votes.argmax()]


def moved(layout: np.ndarray, motion: np.ndarray) -> np.ndarray:
    """Return a layout moved as a whole."""
    places = rotate_array(layout[:, :2], int(motion[0])) + motion[1:]
    return np.column_stack([places, (layout[:, 2] + motion[0]) % 4])


class Places:
    """Finds the piece at a place of a layout, in memory linear in the number of pieces."""

    def __init__(self, layout: np.ndarray) -> None:
        self._low = layout[:, :2].min(axis=0).astype(np.int64)
        self._size = layout[:, :2].max(axis=0).astype(np.int64) - self._low + 1
        keys = self._keys(layout[:, :2])
        self._order = np.argsort(keys)
        self._sorted = keys[self._order]

    def _keys(self, positions: np.ndarray) -> np.ndarray:
        x, y = (positions.astype(np.int64) - self._low).T
        inside = (x >= 0) & (y >= 0) & (x < self._size[0]) & (y < self._size[1])
        return np.where(inside, y * self._size[0] + x, -1)

    def pieces_at(self, positions: np.ndarray) -> np.ndarray:
        """Return the pieces at (m, 2) positions, -1 where there is none."""
        keys = self._keys(positions)
        at = np.minimum(np.searchsorted(self._sorted, keys), len(self._sorted) - 1)
        return np.where(self._sorted[at] == keys, self._order[at], -1)


def relations_of(layout: np.ndarray) -> np.ndarray:
    """Return the (n, 4) table of the edge touching each edge in a layout, -1 where there is none."""
    places, turn = Places(layout), layout[:, 2]
    relations = np.full((len(layout), 4), -1, np.int32)
    for direction in range(4):
        beside = places.pieces_at(layout[:, :2] + (DX[direction], DY[direction]))
        here = np.flatnonzero(beside >= 0)
        there = beside[here]
        relations[here, (direction - turn[here]) % 4] = 4 * there + (direction + 2 - turn[there]) % 4
    return relations


def normalised(layout: np.ndarray) -> np.ndarray:
    """Shift a layout so that its bounding box begins at (0, 0)."""
    shifted = layout.copy()
    shifted[:, :2] -= layout[:, :2].min(axis=0)
    return shifted


def placed_relations(layout: np.ndarray) -> np.ndarray:
    """Return the edge touching each edge (4 n), -1 for none; a piece with turn -1 is not placed."""
    relations = np.full((len(layout), 4), -1, np.int32)
    placed = np.flatnonzero(layout[:, 2] >= 0)
    found = relations_of(layout[placed])
    relations[placed] = np.where(found >= 0, 4 * placed[found // 4] + found % 4, -1)
    return relations.reshape(-1)
