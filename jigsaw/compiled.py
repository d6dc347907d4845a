"""The decorator of compiled kernels, and the cache they are compiled into.

numba notices an edit of a cached function's own file, but not of the functions it calls elsewhere. So the
cache's folder is named after the source of all kernels: an edit of any of them compiles all anew.

Where a kernel lies in it depends on the source alone, so a copy of the package takes its kernels with it.

Kernels are compiled for the processors of 2013 and later alike, not for the one at hand: sums in another
order, as wider registers make them, differ in their last bits, and in the end whole assemblies do.

Jobs on several machines may share the cache and compile at once, without locks.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba.core.config
from numba.core.caching import IndexDataCacheFile, UserProvidedCacheLocator

_numba: Any = numba.core.config
_PACKAGE = Path(__file__).resolve().parent
_KEPT_DAYS = 7
_KERNEL_SOURCE = re.compile(rb"^ *(from jigsaw\.compiled import kernel|(import|from) numba)", re.MULTILINE)
_TARGET = "x86-64-v3"  # and what that has:
_FEATURES = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt")


def _fix_target() -> None:
    """Have kernels compiled for one kind of processor, if this one is of it and nobody has chosen another."""
    features = llvmlite.binding.get_host_cpu_features()
    if _numba.CPU_NAME is None and all(features.get(name) for name in _FEATURES):
        _numba.CPU_NAME, _numba.CPU_FEATURES = _TARGET, ",".join(f"+{name}" for name in _FEATURES)


_fix_target()


def kernel(function: Callable[..., Any] | None = None, *, allocates: bool = False, **options: Any) -> Any:
    """Compile a function with numba: without the interpreter's lock, cached on disk.

    One that makes no array (`allocates`, slices copied included) does not count references to its
    arguments either; counting took half the time of the crossover.
    """
    if function is None:
        return lambda decorated: kernel(decorated, allocates=allocates, **options)
    before = _numba.CACHE_DIR, _numba.CACHE_LOCATOR_CLASSES
    _numba.CACHE_DIR, _numba.CACHE_LOCATOR_CLASSES = str(cache_folder()), f"{__name__}.CacheLocator"
    try:
        compiled: Any = numba.njit(function, cache=True, nogil=True, **{"_nrt": allocates, **options})
    finally:
        _numba.CACHE_DIR, _numba.CACHE_LOCATOR_CLASSES = before
    compiled._cache._cache_file.__class__ = CacheFile
    return compiled


class CacheLocator(UserProvidedCacheLocator):
    """Where a kernel's variants lie: by its module's place in the package, not by the package's place."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """Return the folder below the cache's own."""
        folder = Path(py_file).resolve().parent
        if folder.is_relative_to(_PACKAGE):
            return (Path(_PACKAGE.name) / folder.relative_to(_PACKAGE)).as_posix()
        subpath: str = super().get_suitable_cache_subpath(py_file)
        return subpath


class CacheFile(IndexDataCacheFile):
    """The compiled variants of a kernel, each in a file whose name nobody else uses.

    numba numbers them. Two jobs that compile different variants at once take the same number, and the index
    may lead to the wrong one. Here the worst is that one of them is compiled again.
    """

    def save(self, key: Any, data: Any) -> None:
        """Save a variant, and only then the index that names it."""
        name = f"{self._index_name}.{uuid.uuid4().hex}.nbc"
        self._save_data(name, data)
        self._save_index({**self._load_index(), key: name})


@cache
def cache_folder() -> Path:
    """Return the folder of the compiled kernels of the present source."""
    total = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        source = path.read_bytes()
        if _KERNEL_SOURCE.search(source):
            total.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\n" + source)
    name = f"kernels-{total.hexdigest()[:16]}"
    places = [_PACKAGE / "__pycache__", Path("~/.cache/jigsaw").expanduser(), Path(tempfile.gettempdir())]
    for place in places:
        try:
            (place / name).mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(place / name, os.W_OK):
            return place / name
    return places[-1] / name


def remove_old() -> None:
    """Remove the compiled kernels of sources that have not been used for a while."""
    current = cache_folder()
    os.utime(current)
    for folder in current.parent.glob("kernels-*"):
        if folder != current and folder.stat().st_mtime < time.time() - _KEPT_DAYS * 86_400:
            shutil.rmtree(folder, ignore_errors=True)
