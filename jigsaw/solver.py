"""Solving a puzzle from its compared edges alone."""

from __future__ import annotations

import logging

import numpy as np

from jigsaw.chromosome import costs_of
from jigsaw.edges import Edges
from jigsaw.errors import JigsawError
from jigsaw.genetic import OnGeneration, evolve, warm_up
from jigsaw.geometry import normalised
from jigsaw.meter import Meter
from jigsaw.presets import Settings, settings_of
from jigsaw.provenance import notes
from jigsaw.solution import Solution

log = logging.getLogger(__name__)


def solve(
    edges: Edges,
    preset: str = "paper",
    settings: Settings | None = None,
    seed: int = 0,
    workers: int = 1,
    on_generation: OnGeneration | None = None,
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
    on_generation
        Called after each generation with its number and its best, mean and worst fitness.
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
    costs = costs_of(edges)
    warm_up(costs.features)
    with Meter() as meter:
        found = evolve(costs, settings, seed, workers, on_generation)
    return Solution(
        relations=found.relations.reshape(-1, 4),
        layout=normalised(found.layout),
        fitness=found.fitness,
        history=found.history,
        shown=found.shown,
        snapshots=np.stack([normalised(layout) for layout in found.snapshots]),
        settings=settings.as_dict(),
        preset=preset,
        seed=seed,
        pieces_digest=edges.pieces_digest,
        edges_digest=edges.digest,
        notes=notes("solve", meter, edges.notes),
    )


def check_run(seed: int, workers: int) -> None:
    """Refuse a seed or a number of workers that cannot be."""
    if workers < 1:
        raise JigsawError(f"workers is {workers}, but at least 1 is needed")
    if not 0 <= seed < 2**63:
        raise JigsawError(f"seed is {seed}, but must be from 0 to 2**63 - 1")
