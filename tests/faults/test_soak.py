"""The whole workflow, killed again and again until it is complete, makes the tables of an undisturbed run."""

import contextlib
import csv
import os
import random
import shutil
import signal
import threading
import time
from pathlib import Path

import psutil
import yaml
from killing import family, run
from PIL import Image
from puzzles import photograph

ROOT = Path(__file__).parents[2]
KILLS = 8
WAIT = (5, 40)  # seconds until each
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


def workflow(tally, place, *words):
    """Run Snakemake with the package of the copy; return its exit code and what it said."""
    ours = {"PYTHONPATH": str(place), "XDG_CACHE_HOME": str(place.parent / "cache")}
    inherited = {k: v for k, v in os.environ.items() if k not in ("JIGSAW_DATA", "SNAKEMAKE_PROFILE")}
    return run(tally, place, "snakemake", "--cores", "2", *words, env={**inherited, **ours})


def solves(process):
    """Tell whether a process, if it still runs, solves a puzzle."""
    with contextlib.suppress(psutil.Error):
        return "solve" in process.cmdline()
    return False


def kill_soon(chance, killed):
    """Kill, after a while, Snakemake with all its jobs, as a power cut does, or one job that solves."""
    time.sleep(chance.uniform(*WAIT))
    members = [process for child in psutil.Process().children() for process in family(child.pid)]
    jobs = [process for process in members if solves(process)]
    if chance.random() < 0.5 or not jobs:
        doomed, number = members, signal.SIGKILL
    else:
        doomed, number = [chance.choice(jobs)], chance.choice([signal.SIGKILL, signal.SIGTERM])
    for process in doomed:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)
    killed.append(len(doomed))


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
    code, said = workflow(tally, undisturbed)
    assert code == 0, said
    killed: list[int] = []
    code = None
    while code != 0:
        workflow(tally, place, "--unlock")  # what a killed Snakemake leaves
        killer = threading.Thread(target=kill_soon, args=(chance, killed))
        if len(killed) < KILLS:
            killer.start()
        code, said = workflow(tally, place)
        assert code == 0 or len(killed) < KILLS or killer.ident, said
        if killer.ident:
            killer.join()
    tally["kills survived"] += len(killed)
    assert tables_of(place) == tables_of(undisturbed)
    assert tables_of(place)["some.csv"]
    left = [p.name for p in place.rglob("*") if "checkpoint-" in p.name or p.name.startswith(".solution")]
    assert left == []
