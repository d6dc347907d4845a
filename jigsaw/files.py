"""Files that are whole or not there: written under a temporary name, then renamed.

Every HDF5 file says what kind it is, in which format version, who wrote it, and carries a digest
of its content, so that a reader can refuse an incomplete, foreign, changed or newer one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from jigsaw.errors import JigsawError

FORMAT = 3
MAKERS = {
    "pieces": "jigsaw cut",
    "truth": "jigsaw cut",
    "edges": "jigsaw compare",
    "solution": "jigsaw solve",
}


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it to `path` if the block succeeds, else remove it."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise JigsawError(f"{path}: cannot be written ({error.strerror}); choose another place") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        with open(temporary, "rb+") as stream:
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise JigsawError(f"{path}: cannot be written ({error}); nothing was changed") from error
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: str | os.PathLike[str], data: Any) -> None:
    """Write a JSON file, whole or not at all."""
    write_text(path, json.dumps(data, indent=2) + "\n")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file, or say what is wrong with it."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise JigsawError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise JigsawError(f"{path}: is not JSON ({error}); make it again") from error


def digest(arrays: Mapping[str, np.ndarray], attributes: Mapping[str, Any] | None = None) -> str:
    """Return a checksum over names, types, shapes and values."""
    total = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(array.reshape(-1).view(np.uint8).data)
    total.update(json.dumps(attributes or {}, sort_keys=True).encode())
    return total.hexdigest()


def write_hdf5(
    path: str | os.PathLike[str],
    kind: str,
    arrays: Mapping[str, np.ndarray],
    attributes: Mapping[str, Any],
    notes: Mapping[str, Any],
) -> None:
    """Write one of the project's HDF5 files.

    `attributes` belong to the content and its digest; `notes` (times, machine, versions) may differ
    between two runs that have the same result.
    """
    texts = {
        "kind": kind,
        "content": json.dumps(dict(attributes), sort_keys=True),
        "digest": digest(arrays, attributes),
        "notes": json.dumps(dict(notes), sort_keys=True),
    }
    # The latest format has checksums over its own structure: a damaged file is an error, not a crash.
    # No locks: nobody else knows the temporary name, and some network file systems have none.
    with replacing(path) as temporary, h5py.File(temporary, "w", libver="latest", locking=False) as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array)
        file.attrs["format"] = FORMAT
        for name, text in texts.items():
            file.attrs[name] = np.bytes_(text.encode())


def read_hdf5(
    path: str | os.PathLike[str], kind: str
) -> tuple[dict[str, np.ndarray], dict[str, Any], dict[str, Any]]:
    """Read arrays, attributes and notes of a file of the given kind, or say why it is not one."""
    again = f"make it again with `{MAKERS[kind]}`"
    article = "an" if kind[0] in "aeiou" else "a"
    if not Path(path).is_file():
        raise JigsawError(f"{path}: there is no such file; {again}")
    try:
        with h5py.File(path, "r", locking=False) as file:
            if "kind" not in file.attrs:
                raise JigsawError(f"{path}: is an HDF5 file but not one of jigsaw's; {again}")
            found = bytes(file.attrs["kind"]).decode()
            if found != kind:
                raise JigsawError(f"{path}: is of kind {found}, but {article} {kind} file is wanted here")
            version = int(file.attrs["format"])
            if version != FORMAT:
                age = "a newer" if version > FORMAT else "an older"
                raise JigsawError(
                    f"{path}: is of {age} format ({version}; this program reads {FORMAT}); {again}"
                )
            arrays = {name: dataset[()] for name, dataset in file.items()}
            attributes = json.loads(bytes(file.attrs["content"]))
            notes = json.loads(bytes(file.attrs["notes"]))
            recorded = bytes(file.attrs["digest"]).decode()
        changed = recorded != digest(arrays, attributes)
    except (OSError, LookupError, ValueError, TypeError, RuntimeError, AttributeError) as error:
        raise JigsawError(f"{path}: is not a whole {kind} file ({error}); {again}") from error
    if changed:
        raise JigsawError(f"{path}: its content does not match its checksum; {again}")
    return arrays, attributes, notes
