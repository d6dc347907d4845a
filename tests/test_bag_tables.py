"""What the tables of mixed bags show: listed bags one by one, drawn ones summed up, published ones beside."""

import csv
import json
from pathlib import Path

import pytest
import yaml

from jigsaw.errors import JigsawError
from jigsaw.tables import make_table

PUBLISHED = {
    "smith": {
        "name": "Smith",
        "citation": "A. Smith, 2001.",
        "results": {},
        "bags": {
            "pair": {2: {"neighbor": 100, "perfect": 50}},
            "some": {2: {"number_right": 74.5, "sedas": 75.7, "enas": 87.4, "perfect_apart": 23.6}},
        },
    },
    "jones": {"name": "Jones", "citation": "B. Jones, 2002.", "results": {"big": {"neighbor": 90.4}}},
}


def image(name="a.jpg", perfect=True, pixel_perfect=True, enas=1.0):
    return {"image": name, "perfect": perfect, "pixel_perfect": pixel_perfect, "enas": enas}


def bag(puzzle, *images, found=None, **changes):
    """Return the record of a bag of these images."""
    return {
        "set": "mixed_bags",
        "puzzle": puzzle,
        "draw": "",
        "run": 0,
        "neighbor": 1.0,
        "perfect": all(one["perfect"] for one in images),
        "neighbor_identical": 1.0,
        "pixel_perfect": True,
        "ceiling": 0.5,
        "direct": 1.0,
        "sedas": 1.0,
        "enas": sum(one["enas"] for one in images) / len(images),
        "foreign": 0,
        "pieces": 10 * len(images),
        "images": len(images),
        "images_found": len(images) if found is None else found,
        "per_image": list(images),
        "seconds": 4.0,
        "seed": 0,
        "preset": "paper",
        "version": "0.1.0",
        **changes,
    }


BAGS = [
    bag("pair", image(), image("b.jpg", perfect=False, enas=0.75), neighbor=0.9, foreign=3, sedas=0.5),
    bag("some-2-01", image(), image("c.jpg"), draw="some", found=2),
    bag("some-2-02", image("d.jpg", enas=0.5), image("e.jpg"), draw="some", found=3, seconds=8.0, foreign=1),
    bag("some-3-01", image(), image(), image(pixel_perfect=False), draw="some"),
    bag("pair", image(), image(), preset="best"),
    bag("some-2-01", image(), image(), draw="some", preset="best"),
]


@pytest.fixture
def make(tmp_path):
    """Return a function that makes a table of records and returns its rows."""
    (tmp_path / "published.yaml").write_text(yaml.safe_dump(PUBLISHED))

    def made(records=BAGS, kind="mixed_bags", ending="csv", **options):
        (tmp_path / "records.json").write_text(json.dumps(records))
        out = tmp_path / f"table.{ending}"
        make_table([tmp_path / "records.json"], out, kind, tmp_path / "published.yaml", **options)
        return list(csv.DictReader(out.open())) if ending == "csv" else out.read_text()

    return made


def test_a_listed_bag_has_a_row_a_preset(make):
    first, second = (row for row in make(beside=[]) if row["bag"] == "pair")
    assert (first["solver"], second["solver"]) == ("jigsaw, preset paper", "jigsaw, preset best")
    shown = {"images": 2, "bags": 1, "pieces": 20, "images found": 2, "number right": 1, "neighbor": 0.9}
    shown |= {"identical": 1, "ceiling": 0.5, "SEDAS": 0.5, "ENAS": 0.875, "perfect": 0.5, "pixel-perfect": 1}
    shown |= {"perfect apart": 0.5, "foreign": 3, "seconds": 4}
    assert {key: float(first[key]) for key in shown} == shown
    assert float(second["perfect apart"]) == 1


def test_bags_of_a_draw_are_summed_up_by_their_number_of_images(make):
    rows = [row for row in make(beside=[]) if row["bag"] == "some"]
    assert [(row["images"], row["solver"][-5:], row["bags"]) for row in rows] == [
        ("2", "paper", "2"), ("2", " best", "1"), ("3", "paper", "1"),
    ]  # fmt: skip
    two, _, three = rows
    assert float(two["number right"]) == 0.5
    assert float(two["images found"]) == 2.5
    assert float(two["ENAS"]) == 0.875
    assert float(two["perfect"]) == 1
    assert float(two["perfect apart"]) == 0.75
    assert float(two["foreign"]) == 0.5
    assert float(two["seconds"]) == 6
    assert float(three["pixel-perfect"]) == pytest.approx(2 / 3)


