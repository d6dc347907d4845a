"""Bags of pieces: cutting images into shuffled, turned squares, and gathering squares from a folder.

A bag holds nothing that tells where a piece belongs; that is kept apart in a Truth, which only
evaluation and drawing may read.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from jigsaw.crop import Crop
from jigsaw.errors import JigsawError
from jigsaw.files import (
    check_arrays,
    check_content,
    check_range,
    digest,
    read_hdf5,
    replacing,
    whole_or_refused,
    write_hdf5,
)
from jigsaw.geometry import turn_pixels
from jigsaw.images import list_images, read_image
from jigsaw.meter import Meter
from jigsaw.provenance import notes

log = logging.getLogger(__name__)

PIECE_SIZE = 28  # pixels, throughout the literature


@dataclass(frozen=True)
class Bag:
    """The pieces of a puzzle: `pixels` is (n, K, K, 3) uint8, in no telling order or orientation."""

    pixels: np.ndarray
    notes: dict[str, Any] = field(default_factory=dict, compare=False)

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def piece_size(self) -> int:
        """Side of a piece in pixels."""
        return self.pixels.shape[1]

    @property
    def digest(self) -> str:
        """Checksum that ties edges, solutions and truths to this bag."""
        return digest({"pixels": self.pixels})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write pieces.h5."""
        write_hdf5(path, "pieces", {"pixels": self.pixels}, {}, self.notes)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Bag:
        """Read pieces.h5."""
        with whole_or_refused(path, "pieces"):
            arrays, _, notes = read_hdf5(path, "pieces")
            check_arrays(arrays, {"pixels": (np.uint8, "n K K 3")})
            if len(arrays["pixels"]) < 1 or arrays["pixels"].shape[1] < 2:
                raise ValueError("it holds no pieces of at least 2 x 2 pixels")
            return cls(arrays["pixels"], notes)


