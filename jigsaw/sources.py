"""Checksums of the code of a stage, for Snakemake, which does not see edits of imported modules."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def code_of(*modules: str) -> str:
    """Return a checksum of modules of this package and all that they import of it."""
    total = hashlib.sha256()
    for path in sorted(_closure(modules)):
        total.update(path.relative_to(_PACKAGE).as_posix().encode())
        total.update(path.read_bytes())
    return total.hexdigest()[:16]


def _closure(modules: tuple[str, ...]) -> set[Path]:
    found: set[Path] = set()
    waiting: list[Path | None] = [_path(f"jigsaw.{module}") for module in modules]
    while waiting:
        path = waiting.pop()
        if path is not None and path not in found:
            found.add(path)
            waiting += [_path(name) for name in _imports(path)]
            if path.name == "__init__.py":  # may choose among its modules by name
                waiting += path.parent.glob("*.py")
    return found


@cache
def _imports(path: Path) -> tuple[str, ...]:
    """Return what a module might import; names that are no modules do no harm."""
    names = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return tuple(names)


def _path(name: str) -> Path | None:
    """Return the file of a module of this package; None for the package's own front and for others."""
    parts = name.split(".")
    if parts[0] != "jigsaw" or len(parts) == 1:
        return None
    base = _PACKAGE.joinpath(*parts[1:])
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None
