"""Crossover: every child is a whole puzzle, and children come as often as in the paper's procedure."""

import copy
import itertools
import random
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from skimage.data import chelsea

from jigsaw.chromosome import costs_of, fitness_of
from jigsaw.crossover import (
    common_parts,
    cross,
    join_at_random,
    make_workspace,
    open_edges,
    random_chromosome,
)
from jigsaw.dissimilarity import compare
from jigsaw.geometry import relations_of
from jigsaw.groups import join, neighbour
from jigsaw.pieces import Bag, cut
from jigsaw.randomness import start

FALSE_ALARM = 1e-6
CHILDREN = 3000


class Chromosome(NamedTuple):
    relations: np.ndarray
    layout: np.ndarray
    fitness: float

    def as_set(self):
        return reference.relations_in(self.relations)


class Puzzle:
    """A bag, compared by the package and by the reference, and what it takes to breed chromosomes."""

    def __init__(self, pixels):
        self.pieces = len(pixels)
        self.costs = costs_of(compare(Bag(pixels)))
        self.compared = reference.compare(reference.strips(pixels))
        self.work = make_workspace(self.pieces)

    def with_costs(self, **changes):
        """The same puzzle with some of what crossover goes by replaced."""
        changed = copy.copy(self)
        changed.costs = self.costs._replace(**changes)
        return changed

    def seed(self, seed, index=0):
        start(self.work.random, seed, 1, index)

    def random(self):
        return self._filled(lambda *new: random_chromosome(self.work, self.costs, *new))

    def child(self, one, two, mutation):
        return self._filled(lambda *new: cross(self.work, self.costs, mutation, *one, two.relations, *new))

    def _filled(self, fill):
        relations = np.full(4 * self.pieces, -99, np.int32)
        layout = np.full((self.pieces, 3), -99, np.int32)
        return Chromosome(relations, layout, fill(relations, layout))

    def chromosome(self, layout):
        layout = np.array(layout, np.int32, order="C")
        relations = relations_of(layout).reshape(-1)
        return Chromosome(relations, layout, fitness_of(self.costs, relations))

    def reference_child(self, rng, one, two, mutation, **changes):
        compared = self.compared
        return reference.crossover(
            rng, one.as_set(), two.as_set(), compared.nearest, compared.buddy, mutation, **changes
        )

    def reference_fitness(self, relations):
        return reference.fitness(relations, self.compared.dissimilarities, self.costs.none / 2)


def puzzle_of(seed, pieces, colours=256, size=3):
    """Pieces of random pixels, few colours giving many ties."""
    rng = np.random.default_rng(seed)
    palette = rng.integers(0, 256, (colours, 3), dtype=np.uint8)
    return Puzzle(palette[rng.integers(0, colours, (pieces, size, size))])


def assert_whole(puzzle, chromosome):
    """Each piece once, no two at one place, all connected, and all numbers agree."""
    relations, layout, fitness = chromosome
    assert len({(x, y) for x, y, _ in layout.tolist()}) == puzzle.pieces
    assert set(layout[:, 2].tolist()) <= {0, 1, 2, 3}
    for e, f in enumerate(relations.tolist()):
        assert f == -1 or relations[f] == e
    np.testing.assert_array_equal(relations.reshape(-1, 4), relations_of(layout))
    found = reference.relations_of([reference.group_in(layout)])
    assert chromosome.as_set() == found
    assert reference.components(found, puzzle.pieces) == [0] * puzzle.pieces
    assert puzzle.costs.none == pytest.approx(2 * puzzle.compared.mean, rel=2e-6, abs=1e-6)
    assert fitness == pytest.approx(fitness_of(puzzle.costs, relations), rel=1e-9)
    assert fitness == pytest.approx(puzzle.reference_fitness(relations), rel=1e-9)


puzzles = st.builds(puzzle_of, st.integers(0, 2**32 - 1), st.integers(1, 14), st.sampled_from([1, 2, 3, 256]))
mutations = st.sampled_from([0.0, 0.001, 0.3, 1.0])
seeds = st.integers(0, 2**32 - 1)


# --- Every child is a puzzle --------------------------------------------------------------------------


@given(puzzles, seeds)
@settings(max_examples=50)
def test_a_random_chromosome_is_a_whole_puzzle(puzzle, seed):
    puzzle.seed(seed)
    assert_whole(puzzle, puzzle.random())


