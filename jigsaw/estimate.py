"""What an experiment will cost, by image set, and what a puzzle of some size would, from measured scaling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jigsaw.bags import BAGS
from jigsaw.experiment import Experiment
from jigsaw.presets import Settings
from jigsaw.records import span
from jigsaw.resources import core_seconds, memory, needs
from jigsaw.table import Column, Table

_NOTE = "Core-hours and memory as expected; jobs ask for more, so that they need not be repeated."


class Step(NamedTuple):
    """A stage of a puzzle, and how many jobs it takes."""

    stage: str
    settings: Settings | None = None
    jobs: int = 1


def by_set(experiment: Experiment) -> Table:
    """Estimate every set whose images are there or whose number and size are declared."""
    columns = [Column("set"), Column("pieces"), Column("puzzles"), Column("jobs"), *_COSTS]
    rows: list[list[Any]] = []
    for name in experiment.wanted:
        sizes = experiment.sizes(name)
        there = name == BAGS or experiment.is_there(name)
        puzzles = experiment.puzzles(name) if there else [None] * len(sizes)
        steps = [
            (step, pieces)
            for i, pieces in enumerate(sizes)
            for step in _steps(experiment, name, experiment.runs(name, puzzles[i], i))
        ]
        if sizes:
            jobs = sum(step.jobs for step, _ in steps)
            costs = [_cost(step, pieces) for step, pieces in steps]
            rows.append(
                [name, span(sizes), len(sizes), jobs, sum(c[0] for c in costs), max(c[1] for c in costs)]
            )
    sums = [sum(row[i] for row in rows) for i in (2, 3, 4)]
    total = ["total", None, *sums, max((row[5] for row in rows), default=0)]
    return Table("Cost of the experiment", columns, [*rows, total], [_NOTE])


def of_puzzle(pieces: int, presets: Mapping[str, Settings]) -> Table:
    """Estimate the stages of one puzzle of so many pieces."""
    columns = [Column("stage"), *_COSTS, Column("cores"), Column("hours", "{:.2f}".format)]
    steps = {"cut": Step("cut"), "compare": Step("compare")}
    steps |= {f"solve, preset {name}": Step("solve", settings) for name, settings in presets.items()}
    steps |= {"evaluate": Step("evaluate"), "draw": Step("draw")}
    rows = []
    for name, step in steps.items():
        hours, gb = _cost(step, pieces)
        cores = needs(step.stage, pieces, step.settings).cores
        rows.append([name, hours, gb, cores, hours / cores])
    return Table(f"Cost of a puzzle of {pieces:,} pieces", columns, rows, [_NOTE])


def _steps(experiment: Experiment, name: str, runs: Sequence[tuple[str, int]]) -> Iterator[Step]:
    """Yield the stages that a puzzle of a set goes through, for these runs of presets."""
    measures = {experiment.settings(preset).measure for preset, _ in runs}
    judged = set(experiment.judged_measures(name))
    yield Step("cut")
    yield Step("compare", jobs=len(measures | judged | ({experiment.unmixing} if name == BAGS else set())))
    if judged:
        yield Step("quality", jobs=len(judged))
    for preset, _ in runs:
        settings, islands = experiment.settings(preset), experiment.islands(preset)
        yield Step("solve", settings, islands + 1 if islands > 1 else 1)
        if name == BAGS and settings.members == 0:
            yield Step("unmix")
        yield Step("evaluate")
        yield Step("draw")


def _cost(step: Step, pieces: int) -> tuple[float, float]:
    """Return core-hours and gigabytes."""
    hours = step.jobs * core_seconds(step.stage, pieces, step.settings) / 3600
    return hours, memory(step.stage, pieces, step.settings) / 1000


_COSTS = (Column("core-hours", "{:.2f}".format), Column("GB", "{:.1f}".format))
