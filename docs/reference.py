"""The parts of the reference that are read off the code: keys of the configuration, presets, modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from tabulate import tabulate

from jigsaw.presets import PRESETS

ROOT = Path(__file__).parents[1]
SCHEMA = ROOT / "workflow" / "schemas" / "config.schema.yaml"


def config() -> str:
    """Return the keys of the configuration, a table for each at the top."""
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    needed = schema["required"]
    parts = []
    for name, key in schema["properties"].items():
        parts.append(f"## `{name}`\n\n{key['description']}" + " Needed." * (name in needed))
        rows = list(_keys(key, schema, name))
        if rows:
            parts.append(tabulate(rows, ("key", "value", "meaning"), tablefmt="github"))
        else:
            parts.append(f"Value: {_kind(key)}.")
    return "\n\n".join(parts) + "\n"


def _keys(key: dict[str, Any], schema: dict[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    """Yield path, value and meaning of all that is below a key."""
    key = _resolved(key, schema)
    needed = key.get("required", ())
    for name, below in key.get("properties", {}).items():
        below = _resolved(below, schema)
        yield f"`{path}.{name}`", _kind(below) + ", needed" * (name in needed), below["description"]
        yield from _keys(below, schema, f"{path}.{name}")
    if isinstance(named := key.get("additionalProperties"), dict):
        yield f"`{path}.NAME`", _kind(named), named["description"]
        yield from _keys(named, schema, f"{path}.NAME")
    if isinstance(items := key.get("items"), dict):
        if "description" in items:
            yield f"`{path}[]`", _kind(items), items["description"]
        yield from _keys(items, schema, f"{path}[]")


def _resolved(key: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Return a key with what it refers to."""
    if "$ref" not in key:
        return key
    return {**schema["$defs"][key["$ref"].removeprefix("#/$defs/")], **key}


_NAMES = {
    "object": "keys", "array": "list", "string": "text", "integer": "whole number", "number": "number",
    "boolean": "true or false", "null": "null",
}  # fmt: skip
_LIMITS = {
    "minimum": "at least {}", "maximum": "at most {}", "exclusiveMaximum": "less than {}",
}  # fmt: skip


def _kind(key: dict[str, Any]) -> str:
    """Return what a value may be, in words."""
    if "const" in key:
        return f"`{key['const']}`"
    if "type" not in key:
        return " or ".join(_kind(choice) for choice in key["oneOf"])
    types = key["type"] if isinstance(key["type"], list) else [key["type"]]
    words = " or ".join(_NAMES[name] for name in types)
    return ", ".join([words, *(text.format(key[limit]) for limit, text in _LIMITS.items() if limit in key)])


def presets() -> str:
    """Return the settings of the built-in presets, side by side."""
    columns = {name: settings.as_dict() for name, settings in PRESETS.items()}
    settings = next(iter(columns.values()))
    rows = [[f"`{name}`", *(column[name] for column in columns.values())] for name in settings]
    headings = ["setting", *(f"`{name}`" for name in columns)]
    return tabulate(rows, headings, tablefmt="github", disable_numparse=True) + "\n"


def modules() -> str:
    """Return the modules of the package and what each is for, as its docstring begins."""
    rows = []
    for path in sorted((ROOT / "jigsaw").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        first = " ".join(text.split("\n\n")[0].split())
        rows.append((f"`{name}`", first.replace("|", "\\|")))
    return tabulate(rows, ("module", "what it is for"), tablefmt="github") + "\n"
