"""The course of a run: the generations that the paper's figures show, and the solution they led to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from jigsaw.drawing import BACKGROUND, check_one_puzzle, draw_layout
from jigsaw.evaluation import true_layout
from jigsaw.geometry import most_common, motions, moved, normalised
from jigsaw.pieces import Bag, Truth
from jigsaw.solution import Solution

_PANEL = 320  # pixels
_GAP = 16
_LETTERS = 20


class Stage(NamedTuple):
    """A layout that a run went through, and what it was."""

    name: str
    layout: np.ndarray


def course(solution: Solution) -> list[Stage]:
    """Return the generations that a solution shows and what came of them.

    Each is turned and shifted so that most pieces lie as they do in the next.
    """
    searched = solution.settings["members"] > 0  # else the solution is the last generation
    generations = solution.shown.tolist()
    name = "after the search" if searched else f"generation {generations[-1]}"
    stages = [Stage(name, solution.layout)]
    for i in reversed(range(len(generations) if searched else len(generations) - 1)):
        to_next = most_common(motions(solution.snapshots[i], stages[0].layout))
        stages.insert(0, Stage(f"generation {generations[i]}", moved(solution.snapshots[i], to_next)))
    return stages


def upright(solution: Solution, truth: Truth) -> Solution:
    """Return the solution turned and shifted as a whole so that most pieces lie as in the true layout."""
    motion = most_common(motions(solution.layout, true_layout(truth)))
    return replace(solution, layout=moved(solution.layout, motion))


def draw_course(solution: Solution, bag: Bag, truth: Truth | None = None) -> np.ndarray:
    """Return the stages of a run side by side, as the paper's figures do; upright, if the truth is given."""
    check_one_puzzle(solution, bag, truth)
    return draw_stages(course(upright(solution, truth) if truth else solution), bag.pixels)


def draw_stages(stages: Sequence[Stage], pixels: np.ndarray) -> np.ndarray:
    """Return a strip of stages, each with its name below."""
    strip = Image.new("RGB", (len(stages) * (_PANEL + _GAP) - _GAP, _PANEL + 2 * _LETTERS), BACKGROUND)
    pen = ImageDraw.Draw(strip)
    for i, stage in enumerate(stages):
        picture = Image.fromarray(draw_layout(normalised(stage.layout), pixels, longest=_PANEL))
        left = i * (_PANEL + _GAP)
        strip.paste(picture, (left + (_PANEL - picture.width) // 2, (_PANEL - picture.height) // 2))
        pen.text(
            (left + _PANEL / 2, _PANEL + _LETTERS), stage.name,
            fill="black", font=ImageFont.load_default(_LETTERS), anchor="mm",
        )  # fmt: skip
    return np.asarray(strip)
