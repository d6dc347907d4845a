"""What config.yaml may say, which jobs follow from it, and which code each stage depends on."""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from copy import deepcopy
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from configs import folder_of, tiny_config

from jigsaw.errors import JigsawError
from jigsaw.experiment import STAGES, Experiment, Job
from jigsaw.presets import PRESETS
from jigsaw.resources import needs
from jigsaw.sources import code_of

ROOT = Path(__file__).parents[1]
SCHEMA = yaml.safe_load((ROOT / "workflow" / "schemas" / "config.schema.yaml").read_text())
LITERATURE = {
    "cho432": (20, 432),
    "mcgill540": (20, 540),
    "pomeranz805": (20, 805),
    "pomeranz2360": (3, 2360),
    "pomeranz3300": (3, 3300),
    "sholomon5015": (20, 5015),
    "sholomon10375": (20, 10375),
    "sholomon22755": (20, 22755),
}


@pytest.fixture(autouse=True)
def _no_data(monkeypatch):
    monkeypatch.delenv("JIGSAW_DATA", raising=False)


@pytest.fixture
def config():
    """The project's own configuration."""
    return yaml.safe_load((ROOT / "config.yaml").read_text())


@pytest.fixture
def tiny(tmp_path):
    """A configuration of one small set of two images in the folder data/tiny."""
    return tiny_config(tmp_path)


def changed(config, path, value):
    """Return a configuration with the value at a dotted path changed, or removed if it is ...."""
    config = deepcopy(config)
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place = config
    for part in parents:
        place = place[part]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return config


def refused(config):
    """Return why a configuration is refused."""
    with pytest.raises(JigsawError) as caught:
        Experiment(config, ROOT)
    return str(caught.value)


# -- the project's own configuration ---------------------------------------------------------------------


def test_the_projects_configuration_is_valid(config):
    experiment = Experiment.load(ROOT / "config.yaml")
    assert experiment.config == config
    assert "bundled" in experiment.sets
    assert "mixed_bags" in experiment.sets


def keys_of(schema, path=""):
    """Give every key that a schema describes, with what describes it."""
    if "$ref" in schema:
        target = SCHEMA
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        yield from keys_of(target, path)
    for name, below in schema.get("properties", {}).items():
        yield f"{path}.{name}".lstrip("."), below
        yield from keys_of(below, f"{path}.{name}")
    for word in ("additionalProperties", "items"):
        if isinstance(below := schema.get(word), dict):
            if below.get("type") == "object":
                yield f"{path}.<{word}>", below
            yield from keys_of(below, f"{path}.<{word}>")
    for word in ("oneOf", "anyOf", "allOf"):
        for below in schema.get(word, []):
            yield from keys_of(below, path)


def test_every_key_of_the_schema_is_described():
    keys = dict(keys_of(SCHEMA))
    assert len(keys) > 30
    assert "tables.accuracy.beside" in keys
    assert [path for path, schema in keys.items() if len(schema.get("description", "")) < 10] == []
    assert SCHEMA["description"]


def test_every_solver_setting_can_be_configured():
    described = SCHEMA["properties"]["presets"]["additionalProperties"]["properties"]
    assert set(described) == {"base", "islands", *PRESETS["paper"].as_dict()}


def test_the_preset_paper_is_that_of_the_package(config):
    assert Experiment(config, ROOT).settings("paper") == PRESETS["paper"]
    said = config["presets"]["paper"]
    assert said == {
        "base": "paper",
        **{key: PRESETS["paper"].as_dict()[key] for key in said if key != "base"},
    }
    assert Experiment(config, ROOT).settings("best") == PRESETS["best"]


def test_the_preset_paper_is_that_of_the_paper():
    settings = PRESETS["paper"].as_dict()
    assert settings["members"] == 0  # no search after the genetic algorithm
    assert [settings[key] for key in ("measure", "population", "generations", "elite", "mutation")] == [
        "ssd", 300, 100, 4, 0.001,
    ]  # fmt: skip


