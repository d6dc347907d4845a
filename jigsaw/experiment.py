"""The experiment that config.yaml describes: image sets, mixed bags, presets, and the jobs that follow.

The Snakefile asks this module for names, parameters and resources; it holds no logic of its own.
"""

from __future__ import annotations

import hashlib
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from jigsaw.bags import BAGS, Source, mixed_bags
from jigsaw.errors import JigsawError, check_known
from jigsaw.files import check_extent, read_yaml
from jigsaw.measures import measure_called
from jigsaw.presets import Settings, settings_of
from jigsaw.resources import Needs, needs
from jigsaw.sets import ImageSets
from jigsaw.sources import code_of

SUMMARIES = ("accuracy", "comparison", "performance", "imperfect")
_SCHEMA = Path(__file__).resolve().parents[1] / "workflow" / "schemas" / "config.schema.yaml"
_RUN_BITS = 32  # of a seed number the runs, those above them the islands
_SWITCHES = ("require_all", "download")
STAGES = {
    "cut": "pieces",
    "compare": "dissimilarity",
    "quality": "quality",
    "solve": "solver",
    "unmix": "unmixing",
    "evaluate": "evaluation",
    "draw": "pictures",
    "table": "tables",
    "plot": "plots",
    "report": "report",
    "fetch": "fetch",
}


def _truth_value(value: Any) -> Any:
    """Read `--config require_all=true`, which Snakemake hands on as text."""
    return {"true": True, "false": False}.get(value.lower(), value) if isinstance(value, str) else value


def _among(images: list[str], puzzle: str | None, position: int) -> bool:
    """Return whether a puzzle is one of some images, or could be if only its position is known."""
    return position < len(images) if puzzle is None else puzzle in images


def use_own_environment() -> None:
    """Make jobs call the `jigsaw` of the environment that runs Snakemake, activated or not."""
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


@dataclass(frozen=True)
class Job:
    """One run of one preset on one puzzle."""

    set: str
    puzzle: str
    preset: str
    run: int


