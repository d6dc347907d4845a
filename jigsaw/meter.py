"""Seconds, processor time and peak memory of a stage, over the process and all its children."""

from __future__ import annotations

import resource
import threading
import time
from types import TracebackType

import psutil

_INTERVAL = 0.25


class Meter:
    """Context manager that measures wall-clock and processor time and the peak memory of the process tree.

    Of processor time, that of children counts if they have ended.

    Memory is the proportional set size, in which what processes share counts once; where the system
    does not tell it, the resident size.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.core_seconds = 0.0
        self.peak_mb = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Meter:
        self._start, self._used = time.perf_counter(), _processor_time()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sample()
        self._done.set()
        self._thread.join()
        self.seconds = time.perf_counter() - self._start
        self.core_seconds = _processor_time() - self._used

    def record(self) -> dict[str, float]:
        """Return what was measured, for a file's notes."""
        return {
            "seconds": round(self.seconds, 3),
            "core_seconds": round(self.core_seconds, 3),
            "peak_mb": round(self.peak_mb, 1),
        }

    def _watch(self) -> None:
        while not self._done.wait(_INTERVAL):
            self._sample()

    def _sample(self) -> None:
        me = psutil.Process()
        total = 0
        for process in [me, *me.children(recursive=True)]:
            try:
                memory = process.memory_full_info()
                total += getattr(memory, "pss", memory.rss)
            except psutil.Error:
                continue  # it ended meanwhile
        self.peak_mb = max(self.peak_mb, total / 2**20)


def _processor_time() -> float:
    """Return the processor time of this process and its ended children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
