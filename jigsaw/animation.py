"""A run as a film: the layouts it went through, between which segments glide from place to place."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from jigsaw.course import course, upright
from jigsaw.drawing import BACKGROUND, bag_beside, check_one_puzzle, shrunk
from jigsaw.errors import JigsawError
from jigsaw.files import replacing
from jigsaw.geometry import motions, relations_of
from jigsaw.pieces import Bag, Truth
from jigsaw.solution import Solution

LONGEST = {"webp": 560, "gif": 400}  # side of a film, in pixels
_STEPS = 12  # frames from one layout to the next
_STEP = 50  # milliseconds a frame is shown,
_REST = 700  # a layout,
_END = 3000  # and the last
_QUALITY = 55


class View(NamedTuple):
    """What part of the plane a frame shows: its centre, in pieces, and how many pixels a piece has."""

    centre: np.ndarray
    scale: float


def animate(solution: Solution, bag: Bag, out: str | os.PathLike[str], truth: Truth | None = None) -> None:
    """Write a film of a run, WebP or GIF by the ending: the bag, the generations shown, the solution.

    It is upright, if the truth is given.
    """
    check_one_puzzle(solution, bag, truth)
    stages = course(upright(solution, truth) if truth else solution)
    write_film([stage.layout for stage in stages], bag.pixels, out)


def write_film(layouts: Sequence[np.ndarray], pixels: np.ndarray, out: str | os.PathLike[str]) -> None:
    """Write a film that begins with the bag and goes from layout to layout."""
    kind = Path(out).suffix.lower().removeprefix(".")
    if kind not in LONGEST:
        raise JigsawError(f"{out}: a film is written as .webp or .gif; choose one of these endings")
    drawn = list(_frames([bag_beside(layouts[-1]), *layouts], pixels, LONGEST[kind]))
    frames = [Image.fromarray(frame) for frame, _ in drawn]
    times = [milliseconds for _, milliseconds in drawn]
    if kind == "gif":
        frames = _with_one_palette(frames)
    with replacing(out) as temporary:
        frames[0].save(
            temporary, format=kind.upper(), save_all=True, append_images=frames[1:], duration=times, loop=0,
            quality=_QUALITY, method=0, minimize_size=False,
        )  # fmt: skip


def _with_one_palette(frames: Sequence[Image.Image]) -> list[Image.Image]:
    """Return frames in the colours of the first, which shows all pieces, on the background."""
    palette = frames[0].convert("RGB").quantize(255)
    palette.putpalette([*(palette.getpalette() or [])[: 255 * 3], *BACKGROUND])
    blank = Image.new("RGBA", frames[0].size, BACKGROUND)
    flat = (Image.alpha_composite(blank, frame).convert("RGB") for frame in frames)
    return [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in flat]


def _frames(
    layouts: Sequence[np.ndarray], pixels: np.ndarray, longest: int
) -> Iterator[tuple[np.ndarray, int]]:
    """Yield pictures with an alpha channel, and for how many milliseconds each is shown."""
    extent = np.ptp(layouts[-1][:, :2], axis=0) + 1
    width, height = (int(side) for side in np.ceil(longest * np.maximum(extent / extent.max(), 0.5)))
    views = [_view(layout, width, height) for layout in layouts]
    texture = shrunk(pixels, min(pixels.shape[1], int(np.ceil(max(view.scale for view in views)))))

    def frame(places: np.ndarray, angles: np.ndarray, view: View) -> np.ndarray:
        canvas = np.zeros((height, width, 4), np.uint8)
        for some in (angles % 90 == 0, angles % 90 != 0):
            _lay(canvas, texture[some], (places - view.centre)[some] * view.scale, angles[some], view.scale)
        return canvas

    for i, (before, after) in enumerate(pairwise(layouts)):
        yield frame(before[:, :2], before[:, 2] * 90.0, views[i]), _REST
        glide = Glide(before, after)
        for step in range(1, _STEPS):
            share = _eased(step / _STEPS)
            yield frame(*glide.at(share), _between(views[i], views[i + 1], share)), _STEP
    yield frame(layouts[-1][:, :2], layouts[-1][:, 2] * 90.0, views[-1]), _END


def _view(layout: np.ndarray, width: int, height: int) -> View:
    low, high = layout[:, :2].min(axis=0), layout[:, :2].max(axis=0)
    columns, rows = high - low + 1
    return View((low + high) / 2, min(width / columns, height / rows))


def _between(before: View, after: View, share: float) -> View:
    centre = before.centre + share * (after.centre - before.centre)
    return View(centre, before.scale * (after.scale / before.scale) ** share)


def _eased(share: float) -> float:
    """Start and end slowly."""
    return share * share * (3 - 2 * share)


class Glide:
    """How pieces move from one layout to another: those that stay together turn and shift as one segment."""

    def __init__(self, before: np.ndarray, after: np.ndarray) -> None:
        self._before = before
        motion = motions(before, after)
        relations = relations_of(before)
        piece, side = np.nonzero(relations >= 0)
        beside = relations[piece, side] // 4
        together = (motion[piece] == motion[beside]).all(axis=1)
        ends = (piece[together], beside[together])
        links = coo_array((np.ones(len(ends[0]), bool), ends), (len(before), len(before)))
        count, self._segment = connected_components(links, directed=False)
        self._from, self._to = (self._centres(layout, count) for layout in (before, after))
        turns = np.empty(count)
        turns[self._segment] = np.where(motion[:, 0] == 3, -1, motion[:, 0])
        self._turns = turns

    def _centres(self, layout: np.ndarray, count: int) -> np.ndarray:
        sizes = np.bincount(self._segment, minlength=count)
        sums = [np.bincount(self._segment, layout[:, axis], count) for axis in (0, 1)]
        return np.column_stack(sums) / sizes[:, None]

    def at(self, share: float) -> tuple[np.ndarray, np.ndarray]:
        """Return where pieces are on a share of the way, as (x, y), and how far they are turned, degrees."""
        turned = self._turns[self._segment] * share * 90
        cos, sin = np.cos(np.deg2rad(turned)), np.sin(np.deg2rad(turned))
        x, y = (self._before[:, :2] - self._from[self._segment]).T
        centre = (self._from + share * (self._to - self._from))[self._segment]
        places = centre + np.column_stack([cos * x - sin * y, sin * x + cos * y])
        return places, self._before[:, 2] * 90.0 + turned


def _lay(
    canvas: np.ndarray, pieces: np.ndarray, centres: np.ndarray, angles: np.ndarray, size: float
) -> None:
    """Lay pieces, turned by degrees, onto a canvas whose middle is (0, 0), without smoothing."""
    if len(pieces) == 0:
        return
    height, width = canvas.shape[:2]
    slanted = bool((angles % 90 != 0).any())
    window = np.arange(int(np.ceil(size * (np.sqrt(2) if slanted else 1))) + 1)
    # Not quite the middle, so that the middle of no pixel lies exactly between two pieces.
    centres = (centres + np.array([width, height]) / 2 + 1e-3).astype(np.float32)
    corner = np.floor(centres - (len(window) - 1) / 2).astype(np.int32)
    x = corner[:, 0, None, None] + window[None, None, :]
    y = corner[:, 1, None, None] + window[None, :, None]
    dx, dy = x + np.float32(0.5) - centres[:, 0, None, None], y + np.float32(0.5) - centres[:, 1, None, None]
    turn = np.deg2rad(angles).astype(np.float32)[:, None, None]
    texels = pieces.shape[1]
    scale = np.float32(texels / size)
    cos, sin = np.cos(turn) * scale, np.sin(turn) * scale
    column = cos * dx + (sin * dy + np.float32(texels / 2))
    row = cos * dy - (sin * dx - np.float32(texels / 2))
    inside = (column >= 0) & (column < texels) & (row >= 0) & (row < texels)
    inside &= (x >= 0) & (x < width) & (y >= 0) & (y < height)
    piece, at_y, at_x = np.nonzero(inside)
    x, y = corner[piece, 0] + at_x, corner[piece, 1] + at_y
    canvas[y, x, :3] = pieces[piece, row[inside].astype(np.int32), column[inside].astype(np.int32)]
    canvas[y, x, 3] = 255