class Experiment(ImageSets):
    """A checked configuration, the images it finds and the jobs that follow."""

    def __init__(self, config: Mapping[str, Any], root: str | os.PathLike[str]) -> None:
        config = {key: _truth_value(value) if key in _SWITCHES else value for key, value in config.items()}
        super().__init__(config, root)
        self._check_form()
        self.bags = mixed_bags(config[BAGS])
        self._check_names()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Experiment:
        """Read a configuration file."""
        config = read_yaml(path, "a configuration")
        return cls(config, Path(path).resolve().parent)

    # -- configuration -------------------------------------------------------------------------------

    def _check_form(self) -> None:
        try:
            check_extent(self.config)
        except (ValueError, RecursionError) as error:
            raise JigsawError(f"config.yaml: {error}; write it out plainly") from error
        schema = yaml.safe_load(_SCHEMA.read_text(encoding="utf-8"))
        wrong = best_match(Draft202012Validator(schema).iter_errors(self.config))
        if wrong is not None:
            where = ".".join(str(part) for part in wrong.absolute_path) or "top level"
            raise JigsawError(f"config.yaml, {where}: {wrong.message}; see workflow/schemas/{_SCHEMA.name}")

    def _check_names(self) -> None:
        for name in self.config["presets"]:
            self.settings(name)
        for i, experiment in enumerate(self.config["experiments"]):
            for name in experiment["presets"]:
                where = f"config.yaml, experiments.{i}.presets: "
                check_known(name, self.config["presets"], "preset", where)
            for key in ("sets", "except"):
                for name in self._named(experiment.get(key, [])):
                    self._known(name, f"experiments.{i}.{key}", (BAGS,))
        for name, declared in self.config["sets"].items():
            if "of" in declared:
                self._known(declared["of"], f"sets.{name}.of")
                if "of" in self.config["sets"][declared["of"]]:
                    raise JigsawError(
                        f"config.yaml, sets.{name}.of: {declared['of']} has no images of its own"
                    )
        for name in self.only:
            self._known(name, "only", (BAGS,))
        for name in self._judged.get("sets", []):
            self._known(name, "measures.sets")
        for measure in self._judged.get("measures", []):
            try:
                measure_called(measure)
            except JigsawError as error:
                raise JigsawError(f"config.yaml, measures.measures: {error}") from error
        for bag in self.bags.values():
            for name in bag.sets:
                self._known(name, bag.where)

    def _named(self, sets: str | list[str]) -> list[str]:
        return [*self.config["sets"], BAGS] if sets == "all" else list(sets)

    def _sets_in(self, experiment: Mapping[str, Any]) -> list[str]:
        return [name for name in self._named(experiment["sets"]) if name not in experiment.get("except", [])]

    @property
    def _judged(self) -> dict[str, list[str]]:
        return self.config.get("measures") or {}

    @property
    def only(self) -> list[str]:
        """The sets to which a call restricts itself; empty for all."""
        value = self.config.get("only") or []
        return value.split(",") if isinstance(value, str) else list(value)

    @property
    def seed(self) -> int:
        """The seed from which all others follow."""
        return self.config["seed"]

    def settings(self, name: str) -> Settings:
        """Return the solver settings of a preset of the configuration."""
        check_known(name, self.config["presets"], "preset")
        values = {key: value for key, value in self.config["presets"][name].items() if key != "islands"}
        try:
            return settings_of(values.pop("base", "paper")).changed(**values)
        except JigsawError as error:
            raise JigsawError(f"config.yaml, presets.{name}: {error}") from error

    def islands(self, preset: str) -> int:
        """Return how many independent runs a preset joins: 1 for a run by itself."""
        return self.config["presets"][preset].get("islands", 1)

    def island_elite(self, preset: str) -> int:
        """Return how many assemblies each island gives, together the first population of the joining run."""
        return math.ceil(self.settings(preset).population / self.islands(preset))

    def seed_of(self, run: int, island: int = 0) -> int:
        """Return the seed of a run of the solver, or of one of its islands, numbered from 1."""
        return self.seed + run + (island << _RUN_BITS)

    # -- puzzles -------------------------------------------------------------------------------------

    def _bags(self) -> list[str]:
        """Return the mixed bags whose image sets are all there or are to be downloaded."""
        return [name for name, bag in self.bags.items() if all(map(self._obtainable, bag.sets))]

    def puzzles(self, name: str) -> list[str]:
        """Return the names of the puzzles of a set."""
        if name == BAGS:
            bags = self._bags()
            for bag in bags:
                if all(map(self.is_there, self.bags[bag].sets)):
                    self.bags[bag].sources(self)  # all its images must be there
            return bags
        return list(self.images(name))

    def _parts(self, name: str, puzzle: str) -> list[Source]:
        if name == BAGS:
            check_known(puzzle, self.bags, "mixed bag")
            return self.bags[puzzle].sources(self)
        images = self.images(name)
        check_known(puzzle, images, f"image of set {name} called")
        return [Source(images[puzzle])]

    def sources(self, name: str, puzzle: str) -> list[Path]:
        """Return the images of a puzzle."""
        return [path for path, _ in self._parts(name, puzzle)]

    def pieces(self, name: str, puzzle: str) -> int:
        """Return the number of pieces of a puzzle."""
        sizes = [
            self.size_of(path) if crop is None else (crop.width, crop.height)
            for path, crop in self._parts(name, puzzle)
        ]
        return sum(width * height for width, height in sizes)

    def sizes(self, name: str) -> list[int]:
        """Return the pieces of each puzzle of a set; as declared where its images are not there."""
        if name == BAGS:
            bags = [bag for bag in self.bags if all(map(self.is_there, self.bags[bag].sets))]
            return [self.pieces(name, bag) for bag in bags]
        if self.is_there(name):
            return [self.pieces(name, puzzle) for puzzle in self.puzzles(name)]
        declared = self.config["sets"][self._origin(name)]
        return [declared["pieces"]] * declared.get("images", 0) if "pieces" in declared else []

    def cutting_options(self, name: str, puzzle: str) -> str:
        """Return what `jigsaw cut` must know of a puzzle."""
        declared = self.config["sets"].get(name, {})
        options = " --keep-orientation" if declared.get("keep_orientation") else ""
        options += f" --missing {declared['missing']}" if declared.get("missing") else ""
        crops = [crop for _, crop in self._parts(name, puzzle)]
        return options + (f" --crop {' '.join(str(crop or '-') for crop in crops)}" if any(crops) else "")

    def comparing_options(self, name: str) -> str:
        """Return what `jigsaw compare` must know of a set."""
        return " --keep-orientation" if self.config["sets"].get(name, {}).get("keep_orientation") else ""

    def evaluating_options(self, name: str, puzzle: str) -> str:
        """Return what `jigsaw evaluate` must know of a puzzle."""
        draw = self.bags[puzzle].draw if name == BAGS else ""
        return f" --draw {draw}" if draw else ""

    # -- jobs ----------------------------------------------------------------------------------------

    @property
    def sets(self) -> list[str]:
        """The sets that some experiment runs and whose images are there or are to be downloaded."""
        return [name for name in self.wanted if (self._bags() if name == BAGS else self._obtainable(name))]

    @property
    def missing(self) -> list[str]:
        """What some experiment would run but cannot, and how to get it: a message for each set and bag."""
        lost = [name for name in self.wanted if name != BAGS and name not in self.sets]
        messages = [self.how_to_get(name) for name in lost]
        for bag in self.bags.values() if BAGS in self.wanted else []:
            lacking = [name for name in bag.sets if not self._obtainable(name)]
            if lacking:
                those = "image sets {} are" if len(lacking) > 1 else "image set {} is"
                those = those.format(", ".join(lacking))
                messages.append(f"mixed bag {bag.entry} is left out: {those} not there")
        return list(dict.fromkeys(messages))

    def downloads(self, name: str) -> list[str]:
        """Return the sets that the workflow must download before the jobs of a set are known."""
        if name == BAGS:
            needed = dict.fromkeys(part for bag in self._bags() for part in self.bags[bag].sets)
            return [part for part in needed if self._downloadable(part)]
        return [self._origin(name)] if self._downloadable(name) else []

    @property
    def wanted(self) -> list[str]:
        """The sets that some experiment runs, there or not."""
        named = {name for experiment in self.config["experiments"] for name in self._sets_in(experiment)}
        return [
            name
            for name in self._named("all")
            if name in named and (not self.only or name in self.only) and (name != BAGS or self.config[BAGS])
        ]

    def jobs(self, name: str) -> list[Job]:
        """Return the runs of all presets on all puzzles of a set, by preset."""
        puzzles = self.puzzles(name)
        self._check_images(name, puzzles)
        found = [Job(name, puzzle, *run) for puzzle in puzzles for run in self.runs(name, puzzle)]
        presets = list(dict.fromkeys(preset for preset, _ in self.runs(name)))
        return sorted(found, key=lambda job: presets.index(job.preset))

    def runs(self, name: str, puzzle: str | None = None, position: int = 0) -> list[tuple[str, int]]:
        """Return the presets that a puzzle of a set is solved with, and the numbers of the runs.

        Where its name is not known, a puzzle is told by its position.
        """
        return list(
            dict.fromkeys(
                (preset, run)
                for experiment in self.config["experiments"]
                if name in self._sets_in(experiment)
                and ("images" not in experiment or _among(experiment["images"], puzzle, position))
                for preset in experiment["presets"]
                for run in range(experiment.get("runs", 1))
            )
        )

    def _check_images(self, name: str, puzzles: list[str]) -> None:
        for i, experiment in enumerate(self.config["experiments"]):
            if name in self._sets_in(experiment):
                for image in experiment.get("images", []):
                    if image not in puzzles:
                        raise JigsawError(
                            f"config.yaml, experiments.{i}.images: {name} has no image {image!r}; "
                            f"it has {', '.join(puzzles)}"
                        )

    def judged(self) -> list[tuple[str, str, str]]:
        """Return set, puzzle and measure of everything that the table of measures judges."""
        return [
            (name, puzzle, measure)
            for name in self.sets
            if self.judged_measures(name)
            for puzzle in self.puzzles(name)
            for measure in self.judged_measures(name)
        ]

    def judged_measures(self, name: str) -> list[str]:
        """Return the measures that are judged on a set."""
        return self._judged["measures"] if name in self._judged.get("sets", []) else []

    def presets(self, table: str | None = None) -> list[str]:
        """Return the presets of the experiments that have the named table, or that have none of their own."""
        return list(
            dict.fromkeys(
                preset
                for experiment in self.config["experiments"]
                if experiment.get("table") == table
                for preset in experiment["presets"]
            )
        )

    def sets_named(self, table: str) -> set[str]:
        """Return the sets of the experiments that have the named table, there or not."""
        return {
            name
            for experiment in self.config["experiments"]
            if experiment.get("table") == table
            for name in self._sets_in(experiment)
        }

    def sets_of(self, table: str) -> list[str]:
        """Return the sets, of those that are there, of the experiments that have the named table."""
        return [name for name in self.sets if name in self.sets_named(table)]

    def drawn_bags(self) -> bool:
        """Return whether any of the bags that are run is one of several drawn ones."""
        return BAGS in self.sets and any(self.bags[name].draw for name in self._bags())

    def beside(self, table: str) -> list[str]:
        """Return the published solvers that stand beside ours in a table."""
        return self.config["tables"].get(table, {}).get("beside", [])

    def beside_all(self) -> list[str]:
        """Return the published solvers that stand beside ours in the report."""
        return list(dict.fromkeys([*self.beside("comparison"), *self.beside(BAGS)]))

    def solver_options(self, preset: str, name: str, puzzle: str) -> str:
        """Return the settings of a preset, and what is known of a puzzle, as options of `jigsaw solve`."""
        settings = self.settings(preset)
        base = self.config["presets"][preset].get("base", "paper")
        options = "".join(f" --{key} {value}" for key, value in settings.as_dict().items())
        if self.config["sets"].get(name, {}).get("known_size") and settings.members > 0:
            width, height = self.size_of(self.sources(name, puzzle)[0])
            options += f" --size {width}x{height}"
        return f"--preset {base} --name {preset}{options}"

    def measures(self, stage: str) -> list[str]:
        """Return the measures whose kernels a stage needs."""
        used = [
            self.settings(preset)
            for experiment in self.config["experiments"]
            if any(name in self.sets for name in self._sets_in(experiment))
            for preset in experiment["presets"]
        ]
        names = [settings.measure for settings in used if stage != "search" or settings.members > 0]
        judged = self._judged.get("measures", []) if stage == "compare" and self.judged() else []
        unmixing = [self.unmixing] if stage != "solve" and self.config[BAGS] else []
        return list(dict.fromkeys([*names, *judged, *unmixing]))

    @property
    def unmixing(self) -> str:
        """The measure by which the images of a bag are told apart."""
        return settings_of("best").measure

    def needs(self, stage: str, name: str, puzzle: str, preset: str | None, attempt: int = 1) -> Needs:
        """Return what a job of a puzzle asks for, more with every attempt."""
        settings = self.settings(preset) if stage == "solve" and preset is not None else None
        return needs(stage, self.pieces(name, puzzle), settings, attempt)

    @staticmethod
    def code(stage: str) -> str:
        """Return a checksum of the code of a stage, a parameter of its rule."""
        return code_of(STAGES[stage])

    @staticmethod
    def templates() -> list[str]:
        """Return the files of which the report is made."""
        return [str(path) for path in sorted((Path(__file__).parent / "templates").iterdir())]

    def kernels(self, stage: str) -> str:
        """Return a name for the kernels of a stage as its code and the measures it needs are now."""
        code = self.code("solve" if stage == "search" else stage)
        needed = hashlib.sha256(" ".join([code, *self.measures(stage)]).encode())
        return f"{stage}-{needed.hexdigest()[:16]}"
