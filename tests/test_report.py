"""The page of an experiment: what it holds and how much, without a browser."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from generated import benchmark, draw_runs, record

from jigsaw.errors import JigsawError
from jigsaw.plots import save_plots
from jigsaw.report import make_report

PUBLISHED = Path(__file__).parents[1] / "workflow" / "published.yaml"


class Page(HTMLParser):
    """What a page refers to, its tables, its cards and its data."""

    def __init__(self, text):
        super().__init__()
        self.references, self.cards, self.ids, self.policy = [], [], [], []
        self.feed(text)
        self.runs = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.references += [attributes[key] for key in ("src", "href") if key in attributes and tag != "use"]
        self.ids += [attributes["id"]] if "id" in attributes else []
        if attributes.get("class") == "card":
            self.cards.append(attributes)


def page_of(place, records, **options):
    """Make the page of records whose pictures are there; return its path."""
    scores = place / "scores.json"
    scores.write_text(json.dumps(records))
    make_report([scores], place / "report.html", place / "pictures", **options)
    return place / "report.html"


@pytest.fixture
def small(tmp_path):
    """The records of two puzzles and two presets, with pictures."""
    runs = [record(puzzle=name, preset=preset) for name in ("5", "8") for preset in ("paper", "best")]
    draw_runs(runs, tmp_path / "pictures", longest=40)
    return runs


def test_every_puzzle_has_a_card_and_every_run_its_data(tmp_path, small):
    page = Page(page_of(tmp_path, small).read_text(encoding="utf-8"))
    assert [card["data-id"] for card in page.cards] == [run["id"] for run in page.runs]
    assert len(page.cards) == 4
    run = page.runs[0]
    assert (run["seed"], run["version"], run["settings"]["population"]) == (0, "0.1.0", 300)
    assert run["shown"][0]["name"] == "generation 1"


def test_several_runs_of_a_puzzle_have_one_card(tmp_path, small):
    further = record(puzzle="5", preset="best", run=1)
    place = tmp_path / "more"
    draw_runs([*small, further], place / "pictures", longest=40)
    page = Page(page_of(place, [*small, further]).read_text(encoding="utf-8"))
    assert len(page.cards) == 4
    assert len(page.runs) == 5


def test_the_page_refers_to_nothing_but_itself_and_files_that_are_there(tmp_path, small):
    page = Page(page_of(tmp_path, small).read_text(encoding="utf-8"))
    assert len(page.references) > 8
    for reference in page.references:
        if reference.startswith("#"):
            assert reference[1:] in page.ids or unquote(reference[1:]) in [run["id"] for run in page.runs]
        elif reference != "data:,":
            assert (tmp_path / unquote(reference)).is_file()
    assert len(page.ids) == len(set(page.ids))


def test_published_results_stand_beside_ours(tmp_path, small):
    text = page_of(tmp_path, small, published=PUBLISHED, beside=["sholomon2014gecco"]).read_text()
    assert "Sholomon et al., GECCO 2014" in text
    assert "94.88" in text


def test_only_the_wanted_presets_are_shown(tmp_path, small):
    page = Page(page_of(tmp_path, small, presets=["best"]).read_text())
    assert {run["preset"] for run in page.runs} == {"best"}
    with pytest.raises(JigsawError, match="preset nothing"):
        page_of(tmp_path, small, presets=["nothing"])


def test_names_may_be_anything_that_a_file_may_be_called(tmp_path):
    odd = record(puzzle="</script><b> & 50% #1 'é\"?", name="my set")
    odd["puzzle"] = odd["puzzle"].replace("/", "∕")
    draw_runs([odd], tmp_path / "pictures", longest=40)
    text = page_of(tmp_path, [odd]).read_text(encoding="utf-8")
    page = Page(text)
    assert page.runs[0]["puzzle"] == odd["puzzle"]
    assert "<b> &" not in text
    (thumbnail,) = [path for path in page.references if path.endswith("thumbnail.webp")]
    assert (tmp_path / unquote(thumbnail)).is_file()


def test_a_run_without_pictures_is_named(tmp_path, small):
    with pytest.raises(
        JigsawError, match=r"cho432/9/best/0: has no pictures; make them with `jigsaw draw --all`"
    ):
        page_of(tmp_path, [*small, record(puzzle="9")])
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("content", [None, "no plot", b"\xff\xfe"])
def test_a_plot_that_is_none_is_named(tmp_path, small, content):
    plot = tmp_path / "accuracy.svg"
    if content is not None:
        plot.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(JigsawError, match=r"accuracy\.svg"):
        page_of(tmp_path, small, plots=[plot])


def test_the_page_of_a_whole_benchmark_is_light(tmp_path):
    records = benchmark()
    assert len(records) == 2 * 153
    draw_runs(records, tmp_path / "pictures", longest=40)
    save_plots(records, [], tmp_path / "plots")
    page = page_of(tmp_path, records, plots=sorted((tmp_path / "plots").iterdir()), published=PUBLISHED)
    assert page.stat().st_size < 5_000_000
