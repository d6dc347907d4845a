"""All pictures of a solved puzzle in one folder, light enough for a page.

original, bag, assembled, errors, generations, origins (mixed bags): .webp
images/         the images found taken apart, in full size, if they are several
frames/         the generations, for a slider
animation.webp  the whole run
thumbnail.webp  the assembled picture, small
pictures.json   the stages of the run by name and file
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from jigsaw.animation import write_film
from jigsaw.course import course, draw_course, draw_stages, upright
from jigsaw.drawing import (
    bag_beside,
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
from jigsaw.geometry import normalised
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
        return draw_course(solution, bag, truth)
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
        solution, true, extent = _covering(solution, truth)
    columns, rows = extent or np.ptp(solution.layout[:, :2], axis=0) + 1
    pixels = shrunk(bag.pixels, max(1, LONGEST // max(columns, rows)))
    opaque = np.concatenate([pixels, np.full((*pixels.shape[:3], 1), 255, np.uint8)], axis=3)

    def write(name: str, layout: np.ndarray, longest: int = LONGEST, **more: Any) -> None:
        picture = draw_layout(layout, opaque, longest=longest, **more)
        write_image(folder / f"{name}.webp", picture, _QUALITY)

    write("bag", bag_beside(solution.layout))
    write("assembled", solution.layout, extent=extent)
    write("thumbnail", normalised(solution.layout), _THUMBNAIL)
    if truth is not None:
        write("original", true, extent=extent)
        write("errors", solution.layout, extent=extent, mistakes=find_mistakes(solution, truth, bag))
        if len(truth.shapes) > 1:
            write("origins", solution.layout, origins=truth.places[:, 0])
    if len(np.unique(solution.image)) > 1:
        save_images(folder / "images", draw_images(solution, bag))
    stages = course(solution)
    shown = []
    for i, stage in enumerate(stages[:-1], 1):
        write(f"frames/{i}", normalised(stage.layout), _FRAME)
        shown.append({"name": stage.name, "file": f"frames/{i}.webp"})
    shown.append({"name": stages[-1].name, "file": "assembled.webp"})
    write_json(folder / "pictures.json", {"stages": shown})
    write_image(folder / "generations.webp", draw_stages(stages, pixels), _QUALITY)
    write_film([stage.layout for stage in stages], pixels, folder / "animation.webp")


def _covering(solution: Solution, truth: Truth) -> tuple[Solution, np.ndarray, tuple[int, int] | None]:
    """Return the solution turned upright, the true layout, and the extent of a frame that holds both at once.

    Images of a mixed bag lie in their own ways: their layouts have no frame in common.
    """
    solution, true = upright(solution, truth), true_layout(truth)
    if len(truth.shapes) > 1:
        return replace(solution, layout=normalised(solution.layout)), true, None
    both = np.concatenate([solution.layout, true])
    low = [*both[:, :2].min(axis=0), 0]
    columns, rows = np.ptp(both[:, :2], axis=0) + 1
    return replace(solution, layout=solution.layout - low), true - low, (int(columns), int(rows))
