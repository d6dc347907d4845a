"""Reading, measuring, writing and listing image files; every image is 8-bit RGB once it is read."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import struct
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageFile, TiffImagePlugin, UnidentifiedImageError

from jigsaw.errors import JigsawError
from jigsaw.files import replacing
from jigsaw.names import natural

MAX_PIXELS = 500_000_000
LIMIT_VARIABLE = "JIGSAW_MAX_PIXELS"
SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp", ".gif", ".ppm", ".pgm"})

# Only these are tried: some of Pillow's other readers start programs or decode while they open.
_READ_FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "WEBP", "GIF", "PPM")
_READ_MODES = frozenset({"1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr", "I;16", "I;16B"})
_WRITE_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".tif": "TIFF"}
_WRITE_FORMATS |= {".tiff": "TIFF", ".bmp": "BMP", ".ppm": "PPM"}
_WRITE_OPTIONS: dict[str, dict[str, Any]] = {
    "JPEG": {"quality": 95, "subsampling": 0},
    "WEBP": {"lossless": True},
    "TIFF": {"compression": "tiff_adobe_deflate"},
}
_LONGEST_SIDE = {"JPEG": 65_500, "WEBP": 16_383}
_ORIENTATION = 0x0112  # tags of EXIF and TIFF
_PHOTOMETRIC = 0x0106
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def read_image(path: str | os.PathLike[str]) -> np.ndarray:
    """Return the pixels as they are meant to be seen, (height, width, 3) uint8, transparency on white."""
    with _opened(path) as image:
        turn = _TURNS.get(_orientation(image, path))
        rgb = _rgb(image)
        return np.array(rgb if turn is None else rgb.transpose(turn))


def image_size(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Return (width, height) as `read_image` would give them, without decoding the pixels."""
    with _opened(path) as image:
        width, height = image.size
        return (height, width) if _orientation(image, path) >= 5 else (width, height)


def write_image(path: str | os.PathLike[str], array: np.ndarray, quality: int | None = None) -> None:
    """Write a uint8 (height, width, channels) or (height, width) array in the format that the suffix names.

    WebP is lossless unless a quality from 0 to 100 is given.
    """
    path = Path(path)
    name = _WRITE_FORMATS.get(path.suffix.lower())
    if name is None:
        raise JigsawError(f"{path}: the suffix is not one of those known; use {', '.join(_WRITE_FORMATS)}")
    if array.dtype != np.uint8 or array.size == 0:
        raise ValueError(f"not a uint8 image with pixels: {array.dtype} {array.shape}")
    height, width = array.shape[:2]
    longest = _LONGEST_SIDE.get(name, max(width, height))
    if max(width, height) > longest:
        raise JigsawError(f"{path}: {width} x {height} is too large for {name} ({longest} a side); use .png")
    options = _WRITE_OPTIONS.get(name, {}) if quality is None else {"quality": quality, "method": 2}
    with replacing(path) as temporary:
        Image.fromarray(array).save(temporary, format=name, **options)