def test_all_literature_sets_are_declared_with_their_numbers(config):
    declared = {
        name: (content.get("images"), content.get("pieces"))
        for name, content in config["sets"].items()
        if name != "bundled" and "of" not in content
    }
    assert declared == LITERATURE
    assert all("url" in config["sets"][name] or "page" in config["sets"][name] for name in LITERATURE)


def test_the_checksums_name_every_image_of_every_set_that_has_them(config):
    lines = (ROOT / "workflow" / "checksums.sha256").read_text().splitlines()
    for name, (images, _) in LITERATURE.items():
        if "checksums" in config["sets"][name]:
            assert sum(f"  {name}/" in line for line in lines) == images


def test_at_least_six_photographs_and_a_mixed_bag_need_no_download(config):
    experiment = Experiment(config, ROOT)
    assert len(experiment.images("bundled")) >= 6
    assert experiment.puzzles("mixed_bags")
    for bag in experiment.puzzles("mixed_bags"):
        assert len(experiment.sources("mixed_bags", bag)) >= 2


def test_published_results_are_of_declared_sets_and_tables_name_known_solvers(config):
    published = yaml.safe_load((ROOT / "workflow" / "published.yaml").read_text())
    for solver in published.values():
        assert set(solver["results"]) <= set(config["sets"])
    for table in config["tables"].values():
        assert set(table["beside"]) <= set(published)


# -- mistakes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("sed", 3, "'sed'"),
        ("sets.tiny.titel", "Tiny", "'titel'"),
        ("presets.quick.populaton", 9, "'populaton'"),
        ("experiments.0.run", 2, "'run'"),
        ("tables.accuracy.besides", [], "'besides'"),
        ("tables.speed", {}, "'speed'"),
        ("mixed_bags.bag", {"images": ["tiny/a"], "shuffle": True}, "'shuffle'"),
        ("seed", ..., "'seed'"),
        ("sets.tiny.title", ..., "'title'"),
        ("presets", ..., "'presets'"),
        ("seed", "zero", "seed"),
        ("seed", -1, "seed"),
        ("seed", 1.5, "seed"),
        ("seed", True, "seed"),
        ("seed", 2**63, "seed"),
        ("piece_size", 1, "piece_size"),
        ("piece_size", "28", "piece_size"),
        ("data_dir", 3, "data_dir"),
        ("sets", [], "sets"),
        ("sets.tiny.images", 0, "sets.tiny.images"),
        ("sets.tiny.pieces", "many", "sets.tiny.pieces"),
        ("sets.tiny.folder", "", "sets.tiny.folder"),
        ("sets.tiny.url", "ftp://example.org/a.zip", "sets.tiny.url"),
        ("sets.tiny.skimage", ["camera.png"], "sets.tiny"),
        ("sets.tiny.pattern", "*.png", "sets.tiny"),
        ("sets.mixed_bags", {"title": "x", "folder": "x"}, "mixed_bags"),
        ("sets.drawn_bags", {"title": "x", "folder": "x"}, "drawn_bags"),
        ("sets.accuracy", {"title": "x", "folder": "x"}, "accuracy"),
        ("sets.a/b", {"title": "x", "folder": "x"}, "a/b"),
        ("sets.a b", {"title": "x", "folder": "x"}, "a b"),
        ("sets.a\n", {"title": "x", "folder": "x"}, "does not match"),
        ("sets.tiny.missing", float("nan"), "nan"),
        ("presets.quick; ls", {}, "quick; ls"),
        ("presets.quick\n", {}, "does not match"),
        ("presets.quick.budget", float("nan"), "nan"),
        ("experiments.0.runs", 10**9, "experiments.0.runs"),
        ("presets.quick.population", 2, "presets.quick.population"),
        ("presets.quick.population", 20.5, "presets.quick.population"),
        ("presets.quick.generations", 0, "presets.quick.generations"),
        ("presets.quick.elite", -1, "presets.quick.elite"),
        ("presets.quick.elite", 20, "presets.quick"),
        ("presets.quick.mutation", 1.5, "presets.quick.mutation"),
        ("presets.quick.mutation", "often", "presets.quick.mutation"),
        ("presets.quick.measure", "guess", "presets.quick"),
        ("presets.quick.base", "papyrus", "presets.quick"),
        ("presets.quick.islands", 0, "presets.quick.islands"),
        ("presets.quick.islands", 1025, "presets.quick.islands"),
        ("experiments", [], "experiments"),
        ("experiments.0.runs", 0, "experiments.0.runs"),
        ("experiments.0.presets", ["quick", "slow"], "experiments.0.presets"),
        ("experiments.0.presets", "quick", "experiments.0.presets"),
        ("experiments.0.sets", ["tiny", "huge"], "experiments.0.sets"),
        ("experiments.0.sets", "tiny", "experiments.0.sets"),
        ("experiments.0.except", ["huge"], "experiments.0.except"),
        ("experiments.0.images", [], "experiments.0.images"),
        ("only", ["huge"], "only"),
        ("only", "tiny,huge", "only"),
        ("require_all", "perhaps", "require_all"),
        ("download", 1, "download"),
    ],
)
def test_a_mistake_is_refused_and_its_key_named(tiny, path, value, named):
    Experiment(tiny, ROOT)
    message = refused(changed(tiny, path, value))
    assert named in message
    assert "config.yaml" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("path", "value", "wrong", "known"),
    [
        ("experiments.0.presets", ["slow"], "'slow'", "quick"),
        ("experiments.0.sets", ["huge"], "'huge'", "tiny"),
        ("only", ["huge"], "'huge'", "tiny"),
        ("presets.quick.base", "papyrus", "'papyrus'", "paper"),
        ("presets.quick.measure", "guess", "'guess'", "ssd"),
        ("mixed_bags.bag", {"images": ["huge/a"]}, "'huge'", "tiny"),
    ],
)
def test_an_unknown_name_is_refused_with_those_known(tiny, path, value, wrong, known):
    message = refused(changed(tiny, path, value))
    assert wrong in message
    assert known in message.replace(path, "")


