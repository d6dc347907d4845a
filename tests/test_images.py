"""What reading, measuring, writing and listing images promise."""

import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile, ImageOps, TiffImagePlugin

from jigsaw.errors import JigsawError
from jigsaw.images import SUFFIXES, image_size, list_images, read_image, write_image

RANDOM = np.random.default_rng(7)
RGB = RANDOM.integers(0, 256, (9, 14, 3), dtype=np.uint8)
DEEP = RANDOM.integers(0, 65536, (9, 14, 3)).astype(np.uint16)
DEEP[0, 0] = (0x00FF, 0x80FF, 0xFFFF)  # rounding would make 1 and 129 of the first two
GREY, RGB_COLOUR, GREY_ALPHA, RGB_ALPHA = 0, 2, 4, 6


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, bits, colour, rows, *before, after=()):
    """Return a PNG file, made by hand because Pillow writes no 16-bit colour."""
    head = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row for row in rows))
    parts = [chunk(b"IHDR", head), *before, chunk(b"IDAT", body), *after, chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def deep_png(array, colour, *before):
    return png(
        array.shape[1], array.shape[0], 16, colour, [row.astype(">u2").tobytes() for row in array], *before
    )


def deep_tiff(array, order="<", photometric=2, planar=False, bits=16):
    """Return an uncompressed TIFF file of 16 bits, or of packed 12."""
    channels = 1 if array.ndim == 2 else array.shape[2]
    planes = [array[..., place] for place in range(channels)] if planar else [array]
    data = [plane.astype(order + "u2").tobytes() for plane in planes]
    if bits == 12:
        pairs = array.reshape(-1, 2).astype(int)
        data = [b"".join((a << 12 | b).to_bytes(3, "big") for a, b in pairs.tolist())]
    outside = 8 + 2 + 12 * 11 + 4
    lists = struct.pack(f"{order}{channels}H", *[bits] * channels)
    places = [outside + 2 * channels + 8 * len(data) + sum(map(len, data[:n])) for n in range(len(data))]
    lists += struct.pack(f"{order}{len(data)}I", *places)
    lists += struct.pack(f"{order}{len(data)}I", *map(len, data))
    one = len(data) == 1
    tags = [
        (256, 4, 1, array.shape[1]),
        (257, 4, 1, array.shape[0]),
        (258, 3, channels, bits if channels == 1 else outside),
        (259, 3, 1, 1),
        (262, 3, 1, photometric),
        (273, 4, len(data), places[0] if one else outside + 2 * channels),
        (277, 3, 1, channels),
        (278, 4, 1, array.shape[0]),
        (279, 4, len(data), len(data[0]) if one else outside + 2 * channels + 4 * len(data)),
        (284, 3, 1, 2 if planar else 1),
        (339, 3, 1, 1),
    ]
    head = (b"II" if order == "<" else b"MM") + struct.pack(f"{order}HI", 42, 8)
    entries = b"".join(
        struct.pack(f"{order}HHI", tag, kind, count)
        + (
            struct.pack(f"{order}HH", value, 0)
            if kind == 3 and count == 1
            else struct.pack(f"{order}I", value)
        )
        for tag, kind, count, value in tags
    )
    return head + struct.pack(f"{order}H", len(tags)) + entries + bytes(4) + lists + b"".join(data)


def saved(path, array_or_image, **options):
    image = array_or_image if isinstance(array_or_image, Image.Image) else Image.fromarray(array_or_image)
    image.save(path, **options)
    return path


def written(path, data):
    path.write_bytes(data)
    return path


def grey(values):
    return np.repeat(np.asarray(values, np.uint8)[..., None], 3, axis=-1)


def assert_same(image, expected):
    assert image.dtype == np.uint8
    assert image.flags.writeable
    np.testing.assert_array_equal(image, expected)


# --- depths and colours


@pytest.mark.parametrize("suffix", [".png", ".bmp", ".tif", ".ppm", ".webp"])
def test_8_bit_colour_is_read_as_it_is(tmp_path, suffix):
    options = {"lossless": True} if suffix == ".webp" else {}
    assert_same(read_image(saved(tmp_path / f"a{suffix}", RGB, **options)), RGB)


def test_16_bit_colour_png_is_reduced_to_its_high_byte(tmp_path):
    assert_same(read_image(written(tmp_path / "a.png", deep_png(DEEP, RGB_COLOUR))), DEEP >> 8)


def test_16_bit_grey_png_is_reduced_to_its_high_byte(tmp_path):
    file = written(tmp_path / "a.png", deep_png(DEEP[..., 1], GREY))
    assert_same(read_image(file), grey(DEEP[..., 1] >> 8))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("planar", [False, True])
def test_16_bit_colour_tiff_is_reduced_to_its_high_byte(tmp_path, order, planar):
    assert_same(read_image(written(tmp_path / "a.tif", deep_tiff(DEEP, order, planar=planar))), DEEP >> 8)


@pytest.mark.parametrize("order", ["<", ">"])
def test_16_bit_grey_tiff_is_reduced_to_its_high_byte(tmp_path, order):
    file = written(tmp_path / "a.tif", deep_tiff(DEEP[..., 1], order, photometric=1))
    assert_same(read_image(file), grey(DEEP[..., 1] >> 8))


def test_16_bit_grey_tiff_in_which_zero_is_white_is_turned_over(tmp_path):
    file = written(tmp_path / "a.tif", deep_tiff(DEEP[..., 1], photometric=0))
    assert_same(read_image(file), grey(255 - (DEEP[..., 1] >> 8)))


def test_12_bit_grey_tiff_is_reduced_to_its_8_high_bits(tmp_path):
    values = DEEP[..., 1] >> 4
    file = written(tmp_path / "a.tif", deep_tiff(values, photometric=1, bits=12))
    assert_same(read_image(file), grey(values >> 4))


def test_16_bit_ppm_and_pgm_are_reduced_to_their_high_byte(tmp_path):
    colour = written(tmp_path / "a.ppm", b"P6 14 9 65535\n" + DEEP.astype(">u2").tobytes())
    assert_same(read_image(colour), DEEP >> 8)
    grey_one = written(tmp_path / "a.pgm", b"P5 14 9 65535\n" + DEEP[..., 1].astype(">u2").tobytes())
    assert_same(read_image(grey_one), grey(DEEP[..., 1] >> 8))


def test_1_bit_and_grey_are_spread_over_three_channels(tmp_path):
    bits = RGB[..., 0] > 127
    assert_same(read_image(saved(tmp_path / "a.png", Image.fromarray(bits))), grey(bits * 255))
    assert_same(read_image(saved(tmp_path / "b.png", RGB[..., 0])), grey(RGB[..., 0]))


def test_cmyk_is_converted_to_the_colours_it_stands_for(tmp_path):
    inks = np.array([[[0, 0, 0, 0], [255, 0, 0, 0], [0, 255, 255, 0], [0, 0, 0, 255]]], np.uint8)
    file = saved(tmp_path / "a.tif", Image.fromarray(inks, "CMYK"))
    expected = [[[255, 255, 255], [0, 255, 255], [255, 0, 0], [0, 0, 0]]]
    assert_same(read_image(file), np.array(expected, np.uint8))


def test_32_bit_pixels_are_refused(tmp_path):
    file = saved(tmp_path / "deep.tif", np.ones((3, 3), np.float32))
    for function in (read_image, image_size):
        with pytest.raises(JigsawError, match=r"deep\.tif.*8 or 16 bits"):
            function(file)


# --- transparency


def test_alpha_lets_white_through(tmp_path):
    pixels = np.array([[[10, 20, 30, 255], [10, 20, 30, 0], [0, 100, 255, 128]]], np.uint8)
    colours = read_image(saved(tmp_path / "a.png", pixels))
    assert_same(colours[:, :2], [[[10, 20, 30], [255, 255, 255]]])
    np.testing.assert_allclose(colours[0, 2], [127, 177, 255], atol=1)


def test_grey_with_alpha_lets_white_through(tmp_path):
    pixels = np.array([[[10, 255], [10, 0], [0, 128]]], np.uint8)
    assert_same(read_image(saved(tmp_path / "a.png", Image.fromarray(pixels, "LA"))), grey([[10, 255, 127]]))


def test_16_bit_alpha_lets_white_through(tmp_path):
    pixels = np.array([[[0x0A00, 0xFFFF], [0x0A00, 0x0000]]], np.uint16)
    assert_same(read_image(written(tmp_path / "a.png", deep_png(pixels, GREY_ALPHA))), grey([[10, 255]]))
    pixels = np.array([[[1000, 2000, 3000, 0xFFFF], [1000, 2000, 3000, 0]]], np.uint16)
    file = written(tmp_path / "b.png", deep_png(pixels, RGB_ALPHA))
    assert_same(read_image(file), [[[3, 7, 11], [255, 255, 255]]])


@pytest.mark.parametrize("suffix", [".png", ".gif"])
def test_a_palette_with_a_transparent_entry_lets_white_through(tmp_path, suffix):
    image = Image.new("P", (2, 1))
    image.putpalette([10, 20, 30, 40, 50, 60])
    image.putdata([0, 1])
    file = saved(tmp_path / f"a{suffix}", image, transparency=1)
    assert_same(read_image(file), [[[10, 20, 30], [255, 255, 255]]])


@pytest.mark.parametrize(("bits", "row", "key", "expected"), [
    (2, 0b00_01_11_00, 1, [0, 255, 255, 0]),
    (4, 0x0_7, 7, [0, 255]),
    (8, 7, 7, [255]),
])  # fmt: skip
def test_the_transparent_grey_of_a_png_is_white_at_every_depth(tmp_path, bits, row, key, expected):
    data = png(len(expected), 1, bits, GREY, [bytes([row])], chunk(b"tRNS", struct.pack(">H", key)))
    assert_same(read_image(written(tmp_path / "a.png", data)), grey([expected]))


def test_the_transparent_colour_of_a_16_bit_png_is_white(tmp_path):
    pixels = np.array([[[1000, 2000, 3000], [5000, 2000, 3000]]], np.uint16)
    colour = written(
        tmp_path / "a.png",
        deep_png(pixels, RGB_COLOUR, chunk(b"tRNS", struct.pack(">HHH", 1000, 2000, 3000))),
    )
    assert_same(read_image(colour), [[[255, 255, 255], [19, 7, 11]]])
    greys = np.array([[1000, 1001]], np.uint16)
    one = written(tmp_path / "b.png", deep_png(greys, GREY, chunk(b"tRNS", struct.pack(">H", 1000))))
    assert_same(read_image(one), grey([[255, 3]]))


# --- orientation


def exif(orientation):
    tags = Image.Exif()
    tags[0x0112] = orientation
    return tags


@pytest.mark.parametrize("suffix", [".png", ".webp", ".tif"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_an_image_is_turned_as_its_exif_tag_says(tmp_path, suffix, orientation):
    file = saved(tmp_path / f"a{suffix}", RGB, exif=exif(orientation), lossless=True)
    turned = {
        1: RGB,
        2: RGB[:, ::-1],
        3: RGB[::-1, ::-1],
        4: RGB[::-1],
        5: RGB.swapaxes(0, 1),
        6: np.rot90(RGB, -1),
        7: np.rot90(RGB, 2).swapaxes(0, 1),
        8: np.rot90(RGB, 1),
    }[orientation]
    assert_same(read_image(file), turned)
    assert image_size(file) == (turned.shape[1], turned.shape[0])


def test_a_jpeg_is_turned_as_its_exif_tag_says(tmp_path):
    file = saved(tmp_path / "a.jpg", RGB, exif=exif(6))
    with Image.open(file) as image:
        assert_same(read_image(file), np.asarray(ImageOps.exif_transpose(image)))
    assert image_size(file) == (9, 14)


def test_an_exif_tag_after_the_pixels_of_a_png_counts_too(tmp_path):
    tags = chunk(b"eXIf", exif(6).tobytes()[6:])
    data = png(14, 9, 8, RGB_COLOUR, [row.tobytes() for row in RGB], after=[tags])
    file = written(tmp_path / "a.png", data)
    assert image_size(file) == (9, 14)
    assert_same(read_image(file), np.rot90(RGB, -1))


def test_unreadable_and_unknown_exif_tags_are_passed_over(tmp_path):
    assert image_size(saved(tmp_path / "odd.png", RGB, exif=exif(9))) == (14, 9)
    data = png(14, 9, 8, RGB_COLOUR, [row.tobytes() for row in RGB], chunk(b"eXIf", b"rubbish"))
    assert_same(read_image(written(tmp_path / "a.png", data)), RGB)


# --- what is refused


@pytest.mark.parametrize("suffix", [".gif", ".png", ".webp", ".tif"])
def test_several_frames_are_refused(tmp_path, suffix):
    frames = [Image.fromarray(RGB), Image.fromarray(RGB[::-1])]
    frames[0].save(tmp_path / f"film{suffix}", save_all=True, append_images=frames[1:])
    for function in (read_image, image_size):
        with pytest.raises(JigsawError, match=rf"film\{suffix}: has several frames"):
            function(tmp_path / f"film{suffix}")


def test_a_camera_file_with_a_preview_is_read_as_its_photograph(tmp_path):
    Image.fromarray(RGB).save(tmp_path / "one.jpg")
    preview = Image.fromarray(RGB[:4, :4])
    Image.fromarray(RGB).save(tmp_path / "two.jpg", format="MPO", save_all=True, append_images=[preview])
    assert_same(read_image(tmp_path / "two.jpg"), read_image(tmp_path / "one.jpg"))


@pytest.mark.parametrize("suffix", sorted(SUFFIXES - {".jpeg", ".tiff", ".pgm"}))
def test_a_truncated_image_is_refused_by_name(tmp_path, suffix):
    data = saved(
        tmp_path / f"whole{suffix}", RANDOM.integers(0, 256, (40, 40, 3), dtype=np.uint8)
    ).read_bytes()
    file = written(tmp_path / f"half{suffix}", data[: len(data) // 2])
    with pytest.raises(JigsawError, match=rf"half\{suffix}: .*get it again"):
        read_image(file)


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    for suffix in (".png", ".jpg", ".webp", ".bmp", ".ppm", ".gif", ".tif"):
        saved(folder / f"a{suffix}", RGB)
    return {file: (file.read_bytes(), read_image(file)) for file in list_images(folder)}


def tried(function, path):
    try:
        return function(path), None
    except JigsawError as error:
        return None, str(error)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_file_cut_anywhere_is_refused_or_still_complete(examples, data):
    file = data.draw(st.sampled_from(sorted(examples)))
    content, expected = examples[file]
    cut = written(file.with_name(f"cut{file.suffix}"), content[: data.draw(st.integers(0, len(content) - 1))])
    image, refusal = tried(read_image, cut)
    if refusal is None:
        assert_same(image, expected)
    else:
        assert str(cut) in refusal


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_damaged_file_raises_no_other_error(examples, data):
    file = data.draw(st.sampled_from(sorted(examples)))
    content = bytearray(examples[file][0])
    for place in data.draw(st.lists(st.integers(0, min(len(content), 300) - 1), min_size=1, max_size=8)):
        content[place] = data.draw(st.integers(0, 255))
    damaged = written(file.with_name(f"damaged{file.suffix}"), bytes(content))
    for function in (read_image, image_size):
        result, refusal = tried(function, damaged)
        assert result is not None or str(damaged) in refusal


@pytest.mark.parametrize("function", [read_image, image_size])
def test_what_is_no_image_is_refused_by_name(tmp_path, function):
    (tmp_path / "folder.png").mkdir()
    written(tmp_path / "empty.png", b"")
    written(tmp_path / "text.png", b"this is no image, but a few words")
    written(tmp_path / "flat.png", png(0, 3, 8, GREY, [b""] * 3))
    for name, says in {
        "none.png": "No such file",
        "folder.png": "is a folder",
        "empty.png": "is an empty file",
        "text.png": "is not an image",
        "flat.png": "has no pixels",
    }.items():
        with pytest.raises(JigsawError, match=rf"{name}.*{says}"):
            function(tmp_path / name)


# --- the limit and Pillow's own settings


def claim(width, height):
    """Return a PNG header that promises more than follows."""
    return png(width, height, 8, GREY, [b""])


@pytest.mark.parametrize("function", [read_image, image_size])
@pytest.mark.parametrize("size", [(30_000, 20_000), (200_000, 200_000)])
def test_too_many_pixels_are_refused_before_they_are_decoded(tmp_path, function, size):
    file = written(tmp_path / "bomb.png", claim(*size))
    with pytest.raises(JigsawError, match=r"bomb\.png: .*500000000 pixels allowed.*JIGSAW_MAX_PIXELS"):
        function(file)


def test_the_limit_can_be_set(tmp_path, monkeypatch):
    file = written(tmp_path / "large.png", claim(30_000, 20_000))
    monkeypatch.setenv("JIGSAW_MAX_PIXELS", "600000000")
    assert image_size(file) == (30_000, 20_000)
    monkeypatch.setenv("JIGSAW_MAX_PIXELS", "599999999")
    with pytest.raises(JigsawError, match="30000 x 20000"):
        image_size(file)


@pytest.mark.parametrize("text", ["many", "-5", "0", "1e9"])
def test_a_limit_that_is_no_number_is_refused(tmp_path, monkeypatch, text):
    monkeypatch.setenv("JIGSAW_MAX_PIXELS", text)
    with pytest.raises(JigsawError, match=f"JIGSAW_MAX_PIXELS={text}"):
        image_size(saved(tmp_path / "a.png", RGB))


def test_pillow_is_left_as_it_was_and_does_not_warn(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    monkeypatch.setattr(TiffImagePlugin, "READ_LIBTIFF", False)
    file = saved(tmp_path / "a.png", RGB)
    cut = written(tmp_path / "cut.png", file.read_bytes()[:-150])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(read_image(file), RGB)
        with pytest.raises(JigsawError, match="damaged"):
            read_image(cut)
    settings_now = Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES, TiffImagePlugin.READ_LIBTIFF
    assert settings_now == (100, True, False)


def test_measuring_does_not_decode(tmp_path, monkeypatch):
    file = saved(tmp_path / "a.png", RGB)
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda self: pytest.fail("decoded"))
    assert image_size(file) == (14, 9)


# --- writing


@pytest.mark.parametrize("suffix", [".png", ".PNG", ".webp", ".tif", ".tiff", ".bmp", ".ppm"])
def test_what_is_written_is_read_again(tmp_path, suffix):
    write_image(tmp_path / "new" / f"a{suffix}", RGB)
    assert_same(read_image(tmp_path / "new" / f"a{suffix}"), RGB)


def test_a_written_jpeg_is_close(tmp_path):
    smooth = np.repeat(np.linspace(0, 255, 64).astype(np.uint8)[None, :, None], 32, axis=0).repeat(3, axis=2)
    write_image(tmp_path / "a.jpeg", smooth)
    assert np.abs(read_image(tmp_path / "a.jpeg").astype(int) - smooth).max() < 6


def test_a_view_of_an_array_and_a_grey_array_can_be_written(tmp_path):
    write_image(tmp_path / "a.png", RGB[::-2, ::3])
    assert_same(read_image(tmp_path / "a.png"), RGB[::-2, ::3])
    write_image(tmp_path / "b.png", RGB[..., 0])
    assert_same(read_image(tmp_path / "b.png"), grey(RGB[..., 0]))


@pytest.mark.parametrize("name", ["a.xyz", "a", "a.gif"])
def test_an_unknown_suffix_is_refused_with_those_known(tmp_path, name):
    with pytest.raises(JigsawError, match=r"\.png, \.jpg, \.jpeg, \.webp"):
        write_image(tmp_path / name, RGB)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "side"), [("a.webp", 16_384), ("a.jpg", 65_501)])
def test_an_image_too_large_for_its_format_is_refused(tmp_path, name, side):
    with pytest.raises(JigsawError, match=rf"{side} x 1 is too large.*\.png"):
        write_image(tmp_path / name, np.zeros((1, side, 3), np.uint8))


def test_an_array_that_is_no_image_is_refused(tmp_path):
    for array in (RGB.astype(float), RGB[:0]):
        with pytest.raises(ValueError, match="not a uint8 image"):
            write_image(tmp_path / "a.png", array)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    write_image(tmp_path / "a.png", RGB)

    def full(self, path, **options):
        Path(path).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", full)
    with pytest.raises(JigsawError, match=r"a\.png.*No space left"):
        write_image(tmp_path / "a.png", RGB[::-1])
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]
    assert_same(read_image(tmp_path / "a.png"), RGB)


# --- listing


def test_images_are_listed_in_the_order_people_count(tmp_path):
    for name in ("10.png", "2.jpg", "1.TIF", "b2.png", "B10.png", ".3.png", "notes.txt", "b.webp"):
        (tmp_path / name).touch()
    (tmp_path / "folder.png").mkdir()
    assert [path.name for path in list_images(tmp_path)] == [
        "1.TIF", "2.jpg", "10.png", "b.webp", "b2.png", "B10.png"
    ]  # fmt: skip


@pytest.mark.parametrize("suffix", sorted(SUFFIXES))
def test_every_suffix_is_listed(tmp_path, suffix):
    (tmp_path / f"a{suffix}").touch()
    assert list_images(tmp_path) == [tmp_path / f"a{suffix}"]


@settings(max_examples=30, deadline=None)
@given(numbers=st.sets(st.integers(0, 10**12), max_size=12))
def test_numbered_files_are_listed_by_number(tmp_path_factory, numbers):
    folder = tmp_path_factory.mktemp("numbered")
    for number in numbers:
        (folder / f"photo_{number}.jpg").touch()
    assert [int(path.stem[6:]) for path in list_images(folder)] == sorted(numbers)


def test_a_folder_that_is_none_is_refused_by_name(tmp_path):
    (tmp_path / "file").touch()
    for name in ("missing", "file"):
        with pytest.raises(JigsawError, match=f"{name}: cannot be listed"):
            list_images(tmp_path / name)
