"""The workflow in a folder of its own: what it makes, and what it makes anew after which change.

A copy of the project with a small experiment is run once; every test begins with that folder as it
was then, in the same place, as Snakemake knows files by their paths.
"""

import csv
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image
from puzzles import noise, photograph

from jigsaw.headline import MARKS
from jigsaw.solution import Solution

ROOT = Path(__file__).parents[1]
STEPS = ("cut", "compare", "solve", "evaluate", "draw")
SUMMARIES = ("accuracy", "comparison", "performance", "imperfect")
PAGE = {"plot": [""], "report": [""]}  # rules without wildcards
VERSION = "0.0.0.copy"
OTHER = "results/tables/other.md"
SOLUTION = "results/puzzles/other/c/quick/0/solution.h5"
CONFIG = {
    "seed": 0,
    "piece_size": 28,
    "data_dir": "data",
    "sets": {"tiny": {"title": "Tiny", "folder": "tiny"}, "other": {"title": "Other", "folder": "other"}},
    "mixed_bags": {
        "both": {"images": ["tiny/a", {"image": "other/c", "crop": "4x4+1+0"}]},
        "some": {"draw": {"from": "other", "images": [1], "bags": 2}},
    },
    "presets": {"quick": {"base": "paper", "population": 20, "generations": 5}},
    "experiments": [{"sets": "all", "presets": ["quick"]}],
    "tables": {"accuracy": {"beside": ["yu2015"]}, "comparison": {"beside": []}, "performance": {}},
}


