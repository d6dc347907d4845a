"""Pictures of assemblies, as they are or coloured by the image each piece came from."""

from __future__ import annotations

import colorsys
import math
import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from jigsaw.errors import JigsawError
from jigsaw.geometry import DX, DY, Places, normalised, turn_pixels
from jigsaw.images import write_image
from jigsaw.memory import check_memory
from jigsaw.pieces import Bag, Truth
from jigsaw.solution import Solution

BACKGROUND = (255, 255, 255)
_TINT = 102  # share of an image's colour in its pieces, of 256
_GOLDEN = (math.sqrt(5) - 1) / 2


def draw(solution: Solution, bag: Bag, truth: Truth | None = None) -> np.ndarray:
    """Return the assembled picture, (height, width, 3) uint8.

    Given the truth, pieces have a tint of their image, and its outline.
    """
    return draw_layout(solution.layout, bag.pixels, _origins(solution, bag, truth))


def draw_images(solution: Solution, bag: Bag, truth: Truth | None = None) -> list[np.ndarray]:
    """Return the picture of each image that the solution tells apart, the largest first."""
    origins = _origins(solution, bag, truth)
    counts = np.bincount(solution.image)
    pictures = []
    for image in np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]:
        mine = solution.image == image
        layout = normalised(solution.layout[mine])
        pictures.append(draw_layout(layout, bag.pixels[mine], None if origins is None else origins[mine]))
    return pictures


def save_images(folder: str | os.PathLike[str], pictures: Sequence[np.ndarray]) -> None:
    """Write image-1.png, image-2.png and so on, and remove those of an earlier, longer series."""
    folder = Path(folder)
    for number, picture in enumerate(pictures, 1):
        write_image(folder / f"image-{number}.png", picture)
    for path in folder.glob("image-*.png"):
        found = re.fullmatch(r"image-([0-9]+)\.png", path.name)
        if found and int(found[1]) > len(pictures):
            path.unlink()


def draw_layout(layout: np.ndarray, pixels: np.ndarray, origins: np.ndarray | None = None) -> np.ndarray:
    """Return the picture of pieces laid out at (x, y) with their turns, coloured by origin if it is given."""
    size = pixels.shape[1]
    columns, rows = (int(last) + 1 for last in layout[:, :2].max(axis=0))
    check_memory(
        f"a picture of {columns} x {rows} pieces",
        2 * columns * rows * size * size * 3,
        "check that the solution is right",
    )
    pieces = turn_pixels(pixels, layout[:, 2])
    if origins is not None:
        _colour(pieces, layout, origins)
    canvas = np.empty((rows, columns, size, size, 3), np.uint8)
    canvas[:] = BACKGROUND
    canvas[layout[:, 1], layout[:, 0]] = pieces
    return canvas.swapaxes(1, 2).reshape(rows * size, columns * size, 3)


def draw_bag(bag: Bag, columns: int | None = None) -> np.ndarray:
    """Return the pieces as they lie in the bag, in rows."""
    columns = columns or math.ceil(math.sqrt(len(bag)))
    number = np.arange(len(bag))
    layout = np.column_stack([number % columns, number // columns, np.zeros_like(number)])
    return draw_layout(layout, bag.pixels)


def colour_of(image: int) -> tuple[int, int, int]:
    """Return the colour of an image: hues far apart, and darker ones where they come near again."""
    hue = (0.02 + image * _GOLDEN) % 1
    red, green, blue = colorsys.hsv_to_rgb(hue, 0.95, (1.0, 0.65, 0.4)[image // 8 % 3])
    return round(255 * red), round(255 * green), round(255 * blue)


def _origins(solution: Solution, bag: Bag, truth: Truth | None) -> np.ndarray | None:
    """Check that all are of one puzzle; return the image each piece came from if the truth is given."""
    if solution.pieces_digest != bag.digest or len(solution.layout) != len(bag):
        raise JigsawError("the solution is not one of these pieces: give the pieces it was made from")
    if truth is None:
        return None
    if truth.pieces_digest != bag.digest or len(truth.places) != len(bag):
        raise JigsawError("the truth is not that of these pieces: give the truth made by the same `cut`")
    return truth.places[:, 0]


def _colour(pieces: np.ndarray, layout: np.ndarray, origins: np.ndarray) -> None:
    """Tint upright pieces, and draw a line where another image or nothing is beside them."""
    size = pieces.shape[1]
    width = max(1, size // 14)
    places = Places(layout)
    colours = np.array([colour_of(image) for image in range(origins.max() + 1)], np.uint8)[origins]
    tint = colours.astype(np.uint16) * _TINT
    pieces[:] = (pieces * np.uint16(256 - _TINT) + tint[:, None, None, :]) >> 8
    lines = (np.s_[:, :width], np.s_[:, :, -width:], np.s_[:, -width:], np.s_[:, :, :width])
    for direction, line in enumerate(lines):
        beside = places.pieces_at(layout[:, :2] + (DX[direction], DY[direction]))
        edge = (beside < 0) | (origins[beside] != origins)
        pieces[line][edge] = colours[edge, None, None, :]
