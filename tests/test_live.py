"""The live page, as a browser sees it: over HTTP."""

import base64
import http.client
import io
import json
import re
import shutil
import socket
import subprocess
import threading

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import sync_playwright
from puzzles import noise, photograph
from test_cli import COMMAND

import jigsaw
from jigsaw.geometry import moved_onto, normalised, relations_of
from jigsaw.live import Page
from jigsaw.logs import progress

SMALL = jigsaw.Settings(population=20, generations=12)
SEARCHING = jigsaw.Settings(measure="fused", population=20, generations=4, members=2, rounds=1, passes=2)


@pytest.fixture
def page():
    with Page(SMALL) as page:
        yield page


def asked(page, path, host=None, method="GET"):
    """Ask the page for something; return the answer and its body."""
    port = int(page.address.split(":")[2].strip("/"))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.putrequest(method, path, skip_host=True)
    if host != "":
        connection.putheader("Host", f"localhost:{port}" if host is None else host.format(port=port))
    connection.endheaders()
    answer = connection.getresponse()
    return answer, None if path == "/events" and answer.status == 200 else answer.read()


def watched(page):
    """Begin to watch, as a browser does; return a function that gives all events once they have ended."""
    answer, _ = asked(page, "/events")
    lines = []
    thread = threading.Thread(target=lambda: lines.extend(answer))
    thread.start()

    def events():
        thread.join(20)
        assert not thread.is_alive()
        return [json.loads(line.removeprefix(b"data: ")) for line in lines if line.startswith(b"data: ")]

    return events


def layout_of(event):
    return np.frombuffer(base64.b64decode(event["layout"]), "<i4").reshape(-1, 3)


def solved(settings, bag, page=None):
    """Solve as the commands do."""
    with progress(settings, quiet=True, page=page) as shown:
        if page is not None:
            page.pieces(bag)
        edges = jigsaw.compare(bag, settings.measure)
        solution = jigsaw.solve(edges, settings=settings, on_generation=shown.generation, on_round=shown.step)
        if page is not None:
            page.done(solution)
    return solution


@pytest.mark.parametrize("settings", [SMALL, SEARCHING], ids=["generations", "search"])
def test_a_browser_is_told_how_the_run_goes_and_how_it_ends(settings):
    bag, _ = jigsaw.cut([photograph(4, 5)])
    with Page(settings) as page:
        told = watched(page)
        solution = solved(settings, bag, page)
    events = told()
    assert events[0]["stage"] in ("cut", "compare")
    points = [point for event in events for point in event["history"]]
    np.testing.assert_array_equal(
        points, np.column_stack([np.arange(settings.generations + 1), solution.history[:, :2]])
    )
    steps = [name for event in events for name, _, _ in event["steps"]]
    assert ("improve" in steps) == (settings.members > 0)
    end = events[-1]
    assert (end["stage"], end["pieces"], end["images"]) == ("done", 20, 1)
    assert end["fitness"] == solution.fitness
    np.testing.assert_array_equal(relations_of(layout_of(end)), relations_of(solution.layout))


def test_a_browser_that_comes_late_is_told_all_there_is(page):
    bag, _ = jigsaw.cut([photograph(3, 4)])
    solution = solved(SMALL, bag, page)
    told = watched(page)
    page.__exit__(None, None, None)
    (event,) = told()
    assert [number for number, _, _ in event["history"]] == list(range(13))
    np.testing.assert_array_equal(normalised(layout_of(event)), solution.layout)


def test_a_long_history_is_thinned_for_a_browser_that_comes_late(page):
    layout = np.zeros((1, 3), np.int32)
    for number in range(5001):
        page.generation(number, np.array([1.0, 2.0, 3.0]), layout, None, None)
    told = watched(page)
    page.__exit__(None, None, None)
    numbers = [number for number, _, _ in told()[0]["history"]]
    assert 500 < len(numbers) <= 1000
    assert numbers == sorted(numbers)
    assert numbers[-1] == 5000


def test_the_picture_keeps_still_from_one_event_to_the_next(page):
    """The solver may turn and shift an assembly as a whole; people would only be confused by that."""
    bag, truth = jigsaw.cut([noise(84, 112)])
    layout = np.column_stack([truth.places[:, 2], truth.places[:, 1], truth.places[:, 3]])
    x, y, turn = layout.T
    page.pieces(bag)
    events = page.events()
    for moved in (layout, np.column_stack([7 - y, x + 3, (turn + 1) % 4])):
        page.step("turn", 1.0, moved)
        event = json.loads(next(events).removeprefix(b"data: "))
        np.testing.assert_array_equal(layout_of(event), layout)


