"""Checkpoints: the state of a run, saved now and then, from which the same run goes on when started again.

A checkpoint names all that decides the result: compared edges, settings, seed, code. A run that differs
in any of it passes the checkpoint over and says why. The last two are kept beside the output, in turns, so
that there is always a whole one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jigsaw.errors import JigsawError
from jigsaw.files import read_hdf5, remove_abandoned, write_hdf5

log = logging.getLogger(__name__)

INTERVAL = 60.0  # seconds between two checkpoints, so many times more if saving one takes seconds


class State(NamedTuple):
    """All that a run needs to go on."""

    arrays: Mapping[str, np.ndarray]
    content: Mapping[str, Any]


class Checkpoints:
    """Saves states of the run that is to write a file, and finds them again; without a file does nothing."""

    def __init__(self, output: str | os.PathLike[str] | None = None, interval: float = INTERVAL) -> None:
        if not interval >= 0:
            raise JigsawError(f"checkpoint is {interval}, but must be a number of seconds from 0 on")
        self._slots = [] if output is None else [Path(f"{output}.checkpoint-{i}") for i in (1, 2)]
        self._interval = interval
        self.before = 0.0  # seconds that the run took until it was interrupted
        self.saved, self.spent = 0, 0.0  # how many, and the seconds it took
        self._began = time.monotonic()
        self._due = self._began + interval
        self._number = 0  # of the last one,
        self._at = ""  # and where the run was
        self._run: Mapping[str, Any] = {}
        self._state: Callable[[], State | None] = lambda: None
        self._lock = threading.Lock()

    def find(self, describe: Callable[[], Mapping[str, Any]]) -> State | None:
        """Return the last state of the run that the function describes, if there is one."""
        if not self._slots:
            return None
        self._run = describe()
        self._began = time.monotonic()
        self._due = self._began + self._interval
        states = [state for slot in self._slots if (state := self._read(slot)) is not None]
        if not states:
            return None
        last = max(states, key=lambda state: state.content["number"])
        self._number, self._at = last.content["number"], last.content["at"]
        self.before = last.content["seconds"]
        log.info("going on from a checkpoint: %s, after %.0f s", self._at, self.before)
        return last

    def _read(self, slot: Path) -> State | None:
        if not slot.is_file():
            return None
        try:
            arrays, content, _ = read_hdf5(slot, "checkpoint")
        except JigsawError as error:
            log.warning("passing over a checkpoint: %s", error)
            return None
        other = [key for key in self._run if content["run"].get(key) != self._run[key]]
        if other:
            log.info("%s: is of a run with other %s; starting anew", slot, ", ".join(other))
            return None
        return State(arrays, content)

    @contextlib.contextmanager
    def of(self, state: Callable[[], State | None]) -> Iterator[None]:
        """Take the state from this function during the block, and save it if the block is interrupted."""
        self._state = state
        try:
            yield
        except KeyboardInterrupt:
            with self._lock:
                self._save()
            raise
        finally:
            self._state = lambda: None

    def offer(self) -> None:
        """Save the state if it is time to."""
        if self._slots and time.monotonic() >= self._due and self._lock.acquire(blocking=False):
            try:
                self._save()
            finally:
                self._lock.release()

    def _save(self) -> None:
        state = self._state()
        if not self._slots or state is None or state.content["at"] == self._at:
            return
        start = time.monotonic()
        slot = self._slots[self._number % 2]
        seconds = self.before + start - self._began
        content = {**state.content, "run": self._run, "number": self._number + 1, "seconds": seconds}
        try:
            write_hdf5(slot, "checkpoint", state.arrays, content, {})
            self._number, self._at = content["number"], content["at"]
            self.saved += 1
            log.debug("%s: saved %s", slot, self._at)
        except JigsawError as error:
            log.warning("no checkpoint was saved: %s", error)
        end = time.monotonic()
        self.spent += end - start
        self._due = end + self._interval * max(end - start, 1.0)

    def remove(self) -> None:
        """Remove all checkpoints, as the run is complete."""
        for slot in self._slots:
            with contextlib.suppress(OSError):
                slot.unlink(missing_ok=True)
                remove_abandoned(slot)
