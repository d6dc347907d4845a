"""What the jobs of a puzzle cost, as functions of its number of pieces, and what they ask for.

The functions are fitted to measurements. Both are in workflow/resources.yaml, which `make resources` writes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from jigsaw.memory import population_bytes
from jigsaw.presets import PRESETS, Settings

FILE = Path(__file__).resolve().parents[1] / "workflow" / "resources.yaml"
_PARALLEL = ("compare", "solve")  # stages that use several cores
_MOST_CORES = 16
_SECONDS = 30.0  # a job gets as many cores as it takes to end in about this time
_SNAKEMAKE_MB = 500  # that starts a job and watches it, in three processes
_MEMORY_MARGIN = 1.5  # of what is asked for above what was measured
_TIME_MARGIN = 3.0  # the cores of a cluster may be slow
_MINUTES = 5.0  # to start, and to compile kernels if a node is of another kind than that which compiled them


class Needs(NamedTuple):
    """What a job asks for."""

    cores: int
    mem_mb: int
    runtime: int  # minutes


class Fit(NamedTuple):
    """A cost that grows with the pieces: start + factor * pieces ** power."""

    start: float
    factor: float
    power: float

    def __call__(self, pieces: float) -> float:
        """Return the cost of so many pieces."""
        return self.start + self.growth(pieces)

    def growth(self, pieces: float) -> float:
        """Return the part of the cost that grows."""
        return self.factor * pieces**self.power


@cache
def fits() -> dict[str, dict[str, Fit]]:
    """Return the fits of each stage: core_seconds and mb."""
    stages: Mapping[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))["fits"]
    return {stage: {key: Fit(*fit) for key, fit in of.items()} for stage, of in stages.items()}


def core_seconds(stage: str, pieces: int, settings: Settings | None = None) -> float:
    """Return the seconds that a stage is expected to take on one core."""
    if settings is None:
        return fits()[stage]["core_seconds"](pieces)
    share = _work(settings) / _work(PRESETS["best"])
    searching = fits()["search"]["core_seconds"].growth(pieces) * share
    return _evolving(settings, pieces) + min(searching, settings.seconds(pieces))


def memory(stage: str, pieces: int, settings: Settings | None = None) -> float:
    """Return the megabytes that a stage is expected to need."""
    return fits()[stage]["mb"](pieces) + (populations(settings, pieces) if settings else 0.0)


def populations(settings: Settings, pieces: int) -> float:
    """Return the megabytes of two generations."""
    return population_bytes(pieces, settings.population) / 1e6


def needs(stage: str, pieces: int, settings: Settings | None = None, attempt: int = 1) -> Needs:
    """Return what a job asks for: what it should cost, with a margin, and more with every attempt."""
    expected = core_seconds(stage, pieces, settings)
    most = expected
    if settings is not None and settings.members > 0:
        most = _evolving(settings, pieces) + settings.seconds(pieces)
    cores = math.ceil(expected / _SECONDS) if stage in _PARALLEL else 1
    return Needs(
        min(cores, _MOST_CORES),
        math.ceil((_SNAKEMAKE_MB + memory(stage, pieces, settings) * _MEMORY_MARGIN) * attempt),
        math.ceil((_MINUTES + most * _TIME_MARGIN / 60) * attempt),
    )


def _evolving(settings: Settings, pieces: int) -> float:
    """Return the seconds of the genetic algorithm, start-up included."""
    fit, paper = fits()["genetic"]["core_seconds"], PRESETS["paper"]
    share = settings.population * settings.generations / (paper.population * paper.generations)
    return fit.start + fit.growth(pieces) * share


def _work(settings: Settings) -> int:
    """Return how much a search has to do, as a multiple of one pass of one member."""
    return settings.members * (1 + settings.rounds) * settings.passes