def list_images(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the image files of a folder (not of folders in it), 2 before 10, without hidden ones."""
    try:
        found = [
            path
            for path in Path(folder).iterdir()
            if path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and not path.is_dir()
        ]
    except OSError as error:
        raise JigsawError(
            f"{folder}: cannot be listed ({error.strerror}); name a folder of images"
        ) from error
    return sorted(found, key=lambda path: (natural(path.stem), path.name))


def _limit() -> int:
    text = os.environ.get(LIMIT_VARIABLE, "").strip()
    if text and not re.fullmatch(r"[1-9]\d{0,17}", text):
        raise JigsawError(f"{LIMIT_VARIABLE}={text}: set it to a whole number of pixels, as {MAX_PIXELS}")
    return int(text or MAX_PIXELS)


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[ImageFile.ImageFile]:
    """Open an image by its header; what goes wrong then or while the block decodes it is a JigsawError."""
    limit = _limit()
    too_large = f"more than the {limit} pixels allowed; if you trust it, set {LIMIT_VARIABLE} higher"
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise JigsawError(f"{path}: is {kind}; name an image file")
        if status.st_size == 0:
            raise JigsawError(f"{path}: is an empty file; get it again")
        with _pillow(limit), Image.open(path, formats=_READ_FORMATS) as image:
            width, height = image.size
            if width * height > limit:
                raise JigsawError(f"{path}: has {width} x {height}, {too_large}")
            # Cameras put a preview into some JPEG files as a second frame; the first is the photograph.
            if image.format != "MPO" and getattr(image, "n_frames", 1) > 1:
                raise JigsawError(f"{path}: has several frames or pages; save the wanted one as its own file")
            if image.mode not in _READ_MODES and not _is_deep_pgm(image):
                raise JigsawError(
                    f"{path}: has pixels of kind {image.mode}; save it with 8 or 16 bits a channel"
                )
            yield image
    except JigsawError:
        raise
    except Image.DecompressionBombError as error:
        raise JigsawError(f"{path}: has {too_large}") from error
    except UnidentifiedImageError as error:
        names = ", ".join(_READ_FORMATS)
        raise JigsawError(
            f"{path}: is not an image, is damaged, has no pixels or is of an unknown kind"
            f" (known: {names}); get it again or save it as PNG"
        ) from error
    except MemoryError as error:
        raise JigsawError(f"{path}: needs more memory than there is; make it smaller") from error
    except Exception as error:  # decoders raise whatever they stumble over in a damaged file
        if isinstance(error, OSError) and error.errno is not None:
            raise JigsawError(f"{path}: cannot be read ({error.strerror}); check the name") from error
        raise JigsawError(f"{path}: is truncated or damaged ({error}); get it again") from error


@contextlib.contextmanager
def _pillow(limit: int) -> Iterator[None]:
    """Hold Pillow to our limit, to whole files and to silence, and set it back afterwards."""
    settings: list[tuple[Any, str, Any]] = [
        (Image, "MAX_IMAGE_PIXELS", limit),
        (ImageFile, "LOAD_TRUNCATED_IMAGES", False),
        # Without libtiff, uncompressed 16-bit TIFF files with one channel after another are misread.
        (TiffImagePlugin, "READ_LIBTIFF", True),
    ]
    before = [(module, name, getattr(module, name)) for module, name, _ in settings]
    try:
        for module, name, value in settings:
            setattr(module, name, value)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def _orientation(image: Image.Image, path: str | os.PathLike[str]) -> int:
    """Return the EXIF orientation that is left to do, 1 for none; the image is not decoded for it."""
    if image.format == "TIFF":  # Pillow turns these itself
        return 1
    try:
        # The PNG reader's own getexif() would decode the whole image to find tags after the pixels.
        exif = Image.Image.getexif(image)
        if image.format == "PNG" and "exif" not in image.info:
            exif.load(_png_exif(path))
        value = exif.get(_ORIENTATION, 1)
    except Exception:  # unreadable tags say nothing about how to turn the image
        return 1
    return value if value in _TURNS else 1


def _png_exif(path: str | os.PathLike[str]) -> bytes:
    with open(path, "rb") as stream:
        stream.seek(8)
        while len(head := stream.read(8)) == 8:
            length, kind = struct.unpack(">I4s", head)
            if kind == b"eXIf":
                return b"Exif\0\0" + stream.read(length)
            stream.seek(length + 4, os.SEEK_CUR)
    return b""


def _is_deep_pgm(image: Image.Image) -> bool:
    return image.format == "PPM" and image.mode == "I"


def _rgb(image: ImageFile.ImageFile) -> Image.Image:
    """Decode to RGB, 16 bits to their high byte, transparency to white."""
    raw = _raw_mode(image)
    if raw == ("RGB", 65535):  # Pillow would round these, and so differ from the same pixels in a PNG
        image.tile = [image.tile[0]._replace(codec_name="raw", args="RGB;16B")]
    image.load()
    if image.mode.startswith("I"):
        return _grey16(image, raw).convert("RGB")
    key = image.info.get("transparency")
    if raw == "RGB;16B" and isinstance(key, tuple):
        image.info["transparency"] = tuple(value >> 8 for value in key)
    elif raw in ("L;2", "L;4") and isinstance(key, int):  # Pillow widens the pixels, but not this
        image.info["transparency"] = key * {"L;2": 85, "L;4": 17}[raw]
    if not image.has_transparency_data:
        return image.convert("RGB")
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")


def _raw_mode(image: ImageFile.ImageFile) -> Any:
    """Return how the file itself stores its pixels, which is known only until they are decoded."""
    raw = image.tile[0].args if image.tile else None
    return raw[0] if isinstance(raw, tuple) and image.format == "TIFF" else raw


def _grey16(image: ImageFile.ImageFile, raw: Any) -> Image.Image:
    values = np.asarray(image)
    grey = (values >> (4 if raw == "I;12" else 8)).astype(np.uint8)
    if getattr(image, "tag_v2", {}).get(_PHOTOMETRIC) == 0:  # white is zero, which Pillow leaves to us
        grey = ~grey
    if isinstance(key := image.info.get("transparency"), int):
        grey[values == key] = 255
    return Image.fromarray(grey)
