"""Solving a puzzle from its compared edges alone."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from jigsaw.assembly import bonds_of
from jigsaw.chromosome import costs_of, fitness_of
from jigsaw.edges import Edges
from jigsaw.errors import JigsawError
from jigsaw.genetic import OnGeneration, evolve, warm_up
from jigsaw.geometry import normalised, relations_of
from jigsaw.meter import Meter
from jigsaw.pool import OnRound
from jigsaw.presets import Settings, settings_of
from jigsaw.provenance import notes
from jigsaw.search import Found, search
from jigsaw.search import warm_up as warm_up_search
from jigsaw.solution import Solution

log = logging.getLogger(__name__)


def solve(
    edges: Edges,
    preset: str = "paper",
    settings: Settings | None = None,
    seed: int = 0,
    workers: int = 1,
    size: tuple[int, int] | None = None,
    one_image: bool = False,
    on_generation: OnGeneration | None = None,
    on_round: OnRound | None = None,
) -> Solution:
    """Assemble a puzzle.

    Parameters
    ----------
    edges
        The compared edges; nothing else of the puzzle is known.
    preset
        Names the settings; a label only where `settings` are given.
    settings
        The settings, those of the preset by default.
    seed
        Same edges, settings and seed: same solution, for any number of workers.
    workers
        Processes.
    size
        Width and height of the picture in pieces, where they are known; the search keeps to them.
    one_image
        Whether all pieces are known to be of one image; otherwise the search tells images apart.
    on_generation
        Called after each generation with its number, its best, mean and worst fitness, and its best layout,
        which is to be copied if it is to be kept.
    on_round
        Called after each step of the search with its name, and gain and layout of its best assembly; a piece
        that is not placed has turn -1.
    """
    settings = settings or settings_of(preset)
    check_run(seed, workers)
    if settings.measure != edges.measure:
        raise JigsawError(
            f"the edges were compared by {edges.measure!r}, but preset {preset!r} wants "
            f"{settings.measure!r}: compare again with --measure {settings.measure}"
        )
    log.info(
        "solving %d pieces: preset %s, seed %d, %d worker%s",
        edges.pieces, preset, seed, workers, "s" * (workers > 1),
    )  # fmt: skip
    check_size(size, edges.pieces, settings)
    costs = costs_of(edges)
    warm_up(costs.features)
    if settings.members > 0:
        warm_up_search(costs.features)
    with Meter() as meter:
        found = evolve(costs, settings, seed, workers, on_generation, keep=settings.members)
        relations, layout, fitness = found.relations, found.layout, found.fitness
        image = np.zeros(edges.pieces, np.int32)
        searched: dict[str, Any] = {}
        if settings.members > 0:
            after = _search(edges, found.elite, settings, seed, workers, size, one_image, on_round)
            layout, image = after.layout, after.image
            searched = {"framed": after.framed, "in_time": after.in_time}
            relations = relations_of(layout).reshape(-1)
            fitness = float(fitness_of(costs, relations))
    return Solution(
        relations=relations.reshape(-1, 4),
        layout=normalised(layout),
        image=image,
        fitness=fitness,
        history=found.history,
        shown=found.shown,
        snapshots=np.stack([normalised(layout) for layout in found.snapshots]),
        settings={
            **settings.as_dict(),
            "size": size,
            "one_image": one_image,
            "upright": edges.upright,
            **searched,
        },
        preset=preset,
        seed=seed,
        pieces_digest=edges.pieces_digest,
        edges_digest=edges.digest,
        notes=notes("solve", meter, edges.notes),
    )


def _search(
    edges: Edges,
    layouts: np.ndarray,
    settings: Settings,
    seed: int,
    workers: int,
    size: tuple[int, int] | None,
    one_image: bool,
    on_round: OnRound | None,
) -> Found:
    """Improve the best of the last generation."""
    found = search(
        bonds_of(edges),
        layouts,
        settings.rounds,
        settings.passes,
        seed,
        workers,
        settings.budget * edges.pieces,
        size,
        one_image,
        on_round,
    )
    if not found.in_time:
        log.warning(
            "the search used up its budget of %.0f s: another run may end differently; raise --budget",
            settings.budget * edges.pieces,
        )
    return found


def check_size(size: tuple[int, int] | None, pieces: int, settings: Settings) -> None:
    """Refuse dimensions that cannot be."""
    if size is None:
        return
    if settings.members == 0:
        raise JigsawError("known dimensions need the search: use preset 'best', or --members of at least 1")
    if min(size) < 1 or size[0] * size[1] < pieces:
        raise JigsawError(
            f"size is {size[0]}x{size[1]}, which has no room for {pieces} pieces: width and height are "
            "counted in pieces"
        )


def check_run(seed: int, workers: int) -> None:
    """Refuse a seed or a number of workers that cannot be."""
    if workers < 1:
        raise JigsawError(f"workers is {workers}, but at least 1 is needed")
    if not 0 <= seed < 2**63:
        raise JigsawError(f"seed is {seed}, but must be from 0 to 2**63 - 1")
