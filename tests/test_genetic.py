"""The genetic algorithm and its worker processes: puzzles are solved, and the same way every time."""

import os
import re
import signal
import subprocess
import sys
import textwrap

import numpy as np
import psutil
import pytest
import reference
from skimage.data import chelsea

from jigsaw import workers as workers_module
from jigsaw.chromosome import Population, costs_of, fitness_of
from jigsaw.dissimilarity import compare
from jigsaw.errors import JigsawError
from jigsaw.genetic import keep_elite
from jigsaw.geometry import normalised, relations_of
from jigsaw.pieces import Bag, cut
from jigsaw.presets import PRESETS, Settings, settings_of
from jigsaw.solver import solve
from jigsaw.workers import Workers, shared_array

SMALL = Settings(population=24, generations=8)


@pytest.fixture(autouse=True)
def log_handlers_left_alone(monkeypatch):
    """Workers log through the root handlers, which they change for good: here those are pytest's."""
    monkeypatch.setattr(workers_module, "install_mp_handler", lambda: None)


@pytest.fixture(scope="module")
def noise():
    """A bag without a picture: its search never comes to an end, so every generation differs."""
    return compare(Bag(np.random.default_rng(1).integers(0, 256, (25, 4, 4, 3), dtype=np.uint8)))


@pytest.fixture(scope="module")
def cat():
    """A part of a photograph, easily solved, and its true relations."""
    return puzzle_of(chelsea()[100:212, 100:240])


def puzzle_of(picture):
    bag, truth = cut([picture], piece_size=28, seed=3)
    return compare(bag), relations_of(truth.places[:, [2, 1, 3]])


