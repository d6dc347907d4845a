"""A pool of worker processes that share the solver's arrays: only numbers travel, never a chromosome.

Memory is anonymous and inherited by forking, so nothing of it outlives the processes. A worker that dies
takes the others with it, as it may hold what they wait for; new ones do again what all of them were doing.
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
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Any

import numpy as np
from multiprocessing_logging import install_mp_handler

from jigsaw.errors import JigsawError

log = logging.getLogger(__name__)

Task = Callable[..., None]
MOST = 1024  # workers
_DEATHS_AT_ONCE = 3  # of workers during one task, and
_DEATHS = 20  # in all, after which there is no hope
_FORK = multiprocessing.get_context("fork")
_task: Task | None = None
_next = _FORK.Value("q", 0)  # the first item that no worker has taken


def shared_array(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return a zeroed array that processes forked from this one see and change too."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    try:
        memory = mmap.mmap(-1, max(size, 1))
    except OSError as error:
        raise MemoryError(str(error)) from error
    return np.frombuffer(memory, dtype, count=int(np.prod(shape))).reshape(shape)


class Workers:
    """Runs a task over ranges of items, in this process or in several forked ones.

    The task is called as task(*arguments, first, last) for every range; it writes its results into
    shared arrays. It must not depend on how items are split into ranges, nor on what an earlier call with the
    same arguments has written, as it is called again where a worker died.
    """

    def __init__(self, count: int, task: Task) -> None:
        self.count = count
        self._task = task
        self._pool: ProcessPoolExecutor | None = None
        self._deaths = 0

    def __enter__(self) -> Workers:
        if self.count > 1:
            _log_from_all_processes()
            self._start()
        return self

    def _start(self) -> None:
        global _task, _next
        _task = self._task  # inherited by the forked workers, with every array it refers to
        _next = _FORK.Value("q", 0)  # not the last one: a killed worker may hold its lock
        self._pool = ProcessPoolExecutor(self.count, _FORK, _begin, (os.getpid(),))

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
        for death in range(1, _DEATHS_AT_ONCE + 1):
            try:
                self._share(self._pool, items, arguments)
                return
            except BrokenProcessPool:
                self._deaths += 1
                if death == _DEATHS_AT_ONCE or self._deaths == _DEATHS:
                    raise JigsawError(
                        f"{self._deaths} times a worker died: killed by someone, or by the system because "
                        "memory ran out; use fewer workers or a smaller population"
                    ) from None
                log.warning("a worker died; new ones do its work again")
                self._pool.shutdown()  # until the last of the old ones has ended
                self._start()
            except OSError as error:
                raise JigsawError(f"workers cannot be started ({error}); use fewer") from error

    def _share(self, pool: ProcessPoolExecutor, items: range, arguments: tuple[Any, ...]) -> None:
        _next.value = items.start
        waiting = [pool.submit(_work, arguments, items.stop, self.count) for _ in range(self.count)]
        for future in waiting:
            future.result()


def _log_from_all_processes() -> None:
    """Bring the log records of forked workers to this process's handlers; once a process."""
    handlers = logging.getLogger().handlers
    if handlers and not any(type(handler).__module__ == "multiprocessing_logging" for handler in handlers):
        install_mp_handler()


def _begin(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
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
