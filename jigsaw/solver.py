"""Solving a puzzle from its compared edges alone."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from jigsaw.assembly import bonds_of
from jigsaw.checkpoints import Checkpoints, State
from jigsaw.chromosome import costs_of, fitness_of
from jigsaw.edges import Edges
from jigsaw.errors import JigsawError
from jigsaw.files import digest
from jigsaw.genetic import Evolution, OnGeneration, evolve, warm_up
from jigsaw.geometry import normalised, relations_of
from jigsaw.journal import Journal
from jigsaw.memory import check_memory, solving_bytes
from jigsaw.meter import Meter
from jigsaw.pool import OnRound
from jigsaw.presets import Settings, settings_of
from jigsaw.provenance import VERSION, libraries, notes
from jigsaw.search import Found, search
from jigsaw.search import warm_up as warm_up_search
from jigsaw.solution import Solution
from jigsaw.sources import code_of
from jigsaw.workers import MOST

log = logging.getLogger(__name__)

_LONGEST = 1 << 20  # side that a known picture may have, in pieces,
_ROOM = 1000  # and how many places for each piece


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
    checkpoints: Checkpoints | None = None,
    islands: Sequence[Solution] = (),
    keep: int = 0,
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
    checkpoints
        Where the state is saved, and where that of the same run, if it was interrupted, is found.
    islands
        Solutions of the same edges with other seeds, from whose elites this run starts.
    keep
        How many layouts the solution keeps as its elite, if it is to be such an island.
    """
    settings = settings or settings_of(preset)
    check_run(seed, workers)
    if settings.measure != edges.measure:
        raise JigsawError(
            f"the edges were compared by {edges.measure!r}, but preset {preset!r} wants "
            f"{settings.measure!r}: compare again with --measure {settings.measure}, or solve by "
            f"--measure {edges.measure}"
        )
    log.info(
        "solving %d pieces: preset %s, seed %d, %d worker%s",
        edges.pieces, preset, seed, workers, "s" * (workers > 1),
    )  # fmt: skip
    check_size(size, edges.pieces, settings)
    check_islands(islands, keep, edges)
    check_memory(
        f"solving {edges.pieces} pieces with a population of {settings.population}",
        solving_bytes(edges.pieces, settings.population) + 24 * settings.generations,
        "use a smaller population",
    )
    checkpoints = checkpoints or Checkpoints()
    costs = costs_of(edges)
    warm_up(costs.features)
    if settings.members > 0:
        warm_up_search(costs.features)
    state = checkpoints.find(lambda: _description(edges, settings, seed, size, one_image, islands, keep))
    with Meter() as meter:
        if state is None or state.content["stage"] == "evolve":
            first = elites_of(islands)[: settings.population]
            kept = max(settings.members, keep)
            found = evolve(costs, settings, seed, workers, on_generation, kept, first, checkpoints, state)
            journal = Journal(workers, checkpoints.offer)
        else:
            found = _evolution(state)
            journal = Journal.of(state, workers, checkpoints.offer)
        relations, layout, fitness, elite = found.relations, found.layout, found.fitness, found.elite
        image = np.zeros(edges.pieces, np.int32)
        searched: dict[str, Any] = {}
        if settings.members > 0:
            starts = [*(island.layout for island in islands), *elite][: max(settings.members, len(islands))]
            with checkpoints.of(lambda: _search_state(found, journal)):
                after = _search(
                    edges, starts, settings, seed, workers, size, one_image, on_round, journal
                )  # fmt: skip
            layout, image = after.layout, after.image
            searched = {"framed": after.framed, "in_time": after.in_time}
            relations = relations_of(layout).reshape(-1)
            fitness = float(fitness_of(costs, relations))
            elite = np.stack([layout, *elite])
    meter.seconds += checkpoints.before
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
            "islands": max(len(islands), 1),
            **searched,
        },
        preset=preset,
        seed=seed,
        pieces_digest=edges.pieces_digest,
        edges_digest=edges.digest,
        elite=elite[:keep],
        notes={
            **_with_islands(notes("solve", meter, edges.notes), islands),
            "checkpoints": {"saved": checkpoints.saved, "seconds": round(checkpoints.spent, 3)},
        },
    )


