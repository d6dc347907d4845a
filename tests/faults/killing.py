"""Runs that are killed at random moments."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil

from jigsaw.images import list_images, read_image
from jigsaw.synthetic import picture

PATIENCE = 180  # seconds after which a run counts as hanging


def image_of(name, rows, columns):
    """Return a real image of the literature where JIGSAW_DATA has it, a generated one elsewhere."""
    folder = Path(os.environ.get("JIGSAW_DATA", "data")) / name
    return read_image(list_images(folder)[0]) if folder.is_dir() else picture(rows, columns)


class Run:
    """A command in a process of its own."""

    def __init__(self, folder, *words, **options):
        self.process = subprocess.Popen(
            [sys.executable, "-m", *map(str, words)],
            cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options,
        )  # fmt: skip
        self._deadline = time.monotonic() + PATIENCE

    @property
    def alive(self):
        return self.process.poll() is None

    def workers(self):
        """Return the processes that were forked from it."""
        try:
            me = psutil.Process(self.process.pid)
            return [child for child in me.children() if child.cmdline() == me.cmdline()]
        except psutil.Error:
            return []

    def family(self):
        """Return the process and all that it started."""
        try:
            me = psutil.Process(self.process.pid)
            return [me, *me.children(recursive=True)]
        except psutil.Error:
            return []

    def wait(self, tally):
        """Wait for the end; return what was said."""
        try:
            _, said = self.process.communicate(timeout=max(self._deadline - time.monotonic(), 1))
        except subprocess.TimeoutExpired:
            tally["hangs"] += 1
            for process in self.family():
                process.kill()
            raise
        return said

    def kill(self, number, tally):
        """Send a signal; see to it that every process ends."""
        family = self.family()
        self.process.send_signal(number)
        said = self.wait(tally)
        _, left = psutil.wait_procs(family, timeout=10)
        assert left == [], "processes outlive the one that started them"
        return said


def shared_memory():
    """Return the segments of shared memory and the semaphores that there are."""
    return set(os.listdir("/dev/shm"))
