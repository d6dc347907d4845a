"""The journal of a search: what each of its tasks made, so that an interrupted search is not done again.

Every task of a search has a number, and what it makes depends on nothing but the task. A search that is
started again with its journal runs through its steps as before and takes from it what was made already.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from jigsaw.checkpoints import State


class Journal:
    """Layouts and gains by the number of the task that made them."""

    def __init__(
        self, workers: int = 1, noted: Callable[[], None] = lambda: None, seconds: float = 0.0
    ) -> None:
        self.in_time = True
        self._workers = workers
        self._noted = noted
        self._made: dict[int, tuple[np.ndarray, float]] = {}
        self._before, self._began = seconds, time.process_time()

    @property
    def seconds(self) -> float:
        """Processor time a worker that the search has taken, with what it took before it was interrupted."""
        return self._before + (time.process_time() - self._began) / self._workers

    def made(self, number: int) -> tuple[np.ndarray, float] | None:
        """Return the layout and the gain that a task had made before, if it had."""
        return self._made.get(number)

    def note(self, number: int, layout: np.ndarray, gain: float, in_time: bool) -> None:
        """Take down what a task made, and whether all have had time to finish."""
        self.in_time = self.in_time and in_time
        self._made[number] = layout, gain
        self._noted()

    def state(self) -> State:
        """Return all of it for a checkpoint."""
        made = dict(self._made)
        arrays: dict[str, np.ndarray] = {
            "numbers": np.array(list(made), np.int64),
            "layouts": np.array([layout for layout, _ in made.values()], np.int32),
            "gains": np.array([gain for _, gain in made.values()], np.float64),
        }
        at = f"{len(made)} assemblies searched"
        return State(arrays, {"in_time": self.in_time, "searching": self.seconds, "at": at})

    @classmethod
    def of(cls, state: State, workers: int, noted: Callable[[], None]) -> Journal:
        """Return the journal of a checkpoint."""
        journal = cls(workers, noted, state.content["searching"])
        journal.in_time = state.content["in_time"]
        numbers, layouts, gains = (state.arrays[name] for name in ("numbers", "layouts", "gains"))
        journal._made = dict(zip(numbers.tolist(), zip(layouts, gains.tolist(), strict=True), strict=True))
        return journal
