"""Solver settings and the named presets."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from jigsaw.errors import JigsawError
from jigsaw.measures import MEASURES


@dataclass(frozen=True)
class Settings:
    """Everything that decides a solution, besides the pieces and the seed."""

    measure: str = "ssd"
    population: int = 300
    generations: int = 100
    elite: int = 4
    mutation: float = 0.001
    members: int = 0  # assemblies that the search after the genetic algorithm works on; 0 for no search
    rounds: int = 6  # of crossover between them, and up to three times as many while that is worth it
    passes: int = 12  # over all edges that could gain more, for each of them
    budget: float = 0.04  # processor seconds a piece and worker after which the search ends in any case

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            wanted: tuple[type, ...] = {"str": (str,), "int": (int,), "float": (int, float)}[str(field.type)]
            if not isinstance(value, wanted) or isinstance(value, bool):
                raise JigsawError(f"{field.name} is {value!r}, but must be of type {field.type}")
        if self.measure not in MEASURES:
            raise JigsawError(f"unknown measure {self.measure!r}; known: {', '.join(MEASURES)}")
        for name, least in _LEAST.items():
            if not getattr(self, name) >= least:
                raise JigsawError(f"{name} is {getattr(self, name)}, but must be at least {least}")
        if self.elite >= self.population:
            raise JigsawError(f"elite is {self.elite}, but must be less than population ({self.population})")
        if self.members > self.population:
            raise JigsawError(
                f"members is {self.members}, but must not be more than population ({self.population})"
            )
        if not 0 <= self.mutation <= 1:
            raise JigsawError(f"mutation is {self.mutation}, but must be a probability from 0 to 1")

    def changed(self, **changes: Any) -> Settings:
        """Return a copy with the given settings changed; None changes nothing."""
        known = {field.name for field in fields(self)}
        for name in changes:
            if name not in known:
                raise JigsawError(f"unknown solver setting {name!r}; known: {', '.join(sorted(known))}")
        return replace(self, **{name: value for name, value in changes.items() if value is not None})

    def seconds(self, pieces: int) -> float:
        """Return the budget of a search in seconds; a small bag has some to spare."""
        return self.budget * max(pieces, _SMALL)

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        return asdict(self)


_SMALL = 1000  # pieces; a bag of fewer has the budget of so many
_LEAST = {"population": 3, "generations": 1, "elite": 0, "members": 0, "rounds": 0, "passes": 1, "budget": 0}

PRESETS = {
    "paper": Settings(),
    "best": Settings(measure="fused", population=100, generations=30, members=6, budget=0.08),
}


def settings_of(name: str) -> Settings:
    """Return the settings of a named preset."""
    if name not in PRESETS:
        raise JigsawError(f"unknown preset {name!r}; known: {', '.join(PRESETS)}")
    return PRESETS[name]