@given(puzzles, seeds, mutations)
@settings(max_examples=50)
def test_every_child_is_a_whole_puzzle_for_generations(puzzle, seed, mutation):
    puzzle.seed(seed)
    rng = random.Random(seed)
    population = [puzzle.random() for _ in range(4)]
    for _ in range(12):
        child = puzzle.child(*rng.sample(population, 2), mutation)
        assert_whole(puzzle, child)
        population[rng.randrange(4)] = child


def test_fitness_does_not_drift_over_a_thousand_generations():
    puzzle = puzzle_of(3, 30)
    puzzle.seed(3)
    population = [puzzle.random() for _ in range(3)]
    for generation in range(1000):
        one, two = population[generation % 3], population[(generation + 1) % 3]
        population[(generation + 2) % 3] = puzzle.child(one, two, 0.05)
    for chromosome in population:
        assert_whole(puzzle, chromosome)


# --- What a child inherits ----------------------------------------------------------------------------


@given(puzzles, seeds)
@settings(max_examples=50)
def test_relations_common_to_both_parents_survive_without_mutation(puzzle, seed):
    puzzle.seed(seed)
    one = puzzle.random()
    two = puzzle.child(one, puzzle.random(), 0.5)
    third = puzzle.child(two, one, 0.5)
    for mother, father in [(one, two), (two, one), (two, third), (third, one)]:
        assert mother.as_set() & father.as_set() <= puzzle.child(mother, father, 0.0).as_set()


@given(puzzles, seeds)
@settings(max_examples=25)
def test_a_chromosome_crossed_with_itself_is_given_back(puzzle, seed):
    puzzle.seed(seed)
    parent = puzzle.random()
    child = puzzle.child(parent, parent, 0.0)
    np.testing.assert_array_equal(child.relations, parent.relations)
    np.testing.assert_array_equal(child.layout, parent.layout)
    assert child.fitness == parent.fitness


def test_the_same_picture_lying_elsewhere_and_turned_is_the_same_parent():
    puzzle = puzzle_of(1, 9)
    puzzle.seed(1)
    one = puzzle.random()
    turned = reference.shifted(reference.turned(reference.group_in(one.layout), 3), 40, -7)
    two = puzzle.chromosome([turned[piece] for piece in range(9)])
    np.testing.assert_array_equal(puzzle.child(two, one, 0.0).relations, one.relations)


def test_with_certain_mutation_no_common_relation_is_forced():
    puzzle = puzzle_of(2, 6)
    puzzle.seed(2)
    parent = puzzle.random()
    scratch = np.empty(24, np.int32)
    groups = common_parts(puzzle.work, 1.0, parent.relations, parent.layout, parent.relations, scratch)
    assert groups == 6
    assert (scratch == -1).all()
    seen = [puzzle.child(parent, parent, 1.0).as_set() for _ in range(200)]
    compatible = {tuple(sorted((e, row[0]))) for e, row in enumerate(puzzle.compared.nearest)}
    for relation in parent.as_set() - compatible:
        assert any(relation not in child for child in seen)


@given(puzzles, seeds)
@settings(max_examples=50)
def test_phase_1_makes_groups_of_what_common_relations_connect(puzzle, seed):
    puzzle.seed(seed)
    one = puzzle.random()
    two = puzzle.child(one, puzzle.random(), 0.4)
    common = np.empty(4 * puzzle.pieces, np.int32)
    groups = common_parts(puzzle.work, 0.0, one.relations, one.layout, two.relations, common)
    both = one.as_set() & two.as_set()
    assert reference.relations_in(common) == both
    labels = reference.components(both, puzzle.pieces)
    assert groups == len(set(labels))
    if groups > 1:
        assert puzzle.work.records["group"].tolist() == labels
        assert [puzzle.work.records["size"][label] for label in labels] == [labels.count(x) for x in labels]


@given(puzzles, seeds, mutations)
@settings(max_examples=50)
def test_after_phase_1_the_open_edges_are_those_that_touch_nothing(puzzle, seed, mutation):
    puzzle.seed(seed)
    one, two = puzzle.random(), puzzle.random()
    two = puzzle.child(one, two, 0.4)
    scratch = np.empty(4 * puzzle.pieces, np.int32)
    work = puzzle.work
    if common_parts(work, mutation, one.relations, one.layout, two.relations, scratch) > 1:
        opened = open_edges(work, one.relations)
        free = [e for e in range(4 * puzzle.pieces) if neighbour(work.records, work.table, e) < 0]
        assert sorted(work.open[:opened].tolist()) == free
        assert np.flatnonzero(work.is_open).tolist() == free


