"""The genetic algorithm of the paper, as its Section "GA framework" has it.

population = so many random chromosomes
repeat for so many generations:
    new population = copies of the best few
    until the new population is full:
        choose two parents by roulette-wheel selection
        add their child by crossover
return the best chromosome
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jigsaw.checkpoints import Checkpoints, State
from jigsaw.chromosome import Costs, Population, fitness_of
from jigsaw.compiled import kernel
from jigsaw.crossover import cross, make_workspace, random_chromosome
from jigsaw.geometry import relations_of
from jigsaw.measures import rows
from jigsaw.presets import Settings
from jigsaw.randomness import start
from jigsaw.selection import two_parents, wheel_of
from jigsaw.workers import Workers, shared_array

log = logging.getLogger(__name__)

FIRST_SHOWN = 5  # the paper's figures show generations 1 to 5 and the last
OnGeneration = Callable[[int, np.ndarray, np.ndarray], None]


class Evolution(NamedTuple):
    """What a run leaves: the best chromosome, how fitness developed, what the best looked like."""

    relations: np.ndarray  # (4 n) int32
    layout: np.ndarray  # (n, 3) int32: x, y, turn
    fitness: float
    history: np.ndarray  # (generations + 1, 3): best, mean, worst, from the random population on
    shown: np.ndarray  # numbers of the generations whose best layout is kept
    snapshots: np.ndarray  # (len(shown), n, 3)
    elite: np.ndarray  # (few, n, 3) layouts of the best of the last generation, all different


def evolve(
    costs: Costs,
    settings: Settings,
    seed: int,
    workers: int = 1,
    on_generation: OnGeneration | None = None,
    keep: int = 1,
    first: Sequence[np.ndarray] = (),
    checkpoints: Checkpoints | None = None,
    state: State | None = None,
) -> Evolution:
    """Run the genetic algorithm; the same seed gives the same result for any number of workers.

    The first population is made of the layouts given as `first`, and of random ones. Generations are offered
    to `checkpoints`; from the `state` found in one of them the same run goes on.
    """
    checkpoints = checkpoints or Checkpoints()
    warm_up(costs.features)  # before any fork
    pieces = len(costs.nearest) // 4
    current, following = (_population(settings.population, pieces) for _ in range(2))
    wheel = shared_array((settings.population,), np.float64)
    work = make_workspace(pieces, costs.turnable)
    generations = (current, following)

    def task(generation: int, first: int, last: int) -> None:
        parents, children = generations[(generation + 1) % 2], generations[generation % 2]
        if generation == 0:
            populate(work, costs, seed, children, first, last)
        else:
            breed(work, costs, settings.mutation, seed, generation, wheel, parents, children, first, last)

    history = np.zeros((settings.generations + 1, 3))
    shown = sorted({*range(1, min(FIRST_SHOWN, settings.generations) + 1), settings.generations})
    snapshots = np.zeros((len(shown), pieces, 3), np.int32)
    done = -1  # the last generation that is whole
    if state is not None:
        done = state.content["generation"]
        for name, array in generations[done % 2]._asdict().items():
            array[:] = state.arrays[name]
        history[: done + 1], snapshots[:] = state.arrays["history"], state.arrays["snapshots"]

    def present() -> State | None:
        if done < 0:
            return None
        arrays = {**generations[done % 2]._asdict(), "history": history[: done + 1], "snapshots": snapshots}
        return State(arrays, {"stage": "evolve", "generation": done, "at": f"generation {done}"})

    with Workers(workers, task) as pool, checkpoints.of(present):
        for generation in range(done + 1, settings.generations + 1):
            population = generations[generation % 2]
            if generation == 0:
                settle(costs, population, first)
                pool.run(range(len(first), settings.population), generation)
            else:
                parents = generations[(generation + 1) % 2]
                wheel[:] = wheel_of(parents.fitness)
                keep_elite(parents, population, settings.elite)
                pool.run(range(settings.elite, settings.population), generation)
            fitness = population.fitness
            history[generation] = fitness.min(), fitness.mean(), fitness.max()
            best = int(fitness.argmin())
            if generation in shown:
                snapshots[shown.index(generation)] = population.layouts[best]
            log.debug("generation %d: best fitness %.1f, mean %.1f", generation, *history[generation, :2])
            done = generation
            checkpoints.offer()
            if on_generation is not None:
                on_generation(generation, history[generation], population.layouts[best])
    population = generations[settings.generations % 2]
    best = int(population.fitness.argmin())
    return Evolution(
        population.relations[best].copy(),
        population.layouts[best].copy(),
        float(population.fitness[best]),
        history,
        np.array(shown, np.int32),
        snapshots,
        population.layouts[_different(population.fitness, keep)],
    )


def _different(fitness: np.ndarray, count: int) -> np.ndarray:
    """Return the best few of a population, one of each fitness."""
    return np.unique(fitness, return_index=True)[1][:count]


def settle(costs: Costs, population: Population, layouts: Sequence[np.ndarray]) -> None:
    """Let chromosomes of given layouts be the first of a population."""
    for i, layout in enumerate(layouts):
        population.layouts[i] = layout
        population.relations[i] = relations_of(layout).reshape(-1)
        population.fitness[i] = fitness_of(costs, population.relations[i])


def keep_elite(parents: Population, children: Population, count: int) -> None:
    """Copy the best chromosomes to the next generation."""
    best = np.argsort(parents.fitness, kind="stable")[:count]
    children.relations[:count] = parents.relations[best]
    children.layouts[:count] = parents.layouts[best]
    children.fitness[:count] = parents.fitness[best]


@kernel
def populate(work, costs, seed, population, first, last):
    """Make random chromosomes [first, last)."""
    for i in range(first, last):
        start(work.random, seed, 0, i)
        population.fitness[i] = random_chromosome(work, costs, population.relations[i], population.layouts[i])


@kernel
def breed(work, costs, mutation, seed, generation, wheel, parents, children, first, last):
    """Make children [first, last) of a generation."""
    for i in range(first, last):
        start(work.random, seed, generation, i)
        one, two = two_parents(work.random, wheel)
        children.fitness[i] = cross(
            work, costs, mutation,
            parents.relations[one], parents.layouts[one], parents.fitness[one], parents.relations[two],
            children.relations[i], children.layouts[i],
        )  # fmt: skip


def warm_up(features: Any) -> None:
    """Compile the kernels for the features of a measure, or load them from the cache, with two pieces."""
    two = np.arange(8) % len(features[0])
    nowhere = np.full(8, -1, np.int32)
    costs = Costs(rows(features, two), nowhere, nowhere, 1.0)
    work = make_workspace(2)
    parents, children = _population(3, 2), _population(3, 2)
    populate(work, costs, 0, parents, 0, 3)
    breed(work, costs, 0.0, 0, 1, wheel_of(parents.fitness), parents, children, 0, 3)
    fitness_of(costs, children.relations[0])


def _population(size: int, pieces: int) -> Population:
    return Population(
        shared_array((size, 4 * pieces), np.int32),
        shared_array((size, pieces, 3), np.int32),
        shared_array((size,), np.float64),
    )
