"""Islands: runs with seeds of their own, and the run that starts from their elites."""

import numpy as np
import pytest
from puzzles import photograph

from jigsaw.chromosome import costs_of, fitness_of
from jigsaw.cli import main
from jigsaw.dissimilarity import compare
from jigsaw.errors import JigsawError
from jigsaw.evaluation import evaluate
from jigsaw.geometry import relations_of
from jigsaw.pieces import Bag, cut
from jigsaw.presets import Settings
from jigsaw.solution import Solution
from jigsaw.solver import elites_of, solve

SMALL = Settings(population=24, generations=8)
SEARCHING = SMALL.changed(measure="fused", members=2, rounds=1, passes=2)


@pytest.fixture(scope="module")
def noise():
    """A bag without a picture: its search never comes to an end, so every run differs."""
    return compare(Bag(np.random.default_rng(1).integers(0, 256, (25, 4, 4, 3), dtype=np.uint8)))


def fitness(edges, layout):
    return fitness_of(costs_of(edges), relations_of(layout).reshape(-1))


def islands_of(edges, settings, count, keep):
    return [solve(edges, settings=settings, seed=10 + i, keep=keep) for i in range(count)]


def test_an_island_keeps_the_best_different_assemblies_of_its_last_generation(noise):
    island = solve(noise, settings=SMALL, keep=5)
    values = [fitness(noise, layout) for layout in island.elite]
    assert len(values) == len(set(values)) == 5
    assert values == sorted(values)
    assert values[0] == pytest.approx(island.fitness, rel=1e-9)


def test_to_keep_an_elite_changes_nothing_else(noise):
    island, alone = (solve(noise, settings=SMALL, keep=keep) for keep in (5, 0))
    np.testing.assert_array_equal(island.layout, alone.layout)
    np.testing.assert_array_equal(island.history, alone.history)
    assert len(alone.elite) == 0


def test_an_elite_survives_its_file(noise, tmp_path):
    island = solve(noise, settings=SMALL, keep=3)
    island.save(tmp_path / "island.h5")
    np.testing.assert_array_equal(Solution.load(tmp_path / "island.h5").elite, island.elite)


def test_the_first_population_of_the_joining_run_is_the_islands_elites(noise):
    islands = islands_of(noise, SMALL, 2, keep=12)
    joined = solve(noise, settings=SMALL, seed=0, islands=islands)
    values = [fitness(noise, layout) for island in islands for layout in island.elite]
    assert joined.history[0] == pytest.approx([min(values), np.mean(values), max(values)], rel=1e-9)
    assert joined.fitness <= min(island.fitness for island in islands)
    assert joined.settings["islands"] == 2


def test_islands_that_keep_few_leave_room_for_random_chromosomes(noise):
    islands = islands_of(noise, SMALL, 2, keep=1)
    joined = solve(noise, settings=SMALL, islands=islands)
    random = solve(noise, settings=SMALL)
    assert joined.history[0, 0] == pytest.approx(min(island.fitness for island in islands), rel=1e-9)
    assert random.history[0, 0] > joined.history[0, 0]
    assert joined.history[0, 2] > max(island.fitness for island in islands)


def test_of_too_many_the_best_of_each_island_come_first(noise):
    one, two, three = islands_of(noise, SMALL, 3, keep=4)
    ranked = elites_of([one, two, three])
    assert len(ranked) == 12
    for layout, island in zip(ranked, (one, two, three), strict=False):
        np.testing.assert_array_equal(layout, island.elite[0])
    few = SMALL.changed(population=5)
    joined = solve(noise, settings=few, islands=[one, two, three])
    assert joined.history[0, 2] == pytest.approx(
        max(fitness(noise, layout) for layout in ranked[:5]), rel=1e-9
    )


@pytest.mark.parametrize("workers", [2, 3])
def test_the_number_of_workers_changes_nothing(noise, workers):
    islands = islands_of(noise, SMALL, 2, keep=12)
    one, several = (solve(noise, settings=SMALL, islands=islands, workers=n) for n in (1, workers))
    np.testing.assert_array_equal(one.history, several.history)
    np.testing.assert_array_equal(one.layout, several.layout)


def test_the_search_starts_from_what_the_islands_found():
    bag, truth = cut([photograph(4, 6)], seed=3)
    edges = compare(bag, "fused")
    islands = islands_of(edges, SEARCHING, 2, keep=3)
    joined = solve(edges, settings=SEARCHING, islands=islands)
    scores = [evaluate(solution, truth, bag)["neighbor"] for solution in (*islands, joined)]
    assert scores[-1] >= max(scores[:-1])
    assert joined.fitness <= min(island.fitness for island in islands) + 1e-6
    np.testing.assert_array_equal(islands[0].elite[0], islands[0].layout)


def test_the_time_of_the_slowest_island_counts(noise):
    islands = islands_of(noise, SMALL, 2, keep=2)
    islands[0].notes["stages"]["solve"] = {"seconds": 1000.0, "peak_mb": 1.0}
    islands[1].notes["stages"]["solve"] = {"seconds": 10.0, "peak_mb": 1e6}
    cost = solve(noise, settings=SMALL, islands=islands).notes["stages"]["solve"]
    assert 1000 < cost["seconds"] < 1010
    assert cost["peak_mb"] == 1e6


def test_islands_of_another_puzzle_are_refused(noise):
    other = compare(Bag(np.random.default_rng(2).integers(0, 256, (25, 4, 4, 3), dtype=np.uint8)))
    with pytest.raises(JigsawError, match=r"island 2 is a solution of other edges"):
        solve(
            noise,
            settings=SMALL,
            islands=[solve(noise, settings=SMALL, keep=1), solve(other, settings=SMALL)],
        )


def test_islands_without_an_elite_are_refused(noise):
    with pytest.raises(JigsawError, match=r"island 1 has no elite.*--keep"):
        solve(noise, settings=SMALL, islands=[solve(noise, settings=SMALL)])


def test_an_elite_of_less_than_none_is_refused(noise):
    with pytest.raises(JigsawError, match=r"keep is -1"):
        solve(noise, settings=SMALL, keep=-1)


def test_the_command_makes_islands_and_joins_them(noise, tmp_path, capfd):
    noise.save(tmp_path / "E.h5")
    solving = [
        "solve",
        str(tmp_path / "E.h5"),
        "--population",
        "24",
        "--generations",
        "8",
        "--quiet",
        "--out",
    ]
    for i in (1, 2):
        assert main([*solving, str(tmp_path / f"{i}.h5"), "--seed", str(i), "--keep", "12"]) == 0
    islands = [str(tmp_path / f"{i}.h5") for i in (1, 2)]
    assert main([*solving, str(tmp_path / "S.h5"), "--islands", *islands]) == 0
    assert Solution.load(tmp_path / "S.h5").settings["islands"] == 2
    assert main([*solving, str(tmp_path / "plain.h5"), "--islands"]) == 0
    assert Solution.load(tmp_path / "plain.h5").settings["islands"] == 1
    assert main([*solving, str(tmp_path / "no.h5"), "--islands", str(tmp_path / "plain.h5")]) == 1
    assert "plain.h5: island 1 has no elite" in capfd.readouterr().err
    assert not (tmp_path / "no.h5").exists()
