"""What cutting and gathering promise, and what a bag must not tell."""

import json
import logging

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from puzzles import noise, patchwork
from reference_scores import turned

from jigsaw.errors import JigsawError
from jigsaw.pieces import Bag, Truth, cut, gather

SIDES = st.integers(1, 5)


def reassembled(bag, truth, image):
    """Lay the pieces of an image as the truth has it."""
    rows, columns = truth.shapes[image]
    tiles = [[None] * columns for _ in range(rows)]
    for piece, (of, row, column, turn) in zip(bag.pixels, truth.places, strict=True):
        if of == image:
            tiles[row][column] = turned(piece, int(turn))
    return patchwork(tiles)


@given(
    shapes=st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=4),
    size=st.integers(2, 7),
    rest=st.integers(0, 6),
    seed=st.integers(0, 2**63),
    keep=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_the_truth_puts_every_image_together_again(shapes, size, rest, seed, keep):
    rest = rest % size
    pictures = [
        noise(rows * size + rest, columns * size + rest // 2, seed=i)
        for i, (rows, columns) in enumerate(shapes)
    ]
    bag, truth = cut(pictures, size, seed, keep)
    assert bag.pixels.shape == (sum(rows * columns for rows, columns in shapes), size, size, 3)
    assert truth.shapes.tolist() == [list(shape) for shape in shapes]
    for image, (rows, columns) in enumerate(shapes):
        expected = pictures[image][: rows * size, : columns * size]
        np.testing.assert_array_equal(reassembled(bag, truth, image), expected)


def test_pieces_keep_their_orientation_if_asked():
    picture = noise(40, 60)
    bag, truth = cut([picture], 4, seed=3, keep_orientation=True)
    assert (truth.places[:, 3] == 0).all()
    upright = [picture[y : y + 4, x : x + 4].tobytes() for y in range(0, 40, 4) for x in range(0, 60, 4)]
    found = [piece.tobytes() for piece in bag.pixels]
    assert sorted(found) == sorted(upright)
    assert found != upright


def test_order_and_turns_look_random():
    _, truth = cut([noise(80, 100), noise(80, 100, seed=1)], 2, seed=0)
    image, row, column, turn = truth.places.T
    n = len(turn)
    assert n == 4000
    assert np.bincount(turn, minlength=4) == pytest.approx(n / 4, rel=0.12)
    assert np.bincount(image[: n // 2]) == pytest.approx(n / 4, rel=0.12)  # the images are mixed
    where = (image * 2000 + row * 50 + column).astype(float)
    assert abs(np.corrcoef(where, np.arange(n))[0, 1]) < 0.08
    assert abs(np.corrcoef(where, turn)[0, 1]) < 0.08
    assert (np.abs(np.diff(where)) == 1).sum() < 20
    assert (where == np.arange(n)).sum() < 10


def test_the_same_seed_cuts_the_same_bag_and_another_does_not():
    picture = noise(40, 40)
    (bag, truth), (again, truth_again), (other, _) = (cut([picture], 4, seed) for seed in (7, 7, 8))
    np.testing.assert_array_equal(bag.pixels, again.pixels)
    np.testing.assert_array_equal(truth.places, truth_again.places)
    assert not np.array_equal(bag.pixels, other.pixels)
    assert bag.digest == again.digest != other.digest


def test_a_crop_is_said(caplog, tmp_path):
    path = tmp_path / "odd.png"
    Image.fromarray(noise(59, 90)).save(path)
    with caplog.at_level(logging.INFO, logger="jigsaw"):
        bag, _ = cut([path])
    assert len(bag) == 6
    assert "odd.png" in caplog.text
    assert "90 x 59" in caplog.text
    assert "84 x 56" in caplog.text


def test_an_image_that_divides_is_not_cropped(caplog):
    with caplog.at_level(logging.INFO, logger="jigsaw"):
        cut([noise(56, 84)])
    assert caplog.text == ""


@pytest.mark.parametrize(("height", "width"), [(27, 100), (100, 27), (1, 1)])
def test_an_image_smaller_than_a_piece_is_refused(tmp_path, height, width):
    path = tmp_path / "small.png"
    Image.fromarray(noise(height, width)).save(path)
    with pytest.raises(JigsawError, match=rf"small\.png.*{width} x {height}.*smaller than one piece.*28"):
        cut([path])


def test_one_small_image_spoils_a_mixed_bag(tmp_path):
    path = tmp_path / "small.png"
    Image.fromarray(noise(20, 20)).save(path)
    with pytest.raises(JigsawError, match=r"small\.png"):
        cut([noise(56, 56), path])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"images": []}, "at least one"),
        ({"piece_size": 1}, "piece size 1"),
        ({"piece_size": 0}, "piece size 0"),
        ({"seed": -1}, "seed is -1"),
        ({"images": [np.zeros((8, 8), np.uint8)]}, "uint8"),
        ({"images": [np.zeros((8, 8, 3))]}, "uint8"),
    ],
)
def test_nonsense_is_refused(arguments, message):
    with pytest.raises(JigsawError, match=message):
        cut(**{"images": [noise(8, 8)], "piece_size": 4, **arguments})


