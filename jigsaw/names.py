"""The order of names with numbers in them."""

from __future__ import annotations

import re


def natural(name: str) -> list[str | int]:
    """Return by what names are sorted so that 2 comes before 10."""
    parts = re.split(r"(\d+)", name.casefold())
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]
