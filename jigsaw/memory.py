"""How much memory solving takes and how much there is: what cannot fit is refused before it begins."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import psutil

from jigsaw.errors import JigsawError

_CHROMOSOME = 28  # bytes a piece: four relations, and x, y and turn
_PIECE = 16_000  # bytes a piece for all else, measured
_GROUP_FILES = {  # limit and use, by what the list of groups calls the second and the first version
    "": ("memory.max", "memory.current"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes"),
}


def solving_bytes(pieces: int, population: int) -> int:
    """Return what solving takes beside libraries: two populations and what comes with each piece."""
    return pieces * _PIECE + population_bytes(pieces, population)


def population_bytes(pieces: int, population: int) -> int:
    """Return what two generations take."""
    return 2 * population * pieces * _CHROMOSOME


def check_memory(what: str, needed: int, advice: str) -> None:
    """Refuse what takes more memory than is free."""
    free = free_bytes()
    if needed > free:
        raise JigsawError(
            f"{what} takes about {needed / 2**30:.1f} GiB of memory, "
            f"and {free / 2**30:.1f} GiB are free; {advice}"
        )


def free_bytes(root: Path = Path("/")) -> int:
    """Return the memory that is free on this machine and to the control groups of this process."""
    return max(min([psutil.virtual_memory().available, *_left_to_groups(root)]), 0)


def _left_to_groups(root: Path) -> Iterator[int]:
    """Give what each limit on a control group, or on one that it is in, leaves (Linux, both versions)."""
    with contextlib.suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, version, name = line.split(":", 2)
            parts = Path(name.strip("/")).parts
            for depth in range(len(parts) + 1) if version in _GROUP_FILES else ():
                folder = (root / "sys/fs/cgroup" / version).joinpath(*parts[:depth])
                with contextlib.suppress(OSError, ValueError):  # not to be seen from here, or without a limit
                    limit, used = (int((folder / file).read_text()) for file in _GROUP_FILES[version])
                    yield limit - used + _idle(folder)


def _idle(folder: Path) -> int:
    """Return the bytes of files in memory that would make room."""
    for line in (folder / "memory.stat").read_text().splitlines():
        name, _, value = line.partition(" ")
        if name in ("inactive_file", "total_inactive_file"):
            return int(value)
    return 0