def assert_same(one, two):
    for name in ("relations", "layout", "history", "shown", "snapshots"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    assert one.fitness == two.fitness


# --- The same seed, the same solution -----------------------------------------------------------------


@pytest.mark.parametrize("workers", [2, 3])
def test_the_number_of_workers_changes_no_bit(noise, workers):
    assert_same(solve(noise, settings=SMALL, seed=5, workers=workers), solve(noise, settings=SMALL, seed=5))


def test_more_workers_than_children_change_no_bit(noise):
    few = Settings(population=4, generations=3, elite=2)
    assert_same(solve(noise, settings=few, workers=3), solve(noise, settings=few))


def test_the_same_seed_gives_the_same_solution(noise):
    assert_same(solve(noise, settings=SMALL, seed=6), solve(noise, settings=SMALL, seed=6))


def test_another_seed_gives_another_history(noise):
    one, two = (solve(noise, settings=SMALL, seed=seed) for seed in (7, 8))
    assert (one.history != two.history).any()
    assert (one.history[0] != two.history[0]).all()


def test_the_largest_seed_is_a_seed_like_any_other(noise):
    largest = solve(noise, settings=SMALL, seed=2**63 - 1)
    assert (largest.history[0] != solve(noise, settings=SMALL, seed=2**63 - 2).history[0]).all()


# --- What a run tells ---------------------------------------------------------------------------------


@pytest.mark.parametrize("elite", [1, 4])
def test_with_an_elite_the_best_never_gets_worse(noise, elite):
    history = solve(noise, settings=SMALL.changed(elite=elite, generations=30)).history
    assert (np.diff(history[:, 0]) <= 0).all()
    assert history[-1, 0] < history[0, 0]
    assert (history[:, 0] <= history[:, 1]).all()
    assert (history[:, 1] <= history[:, 2]).all()


def test_the_fitness_told_is_that_of_the_solution(noise):
    solution = solve(noise, settings=SMALL)
    np.testing.assert_array_equal(solution.relations, relations_of(solution.layout))
    relations = solution.relations.reshape(-1)
    assert solution.fitness == pytest.approx(fitness_of(costs_of(noise), relations), rel=1e-9)
    assert solution.fitness == solution.history[-1, 0]
    strips = noise.features.strips.reshape(len(noise), -1, 3).astype(int)
    dissimilarities = np.sqrt(reference.all_squared(strips)) / 16
    assert solution.fitness == pytest.approx(
        reference.fitness(relations, dissimilarities, noise.mean), rel=1e-9
    )


@pytest.mark.parametrize(
    ("generations", "shown"),
    [(1, [1]), (4, [1, 2, 3, 4]), (5, [1, 2, 3, 4, 5]), (8, [1, 2, 3, 4, 5, 8])],
)
def test_the_best_of_the_first_five_generations_and_of_the_last_is_kept(noise, generations, shown):
    solution = solve(noise, settings=SMALL.changed(generations=generations))
    costs = costs_of(noise)
    assert solution.shown.tolist() == shown
    assert len(solution.snapshots) == len(shown)
    assert len(solution.history) == generations + 1
    for generation, layout in zip(shown, solution.snapshots, strict=True):
        fitness = fitness_of(costs, relations_of(layout).reshape(-1))
        assert fitness == pytest.approx(solution.history[generation, 0], rel=1e-9)
    np.testing.assert_array_equal(solution.snapshots[-1], solution.layout)


def test_every_generation_is_announced_once(noise):
    told = []

    def tell(number, fitness, layout):
        told.append((number, fitness, layout.copy()))

    solution = solve(noise, settings=SMALL, on_generation=tell)
    assert [number for number, _, _ in told] == list(range(9))
    np.testing.assert_array_equal([fitness for _, fitness, _ in told], solution.history)
    for number, snapshot in zip(solution.shown, solution.snapshots, strict=True):
        np.testing.assert_array_equal(normalised(told[number][2]), snapshot)


def test_the_elite_are_the_best_in_order():
    def population(fitness):
        names = np.arange(len(fitness), dtype=np.int32)
        return Population(
            names.repeat(4).reshape(-1, 4), names.repeat(3).reshape(-1, 1, 3), np.array(fitness)
        )

    parents, children = population([5.0, 2.0, 9.0, 2.0, 1.0]), population([0.0] * 5)
    keep_elite(parents, children, 3)
    assert children.fitness.tolist() == [1.0, 2.0, 2.0, 0.0, 0.0]
    assert children.relations[:, 0].tolist() == [4, 1, 3, 3, 4]
    assert children.layouts[:, 0, 0].tolist() == [4, 1, 3, 3, 4]


# --- Puzzles ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_an_easy_puzzle_is_solved_perfectly(cat, workers):
    edges, true = cat
    solution = solve(edges, settings=SMALL, workers=workers)
    np.testing.assert_array_equal(solution.relations, true)
    assert solution.layout[:, :2].min() == 0
    assert sorted(solution.layout[:, :2].max(axis=0).tolist()) == [3, 4]


def test_a_row_of_pieces_is_put_together_no_worse_than_it_was():
    """Not always as it was: folded, it has fewer open sides, and the paper's fitness may like that more."""
    edges, true = puzzle_of(chelsea()[140:168, 100:324])
    solution = solve(edges, settings=SMALL)
    np.testing.assert_array_equal(solution.relations, relations_of(solution.layout))
    assert solution.fitness <= fitness_of(costs_of(edges), true.reshape(-1)) + 1e-6


@pytest.mark.parametrize("pieces", [1, 2, 3])
@pytest.mark.parametrize("workers", [1, 2])
def test_the_smallest_bags_are_put_together(pieces, workers):
    edges, _ = puzzle_of(chelsea()[140:168, 100 : 100 + 28 * pieces])
    solution = solve(edges, settings=SMALL, workers=workers)
    relations = reference.relations_in(solution.relations)
    assert reference.components(relations, pieces) == [0] * pieces
    assert len({(x, y) for x, y, _ in solution.layout.tolist()}) == pieces


def test_a_pair_of_pieces_is_joined_where_it_fits_best():
    edges, true = puzzle_of(chelsea()[140:168, 100:156])
    np.testing.assert_array_equal(solve(edges, settings=SMALL).relations, true)


def test_a_bag_of_one_piece_is_solved_at_no_cost():
    solution = solve(puzzle_of(chelsea()[:28, :28])[0], settings=SMALL)
    assert solution.relations.tolist() == [[-1, -1, -1, -1]]
    assert solution.layout.tolist() == [[0, 0, 0]]
    assert solution.fitness == 0


def test_blank_pieces_are_put_together_too():
    edges = compare(Bag(np.full((7, 3, 3, 3), 9, np.uint8)))
    solution = solve(edges, settings=SMALL)
    np.testing.assert_array_equal(solution.relations, relations_of(solution.layout))
    assert reference.components(reference.relations_in(solution.relations), 7) == [0] * 7


# --- Settings -----------------------------------------------------------------------------------------


def test_the_preset_paper_is_the_paper():
    assert settings_of("paper") == PRESETS["paper"]
    assert settings_of("paper").as_dict() == {
        "measure": "ssd", "population": 300, "generations": 100, "elite": 4, "mutation": 0.001,
        "members": 0, "rounds": 6, "passes": 12, "budget": 0.04,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("population", 2),
        ("population", 24.0),
        ("population", True),
        ("generations", 0),
        ("generations", "many"),
        ("elite", -1),
        ("elite", 24),
        ("mutation", -0.001),
        ("mutation", 1.5),
        ("mutation", float("nan")),
        ("mutation", "seldom"),
        ("measure", "smell"),
        ("temperature", 1.0),
    ],
)
def test_a_wrong_setting_is_named(name, value):
    with pytest.raises(JigsawError, match=name):
        SMALL.changed(**{name: value})


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"workers": 0}, "workers"),
        ({"workers": -2}, "workers"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"preset": "papre", "settings": None}, "papre"),
    ],
)
def test_a_wrong_request_is_named(noise, wrong, named):
    with pytest.raises(JigsawError, match=named):
        solve(noise, **{"settings": SMALL, **wrong})


