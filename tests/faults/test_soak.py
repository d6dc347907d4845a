"""The whole workflow, killed again and again until it is complete, makes the tables of an undisturbed run."""

import csv
import random
import shutil
import signal
import time
from pathlib import Path

import psutil
import yaml
from killing import Run
from PIL import Image
from puzzles import photograph

ROOT = Path(__file__).parents[2]
KILLS = 12
CONFIG = {
    "seed": 0,
    "piece_size": 28,
    "data_dir": "data",
    "sets": {"some": {"title": "Some", "folder": "some"}},
    "mixed_bags": {"both": {"images": ["some/a", "some/b"]}},
    "presets": {
        "paper": {"base": "paper", "generations": 40},
        "best": {"base": "best", "members": 2, "rounds": 2, "budget": 10},
    },
    "experiments": [{"sets": "all", "presets": ["paper", "best"]}],
    "tables": {"accuracy": {}, "comparison": {}, "performance": {}},
}


def copied(place):
    """Return a copy of the project with a small experiment."""
    place.mkdir()
    for name in ("workflow", "profiles", "jigsaw"):
        shutil.copytree(ROOT / name, place / name)
    shutil.copy2(ROOT / "Snakefile", place / "Snakefile")
    (place / "config.yaml").write_text(yaml.safe_dump(CONFIG, sort_keys=False))
    (place / "data/some").mkdir(parents=True)
    for name, image in (("a", photograph(12, 10)), ("b", photograph(9, 9, name="coffee"))):
        Image.fromarray(image).save(place / f"data/some/{name}.png")
    return place


def workflow(place, *words):
    """Start Snakemake with the package of the copy."""
    return Run(
        place, "snakemake", "--cores", "2", *words,
        env={"PYTHONPATH": str(place), "PATH": "/usr/bin:/bin", "HOME": str(place.parent)},
    )  # fmt: skip


def tables_of(place):
    """Return all tables without what is measured in seconds and megabytes."""
    tables = {}
    for path in sorted((place / "results/tables").glob("*.csv")):
        rows = list(csv.DictReader(path.open()))
        tables[path.name] = [
            {k: v for k, v in row.items() if k != "seconds" and not k.endswith((" s", " MB"))} for row in rows
        ]
    return tables


def test_a_workflow_that_is_killed_again_and_again_makes_the_same_tables(tmp_path, tally):
    chance = random.Random(0)
    undisturbed, place = copied(tmp_path / "undisturbed"), copied(tmp_path / "killed")
    run = workflow(undisturbed)
    said = run.wait(tally)
    assert run.process.returncode == 0, said
    kills = 0
    while True:
        workflow(place, "--unlock").wait(tally)  # what a killed Snakemake leaves
        run = workflow(place)
        time.sleep(chance.uniform(4, 20))
        if kills < KILLS and run.alive:
            if chance.random() < 0.5:  # all of it, as when the machine goes down
                family = run.family()
                for process in family:
                    process.kill()
                psutil.wait_procs(family, timeout=10)
            else:  # one of its jobs
                jobs = [p for p in run.family()[1:] if "solve" in " ".join(p.cmdline())]
                if jobs:
                    chance.choice(jobs).send_signal(chance.choice([signal.SIGKILL, signal.SIGTERM]))
            kills += 1
        said = run.wait(tally)
        if run.process.returncode == 0:
            break
    tally["kills survived"] += kills
    assert tables_of(place) == tables_of(undisturbed)
    assert tables_of(place)["some.csv"]
    left = [p.name for p in place.rglob("*") if "checkpoint-" in p.name or p.name.startswith(".solution")]
    assert left == []
