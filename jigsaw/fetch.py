"""Getting an image set from where its publishers offer it: download, unpack, check, put in place."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jigsaw.archives import unpack
from jigsaw.download import download, read_checksums, verify
from jigsaw.errors import JigsawError
from jigsaw.files import scratch_folder

log = logging.getLogger(__name__)


def fetch_set(name: str, declared: Mapping[str, Any], folder: Path, root: Path) -> None:
    """Download the archive of an image set and put its images into a folder, all or none."""
    if folder.is_dir():
        log.info("%s: is there already", folder)
        return
    url = declared["url"]
    archive = folder.with_name(f"{name}{Path(urlsplit(url).path).suffix or '.zip'}")
    log.info("downloading %s", url)
    download(url, archive, declared.get("sha256"), _Reporter())
    try:
        with scratch_folder(folder) as scratch:
            unpacked = scratch / "images"
            unpack(archive, unpacked, declared.get("pattern", "*"))
            if "checksums" in declared:
                checksums = {
                    file.removeprefix(f"{name}/"): checksum
                    for file, checksum in read_checksums(root / declared["checksums"]).items()
                    if file.startswith(f"{name}/")
                }
                if not checksums:
                    raise JigsawError(f"{declared['checksums']}: names no file of set {name}")
                verify(unpacked, checksums)
            unpacked.rename(folder)
    except OSError as error:
        raise JigsawError(
            f"{folder}: cannot be written ({error.strerror}); choose another data_dir"
        ) from error
    archive.unlink()
    log.info("%s: %d files", folder, sum(1 for _ in folder.iterdir()))


class _Reporter:
    """Says every tenth of a download."""

    def __init__(self) -> None:
        self._said = 0

    def __call__(self, done: int, total: int | None) -> None:
        tenths = 10 * done // total if total else done // (10 << 20)
        if tenths > self._said:
            self._said = tenths
            log.info("%.1f MB%s", done / 2**20, f" of {total / 2**20:.1f} MB" if total else "")
