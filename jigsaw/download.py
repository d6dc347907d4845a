"""Downloads that can be continued, and checksums."""

from __future__ import annotations

import contextlib
import email.utils
import hashlib
import http.client
import io
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
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
