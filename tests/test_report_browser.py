"""The page of a whole benchmark in a browser: it loads, sorts, filters, shows puzzles, needs nothing else."""

import json
import re
import shutil

import pytest
from generated import benchmark, draw_runs
from playwright.sync_api import expect, sync_playwright

from jigsaw.plots import save_plots
from jigsaw.report import make_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium")
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the page of a whole benchmark, and with its pictures."""
    place = tmp_path_factory.mktemp("report")
    records = benchmark()
    (place / "scores.json").write_text(json.dumps(records))
    draw_runs(records, place / "pictures")
    save_plots(records[::6], [], place / "plots")
    plots = sorted((place / "plots").iterdir())
    make_report([place / "scores.json"], place / "report.html", place / "pictures", plots)
    return place


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


@pytest.fixture
def visit(place, browser):
    """Return a function that opens the page; in the end nothing must have gone wrong or left the folder."""
    asked, wrong, contexts = [], [], []

    def opened(fragment="", **options):
        contexts.append(browser.new_context(**{"viewport": DESKTOP, **options}))
        page = contexts[-1].new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("requestfailed", lambda request: wrong.append(request.url))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto((place / "report.html").as_uri() + fragment)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []
    assert asked
    assert [url for url in asked if not url.startswith((place.as_uri() + "/", "data:"))] == []


def cards(page):
    """Return the cards that can be seen, as (set, preset, score), in their order."""
    return page.eval_on_selector_all(
        ".card:not([hidden])",
        "cards => cards.map(c => [c.dataset.set, c.dataset.preset, Number(c.dataset.neighbor)])",
    )


def transforms(page):
    """Return how each pane is zoomed and shifted, to a tenth of a pixel."""
    found = page.eval_on_selector_all(".pane img", "images => images.map(i => getComputedStyle(i).transform)")
    return [re.sub(r"(\.\d)\d+", r"\1", transform) for transform in found]


def looks(page):
    """Return what the middle pane looks like, once its picture is there."""
    page.wait_for_function("document.getElementById('assembled').complete")
    page.evaluate("document.getElementById('assembled').decode()")
    return page.locator("#assembled").screenshot()


def test_it_loads_within_three_seconds(visit):
    taken = []
    for _ in range(3):  # of which one, at least, the machine does not spend on something else
        page = visit()
        page.wait_for_load_state("load")
        taken.append(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd"))
    assert 0 < min(taken) < 3000


def test_it_filters_by_set_preset_and_errors(visit):
    page = visit()
    assert len(cards(page)) == 153
    assert {preset for _, preset, _ in cards(page)} == {"best"}
    page.get_by_text("mcgill540 20").click()
    page.get_by_label("paper", exact=True).check(force=True)
    expect(page.locator("#count")).to_have_text("20 puzzles")
    assert {(name, preset) for name, preset, _ in cards(page)} == {("mcgill540", "paper")}
    page.get_by_label("with errors only").check()
    assert 0 < len(cards(page)) < 20
    assert all(score < 1 for _, _, score in cards(page))


def test_it_sorts_by_score(visit):
    page = visit()
    page.get_by_label("Sort by").select_option("neighbor")
    scores = [score for _, _, score in cards(page)]
    assert scores == sorted(scores)
    page.get_by_label("Sort by").select_option("-neighbor")
    assert [score for _, _, score in cards(page)] == sorted(scores, reverse=True)


def test_the_slider_changes_the_picture(visit):
    page = visit()
    page.locator(".card:not([hidden]) a").first.click()
    expect(page.locator("#view")).to_be_visible()
    expect(page.locator("#stage")).to_contain_text("after the search")
    last = looks(page)
    page.locator("#generation").fill("1")
    expect(page.locator("#stage")).to_have_text("Generation 2")
    expect(page.locator("#assembled")).to_have_attribute("src", re.compile("/frames/2.webp$"))
    second = looks(page)
    assert second != last
    page.locator("#generation").press("ArrowLeft")
    expect(page.locator("#stage")).to_have_text("Generation 1")
    assert looks(page) not in (second, last)
    page.locator("#film").click()
    expect(page.locator("#assembled")).to_have_attribute("src", re.compile("/animation.webp$"))


def test_the_panes_zoom_together(visit):
    page = visit("#cho432/01/best/0")
    expect(page.locator("#view")).to_be_visible()
    before = transforms(page)
    page.locator(".pane").first.hover(position={"x": 30, "y": 40})
    page.mouse.wheel(0, -300)
    page.wait_for_function("document.getElementById('panes').classList.contains('zoomed')")
    zoomed = transforms(page)
    assert len(set(zoomed)) == 1
    assert zoomed != before
    page.mouse.down()
    page.mouse.move(300, 300, steps=3)
    page.mouse.up()
    assert len(set(transforms(page))) == 1
    assert transforms(page) != zoomed
    page.keyboard.press("0")
    assert transforms(page) == before


def test_a_puzzle_tells_its_scores_parameters_seed_and_versions(visit):
    page = visit("#sholomon10375/03/paper/0")
    expect(page.locator("#view")).to_be_visible()
    told = page.locator(".facts").inner_text()
    for words in ("neighbours found", "population", "solver seed", "0.1.0", "numpy", "10375 pieces"):
        assert words in told or words in page.locator("#subtitle").text_content()
    page.locator("#tabs a", has_text="best").click()
    expect(page.locator("#tabs [aria-current]")).to_have_text("best")


def test_it_can_be_used_with_the_keyboard_alone(visit):
    page = visit()
    page.locator(".card:not([hidden]) a").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#view[open]")
    first = page.locator("#title").text_content()
    page.keyboard.press("n")
    page.wait_for_function("before => document.getElementById('title').textContent !== before", arg=first)
    page.keyboard.press("p")
    page.wait_for_function("before => document.getElementById('title').textContent === before", arg=first)
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#stage")).to_have_text("Generation 5")
    page.keyboard.press("Escape")
    expect(page.locator("#view")).to_be_hidden()
    page.wait_for_function("document.activeElement.closest('.card') !== null")
    page.wait_for_function("location.hash === '#gallery'")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("device", "size"), [("desktop", DESKTOP), ("phone", PHONE)])
def test_it_fits_a_desktop_and_a_phone_in_light_and_dark(visit, tmp_path, device, size, scheme):
    page = visit(viewport=size, color_scheme=scheme, has_touch=device == "phone", reduced_motion="reduce")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (sum(background) > 384) == (scheme == "light")
    for name, fragment in (("page", ""), ("gallery", "#gallery"), ("puzzle", "#cho432/02/paper/0")):
        page.evaluate("fragment => { location.hash = fragment; }", fragment)
        page.wait_for_timeout(100)
        picture = tmp_path / f"{device}-{scheme}-{name}.png"
        page.screenshot(path=picture)
        assert picture.stat().st_size > 10_000
        assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
        assert page.evaluate("document.getElementById('view').scrollWidth <= innerWidth")