def test_an_image_of_one_piece_is_a_puzzle():
    bag, truth = cut([noise(28, 28)])
    assert len(bag) == 1
    assert truth.shapes.tolist() == [[1, 1]]


def test_bag_and_truth_survive_their_files(tmp_path):
    bag, truth = cut([noise(12, 16), noise(8, 8, seed=1)], 4, seed=11)
    bag.save(tmp_path / "pieces.h5")
    truth.save(tmp_path / "truth.h5")
    again, truth_again = Bag.load(tmp_path / "pieces.h5"), Truth.load(tmp_path / "truth.h5")
    np.testing.assert_array_equal(again.pixels, bag.pixels)
    np.testing.assert_array_equal(truth_again.places, truth.places)
    np.testing.assert_array_equal(truth_again.shapes, truth.shapes)
    assert again.digest == bag.digest == truth_again.pieces_digest
    assert (truth_again.seed, truth_again.names) == (11, ("array", "array"))


# -- what a bag must not tell ----------------------------------------------------------------------------


def rearranged(pieces, shapes):
    """Return images of the given shapes made of the given upright pieces, in their order."""
    pieces = iter(pieces)
    return [
        patchwork([[next(pieces) for _ in range(columns)] for _ in range(rows)]) for rows, columns in shapes
    ]


def told(path):
    """Return all that a file tells besides pixels, checksums and what the work cost."""
    with h5py.File(path) as file:
        names: list[str] = []
        file.visit(names.append)
        attributes = dict(file.attrs)
        layout = [(name, file[name].dtype, file[name].shape, dict(file[name].attrs)) for name in names]
        creation = [(file[name].chunks, file[name].compression, file[name].maxshape) for name in names]
    attributes.pop("digest")
    notes = json.loads(attributes.pop("notes"))
    for cost in notes["stages"].values():
        assert set(cost) == {"seconds", "core_seconds", "peak_mb"}
        cost.clear()
    return attributes, notes, layout, creation


ARRANGEMENTS = ([(2, 6)], [(6, 2)], [(3, 4)], [(1, 12)], [(2, 3), (3, 2)], [(1, 1), (1, 11)], [(1, 1)] * 12)


def test_a_bag_tells_nothing_of_dimensions_or_number_of_images(tmp_path):
    tiles = [noise(5, 5, seed=i) for i in range(12)]
    tellings, sizes, looks = [], [], []
    for i, shapes in enumerate(ARRANGEMENTS):
        bag, _ = cut(rearranged(tiles, shapes), 5, seed=i)
        path = tmp_path / f"{i}.h5"
        bag.save(path)
        tellings.append(told(path))
        sizes.append(path.stat().st_size)
        looks.append(sorted(min(turned(p, r).tobytes() for r in range(4)) for p in bag.pixels))
    assert all(telling == tellings[0] for telling in tellings)
    assert all(look == looks[0] for look in looks)
    assert max(sizes) - min(sizes) < 16  # the digits of seconds and megabytes