@dataclass(frozen=True)
class Truth:
    """Where each piece of a bag belongs.

    `places` is (n, 4): image, row, column, and the turn that brings the piece upright again.
    `shapes` is (images, 2): rows and columns of each image.
    """

    places: np.ndarray
    shapes: np.ndarray
    pieces_digest: str
    names: tuple[str, ...]
    seed: int
    notes: dict[str, Any] = field(default_factory=dict, compare=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write truth.h5."""
        content = {"pieces": self.pieces_digest, "names": list(self.names), "seed": self.seed}
        write_hdf5(path, "truth", {"places": self.places, "shapes": self.shapes}, content, self.notes)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Truth:
        """Read truth.h5."""
        with whole_or_refused(path, "truth"):
            arrays, content, notes = read_hdf5(path, "truth")
            check_arrays(arrays, {"places": (np.int32, "n 4"), "shapes": (np.int32, "images 2")})
            check_content(content, {"pieces": str, "names": list, "seed": int})
            places, shapes = arrays["places"], arrays["shapes"]
            check_range("places", places[:, 0], 0, len(shapes))
            check_range("places", places[:, 1:3], 0, 2**31)
            check_range("places", places[:, 3], 0, 4)
            if (places[:, 1:3] >= shapes[places[:, 0]]).any() or len(content["names"]) != len(shapes):
                raise ValueError("places and images do not belong together")
            return cls(places, shapes, content["pieces"], tuple(content["names"]), content["seed"], notes)


def cut(
    images: Sequence[str | os.PathLike[str] | np.ndarray],
    piece_size: int = PIECE_SIZE,
    seed: int = 0,
    keep_orientation: bool = False,
    missing: float = 0.0,
    crops: Sequence[str | None] | None = None,
) -> tuple[Bag, Truth]:
    """Cut images into square pieces and shuffle and turn them; several images make a mixed bag.

    Parameters
    ----------
    images
        Paths, or (h, w, 3) uint8 arrays.
    piece_size
        Side of a piece in pixels; what doesn't divide by it is cropped at the right and the bottom.
    seed
        Decides order and turns.
    keep_orientation
        Shuffle only (the literature's type 1 puzzle).
    missing
        Share of the pieces, drawn at random, that is lost.
    crops
        For each image the part to cut, in pieces: WxH+X+Y, WxH for the upper left corner, None for all of it.
    """
    if not images:
        raise JigsawError("no image was given: name at least one")
    if piece_size < 2:
        raise JigsawError(f"piece size {piece_size} is too small: a piece has at least 2 x 2 pixels")
    if seed < 0:
        raise JigsawError(f"seed is {seed}, but must not be negative")
    if not 0 <= missing < 1:
        raise JigsawError(f"missing is {missing}, but must be a share of the pieces from 0 to below 1")
    if crops is not None and len(crops) != len(images):
        raise JigsawError(f"{len(crops)} crops were given for {len(images)} images: give one for each")
    parts = [None if crop is None else Crop.parse(crop) for crop in crops or [None] * len(images)]
    with Meter() as meter:
        bag, truth = _cut(images, parts, piece_size, seed, keep_orientation, missing)
    record = notes("cut", meter, {})
    return replace(bag, notes=record), replace(truth, notes=record)


def save_cut(
    bag: Bag, truth: Truth, pieces_path: str | os.PathLike[str], truth_path: str | os.PathLike[str]
) -> None:
    """Write pieces.h5 and truth.h5, both or neither."""
    if Path(pieces_path).resolve() == Path(truth_path).resolve():
        raise JigsawError(f"{pieces_path}: pieces and truth need files of their own")
    with replacing(truth_path) as new_truth, replacing(pieces_path) as new_pieces:
        truth.save(new_truth)
        bag.save(new_pieces)


def _cut(
    images: Sequence[str | os.PathLike[str] | np.ndarray],
    crops: Sequence[Crop | None],
    piece_size: int,
    seed: int,
    keep_orientation: bool,
    missing: float,
) -> tuple[Bag, Truth]:
    grids = [_grid(image, crop, piece_size) for image, crop in zip(images, crops, strict=True)]
    shapes = np.array([grid.shape[:2] for grid in grids], np.int32)
    upright = np.concatenate([grid.reshape(-1, piece_size, piece_size, 3) for grid in grids])
    places = np.concatenate(
        [
            np.column_stack([np.full(rows * columns, i), *np.indices((rows, columns)).reshape(2, -1)])
            for i, (rows, columns) in enumerate(shapes)
        ]
    )
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(upright))
    order = order[min(round(missing * len(order)), len(order) - 1) :]
    turns = np.zeros(len(order), np.int64) if keep_orientation else rng.integers(0, 4, len(order))
    bag = Bag(turn_pixels(upright[order], turns))
    restoring = (-turns % 4)[:, None]
    names = tuple(_name(image, crop) for image, crop in zip(images, crops, strict=True))
    lost = np.setdiff1d(np.arange(len(shapes)), places[order, 0])
    if len(lost):
        raise JigsawError(
            f"no piece of {names[lost[0]]} is left; with missing below {missing}, some would be"
        )
    truth = Truth(np.hstack([places[order], restoring]).astype(np.int32), shapes, bag.digest, names, seed)
    return bag, truth


def _name(image: str | os.PathLike[str] | np.ndarray, crop: Crop | None) -> str:
    name = "array" if isinstance(image, np.ndarray) else Path(image).name
    return name if crop is None else f"{name}[{crop}]"


def _grid(image: str | os.PathLike[str] | np.ndarray, crop: Crop | None, size: int) -> np.ndarray:
    """Read an image, or a crop of it, as (rows, columns, K, K, 3)."""
    name = "image" if isinstance(image, np.ndarray) else str(image)
    pixels = image if isinstance(image, np.ndarray) else read_image(image)
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8:
        raise JigsawError(f"{name}: an image array must be (height, width, 3) of uint8")
    height, width = pixels.shape[:2]
    rows, columns = height // size, width // size
    if rows * columns == 0:
        raise JigsawError(
            f"{name}: {width} x {height} pixels is smaller than one piece of {size} x {size}; "
            "use a larger image or a smaller piece size"
        )
    if crop is None and (rows * size, columns * size) != (height, width):
        log.warning(
            "%s: cropped from %d x %d to %d x %d pixels, a whole number of pieces",
            name, width, height, columns * size, rows * size,
        )  # fmt: skip
    whole = pixels[: rows * size, : columns * size]
    grid = whole.reshape(rows, size, columns, size, 3).swapaxes(1, 2)
    if crop is None:
        return grid
    try:
        crop.check(columns, rows)
    except JigsawError as error:
        raise JigsawError(f"{name}: {error}") from error
    return grid[crop.y : crop.y + crop.height, crop.x : crop.x + crop.width]


def gather(folder: str | os.PathLike[str]) -> Bag:
    """Make a bag from a folder of equally sized square piece images, in the order of their names."""
    with Meter() as meter:
        bag = _gather(folder)
    return replace(bag, notes=notes("cut", meter, {}))


def _gather(folder: str | os.PathLike[str]) -> Bag:
    paths = list_images(folder)
    if not paths:
        raise JigsawError(f"{folder}: holds no images; put one image file a piece there")
    pixels: list[np.ndarray] = []
    for path in paths:
        piece = read_image(path)
        height, width = piece.shape[:2]
        if height != width:
            raise JigsawError(f"{path}: a piece must be square, and this is {width} x {height} pixels")
        if pixels and piece.shape != pixels[0].shape:
            side = len(pixels[0])
            raise JigsawError(
                f"{path}: is {width} x {height} pixels, but {paths[0].name} is {side} x {side}; "
                "all pieces of a bag must be of one size"
            )
        pixels.append(piece)
    if len(pixels[0]) < 2:
        raise JigsawError(f"{folder}: pieces of 1 x 1 pixel cannot be compared; at least 2 x 2 are needed")
    return Bag(np.stack(pixels))
