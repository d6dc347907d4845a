"""Files that are whole or not there: written under a temporary name, then renamed.

A writer holds a lock on its temporary file, which ends with it however it ends; the next writer of the same
file removes temporaries that nobody holds.

Every HDF5 file says what kind it is, in which format version, who wrote it, and carries a digest
of its content, so that a reader can refuse an incomplete, foreign, changed or newer one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import yaml

from jigsaw.errors import JigsawError

FORMAT = 3
MAKERS = {
    "pieces": "jigsaw cut",
    "truth": "jigsaw cut",
    "edges": "jigsaw compare",
    "solution": "jigsaw solve",
    "checkpoint": "jigsaw solve",
}
_LARGEST_YAML = 1_000_000  # bytes
_OVERHEAD = 4096  # bytes of a file for each array or text, at most
_CONTIGUOUS = (h5py.h5d.COMPACT, h5py.h5d.CONTIGUOUS)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it to `path` if the block succeeds, else remove it."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(path)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise JigsawError(f"{path}: cannot be written ({error.strerror}); choose another place") from error
    temporary = Path(name)
    try:
        _hold(handle)
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        _sync(temporary)
        os.replace(temporary, path)
        with contextlib.suppress(OSError):  # where folders can be, or a loss of power might undo the renaming
            _sync(path.parent)
    except OSError as error:
        raise JigsawError(f"{path}: cannot be written ({_reason(error)}); nothing was changed") from error
    finally:
        os.close(handle)
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def scratch_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder beside a folder that is to be made, and remove it in the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(path)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent) as scratch:
        handle = os.open(scratch, os.O_RDONLY)
        try:
            _hold(handle)
            yield Path(scratch)
        finally:
            os.close(handle)


def remove_abandoned(path: Path) -> None:
    """Remove the temporaries of writers of this file or folder that were killed."""
    one = rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}{re.escape(path.suffix)}"
    name = re.compile(rf"{one}|\.{one}\.[a-z0-9_]{{8}}.*")  # which may have one of its own, as in `save_cut`
    for left in path.parent.iterdir():
        if name.fullmatch(left.name):
            with contextlib.suppress(OSError):
                handle = os.open(left, os.O_RDONLY | os.O_NONBLOCK)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(left) if left.is_dir() else left.unlink()
                finally:
                    os.close(handle)


def _hold(handle: int) -> None:
    with contextlib.suppress(OSError):  # a file system without locks keeps what is abandoned
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _reason(error: OSError) -> str:
    """Say why something cannot be written; HDF5 says much besides."""
    found = re.search(r"error message = '([^']*)'", str(error))
    return found[1] if found else error.strerror or str(error)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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
    except (ValueError, RecursionError) as error:
        raise JigsawError(f"{path}: is not JSON ({error}); make it again") from error


def read_yaml(path: str | os.PathLike[str], what: str) -> dict[Any, Any]:
    """Read keys and values from a YAML file of plain data, or say what is wrong with it."""
    try:
        with open(path, "rb") as stream:
            text = stream.read(_LARGEST_YAML + 1)
        if len(text) > _LARGEST_YAML:
            raise ValueError(f"it has more than {_LARGEST_YAML} bytes")
        loader = yaml.SafeLoader(text.decode())
        document = loader.get_single_node()
        check_extent(document)  # before aliases are put in place
        data = loader.construct_document(document) if document else None
        if not isinstance(data, dict):
            raise ValueError("it must hold keys and values")
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise JigsawError(f"{path}: cannot be read as {what} ({error})") from error
    return data


def check_extent(data: Any, most: int = 100_000) -> None:
    """Refuse nested data that aliases make endless or immense, and nan, which no comparison refuses."""
    extents: dict[int, int | None] = {}

    def extent(part: Any) -> int:
        inside = part.value if isinstance(part, yaml.Node) else part
        if isinstance(inside, dict):
            inside = list(inside.values())
        if not isinstance(inside, list | tuple):
            if inside != inside:
                raise ValueError("it holds a value that is not a number (nan)")
            return 1
        if id(part) not in extents:
            extents[id(part)] = None  # as long as its parts are counted
            extents[id(part)] = 1 + sum(map(extent, inside))
        found = extents[id(part)]
        if found is None:
            raise ValueError("it contains itself")
        return found

    if extent(data) > most:
        raise ValueError(f"its aliases stand for more than {most} values")


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
    with replacing(path) as temporary:
        _check_room(temporary.parent, [*arrays.values(), *map(np.bytes_, texts.values())])
        try:
            with h5py.File(temporary, "w", libver="latest", locking=False) as file:
                for name, array in arrays.items():
                    file.create_dataset(name, data=array)
                file.attrs["format"] = FORMAT
                for name, text in texts.items():
                    file.attrs[name] = np.bytes_(text.encode())
        except RuntimeError as error:  # what h5py makes of a disk that is full when it closes the file
            raise OSError(str(error)) from error


def _check_room(folder: Path, arrays: list[Any]) -> None:
    """Refuse to begin what the disk cannot hold: HDF5 would print traces while it gives up."""
    if shutil.disk_usage(folder).free < sum(array.nbytes + _OVERHEAD for array in arrays):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextlib.contextmanager
def whole_or_refused(path: str | os.PathLike[str], kind: str) -> Iterator[None]:
    """Say of what goes wrong in the block that the file is not a whole one of its kind."""
    try:
        yield
    except (OSError, LookupError, ValueError, TypeError, RuntimeError, AttributeError, MemoryError) as error:
        raise JigsawError(f"{path}: is not a whole {kind} file ({error}); {_again(kind)}") from error


def _again(kind: str) -> str:
    return f"make it again with `{MAKERS[kind]}`"


def read_hdf5(
    path: str | os.PathLike[str], kind: str
) -> tuple[dict[str, np.ndarray], dict[str, Any], dict[str, Any]]:
    """Read arrays, attributes and notes of a file of the given kind, or say why it is not one."""
    article = "an" if kind[0] in "aeiou" else "a"
    if not Path(path).is_file():
        raise JigsawError(f"{path}: there is no such file; {_again(kind)}")
    with whole_or_refused(path, kind):
        with h5py.File(path, "r", locking=False) as file:
            if "kind" not in file.attrs:
                raise JigsawError(f"{path}: is an HDF5 file but not one of jigsaw's; {_again(kind)}")
            found = bytes(file.attrs["kind"]).decode()
            if found != kind:
                raise JigsawError(f"{path}: is of kind {found}, but {article} {kind} file is wanted here")
            version = int(file.attrs["format"])
            if version != FORMAT:
                age = "a newer" if version > FORMAT else "an older"
                raise JigsawError(
                    f"{path}: is of {age} format ({version}; this program reads {FORMAT}); {_again(kind)}"
                )
            arrays = {name: _array(file, name) for name in file}
            attributes = json.loads(bytes(file.attrs["content"]))
            notes = json.loads(bytes(file.attrs["notes"]))
            recorded = bytes(file.attrs["digest"]).decode()
        if recorded != digest(arrays, attributes):
            raise JigsawError(f"{path}: its content does not match its checksum; {_again(kind)}")
    return arrays, attributes, notes


def check_arrays(arrays: Mapping[str, np.ndarray], wanted: Mapping[str, tuple[Any, str]]) -> None:
    """Refuse arrays that are not of the names, types and shapes wanted.

    A shape is written as "n 4": a word stands for any length, the same wherever it is.
    """
    if set(arrays) != set(wanted):
        raise ValueError(f"it holds {', '.join(sorted(arrays))} and should hold {', '.join(sorted(wanted))}")
    lengths: dict[str, int] = {}
    for name, (kind, shape) in wanted.items():
        array, words = arrays[name], shape.split()
        if array.dtype != kind or array.ndim != len(words):
            raise ValueError(f"{name} is of another type or shape")
        for word, length in zip(words, array.shape, strict=True):
            if length != (int(word) if word.isdigit() else lengths.setdefault(word, length)):
                raise ValueError(f"{name} is of another shape")


def check_content(content: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse attributes that are missing or of another type."""
    for name, kind in wanted.items():
        if not isinstance(content.get(name), kind):
            raise ValueError(f"{name} is missing or not as it should be")


def check_range(name: str, array: np.ndarray, low: int, end: int) -> None:
    """Refuse whole numbers outside [low, end)."""
    if array.size and not low <= array.min() <= array.max() < end:
        raise ValueError(f"{name} holds numbers that cannot be")


def _array(file: h5py.File, name: str) -> np.ndarray:
    """Return an array that is stored in the file as we store them: whole, not packed and not elsewhere."""
    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        raise ValueError(f"{name} leads elsewhere")
    dataset = file[name]
    made = dataset.id.get_create_plist()
    if made.get_layout() not in _CONTIGUOUS or made.get_external_count() > 0:
        raise ValueError(f"{name} is not stored as it should be")
    if dataset.id.get_storage_size() != dataset.nbytes:
        raise ValueError(f"{name} is not there as a whole")
    return dataset[()]