@pytest.mark.parametrize("content", ["", "- a\n", "seed: [", "\x00"])
def test_a_file_that_is_no_configuration_is_named(tmp_path, content):
    shutil.copytree(ROOT / "workflow", tmp_path / "workflow")
    (tmp_path / "config.yaml").write_text(content)
    with pytest.raises(JigsawError, match=r"config\.yaml"):
        Experiment.load(tmp_path / "config.yaml")


def test_a_missing_configuration_is_named(tmp_path):
    with pytest.raises(JigsawError, match=r"config\.yaml"):
        Experiment.load(tmp_path / "config.yaml")


def test_a_configuration_in_another_folder_is_read_or_refused(tmp_path, tiny):
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(tiny))
    with contextlib.suppress(JigsawError):
        assert Experiment.load(tmp_path / "mine.yaml").config == tiny


# -- sets ------------------------------------------------------------------------------------------------


def test_each_image_of_each_set_is_a_puzzle(tiny):
    experiment = Experiment(tiny, ROOT)
    assert experiment.sets == ["tiny"]
    assert experiment.missing == []
    assert experiment.jobs("tiny") == [Job("tiny", "a", "quick", 0), Job("tiny", "b", "quick", 0)]
    assert experiment.pieces("tiny", "a") == 6


def test_runs_and_presets_multiply_jobs_but_never_twice_the_same(tiny):
    tiny["presets"]["other"] = {}
    tiny["experiments"] = [
        {"sets": ["tiny"], "presets": ["quick"], "runs": 2},
        {"sets": "all", "presets": ["quick", "other"]},
    ]
    jobs = Experiment(tiny, ROOT).jobs("tiny")
    assert len(jobs) == len(set(jobs)) == 6
    assert {(job.preset, job.run) for job in jobs} == {("quick", 0), ("quick", 1), ("other", 0)}


