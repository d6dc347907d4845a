"""What takes more memory than is free is refused before it begins."""

import numpy as np
import psutil
import pytest
from puzzles import cut_noise, solution_of

import jigsaw
from jigsaw import memory
from jigsaw.errors import JigsawError

GIB = 2**30


@pytest.fixture
def system(tmp_path):
    """Return a function that makes the files in which Linux tells the limits of control groups."""

    def made(groups, **files):
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text(groups)
        for name, text in files.items():
            path = tmp_path / "sys/fs/cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return made


def stat(inactive, prefix=""):
    return f"anon 5\n{prefix}inactive_file {inactive}\nfile 7\n"


def test_without_control_groups_it_is_what_the_machine_has(tmp_path):
    assert memory.free_bytes(tmp_path) == pytest.approx(psutil.virtual_memory().available, rel=0.2)


def test_a_limit_on_a_group_leaves_what_it_has_not_used_but_for_files(system):
    root = system(
        "0::/job\n",
        **{
            "job/memory.max": "300000\n", "job/memory.current": "250000\n", "job/memory.stat": stat(20000),
            "memory.max": "max\n", "memory.current": "900000\n", "memory.stat": stat(0),
        },
    )  # fmt: skip
    assert memory.free_bytes(root) == 70000


def test_a_limit_on_an_outer_group_counts_too(system):
    root = system(
        "0::/job/step\n",
        **{
            "job/step/memory.max": "max\n", "job/step/memory.current": "1\n", "job/step/memory.stat": stat(0),
            "job/memory.max": "5000\n", "job/memory.current": "1000\n", "job/memory.stat": stat(0),
        },
    )  # fmt: skip
    assert memory.free_bytes(root) == 4000


def test_the_first_version_of_control_groups_is_understood(system):
    root = system(
        "3:cpu:/other\n2:memory:/job\n",
        **{
            "memory/job/memory.limit_in_bytes": "5000\n", "memory/job/memory.usage_in_bytes": "6000\n",
            "memory/job/memory.stat": stat(500, "total_"),
        },
    )  # fmt: skip
    assert memory.free_bytes(root) == 0


def test_a_population_that_does_not_fit_is_refused_with_the_figures(monkeypatch):
    edges = jigsaw.compare(cut_noise(3, 4)[0])
    monkeypatch.setattr(memory, "free_bytes", lambda: GIB)
    settings = jigsaw.Settings(population=10**8)
    told = r"12 pieces .* takes about 62\.6 GiB .* 1\.0 GiB are free; use a smaller"
    with pytest.raises(JigsawError, match=told):
        jigsaw.solve(edges, settings=settings)


def test_absurd_numbers_are_refused():
    edges = jigsaw.compare(cut_noise(3, 4)[0])
    for changes in ({"population": 10**15}, {"generations": 10**15}):
        with pytest.raises(JigsawError, match="takes about"):
            jigsaw.solve(edges, settings=jigsaw.Settings().changed(**changes))


def test_a_picture_that_does_not_fit_is_refused():
    bag, _ = cut_noise(1, 2)
    layout = np.array([[0, 0, 0], [2**30, 2**30, 0]])
    with pytest.raises(JigsawError, match="picture of 1073741825 x 1073741825 pieces takes about"):
        jigsaw.draw(solution_of(layout, bag), bag)