def test_pieces_that_are_not_placed_are_left_out_of_that():
    layout = np.array([[0, 0, 1], [1, 0, 2], [0, 0, -1], [5, 5, 0]])
    other = np.array([[3, 3, 1], [4, 3, 2], [9, 9, 0], [0, 0, -1]])
    np.testing.assert_array_equal(moved_onto(layout, other), [[3, 3, 1], [4, 3, 2], [3, 3, -1], [8, 8, 0]])
    nothing = np.full((4, 3), -1)
    np.testing.assert_array_equal(moved_onto(layout, nothing), layout)


def test_the_result_is_the_same_while_a_browser_looks():
    bag, _ = jigsaw.cut([photograph(4, 5)])
    alone = solved(SEARCHING, bag)
    with Page(SEARCHING) as page:
        told = watched(page)
        seen = solved(SEARCHING, bag, page)
    assert told()
    for name in ("relations", "layout", "history", "snapshots"):
        np.testing.assert_array_equal(getattr(seen, name), getattr(alone, name))


@pytest.mark.parametrize("pieces", [6, 5000])
def test_all_pieces_are_in_one_picture_of_bounded_size(page, pieces):
    bag, _ = jigsaw.cut([noise(28, 28 * pieces)])
    assert asked(page, "/pieces.png")[0].status == 404  # there are none yet
    page.pieces(bag)
    answer, body = asked(page, "/pieces.png")
    assert answer.getheader("Content-Type") == "image/png"
    picture = np.array(Image.open(io.BytesIO(body)))
    assert max(picture.shape) <= 2048
    if pieces == 6:
        np.testing.assert_array_equal(picture[28:56, 56:84], bag.pixels[5])


CHROMIUM = shutil.which("chromium")


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium")
def test_a_browser_draws_it_and_has_nothing_to_complain_of():
    wrong = []
    bag, _ = jigsaw.cut([photograph(4, 5)])
    with sync_playwright() as playwright, Page(SEARCHING) as page:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        tab = browser.new_page(viewport={"width": 390, "height": 844})
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        tab.goto(page.address)
        solution = solved(SEARCHING, bag, page)
        tab.get_by_text(f"done: one image, fitness {solution.fitness:,.1f}").wait_for()
        assert tab.locator("#pieces").inner_text() == "20"
        assert tab.locator("#steps").get_by_text("round 1").is_visible()
        assert len(tab.locator("#best").get_attribute("points").split()) == SEARCHING.generations + 1
        tab.wait_for_function(
            """() => {
                const canvas = document.getElementById("assembly");
                const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
                return pixels.filter((value, i) => i % 4 === 3 && value === 255).length > pixels.length / 16;
            }"""
        )
        browser.close()
    assert wrong == []


# -- who may look, and at what ---------------------------------------------------------------------------


def test_the_page_needs_nothing_else(page):
    answer, body = asked(page, "/")
    assert answer.status == 200
    assert answer.getheader("Content-Type").startswith("text/html")
    assert "default-src 'none'" in answer.getheader("Content-Security-Policy")
    named = re.findall(r"""(?:src|href|url)\s*[=(]\s*["'](?!data:)([^"']*)""", body.decode())
    assert named == ["/pieces.png"]


def test_only_this_machine_can_look(page):
    port = int(page.address.split(":")[2].strip("/"))
    with socket.create_connection(("127.0.0.1", port), 5):
        pass
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.2", port), 5):
        pass


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "localhost", "127.0.0.1:1", ""])
@pytest.mark.parametrize("path", ["/", "/events", "/pieces.png"])
def test_a_name_that_was_made_to_point_here_is_refused(page, path, host):
    page.pieces(jigsaw.cut([noise(28, 28)])[0])
    assert asked(page, path, host)[0].status == 403


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}"])
def test_the_names_of_this_machine_are_welcome(page, host):
    assert asked(page, "/", host)[0].status == 200


@pytest.mark.parametrize("path", ["/live.py", "/../live.html", "/etc/passwd", "/pieces.h5", "/events/"])
def test_there_are_no_other_files(page, path):
    assert asked(page, path)[0].status == 404


def test_it_only_answers_questions(page):
    assert asked(page, "/", method="POST")[0].status == 501


# -- from the command line -------------------------------------------------------------------------------


def test_live_says_where_its_page_is_and_ends_with_the_run(tmp_path):
    Image.fromarray(photograph(6, 8)).save(tmp_path / "photograph.png")
    process = subprocess.Popen(
        [COMMAND, "run", "photograph.png", "--out", "out", "--live", "--workers", "2"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    for line in process.stderr:
        found = re.search(r"http://127.0.0.1:(\d+)/", line)
        if found:
            break
    connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=60)
    connection.request("GET", "/events")
    events = [json.loads(line[6:]) for line in connection.getresponse() if line.startswith(b"data: ")]
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "perfect" in out
    assert events[-1]["stage"] == "done"
    assert {"cut", "compare", "generations"} >= {event["stage"] for event in events[:-1]}
    solution = jigsaw.Solution.load(tmp_path / "out" / "solution.h5")
    np.testing.assert_array_equal(relations_of(layout_of(events[-1])), solution.relations)