def test_a_bag_tells_neither_names_nor_seed(tmp_path):
    folder = tmp_path / "secretfolder"
    folder.mkdir()
    paths = [folder / "secretfirst.png", folder / "secretsecond.png"]
    for i, path in enumerate(paths):
        Image.fromarray(noise(56, 84, seed=i)).save(path)
    bag, truth = cut(paths, seed=918273645)
    bag.save(tmp_path / "pieces.h5")
    truth.save(tmp_path / "truth.h5")
    content, known = ((tmp_path / name).read_bytes() for name in ("pieces.h5", "truth.h5"))
    for secret in (b"secret", b"918273645", b"seed", b"names", b"shape", (918273645).to_bytes(4, "little")):
        assert secret not in content
    for secret in (b"secretfirst", b"secretsecond", b"918273645"):
        assert secret in known


def test_a_bag_of_upright_pieces_does_not_say_so(tmp_path):
    for keep in (False, True):
        cut([noise(20, 20)], 5, keep_orientation=keep)[0].save(tmp_path / f"{keep}.h5")
    assert told(tmp_path / "True.h5") == told(tmp_path / "False.h5")


def test_the_digest_ties_a_bag_to_its_pixels():
    pixels = noise(40, 10).reshape(4, 10, 10, 3)
    changed = pixels.copy()
    changed[3, 9, 9, 2] ^= 1
    digests = {Bag(array).digest for array in (pixels, changed, pixels[::-1], pixels[:3])}
    assert len(digests) == 4
    assert Bag(pixels.copy()).digest in digests


# -- gathering -------------------------------------------------------------------------------------------


def put(folder, name, height, width, seed=0):
    folder.mkdir(exist_ok=True)
    picture = noise(height, width, seed)
    Image.fromarray(picture).save(folder / name)
    return picture


def test_a_folder_of_equal_squares_is_a_bag(tmp_path):
    folder = tmp_path / "pieces"
    expected = [put(folder, f"piece{i}.png", 9, 9, seed=i) for i in range(12)]
    (folder / "notes.txt").write_text("no image")
    bag = gather(folder)
    np.testing.assert_array_equal(bag.pixels, np.stack(expected))  # piece2 before piece10


def test_a_gathered_bag_tells_no_names(tmp_path):
    put(tmp_path / "pieces", "row1column2.png", 9, 9)
    gather(tmp_path / "pieces").save(tmp_path / "pieces.h5")
    assert b"row1" not in (tmp_path / "pieces.h5").read_bytes()


def test_pieces_of_unequal_size_are_refused(tmp_path):
    folder = tmp_path / "pieces"
    put(folder, "a.png", 9, 9)
    put(folder, "b.png", 8, 8)
    with pytest.raises(JigsawError, match=r"b\.png.*8 x 8.*a\.png is 9 x 9.*one size"):
        gather(folder)


def test_a_piece_that_is_not_square_is_refused(tmp_path):
    put(tmp_path / "pieces", "a.png", 9, 8)
    with pytest.raises(JigsawError, match=r"a\.png.*square.*8 x 9"):
        gather(tmp_path / "pieces")


def test_pieces_of_one_pixel_are_refused(tmp_path):
    put(tmp_path / "pieces", "a.png", 1, 1)
    with pytest.raises(JigsawError, match=r"pieces.*1 x 1"):
        gather(tmp_path / "pieces")


def test_an_empty_folder_is_refused(tmp_path):
    (tmp_path / "nothing").mkdir()
    with pytest.raises(JigsawError, match=r"nothing.*holds no images"):
        gather(tmp_path / "nothing")


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(JigsawError, match="nowhere"):
        gather(tmp_path / "nowhere")


def test_a_damaged_piece_is_refused(tmp_path):
    put(tmp_path / "pieces", "a.png", 9, 9)
    (tmp_path / "pieces" / "b.png").write_bytes((tmp_path / "pieces" / "a.png").read_bytes()[:60])
    with pytest.raises(JigsawError, match=r"b\.png"):
        gather(tmp_path / "pieces")


