"""What the tables show of scores, ours and published."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from jigsaw.errors import JigsawError
from jigsaw.summary import score_table
from jigsaw.tables import make_table, read_published, read_records

PUBLISHED = {
    "smith": {
        "name": "Smith",
        "citation": "A. Smith, 2001.",
        "results": {"big": {"neighbor": 94.88, "perfect": 11}, "odd": {"perfect": 3, "seconds": 250}},
    },
    "jones": {"name": "Jones", "citation": "B. Jones, 2002.", "results": {"big": {"neighbor": 90.4}}},
}


def record(**changes):
    return {
        "set": "big",
        "puzzle": "one",
        "run": 0,
        "neighbor": 1.0,
        "perfect": True,
        "neighbor_identical": 1.0,
        "pixel_perfect": True,
        "ceiling": 1.0,
        "direct": 1.0,
        "pieces": 432,
        "images": 1,
        "images_found": 1,
        "seconds": 4.0,
        "seed": 0,
        "preset": "paper",
        "version": "0.1.0",
        "stages": {
            stage: {"seconds": 2.0, "peak_mb": 100.0} for stage in ("cut", "compare", "solve", "evaluate")
        },
        **changes,
    }


RUNS = [
    record(),
    record(puzzle="two", neighbor=0.5, neighbor_identical=0.75, perfect=False, direct=0.25, seconds=8.0),
    record(run=1, seed=1),
    record(puzzle="two", run=1, seed=1, neighbor=0.9, perfect=False, pixel_perfect=False, direct=0.5),
]


@pytest.fixture
def make(tmp_path):
    """Return a function that makes a table of records and returns its text."""

    def made(records, ending="csv", kind="puzzles", beside=None):
        paths = []
        for i, content in enumerate(records):
            paths.append(tmp_path / f"scores{i}.json")
            paths[-1].write_text(json.dumps(content))
        published = tmp_path / "published.yaml"
        published.write_text(yaml.safe_dump(PUBLISHED, sort_keys=False))
        out = tmp_path / "tables" / f"table.{ending}"
        make_table(paths, out, kind, published, beside)
        return out.read_text(encoding="utf-8")

    return made


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def markdown_rows(text):
    lines = [line for line in text.splitlines() if line.startswith("|")]
    head, _, *rows = map(cells, lines)
    assert all(len(row) == len(head) for row in rows)
    return [dict(zip(head, row, strict=True)) for row in rows]


# -- one set ---------------------------------------------------------------------------------------------


def test_every_run_has_its_row_and_the_preset_its_means(make):
    rows = rows_of(make(RUNS))
    assert [(row["puzzle"], row["run"]) for row in rows] == [
        ("one", "0"), ("two", "0"), ("one", "1"), ("two", "1"), ("mean", ""),
    ]  # fmt: skip
    mean = rows[-1]
    assert float(mean["neighbor"]) == pytest.approx(0.85)
    assert float(mean["identical"]) == pytest.approx(0.9375)
    assert float(mean["direct"]) == pytest.approx(0.6875)
    assert float(mean["seconds"]) == pytest.approx(5)
    assert mean["perfect"] == "2 of 4"
    assert mean["pixel-perfect"] == "3 of 4"
    assert mean["pieces"] == "432"


def test_presets_have_means_of_their_own(make):
    rows = rows_of(make([record(), record(preset="quick", neighbor=0.5, perfect=False)]))
    means = {
        row["preset"]: (float(row["neighbor"]), row["perfect"]) for row in rows if row["puzzle"] == "mean"
    }
    assert means == {"paper": (1.0, "1 of 1"), "quick": (0.5, "0 of 1")}


def test_values_in_csv_are_exact_and_in_markdown_percent(make):
    third = record(neighbor=1 / 3, perfect=False, seconds=1234.5678)
    (row, _) = rows_of(make([third]))
    assert float(row["neighbor"]) == 1 / 3
    assert float(row["seconds"]) == 1234.5678
    (shown, _) = markdown_rows(make([third], "md"))
    assert shown["neighbor"] == "33.33"
    assert shown["seconds"] == "1235"
    assert (shown["perfect"], shown["pixel-perfect"]) == ("no", "yes")


def test_markdown_has_a_title_the_meanings_and_who_made_it(make):
    text = make(RUNS, "md")
    assert text.startswith("# big\n\n|")
    assert "neighbor: true adjacencies found" in text
    assert "Made by jigsaw 0.1.0; solver seeds 0, 1." in text


def test_latex_is_a_table_of_the_same_values(make):
    text = make(RUNS, "tex")
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 1
    body = [line for line in text.splitlines() if line.rstrip().endswith(r"\\")]
    assert len(body) == 1 + len(RUNS) + 1
    assert {line.count("&") for line in body} == {11}
    assert "50.00" in body[2]
    assert "2 of 4" in body[-1]
    outside = [line for line in text.splitlines() if not line.startswith(("%", "\\", " "))]
    assert outside == []


def test_puzzles_of_different_sizes_have_a_range(make):
    rows = rows_of(make([record(pieces=80), record(puzzle="two", pieces=324)]))
    assert rows[-1]["pieces"] == "80–324"


def test_records_of_an_ending_json_are_merged(make, tmp_path):
    merged = json.loads(make([RUNS[:2], RUNS[2], RUNS[3]], "json"))
    assert [(row["puzzle"], row["run"]) for row in merged] == [(r["puzzle"], r["run"]) for r in RUNS]
    assert make([merged]) == make(RUNS)


def test_scores_without_names_are_fine(make):
    bare = {key: value for key, value in record().items() if key not in ("set", "puzzle", "run", "stages")}
    rows = rows_of(make([bare]))
    assert len(rows) == 2
    for kind in ("accuracy", "comparison", "performance"):
        assert len(rows_of(make([bare], kind=kind))) == 1


# -- numbers ---------------------------------------------------------------------------------------------


@given(st.floats(0.999, 1, exclude_max=True))
def test_less_than_all_is_never_shown_as_all(share):
    shown = score_table(record(neighbor=share, perfect=False))
    assert "100.00" not in next(line for line in shown.splitlines() if line.startswith("neighbor"))


@pytest.mark.parametrize("share", [0.99999, 0.99995, 0.999950001, 0.9999999999, 1 - 2**-53, 45_509 / 45_510])
def test_all_but_one_is_never_shown_as_all_in_a_table(make, share):
    imperfect = record(neighbor=share, perfect=False)
    for kind in ("puzzles", "accuracy", "comparison"):
        for row in markdown_rows(make([imperfect], "md", kind, beside=[])):
            assert row["neighbor"] == "99.99"
    assert "99.99 &" in make([imperfect], "tex")


def test_all_is_shown_as_all(make):
    assert {row["neighbor"] for row in markdown_rows(make([record()] * 3, "md"))} == {"100.00"}


@given(st.floats(0, 0.999))
def test_shares_are_shown_to_a_hundredth_of_a_percent(share):
    line = score_table(record(neighbor=share)).splitlines()[2]
    assert abs(float(line.split()[1]) - 100 * share) <= 0.0050001


# -- summaries -------------------------------------------------------------------------------------------


def test_accuracy_means_over_runs_and_counts_perfect_puzzles_a_run(make):
    (row,) = rows_of(make(RUNS, kind="accuracy"))
    assert (row["images"], row["runs"], row["preset"], row["pieces"]) == ("2", "2", "paper", "432")
    assert float(row["neighbor"]) == pytest.approx(0.85)
    assert float(row["perfect"]) == 1
    assert float(row["pixel-perfect"]) == 1.5
    (shown,) = markdown_rows(make(RUNS, "md", "accuracy"))
    assert (shown["perfect"], shown["pixel-perfect"]) == ("1", "1.5")


def test_published_figures_stand_beside_ours_and_missing_ones_are_empty(make):
    records = [*RUNS, record(set="odd"), record(set="mine")]
    big, odd, mine = rows_of(make(records, kind="accuracy"))
    assert float(big["Smith: neighbor"]) == pytest.approx(0.9488)
    assert (big["Smith: perfect"], big["Jones: perfect"]) == ("11", "")
    assert (odd["Smith: neighbor"], odd["Smith: perfect"]) == ("", "3")
    assert {mine[key] for key in mine if ":" in key} == {""}
    shown = markdown_rows(make(records, "md", "accuracy"))
    assert shown[0]["Smith: neighbor"] == "94.88"
    assert shown[0]["Jones: neighbor"] == "90.40"
    assert shown[2]["Smith: neighbor"] == ""


def test_published_solvers_are_cited(make):
    for kind in ("accuracy", "comparison"):
        for ending in ("md", "tex"):
            text = make(RUNS, ending, kind)
            assert "Smith: A. Smith, 2001." in text
            assert "Jones: B. Jones, 2002." in text


def test_only_the_chosen_solvers_stand_beside_ours_in_their_order(make):
    text = make(RUNS, kind="comparison", beside=["jones"])
    assert "Jones" in text
    assert "Smith" not in text
    both = make(RUNS, kind="comparison", beside=["jones", "smith"])
    assert both.index("Jones") < both.index("Smith")
    assert [row["solver"] for row in rows_of(make(RUNS, kind="comparison", beside=[]))] == [
        "jigsaw, preset paper"
    ]


def test_comparison_has_a_row_for_each_solver_of_each_set(make):
    rows = rows_of(make([*RUNS, record(set="odd"), record(preset="quick")], kind="comparison"))
    assert [(row["set"], row["solver"]) for row in rows] == [
        ("big", "jigsaw, preset paper"),
        ("big", "jigsaw, preset quick"),
        ("big", "Smith"),
        ("big", "Jones"),
        ("odd", "jigsaw, preset paper"),
        ("odd", "Smith"),
    ]
    assert float(rows[0]["neighbor"]) == pytest.approx(0.85)
    assert float(rows[0]["perfect"]) == 1
    assert (rows[2]["seconds"], rows[5]["neighbor"], rows[5]["seconds"]) == ("", "", "250")


def test_an_imperfect_image_is_limited_by_the_search_if_the_true_image_is_fitter(make):
    searching = {"members": 6}
    runs = [
        record(puzzle="perfect", settings=searching, true_fitness=10.0, fitness=10.0),
        record(puzzle="lost", settings=searching, pixel_perfect=False, true_fitness=10.0, fitness=11.0),
        record(puzzle="won", settings=searching, pixel_perfect=False, true_fitness=10.0, fitness=9.0),
        record(puzzle="even", settings=searching, pixel_perfect=False, true_fitness=10.0, fitness=10.0),
        record(puzzle="other", settings={"members": 0}, pixel_perfect=False, true_fitness=10.0, fitness=11.0),
        record(puzzle="lost", run=1, settings=searching, true_fitness=10.0, fitness=10.0),
    ]
    rows = {row["puzzle"]: row for row in rows_of(make(runs, kind="imperfect"))}
    limits = {puzzle: row["limited by"] for puzzle, row in rows.items()}
    assert limits == {"lost": "search", "won": "measure", "even": "tie"}
    assert rows["lost"]["imperfect runs"] == "1 of 2"
    assert float(rows["lost"]["excess"]) == pytest.approx(0.1)


def test_the_spread_is_that_of_the_means_of_runs(make):
    runs = [
        record(puzzle=puzzle, run=run, neighbor=neighbor)
        for run, scores in enumerate([(0.8, 0.9), (0.9, 1.0)])
        for puzzle, neighbor in zip("ab", scores, strict=True)
    ]
    (row,) = rows_of(make(runs, kind="accuracy"))
    assert float(row["spread"]) == pytest.approx(0.1 / 2**0.5)
    (row,) = rows_of(make(runs[:2], kind="accuracy"))
    assert row["spread"] == ""


def test_performance_has_seconds_and_memory_of_each_stage(make):
    slow = {stage: {"seconds": 4.0, "peak_mb": 300.0} for stage in ("cut", "solve")}
    (row,) = rows_of(make([record(), record(puzzle="two", stages=slow)], kind="performance"))
    assert row["puzzles"] == "2"
    assert (float(row["solve s"]), float(row["solve MB"])) == (3.0, 200.0)
    assert (float(row["compare s"]), float(row["evaluate MB"])) == (2.0, 100.0)
    (row,) = rows_of(make([record(stages=slow)], kind="performance"))
    assert row["compare s"] == ""


def test_the_projects_published_results_are_those_of_the_papers():
    path = Path(__file__).parents[1] / "workflow" / "published.yaml"
    paper, *_ = read_published(path, ["sholomon2014gecco"])
    assert paper["results"]["cho432"] == {"neighbor": 94.88, "perfect": 11}
    assert paper["results"]["mcgill540"] == {"neighbor": 94.08, "perfect": 8}
    assert paper["results"]["pomeranz805"] == {"neighbor": 94.12, "perfect": 6}
    for solver in read_published(path):
        assert solver["citation"]
        assert all(set(result) <= {"neighbor", "perfect", "seconds"} for result in solver["results"].values())
    known = {"number_right", "neighbor", "sedas", "enas", "perfect", "perfect_apart"}
    for solver in read_published(path):
        for sizes in solver.get("bags", {}).values():
            assert all(set(result) <= known for result in sizes.values())


# -- special characters ----------------------------------------------------------------------------------

NASTY = r"a_b & 100% | #1, {x} $5 ~^\ “–”"


def test_names_with_special_characters_stay_one_cell(make):
    nasty = record(set=NASTY, puzzle=NASTY, preset=NASTY)
    for kind in ("puzzles", "accuracy", "comparison", "performance"):
        assert rows_of(make([nasty], kind=kind))[0]["set"] == NASTY
        (row, *_) = markdown_rows(make([nasty], "md", kind))
        assert row["set"].replace("\\|", "|") == NASTY
        text = make([nasty], "tex", kind)
        body = [line for line in text.splitlines() if line.rstrip().endswith(r"\\")]
        assert len({len(re.findall(r"(?<!\\)&", line)) for line in body}) == 1
        assert not any(re.search(r"(?<!\\)[%#$_]", line) for line in body)


# -- nonsense --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["txt", "xlsx", "", "MD2"])
def test_an_unknown_ending_is_refused(make, tmp_path, ending):
    with pytest.raises(JigsawError, match=r"unknown ending.*\.csv, \.md, \.tex"):
        make(RUNS, ending)
    assert not (tmp_path / "tables").exists()


def test_an_unknown_kind_is_refused(make, tmp_path):
    with pytest.raises(JigsawError, match=r"'speed'.*puzzles, mixed_bags, .*accuracy, comparison"):
        make(RUNS, kind="speed")
    assert not (tmp_path / "tables").exists()


def test_an_unknown_solver_is_refused(make):
    with pytest.raises(JigsawError, match=r"published\.yaml.*'nobody'.*smith, jones"):
        make(RUNS, kind="accuracy", beside=["nobody"])


@pytest.mark.parametrize(
    "content",
    ["{}", "[{}]", "3", '"neighbor"', "null", "[[]]", "[1, 2]", json.dumps({"neighbor": 1.0})],
)
def test_what_holds_no_scores_is_refused(tmp_path, content):
    (tmp_path / "other.json").write_text(content)
    with pytest.raises(JigsawError, match=r"other\.json: holds no scores.*jigsaw evaluate"):
        read_records([tmp_path / "other.json"])


@pytest.mark.parametrize("change", [{"neighbor": "high"}, {"seconds": None}])
def test_scores_of_the_wrong_type_are_refused(make, change):
    with pytest.raises(JigsawError, match=rf"scores0\.json.*{next(iter(change))}"):
        make([record(**change)], "md")


def test_missing_scores_are_named(tmp_path):
    with pytest.raises(JigsawError, match=r"nowhere\.json"):
        read_records([tmp_path / "nowhere.json"])


@pytest.mark.parametrize("content", ["[unclosed", "- a\n- b\n", "just text", ""])
def test_published_results_of_the_wrong_form_are_refused(tmp_path, content):
    (tmp_path / "published.yaml").write_text(content)
    with pytest.raises(JigsawError, match=r"published\.yaml"):
        make_table_with(tmp_path)


def make_table_with(folder):
    (folder / "scores.json").write_text(json.dumps(record()))
    make_table(
        [folder / "scores.json"], folder / "table.md", "accuracy", folder / "published.yaml", ["smith"]
    )


def test_missing_published_results_are_named(tmp_path):
    with pytest.raises(JigsawError, match=r"published\.yaml"):
        make_table_with(tmp_path)


# -- ablation and measures -------------------------------------------------------------------------------

VARIANTS = [
    record(preset="paper", neighbor=0.5, settings={"measure": "ssd", "members": 0}),
    record(preset="paper", puzzle="two", settings={"measure": "ssd", "members": 0}),
    record(preset="best", seconds=9.0, settings={"measure": "fused", "members": 6}),
    record(preset="best", set="odd", pixel_perfect=False, settings={"measure": "fused", "members": 6}),
    record(preset="unasked", settings={"measure": "mgc"}),
]


def made_of(tmp_path, records, ending, kind, **options):
    (tmp_path / "records.json").write_text(json.dumps(records))
    make_table([tmp_path / "records.json"], tmp_path / f"table.{ending}", kind, **options)
    return tmp_path / f"table.{ending}"


def test_the_ablation_has_a_row_a_variant_and_columns_by_set(tmp_path):
    path = made_of(tmp_path, VARIANTS, "csv", "ablation", presets=["best", "paper"])
    rows = list(csv.DictReader(path.open()))
    assert [(row["variant"], row["measure"], row["search"]) for row in rows] == [
        ("best", "fused", "True"), ("paper", "ssd", "False"),
    ]  # fmt: skip
    assert [float(row["big: neighbor"]) for row in rows] == [1, 0.75]
    assert [float(row["big: pixel-perfect"]) for row in rows] == [1, 2]
    assert [row["odd: pixel-perfect"] for row in rows] == ["0.0", ""]
    assert float(rows[0]["big: seconds"]) == 9


def test_presets_that_no_record_has_are_an_error(tmp_path):
    with pytest.raises(JigsawError, match="none of the records is of preset other"):
        made_of(tmp_path, VARIANTS, "csv", "ablation", presets=["other"])


def test_the_ablation_can_be_drawn(tmp_path):
    from PIL import Image

    path = made_of(tmp_path, VARIANTS, "png", "ablation")
    with Image.open(path) as picture:
        assert picture.width > picture.height > 400
        colours = {colour for count, colour in picture.convert("RGB").getcolors(1 << 20) if count > 5000}
    assert {(58, 134, 192), (224, 122, 63)} <= colours  # a colour for each of the two sets


def test_only_the_ablation_has_a_plot(tmp_path):
    with pytest.raises(JigsawError, match=r"unknown ending '.png' of a table of accuracy"):
        made_of(tmp_path, VARIANTS, "png", "accuracy")
    assert not (tmp_path / "table.png").exists()


def judged(**changes):
    shares = {"first_choice": 0.9, "buddy_precision": 0.8, "buddy_recall": 0.7}
    return {
        "set": "big",
        "puzzle": "one",
        "measure": "ssd",
        "pieces": 432,
        "seconds": 1.0,
        **shares,
        **changes,
    }


def test_measures_are_means_over_the_puzzles_of_a_set(tmp_path):
    records = [judged(), judged(puzzle="two", first_choice=0.7), judged(measure="mgc", buddy_recall=0.25)]
    rows = list(csv.DictReader(made_of(tmp_path, records, "csv", "measures").open()))
    assert [(row["set"], row["measure"], row["puzzles"]) for row in rows] == [
        ("big", "ssd", "2"), ("big", "mgc", "1"),
    ]  # fmt: skip
    assert float(rows[0]["first choice"]) == pytest.approx(0.8)
    assert float(rows[1]["buddy recall"]) == 0.25


def test_scores_are_no_judgement_of_a_measure(tmp_path):
    with pytest.raises(JigsawError, match="make it again with `jigsaw quality`"):
        made_of(tmp_path, [record()], "csv", "measures")
