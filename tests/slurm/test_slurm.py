"""The workflow on a real Slurm gives what it gives on one machine, whatever happens to its jobs."""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import h5py
import psutil
import pytest
import yaml
from cluster import Cluster, lacking
from PIL import Image
from puzzles import photograph

from jigsaw.experiment import Experiment

ROOT = Path(__file__).parents[2]
if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
    pytest.skip("Snakemake's Slurm plugin is not here: `make test-slurm` gets it", allow_module_level=True)
if reason := lacking():
    pytest.skip(reason, allow_module_level=True)

QUICK = {"base": "paper", "population": 20, "generations": 5}
CONFIG = {
    "seed": 0,
    "piece_size": 28,
    "data_dir": "data",
    "sets": {"one": {"title": "One", "folder": "one"}, "two": {"title": "Two", "folder": "two"}},
    "mixed_bags": {},
    "presets": {"quick": QUICK, "joined": {**QUICK, "islands": 2}},
    "experiments": [{"sets": ["one"], "presets": ["quick"]}, {"sets": ["two"], "presets": ["joined"]}],
    "tables": {"accuracy": {}, "comparison": {}, "performance": {}},
}
VICTIM = "rule_compare_wildcards_one_a_ssd"
PATIENCE = 900  # seconds, as the machine may be busy
TIMES = re.compile(r"seconds|.* s|.* MB")


class Seen(NamedTuple):
    """What was seen of a run on Slurm."""

    local: Path
    remote: Path
    killed: str  # the job that was killed
    jobs: dict[str, tuple[str, str, str]]  # by number: comment, state and memory
    listening: set[str]  # addresses
    left: list[psutil.Process]
    before: set[Path]  # under /etc
    after: set[Path]


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """Run the workflow on this machine and on Slurm, where a running job is killed."""
    local, remote = (project(tmp_path_factory.mktemp(name)) for name in ("local", "remote"))
    before = set(Path("/etc").rglob("*"))
    words = ["--profile", "profiles/slurm", "--slurm-status-command", "squeue"]
    words += ["--slurm-init-seconds-before-status-checks", "1"]
    with (
        Cluster() as cluster,
        snakemake(local, os.environ, "--cores", "1") as here,
        snakemake(remote, cluster.environment, *words) as there,
    ):
        killed, listening = watch(cluster, there)
        finished, processes = jobs(cluster), cluster.processes()
        assert there.wait(1) == 0, (remote / "said").read_text()
        assert here.wait(PATIENCE) == 0, (local / "said").read_text()
    after = set(Path("/etc").rglob("*"))
    left = [process for process in processes if process.is_running()]
    left += [
        process for process in psutil.process_iter() if str(cluster.folder) in " ".join(words_of(process))
    ]
    return Seen(local, remote, killed, finished, listening, left, before, after)


def watch(cluster, run):
    """Kill the victim once it runs; return its number, and on which addresses the cluster listens."""
    killed, listening = "", set()
    deadline = time.monotonic() + PATIENCE
    while run.poll() is None and time.monotonic() < deadline:
        listening |= addresses(cluster)
        running = [
            number for number, (job, state, _) in jobs(cluster).items() if (job, state) == (VICTIM, "RUNNING")
        ]
        if running and not killed:
            killed = running[0]
            cluster.call("scancel", "--signal=KILL", "--full", killed)
        time.sleep(0.3)
    return killed, listening


def project(folder):
    """Lay out the workflow with a small experiment of two puzzles; the package is that of this checkout."""
    for name in ("workflow", "profiles"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "Snakefile", folder)
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG))
    for name, image in {"one/a": photograph(4, 4), "two/b": photograph(4, 5, name="chelsea")}.items():
        path = folder / "data" / f"{name}.png"
        path.parent.mkdir(parents=True)
        Image.fromarray(image).save(path)
    return folder


