"""Which mixed bags a configuration declares: listed images, crops of them, and drawn ones."""

import re
from pathlib import Path

import pytest
import yaml
from configs import folder_of, tiny_config

from jigsaw.cli import parser
from jigsaw.errors import JigsawError
from jigsaw.experiment import Experiment, Job

ROOT = Path(__file__).parents[1]


@pytest.fixture
def config(tmp_path, monkeypatch):
    """A configuration with a set of two images and one of nine, six pieces each, 3 wide and 2 high."""
    monkeypatch.delenv("JIGSAW_DATA", raising=False)
    folder_of(tmp_path / "data" / "nine", [f"{i}.png" for i in range(1, 10)])
    config = tiny_config(tmp_path)
    config["sets"]["nine"] = {"title": "Nine", "folder": "nine"}
    return config


def with_bags(config, **bags):
    """Return the experiment of a configuration with these bags."""
    return Experiment({**config, "mixed_bags": bags}, ROOT)


def refused(config, **bags):
    """Return why a configuration with these bags is refused, at once or when its jobs are asked for."""
    with pytest.raises(JigsawError) as caught:
        with_bags(config, **bags).jobs("mixed_bags")
    message = str(caught.value)
    assert message.startswith("config.yaml, mixed_bags.bag")
    assert "\n" not in message
    return message


def names(experiment, bag):
    """Return the names of the images of a bag."""
    return [path.stem for path in experiment.sources("mixed_bags", bag)]


# -- listed ----------------------------------------------------------------------------------------------


def test_a_mixed_bag_is_a_puzzle_of_several_images(config):
    experiment = with_bags(config, both={"images": ["tiny/a", "tiny/b"]})
    assert experiment.sets == ["tiny", "nine", "mixed_bags"]
    assert experiment.jobs("mixed_bags") == [Job("mixed_bags", "both", "quick", 0)]
    assert names(experiment, "both") == ["a", "b"]
    assert experiment.pieces("mixed_bags", "both") == 12
    assert experiment.cutting_options("mixed_bags", "both") == ""
    assert experiment.evaluating_options("mixed_bags", "both") == ""


def test_crops_count_their_pieces_and_reach_the_command(config):
    images = [
        "tiny/a",
        {"image": "nine/4", "crop": "2x1+1+1"},
        {"image": "nine/5"},
        {"image": "tiny/b", "crop": "1x2"},
    ]
    experiment = with_bags(config, bag={"images": images})
    assert names(experiment, "bag") == ["a", "4", "5", "b"]
    assert experiment.pieces("mixed_bags", "bag") == 6 + 2 + 6 + 2
    words = f"cut 1 2 3 4 --pieces P --truth T{experiment.cutting_options('mixed_bags', 'bag')} --seed 5"
    options = parser().parse_args(words.split())
    assert options.crop == ["-", "2x1+1+1", "-", "1x2+0+0"]
    assert options.images == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("images", "said"),
    [
        ([], "images: .*non-empty"),
        (["huge/a"], "images: there is no image set 'huge'; known: tiny, nine"),
        (["a"], r"images\.0: 'a' does not match"),
        (["tiny/a", 7], r"images\.1: 7 is not of type 'string', 'object'"),
        (["tiny/a", {"crop": "1x1"}], r"images\.1: 'image' is a required property"),
        (["tiny/a", {"image": "tiny/b", "corp": "1x1"}], r"images\.1: .*'corp' was unexpected"),
        (["tiny/a", {"image": "b"}], r"images\.1\.image: 'b' does not match"),
        (["tiny/a", "tiny/z"], r"images\.1: set tiny has no image 'z'; name one of .*data/tiny"),
        ([{"image": "tiny/a", "crop": "2*1"}], r"images\.0: crop '2\*1' is not WxH\+X\+Y.*as 20x17"),
        ([{"image": "tiny/a", "crop": "0x1"}], r"images\.0: crop '0x1' is not"),
        ([{"image": "tiny/a", "crop": "2x1+1"}], r"images\.0: crop '2x1\+1' is not"),
        ([{"image": "tiny/a", "crop": "2x1-1+0"}], r"images\.0: crop '2x1-1\+0' is not"),
        ([{"image": "tiny/a", "crop": "4x1"}], r"images\.0: tiny/a: crop 4x1\+0\+0 .* 3x2 pieces"),
        ([{"image": "tiny/a", "crop": "2x2+2+0"}], r"images\.0: tiny/a: crop 2x2\+2\+0 .*or move"),
        ([{"image": "tiny/a", "crop": "1x1+0+2"}], r"images\.0: tiny/a: crop 1x1\+0\+2 reaches beyond"),
    ],
)  # fmt: skip
def test_a_list_that_cannot_be_is_refused_and_its_place_named(config, images, said):
    assert re.search(rf"mixed_bags\.bag\.{said}", refused(config, bag={"images": images}))


