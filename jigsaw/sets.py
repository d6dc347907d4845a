"""The image sets that config.yaml declares: where their images are, and how to get them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jigsaw.errors import JigsawError, check_known
from jigsaw.images import image_size, list_images


class ImageSets:
    """Finds the images of the sets of a configuration."""

    def __init__(self, config: Mapping[str, Any], root: str | os.PathLike[str]) -> None:
        self.config = config
        self.root = Path(root)
        self._images: dict[str, dict[str, Path]] = {}

    def _known(self, name: str, where: str, others: tuple[str, ...] = ()) -> None:
        check_known(name, [*self.config["sets"], *others], "image set", f"config.yaml, {where}: ")

    @property
    def data_dir(self) -> Path:
        """Where the folders of image sets are."""
        return self.root / (os.environ.get("JIGSAW_DATA") or self.config.get("data_dir") or "data")

    def _origin(self, name: str) -> str:
        """Return the set whose images a set has: mostly itself."""
        check_known(name, self.config["sets"], "image set")
        return self.config["sets"][name].get("of", name)

    def folder(self, name: str) -> Path:
        """Return the folder of an image set."""
        declared = self.config["sets"][self._origin(name)]
        if "skimage" in declared:
            package = find_spec("skimage")
            assert package is not None
            assert package.origin is not None
            return Path(package.origin).parent / "data"
        return self.data_dir / Path(declared["folder"]).expanduser()

    def is_there(self, name: str) -> bool:
        """Return whether the images of a set are there."""
        return self.folder(name).is_dir()

    def images(self, name: str) -> dict[str, Path]:
        """Return the image files of a set by their names without ending, checked against what is declared."""
        name = self._origin(name)
        if name not in self._images:
            if not self.is_there(name):
                raise JigsawError(self.how_to_get(name))
            self._images[name] = self._find_images(name)
        return self._images[name]

    def _find_images(self, name: str) -> dict[str, Path]:
        declared = self.config["sets"][name]
        folder = self.folder(name)
        if "skimage" in declared:
            paths = [folder / file for file in declared["skimage"]]
            for path in paths:
                if not path.is_file():
                    raise JigsawError(f"config.yaml, sets.{name}: scikit-image does not ship {path.name}")
        else:
            paths = list_images(folder)
        for path in paths:
            if not path.name.isprintable() or set(path.name) & set("{}"):
                raise JigsawError(f"{str(path)!r}: has a name that no path of a result can have; rename it")
        images = {path.stem: path for path in paths}
        if len(images) != len(paths):
            twice = next(path for path in paths if images[path.stem] != path)
            raise JigsawError(f"{twice}: another image of set {name} has the same name but for its ending")
        wanted = declared.get("images", len(images))
        if len(images) != wanted or not images:
            raise JigsawError(
                f"{folder}: holds {len(images)} images, but set {name} should have {wanted or 'some'}; "
                f"complete the folder or change sets.{name}.images in config.yaml"
            )
        for path in paths if "pieces" in declared else []:
            width, height = self.size_of(path)
            if width * height != declared["pieces"]:
                raise JigsawError(
                    f"{path}: gives {width * height} pieces of {self.config['piece_size']} pixels, but set "
                    f"{name} should have {declared['pieces']}; replace the image or change sets.{name}.pieces"
                )
        return images

    def size_of(self, path: Path) -> tuple[int, int]:
        """Return width and height of an image in pieces."""
        width, height = image_size(path)
        return width // self.config["piece_size"], height // self.config["piece_size"]

    def how_to_get(self, name: str) -> str:
        """Say how to get a set that is not there."""
        name = self._origin(name)
        declared = self.config["sets"][name]
        text = f"image set {name} is not there: put its images into {self.folder(name)}"
        if not Path(declared["folder"]).is_absolute():
            text += ", or say where the folders are with JIGSAW_DATA or data_dir"
        if "url" in declared:
            text += f"; `jigsaw fetch {name}` or --config download=true gets them from {declared['url']}"
        elif "page" in declared:
            text += f"; they are offered at {declared['page']}"
        return text

    def fetch(self, name: str) -> None:
        """Download the images of a set into its folder."""
        from jigsaw.fetch import fetch_set

        self._known(name, "sets")
        name = self._origin(name)
        declared = self.config["sets"][name]
        if "skimage" in declared:
            raise JigsawError(f"image set {name} comes with scikit-image: there is nothing to download")
        if "url" not in declared:
            raise JigsawError(f"image set {name} declares no url to download from; " + self.how_to_get(name))
        fetch_set(name, declared, self.folder(name), self.root)

    def _downloadable(self, name: str) -> bool:
        return (
            bool(self.config.get("download"))
            and "url" in self.config["sets"][self._origin(name)]
            and not self.is_there(name)
        )

    def _obtainable(self, name: str) -> bool:
        return self.is_there(name) or self._downloadable(name)
