"""Mixed bags as config.yaml declares them: images listed by name, or drawn at random from a set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jigsaw.crop import Crop
from jigsaw.errors import JigsawError
from jigsaw.sets import ImageSets

BAGS = "mixed_bags"  # the set that mixed bags form in paths and tables


class Source(NamedTuple):
    """An image file, and which part of it is cut, None for all."""

    path: Path
    crop: Crop | None = None


class Part(NamedTuple):
    """One image of a listed bag."""

    set: str
    image: str
    crop: Crop | None


@dataclass(frozen=True)
class Listed:
    """The bag of images that an entry of the configuration lists."""

    entry: str
    parts: tuple[Part, ...]
    draw: str = ""  # nothing is drawn

    @property
    def sets(self) -> tuple[str, ...]:
        """The image sets it needs."""
        return tuple(dict.fromkeys(part.set for part in self.parts))

    @property
    def where(self) -> str:
        """The key that names its sets."""
        return f"{BAGS}.{self.entry}.images"

    def sources(self, sets: ImageSets) -> list[Source]:
        """Return its images, which must be there."""
        sources = []
        for i, (name, image, crop) in enumerate(self.parts):
            where = f"config.yaml, {self.where}.{i}"
            if image not in sets.images(name):
                raise JigsawError(
                    f"{where}: set {name} has no image {image!r}; name one of {sets.folder(name)}"
                )
            path = sets.images(name)[image]
            if crop is not None:
                try:
                    crop.check(*sets.size_of(path))
                except JigsawError as error:
                    raise JigsawError(f"{where}: {name}/{image}: {error}") from error
            sources.append(Source(path, crop))
        return sources


@dataclass(frozen=True)
class Drawn:
    """One of the bags of `count` images that an entry of the configuration has drawn from a set.

    `draw` is the entry under which a table sums up several bags, empty if this is the only one.
    """

    entry: str
    set: str
    count: int
    number: int
    seed: int
    draw: str

    @property
    def sets(self) -> tuple[str, ...]:
        """The image sets it needs."""
        return (self.set,)

    @property
    def where(self) -> str:
        """The key that names its set."""
        return f"{BAGS}.{self.entry}.draw.from"

    def sources(self, sets: ImageSets) -> list[Source]:
        """Return its images, which must be there."""
        images = sets.images(self.set)
        names = sorted(images)
        if self.count > len(names):
            raise JigsawError(
                f"config.yaml, {BAGS}.{self.entry}.draw.images: {self.count} images are to be drawn from "
                f"set {self.set}, which has {len(names)}; draw at most so many"
            )
        # Every bag has a stream of its own, so that further bags and sizes leave it as it is.
        rng = np.random.default_rng([self.seed, self.count, self.number])
        drawn = rng.choice(len(names), self.count, replace=False)
        return [Source(images[names[i]]) for i in sorted(drawn)]


def mixed_bags(declared: Mapping[str, Any]) -> dict[str, Listed | Drawn]:
    """Return the bags that the section `mixed_bags` of a configuration declares, by name."""
    bags: dict[str, Listed | Drawn] = {}
    for entry, content in declared.items():
        added = _drawn(entry, content["draw"]) if "draw" in content else _listed(entry, content["images"])
        for name in added:
            if name in bags:
                raise JigsawError(f"config.yaml, {BAGS}.{entry}: another bag is called {name!r}; rename one")
        bags |= added
    return bags


def _listed(entry: str, images: list[str | dict[str, str]]) -> Mapping[str, Listed]:
    parts = []
    for i, image in enumerate(images):
        content = {"image": image} if isinstance(image, str) else image
        name, _, stem = content["image"].partition("/")
        try:
            crop = Crop.parse(content["crop"]) if "crop" in content else None
        except JigsawError as error:
            raise JigsawError(f"config.yaml, {BAGS}.{entry}.images.{i}: {error}") from error
        parts.append(Part(name, stem, crop))
    return {entry: Listed(entry, tuple(parts))}


def _drawn(entry: str, draw: Mapping[str, Any]) -> Mapping[str, Drawn]:
    origin, images, bags, seed = draw["from"], draw["images"], draw.get("bags", 1), draw.get("seed", 0)
    if isinstance(images, int) and bags == 1:
        return {entry: Drawn(entry, origin, images, 1, seed, draw="")}
    return {
        f"{entry}-{count}-{number:02d}": Drawn(entry, origin, count, number, seed, draw=entry)
        for count in ([images] if isinstance(images, int) else images)
        for number in range(1, bags + 1)
    }