# -- missing pieces --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("missing", "left"), [(0.0, 20), (0.05, 19), (0.5, 10), (0.99, 1)])
def test_the_share_that_is_missing_is_gone_from_bag_and_truth(missing, left):
    picture = noise(20, 25)
    bag, truth = cut([picture], 5, seed=2, missing=missing)
    assert len(bag) == len(truth.places) == left
    assert truth.shapes.tolist() == [[4, 5]]
    for piece, (_, row, column, turn) in zip(bag.pixels, truth.places, strict=True):
        there = picture[5 * row : 5 * row + 5, 5 * column : 5 * column + 5]
        np.testing.assert_array_equal(np.rot90(piece, -turn), there)
    whole = cut([picture], 5, seed=2)[0]
    assert {piece.tobytes() for piece in np.sort(bag.pixels.reshape(left, -1))} <= {
        piece.tobytes() for piece in np.sort(whole.pixels.reshape(20, -1))
    }


@pytest.mark.parametrize("missing", [-0.1, 1, 1.5])
def test_a_share_that_cannot_be_missing_is_refused(missing):
    with pytest.raises(JigsawError, match="missing is"):
        cut([noise(20, 20)], 5, missing=missing)


# -- crops -----------------------------------------------------------------------------------------------


@given(data=st.data(), columns=SIDES, rows=SIDES, rest=st.integers(0, 3), seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_a_crop_is_the_puzzle_of_that_part_alone(data, columns, rows, rest, seed):
    picture = noise(rows * 4 + rest, columns * 4 + rest)
    x, y = data.draw(st.integers(0, columns - 1)), data.draw(st.integers(0, rows - 1))
    width, height = data.draw(st.integers(1, columns - x)), data.draw(st.integers(1, rows - y))
    part = picture[4 * y : 4 * (y + height), 4 * x : 4 * (x + width)]
    bag, truth = cut([picture], 4, seed, crops=[f"{width}x{height}+{x}+{y}"])
    alone, truth_alone = cut([part], 4, seed)
    np.testing.assert_array_equal(bag.pixels, alone.pixels)
    np.testing.assert_array_equal(truth.places, truth_alone.places)
    np.testing.assert_array_equal(truth.shapes, truth_alone.shapes)


def test_each_image_of_a_bag_has_its_crop_or_none_and_the_truth_tells(tmp_path, caplog):
    for name in ("a.png", "b.png", "c.png"):
        Image.fromarray(noise(59, 90)).save(tmp_path / name)
    paths = [tmp_path / name for name in ("a.png", "b.png", "c.png")]
    with caplog.at_level(logging.INFO, logger="jigsaw"):
        bag, truth = cut(paths, crops=["2x1+1+1", None, "3x2"])
    assert truth.names == ("a.png[2x1+1+1]", "b.png", "c.png[3x2+0+0]")
    assert truth.shapes.tolist() == [[1, 2], [2, 3], [2, 3]]
    assert len(bag) == 14
    assert "b.png: cropped" in caplog.text
    assert "a.png" not in caplog.text  # what lies outside of a crop does not matter


@pytest.mark.parametrize(
    ("crops", "message"),
    [
        (["2x2"], "1 crops were given for 2 images: give one for each"),
        (["2x2", None, None], "3 crops were given for 2 images"),
        ([None, "2"], r"crop '2' is not WxH\+X\+Y in pieces; write it as 20x17 or 20x17\+3\+0"),
        ([None, "-"], "crop '-' is not"),
        (["2x2+1", None], r"crop '2x2\+1' is not"),
        (["0x2", None], "crop '0x2' is not"),
        (["5x2", None], r"image: crop 5x2\+0\+0 reaches beyond the image, which is 4x2 pieces"),
        ([None, "1x2+0+1"], r"b\.png: crop 1x2\+0\+1 reaches beyond the image, which is 3x2 pieces"),
        ([None, "1x1+3+0"], r"b\.png: crop 1x1\+3\+0 reaches beyond.*smaller or move it"),
    ],
)
def test_a_crop_that_cannot_be_is_refused(tmp_path, crops, message):
    Image.fromarray(noise(8, 12)).save(tmp_path / "b.png")
    with pytest.raises(JigsawError, match=message):
        cut([noise(8, 16), tmp_path / "b.png"], 4, crops=crops)


def test_an_image_that_loses_all_its_pieces_is_refused():
    with pytest.raises(JigsawError, match=r"no piece of .* is left"):
        cut([noise(30, 30), noise(5, 5)], 5, missing=0.97)