def test_an_empty_bag_is_refused(config):
    assert "mixed_bags.bag" in refused(config, bag={})
    assert "mixed_bags.bag" in refused(config, bag=None)


def test_a_bag_is_listed_or_drawn_but_not_both(config):
    both = {"images": ["tiny/a"], "draw": {"from": "nine", "images": 2}}
    assert "mixed_bags.bag" in refused(config, bag=both)


def test_a_mixed_bag_waits_for_its_images(config):
    config["sets"]["gone"] = {"title": "Gone", "folder": "gone"}
    experiment = with_bags(config, both={"images": ["tiny/a", "gone/b"]})
    assert experiment.sets == ["tiny", "nine"]
    lost_set, lost_bag = experiment.missing
    assert "image set gone" in lost_set
    assert "mixed bag both" in lost_bag
    assert "gone" in lost_bag


def test_a_mixed_bag_that_misses_images_is_reported_though_another_is_complete(config):
    config["sets"]["gone"] = {"title": "Gone", "folder": "gone"}
    config["experiments"][0]["sets"] = ["mixed_bags"]
    experiment = with_bags(
        config, here={"images": ["tiny/a", "tiny/b"]}, lost={"images": ["tiny/a", "gone/b"]}
    )
    assert experiment.puzzles("mixed_bags") == ["here"]
    (message,) = experiment.missing
    assert "mixed bag lost" in message
    assert "gone" in message


# -- drawn -----------------------------------------------------------------------------------------------


def test_a_draw_makes_so_many_bags_of_each_size(config):
    experiment = with_bags(config, few={"draw": {"from": "nine", "images": [2, 4], "bags": 3, "seed": 1}})
    bags = ["few-2-01", "few-2-02", "few-2-03", "few-4-01", "few-4-02", "few-4-03"]
    assert experiment.puzzles("mixed_bags") == bags
    for bag in bags:
        drawn = names(experiment, bag)
        assert len(drawn) == len(set(drawn)) == int(bag[4])
        assert set(drawn) <= set(experiment.images("nine"))
        assert experiment.pieces("mixed_bags", bag) == 6 * len(drawn)
        assert experiment.evaluating_options("mixed_bags", bag) == " --draw few"
        assert experiment.cutting_options("mixed_bags", bag) == ""
    assert len({tuple(names(experiment, bag)) for bag in bags}) >= 5  # chance may draw the same twice
    assert experiment.drawn_bags()


def test_what_was_drawn_stays_when_bags_sizes_and_other_entries_are_added(config):
    draw = {"from": "nine", "images": [3], "bags": 2, "seed": 1}
    before = with_bags(config, few={"draw": draw})
    more = {**draw, "images": [2, 5, 3], "bags": 12}
    after = with_bags(config, other={"draw": more}, few={"draw": more})
    for bag in before.puzzles("mixed_bags"):
        assert names(after, bag) == names(before, bag)
    assert "few-5-12" in after.puzzles("mixed_bags")


def test_another_seed_draws_other_images(config):
    one, two = (
        with_bags(config, few={"draw": {"from": "nine", "images": 4, "bags": 5, "seed": seed}})
        for seed in (1, 2)
    )
    bags = one.puzzles("mixed_bags")
    assert [names(one, bag) for bag in bags] != [names(two, bag) for bag in bags]


def test_all_images_come_up(config):
    experiment = with_bags(config, few={"draw": {"from": "nine", "images": 3, "bags": 30}})
    drawn = [name for bag in experiment.puzzles("mixed_bags") for name in names(experiment, bag)]
    assert sorted(set(drawn)) == sorted(experiment.images("nine"))
    assert max(drawn.count(name) for name in drawn) < 20