@contextlib.contextmanager
def snakemake(folder, environment, *words):
    """Run Snakemake in a folder, where it writes what it says; end it with the block."""
    inherited = {k: v for k, v in environment.items() if k not in ("JIGSAW_DATA", "SNAKEMAKE_PROFILE")}
    command = [sys.executable, "-m", "snakemake", *words]
    with (
        open(folder / "said", "wb") as said,
        subprocess.Popen(
            command, cwd=folder, env=inherited, stdout=said, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()


def words_of(process):
    """Return the command line of a process, if it is still there."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def jobs(cluster):
    """Return comment, state and memory of all jobs that Slurm knows, by their numbers."""
    lines = cluster.call("squeue", "--noheader", "--states=all", "--format=%i|%k|%T|%m").splitlines()
    return {number: tuple(rest) for number, *rest in (line.split("|") for line in lines)}


def addresses(cluster):
    """Return the addresses on which the cluster listens."""
    found = set()
    for process in cluster.processes():
        try:
            listening = [c for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN]
        except psutil.Error:
            continue  # it ended meanwhile
        found |= {connection.laddr.ip for connection in listening}
    return found


def digest(path):
    """Return the checksum of a file's content, without its notes of times."""
    with h5py.File(path) as file:
        return bytes(file.attrs["digest"])


def without_times(path):
    """Return the rows of a table without the columns that tell times."""
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    kept = [i for i, title in enumerate(rows[0]) if not TIMES.fullmatch(title)]
    return [[row[i] for i in kept] for row in rows]


def test_the_tables_are_those_of_a_local_run(seen):
    tables = sorted(path.name for path in (seen.local / "results/tables").glob("*.csv"))
    summaries = ["accuracy.csv", "comparison.csv", "imperfect.csv", "performance.csv"]
    assert tables == sorted([*summaries, "one.csv", "two.csv"])
    for name in tables:
        ours, theirs = (
            without_times(folder / "results/tables" / name) for folder in (seen.remote, seen.local)
        )
        assert ours == theirs
        assert len(ours) > (name != "imperfect.csv")  # all may be perfect
        assert len(ours[0]) > 3


def test_solutions_and_pictures_are_those_of_a_local_run_bit_for_bit(seen):
    folders = (seen.local / "results/puzzles", seen.local / "results/pictures")
    files = sorted(path.relative_to(seen.local) for folder in folders for path in folder.rglob("*.*"))
    wanted = {"solution.h5", "island-1.h5", "island-2.h5", "assembled.webp", "errors.webp", "animation.webp"}
    assert {path.name for path in files} >= wanted
    for path in files:
        ours, theirs = seen.remote / path, seen.local / path
        if path.suffix == ".webp":
            assert ours.read_bytes() == theirs.read_bytes()
        if path.suffix == ".h5":
            assert digest(ours) == digest(theirs)


def test_a_job_that_is_killed_is_repeated_and_asks_for_more(seen):
    assert seen.killed
    attempts = {number: job for number, job in seen.jobs.items() if job[0] == VICTIM}
    first, second = sorted(attempts, key=int)
    assert first == seen.killed
    assert [attempts[number][1] for number in (first, second)] == ["CANCELLED", "COMPLETED"]
    experiment = Experiment.load(seen.remote / "config.yaml")
    asked = [experiment.needs("compare", "one", "a", None, attempt).mem_mb for attempt in (1, 2)]
    assert [attempts[number][2] for number in (first, second)] == [f"{mb}M" for mb in asked]


def test_only_large_steps_are_submitted(seen):
    submitted = sorted(comment.split("_")[1] for comment, _, _ in seen.jobs.values())
    assert submitted == ["compare", "compare", "compare", "island", "island", "solve", "solve"]
    scores = seen.remote / "results/puzzles/two/b/joined/0/scores.json"
    assert json.loads(scores.read_text())["settings"]["islands"] == 2


def test_slurm_listens_on_loopback_only(seen):
    assert seen.listening
    assert {address for address in seen.listening if not address.startswith("127.")} == set()


def test_nothing_is_left_behind(seen):
    assert seen.left == []
    assert seen.after == seen.before
