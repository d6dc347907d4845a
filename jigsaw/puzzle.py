"""One puzzle from image to scores, leaving every file of the data flow in one folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jigsaw.checkpoints import INTERVAL, Checkpoints
from jigsaw.dissimilarity import compare
from jigsaw.drawing import draw, draw_images, save_images
from jigsaw.evaluation import evaluate
from jigsaw.files import write_json
from jigsaw.genetic import OnGeneration
from jigsaw.images import write_image
from jigsaw.pieces import PIECE_SIZE, Bag, cut, save_cut
from jigsaw.pool import OnRound
from jigsaw.presets import Settings, settings_of
from jigsaw.solver import check_run, solve
from jigsaw.unmixing import needs_unmixing, unmix


def run(
    images: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    preset: str = "paper",
    settings: Settings | None = None,
    piece_size: int = PIECE_SIZE,
    keep_orientation: bool = False,
    missing: float = 0.0,
    seed: int = 0,
    workers: int = 1,
    size: tuple[int, int] | None = None,
    one_image: bool = False,
    on_generation: OnGeneration | None = None,
    on_round: OnRound | None = None,
    crops: Sequence[str | None] | None = None,
    checkpoint: float = INTERVAL,
    on_cut: Callable[[Bag], None] | None = None,
) -> dict[str, Any]:
    """Cut images, compare, solve, tell the images apart, evaluate and draw; return the scores.

    With `keep_orientation` the pieces are not turned, and the solver knows it; with `one_image` no images are
    told apart. `crops` are as in `cut`; `checkpoint` is the number of seconds after which the state is saved.
    `on_cut` is called with the pieces, `on_generation` and `on_round` as in `solve`.
    """
    folder = Path(out)
    checkpoints = Checkpoints(folder / "solution.h5", checkpoint)
    settings = settings or settings_of(preset)
    check_run(seed, workers)
    bag, truth = cut(images, piece_size, seed, keep_orientation, missing, crops)
    save_cut(bag, truth, folder / "pieces.h5", folder / "truth.h5")
    if on_cut is not None:
        on_cut(bag)
    edges = compare(bag, settings.measure, workers=workers, upright=keep_orientation)
    edges.save(folder / "edges.h5")
    solution = solve(
        edges, preset, settings, seed, workers, size, one_image, on_generation, on_round, checkpoints
    )  # fmt: skip
    if needs_unmixing(solution):
        telling = edges
        if edges.measure != settings_of("best").measure:
            telling = compare(bag, settings_of("best").measure, workers=workers, upright=keep_orientation)
        solution = unmix(solution, telling)
    solution.save(folder / "solution.h5")
    checkpoints.remove()
    write_image(folder / "assembled.png", draw(solution, bag))
    save_images(folder / "images", draw_images(solution, bag))
    scores = evaluate(solution, truth, bag, edges)
    write_json(folder / "scores.json", scores)
    return scores
