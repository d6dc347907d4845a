"""A crop of an image, counted in pieces."""

from __future__ import annotations

import re
from typing import NamedTuple

from jigsaw.errors import JigsawError


class Crop(NamedTuple):
    """So many pieces wide and high, x pieces from the left and y from the top; written WxH+X+Y."""

    width: int
    height: int
    x: int = 0
    y: int = 0

    def __str__(self) -> str:
        return f"{self.width}x{self.height}+{self.x}+{self.y}"

    @classmethod
    def parse(cls, text: str) -> Crop:
        """Read WxH+X+Y, or WxH for the upper left corner."""
        found = re.fullmatch(r"([1-9][0-9]*)x([1-9][0-9]*)(?:\+([0-9]+)\+([0-9]+))?", text)
        if found is None:
            raise JigsawError(f"crop {text!r} is not WxH+X+Y in pieces; write it as 20x17 or 20x17+3+0")
        return cls(*(int(number or 0) for number in found.groups()))

    def check(self, width: int, height: int) -> None:
        """Refuse a crop that is not inside an image of so many pieces."""
        if self.x + self.width > width or self.y + self.height > height:
            raise JigsawError(
                f"crop {self} reaches beyond the image, which is {width}x{height} pieces; "
                "make it smaller or move it"
            )
