"""Who made a result, and at what cost: version, commit, libraries, machine, stages."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import re
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from jigsaw.meter import Meter

VERSION = "0.1.0"
_LIBRARIES = ("numpy", "numba", "scikit-image", "h5py", "snakemake")


@functools.cache
def commit() -> str:
    """Return the commit of the checkout this package runs from, with a + if changed; empty elsewhere."""
    here = Path(__file__).resolve().parent

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(here), *arguments], capture_output=True, text=True, timeout=10, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        if git("ls-files", "--error-unmatch", Path(__file__).name) == "":
            return ""
        changed = git("status", "--porcelain", "--untracked-files=no", "--", str(here))
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.TimeoutExpired):
        return ""


def libraries() -> dict[str, str]:
    """Return the versions of the libraries that results may depend on."""
    found = {}
    for name in _LIBRARIES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def provenance() -> dict[str, Any]:
    """Return what a result should carry to be made again."""
    return {
        "version": VERSION,
        "commit": commit(),
        "python": platform.python_version(),
        "libraries": libraries(),
        "machine": f"{platform.system()} {platform.machine()}, {processor()}, {os.cpu_count()} cores",
    }


@functools.cache
def processor() -> str:
    """Return the name of this machine's processor."""
    try:
        described = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        described = ""
    named = re.search(r"^model name\s*: (.*)$", described, re.MULTILINE)
    return named[1] if named else platform.processor() or "unknown processor"


def notes(stage: str, meter: Meter, upstream: dict[str, Any]) -> dict[str, Any]:
    """Return the notes of a file: what every stage up to this one cost, and who made it."""
    return {
        "stages": {**upstream.get("stages", {}), stage: meter.record()},
        "provenance": provenance(),
    }
