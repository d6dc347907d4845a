"""Files are whole or not there, and a reader refuses what is not the file it wants."""

import json
import os
import stat
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np
import pytest
from puzzles import cut_noise, solution_of, true_layout

from jigsaw.edges import Edges
from jigsaw.errors import JigsawError
from jigsaw.files import (
    FORMAT,
    digest,
    read_hdf5,
    read_json,
    read_yaml,
    replacing,
    scratch_folder,
    write_hdf5,
    write_json,
    write_text,
)
from jigsaw.measures import measure_called
from jigsaw.pieces import Bag, Truth
from jigsaw.solution import Solution

KINDS = {"pieces": Bag, "truth": Truth, "edges": Edges, "solution": Solution}


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """One file of each kind."""
    folder = tmp_path_factory.mktemp("originals")
    bag, truth = cut_noise(2, 3, 3)
    strips = np.arange(24 * 9, dtype=np.int16).reshape(24, 9)
    features = measure_called("ssd").Features(strips, strips[:, ::-1].copy())
    nearest = np.arange(48, dtype=np.int32).reshape(24, 2) % 24
    edges = Edges(features, nearest, nearest.astype(np.float32), nearest[:, 0], 2.5, "ssd", bag.digest)
    things = (bag, truth, edges, solution_of(true_layout(truth), bag))
    for kind, thing in zip(KINDS, things, strict=True):
        thing.save(folder / f"{kind}.h5")
    return folder


@pytest.fixture
def copy_of(originals, tmp_path):
    """Return a function that copies a file of a kind to where it may be spoilt."""

    def copied(kind):
        path = tmp_path / f"{kind}.h5"
        path.write_bytes((originals / path.name).read_bytes())
        return path

    return copied


def fields_of(thing):
    return {name: getattr(thing, name) for name in thing.__dataclass_fields__ if name != "notes"}


def same(thing, other):
    return all(
        np.asarray(value).dtype == np.asarray(getattr(other, name)).dtype
        and np.array_equal(value, getattr(other, name))
        for name, value in fields_of(thing).items()
    )


# -- whole or not at all ---------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, JigsawError, OSError])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "file.txt"
    path.write_text("old")

    def fail():
        with replacing(path) as temporary:
            temporary.write_text("half of the n")
            raise error("no more")

    with pytest.raises(JigsawError if error is OSError else error, match="no more"):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file.txt"]


def test_a_first_write_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(TypeError):
        write_hdf5(tmp_path / "file.h5", "pieces", {"pixels": np.zeros(3)}, {}, {"unwritable": object()})
    assert os.listdir(tmp_path) == []


def test_a_write_replaces_the_old_file_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "deep" / "er" / "file.txt"
    write_text(path, "old")
    write_text(path, "new")
    assert path.read_text() == "new"
    assert os.listdir(path.parent) == ["file.txt"]


