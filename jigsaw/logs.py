"""Log messages and progress: to the console, to a file where one is named, to a page where one is served."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from jigsaw.errors import JigsawError

if TYPE_CHECKING:
    from rich.progress import Task

    from jigsaw.live import Page
    from jigsaw.presets import Settings

log = logging.getLogger(__name__)


class _Console(logging.Handler):
    """Writes to what standard error is at the time: above the progress bar while there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()
        except Exception:
            self.handleError(record)


def set_up(level: int, file: str | None) -> None:
    """Send log records to the console (standard error) and, if named, to a file, which is never quiet."""
    logging.raiseExceptions = False  # where a full disk takes no more of the log, the console still does
    form, times = "%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"
    logging.basicConfig(
        level=logging.WARNING, format=form, datefmt=times, handlers=[_Console(level)], force=True
    )  # fmt: skip
    if file:
        try:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            handler = logging.FileHandler(file, mode="w", encoding="utf-8")
        except OSError as error:
            raise JigsawError(f"{file}: the log cannot be written ({error.strerror})") from error
        handler.setFormatter(logging.Formatter(form, times))
        logging.getLogger().addHandler(handler)
    logging.getLogger("jigsaw").setLevel(min(level, logging.INFO) if file else level)


class Progress:
    """Shows a run as it goes: bars on a terminal, some lines elsewhere, the live page if there is one."""

    def __init__(self, settings: Settings, bar: bool, page: Page | None) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._settings, self._bar, self._page = settings, bar, page
        self.bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[what]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not bar,
        )
        self._evolving = self._add("generation", settings.generations)
        self._searching = self._add("search", None)

    def _add(self, name: str, total: int | None) -> Task:
        self.bars.add_task(name, total=total, start=False, visible=False, what="")
        return self.bars.tasks[-1]

    def _update(self, task: Task, completed: int, what: str) -> None:
        if not task.started:
            self.bars.start_task(task.id)
        self.bars.update(task.id, completed=completed, what=what, visible=True)

    def generation(self, number: int, fitness: np.ndarray, layout: np.ndarray) -> None:
        """Show that a generation is done."""
        task, last = self._evolving, self._settings.generations
        speed, left = task.speed, task.time_remaining
        pace = "" if speed is None else f", {speed:.1f}/s"
        self._update(task, number, f"best fitness {fitness[0]:.1f}{pace}")
        if not self._bar and number % max(last // 10, 1) == 0:
            if left:
                pace += f", {timedelta(seconds=round(left))} left"
            log.info("generation %d of %d: best fitness %.1f, mean %.1f%s", number, last, *fitness[:2], pace)
        if number == last and self._settings.members > 0:
            self._update(self._searching, 0, "")
        if self._page is not None:
            self._page.generation(number, fitness, layout, speed, left)

    def step(self, name: str, gain: float, layout: np.ndarray) -> None:
        """Show that a step of the search after the generations is done."""
        self._update(self._searching, int(self._searching.completed) + 1, f"{name}, gain {gain:.1f}")
        if not self._bar:
            log.info("search, %s: best gain %.1f", name, gain)
        if self._page is not None:
            self._page.step(name, gain, layout)


@contextlib.contextmanager
def progress(settings: Settings, quiet: bool = False, page: Page | None = None) -> Iterator[Progress]:
    """Show the progress of a run while the block lasts."""
    bar = sys.stderr.isatty() and not quiet
    shown = Progress(settings, bar, page)
    with shown.bars if bar else contextlib.nullcontext():
        yield shown
