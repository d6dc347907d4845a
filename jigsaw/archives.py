"""Unpacking archives of images, trusting nothing in them."""

from __future__ import annotations

import fnmatch
import functools
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PureWindowsPath
from typing import Any

from jigsaw.errors import JigsawError
from jigsaw.files import scratch_folder

_BLOCK = 1 << 20


def unpack(
    archive: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    pattern: str = "*",
    limit_bytes: int = 20 * 2**30,
    limit_files: int = 100_000,
) -> None:
    """Put the files of a zip or tar archive whose path matches into a new flat folder, all or none."""
    folder = Path(folder)
    try:
        if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
            raise JigsawError(f"{folder}: is there already and not empty; remove it or choose another folder")
        with scratch_folder(folder) as scratch:
            whole = scratch / "whole"  # not the scratch folder itself, which only its owner may read
            whole.mkdir()
            _extract(archive, whole, pattern, limit_bytes, limit_files)
            whole.rename(folder)  # an empty folder is replaced by it
    except JigsawError:
        raise
    except Exception as error:  # unpackers raise whatever they stumble over in a damaged archive
        if isinstance(error, OSError) and error.errno is not None:
            raise JigsawError(f"{archive}: cannot be unpacked into {folder} ({error})") from error
        raise JigsawError(f"{archive}: is damaged or of an unknown kind ({error}); get it again") from error


def _extract(
    archive: str | os.PathLike[str], target: Path, pattern: str, limit_bytes: int, limit_files: int
) -> None:
    names: set[str] = set()
    size = 0
    by_hand = "unpack it by hand if you trust it"
    for name, kind, opened in _members(archive):
        inside = PureWindowsPath(name)  # knows / and \ and drives, whatever this machine uses
        if inside.drive or inside.root or ".." in inside.parts:
            raise JigsawError(f"{archive}: {name} leads out of the archive; do not trust it")
        if kind == "folder" or not fnmatch.fnmatchcase(inside.as_posix(), pattern):
            continue
        if kind != "file":
            raise JigsawError(f"{archive}: {name} is {kind}; {by_hand}")
        if inside.name in names:
            raise JigsawError(f"{archive}: has two files called {inside.name}; choose one by its folder")
        names.add(inside.name)
        if len(names) > limit_files:
            raise JigsawError(f"{archive}: has more than {limit_files} files; {by_hand}")
        with opened() as source, open(target / inside.name, "xb") as file:
            while block := source.read(_BLOCK):
                size += len(block)
                if size > limit_bytes:
                    raise JigsawError(f"{archive}: unpacks to more than {limit_bytes} bytes; {by_hand}")
                file.write(block)
    if not names:
        raise JigsawError(f"{archive}: no file in it matches {pattern}; check what is in it")


def _members(archive: str | os.PathLike[str]) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Give the path, the kind and a way to open each member."""
    # tar first: a tar with a zip at its end would pass for a zip, but never the other way round
    if tarfile.is_tarfile(archive):
        with tarfile.open(archive) as tar:
            for member in tar:
                kind = "file" if member.isreg() else "folder" if member.isdir() else "a link or a device"
                yield member.name, kind, functools.partial(tar.extractfile, member)
            _check_end(tar)
        return
    with zipfile.ZipFile(archive) as packed:
        for info in packed.infolist():
            kind = "folder" if info.is_dir() else "encrypted" if info.flag_bits & 1 else "file"
            if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
                kind = "a link or a device"
            yield info.filename, kind, functools.partial(packed.open, info)


def _check_end(tar: tarfile.TarFile) -> None:
    """Refuse a tar without its end: tarfile takes a damaged or missing header for it."""
    stream = tar.fileobj
    assert stream is not None
    stream.seek(tar.offset)
    if stream.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise tarfile.ReadError("its end is missing")
    while stream.read(_BLOCK):  # the checksum of a compressed tar is compared when all of it is read
        pass