def elites_of(islands: Sequence[Solution]) -> list[np.ndarray]:
    """Return the elites of all islands, the best of each first."""
    ranks = range(max((len(island.elite) for island in islands), default=0))
    return [island.elite[rank] for rank in ranks for island in islands if rank < len(island.elite)]


def _with_islands(record: dict[str, Any], islands: Sequence[Solution]) -> dict[str, Any]:
    """Add the islands to the cost of solving: as they ran side by side, the slowest and the largest count."""
    own = record["stages"]["solve"]
    before = [island.notes.get("stages", {}).get("solve", {}) for island in islands]
    own["seconds"] += max((cost.get("seconds", 0.0) for cost in before), default=0.0)
    own["core_seconds"] += sum(cost.get("core_seconds", 0.0) for cost in before)
    own["peak_mb"] = max([own["peak_mb"], *(cost.get("peak_mb", 0.0) for cost in before)])
    return record


def _search(
    edges: Edges,
    layouts: Sequence[np.ndarray],
    settings: Settings,
    seed: int,
    workers: int,
    size: tuple[int, int] | None,
    one_image: bool,
    on_round: OnRound | None,
    journal: Journal,
) -> Found:
    """Improve the best of the last generation, and of the islands."""
    found = search(
        bonds_of(edges),
        layouts,
        settings.rounds,
        settings.passes,
        seed,
        workers,
        settings.seconds(edges.pieces),
        size,
        one_image,
        on_round,
        journal,
    )
    if not found.in_time:
        log.warning(
            "the search used up its budget of %.0f s: another run may end differently; raise --budget",
            settings.seconds(edges.pieces),
        )
    return found


def _description(
    edges: Edges,
    settings: Settings,
    seed: int,
    size: tuple[int, int] | None,
    one_image: bool,
    islands: Sequence[Solution],
    keep: int,
) -> dict[str, Any]:
    """Return all that decides the result, for checkpoints."""
    return {
        "edges": edges.digest,
        "settings": settings.as_dict(),
        "seed": seed,
        "size": None if size is None else list(size),
        "one_image": one_image,
        "islands": [digest({"layout": island.layout, "elite": island.elite}) for island in islands],
        "elite": keep,
        "version": [VERSION, code_of("solver"), libraries()],
    }


def _search_state(found: Evolution, journal: Journal) -> State:
    """Return the state of a run whose generations are over."""
    arrays = found._asdict()
    fitness = arrays.pop("fitness")
    made = journal.state()
    return State({**arrays, **made.arrays}, {**made.content, "stage": "search", "fitness": fitness})


def _evolution(state: State) -> Evolution:
    """Return what the generations of an interrupted run have left."""
    arrays = {name: state.arrays[name] for name in Evolution._fields if name != "fitness"}
    return Evolution(**arrays, fitness=state.content["fitness"])


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
    if max(size) > _LONGEST or size[0] * size[1] > _ROOM * pieces:
        raise JigsawError(
            f"size is {size[0]}x{size[1]}, of which {pieces} pieces would fill next to nothing: width and "
            "height are counted in pieces"
        )


def check_islands(islands: Sequence[Solution], keep: int, edges: Edges) -> None:
    """Refuse islands from which a run cannot start, and an elite that cannot be."""
    if keep < 0:
        raise JigsawError(f"keep is {keep}, but must be at least 0")
    for i, island in enumerate(islands, start=1):
        if island.edges_digest != edges.digest:
            raise JigsawError(f"island {i} is a solution of other edges: solve these with --keep")
        if not len(island.elite):
            raise JigsawError(f"island {i} has no elite to start from: solve it again with --keep")


def check_run(seed: int, workers: int) -> None:
    """Refuse a seed or a number of workers that cannot be."""
    if not 1 <= workers <= MOST:
        raise JigsawError(f"workers is {workers}, but must be from 1 to {MOST}")
    if not 0 <= seed < 2**63:
        raise JigsawError(f"seed is {seed}, but must be from 0 to 2**63 - 1")
