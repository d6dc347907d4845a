"""Agglomeration: which segments are joined with one another, in which order, and which are not."""

import numpy as np
import pytest
import reference
import reference_search
from hypothesis import given
from hypothesis import strategies as st
from reference_search import Placement, Table, random_layout, random_puzzle
from test_repair import Picture, motions, some_threshold

from jigsaw.agglomeration import CLAIM, agglomerate, claim_all, hand_back, take_over, weigh
from jigsaw.assembly import ANYWHERE
from jigsaw.moves import NO_OTHERS, loosen_all, rebuild
from jigsaw.placements import PLACEMENT, PLACEMENTS, attach, placements_of
from jigsaw.repair import begin

SEEDS = st.integers(0, 2**32 - 1)
PIECES = 14


@pytest.fixture(scope="module", params=[False, True], ids=["turned", "upright"])
def puzzle(request):
    """Pieces without a picture: some fit somewhere a little."""
    return random_puzzle(7, PIECES, neighbors=6, upright=request.param)


@pytest.fixture(scope="module")
def landscape():
    return Picture(4, 6, seed=3)


class Agglomeration:
    """Segments of a table as groups."""

    def __init__(self, table, threshold):
        self.table, self.plan = table, table.plan
        begin(table.bench)
        loosen_all(table.assembly, table.bench, threshold, NO_OTHERS)
        take_over(self.plan, table.assembly, table.bench)

    @property
    def groups(self):
        """All groups by name."""
        found = {}
        for p, record in enumerate(self.plan.records):
            if record["group"] >= 0:
                place = tuple(int(record[key]) for key in ("x", "y", "turn"))
                found.setdefault(int(record["group"]), {})[p] = place
        return found

    @property
    def fixed(self):
        return set(np.flatnonzero(self.plan.fixed).tolist())

    def found(self):
        """The placements of all groups, weighed: {placement: (gain, margin)}."""
        found, count = np.zeros(PLACEMENTS * self.table.puzzle.pieces + 1, PLACEMENT), 0
        assembly, bonds = self.table.assembly, self.table.bonds
        for name in self.groups.keys() - self.fixed:
            count = placements_of(self.plan, assembly, bonds, name, found, count)
        claims = np.zeros(1 << 14, CLAIM)
        assert claim_all(self.plan, claims, found, count)
        weigh(self.plan, claims, found, count)
        return {Placement(*row.tolist()[:5]): row.tolist()[5:] for row in found[:count]}

    def join(self, least=0.0):
        agglomerate(self.plan, self.table.assembly, self.table.bonds, np.float32(least))


def cut_up(puzzle, seed, window=ANYWHERE):
    """Pieces at random within a square of 5 x 5, cut at some strength."""
    turnable = puzzle.bonds.turnable
    table = Table(puzzle, random_layout(seed, PIECES, 5, 0.1, upright=not turnable), window, seed)
    return Agglomeration(table, some_threshold(table, np.random.default_rng(seed)))


@given(SEEDS)
def test_segments_become_groups_and_what_lies_in_windows_stays(puzzle, seed):
    windows = [[-2, 1, 1, 4], [1, 2, 3, 6]]
    made = cut_up(puzzle, seed, windows)
    floating = [set(segment) for segment in made.table.floating]
    groups = made.groups
    assert all(set(groups[name]) in floating for name in groups.keys() - made.fixed)
    placed = {p: place for name in made.fixed for p, place in groups[name].items()}
    assert placed == made.table.group
    for name in made.fixed:
        assert len({tuple(reference_search.held_by([place[:2]], w) for w in windows)
                    for place in groups[name].values()}) == 1  # fmt: skip


@given(SEEDS, st.booleans())
def test_a_group_is_placed_where_most_listed_edges_would_like_it(puzzle, seed, bounded):
    windows = [[-2, 1, 2, 4]] if bounded else ANYWHERE
    made = cut_up(puzzle, seed, windows)
    groups, found = made.groups, made.found()
    near, gains = puzzle.bonds.near, puzzle.gains
    for name in groups.keys() - made.fixed:
        votes = reference_search.votes_for(groups, made.fixed, near, gains, name, puzzle.bonds.turnable)
        mine = {placement: gained for placement, gained in found.items() if placement.moved == name}
        assert mine.keys() <= votes.keys()
        enough = sorted(votes.values(), reverse=True)[: PLACEMENTS + 1]
        for placement in votes:
            within = windows if placement.kept in made.fixed else ()
            fits = reference_search.fits_beside(groups, placement, within)
            if placement in mine:
                assert fits
                assert votes[placement] >= enough[:PLACEMENTS][-1] - 1e-3
                assert mine[placement][0] == pytest.approx(
                    reference_search.gained_by(groups, gains, placement), abs=1e-3
                )
            elif fits and len(enough) > PLACEMENTS:
                assert votes[placement] <= enough[PLACEMENTS - 1] + 1e-3
            elif fits:
                assert reference_search.gained_by(groups, gains, placement) < 1e-3


