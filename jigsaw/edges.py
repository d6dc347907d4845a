"""What the solver sees of a puzzle: the comparison of all its edges, and the file that caches it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jigsaw.errors import JigsawError
from jigsaw.files import (
    check_arrays,
    check_content,
    check_range,
    digest,
    read_hdf5,
    whole_or_refused,
    write_hdf5,
)
from jigsaw.measures import measure_called

_ARRAYS = {
    "nearest": (np.int32, "edges k"),
    "values": (np.float32, "edges k"),
    "buddy": (np.int32, "edges"),
}
_CONTENT = {"mean": (int, float), "measure": str, "pieces": str, "upright": bool}


@dataclass(frozen=True)
class Edges:
    """The comparison of all edges of a bag.

    `nearest` and `values` (4 n, k) hold each edge's most compatible edges, best first; `buddy` (4 n)
    its best buddy or -1; `mean` the mean over all pairs; `features` what its measure needs to compare any
    further pair exactly. `upright` says that all pieces are known to have their right orientation, so that
    only a top meets a bottom and a left side a right one.
    """

    features: Any
    nearest: np.ndarray
    values: np.ndarray
    buddy: np.ndarray
    mean: float
    measure: str
    pieces_digest: str
    upright: bool = False
    notes: dict[str, Any] = field(default_factory=dict, compare=False)

    def __len__(self) -> int:
        return len(self.nearest)

    @property
    def pieces(self) -> int:
        """Number of pieces."""
        return len(self.nearest) // 4

    @property
    def digest(self) -> str:
        """Checksum that ties a solution to this comparison."""
        return digest(self._arrays(), self._content())

    def _arrays(self) -> dict[str, np.ndarray]:
        features = {f"features_{name}": array for name, array in self.features._asdict().items()}
        return {"nearest": self.nearest, "values": self.values, "buddy": self.buddy, **features}

    def _content(self) -> dict[str, Any]:
        return {
            "measure": self.measure,
            "mean": self.mean,
            "pieces": self.pieces_digest,
            "upright": self.upright,
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write edges.h5."""
        write_hdf5(path, "edges", self._arrays(), self._content(), self.notes)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Edges:
        """Read edges.h5."""
        with whole_or_refused(path, "edges"):
            arrays, content, notes = read_hdf5(path, "edges")
            check_content(content, _CONTENT)
            features = {name: arrays.pop(name) for name in list(arrays) if name.startswith("features_")}
            try:
                kind = measure_called(content["measure"]).Features
            except JigsawError as error:
                raise JigsawError(f"{path}: {error}; compare again") from error
            edges = cls(
                features=kind(**{name.removeprefix("features_"): array for name, array in features.items()}),
                **arrays,
                mean=content["mean"],
                measure=content["measure"],
                pieces_digest=content["pieces"],
                upright=content["upright"],
                notes=notes,
            )
            edges.check()
            return edges

    def check(self) -> None:
        """Refuse edges that are not of one comparison, on which kernels would read what is not there."""
        check_arrays({name: getattr(self, name) for name in _ARRAYS}, _ARRAYS)
        if len(self) == 0 or len(self) % 4 or self.nearest.shape[1] == 0:
            raise ValueError("pieces have four edges each, and edges have neighbours")
        check_range("nearest", self.nearest, -1, len(self))
        check_range("buddy", self.buddy, -1, len(self))
        measure = measure_called(self.measure)
        side = self.features[0].shape[-1] // 3
        blank = measure.features(np.broadcast_to(np.uint8(0), (1, side, side, 3)))
        for name, array, like in zip(self.features._fields, self.features, blank, strict=True):
            if array.dtype != like.dtype or array.shape != (len(self), *like.shape[1:]):
                raise ValueError(f"features_{name} is of another type or shape")
