"""Pictures of assemblies: as they are, coloured by the image each piece came from, with errors marked."""

from __future__ import annotations

import colorsys
import math
import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from jigsaw.errors import JigsawError
from jigsaw.evaluation import true_layout
from jigsaw.geometry import DX, DY, Places, normalised, turn_pixels
from jigsaw.images import write_image
from jigsaw.memory import check_memory
from jigsaw.mistakes import HARMLESS, WRONG, Mistakes, find_mistakes
from jigsaw.pieces import Bag, Truth
from jigsaw.solution import Solution

BACKGROUND = (255, 255, 255)
MARKS = {WRONG: (230, 40, 40), HARMLESS: (0, 150, 230)}
_TINT = 102  # share of an image's colour in its pieces, of 256
_FADE = 150  # share of grey in pieces that are right, where errors are marked
_GOLDEN = (math.sqrt(5) - 1) / 2


def draw(solution: Solution, bag: Bag, truth: Truth | None = None, longest: int | None = None) -> np.ndarray:
    """Return the assembled picture, (height, width, 3) uint8, no side longer than `longest` pixels.

    Given the truth, pieces have a tint of their image, and its outline.
    """
    return draw_layout(solution.layout, bag.pixels, _origins(solution, bag, truth), longest=longest)


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


def draw_errors(solution: Solution, bag: Bag, truth: Truth, longest: int | None = None) -> np.ndarray:
    """Return the assembled picture with misplaced pieces tinted and wrong relations as lines.

    They are red, or blue where only pixel-identical pieces are exchanged.
    """
    check_one_puzzle(solution, bag, truth)
    mistakes = find_mistakes(solution, truth, bag)
    return draw_layout(solution.layout, bag.pixels, mistakes=mistakes, longest=longest)


def draw_original(bag: Bag, truth: Truth, longest: int | None = None) -> np.ndarray:
    """Return the images as they were, side by side."""
    return draw_layout(true_layout(truth), bag.pixels, longest=longest)


def draw_bag(bag: Bag, columns: int | None = None, longest: int | None = None) -> np.ndarray:
    """Return the pieces as they lie in the bag, in rows."""
    columns = columns or math.ceil(math.sqrt(len(bag)))
    return draw_layout(_in_rows(len(bag), columns), bag.pixels, longest=longest)


def bag_beside(layout: np.ndarray) -> np.ndarray:
    """Return the layout of pieces as they lie in the bag, in rows, in about the shape of another layout."""
    columns, rows = np.ptp(layout[:, :2], axis=0) + 1
    return _in_rows(len(layout), max(1, round(math.sqrt(len(layout) * columns / rows))))


