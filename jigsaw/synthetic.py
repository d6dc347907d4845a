"""Generated pictures for tests and benchmarks: coloured noise of all scales, as varied as a photograph."""

from __future__ import annotations

import numpy as np


def picture(rows: int, columns: int, piece_size: int = 28, seed: int = 0) -> np.ndarray:
    """Return a picture of rows x columns pieces, (height, width, 3) uint8.

    Each octave of noise has half the amplitude of the one before, down to the size of a pixel: neighbouring
    pixels are alike, distant ones are not, and no two pieces are the same.
    """
    rng = np.random.default_rng(seed)
    height, width = rows * piece_size, columns * piece_size
    total = np.full((height, width, 3), 128, np.float32)
    cell, amplitude = 256, 64.0
    while cell >= 1:
        across, down = -(-width // cell) + 2, -(-height // cell) + 2
        grid = rng.standard_normal((down, across, 3), np.float32) * np.float32(amplitude)
        total += _stretched(grid, cell, height, width)
        cell, amplitude = cell // 2, amplitude / 1.6
    return np.clip(total, 0, 255).astype(np.uint8)


def _stretched(grid: np.ndarray, cell: int, height: int, width: int) -> np.ndarray:
    """Interpolate a coarse grid linearly to full size."""
    for axis, size in ((0, height), (1, width)):
        at = np.arange(size) / cell
        low = at.astype(int)
        shape = [1, 1, 1]
        shape[axis] = size
        part = (at - low).astype(np.float32).reshape(shape)
        grid = grid.take(low, axis) * (1 - part) + grid.take(low + 1, axis) * part
    return grid
