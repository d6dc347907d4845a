"""All pictures of a solved puzzle in one folder, light enough for a page.

original, bag, assembled, errors, generations, origins (mixed bags): .webp
images/         the images found taken apart, in full size, if they are several
frames/         the generations, for a slider
animation.webp  the whole run
thumbnail.webp  the assembled picture, small
pictures.json   the stages of the run by name and file
"""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from jigsaw.animation import animate
from jigsaw.course import course, draw_course
from jigsaw.drawing import (
    bag_layout,
    check_one_puzzle,
    draw,
    draw_bag,
    draw_errors,
    draw_images,
    draw_layout,
    draw_original,
    save_images,
    shrunk,
)
from jigsaw.errors import JigsawError
from jigsaw.evaluation import true_layout
from jigsaw.files import write_json
from jigsaw.geometry import most_common, motions, moved, normalised
from jigsaw.images import write_image
from jigsaw.mistakes import find_mistakes
from jigsaw.pieces import Bag, Truth
from jigsaw.solution import Solution

LONGEST = 1600  # side of a picture, in pixels
_FRAME = 960
_THUMBNAIL = 320
_QUALITY = 82


def draw_one(
    solution: Solution, bag: Bag, truth: Truth | None, show: str | None, longest: int | None
) -> np.ndarray:
    """Return a picture by its name: if none is given, the assembly, by origin if the truth is known."""
    if longest is not None and longest < 1:
        raise JigsawError(f"the longest side is to have {longest} pixels, but must have at least one")
    show = show or ("assembled" if truth is None else "origins")
    if show == "assembled":
        return draw(solution, bag, longest=longest)
    if show == "bag":
        return draw_bag(bag, longest=longest)
    if show == "generations":
        return draw_course(solution, bag)
    if truth is None:
        raise JigsawError(f"{show} cannot be shown without the truth: give --truth")
    if show == "errors":
        return draw_errors(solution, bag, truth, longest)
    if show == "original":
        return draw_original(bag, truth, longest)
    return draw(solution, bag, truth, longest)


def draw_all(solution: Solution, bag: Bag, truth: Truth | None, folder: str | os.PathLike[str]) -> None:
    """Write all pictures of a puzzle; without the truth, those that need none.

    Given the truth, the assembly is turned upright, and lies in its picture as the original in its own.
    """
    check_one_puzzle(solution, bag, truth)
    folder = Path(folder)
    extent = None
    if truth is not None:
        layout, true, extent = _covering(solution.layout, truth)
        solution = replace(solution, layout=layout)
    columns, rows = extent or np.ptp(solution.layout[:, :2], axis=0) + 1
    pixels = shrunk(bag.pixels, max(1, LONGEST // max(columns, rows)))
    pixels = np.concatenate([pixels, np.full((*pixels.shape[:3], 1), 255, np.uint8)], axis=3)

    def write(name: str, layout: np.ndarray, longest: int = LONGEST, **more: Any) -> None:
        picture = draw_layout(layout, pixels, longest=longest, **more)
        write_image(folder / f"{name}.webp", picture, _QUALITY)

    write("bag", bag_layout(len(bag), round(math.sqrt(len(bag) * columns / rows)) or 1))
    write("assembled", solution.layout, extent=extent)
    write("thumbnail", normalised(solution.layout), _THUMBNAIL)
    if truth is not None:
        write("original", true, extent=extent)
        write("errors", solution.layout, extent=extent, mistakes=find_mistakes(solution, truth, bag))
        if len(truth.shapes) > 1:
            write("origins", solution.layout, origins=truth.places[:, 0])
    if len(np.unique(solution.image)) > 1:
        save_images(folder / "images", draw_images(solution, bag))
    *before, last = course(solution)
    shown = []
    for i, stage in enumerate(before, 1):
        write(f"frames/{i}", normalised(stage.layout), _FRAME)
        shown.append({"name": stage.name, "file": f"frames/{i}.webp"})
    shown.append({"name": last.name, "file": "assembled.webp"})
    write_json(folder / "pictures.json", {"stages": shown})
    write_image(folder / "generations.webp", draw_course(solution, bag), _QUALITY)
    animate(solution, bag, folder / "animation.webp")


def _covering(layout: np.ndarray, truth: Truth) -> tuple[np.ndarray, np.ndarray, tuple[int, int] | None]:
    """Return the layout turned upright, the true one, and the extent of a frame that holds both at once.

    Images of a mixed bag lie in their own ways: their layouts have no frame in common.
    """
    true = true_layout(truth)
    laid = moved(layout, most_common(motions(layout, true)))
    if len(truth.shapes) > 1:
        return normalised(laid), true, None
    both = np.concatenate([laid, true])
    low = [*both[:, :2].min(axis=0), 0]
    columns, rows = np.ptp(both[:, :2], axis=0) + 1
    return laid - low, true - low, (int(columns), int(rows))