def _in_rows(pieces: int, columns: int) -> np.ndarray:
    number = np.arange(pieces)
    return np.column_stack([number % columns, number // columns, np.zeros_like(number)])


def draw_layout(
    layout: np.ndarray,
    pixels: np.ndarray,
    origins: np.ndarray | None = None,
    mistakes: Mistakes | None = None,
    longest: int | None = None,
    extent: tuple[int, int] | None = None,
) -> np.ndarray:
    """Return the picture of pieces laid out at (x, y) with their turns.

    They are coloured by origin or marked with mistakes, if given, and scaled down to a picture with no side
    longer than `longest` pixels. The picture has the columns and rows of `extent`, or ends with its pieces.
    What is empty is white, and transparent if the pixels have a fourth channel.
    """
    columns, rows = extent or (int(last) + 1 for last in layout[:, :2].max(axis=0))
    longest = longest or max(columns, rows) * pixels.shape[1]
    pixels = shrunk(pixels, max(1, longest // max(columns, rows)))
    size, channels = pixels.shape[1], pixels.shape[3]
    check_memory(
        f"a picture of {columns} x {rows} pieces",
        2 * columns * rows * size * size * channels,
        "check that the solution is right",
    )
    pieces = turn_pixels(pixels, layout[:, 2])
    if origins is not None:
        _colour(pieces[..., :3], layout, origins)
    if mistakes is not None:
        _mark(pieces[..., :3], layout, mistakes)
    canvas = np.empty((rows, columns, size, size, channels), np.uint8)
    canvas[:] = (*BACKGROUND, 0)[:channels]
    canvas[layout[:, 1], layout[:, 0]] = pieces
    step = -(-max(columns, rows) * size // longest)  # 1, unless even a pixel a piece is too much
    return canvas.swapaxes(1, 2).reshape(rows * size, columns * size, channels)[::step, ::step]


def shrunk(pixels: np.ndarray, size: int) -> np.ndarray:
    """Return the pieces, each scaled down by itself to `size` pixels a side."""
    n, before, _, channels = pixels.shape
    if size >= before:
        return pixels
    column = Image.fromarray(np.ascontiguousarray(pixels).reshape(n * before, before, channels))
    small = column.resize((size, n * size), Image.Resampling.BOX)  # a box reaches into no other piece
    return np.asarray(small).reshape(n, size, size, channels)


def colour_of(image: int) -> tuple[int, int, int]:
    """Return the colour of an image: hues far apart, and darker ones where they come near again."""
    hue = (0.02 + image * _GOLDEN) % 1
    red, green, blue = colorsys.hsv_to_rgb(hue, 0.95, (1.0, 0.65, 0.4)[image // 8 % 3])
    return round(255 * red), round(255 * green), round(255 * blue)


def check_one_puzzle(solution: Solution, bag: Bag, truth: Truth | None) -> None:
    """Refuse to draw what does not belong together."""
    if solution.pieces_digest != bag.digest or len(solution.layout) != len(bag):
        raise JigsawError("the solution is not one of these pieces: give the pieces it was made from")
    if truth is not None and (truth.pieces_digest != bag.digest or len(truth.places) != len(bag)):
        raise JigsawError("the truth is not that of these pieces: give the truth made by the same `cut`")


def _origins(solution: Solution, bag: Bag, truth: Truth | None) -> np.ndarray | None:
    """Check that all are of one puzzle; return the image each piece came from if the truth is given."""
    check_one_puzzle(solution, bag, truth)
    return None if truth is None else truth.places[:, 0]


def _colour(pieces: np.ndarray, layout: np.ndarray, origins: np.ndarray) -> None:
    """Tint upright pieces, and draw a line where another image or nothing is beside them."""
    places = Places(layout)
    colours = np.array([colour_of(image) for image in range(origins.max() + 1)], np.uint8)[origins]
    _tint(pieces, colours)
    for direction, line in enumerate(_lines(pieces)):
        beside = places.pieces_at(layout[:, :2] + (DX[direction], DY[direction]))
        edge = (beside < 0) | (origins[beside] != origins)
        line[edge] = colours[edge, None, None, :]


def _mark(pieces: np.ndarray, layout: np.ndarray, mistakes: Mistakes) -> None:
    """Fade upright pieces that are right, tint the others, and draw a line along edges that are not right."""
    grey = pieces.mean(axis=3, keepdims=True)
    pieces[:] = (pieces * np.float32(256 - _FADE) + (grey + 255) / 2 * _FADE) / 256
    for kind, colour in MARKS.items():
        which = mistakes.pieces == kind
        tinted = pieces[which]
        _tint(tinted, np.broadcast_to(np.array(colour, np.uint8), (len(tinted), 3)))
        pieces[which] = tinted
    kinds = mistakes.edges.reshape(-1, 4)
    for direction, line in enumerate(_lines(pieces)):
        facing = kinds[np.arange(len(kinds)), (direction - layout[:, 2]) % 4]
        for kind, colour in MARKS.items():
            line[facing == kind] = colour


def _tint(pieces: np.ndarray, colours: np.ndarray) -> None:
    tint = colours.astype(np.uint16) * _TINT
    pieces[:] = (pieces * np.uint16(256 - _TINT) + tint[:, None, None, :]) >> 8


def _lines(pieces: np.ndarray) -> list[np.ndarray]:
    """Return the pixels along the sides of upright pieces: top, right, bottom, left."""
    width = max(1, pieces.shape[1] // 14)
    return [pieces[:, :width], pieces[:, :, -width:], pieces[:, -width:], pieces[:, :, :width]]