def test_the_old_file_is_whole_until_the_new_one_is(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
        assert temporary.parent == path.parent
    assert path.read_text() == "new"


def test_files_can_be_read_by_those_whom_the_umask_allows(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "file.txt", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file.txt").stat().st_mode) == 0o640


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    for path in (tmp_path / "file" / "out.json", tmp_path / "file" / "deeper" / "out.json"):
        with pytest.raises(JigsawError, match=r"out\.json: cannot be written"):
            write_json(path, {})
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_folder_in_the_way_is_left_alone(tmp_path):
    (tmp_path / "out.json").mkdir()
    with pytest.raises(JigsawError, match=r"out\.json: cannot be written"):
        write_json(tmp_path / "out.json", {})
    assert os.listdir(tmp_path) == ["out.json"]


@pytest.fixture
def killed_writer(tmp_path):
    """Return a function that has a process killed in the middle of writing a file."""

    def killed(code):
        script = f"import os; from jigsaw import files, pieces; from pathlib import Path\n{code}"
        done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == -9, done.stderr

    return killed


@pytest.mark.parametrize("name", ["out.json", "out.h5", "out"])
def test_what_a_killed_writer_left_is_removed_by_the_next_one(tmp_path, killed_writer, name):
    killed_writer(f"with files.replacing('{name}') as t: t.write_text('half'); os.kill(os.getpid(), 9)")
    killed_writer(f"with files.replacing('{name}') as t, files.replacing(t): os.kill(os.getpid(), 9)")
    assert len(os.listdir(tmp_path)) == 2
    with replacing(tmp_path / name) as temporary:
        temporary.write_text("whole")
        assert os.listdir(tmp_path) == [temporary.name]
    assert os.listdir(tmp_path) == [name]


def test_a_folder_that_a_killed_process_was_filling_is_removed_by_the_next_one(tmp_path, killed_writer):
    killed_writer(
        "with files.scratch_folder(Path('images')) as f: (f / 'a').write_text('a'); os.kill(os.getpid(), 9)"
    )
    with scratch_folder(tmp_path / "images") as folder:
        assert os.listdir(tmp_path) == [folder.name]
    assert os.listdir(tmp_path) == []


def test_what_somebody_else_is_writing_is_left_alone(tmp_path):
    path = tmp_path / "out.h5"
    others = [".out.h5.backup.h5", ".out.h5.abcdefgh.json", "out.h5.abcdefgh.h5", ".my-out.h5.abcdefgh.h5"]
    for name in others:
        (tmp_path / name).write_text("mine")
    with replacing(path) as first:
        first.write_text("first")
        with replacing(path) as second:
            second.write_text("second")
        assert path.read_text() == "second"
    assert path.read_text() == "first"
    assert sorted(os.listdir(tmp_path)) == sorted([*others, "out.h5"])


@pytest.mark.skipif(os.getuid() == 0, reason="nothing is forbidden to root")
def test_a_forbidden_folder_is_named(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(JigsawError, match=r"out\.json: cannot be written"):
            write_json(tmp_path / "out.json", {})
    finally:
        tmp_path.chmod(0o700)


# -- JSON ------------------------------------------------------------------------------------------------


def test_json_comes_back_as_it_was(tmp_path):
    data = {"a": [1, 2.5, None, True], "ü": "–"}
    write_json(tmp_path / "file.json", data)
    assert read_json(tmp_path / "file.json") == data


@pytest.mark.parametrize("content", [b"", b'{"a": 1', b"\xff\xfe", b"\x89HDF", b"[" * 100_000])
def test_what_is_not_json_is_refused(tmp_path, content):
    (tmp_path / "file.json").write_bytes(content)
    with pytest.raises(JigsawError, match=r"file\.json: is not JSON"):
        read_json(tmp_path / "file.json")


def test_missing_json_is_named(tmp_path):
    with pytest.raises(JigsawError, match=r"file\.json"):
        read_json(tmp_path / "file.json")


# -- YAML ------------------------------------------------------------------------------------------------


def laughs(first, form):
    """Return YAML in which each of seven names stands for nine of the one before."""
    lines = [f"a: &a {first}\n"]
    for before, name in pairwise("abcdefg"):
        lines.append(f"{name}: &{name} {form.format(', '.join([f'*{before}'] * 9))}\n")
    return "".join(lines)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: !!python/object/apply:os.system [touch pwned]", "could not determine a constructor"),
        ("a: !mine 3", "could not determine a constructor"),
        ("a: &a [*a]", "contains itself"),
        (laughs("[1, 1]", "[{}]"), "stand for more than 100000 values"),
        (laughs("{x: 1}", "{{<<: [{}]}}"), "stand for more than 100000 values"),
        ("[" * 10_000, "recursion"),
        (f"a: {'x' * 10**6}", "more than 1000000 bytes"),
        ("a: 1\n---\na: 2", "single document"),
        ("- 1", "keys and values"),
        ("", "keys and values"),
        ("a: \0", "not allowed"),
    ],
)
def test_yaml_that_is_not_plain_data_of_a_sensible_size_is_refused(tmp_path, monkeypatch, text, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.yaml").write_text(text)
    with pytest.raises(JigsawError, match=rf"(?s)file\.yaml: cannot be read as an example.*{says}"):
        read_yaml(tmp_path / "file.yaml", "an example")
    assert os.listdir(tmp_path) == ["file.yaml"]


def test_aliases_of_plain_yaml_are_read(tmp_path):
    (tmp_path / "file.yaml").write_text("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\n")
    expected = {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}}
    assert read_yaml(tmp_path / "file.yaml", "an example") == expected


# -- the wrong file --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_comes_back_as_it_was(originals, tmp_path, kind):
    thing = KINDS[kind].load(originals / f"{kind}.h5")
    thing.save(tmp_path / "again.h5")
    assert same(KINDS[kind].load(tmp_path / "again.h5"), thing)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_another_kind_is_refused(originals, kind):
    for other in set(KINDS) - {kind}:
        with pytest.raises(JigsawError, match=rf"{other}\.h5.*kind {other}.*{kind} file is wanted"):
            KINDS[kind].load(originals / f"{other}.h5")


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_file_is_named_with_the_command_that_makes_it(tmp_path, kind):
    command = {"pieces": "cut", "truth": "cut", "edges": "compare", "solution": "solve"}[kind]
    with pytest.raises(JigsawError, match=rf"file\.h5: there is no such file.*jigsaw {command}"):
        KINDS[kind].load(tmp_path / "file.h5")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(JigsawError, match=tmp_path.name):
        Bag.load(tmp_path)


@pytest.mark.parametrize(("version", "age"), [(FORMAT + 1, "newer"), (FORMAT - 1, "older"), (10**6, "newer")])
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_another_format_is_refused(copy_of, kind, version, age):
    path = copy_of(kind)
    with h5py.File(path, "r+") as file:
        file.attrs["format"] = version
    with pytest.raises(JigsawError, match=rf"{kind}\.h5.*{age} format \({version}.*make it again"):
        KINDS[kind].load(path)


def test_a_foreign_hdf5_file_is_refused(tmp_path):
    with h5py.File(tmp_path / "foreign.h5", "w") as file:
        file["pixels"] = np.zeros((3, 4, 4, 3), np.uint8)
    with pytest.raises(JigsawError, match=r"foreign\.h5.*not one of jigsaw's"):
        Bag.load(tmp_path / "foreign.h5")


@pytest.mark.parametrize("content", [b"", b"no HDF5 at all\n" * 100, b"\x89HDF\r\n\x1a\n"])
def test_what_is_not_hdf5_is_refused(tmp_path, content):
    (tmp_path / "file.h5").write_bytes(content)
    with pytest.raises(JigsawError, match=r"file\.h5: is not a whole pieces file.*jigsaw cut"):
        Bag.load(tmp_path / "file.h5")


@pytest.mark.parametrize("attribute", ["format", "content", "notes", "digest"])
def test_a_file_without_one_of_its_attributes_is_refused(copy_of, attribute):
    path = copy_of("truth")
    with h5py.File(path, "r+") as file:
        del file.attrs[attribute]
    with pytest.raises(JigsawError, match=r"truth\.h5"):
        Truth.load(path)


@pytest.mark.parametrize("attribute", ["kind", "format", "content", "notes", "digest"])
@pytest.mark.parametrize("value", [np.array([1, 2]), np.float64("nan"), "", b"\xff", h5py.Empty("f")])
def test_a_file_with_a_nonsense_attribute_is_refused(copy_of, attribute, value):
    path = copy_of("truth")
    with h5py.File(path, "r+") as file:
        file.attrs[attribute] = value
    with pytest.raises(JigsawError, match=r"truth\.h5"):
        Truth.load(path)


def test_a_group_in_place_of_an_array_is_refused(copy_of):
    path = copy_of("pieces")
    with h5py.File(path, "r+") as file:
        del file["pixels"]
        file.create_group("pixels")
    with pytest.raises(JigsawError, match=r"pieces\.h5"):
        Bag.load(path)


def test_arrays_that_are_elsewhere_packed_or_not_there_are_refused(copy_of, tmp_path):
    for spoil in (
        lambda file: file.__setitem__("pixels", h5py.SoftLink("/other")),
        lambda file: file.__setitem__("pixels", h5py.ExternalLink("other.h5", "/pixels")),
        lambda file: file.create_dataset("pixels", (10**9, 4, 4, 3), "u1", compression="gzip"),
        lambda file: file.create_dataset("pixels", (10**6, 100, 100, 3), "u1"),
        lambda file: file.create_dataset("pixels", (6,), "u1", external=[("/etc/hostname", 0, 6)]),
    ):
        path = copy_of("pieces")
        with h5py.File(path, "r+") as file:
            del file["pixels"]
            spoil(file)
        with pytest.raises(JigsawError, match=r"pieces\.h5: is not a whole pieces file \(pixels"):
            Bag.load(path)


@pytest.mark.parametrize(
    ("kind", "name", "place", "value"),
    [
        ("edges", "nearest", (3, 1), 24),
        ("edges", "nearest", (3, 1), -2),
        ("edges", "buddy", 0, 10**9),
        ("solution", "relations", (0, 2), 24),
        ("solution", "layout", (0, 2), 4),
        ("solution", "layout", (0, 0), -1),
        ("solution", "image", 0, 2**30),
        ("truth", "places", (0, 0), 1),
        ("truth", "places", (0, 1), 2),
        ("truth", "places", (0, 3), -1),
    ],
)
def test_numbers_that_cannot_be_are_refused_even_with_a_right_checksum(
    originals, tmp_path, kind, name, place, value
):
    arrays, content, notes = read_hdf5(originals / f"{kind}.h5", kind)
    arrays[name][place] = value
    write_hdf5(tmp_path / "made.h5", kind, arrays, content, notes)
    with pytest.raises(JigsawError, match=rf"made\.h5: is not a whole {kind} file"):
        KINDS[kind].load(tmp_path / "made.h5")


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_of_another_type_or_shape_are_refused_even_with_a_right_checksum(originals, tmp_path, kind):
    arrays, content, notes = read_hdf5(originals / f"{kind}.h5", kind)
    for name, array in arrays.items():
        for other in (array[..., None], array.astype(np.complex64), None):
            changed = {key: other if key == name else value for key, value in arrays.items()}
            changed = {key: value for key, value in changed.items() if value is not None}
            write_hdf5(tmp_path / "made.h5", kind, changed, content, notes)
            with pytest.raises(JigsawError, match=rf"made\.h5: is not a whole {kind} file"):
                KINDS[kind].load(tmp_path / "made.h5")


# -- damage ----------------------------------------------------------------------------------------------


def test_changed_content_is_refused(copy_of):
    path = copy_of("solution")
    with h5py.File(path, "r+") as file:
        file["layout"][0, 0] += 1
    with pytest.raises(JigsawError, match=r"solution\.h5.*does not match its checksum"):
        Solution.load(path)


def test_changed_attributes_of_the_content_are_refused(copy_of):
    path = copy_of("truth")
    with h5py.File(path, "r+") as file:
        content = json.loads(file.attrs["content"])
        content["seed"] += 1
        file.attrs["content"] = json.dumps(content)
    with pytest.raises(JigsawError, match=r"truth\.h5"):
        Truth.load(path)


def test_the_digest_is_of_names_types_shapes_and_values():
    array = np.arange(6, dtype=np.int32)
    digests = [
        digest({"a": array}),
        digest({"b": array}),
        digest({"a": array.view(np.uint32)}),
        digest({"a": array.reshape(2, 3)}),
        digest({"a": array[::-1]}),
        digest({"a": array}, {"seed": 1}),
        digest({"a": array, "b": array}),
    ]
    assert len(set(digests)) == len(digests)
    assert digest({"a": np.arange(12, dtype=np.int32)[::2] // 2}) == digests[0]


# Damaged HDF5 can crash the HDF5 library itself, so damaged files are read in a process of their own.
SPOIL = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_files import KINDS, same
from jigsaw.errors import JigsawError

kind, original, damaged = sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])
expected = KINDS[kind].load(original)
data = original.read_bytes()
for line in sys.stdin:
    place, bit = json.loads(line)
    changed = bytearray(data if bit is not None else data[:place])
    if bit is not None:
        changed[place] ^= 1 << bit
    damaged.write_bytes(changed)
    print(place, bit, end=" ", flush=True)
    try:
        print("harmless" if same(KINDS[kind].load(damaged), expected) else "CHANGED")
    except JigsawError as error:
        print("refused" if damaged.name in str(error) else f"UNNAMED {error}")
    except BaseException as error:
        print(f"RAISED {error!r}")
"""


def spoilt(kind, original, damaged, damages):
    """Return what reading gives after each of the damages: (place, bit), or (length, None) for a cut."""
    done = subprocess.run(
        [sys.executable, "-c", SPOIL, str(Path(__file__).parent), kind, str(original), str(damaged)],
        input="\n".join(json.dumps(damage) for damage in damages),
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"the reader crashed ({done.returncode}) on {lines[-1]}: {done.stderr[:300]}"
    assert len(lines) == len(damages)
    return lines


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_is_refused_or_harmless(originals, tmp_path, kind):
    original = originals / f"{kind}.h5"
    size = original.stat().st_size
    places = np.unique(np.linspace(0, size - 1, 700).astype(int)).tolist()
    damages = [(place, (3 * place + i) % 8) for i, place in enumerate(places)]
    found = spoilt(kind, original, tmp_path / "damaged.h5", damages)
    wrong = [line for line in found if not line.endswith((" harmless", " refused"))]
    assert wrong == []
    assert sum(line.endswith(" refused") for line in found) > 50


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_of_the_data_is_refused(originals, tmp_path, kind):
    original = originals / f"{kind}.h5"
    with h5py.File(original) as file:
        spans = [(file[name].id.get_offset(), file[name].nbytes) for name in file if file[name].size]
    damages = [(start + int(part * (size - 1)), 5) for start, size in spans for part in np.linspace(0, 1, 9)]
    found = spoilt(kind, original, tmp_path / "damaged.h5", damages)
    assert all(line.endswith(" refused") for line in found), found


@pytest.mark.parametrize("kind", KINDS)
def test_a_truncated_file_is_refused(originals, tmp_path, kind):
    original = originals / f"{kind}.h5"
    size = original.stat().st_size
    lengths = sorted({*np.linspace(0, size - 1, 200).astype(int).tolist(), *range(size - 20, size)})
    found = spoilt(kind, original, tmp_path / "damaged.h5", [(length, None) for length in lengths])
    assert [line for line in found if not line.endswith(" refused")] == []


def test_zeroed_blocks_are_refused_or_harmless(originals, tmp_path):
    data = (originals / "pieces.h5").read_bytes()
    expected = Bag.load(originals / "pieces.h5")
    start = data.index(expected.pixels.tobytes()[:32])
    changed = bytearray(data)
    changed[start : start + 64] = bytes(64)
    (tmp_path / "damaged.h5").write_bytes(changed)
    with pytest.raises(JigsawError, match=r"damaged\.h5.*checksum"):
        read_hdf5(tmp_path / "damaged.h5", "pieces")
