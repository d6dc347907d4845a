"""Fetching archives of images: downloads that can be continued, unpacking that trusts nothing, checksums."""

from __future__ import annotations

import contextlib
import email.utils
import fnmatch
import functools
import hashlib
import http.client
import io
import os
import re
import stat
import tarfile
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PureWindowsPath
from typing import Any

from jigsaw.errors import JigsawError

TIMEOUT = 60.0  # seconds without a byte
_BLOCK = 1 << 20

Progress = Callable[[int, int | None], object]


def download(
    url: str, path: str | os.PathLike[str], sha256: str | None = None, progress: Progress | None = None
) -> None:
    """Fetch an http, https or file address; what a broken transfer left in `<path>.part` is continued.

    A file that is there already is kept if it has the checksum, and fetched anew without one.
    """
    path = Path(path)
    part = path.with_name(f"{path.name}.part")
    wanted = sha256.lower() if sha256 else None
    try:
        if wanted and path.is_file() and _sha256(path) == wanted:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        _fetch(url, part, progress)
        if wanted and (found := _sha256(part)) != wanted:
            part.unlink()
            raise JigsawError(
                f"{url}: has the checksum {found}, not {wanted}, and was removed; try again,"
                " and if it stays so ask its maintainers whether the file was changed"
            )
        os.replace(part, path)
    except OSError as error:
        raise JigsawError(f"{path}: cannot be written ({error.strerror}); choose another place") from error


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
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as scratch:
            whole = Path(scratch, "whole")  # not the scratch folder itself, which only its owner may read
            whole.mkdir()
            _extract(archive, whole, pattern, limit_bytes, limit_files)
            whole.rename(folder)  # an empty folder is replaced by it
    except JigsawError:
        raise
    except Exception as error:  # unpackers raise whatever they stumble over in a damaged archive
        if isinstance(error, OSError) and error.errno is not None:
            raise JigsawError(f"{archive}: cannot be unpacked into {folder} ({error})") from error
        raise JigsawError(f"{archive}: is damaged or of an unknown kind ({error}); get it again") from error


def verify(folder: str | os.PathLike[str], checksums: Mapping[str, str]) -> None:
    """Make sure that every named file is in the folder and has its SHA-256 checksum."""
    wrong = []
    for name, wanted in checksums.items():
        try:
            if _sha256(Path(folder, name)) != wanted.lower():
                wrong.append(f"{name} (changed)")
        except OSError as error:
            wrong.append(f"{name} ({'missing' if isinstance(error, FileNotFoundError) else error.strerror})")
    if wrong:
        rest = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise JigsawError(
            f"{folder}: {len(wrong)} of {len(checksums)} files are not as they should be:"
            f" {', '.join(wrong[:3])}{rest}; remove the folder and get it again"
        )


def read_checksums(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read a file as `sha256sum` writes it to {name: checksum}; lines that start with # are comments."""
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise JigsawError(f"{path}: cannot be read ({error.strerror}); check the name") from error
    except ValueError as error:
        raise JigsawError(f"{path}: is not text ({error}); name a file written by sha256sum") from error
    checksums: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        found = re.fullmatch(r"([0-9a-fA-F]{64}) [ *](.+?)\r?", line)
        if not found:
            raise JigsawError(f"{path}: line {number} is not `<sha256>  <name>`; write it with sha256sum")
        checksum, name = found[1].lower(), found[2]
        if checksums.setdefault(name, checksum) != checksum:
            raise JigsawError(f"{path}: line {number} gives {name} a second checksum; remove the wrong one")
    if not checksums:
        raise JigsawError(f"{path}: has no checksums in it; write it with sha256sum")
    return checksums


def _sha256(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _fetch(url: str, part: Path, progress: Progress | None) -> None:
    source, done, total = _source(url, part)
    with source, open(part, "r+b" if done else "wb") as target:
        target.seek(done)
        if progress:
            progress(done, total)
        while total is None or done < total:
            with _told(url, "the transfer broke off", "start again to continue it"):
                # read() would lose the last block of a broken connection, read1() gives what has come
                block = source.read1(_BLOCK if total is None else min(_BLOCK, total - done))
                if not block and total is not None:
                    raise ConnectionError(f"{done} of {total} bytes came")
            if not block:
                break
            target.write(block)
            done += len(block)
            if progress:
                progress(done, total)
        target.flush()
        os.fsync(target.fileno())


@contextlib.contextmanager
def _told(url: str, what: str, advice: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise JigsawError(f"{url}: {what} ({reason}); {advice}") from error


def _source(url: str, part: Path) -> tuple[Any, int, int | None]:
    """Return a stream, how many bytes of `part` it continues, and how many the whole has, if known."""
    with _told(url, "cannot be read", "check the address"):
        address = urllib.parse.urlsplit(url)
        if address.scheme not in ("http", "https", "file"):
            raise ValueError("not an http, https or file address")
        if address.scheme == "file":
            if address.netloc not in ("", "localhost"):
                raise ValueError("a file address has three slashes, file:///...")
            stream = open(urllib.request.url2pathname(address.path), "rb")  # noqa: SIM115 - closed in _fetch
            return stream, 0, os.fstat(stream.fileno()).st_size
    start = part.stat().st_size if part.is_file() else 0
    response = _request(url, start)
    if start and response.status != 200:
        span = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+)", response.headers.get("Content-Range", ""))
        if span and response.status == 206 and int(span[1] or -1) == start and not _newer(response, part):
            return response, start, int(span[2])
        response.close()
        if span and response.status == 416 and int(span[2]) == start:
            return io.BytesIO(), start, start
        response = _request(url, 0)
    return response, 0, response.length


def _newer(response: Any, part: Path) -> bool:
    """Tell whether the file was changed at its source after the part was fetched."""
    try:
        changed = email.utils.parsedate_to_datetime(response.headers["Last-Modified"])
        return changed.timestamp() > part.stat().st_mtime
    except (TypeError, ValueError):
        return False


def _request(url: str, start: int) -> Any:
    """Ask for the bytes from `start` on; an answer that there are none (416) is given back as well."""
    opener = urllib.request.OpenerDirector()
    # Those of the standard opener without ftp, file and data, so that no server can send us there.
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.UnknownHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    request = urllib.request.Request(url, headers={"User-Agent": "jigsaw"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    with _told(url, "cannot be fetched", "check the address and the connection, and start again"):
        try:
            return opener.open(request, timeout=TIMEOUT)
        except urllib.error.HTTPError as error:
            if start and error.code == 416:
                return error
            error.close()
            raise ConnectionError(f"the server says {error.code} {error.reason}") from error


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