class Project:
    """A copy of the project, and what Snakemake says there."""

    def __init__(self, root):
        self.root = root

    def __truediv__(self, path):
        return self.root / path

    def configure(self, **changes):
        config = yaml.safe_load((self / "config.yaml").read_text())
        (self / "config.yaml").write_text(yaml.safe_dump({**config, **changes}, sort_keys=False))

    def snakemake(self, *words, **variables):
        """Run Snakemake with the package of the copy; return the finished process."""
        return self._run([sys.executable, "-m", "snakemake", "--cores", "2", *words], **variables)

    def _run(self, command, **variables):
        ours = {"PYTHONPATH": str(self.root), "XDG_CACHE_HOME": str(self.root.parent / "cache")}
        inherited = {k: v for k, v in os.environ.items() if k not in ("JIGSAW_DATA", "SNAKEMAKE_PROFILE")}
        return subprocess.run(
            command,
            cwd=self.root,
            env={**inherited, **ours, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=1200,  # kernels that are not compiled yet are, for the copy
        )

    def reference(self, *words, fails=False):
        """Run `jigsaw reference` with the package of the copy; return what it says."""
        done = self._run([sys.executable, "-m", "jigsaw", "reference", *words])
        assert (done.returncode != 0) == fails, done.stdout
        assert "Traceback" not in done.stdout
        return done.stdout

    def makes(self, *words):
        """Run Snakemake, which must succeed; return the jobs it ran."""
        done = self.snakemake(*words)
        assert done.returncode == 0, done.stdout
        return jobs_of(done.stdout)

    def would_make(self, *words):
        """Return the jobs that Snakemake would run."""
        return self.makes("--dry-run", *words)

    def refuses(self, *words):
        """Run Snakemake, which must fail; return what it says."""
        done = self.snakemake(*words)
        assert done.returncode != 0, done.stdout
        assert "Traceback" not in done.stdout
        return done.stdout

    def made(self):
        """Return the files under results, with the time they were written."""
        return {
            path.relative_to(self.root).as_posix(): path.stat().st_mtime_ns
            for path in (self / "results").rglob("*")
            if path.is_file() and "logs" not in path.parts
        }


def jobs_of(output):
    """Return the jobs that Snakemake announces, as {rule: [puzzle or table, ...]}, but for compiling."""
    jobs = {}
    for block in re.split(r"\n(?=(?:local)?(?:rule|checkpoint) \w+:\n)", output)[1:]:
        rule = re.match(r"(?:local)?(?:rule|checkpoint) (\w+):", block)[1]
        wildcards = re.search(r"^    wildcards: (.*)$", block, re.MULTILINE)
        values = dict(part.split("=", 1) for part in wildcards[1].split(", ")) if wildcards else {}
        jobs.setdefault(rule, []).append(
            "/".join(v for k, v in values.items() if k not in ("measure", "preset"))
        )
    return {rule: sorted(found) for rule, found in jobs.items() if rule not in ("all", "kernels")}


def tables_of(*sets):
    """Return the jobs that make the tables anew after a change in the given sets."""
    tables = {
        "set_table": [name for name in sets if name != "mixed_bags"],
        "bag_table": ["mixed_bags", "drawn_bags"] if "mixed_bags" in sets else [],
        "summary_table": SUMMARIES,
    }
    return {
        "records": sorted(sets),
        **{
            rule: sorted(f"{name}/{ending}" for name in names for ending in ("csv", "md", "tex"))
            for rule, names in tables.items()
            if names
        },
        **PAGE,
    }


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A copy of the project in which the experiment has been run, and what Snakemake said."""
    place = tmp_path_factory.mktemp("workflow")
    project = Project(place / "project")
    project.root.mkdir()
    for name in ("workflow", "profiles", "jigsaw"):  # with times and compiled kernels
        shutil.copytree(ROOT / name, project / name)
    shutil.copy2(ROOT / "Snakefile", project / "Snakefile")
    provenance = project / "jigsaw/provenance.py"
    text = provenance.read_text()
    provenance.write_text(re.sub(r'^VERSION = ".*"$', f'VERSION = "{VERSION}"', text, flags=re.MULTILINE))
    (project / "config.yaml").write_text(yaml.safe_dump(CONFIG, sort_keys=False))
    images = {
        "tiny/a": photograph(4, 4), "tiny/b": photograph(2, 3, name="coffee"),
        "other/c": photograph(4, 5, name="chelsea"),
    }  # fmt: skip
    for name, image in images.items():
        path = project / "data" / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)
    planned = project.snakemake("--dry-run")
    untouched = not (project / "results").exists()
    done = project.snakemake()
    assert done.returncode == 0, done.stdout
    shutil.copytree(project.root, place / "saved", symlinks=True)
    return place, planned, untouched, done


@pytest.fixture
def project(finished):
    """The copy of the project, as it was when its experiment had been run."""
    place = finished[0]
    shutil.rmtree(place / "project")
    shutil.copytree(place / "saved", place / "project", symlinks=True)
    return Project(place / "project")


def solving(runs, *sets):
    """Return the jobs of solving certain runs and of what follows from it."""
    mixed = [run for run in runs if run.startswith("mixed_bags/")]
    further = {"unmix": mixed} if mixed else {}
    return {"solve": runs, "evaluate": runs, "draw": runs, **further, **tables_of(*sets)}


BAGS = ["mixed_bags/both", "mixed_bags/some-1-01", "mixed_bags/some-1-02"]
PUZZLES = [*BAGS, "other/c", "tiny/a", "tiny/b"]
ALL_SOLVING = solving([f"{puzzle}/0" for puzzle in PUZZLES], "mixed_bags", "other", "tiny")
COMPARED = sorted([*PUZZLES, *BAGS])  # bags once more, by the measure that tells images apart
EVERYTHING = {"cut": PUZZLES, "compare": COMPARED, **ALL_SOLVING}


# -- the experiment --------------------------------------------------------------------------------------


def test_a_dry_run_tells_all_jobs_and_makes_nothing(finished):
    _, planned, untouched, _ = finished
    assert planned.returncode == 0, planned.stdout
    assert jobs_of(planned.stdout) == EVERYTHING
    assert untouched


def test_a_run_makes_every_table_and_picture(finished, project):
    assert jobs_of(finished[3].stdout) == EVERYTHING
    made = set(project.made())
    for name in ("tiny", "other", "mixed_bags", "drawn_bags", *SUMMARIES):
        assert {f"results/tables/{name}.{ending}" for ending in ("csv", "md", "tex")} <= made
    for puzzle in PUZZLES:
        for file in ("pieces.h5", "truth.h5", "edges-ssd.h5"):
            assert f"results/puzzles/{puzzle}/{file}" in made
        for file in ("solution.h5", "scores.json"):
            assert f"results/puzzles/{puzzle}/quick/0/{file}" in made
        for file in ("original", "bag", "assembled", "errors", "generations", "animation", "frames/1"):
            assert f"results/pictures/{puzzle}/quick/0/{file}.webp" in made
    for puzzle in BAGS:
        assert f"results/puzzles/{puzzle}/edges-fused.h5" in made
        assert f"results/puzzles/{puzzle}/quick/0/unmixed.h5" in made
    for file in ("origins.webp", "images/image-1.png"):
        assert f"results/pictures/mixed_bags/both/quick/0/{file}" in made
    for plot in ("accuracy", "fitness", "scaling", "stages"):
        assert f"results/plots/{plot}.svg" in made
    assert "results/report.html" in made
    assert (project / "results/logs/solve/tiny/a-quick-0.log").read_text().count("generation 5 of 5") == 1


def test_the_package_of_the_copy_is_the_one_that_ran(project):
    scores = json.loads((project / "results/puzzles/tiny/a/quick/0/scores.json").read_text())
    assert scores["version"] == VERSION


def test_scores_know_their_set_puzzle_preset_and_run(project):
    scores = json.loads((project / "results/puzzles/mixed_bags/both/quick/0/scores.json").read_text())
    assert [scores[key] for key in ("set", "puzzle", "preset", "run")] == ["mixed_bags", "both", "quick", 0]
    assert (scores["images"], scores["pieces"]) == (2, 32)
    assert [row["image"] for row in scores["per_image"]] == ["a.png", "c.png[4x4+1+0]"]
    assert (scores["settings"]["population"], scores["settings"]["generations"]) == (20, 5)
    table = (project / "results/tables/accuracy.csv").read_text()
    assert all(name in table for name in ("tiny", "other", "mixed_bags", "Yu et al."))


def test_the_images_of_a_mixed_bag_are_told_apart_and_counted_in_its_table(project):
    run = project / "results/puzzles/mixed_bags/both/quick/0"
    assert not Solution.load(run / "solution.h5").image.any()  # the solver leaves that undone
    assert sorted(set(Solution.load(run / "unmixed.h5").image.tolist())) == [0, 1]
    assert json.loads((run / "scores.json").read_text())["images_found"] == 2
    images = (project / "results/pictures/mixed_bags/both/quick/0/images").glob("*.png")
    assert sorted(path.name for path in images) == ["image-1.png", "image-2.png"]
    with open(project / "results/tables/mixed_bags.csv") as table:
        rows = {row["bag"]: row for row in csv.DictReader(table)}
    assert (float(rows["both"]["images"]), float(rows["both"]["images found"])) == (2, 2)
    assert float(rows["some"]["images found"]) == 1
    assert "2 images" in (project / "results/logs/unmix/mixed_bags/both-quick-0.log").read_text()
    assert not (project / "results/puzzles/tiny/a/quick/0/unmixed.h5").exists()


def test_drawn_bags_are_summed_up_in_one_table_and_told_in_another(project):
    mixed, drawn = (
        [line.split(",")[0] for line in (project / f"results/tables/{name}.csv").read_text().splitlines()]
        for name in ("mixed_bags", "drawn_bags")
    )
    assert mixed == ["bag", "both", "some"]
    assert drawn == ["bag", "some-1-01", "some-1-02"]


def test_a_second_run_has_nothing_to_do(project):
    before = project.made()
    done = project.snakemake()
    assert done.returncode == 0
    assert "Nothing to be done" in done.stdout
    assert jobs_of(done.stdout) == {}
    assert project.made() == before


# -- changes of the configuration ------------------------------------------------------------------------


def test_a_change_of_generations_reruns_solving_and_what_follows(project):
    before = project.made()
    project.configure(presets={"quick": {"base": "paper", "population": 20, "generations": 6}})
    assert project.would_make() == ALL_SOLVING
    assert set(project.makes(OTHER)) == {"solve", "evaluate", "records", "set_table"}
    after = project.made()
    kept = [path for path in before if path.endswith(("pieces.h5", "truth.h5", "edges-ssd.h5"))]
    assert len(kept) == 18
    assert all(after[path] == before[path] for path in kept)
    assert len(Solution.load(project / SOLUTION).history) == 7
    assert project.would_make(OTHER) == {}


def test_a_change_of_the_seed_cuts_anew(project):
    project.configure(seed=1)
    assert project.would_make() == EVERYTHING


def test_a_change_of_the_piece_size_cuts_anew(project):
    project.configure(piece_size=14)
    assert project.would_make()["cut"] == EVERYTHING["cut"]


def test_another_solver_beside_ours_makes_that_table_anew(project):
    project.configure(tables={**CONFIG["tables"], "accuracy": {"beside": ["yu2015", "gallagher2012"]}})
    assert project.makes() == {"summary_table": ["accuracy/csv", "accuracy/md", "accuracy/tex"]}
    assert "Gallagher" in (project / "results/tables/accuracy.md").read_text()


def test_a_change_of_a_crop_reruns_its_bag(project):
    bags = {**CONFIG["mixed_bags"], "both": {"images": ["tiny/a", {"image": "other/c", "crop": "4x4"}]}}
    project.configure(mixed_bags=bags)
    expected = solving(["mixed_bags/both/0"], "mixed_bags")
    compared = ["mixed_bags/both", "mixed_bags/both"]
    assert project.would_make() == {"cut": ["mixed_bags/both"], "compare": compared, **expected}


def test_another_solver_beside_bags_makes_their_tables_anew(project):
    project.configure(tables={**CONFIG["tables"], "mixed_bags": {"beside": ["paikin2015"]}})
    assert set(project.makes()) == {"bag_table", "report"}
    assert "Paikin" in (project / "results/tables/mixed_bags.md").read_text()


def test_a_title_changes_nothing(project):
    project.configure(sets={**CONFIG["sets"], "tiny": {"title": "Very tiny", "folder": "tiny"}})
    assert project.would_make() == {}


def test_a_second_run_of_each_puzzle_adds_solving_with_another_seed(project):
    project.configure(experiments=[{"sets": ["tiny"], "presets": ["quick"], "runs": 2}])
    jobs = project.makes()
    assert jobs == solving(["tiny/a/1", "tiny/b/1"], "tiny")
    seeds = [
        json.loads((project / f"results/puzzles/tiny/a/quick/{run}/scores.json").read_text())["seed"]
        for run in (0, 1)
    ]
    assert seeds == [0, 1]
    assert len((project / "results/tables/tiny.csv").read_text().splitlines()) == 6


def test_another_preset_adds_its_own_jobs(project):
    presets = {**CONFIG["presets"], "longer": {"population": 20, "generations": 7}}
    project.configure(presets=presets, experiments=[{"sets": ["other"], "presets": ["quick", "longer"]}])
    jobs = project.would_make()
    assert jobs == solving(["other/c/0"], "other")


def test_islands_are_jobs_of_their_own_before_the_one_that_joins_them(project):
    presets = {"quick": {**CONFIG["presets"]["quick"], "islands": 2}}
    project.configure(presets=presets, experiments=[{"sets": ["other"], "presets": ["quick"]}])
    jobs = project.makes()
    assert jobs.pop("island") == ["other/c/0/1", "other/c/0/2"]
    assert jobs == solving(["other/c/0"], "other")
    assert Solution.load(project / SOLUTION).settings["islands"] == 2
    seeds = [Solution.load((project / SOLUTION).with_name(f"island-{i}.h5")).seed for i in (1, 2)]
    assert seeds == [2**32, 2**33]


def test_a_preset_with_a_search_tells_images_apart_by_itself(project):
    presets = {"searching": {"base": "best", "population": 20, "generations": 5}}
    bags = {"both": CONFIG["mixed_bags"]["both"]}
    experiments = [{"sets": ["mixed_bags"], "presets": ["searching"]}]
    project.configure(presets=presets, mixed_bags=bags, experiments=experiments)
    jobs = project.would_make()
    assert jobs["solve"] == ["mixed_bags/both/0"]
    assert "unmix" not in jobs


# -- changes of the code ---------------------------------------------------------------------------------


def test_an_edit_of_the_crossover_reruns_solving_and_what_follows(project):
    before = Solution.load(project / SOLUTION)
    with open(project / "jigsaw/crossover.py", "a") as module:
        module.write(
            "\n\nfaithful = cross\n\n\n@kernel\ndef cross(*arguments):\n"
            "    return faithful(*arguments) + 1e6\n"
        )
    assert project.would_make() == ALL_SOLVING
    assert set(project.makes(OTHER)) == {"solve", "evaluate", "records", "set_table"}
    after = Solution.load(project / SOLUTION)
    # The edit shows: compiled kernels of modules that call the edited one must not come from their cache.
    assert before.history[-1, 2] < 1e6 < after.history[-1, 2]
    assert project.would_make(OTHER) == {}


@pytest.mark.parametrize(
    ("module", "first"), [("pieces.py", "cut"), ("allpairs.py", "compare"), ("evaluation.py", "evaluate")]
)
def test_an_edit_of_a_stage_reruns_it(project, module, first):
    with open(project / "jigsaw" / module, "a") as file:
        file.write("\n# edited\n")
    jobs = project.would_make()
    assert jobs[first] == EVERYTHING[first]
    assert not set(STEPS[: STEPS.index(first)]) & set(jobs)


def test_an_edit_of_the_tables_makes_only_the_tables_anew(project):
    with open(project / "jigsaw/tables.py", "a") as file:
        file.write("\n# edited\n")
    assert project.would_make() == tables_of("mixed_bags", "other", "tiny")


def test_an_edit_of_unmixing_makes_anew_what_follows_from_it_for_bags(project):
    with open(project / "jigsaw/unmixing.py", "a") as file:
        file.write("\n# edited\n")
    jobs = project.would_make()
    assert jobs["unmix"] == [f"{bag}/0" for bag in BAGS]
    assert "cut" not in jobs
    assert "compare" not in jobs


def test_an_edit_of_no_stage_changes_nothing(project):
    for name in ("jigsaw/puzzle.py", "jigsaw/cli.py"):
        with open(project / name, "a") as file:
            file.write("\n# edited\n")
    assert project.would_make() == {}


# -- changes of the images -------------------------------------------------------------------------------


def test_another_image_in_place_of_one_reruns_only_its_jobs_and_the_tables(project):
    before = project.made()
    Image.fromarray(noise(56, 84)).save(project / "data/tiny/b.png")
    jobs = project.makes()
    for step in ("cut", "compare"):
        assert jobs.pop(step) == ["tiny/b"]
    assert jobs == solving(["tiny/b/0"], "tiny")
    after = project.made()
    assert all(after[path] == before[path] for path in before if "/tiny/a/" in path or "/other/" in path)
    assert project.would_make() == {}


def test_an_image_of_a_mixed_bag_reruns_the_bag_too(project):
    Image.fromarray(noise(56, 84)).save(project / "data/tiny/a.png")
    jobs = project.would_make()
    assert jobs["cut"] == ["mixed_bags/both", "tiny/a"]
    assert jobs["records"] == ["mixed_bags", "tiny"]


def test_a_new_image_adds_only_its_own_jobs_and_the_tables(project):
    before = project.made()
    Image.fromarray(photograph(2, 3, name="rocket")).save(project / "data/tiny/d.jpg")
    jobs = project.makes()
    for step in ("cut", "compare"):
        assert jobs.pop(step) == ["tiny/d"]
    assert jobs == solving(["tiny/d/0"], "tiny")
    after = project.made()
    assert all(after[path] == before[path] for path in before if "/puzzles/" in path)
    assert (project / "results/tables/tiny.csv").read_text().count("tiny,") == 4


def test_an_image_taken_away_makes_only_the_tables_anew(project):
    (project / "data/tiny/b.png").unlink()
    assert project.makes() == tables_of("tiny")
    assert ",b," not in (project / "results/tables/tiny.csv").read_text()


# -- which sets ------------------------------------------------------------------------------------------


def test_the_table_of_one_set_can_be_asked_for_alone(project):
    shutil.rmtree(project / "results")
    jobs = project.would_make("results/tables/tiny.md")
    assert jobs["solve"] == ["tiny/a/0", "tiny/b/0"]
    assert jobs["set_table"] == ["tiny/md"]
    assert "summary_table" not in jobs


def test_a_call_can_be_restricted_to_some_sets(project):
    shutil.rmtree(project / "results")
    jobs = project.would_make("--config", "only=other,mixed_bags")
    assert jobs["cut"] == [*BAGS, "other/c"]
    assert jobs["records"] == ["mixed_bags", "other"]


def test_a_missing_set_is_said_and_the_others_are_made(project):
    project.configure(
        sets={**CONFIG["sets"], "gone": {"title": "G", "folder": "gone", "page": "http://g.org/"}}
    )
    done = project.snakemake()
    assert done.returncode == 0
    assert "image set gone is not there" in done.stdout
    assert str(project / "data/gone") in done.stdout
    assert "http://g.org/" in done.stdout


@pytest.mark.parametrize("value", ["true", "True"])
def test_a_missing_set_is_an_error_if_all_are_required(project, value):
    project.configure(
        sets={**CONFIG["sets"], "gone": {"title": "G", "folder": "gone", "page": "http://g.org/"}}
    )
    said = project.refuses("--config", f"require_all={value}")
    assert "image set gone is not there" in said
    assert "http://g.org/" in said


@pytest.mark.parametrize("value", ["false", "False"])
def test_a_missing_set_is_no_error_if_not_all_are_required(project, value):
    project.configure(sets={**CONFIG["sets"], "gone": {"title": "G", "folder": "gone"}}, require_all=True)
    assert project.would_make("--config", f"require_all={value}") == {}


def test_nothing_is_missing_if_all_are_required_and_there(project):
    assert project.would_make("--config", "require_all=True") == {}


@pytest.mark.parametrize("target", ["tables/gone.md", "puzzles/gone/a/quick/0/scores.json"])
def test_a_missing_set_asked_for_by_its_results_says_how_to_get_it(project, target):
    project.configure(sets={**CONFIG["sets"], "gone": {"title": "G", "folder": "gone"}})
    done = project.snakemake("results/" + target)
    assert done.returncode != 0
    assert "image set gone is not there" in done.stdout
    assert "JIGSAW_DATA" in done.stdout


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("tables/tony.md", "there is no image set 'tony'; known: tiny, other"),
        ("puzzles/tony/a/quick/0/scores.json", "there is no image set 'tony'; known: tiny, other"),
        ("puzzles/tiny/z/quick/0/scores.json", "there is no image of set tiny called 'z'; known: a, b"),
        ("puzzles/mixed_bags/z/quick/0/scores.json", "there is no mixed bag 'z'; known: "),
        ("puzzles/tiny/a/quack/0/scores.json", "there is no preset 'quack'; known: quick"),
    ],
)
def test_a_result_of_something_unknown_is_refused_with_what_is_known(project, target, said):
    done = project.snakemake("--dry-run", "results/" + target)
    assert done.returncode != 0
    assert said in done.stdout


def test_nothing_there_at_all_is_an_error(project):
    shutil.rmtree(project / "data")
    said = project.refuses()
    assert "image set tiny is not there" in said
    assert "nothing to do" in said


def test_the_environment_says_where_images_are(project):
    (project / "data").rename(project / "elsewhere")
    done = project.snakemake("--dry-run", JIGSAW_DATA=str(project / "elsewhere"))
    assert done.returncode == 0, done.stdout
    assert "is not there" not in done.stdout
    assert jobs_of(done.stdout)["cut"] == EVERYTHING["cut"]


# -- mistakes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"experiments": [{"sets": "all", "presets": ["slow"]}]}, "slow"),
        ({"speed": 3}, "speed"),
        (
            {"sets": {"tiny": {"title": "T", "folder": "tiny", "images": 3}}, "mixed_bags": {}},
            "holds 2 images",
        ),
        (
            {"sets": {"tiny": {"title": "T", "folder": "tiny", "pieces": 7}}, "mixed_bags": {}},
            "gives 16 pieces",
        ),
        ({"mixed_bags": {"both": {"images": ["tiny/a", "tiny/z"]}}}, "no image 'z'"),
        (
            {"mixed_bags": {"both": {"images": [{"image": "tiny/a", "crop": "9x9"}]}}},
            "reaches beyond the image",
        ),
        ({"mixed_bags": {"some": {"draw": {"from": "tiny", "images": 3}}}}, "3 images are to be drawn"),
    ],
)
def test_a_mistake_in_the_configuration_is_named_before_anything_runs(project, changes, named):
    before = project.made()
    project.configure(**changes)
    assert named in project.refuses()
    assert project.made() == before


def test_an_unknown_solver_beside_ours_is_named(project):
    project.configure(tables={**CONFIG["tables"], "accuracy": {"beside": ["nobody"]}})
    assert "nobody" in project.refuses()


def test_a_damaged_image_stops_its_own_jobs_and_leaves_no_half_written_file(project):
    path = project / "data/tiny/d.png"
    Image.fromarray(noise(56, 84)).save(path)
    path.write_bytes(path.read_bytes()[:5000])
    Image.fromarray(noise(56, 84, seed=1)).save(project / "data/other/e.png")
    said = project.refuses()
    assert "d.png: is truncated or damaged" in said
    left = list((project / "results/puzzles/tiny").glob("d/**/*"))
    assert [path for path in left if path.is_file()] == []
    assert (project / "results/puzzles/other/e/quick/0/scores.json").is_file()
    assert not list((project / "results").rglob(".*.h5"))


# -- downloading -----------------------------------------------------------------------------------------


@pytest.fixture
def offered(project, tmp_path):
    """The project with a further set, offered as an archive."""
    lines = []
    with zipfile.ZipFile(tmp_path / "offered.zip", "w") as packed:
        for name in ("1.png", "2.png"):
            Image.fromarray(photograph(2, 2, name="chelsea")).save(tmp_path / name)
            packed.write(tmp_path / name, f"images/{name}")
            lines.append(f"{hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()}  offered/{name}\n")
    (project / "sums").write_text("".join(lines))
    declared = {"title": "Offered", "folder": "offered", "url": (tmp_path / "offered.zip").as_uri()}
    declared |= {"pattern": "images/*", "checksums": "sums", "images": 2, "pieces": 4}
    project.configure(sets={**CONFIG["sets"], "offered": declared}, download=True)
    return project


def test_a_set_is_downloaded_and_run(offered):
    jobs = offered.makes()
    assert jobs["fetch"] == ["offered"]
    assert set(jobs["solve"]) == {"offered/1/0", "offered/2/0"}
    assert (offered / "results/tables/offered.md").is_file()
    assert "offered" in (offered / "results/tables/accuracy.csv").read_text()
    assert offered.would_make() == {}


@pytest.mark.parametrize("value", ["true", "True"])
def test_a_download_can_be_allowed_for_one_call(offered, value):
    offered.configure(download=False)
    assert "fetch" not in offered.would_make()
    assert offered.would_make("--config", f"download={value}")["fetch"] == ["offered"]


def test_a_download_with_wrong_checksums_is_refused(offered):
    (offered / "sums").write_text("0" * 64 + "  offered/1.png\n")
    said = offered.refuses()
    assert "1.png (changed)" in said
    assert not (offered / "data/offered").exists()
    assert not (offered / "results/images/offered.fetched").exists()


# -- habits ----------------------------------------------------------------------------------------------


def test_the_workflow_passes_the_lint(project):
    done = project.snakemake("--lint")
    assert done.returncode == 0, done.stdout


def test_the_report_shows_tables_and_pictures(project):
    done = project.snakemake("--report", "report.html")
    assert done.returncode == 0, done.stdout
    text = (project / "report.html").read_text(encoding="utf-8")
    for category in ("Pictures", "Plots", "Summary tables", "Tables by set"):
        assert category in text
    for name in ("errors.webp", "origins.webp", "image-1.png", "results/plots/fitness.svg"):
        assert name in text
    assert "thumbnail.webp" not in text
    assert "results/tables/accuracy.md" in text


def test_the_page_shows_every_run_with_its_true_fitness(project):
    text = (project / "results/report.html").read_text(encoding="utf-8")
    runs = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert sorted(run["id"] for run in runs) == [f"{puzzle}/quick/0" for puzzle in PUZZLES]
    assert all(run["true_fitness"] > 0 for run in runs)
    for run in runs:
        assert (project / "results" / run["folder"] / "thumbnail.webp").is_file()


def test_an_edit_of_a_template_makes_only_the_page_anew(project):
    with open(project / "jigsaw/templates/report.css", "a") as file:
        file.write("\n")
    assert project.would_make() == {"report": [""]}


def test_every_job_has_a_log(project):
    logs = {
        path.relative_to(project / "results/logs").as_posix()
        for path in (project / "results/logs").rglob("*.log")
    }
    for step in ("solve", "evaluate", "draw"):
        assert f"{step}/tiny/a-quick-0.log" in logs
    assert "unmix/mixed_bags/both-quick-0.log" in logs
    assert {"cut/tiny/a.log", "compare/tiny/a-ssd.log", "records/tiny.log"} <= logs


def test_a_bag_of_one_gives_the_result_of_a_single_puzzle(project):
    alone = Solution.load(project / SOLUTION)
    for bag in ("some-1-01", "some-1-02"):
        of_bag = Solution.load(project / f"results/puzzles/mixed_bags/{bag}/quick/0/unmixed.h5")
        for key in ("relations", "layout", "image"):
            np.testing.assert_array_equal(getattr(of_bag, key), getattr(alone, key))
        assert of_bag.fitness == alone.fitness


# -- reference results -----------------------------------------------------------------------------------


def committed(project):
    """Make the results of the copy, which is no checkout, those of a commit."""
    for path in (project / "results/puzzles").rglob("scores.json"):
        record = json.loads(path.read_text())
        record["provenance"]["commit"] = "0123abcd"
        path.write_text(json.dumps(record))


def test_results_are_kept_and_can_be_made_again(project):
    (project / "README.md").write_text(f"# Title\n\n{MARKS[0]}\n{MARKS[1]}\n\nText\n")
    before = (project / "README.md").read_text()
    said = project.reference("keep", fails=True)
    assert "code in no commit" in said  # the copy is no checkout
    assert (project / "README.md").read_text() == before
    assert not (project / "results/reference").exists()

    committed(project)
    assert "0 are lacking" in project.reference("keep")
    assert project.reference("lacking").strip() == ""
    kept = project / "results/reference"
    assert {path.name for path in kept.iterdir()} == {
        "config.yaml", "environment.json", "plots", "records", "tables"
    }  # fmt: skip
    assert json.loads((kept / "environment.json").read_text())["commits"] == ["0123abcd"]
    lines = (kept / "records/tiny.json").read_text().splitlines()
    assert len(lines) == 2 + 2  # brackets, and one line a run
    made = {path.name for path in (project / "results/tables").iterdir()}
    assert {path.name for path in (kept / "tables").iterdir()} == made
    rows = (project / "results/tables/tiny.csv").read_text().splitlines()
    assert (kept / "tables/tiny.csv").read_text().splitlines()[:3] == rows[:3]

    said = project.reference("check", "--sample", "2")
    assert said.count("quick") == 2
    records = json.loads((kept / "records/tiny.json").read_text())
    records[1]["solution"] = "0" * 32
    (kept / "records/tiny.json").write_text(json.dumps(records))
    said = project.reference("check", "--sample", "2", fails=True)
    assert re.search(r"tiny .* b .* quick .* solution", said)
    records[1]["provenance"]["machine"] = "a clockwork"
    (kept / "records/tiny.json").write_text(json.dumps(records))
    said = project.reference("check", "--sample", "2")
    assert re.search(r"tiny .* b .* quick .* solution", said)
    assert "a clockwork" in said


def test_results_may_be_kept_in_parts(project):
    (project / "README.md").write_text(f"{MARKS[0]}\n{MARKS[1]}\n")
    committed(project)
    runs = len(list((project / "results/puzzles").rglob("scores.json")))
    away = project / "away"
    first = project / "results/puzzles/tiny/a"
    first.rename(away)
    assert "1 are lacking" in project.reference("keep")
    assert project.reference("lacking").split() == ["results/puzzles/tiny/a/quick/0/scores.json"]

    (project / "results/puzzles").rename(project / "elsewhere")
    first.parent.mkdir(parents=True)
    away.rename(first)
    assert f"{runs} runs are kept, 0 are lacking" in project.reference("keep")
    lines = (project / "results/reference/records/tiny.json").read_text().splitlines()
    assert [json.loads(line.strip(","))["puzzle"] for line in lines[1:-1]] == ["a", "b"]


def test_without_results_nothing_is_kept(project):
    (project / "results/puzzles").rename(project / "elsewhere")
    assert "no results to keep" in project.reference("keep", fails=True)