def test_common_relations_are_left_out_as_often_as_mutation_says():
    layout = np.array([(x, y, 0) for y in range(20) for x in range(20)], np.int32)
    relations = relations_of(layout).reshape(-1)
    count = len(reference.relations_in(relations))
    work = make_workspace(400)
    start(work.random, 8, 0, 0)
    used = np.empty_like(relations)
    for mutation in (0.001, 0.05, 0.6):
        left_out = 0
        for _ in range(200):
            common_parts(work, mutation, relations, layout, relations, used)
            left_out += count - len(reference.relations_in(used))
        assert stats.binomtest(left_out, 200 * count, mutation).pvalue > FALSE_ALARM


def test_relations_are_left_out_wherever_they_are():
    layout = np.array([(x, 0, 0) for x in range(10)], np.int32)
    relations = relations_of(layout).reshape(-1)
    work = make_workspace(10)
    start(work.random, 9, 0, 0)
    used = np.empty_like(relations)
    kept = Counter()
    for _ in range(4000):
        common_parts(work, 0.25, relations, layout, relations, used)
        kept.update(reference.relations_in(used))
    assert len(kept) == 9
    for count in kept.values():
        assert stats.binomtest(count, 4000, 0.75).pvalue > FALSE_ALARM / 9


# --- What the phases add ------------------------------------------------------------------------------


def nobody(puzzle):
    return np.full(4 * puzzle.pieces, -1, np.int32)


@pytest.fixture(scope="module")
def photograph():
    """A piece of a photograph whose true relations are those of best buddies, and its true chromosome."""
    bag, truth = cut([chelsea()[56:140, 308:392]], piece_size=28)
    puzzle = Puzzle(bag.pixels)
    right = puzzle.chromosome(truth.places[:, [2, 1, 3]])
    buddies = {(e, f) for e, f in enumerate(puzzle.compared.buddy) if f > e}
    assert right.as_set() == buddies
    return puzzle, right, buddies


def test_best_buddies_that_one_parent_has_are_joined(photograph):
    puzzle, right, buddies = photograph
    puzzle = puzzle.with_costs(nearest=nobody(puzzle))  # phase 3 can do nothing
    crossed = 0
    for index in range(40):
        puzzle.seed(4, index)
        other = puzzle.random()
        if not other.as_set() & buddies:
            crossed += 1
            assert puzzle.child(right, other, 0.0).as_set() == right.as_set()
            assert puzzle.child(other, right, 0.0).as_set() == right.as_set()
    assert crossed > 10


def test_best_buddies_that_no_parent_has_are_not_joined_in_phase_2(photograph):
    puzzle, right, _ = photograph
    puzzle = puzzle.with_costs(nearest=nobody(puzzle))
    found = 0
    for index in range(40):
        puzzle.seed(5, index)
        found += len(puzzle.child(puzzle.random(), puzzle.random(), 1.0).as_set() & right.as_set())
    assert found < 2 * 40  # by chance, of 12 in each child


def test_most_compatible_edges_are_joined_where_parents_know_nothing(photograph):
    puzzle, right, _ = photograph
    inner = np.where(right.relations >= 0, puzzle.costs.nearest, -1).astype(np.int32)
    puzzle = puzzle.with_costs(nearest=inner, buddy=nobody(puzzle))  # phase 2 can do nothing
    for index in range(40):
        puzzle.seed(6, index)
        assert puzzle.child(puzzle.random(), puzzle.random(), 1.0).as_set() == right.as_set()


# --- Children come as often as in the paper's procedure -----------------------------------------------


class Sample(NamedTuple):
    """What is seen of many children: how often each relation and each whole child came, and fitness."""

    seen: Counter
    fitness: np.ndarray
    size: int


def sample_of(children, fitness):
    seen = Counter()
    for child in children:
        seen[frozenset(child)] += 1
        seen.update(child)
    return Sample(seen, np.round(fitness, 6), len(children))


