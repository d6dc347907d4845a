"""What downloading, unpacking and checksums promise, with a real server on this machine."""

import contextlib
import hashlib
import io
import os
import re
import stat
import struct
import tarfile
import threading
import time
import zipfile
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jigsaw import download as module
from jigsaw.archives import unpack
from jigsaw.download import download, read_checksums, verify
from jigsaw.errors import JigsawError

CONTENT = bytes(range(256)) * 1200
RIGHT = hashlib.sha256(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Serves CONTENT as the attributes of its server say."""

    def do_GET(self):
        server = self.server
        server.asked.append(self.headers.get("Range"))
        if self.path == "/moved":
            return self.answer(302, b"", {"Location": server.moved_to})
        if self.path != "/file":
            return self.answer(404, b"")
        headers = {"Last-Modified": formatdate(server.changed, usegmt=True)}
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if not (wanted and server.ranges):
            return self.answer(200, CONTENT, headers)
        start = int(wanted[1])
        if start >= len(CONTENT):
            return self.answer(416, b"", {"Content-Range": f"bytes */{len(CONTENT)}"})
        first = start + server.shift
        headers["Content-Range"] = f"bytes {first}-{len(CONTENT) - 1}/{len(CONTENT)}"
        return self.answer(206, CONTENT[first:], headers)

    def answer(self, code, body, headers=()):
        server = self.server
        self.send_response(code)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        if server.chunked:
            self.send_header("Transfer-Encoding", "chunked")
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        elif server.sized:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if server.cut is None else body[: server.cut])
        self.wfile.flush()
        if server.hangs:
            server.released.wait(10)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def running():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.cut, server.shift, server.moved_to = [], None, 0, ""
    server.ranges, server.sized, server.chunked, server.hangs = True, True, False, False
    server.changed = time.time() - 86400
    server.released = threading.Event()
    server.root = f"http://127.0.0.1:{server.server_port}"
    server.url = f"{server.root}/file"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True, scope="module")
def no_proxy():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("no_proxy", "127.0.0.1")
        yield


@pytest.fixture
def server():
    with running() as server:
        yield server


def part_of(path):
    return path.with_name(f"{path.name}.part")


# --- downloading


@pytest.mark.parametrize("checksum", [None, RIGHT, RIGHT.upper()])
def test_a_file_is_fetched_whole_into_a_new_folder(server, tmp_path, checksum):
    download(server.url, tmp_path / "new" / "file", checksum)
    assert (tmp_path / "new" / "file").read_bytes() == CONTENT
    assert os.listdir(tmp_path / "new") == ["file"]


@pytest.mark.parametrize(("sized", "chunked"), [(False, False), (False, True)])
def test_a_file_of_untold_size_is_fetched(server, tmp_path, sized, chunked):
    server.sized, server.chunked = sized, chunked
    seen = []
    download(server.url, tmp_path / "file", RIGHT, lambda *state: seen.append(state))
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), None)


def test_a_complete_file_is_not_asked_for_again(server, tmp_path):
    (tmp_path / "file").write_bytes(CONTENT)
    download(server.url, tmp_path / "file", RIGHT)
    assert server.asked == []


@pytest.mark.parametrize("checksum", [None, RIGHT])
def test_a_file_that_is_not_known_to_be_right_is_fetched_again(server, tmp_path, checksum):
    (tmp_path / "file").write_bytes(b"an older one")
    download(server.url, tmp_path / "file", checksum)
    assert (tmp_path / "file").read_bytes() == CONTENT


@pytest.mark.parametrize("chunked", [False, True])
def test_a_broken_transfer_is_kept_and_continued(server, tmp_path, chunked):
    server.cut, server.chunked = 1000, chunked
    with pytest.raises(JigsawError, match=r"broke off.*start again to continue"):
        download(server.url, tmp_path / "file", RIGHT)
    got = part_of(tmp_path / "file").read_bytes()
    assert len(got) > 900
    assert got == CONTENT[: len(got)]
    assert not (tmp_path / "file").exists()
    server.cut, server.chunked = None, False
    seen = []
    download(server.url, tmp_path / "file", RIGHT, lambda *state: seen.append(state))
    assert server.asked == [None, f"bytes={len(got)}-"]
    assert (seen[0], seen[-1]) == ((len(got), len(CONTENT)), (len(CONTENT), len(CONTENT)))
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert os.listdir(tmp_path) == ["file"]


def test_a_server_that_cannot_continue_starts_over(server, tmp_path):
    server.ranges = False
    part_of(tmp_path / "file").write_bytes(b"x" * (len(CONTENT) + 5))
    download(server.url, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_server_that_continues_elsewhere_is_asked_to_start_over(server, tmp_path):
    server.shift = 7
    part_of(tmp_path / "file").write_bytes(CONTENT[:1000])
    download(server.url, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.asked == ["bytes=1000-", None]


def test_a_file_changed_since_at_its_source_is_started_over(server, tmp_path):
    part_of(tmp_path / "file").write_bytes(b"of the old file")
    server.changed = time.time() + 3600
    download(server.url, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_part_that_is_already_whole_is_taken(server, tmp_path):
    part_of(tmp_path / "file").write_bytes(CONTENT)
    download(server.url, tmp_path / "file", RIGHT)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.asked == [f"bytes={len(CONTENT)}-"]


def test_a_part_longer_than_the_file_is_started_over(server, tmp_path):
    part_of(tmp_path / "file").write_bytes(CONTENT + b"more")
    download(server.url, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


@settings(max_examples=20, deadline=None)
@given(cuts=st.lists(st.integers(1, len(CONTENT)), max_size=4))
def test_however_often_it_breaks_the_file_is_right_in_the_end(tmp_path_factory, cuts):
    path = tmp_path_factory.mktemp("broken") / "file"
    with running() as server:
        for server.cut in [*cuts, None]:
            with contextlib.suppress(JigsawError):
                download(server.url, path, RIGHT)
    assert path.read_bytes() == CONTENT


def test_a_wrong_checksum_removes_the_part_and_names_both(server, tmp_path):
    with pytest.raises(JigsawError, match=f"{RIGHT}.*{'0' * 64}"):
        download(server.url, tmp_path / "file", "0" * 64)
    assert os.listdir(tmp_path) == []


def test_a_wrong_part_is_found_by_the_checksum_and_does_not_stay(server, tmp_path):
    part_of(tmp_path / "file").write_bytes(b"wrong")
    with pytest.raises(JigsawError, match="checksum"):
        download(server.url, tmp_path / "file", RIGHT)
    download(server.url, tmp_path / "file", RIGHT)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_silent_server_is_not_waited_for_without_end(server, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "TIMEOUT", 0.2)
    server.cut, server.hangs = 1000, True
    start = time.monotonic()
    with pytest.raises(JigsawError, match=r"timed out.*start again"):
        download(server.url, tmp_path / "file")
    assert time.monotonic() - start < 4
    assert part_of(tmp_path / "file").read_bytes() == CONTENT[:1000]


def test_a_connection_that_stays_open_after_the_last_byte_does_not_delay(server, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "TIMEOUT", 0.5)
    server.hangs = True
    download(server.url, tmp_path / "file", RIGHT)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_missing_file_and_a_missing_server_are_told(server, tmp_path):
    with pytest.raises(JigsawError, match=r"/none: cannot be fetched .*404"):
        download(f"{server.root}/none", tmp_path / "file")
    with pytest.raises(JigsawError, match=r"cannot be fetched .*refused"):
        download("http://127.0.0.1:1/file", tmp_path / "file")
    assert os.listdir(tmp_path) == []


def test_a_moved_file_is_followed_but_not_to_another_kind_of_place(server, tmp_path):
    server.moved_to = server.url
    download(f"{server.root}/moved", tmp_path / "file", RIGHT)
    (tmp_path / "secret").write_text("secret")
    for elsewhere, says in {
        (tmp_path / "secret").as_uri(): "not allowed",
        "ftp://127.0.0.1:1/file": "unknown url type",
        "data:,words": "not allowed",
    }.items():
        server.moved_to = elsewhere
        with pytest.raises(JigsawError, match=f"cannot be fetched .*{says}"):
            download(f"{server.root}/moved", tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    "url",
    ["ftp://host/file", "data:,words", "relative/path", "/etc/hostname", "", "http://[", "file://host/x"],
)
def test_addresses_of_other_kinds_are_refused(tmp_path, url):
    with pytest.raises(JigsawError, match="check the address"):
        download(url, tmp_path / "file")
    assert os.listdir(tmp_path) == []


def test_a_file_address_is_copied(tmp_path):
    source = tmp_path / "with space"
    source.write_bytes(CONTENT)
    part_of(tmp_path / "file").write_bytes(b"of another try")
    seen = []
    download(source.as_uri(), tmp_path / "file", RIGHT, lambda *state: seen.append(state))
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    with pytest.raises(JigsawError, match=r"gone.*No such file"):
        download((tmp_path / "gone").as_uri(), tmp_path / "file")
    with pytest.raises(JigsawError, match="three slashes"):
        download(source.as_uri().replace("file://", "file://elsewhere"), tmp_path / "other")


def test_a_place_that_cannot_be_written_is_told(server, tmp_path):
    (tmp_path / "taken").touch()
    with pytest.raises(JigsawError, match="taken/file: cannot be written"):
        download(server.url, tmp_path / "taken" / "file")


# --- unpacking

FILES = {"set/1.png": b"one", "set/sub/2.png": b"two" * 1000, "notes.txt": b"words", "./3.png": b""}
TARS = {".tar": "w", ".tar.gz": "w:gz", ".tar.bz2": "w:bz2", ".tar.xz": "w:xz"}


def zipped(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return path


def tarred(path, files, mode="w"):
    """Write a tar of (name or TarInfo, content) pairs."""
    with tarfile.open(path, mode) as archive:
        for name, data in files:
            member = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def special(name, kind, target=""):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def zip_link(name):
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def assert_refused(archive, folder, match, **options):
    before = sorted(folder.parent.rglob("*"))
    with pytest.raises(JigsawError, match=match) as refusal:
        unpack(archive, folder, **options)
    assert str(archive) in str(refusal.value) or str(folder) in str(refusal.value)
    assert sorted(folder.parent.rglob("*")) == before


@pytest.mark.parametrize("suffix", [".zip", *TARS])
def test_matching_files_are_unpacked_flat(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    archive = zipped(path, FILES.items()) if suffix == ".zip" else tarred(path, FILES.items(), TARS[suffix])
    unpack(archive, tmp_path / "deep" / "out", "*.png")
    found = {file.name: file.read_bytes() for file in (tmp_path / "deep" / "out").iterdir()}
    assert found == {"1.png": b"one", "2.png": b"two" * 1000, "3.png": b""}
    assert os.listdir(tmp_path / "deep") == ["out"]


def test_the_pattern_is_for_the_path_in_the_archive(tmp_path):
    unpack(zipped(tmp_path / "a.zip", FILES.items()), tmp_path / "out", "set/?.png")
    assert os.listdir(tmp_path / "out") == ["1.png"]
    assert_refused(tmp_path / "a.zip", tmp_path / "other", r"no file in it matches \*\.PNG", pattern="*.PNG")
    unpack(zipped(tmp_path / "b.zip", [("1.PNG", b"1"), ("1.png", b"2")]), tmp_path / "small", "*.png")
    assert os.listdir(tmp_path / "small") == ["1.png"]


def test_others_may_read_the_folder_as_they_may_read_a_new_one(tmp_path):
    (tmp_path / "new").mkdir()
    unpack(zipped(tmp_path / "a.zip", FILES.items()), tmp_path / "out")
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "new").stat().st_mode


def test_an_empty_folder_is_filled_and_a_full_one_is_refused(tmp_path):
    archive = zipped(tmp_path / "a.zip", FILES.items())
    (tmp_path / "out").mkdir()
    unpack(archive, tmp_path / "out")
    assert len(os.listdir(tmp_path / "out")) == 4
    assert_refused(archive, tmp_path / "out", "is there already")
    (tmp_path / "file").touch()
    assert_refused(archive, tmp_path / "file", "is there already")


@pytest.mark.parametrize(
    "name", ["/abs.png", "../up.png", "a/../../up.png", "..\\up.png", "C:\\abs.png", "C:abs.png", "\\abs.png"]
)
@pytest.mark.parametrize("make", [zipped, tarred])
def test_paths_that_lead_out_are_refused(tmp_path, make, name):
    archive = make(tmp_path / "a", [("good.png", b"1"), (name, b"2")])
    assert_refused(archive, tmp_path / "out", "leads out")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_refused(tmp_path, kind):
    archive = tarred(tmp_path / "a.tar", [("1.png", b"1"), (special("2.png", kind, "1.png"), b"")])
    assert_refused(archive, tmp_path / "out", "2.png is a link or a device")


def test_links_in_a_zip_are_refused(tmp_path):
    archive = zipped(tmp_path / "a.zip", [("1.png", b"1"), (zip_link("2.png"), b"1.png")])
    assert_refused(archive, tmp_path / "out", "2.png is a link or a device")


def test_links_that_are_not_wanted_do_no_harm(tmp_path):
    archive = tarred(tmp_path / "a.tar", [("1.png", b"1"), (special("link", tarfile.SYMTYPE, "1.png"), b"")])
    unpack(archive, tmp_path / "out", "*.png")
    assert os.listdir(tmp_path / "out") == ["1.png"]


@pytest.mark.parametrize("make", [zipped, tarred])
def test_two_files_of_one_name_are_refused(tmp_path, make):
    archive = make(tmp_path / "a", [("x/1.png", b"1"), ("y/1.png", b"2")])
    assert_refused(archive, tmp_path / "out", "two files called 1.png")


def test_encrypted_files_are_refused(tmp_path):
    data = bytearray(zipped(tmp_path / "a.zip", [("1.png", b"1")]).read_bytes())
    data[6] |= 1  # the flags of the file itself
    data[data.index(b"PK\x01\x02") + 8] |= 1  # and of its entry in the list
    (tmp_path / "a.zip").write_bytes(data)
    assert_refused(tmp_path / "a.zip", tmp_path / "out", "1.png is encrypted")


@pytest.mark.parametrize("make", [zipped, tarred])
def test_limits_are_kept_to_the_last_byte_and_file(tmp_path, make):
    archive = make(tmp_path / "a", [("1.png", bytes(600)), ("2.png", bytes(400)), ("3.txt", bytes(5000))])
    assert_refused(archive, tmp_path / "out", "more than 999 bytes", pattern="*.png", limit_bytes=999)
    assert_refused(archive, tmp_path / "out", "more than 1 files", pattern="*.png", limit_files=1)
    unpack(archive, tmp_path / "out", "*.png", limit_bytes=1000, limit_files=2)
    assert len(os.listdir(tmp_path / "out")) == 2


def test_a_size_that_the_archive_lies_about_does_not_help(tmp_path):
    data = bytearray(zipped(tmp_path / "a.zip", [("1.png", bytes(5_000_000))]).read_bytes())
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 24, 10)
    (tmp_path / "a.zip").write_bytes(data)
    assert_refused(tmp_path / "a.zip", tmp_path / "out", "damaged|more than", limit_bytes=1000)


def test_what_is_no_archive_is_refused(tmp_path):
    (tmp_path / "text.zip").write_text("words " * 500)
    (tmp_path / "empty.tar").touch()
    (tmp_path / "folder.tar").mkdir()
    for name in ("text.zip", "empty.tar"):
        assert_refused(tmp_path / name, tmp_path / "out", f"{name}: is damaged or of an unknown kind")
    for name in ("folder.tar", "missing.zip"):
        assert_refused(tmp_path / name, tmp_path / "out", f"{name}: cannot be unpacked")


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """Return the bytes of an archive of each kind, with content that does not compress."""
    folder = tmp_path_factory.mktemp("archives")
    files = [(f"{n}.png", hashlib.sha256(bytes([n])).digest() * 40) for n in range(5)]
    paths = [zipped(folder / "a.zip", files)]
    paths += [tarred(folder / f"a{suffix}", files, mode) for suffix, mode in TARS.items()]
    return dict(files), {path.name: path.read_bytes() for path in paths}


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_a_cut_archive_leaves_no_folder_or_a_whole_one(archives, tmp_path_factory, data):
    files, contents = archives
    name = data.draw(st.sampled_from(sorted(contents)))
    folder = tmp_path_factory.mktemp("cut")
    (folder / name).write_bytes(contents[name][: data.draw(st.integers(0, len(contents[name]) - 1))])
    with contextlib.suppress(JigsawError):
        unpack(folder / name, folder / "out")
        assert {file.name: file.read_bytes() for file in (folder / "out").iterdir()} == files
        return
    assert os.listdir(folder) == [name]


@pytest.mark.parametrize(
    ("name", "place"),
    [("a.zip", 45), ("a.tar.gz", 100), ("a.tar.gz", -6), ("a.tar.bz2", 100), ("a.tar.xz", 100)],
)
def test_a_changed_byte_in_a_packed_archive_is_noticed(archives, tmp_path, name, place):
    content = bytearray(archives[1][name])
    content[place] ^= 4
    (tmp_path / name).write_bytes(content)
    assert_refused(tmp_path / name, tmp_path / "out", "damaged")


def test_a_damaged_header_in_a_tar_is_not_taken_for_its_end(archives, tmp_path):
    content = bytearray(archives[1]["a.tar"])
    content[content.index(b"3.png")] ^= 4
    (tmp_path / "a.tar").write_bytes(content)
    assert_refused(tmp_path / "a.tar", tmp_path / "out", "its end is missing")


def test_a_tar_that_ends_in_a_zip_is_still_a_tar(tmp_path):
    inner = zipped(tmp_path / "inner.zip", [("inner.png", b"1")]).read_bytes()
    unpack(tarred(tmp_path / "a.tar", [("1.png", b"1"), ("last.zip", inner)]), tmp_path / "out")
    assert sorted(os.listdir(tmp_path / "out")) == ["1.png", "last.zip"]


# --- checksums


def digest(data):
    return hashlib.sha256(data).hexdigest()


def test_a_right_folder_is_verified(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    verify(tmp_path, {"a": digest(b"a"), "b": digest(b"b").upper()})


def test_wrong_and_missing_files_are_named_the_first_few_only(tmp_path):
    (tmp_path / "changed").write_text("x")
    (tmp_path / "right").write_text("right")
    wanted = {"right": digest(b"right"), "changed": digest(b"y"), "gone": digest(b"")}
    with pytest.raises(JigsawError, match=r"2 of 3 .*: changed \(changed\), gone \(missing\);"):
        verify(tmp_path, wanted)
    with pytest.raises(JigsawError, match=r"f0 \(missing\), f1 \(missing\), f2 \(missing\) and 6 more"):
        verify(tmp_path, {f"f{n}": digest(b"") for n in range(9)})


def test_checksums_are_read_as_sha256sum_writes_them(tmp_path):
    lines = [f"{digest(b'1')}  with space.png", "# a comment", "", f"{digest(b'2').upper()} *2.png\r"]
    (tmp_path / "sums").write_bytes("\n".join([*lines, ""]).encode())
    assert read_checksums(tmp_path / "sums") == {"with space.png": digest(b"1"), "2.png": digest(b"2")}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"abc  1.png\n", "line 1 is not"),
        (b"\n" + b"0" * 64 + b" 1.png\n", "line 2 is not"),
        (b"0" * 64 + b"  \n", "line 1 is not"),
        (b"0" * 64 + b"  1.png\n" + b"1" * 64 + b"  1.png\n", "line 2 gives 1.png a second"),
        (b"# nothing\n", "has no checksums"),
        (b"\xff\xfe", "is not text"),
    ],
)
def test_a_file_that_holds_no_checksums_is_refused(tmp_path, content, says):
    (tmp_path / "sums").write_bytes(content)
    with pytest.raises(JigsawError, match=f"sums: {says}"):
        read_checksums(tmp_path / "sums")


def test_a_missing_file_of_checksums_is_told(tmp_path):
    with pytest.raises(JigsawError, match="sums: cannot be read"):
        read_checksums(tmp_path / "sums")