def test_an_experiment_may_leave_sets_out_or_be_about_some_images(tiny):
    tiny["presets"]["other"] = {}
    tiny["experiments"] = [
        {"sets": "all", "except": ["tiny"], "presets": ["quick"]},
        {"sets": ["tiny"], "images": ["b"], "presets": ["other"], "runs": 2},
    ]
    experiment = Experiment(tiny, ROOT)
    assert experiment.jobs("tiny") == [Job("tiny", "b", "other", 0), Job("tiny", "b", "other", 1)]
    tiny["experiments"][1]["images"] = ["b", "z"]
    with pytest.raises(JigsawError, match=r"experiments\.1\.images: tiny has no image 'z'; it has a, b"):
        Experiment(tiny, ROOT).jobs("tiny")


def test_puzzles_whose_names_are_not_known_are_counted(tiny):
    tiny["presets"]["other"] = {}
    tiny["experiments"] = [
        {"sets": "all", "presets": ["quick"]},
        {"sets": ["tiny"], "images": ["x", "y"], "presets": ["other"]},
    ]
    experiment = Experiment(tiny, ROOT)
    runs = [experiment.runs("tiny", position=i) for i in range(3)]
    assert runs == [[("quick", 0), ("other", 0)], [("quick", 0), ("other", 0)], [("quick", 0)]]


def test_the_settings_of_a_preset_depart_from_its_base(tiny):
    settings = Experiment(tiny, ROOT).settings("quick")
    assert (settings.population, settings.generations) == (20, 5)
    assert (settings.elite, settings.mutation) == (PRESETS["paper"].elite, PRESETS["paper"].mutation)


def test_the_options_of_a_preset_are_understood_by_the_command(tiny):
    from jigsaw.cli import _settings, parser

    tiny["presets"]["quick"]["mutation"] = 1e-7
    tiny["presets"]["measured"] = {"base": "paper", "measure": "mgc"}
    experiment = Experiment(tiny, ROOT)
    for name in ("quick", "measured"):
        words = ["solve", "e.h5", "--out", "s.h5", *experiment.solver_options(name, "tiny", "a").split()]
        options = parser().parse_args(words)
        assert _settings(options) == experiment.settings(name)
        assert options.name == name


def test_what_is_known_of_a_set_reaches_the_commands(tiny):
    from jigsaw.cli import parser

    tiny["sets"]["known"] = {
        "title": "Known", "of": "tiny", "keep_orientation": True, "missing": 0.25, "known_size": True,
    }  # fmt: skip
    tiny["presets"]["searching"] = {"base": "best", "measure": "ssd"}
    experiment = Experiment(tiny, ROOT)
    assert experiment.puzzles("known") == experiment.puzzles("tiny")
    cutting = f"cut a.png --pieces p.h5 --truth t.h5{experiment.cutting_options('known', 'a')}"
    options = parser().parse_args(cutting.split())
    assert (options.keep_orientation, options.missing) == (True, 0.25)
    comparing = f"compare p.h5 --out e.h5{experiment.comparing_options('known')}"
    assert parser().parse_args(comparing.split()).keep_orientation
    solving = f"solve e.h5 --out s.h5 {experiment.solver_options('searching', 'known', 'a')}"
    width, height = parser().parse_args(solving.split()).size
    assert width * height == experiment.pieces("known", "a")
    assert experiment.cutting_options("tiny", "a") == experiment.comparing_options("tiny") == ""
    assert "--size" not in experiment.solver_options("searching", "tiny", "a")
    assert "--size" not in experiment.solver_options("quick", "known", "a")  # nothing there would use it


@pytest.mark.parametrize("origin", ["nowhere", "second"])
def test_a_set_of_a_set_without_images_is_refused(tiny, origin):
    tiny["sets"]["second"] = {"title": "Second", "of": "tiny"}
    tiny["sets"]["third"] = {"title": "Third", "of": origin}
    assert "sets.third.of" in refused(tiny)


def test_runs_with_a_table_of_their_own_stay_out_of_the_summaries(tiny):
    tiny["presets"] |= {"other": {"base": "best"}, "third": {"base": "paper", "measure": "mgc"}}
    tiny["experiments"] += [{"sets": ["tiny"], "presets": ["quick", "other", "third"], "table": "ablation"}]
    experiment = Experiment(tiny, ROOT)
    assert experiment.presets() == ["quick"]
    assert experiment.presets("ablation") == ["quick", "other", "third"]
    assert experiment.sets_of("ablation") == ["tiny"]
    assert len(experiment.jobs("tiny")) == 3 * len(experiment.puzzles("tiny"))