@given(SEEDS)
def test_a_margin_is_what_a_placement_gains_more_than_what_else_would_lie_there(puzzle, seed):
    made = cut_up(puzzle, seed)
    found = made.found()
    expected = reference_search.margins(made.groups, {one: gain for one, (gain, _) in found.items()})
    assert {one: margin for one, (_, margin) in found.items()} == pytest.approx(expected, abs=1e-3)


@given(SEEDS)
def test_joined_groups_are_one_and_nothing_in_them_has_moved(puzzle, seed):
    made = cut_up(puzzle, seed)
    for placement in made.found():
        before = made.groups
        alive = placement.moved in before and placement.kept in before
        if not (alive and reference_search.fits_beside(before, placement)):
            continue
        attach(made.plan, np.array([(*placement, 0, 0)], PLACEMENT)[0])
        after = made.groups
        assert after.pop(placement.kept) == {
            **before[placement.kept],
            **placement.of(before[placement.moved]),
        }
        assert all(before[name] == group for name, group in after.items())
        assert placement.moved not in after


@given(SEEDS, st.floats(0, 3))
def test_groups_are_joined_until_no_margin_is_large_enough(puzzle, seed, share):
    made = cut_up(puzzle, seed)
    before, fixed = made.groups, made.fixed
    least = np.float32(share * puzzle.bonds.none / 3)
    sure = [margin for _, margin in made.found().values() if margin >= least]
    made.join(least)
    after = made.groups
    assert (len(after) < len(before)) == bool(sure)
    assert all(margin < least for _, margin in made.found().values())
    where = {p: place for group in after.values() for p, place in group.items()}
    for group in before.values():
        assert len(motions(group, where, group)) == 1
    for name in fixed:
        assert before[name].items() <= after[name].items()
    for group in after.values():
        assert len({place[:2] for place in group.values()}) == len(group)


@given(SEEDS)
def test_what_is_joined_to_a_window_is_placed_and_the_rest_is_taken_up(puzzle, seed):
    window = [-2, 1, 2, 5]
    made = cut_up(puzzle, seed, window)
    made.join()
    groups, table = made.groups, made.table
    hand_back(made.plan, table.assembly, table.bonds, table.bench)
    assert table.group == {p: place for name in made.fixed for p, place in groups[name].items()}
    floating = sorted(sorted(segment) for segment in table.floating)
    assert floating == sorted(sorted(group) for name, group in groups.items() if name not in made.fixed)
    assert all(reference_search.held_by([place[:2]], window) for place in table.group.values())
    table.assert_agrees()


def test_a_picture_that_was_cut_up_is_put_together_again(landscape):
    """Blocks of 2 x 2 pieces, turned and thrown about, come to lie beside one another as they belong."""
    rng, layout = np.random.default_rng(1), landscape.layout.copy()
    for i, (x, y) in enumerate([(x, y) for x in (0, 2, 4) for y in (0, 2)]):
        block = [landscape.at(x + dx, y + dy) for dx in (0, 1) for dy in (0, 1)]
        group = reference.turned({p: tuple(layout[p]) for p in block}, int(rng.integers(4)))
        for p, place in reference.shifted(group, 20 * i, 0).items():
            layout[p] = place
    made = Agglomeration(Table(landscape.puzzle, layout), np.float32(-1))
    assert sorted(map(len, made.groups.values())) == [4] * 6
    made.join(least=1.0)
    ((_, whole),) = made.groups.items()
    true = {p: tuple(place) for p, place in enumerate(landscape.layout.tolist())}
    assert len(motions(whole, true, whole)) == 1


def test_where_two_fit_as_well_neither_is_joined():
    """Of two pieces that look the same, nobody can say which belongs beside a third."""
    rng = np.random.default_rng(3)
    pixels = rng.integers(0, 256, (3, 4, 4, 3), dtype=np.uint8)
    pixels[1, :, 0] = pixels[0, :, -1]  # the left side of the second fits to the right side of the first
    pixels[2] = pixels[1]
    puzzle = reference_search.puzzle_of(pixels)
    far = np.array([[0, 0, 0], [10, 0, 0], [20, 0, 0]])
    made = Agglomeration(Table(puzzle, far), np.float32(1e9))
    best = max(made.found().values())
    assert best[0] > puzzle.bonds.none / 2
    assert best[1] == pytest.approx(0, abs=1e-3)
    far[2, 2] = -1  # without one of them, it is clear
    alone = Agglomeration(Table(puzzle, far), np.float32(1e9))
    assert max(alone.found().values())[1] > puzzle.bonds.none / 5
    alone.join(least=puzzle.bonds.none / 5)
    assert [len(group) for group in alone.groups.values()] == [2]


@given(SEEDS)
def test_an_assembly_rebuilt_with_agglomeration_is_whole(puzzle, seed):
    table = Table(puzzle, random_layout(seed, PIECES, 5, 0.2, upright=not puzzle.bonds.turnable), seed=seed)
    threshold = some_threshold(table, np.random.default_rng(seed))
    rebuild(table.assembly, table.bonds, table.bench, table.plan, threshold, NO_OTHERS, np.float32(0))
    table.assert_whole()
    again = table.layout
    rebuild(table.assembly, table.bonds, table.bench, table.plan, np.float32(1e9), NO_OTHERS, np.float32(0))
    table.assert_whole()
    assert (again[:, 2] >= 0).any()