def probability_of_equals(one, two):
    """How probable so large a difference of two samples is (at most), were they of one distribution.

    The least of many probabilities, times their number (Bonferroni): for every relation and every whole
    child Fisher's exact test of its two counts, and for fitness a test of the means.
    """
    counts = [(one.seen[thing], two.seen[thing]) for thing in one.seen | two.seen]
    telling = {pair for pair in counts if sum(pair) >= 40}  # fewer could never tell
    found = [stats.fisher_exact([[a, one.size - a], [b, two.size - b]]).pvalue for a, b in sorted(telling)]
    found.append(stats.ttest_ind(one.fitness, two.fitness, equal_var=False).pvalue)
    return min(found) * (len(counts) + 1)


class NoShuffle(random.Random):
    """A generator under which every phase goes through its relations in order of number."""

    def shuffle(self, things):
        pass


class Lopsided(random.Random):
    """A generator under which random pairs are more often low in number than high."""

    def choice(self, things):
        return things[int(len(things) * self.random() ** 2)]


WRONG = {
    "phase 1 is skipped": {"phases": (2, 3, 4)},
    "phase 2 is skipped": {"phases": (1, 3, 4)},
    "phase 3 is skipped": {"phases": (1, 2, 4)},
    "nothing is mutated": {"mutation": 0.0},
    "phases go in order of number": {"generator": NoShuffle},
    "random pairs are not equally likely": {"generator": Lopsided},
}


class Family:
    """Two parents of six random pieces each, and many children of theirs."""

    mutation = 0.3

    def __init__(self, puzzle, one, two):
        self.puzzle = puzzle
        self.one, self.two = puzzle.chromosome(one), puzzle.chromosome(two)
        children = []
        for index in range(CHILDREN):
            puzzle.seed(12, index)
            children.append(puzzle.child(self.one, self.two, self.mutation))
        self.children = sample_of(
            [child.as_set() for child in children], [child.fitness for child in children]
        )

    def reference_children(self, mutation=mutation, generator=random.Random, **changes):
        rng = generator(34)
        children = []
        for _ in range(CHILDREN):
            group = self.puzzle.reference_child(rng, self.one, self.two, mutation, **changes)
            children.append(reference.relations_of([group]))
        return reference_sample(self.puzzle, children)


def reference_sample(puzzle, children):
    tables = [reference.table_of(child, puzzle.pieces) for child in children]
    return sample_of(children, [puzzle.reference_fitness(table) for table in tables])


# A puzzle (its seed and number of colours), and two layouts that agree on some relations. In the last one
# four colours give so many ties that random joins are frequent.
FAMILIES = {
    "much agreed": (
        (2, 256),
        [(2, 1, 1), (1, 1, 2), (0, 0, 2), (2, 2, 2), (0, 1, 3), (1, 0, 1)],
        [(2, 0, 1), (1, 0, 2), (3, 1, 1), (2, 1, 2), (0, 0, 3), (4, 1, 2)],
    ),
    "little agreed": (
        (75, 256),
        [(1, 0, 2), (1, 2, 2), (1, 3, 1), (1, 1, 3), (0, 2, 0), (0, 1, 3)],
        [(1, 0, 2), (1, 2, 2), (0, 2, 3), (1, 1, 3), (2, 2, 1), (0, 1, 1)],
    ),
    "many ties": (
        (80, 4),
        [(2, 3, 2), (1, 3, 3), (0, 1, 3), (0, 2, 0), (0, 0, 0), (0, 3, 0)],
        [(1, 2, 3), (1, 1, 0), (0, 0, 3), (0, 1, 0), (0, 2, 0), (1, 0, 1)],
    ),
}


def family_of(name):
    (seed, colours), one, two = FAMILIES[name]
    return Family(puzzle_of(seed, 6, colours), one, two)


@pytest.fixture(scope="module", params=FAMILIES)
def family(request):
    return family_of(request.param)


@pytest.fixture(scope="module")
def many_ties():
    return family_of("many ties")


def test_the_parents_agree_on_something_and_know_best_buddies_and_children_differ(family):
    one, two = family.one.as_set(), family.two.as_set()
    buddies = {(e, f) for e, f in enumerate(family.puzzle.compared.buddy) if f > e}
    assert len(one & two) >= 2
    assert (one & two) - buddies
    assert (one ^ two) & buddies
    assert len(set(family.children.fitness)) > 10