def test_only_kernels_that_are_used_are_compiled(tiny):
    assert Experiment(tiny, ROOT).measures("compare") == ["ssd"]
    assert Experiment(tiny, ROOT).measures("search") == []
    before = Experiment(tiny, ROOT).kernels("solve")
    tiny["presets"]["other"] = {"base": "best"}
    tiny["experiments"][0]["presets"].append("other")
    tiny["measures"] = {"sets": ["tiny"], "measures": ["mgc", "fused"]}
    experiment = Experiment(tiny, ROOT)
    assert experiment.measures("compare") == ["ssd", "fused", "mgc"]
    assert experiment.measures("solve") == ["ssd", "fused"]
    assert experiment.measures("search") == ["fused"]
    assert experiment.kernels("solve") != before
    assert ("tiny", "a", "mgc") in experiment.judged()


def test_an_unknown_measure_to_judge_is_refused(tiny):
    tiny["measures"] = {"sets": ["tiny"], "measures": ["ssd", "sdd"]}
    assert "measures.measures: unknown measure 'sdd'" in refused(tiny)
    tiny["measures"] = {"sets": ["tony"], "measures": ["ssd"]}
    assert "measures.sets: there is no image set 'tony'" in refused(tiny)


def test_a_set_that_no_experiment_names_is_not_run(tiny):
    tiny["sets"]["other"] = {"title": "Other", "folder": "nowhere"}
    tiny["experiments"][0]["sets"] = ["tiny"]
    experiment = Experiment(tiny, ROOT)
    assert (experiment.sets, experiment.missing) == (["tiny"], [])


@pytest.mark.parametrize("only", ["other", ["other"], "other,mixed_bags"])
def test_only_restricts_a_call(tiny, tmp_path, only):
    folder_of(tmp_path / "data" / "other", ["c.png"])
    tiny["sets"]["other"] = {"title": "Other", "folder": "other"}
    assert Experiment(tiny, ROOT).sets == ["tiny", "other"]
    assert Experiment({**tiny, "only": only}, ROOT).sets == ["other"]
    assert Experiment({**tiny, "only": []}, ROOT).sets == ["tiny", "other"]


@pytest.mark.parametrize(
    ("more", "hint"),
    [
        ({}, "JIGSAW_DATA"),
        ({"url": "https://example.org/a.zip"}, "jigsaw fetch gone.*https://example.org/a.zip"),
        ({"page": "https://example.org/"}, "offered at https://example.org/"),
    ],
)
def test_a_missing_set_is_reported_with_how_to_get_it(tiny, tmp_path, more, hint):
    tiny["sets"]["gone"] = {"title": "Gone", "folder": "gone", **more}
    experiment = Experiment(tiny, ROOT)
    assert experiment.sets == ["tiny"]
    (message,) = experiment.missing
    assert message.startswith("image set gone ")
    assert str(tmp_path / "data" / "gone") in message
    with pytest.raises(JigsawError, match=hint):
        experiment.puzzles("gone")


def test_every_literature_set_that_is_missing_says_how_to_get_it(config, tmp_path):
    config["data_dir"] = str(tmp_path)
    lost = [message for message in Experiment(config, ROOT).missing if message.startswith("image set")]
    for name, message in zip(LITERATURE, lost, strict=True):
        assert f"image set {name} is not there" in message
        assert "http" in message


@pytest.mark.parametrize("images", [1, 3])
def test_a_set_with_the_wrong_number_of_images_is_refused(tiny, images):
    tiny["sets"]["tiny"]["images"] = images
    with pytest.raises(JigsawError, match=rf"data/tiny: holds 2 images.*set tiny should have {images}"):
        Experiment(tiny, ROOT).jobs("tiny")


def test_an_empty_folder_is_refused(tiny, tmp_path):
    for path in (tmp_path / "data" / "tiny").iterdir():
        path.unlink()
    with pytest.raises(JigsawError, match="data/tiny: holds 0 images"):
        Experiment(tiny, ROOT).jobs("tiny")


