"""Runs that are killed at random moments."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import psutil

from jigsaw import cli
from jigsaw.images import list_images, read_image
from jigsaw.synthetic import picture

PATIENCE = 600  # seconds after which a run counts as hanging


def image_of(name, rows, columns):
    """Return a real image of the literature where JIGSAW_DATA has it, a generated one elsewhere."""
    folder = Path(os.environ.get("JIGSAW_DATA", "data")) / name
    return read_image(list_images(folder)[0]) if folder.is_dir() else picture(rows, columns)


def family(pid):
    """Return a process and all that it started."""
    try:
        me = psutil.Process(pid)
        return [me, *me.children(recursive=True)]
    except psutil.Error:
        return []


def run(tally, folder, *words, **options):
    """Run a command to its end; return its exit code and what it said."""
    command = [sys.executable, "-m", *map(str, words)]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    try:
        said, _ = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        tally["hangs"] += 1
        for member in family(process.pid):
            member.kill()
        raise
    return process.returncode, said


class Command:
    """A sub-command of `jigsaw` in a process forked from this one, which has all kernels loaded."""

    def __init__(self, folder, words):
        self._said = folder.with_name(f"{folder.name}.log")
        self.process = multiprocessing.get_context("fork").Process(target=self._run, args=(folder, words))
        self.process.start()

    def _run(self, folder, words):
        os.chdir(folder)
        sys.stderr = open(self._said, "w", buffering=1)  # noqa: SIM115 - it ends with the process
        sys.exit(cli.main(words))

    @property
    def alive(self):
        return self.process.is_alive()

    @property
    def code(self):
        return self.process.exitcode

    def workers(self):
        """Return the processes that it has forked."""
        return family(self.process.pid)[1:]

    def wait(self, tally):
        """Wait for the end; return what was said."""
        self.process.join(PATIENCE)
        if self.process.is_alive():
            tally["hangs"] += 1
            for member in family(self.process.pid):
                member.kill()
            raise TimeoutError("it hangs")
        return self._said.read_text()

    def kill(self, number, tally):
        """Send a signal; see to it that every process ends."""
        members = family(self.process.pid)
        os.kill(self.process.pid, number)
        said = self.wait(tally)
        _, left = psutil.wait_procs(members[1:], timeout=30)
        assert left == [], "workers outlive the process that started them"
        return said


def shared_memory():
    """Return the segments of shared memory and the semaphores that Python has made."""
    return {name for name in os.listdir("/dev/shm") if name.startswith(("sem.mp-", "psm_"))}