def test_a_change_of_nothing_changes_nothing():
    assert SMALL.changed(population=None, elite=None) == SMALL


# --- Workers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3])
def test_workers_do_every_item_once(count):
    done = shared_array((50,), np.int64)

    def task(amount, first, last):
        done[first:last] += amount

    with Workers(count, task) as pool:
        pool.run(range(10, 50), 2)
        pool.run(range(45, 47), 5)
    expected = np.zeros(50)
    expected[10:] = 2
    expected[45:47] += 5
    np.testing.assert_array_equal(done, expected)


def test_a_failure_in_a_worker_reaches_the_caller():
    def task(first, last):
        raise JigsawError("a piece fell off the table")

    with pytest.raises(JigsawError, match="fell off"), Workers(2, task) as pool:
        pool.run(range(4))


def test_what_a_dead_worker_was_doing_is_done_again(caplog):
    done, deaths = shared_array((40,), np.int64), shared_array((1,), np.int64)

    def task(first, last):
        done[first:last] = range(first, last)
        if first <= 20 < last and deaths[0] < 2:
            deaths[0] += 1
            done[first:last] = -1
            os.kill(os.getpid(), signal.SIGKILL)

    with Workers(2, task) as pool:
        pool.run(range(40))
        pool.run(range(40))
    np.testing.assert_array_equal(done, np.arange(40))
    said = [
        record for record in caplog.records if "a worker died; new ones do its work again" in record.message
    ]
    assert (
        len({record.created for record in said}) == 2
    )  # each may be handled twice, if the command has set up logs


def test_a_worker_that_dies_with_the_lock_in_its_hands_holds_up_nobody():
    deaths = shared_array((1,), np.int64)

    def task(first, last):
        if deaths[0] == 0:
            deaths[0] = 1
            workers_module._next.get_lock().acquire()
            os.kill(os.getpid(), signal.SIGKILL)

    with Workers(3, task) as pool:
        pool.run(range(40))


def test_workers_that_die_again_and_again_end_the_run_with_a_message():
    def task(first, last):
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(JigsawError, match=r"3 times a worker died.*fewer workers"), Workers(2, task) as pool:
        pool.run(range(40))


def test_an_idle_worker_that_dies_is_replaced():
    done = shared_array((40,), np.int64)

    def task(amount, first, last):
        done[first:last] = amount

    with Workers(2, task) as pool:
        pool.run(range(40), 1)
        for child in psutil.Process().children():
            child.kill()
        pool.run(range(40), 2)
    np.testing.assert_array_equal(done, np.full(40, 2))


def test_after_solving_no_worker_is_left(noise):
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    during = set()

    def look(number, fitness, layout):
        during.update(child.pid for child in psutil.Process().children(recursive=True))

    solve(noise, settings=SMALL, workers=2, on_generation=look)
    assert len(during - before) == 2
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before


def test_what_workers_log_reaches_the_log_file_and_the_console(noise, tmp_path):
    edges, solution, log = (tmp_path / name for name in ("edges.h5", "solution.h5", "solve.log"))
    noise.save(edges)
    command = [
        sys.executable, "-m", "jigsaw", "solve", edges, "--out", solution, "-v", "--log", log,
        "--workers", "2", "--population", "12", "--generations", "2",
    ]  # fmt: skip
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    for text in (log.read_text(), done.stderr):
        ready = re.findall(r"DEBUG worker (\d+) is ready", text)
        assert len(ready) == len(set(ready)) == 2
        assert len(re.findall(r"DEBUG generation [012]: best fitness", text)) == 3


def test_what_workers_log_is_handled_by_the_process_that_started_them(noise, tmp_path):
    noise.save(tmp_path / "edges.h5")
    script = """
        import logging, sys
        from jigsaw import Edges, Settings, solve

        class Memory(logging.Handler):
            records = []

            def emit(self, record):
                self.records.append(record)

        logging.basicConfig(level=logging.DEBUG, handlers=[Memory()])
        solve(Edges.load(sys.argv[1]), settings=Settings(population=12, generations=2), workers=2)
        logging.shutdown()
        for record in Memory.records:
            print(record.name, record.getMessage())
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "edges.h5")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert len(set(re.findall(r"jigsaw.workers worker (\d+) is ready", done.stdout))) == 2