def test_a_set_with_the_wrong_number_of_pieces_is_refused(tiny, tmp_path):
    tiny["sets"]["tiny"] |= {"images": 2, "pieces": 6}
    assert len(Experiment(tiny, ROOT).jobs("tiny")) == 2
    folder_of(tmp_path / "data" / "tiny", ["b.png"], height=84)
    with pytest.raises(JigsawError, match=r"b\.png: gives 9 pieces.*set tiny should have 6"):
        Experiment(tiny, ROOT).jobs("tiny")


def test_two_images_with_the_same_name_but_for_the_ending_are_refused(tiny, tmp_path):
    folder_of(tmp_path / "data" / "tiny", ["a.jpg"])
    with pytest.raises(JigsawError, match=r"a\.(png|jpg).*same name"):
        Experiment(tiny, ROOT).jobs("tiny")


def test_an_image_that_cannot_be_read_is_named(tiny, tmp_path):
    (tmp_path / "data" / "tiny" / "b.png").write_bytes(b"no image")
    tiny["sets"]["tiny"]["pieces"] = 6
    with pytest.raises(JigsawError, match=r"b\.png"):
        Experiment(tiny, ROOT).jobs("tiny")


def test_a_photograph_that_scikit_image_does_not_ship_is_refused(tiny):
    tiny["sets"]["tiny"] = {"title": "x", "skimage": ["camera.png", "mona_lisa.png"]}
    with pytest.raises(JigsawError, match=r"sets\.tiny.*mona_lisa\.png"):
        Experiment(tiny, ROOT).jobs("tiny")


def test_the_environment_goes_before_data_dir(tiny, tmp_path, monkeypatch):
    folder_of(tmp_path / "elsewhere" / "tiny", ["c.png"])
    monkeypatch.setenv("JIGSAW_DATA", str(tmp_path / "elsewhere"))
    assert list(Experiment(tiny, ROOT).images("tiny")) == ["c"]
    monkeypatch.setenv("JIGSAW_DATA", "")
    assert list(Experiment(tiny, ROOT).images("tiny")) == ["a", "b"]


def test_a_relative_data_dir_is_beside_the_configuration(tiny, tmp_path):
    shutil.copytree(ROOT / "workflow", tmp_path / "workflow")
    tiny["data_dir"] = "data"
    assert list(Experiment(tiny, tmp_path).images("tiny")) == ["a", "b"]