def test_children_are_distributed_as_by_the_paper(family):
    assert probability_of_equals(family.children, family.reference_children()) > FALSE_ALARM


@pytest.mark.parametrize("wrong", WRONG)
def test_children_of_a_wrong_crossover_are_told_apart(many_ties, wrong):
    wrong_children = many_ties.reference_children(**WRONG[wrong])
    assert probability_of_equals(many_ties.children, wrong_children) < FALSE_ALARM


# --- Random joins -------------------------------------------------------------------------------------


def random_sample(puzzle):
    chromosomes = []
    for index in range(CHILDREN):
        puzzle.seed(56, index)
        chromosomes.append(puzzle.random())
    return sample_of([each.as_set() for each in chromosomes], [each.fitness for each in chromosomes])


@pytest.mark.parametrize("pieces", [2, 3, 5])
def test_random_chromosomes_are_distributed_as_by_the_paper(pieces):
    puzzle = puzzle_of(7, pieces)
    sample = random_sample(puzzle)
    for generator, right in [(random.Random, True), (Lopsided, False)]:
        rng = generator(78)
        groups = [[reference.random_chromosome(rng, pieces)] for _ in range(CHILDREN)]
        expected = reference_sample(puzzle, [reference.relations_of(group) for group in groups])
        assert (probability_of_equals(sample, expected) > FALSE_ALARM) == right


class Tray:
    """Groups on a tray in their first state, to be joined at random again and again.

    A hook of five pieces, which some pairs cannot enter, a bar of two and a single piece.
    """

    pieces = 8
    pairs = ((1, 7), (5, 11), (10, 12), (14, 16), (21, 27))

    def __init__(self):
        self.work = make_workspace(self.pieces)
        costs = puzzle_of(0, self.pieces).costs
        scratch = np.empty(4 * self.pieces, np.int32), np.empty((self.pieces, 3), np.int32)
        # With all relations mutated away phase 1 leaves single pieces.
        random_chromosome(self.work, costs, *scratch)
        common_parts(self.work, 1.0, *scratch, scratch[0].copy(), scratch[0].copy())
        self.groups = reference.singles(self.pieces)
        for e, f in self.pairs:
            assert join(self.work.records, self.work.table, e, f)
            assert reference.join(self.groups, e, f)
        self.work.open[:] = np.arange(4 * self.pieces)
        self.first_state = self.work.records.copy(), self.work.table.copy()

    def joined_once(self, index):
        """The relations after one random join."""
        self.work.records[:], self.work.table[:] = self.first_state
        start(self.work.random, 90, 0, index)
        join_at_random(self.work, 4 * self.pieces, 2)  # as if but two groups were left
        touching = [neighbour(self.work.records, self.work.table, e) for e in range(4 * self.pieces)]
        return frozenset(reference.relations_in(touching))


def probability_of_uniform(seen, outcomes):
    """How probable so large a deviation from outcomes in proportion to their pairs is."""
    assert set(seen) <= set(outcomes)
    draws, pairs = sum(seen.values()), sum(outcomes.values())
    kinds = sorted(outcomes, key=sorted)
    expected = [draws * outcomes[kind] / pairs for kind in kinds]
    return stats.chisquare([seen[kind] for kind in kinds], expected).pvalue


def test_a_random_join_takes_every_feasible_pair_equally_often():
    tray = Tray()
    outcomes = reference.feasible_outcomes(tray.groups)
    assert sum(outcomes.values()) < len(reference.free_pairs(tray.groups))  # some pairs collide
    seen = Counter(tray.joined_once(index) for index in range(60 * len(outcomes)))
    assert probability_of_uniform(seen, outcomes) > FALSE_ALARM


def test_a_random_join_that_chooses_groups_first_would_be_told_apart():
    tray = Tray()
    outcomes = reference.feasible_outcomes(tray.groups)
    rng = random.Random(5)
    seen = Counter()
    while sum(seen.values()) < 60 * len(outcomes):
        groups = [dict(group) for group in tray.groups]
        two_groups = rng.choice(list(itertools.combinations(groups, 2)))
        if reference.join(groups, *rng.choice(reference.free_pairs(two_groups))):
            seen[frozenset(reference.relations_of(groups))] += 1
    assert probability_of_uniform(seen, outcomes) < FALSE_ALARM
