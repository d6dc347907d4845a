"""Log messages and progress: to the console, and to a file where one is named."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from jigsaw.errors import JigsawError

log = logging.getLogger(__name__)


def set_up(level: int, file: str | None) -> None:
    """Send log records to the console (standard error) and, if named, to a file as well."""
    logging.raiseExceptions = False  # where a full disk takes no more of the log, the console still does
    form, times = "%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"
    logging.basicConfig(level=logging.WARNING, format=form, datefmt=times, force=True)
    if file:
        try:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            handler = logging.FileHandler(file, mode="w", encoding="utf-8")
        except OSError as error:
            raise JigsawError(f"{file}: the log cannot be written ({error.strerror})") from error
        handler.setFormatter(logging.Formatter(form, times))
        logging.getLogger().addHandler(handler)
    logging.getLogger("jigsaw").setLevel(level)


class Progress:
    """Shows generations as they pass: a bar on a terminal, a line every tenth of the way elsewhere."""

    def __init__(self, generations: int, bar: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._generations = generations
        self._bar = None
        if bar:
            self._bar = Progress(
                TextColumn("generation"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[what]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self._task = self._bar.add_task("", total=generations, what="")

    def __call__(self, generation: int, fitness: np.ndarray) -> None:
        """Show that a generation is done."""
        if self._bar is not None:
            self._bar.update(self._task, completed=generation, what=f"best fitness {fitness[0]:.1f}")
        elif generation % max(self._generations // 10, 1) == 0:
            log.info(
                "generation %d of %d: best fitness %.1f, mean %.1f",
                generation,
                self._generations,
                *fitness[:2],
            )

    def searched(self, step: str, gain: float) -> None:
        """Show that a step of the search after the generations is done."""
        if self._bar is not None:
            self._bar.update(self._task, what=f"search: {step}, gain {gain:.1f}")
        else:
            log.info("search, %s: best gain %.1f", step, gain)

    def start(self) -> None:
        """Begin to show."""
        if self._bar is not None:
            self._bar.start()

    def stop(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()


@contextlib.contextmanager
def progress(generations: int) -> Iterator[Progress]:
    """Show the progress of a run while the block lasts."""
    bar = sys.stderr.isatty() and log.isEnabledFor(logging.INFO)
    shown = Progress(generations, bar)
    shown.start()
    try:
        yield shown
    finally:
        shown.stop()