def test_an_absolute_folder_stays_where_it_is(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("JIGSAW_DATA", "/nowhere")
    tiny["sets"]["tiny"]["folder"] = str(tmp_path / "data" / "tiny")
    assert Experiment(tiny, ROOT).sets == ["tiny"]


# -- islands ---------------------------------------------------------------------------------------------


def test_a_preset_is_one_job_unless_it_says_into_how_many_islands_it_is_divided(tiny):
    tiny["presets"]["joined"] = {"base": "best", "islands": 3}
    experiment = Experiment(tiny, ROOT)
    assert (experiment.islands("quick"), experiment.islands("joined")) == (1, 3)
    assert experiment.settings("joined") == PRESETS["best"]
    assert "islands" not in experiment.solver_options("joined", "tiny", "a")


def test_islands_together_give_a_whole_population(tiny):
    tiny["presets"]["joined"] = {"base": "best", "islands": 3}
    assert Experiment(tiny, ROOT).island_elite("joined") == 34  # of 100


def test_every_run_and_island_has_a_seed_of_its_own(tiny):
    experiment = Experiment(changed(tiny, "seed", 7), ROOT)
    assert [experiment.seed_of(run) for run in (0, 1)] == [7, 8]
    seeds = {experiment.seed_of(run, island) for run in range(50) for island in range(50)}
    assert len(seeds) == 2500
    largest = Experiment(changed(tiny, "seed", 2**62), ROOT)
    assert largest.seed_of(2**31, 1024) < 2**63


# -- resources -------------------------------------------------------------------------------------------


def test_a_job_asks_for_what_its_pieces_and_preset_need(tiny, monkeypatch):
    experiment = Experiment(tiny, ROOT)
    asked = []
    for pieces in (100, 5_000, 22_755):
        monkeypatch.setattr(experiment, "pieces", lambda *_, pieces=pieces: pieces)
        asked.append(experiment.needs("solve", "tiny", "a", "quick"))
        assert asked[-1] == needs("solve", pieces, experiment.settings("quick"))
        assert experiment.needs("draw", "tiny", "a", "quick", 2) == needs("draw", pieces, attempt=2)
    assert all(few.mem_mb < many.mem_mb for few, many in pairwise(asked))


# -- code ------------------------------------------------------------------------------------------------


def test_every_stage_is_a_module_and_a_command():
    from jigsaw.cli import parser

    (steps,) = (action for action in parser()._actions if action.choices)
    for stage, module in STAGES.items():
        assert (ROOT / "jigsaw" / f"{module}.py").is_file()
        assert stage in steps.choices
        assert len(Experiment.code(stage)) == 16


def test_every_rule_that_runs_a_stage_depends_on_its_code():
    used = "".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    for stage in STAGES:
        assert f'experiment.code("{stage}")' in used


CODES = "import json; from jigsaw.experiment import STAGES, Experiment; import jigsaw.sources as s\n"
CODES += "print(json.dumps([s.__file__, {stage: Experiment.code(stage) for stage in STAGES}]))"


@pytest.fixture(scope="module")
def stages_changed_by(tmp_path_factory):
    """Return a function that edits a module of a copy of the package and tells whose code changed."""
    root = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "jigsaw", root / "jigsaw", ignore=shutil.ignore_patterns("__pycache__"))

    def codes():
        environment = {**os.environ, "PYTHONPATH": str(root)}
        done = subprocess.run(
            [sys.executable, "-c", CODES],
            env=environment,
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
        path, found = yaml.safe_load(done.stdout)
        assert Path(path).is_relative_to(root)
        return found

    before = codes()

    def edited(module):
        path = root / "jigsaw" / module
        text = path.read_text()
        path.write_text(text + "\n# edited\n")
        try:
            after = codes()
        finally:
            path.write_text(text)
        return {stage for stage in before if before[stage] != after[stage]}

    assert codes() == before
    return edited


@pytest.mark.parametrize("module", ["crossover.py", "genetic.py", "search.py", "solver.py"])
def test_an_edit_of_the_solver_concerns_solving_only(stages_changed_by, module):
    assert stages_changed_by(module) == {"solve"}


def test_an_edit_of_what_unmixing_shares_with_the_solver_concerns_both(stages_changed_by):
    assert stages_changed_by("groups.py") == {"solve", "unmix"}


@pytest.mark.parametrize(
    ("module", "touched", "untouched"),
    [
        ("allpairs.py", {"compare"}, {"cut", "evaluate", "table"}),
        ("measures/ssd.py", {"compare", "evaluate"}, {"cut", "table"}),
        ("tables.py", {"table"}, {"cut", "compare", "solve", "evaluate", "draw"}),
        ("bag_tables.py", {"table"}, {"cut", "compare", "solve", "evaluate", "draw"}),
        ("separation.py", {"evaluate", "draw"}, {"cut", "compare", "solve", "table"}),
        ("crop.py", {"cut"}, {"table"}),
        ("drawing.py", {"draw"}, {"cut", "compare", "solve", "evaluate", "table"}),
        ("evaluation.py", {"evaluate", "draw"}, {"cut", "compare", "solve", "table"}),
        ("plots.py", {"plot"}, {"cut", "compare", "solve", "evaluate", "draw"}),
        ("report.py", {"report"}, {"cut", "compare", "solve", "evaluate", "draw", "plot", "table"}),
        ("images.py", {"cut"}, {"solve", "table"}),
        ("files.py", {"cut", "compare", "solve", "evaluate", "draw", "table"}, set()),
        ("cli.py", set(), {"cut", "compare", "solve"}),
    ],
)
def test_an_edit_concerns_the_stages_that_use_the_module(stages_changed_by, module, touched, untouched):
    found = stages_changed_by(module)
    assert touched <= found
    assert not untouched & found


def test_code_is_told_apart_by_module():
    assert len({code_of("crossover"), code_of("genetic"), code_of("tables")}) == 3


# -- downloading -----------------------------------------------------------------------------------------


@pytest.fixture
def offered(tmp_path, tiny):
    """A set that is offered as an archive, with right checksums."""
    source = folder_of(tmp_path / "source", ["1.png", "2.png"])
    archive = tmp_path / "offered.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in sorted(source.iterdir()):
            packed.write(path, f"images/{path.name}")
        packed.writestr("readme.txt", "no image")
    lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  offered/{p.name}\n" for p in source.iterdir()]
    (tmp_path / "sums").write_text("".join(lines))
    tiny["sets"]["offered"] = {
        "title": "Offered",
        "folder": "offered",
        "url": archive.as_uri(),
        "pattern": "images/*.png",
        "sha256": hashlib.sha256(archive.read_bytes()).hexdigest(),
        "checksums": str(tmp_path / "sums"),
        "images": 2,
        "pieces": 6,
    }
    return tiny


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_set_is_fetched_unpacked_and_checked(offered, tmp_path):
    Experiment(offered, ROOT).fetch("offered")
    assert left_in(tmp_path / "data") == ["offered", "tiny"]
    assert left_in(tmp_path / "data" / "offered") == ["1.png", "2.png"]
    assert [job.puzzle for job in Experiment(offered, ROOT).jobs("offered")] == ["1", "2"]


def test_a_set_that_is_there_is_not_fetched_again(offered, tmp_path):
    folder_of(tmp_path / "data" / "offered", ["mine.png"])
    Experiment(offered, ROOT).fetch("offered")
    assert left_in(tmp_path / "data" / "offered") == ["mine.png"]


def test_an_archive_with_another_checksum_is_refused(offered, tmp_path):
    offered["sets"]["offered"]["sha256"] = "0" * 64
    with pytest.raises(JigsawError, match=r"offered\.zip.*checksum"):
        Experiment(offered, ROOT).fetch("offered")
    assert left_in(tmp_path / "data") == ["tiny"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace(text[:8], "00000000", 1), "changed"),
        (lambda text: text + "0" * 64 + "  offered/3.png\n", r"3\.png \(missing\)"),
        (lambda text: text.replace("offered/", "other/"), "names no file of set offered"),
    ],
)
def test_images_with_other_checksums_are_refused(offered, tmp_path, change, message):
    path = tmp_path / "sums"
    path.write_text(change(path.read_text()))
    with pytest.raises(JigsawError, match=message):
        Experiment(offered, ROOT).fetch("offered")
    assert not (tmp_path / "data" / "offered").exists()
    assert not any(name.startswith(".") for name in left_in(tmp_path / "data"))