def test_published_results_follow_ours_on_the_same_bag_and_number_of_images(make):
    rows = make()
    assert [(row["bag"], row["images"], row["solver"]) for row in rows] == [
        ("pair", "2", "jigsaw, preset paper"),
        ("pair", "2", "jigsaw, preset best"),
        ("pair", "2", "Smith"),
        ("some", "2", "jigsaw, preset paper"),
        ("some", "2", "jigsaw, preset best"),
        ("some", "2", "Smith"),
        ("some", "3", "jigsaw, preset paper"),
    ]
    pair, some = (row for row in rows if row["solver"] == "Smith")
    assert (float(pair["neighbor"]), float(pair["perfect"])) == (1, 0.5)
    assert {pair[key] for key in ("SEDAS", "pieces", "bags", "seconds", "images found")} == {""}
    keys = ("number right", "SEDAS", "ENAS", "perfect apart")
    assert [float(some[key]) for key in keys] == pytest.approx([0.745, 0.757, 0.874, 0.236])
    assert (some["neighbor"], some["perfect"]) == ("", "")


def test_the_table_can_be_read_says_what_it_means_and_cites(make):
    text = make(ending="md")
    assert text.startswith("# Mixed bags\n\n|")
    assert "SEDAS, ENAS: pieces and sides right" in text
    assert "Smith: A. Smith, 2001." in text
    assert "Made by jigsaw 0.1.0" in text
    (line,) = (line for line in text.splitlines() if "Smith" in line and "some" in line)
    assert "74.50" in line
    assert r"\begin{tabular}" in make(ending="tex")


def test_runs_of_a_bag_are_averaged(make):
    (row,) = make([BAGS[0], {**BAGS[0], "run": 1, "neighbor": 0.7, "images_found": 3}], beside=[])
    assert (row["bags"], float(row["neighbor"]), float(row["number right"])) == ("1", pytest.approx(0.8), 0.5)


def test_each_drawn_bag_has_a_row_of_its_own_with_what_was_drawn(make):
    rows = make(kind="drawn_bags")
    assert [(row["bag"], row["solver"], row["drawn"]) for row in rows] == [
        ("some-2-01", "jigsaw, preset paper", "a.jpg, c.jpg"),
        ("some-2-02", "jigsaw, preset paper", "d.jpg, e.jpg"),
        ("some-3-01", "jigsaw, preset paper", "a.jpg, a.jpg, a.jpg"),
        ("some-2-01", "jigsaw, preset best", "a.jpg, a.jpg"),
    ]
    assert (float(rows[1]["images found"]), float(rows[1]["number right"])) == (3, 0)


def test_a_table_of_drawn_bags_without_any_is_refused(make):
    with pytest.raises(JigsawError, match=r"none of the records is of a drawn bag.*--draw"):
        make(BAGS[:1], kind="drawn_bags")


@pytest.mark.parametrize("key", ["sedas", "images_found", "per_image", "foreign"])
def test_scores_made_before_images_were_told_apart_are_refused(make, key):
    old = {name: value for name, value in BAGS[0].items() if name != key}
    with pytest.raises(JigsawError, match=rf"records\.json.*{key}.*jigsaw evaluate"):
        make([old])


def test_the_projects_published_bags_are_those_of_the_papers():
    path = Path(__file__).parents[1] / "workflow" / "published.yaml"
    published = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert published["sholomon2014gecco"]["bags"]["four432"][4]["perfect"] == 100
    assert published["sholomon2014gecco"]["bags"]["seven16405"][7]["perfect"] == 100
    clustering, told = (published[key]["bags"]["drawn805"] for key in ("hammoudeh2017", "paikin2015"))
    assert [clustering[k]["enas"] for k in (2, 3, 4, 5)] == [87.4, 86.9, 86.2, 87.7]
    assert [clustering[k]["number_right"] for k in (2, 3, 4, 5)] == [74.5, 44, 50, 60]
    assert [told[k]["sedas"] for k in (2, 3, 4, 5)] == [32.1, 20.3, 10.9, 9.9]
