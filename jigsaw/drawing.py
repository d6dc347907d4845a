"""Pictures of assemblies."""

from __future__ import annotations

import math

import numpy as np

from jigsaw.errors import JigsawError
from jigsaw.geometry import turn_pixels
from jigsaw.pieces import Bag
from jigsaw.solution import Solution

BACKGROUND = (255, 255, 255)


def draw(solution: Solution, bag: Bag) -> np.ndarray:
    """Return the assembled picture, (height, width, 3) uint8."""
    if solution.pieces_digest != bag.digest:
        raise JigsawError("the solution is not one of these pieces: give the pieces it was made from")
    return draw_layout(solution.layout, bag.pixels)


def draw_layout(layout: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    """Return the picture of pieces laid out at (x, y) with their turns."""
    size = pixels.shape[1]
    columns, rows = layout[:, :2].max(axis=0) + 1
    canvas = np.empty((rows, columns, size, size, 3), np.uint8)
    canvas[:] = BACKGROUND
    canvas[layout[:, 1], layout[:, 0]] = turn_pixels(pixels, layout[:, 2])
    return canvas.swapaxes(1, 2).reshape(rows * size, columns * size, 3)


def draw_bag(bag: Bag, columns: int | None = None) -> np.ndarray:
    """Return the pieces as they lie in the bag, in rows."""
    columns = columns or math.ceil(math.sqrt(len(bag)))
    number = np.arange(len(bag))
    layout = np.column_stack([number % columns, number // columns, np.zeros_like(number)])
    return draw_layout(layout, bag.pixels)