def test_an_archive_that_is_not_there_is_named(offered, tmp_path):
    (tmp_path / "offered.zip").unlink()
    with pytest.raises(JigsawError, match=r"offered\.zip"):
        Experiment(offered, ROOT).fetch("offered")
    assert left_in(tmp_path / "data") == ["tiny"]


def test_a_missing_set_with_a_url_counts_as_there_if_downloads_are_allowed(offered):
    (message,) = Experiment(offered, ROOT).missing
    assert "image set offered" in message
    experiment = Experiment({**offered, "download": True}, ROOT)
    assert experiment.missing == []
    assert experiment.downloads("offered")
    assert not experiment.downloads("tiny")


def test_mixed_bags_of_a_set_to_be_downloaded_are_not_missing(offered):
    offered["mixed_bags"] = {"both": {"images": ["offered/1", "offered/2"]}}
    assert "mixed_bags" not in Experiment({**offered, "download": True}, ROOT).missing


@pytest.mark.parametrize("name", ["tiny", "mixed_bags", "bundled", "huge"])
def test_a_set_that_is_not_offered_cannot_be_fetched(tiny, name):
    tiny["sets"]["bundled"] = {"title": "Bundled", "skimage": ["camera.png"]}
    with pytest.raises(JigsawError, match=name):
        Experiment(tiny, ROOT).fetch(name)