def test_a_single_drawn_bag_keeps_the_plain_name(config):
    experiment = with_bags(config, whole={"draw": {"from": "nine", "images": 9}})
    assert experiment.puzzles("mixed_bags") == ["whole"]
    assert names(experiment, "whole") == [str(i) for i in range(1, 10)]
    assert experiment.evaluating_options("mixed_bags", "whole") == ""
    assert not experiment.drawn_bags()


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        ({"from": "nine", "images": 10}, "draw.images: 10 images are to be drawn from set nine, which has 9"),
        ({"from": "nine", "images": [2, 12]}, "draw.images: 12 images are to be drawn from set nine"),
        ({"from": "none", "images": 2}, "draw.from: there is no image set 'none'; known: tiny, nine"),
        ({"from": "nine"}, "draw: 'images' is a required property"),
        ({"images": 2}, "draw: 'from' is a required property"),
        ({"from": "nine", "images": 0}, "draw.images: 0 is less than"),
        ({"from": "nine", "images": []}, "draw.images: [] should be non-empty"),
        ({"from": "nine", "images": [2, 2]}, "draw.images: [2, 2] has non-unique"),
        ({"from": "nine", "images": [2, "x"]}, "draw.images.1: 'x' is not of type"),
        ({"from": "nine", "images": 2, "bags": 0}, "draw.bags: 0 is less than"),
        ({"from": "nine", "images": 2, "seed": -1}, "draw.seed: -1 is less than"),
        ({"from": "nine", "images": 2, "sead": 1}, "draw: Additional properties"),
    ],
)
def test_a_draw_that_cannot_be_is_refused_and_its_place_named(config, draw, said):
    assert f"mixed_bags.bag.{said}" in refused(config, bag={"draw": draw})


def test_two_bags_of_one_name_are_refused(config):
    bags = {"few-2-01": {"images": ["tiny/a"]}, "few": {"draw": {"from": "nine", "images": [2], "bags": 2}}}
    with pytest.raises(
        JigsawError, match=r"config\.yaml, mixed_bags\.few: another bag is called 'few-2-01'; rename"
    ):
        with_bags(config, **bags)


def test_a_draw_from_a_set_that_is_not_there_is_left_out_in_one_message(config):
    config["sets"]["gone"] = {"title": "Gone", "folder": "gone"}
    config["experiments"][0]["sets"] = ["mixed_bags"]
    experiment = with_bags(config, few={"draw": {"from": "gone", "images": [2, 3], "bags": 5}})
    assert experiment.sets == []
    assert experiment.missing == ["mixed bag few is left out: image set gone is not there"]


def test_a_bag_of_several_sets_that_are_not_there_names_them_all(config):
    for name in ("gone", "lost"):
        config["sets"][name] = {"title": name, "folder": name}
    config["experiments"][0]["sets"] = ["mixed_bags"]
    experiment = with_bags(config, few={"images": ["gone/a", "lost/b"]})
    assert experiment.missing == ["mixed bag few is left out: image sets gone, lost are not there"]


def test_drawn_bags_of_a_set_to_be_downloaded_need_that_set_once(config):
    config["sets"]["gone"] = {"title": "Gone", "folder": "gone", "url": "https://example.org/gone.zip"}
    experiment = with_bags(
        {**config, "download": True}, few={"draw": {"from": "gone", "images": [2, 3], "bags": 5}}
    )
    assert experiment.downloads("mixed_bags") == ["gone"]
    assert len(experiment.jobs("mixed_bags")) == 10


# -- the project's own -----------------------------------------------------------------------------------


def test_the_projects_bags_are_those_of_the_literature_and_some_more():
    experiment = Experiment.load(ROOT / "config.yaml")
    drawn = [f"drawn805-{images}-{number:02d}" for images in (2, 3, 4, 5) for number in range(1, 11)]
    assert list(experiment.bags) == ["three_bundled", "four432", "seven16405", *drawn, "ten", "all432"]
    pieces = {name: declared.get("pieces") for name, declared in experiment.config["sets"].items()}

    def size(part):
        return part.crop.width * part.crop.height if part.crop else pieces[part.set]

    seven = experiment.bags["seven16405"].parts
    assert [part.set for part in seven].count("sholomon5015") == 3
    assert sorted(map(size, seven)) == [340] * 4 + [5015] * 3
    assert sum(map(size, seven)) == 16405
    assert [part.set for part in experiment.bags["four432"].parts] == ["cho432"] * 4
    assert len(experiment.bags["ten"].parts) == 10
    assert len(experiment.bags["ten"].sets) >= 4
    assert (experiment.bags["all432"].set, experiment.bags["all432"].count) == ("cho432", 20)


def test_published_bags_are_declared_with_so_many_images():
    bags = Experiment.load(ROOT / "config.yaml").bags.values()
    declared = {(bag.entry, len(bag.parts) if hasattr(bag, "parts") else bag.count) for bag in bags}
    published = yaml.safe_load((ROOT / "workflow" / "published.yaml").read_text())
    named = {
        (bag, images)
        for solver in published.values()
        for bag, sizes in solver.get("bags", {}).items()
        for images in sizes
    }
    assert named
    assert named <= declared
