"""A pool of worker processes that share the solver's arrays: only numbers travel, never a chromosome.

Memory is anonymous and inherited by forking, so nothing of it outlives the processes.
"""

from __future__ import annotations

import ctypes
import logging
import mmap
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from types import TracebackType
from typing import Any

import numpy as np
from multiprocessing_logging import install_mp_handler

log = logging.getLogger(__name__)

Task = Callable[..., None]
_FORK = multiprocessing.get_context("fork")
_task: Task | None = None
_next = _FORK.Value("q", 0)  # the first item that no worker has taken


def shared_array(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return a zeroed array that processes forked from this one see and change too."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(mmap.mmap(-1, max(size, 1)), dtype, count=int(np.prod(shape))).reshape(shape)


class Workers:
    """Runs a task over ranges of items, in this process or in several forked ones.

    The task is called as task(*arguments, first, last) for every range; it writes its results into
    shared arrays. It must not depend on how items are split into ranges.
    """

    def __init__(self, count: int, task: Task) -> None:
        self.count = count
        self._task = task
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Workers:
        if self.count > 1:
            global _task, _next
            _task = self._task  # inherited by the forked workers, with every array it refers to
            _next = _FORK.Value("q", 0)  # not the last one: a killed worker may hold its lock
            _log_from_all_processes()
            self._pool = ProcessPoolExecutor(self.count, _FORK, _begin, (os.getpid(),))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=kind is not KeyboardInterrupt, cancel_futures=True)

    def run(self, items: range, *arguments: Any) -> None:
        """Run the task over all items and wait for it."""
        if self._pool is None:
            self._task(*arguments, items.start, items.stop)
            return
        _next.value = items.start
        waiting = [self._pool.submit(_work, arguments, items.stop, self.count) for _ in range(self.count)]
        for future in waiting:
            future.result()


def _log_from_all_processes() -> None:
    """Bring the log records of forked workers to this process's handlers; once a process."""
    handlers = logging.getLogger().handlers
    if handlers and not any(type(handler).__module__ == "multiprocessing_logging" for handler in handlers):
        install_mp_handler()


def _begin(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)  # no worker outlives the parent
        if os.getppid() != parent:
            os._exit(1)
    log.debug("worker %d is ready", os.getpid())


def _work(arguments: tuple[Any, ...], stop: int, workers: int) -> None:
    """Take ranges of the items left, large ones first, so that all workers end at about the same time."""
    assert _task is not None
    while True:
        with _next.get_lock():
            first = _next.value
            _next.value = last = min(first + max((stop - first) // (2 * workers), 1), stop)
        if first == stop:
            break
        _task(*arguments, first, last)
