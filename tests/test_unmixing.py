"""Telling the images of an assembly apart, their number unknown."""

import importlib
from dataclasses import replace

import numpy as np
import pytest
import reference
from puzzles import solution_of
from reference_search import fresh_gain
from skimage import data

import jigsaw
from jigsaw.assembly import bonds_of
from jigsaw.boards import by_size
from jigsaw.errors import JigsawError
from jigsaw.geometry import placed_relations
from jigsaw.synthetic import picture
from jigsaw.unmixing import images_of, needs_unmixing, unmix

SIZE = 8  # pixels


class Assembled:
    """Pictures cut to pieces, compared, and laid side by side, touching, from left to right."""

    def __init__(self, *shapes, seed=3, apart=0, keep_orientation=False):
        pictures = [picture(rows, columns, SIZE, seed + i) for i, (rows, columns) in enumerate(shapes)]
        self.bag, truth = jigsaw.cut(pictures, SIZE, seed, keep_orientation)
        self.edges = jigsaw.compare(self.bag, "fused", upright=keep_orientation)
        self.bonds = bonds_of(self.edges)
        self.image, row, column, turn = truth.places.T
        first = np.cumsum([0, *(columns + apart for _, columns in shapes)])
        self.layout = np.column_stack([column + first[self.image], row, turn]).astype(np.int32)

    def at(self, x, y):
        return int(np.flatnonzero((self.layout[:, :2] == (x, y)).all(axis=1))[0])

    def contacts(self, held):
        """Pairs of edges that touch, between pieces of which the one is held and the other not."""
        pairs = reference.relations_in(placed_relations(self.layout))
        return [(e, f) for e, f in pairs if held[e // 4] != held[f // 4]]

    def told_apart(self, bonds=None):
        return images_of(self.layout, bonds or self.bonds)


def assert_told_apart(found, image):
    """The images are these, numbered by their size."""
    pairs = set(zip(found.tolist(), image.tolist(), strict=True))
    assert len(pairs) == len(np.unique(image)) == len(np.unique(found)), f"images of {np.bincount(found)}"
    sizes = np.bincount(found)
    assert (np.diff(sizes) <= 0).all()


def gaining(bonds, pairs, gain):
    """Bonds by which these pairs of edges gain so much."""
    near, gains = bonds.near.copy(), bonds.gains.copy()
    for pair in pairs:
        for e, f in (pair, pair[::-1]):
            j = np.flatnonzero(near[e] == f)[0] if f in near[e] else 0
            near[e, j], gains[e, j] = f, gain
    changed = bonds._replace(near=near, gains=gains)
    assert all(fresh_gain(changed, e, f) == np.float32(gain) for e, f in pairs)
    return changed


@pytest.fixture(scope="module")
def two():
    """A picture of 6 x 7 pieces and, to its right and touching it, one of 6 x 5."""
    return Assembled((6, 7), (6, 5))


@pytest.fixture(scope="module")
def one():
    """A picture of 8 x 9 pieces."""
    return Assembled((8, 9))


# --- Images in an assembly ----------------------------------------------------------------------------


def test_two_pictures_glued_side_by_side_are_two_images(two):
    np.testing.assert_array_equal(two.told_apart(), two.image)


def test_the_largest_image_is_the_first():
    three = Assembled((4, 4), (4, 6), (4, 5))
    np.testing.assert_array_equal(three.told_apart(), by_size(three.image))
    assert np.bincount(three.told_apart()).tolist() == [24, 20, 16]


def test_a_strong_wrong_contact_does_not_make_two_pictures_one(two):
    wrong = two.contacts(two.image == 0)[:1]
    assert len(wrong) == 1
    bonds = gaining(two.bonds, wrong, two.bonds.none)
    np.testing.assert_array_equal(two.told_apart(bonds), two.image)


def test_a_whole_line_of_strong_contacts_does(two):
    bonds = gaining(two.bonds, two.contacts(two.image == 0), two.bonds.none)
    assert not two.told_apart(bonds).any()


@pytest.mark.parametrize("seed", range(5))
def test_one_picture_is_one_image(seed):
    assert not Assembled((5, 8), seed=10 * seed).told_apart().any()


@pytest.mark.parametrize("side_by_side", [True, False])
def test_a_picture_with_a_line_that_holds_less_is_one_image_unless_it_holds_not_at_all(one, side_by_side):
    """Contacts of half the greatest strength hold no core together, but eight of them are evidence."""
    half = one.layout[:, 0 if side_by_side else 1] < 4
    line = one.contacts(half)
    assert len(line) in (8, 9)
    assert not one.told_apart(gaining(one.bonds, line, 0.5 * one.bonds.none)).any()
    apart = one.told_apart(gaining(one.bonds, line, 0))
    assert_told_apart(apart, half)
    # Twice what is gained by chance, along so short a line, is not evidence enough.
    assert_told_apart(one.told_apart(gaining(one.bonds, line, 2.0)), half)


def test_a_ragged_region_is_no_image(one):
    """A corner of 5 x 5 pieces that nothing holds leaves the rest far from a rectangle."""
    corner = (one.layout[:, :2] < 5).all(axis=1)
    assert not one.told_apart(gaining(one.bonds, one.contacts(corner), 0)).any()


def test_a_region_of_which_a_few_pieces_are_missing_is_an_image(two):
    """Less than a fifth."""
    layout = two.layout.copy()
    for x, y in ((0, 0), (0, 5), (1, 0)):
        layout[two.at(x, y), :2] += (5, -4)
    image = images_of(layout, two.bonds)
    kept = (layout == two.layout).all(axis=1)
    np.testing.assert_array_equal(image[kept], two.image[kept])


def test_a_ragged_region_goes_to_the_image_that_it_has_most_evidence_for(two):
    """A corner of 3 x 3 in the first picture that little holds: the rest of that picture is ragged."""
    corner = (two.layout[:, :2] < 3).all(axis=1)
    bonds = gaining(two.bonds, two.contacts(corner), 3.0)
    np.testing.assert_array_equal(two.told_apart(bonds), two.image)


def test_too_few_pieces_are_no_image_but_belong_where_their_strongest_contacts_lead():
    """A core of eight is too few, and so is a region of fifteen; one of twenty is an image."""
    for few in ((2, 4), (3, 5)):
        assert not Assembled((6, 7), few).told_apart().any()
    enough = Assembled((6, 7), (4, 5))
    np.testing.assert_array_equal(enough.told_apart(), enough.image)


def test_a_loose_piece_belongs_where_its_strongest_contact_leads(two):
    """The piece at the right end, moved to touch the left one, is still of the image it gains from."""
    layout = two.layout.copy()
    loose = two.at(11, 0)
    layout[loose, :2] = (-1, 0)  # beside the first picture
    touched = int(placed_relations(layout)[4 * two.at(0, 0) + (3 - layout[two.at(0, 0), 2]) % 4])
    assert touched // 4 == loose
    image = images_of(layout, two.bonds)
    expected = two.image.copy()
    expected[loose] = 0
    np.testing.assert_array_equal(image, expected)


def test_pieces_that_touch_nothing_belong_to_the_largest_image(two):
    layout = two.layout.copy()
    corner = two.at(11, 5)  # of the second
    layout[corner, :2] += 2
    image = images_of(layout, two.bonds)
    expected = two.image.copy()
    expected[corner] = 0
    np.testing.assert_array_equal(image, expected)


def test_pictures_that_lie_apart_are_images_of_their_own():
    apart = Assembled((5, 6), (7, 4), apart=1)
    np.testing.assert_array_equal(apart.told_apart(), by_size(apart.image))


def test_upright_pictures_are_told_apart():
    upright = Assembled((6, 7), (6, 5), keep_orientation=True)
    assert not upright.bonds.turnable
    np.testing.assert_array_equal(upright.told_apart(), upright.image)


@pytest.mark.parametrize("pieces", [1, 2, 9, 30])
def test_pieces_without_a_picture_are_one_image(pieces):
    rng = np.random.default_rng(pieces)
    for pixels in (
        rng.integers(0, 256, (pieces, 6, 6, 3), dtype=np.uint8),
        np.zeros((pieces, 6, 6, 3), np.uint8),
    ):
        edges = jigsaw.compare(jigsaw.Bag(pixels), "fused")
        layout = np.array([[i % 6, i // 6, 0] for i in range(pieces)], np.int32)
        assert not images_of(layout, bonds_of(edges)).any()


def test_where_nothing_moved_nothing_is_told_apart_by_mistake(one):
    """An assembly turned as a whole has the same images."""
    turned = one.layout.copy()
    turned[:, 0], turned[:, 1] = -one.layout[:, 1], one.layout[:, 0]
    turned[:, 2] = (one.layout[:, 2] + 1) % 4
    assert not images_of(turned, one.bonds).any()


# --- Solutions ----------------------------------------------------------------------------------------


def test_a_solution_gets_its_images_and_keeps_all_else(two):
    solution = solution_of(two.layout, two.bag)
    told = unmix(solution, two.edges)
    np.testing.assert_array_equal(told.image, two.image)
    assert told.image.dtype == solution.image.dtype
    assert replace(told, image=solution.image, notes=solution.notes).__dict__ == solution.__dict__
    assert not solution.image.any()
    assert "unmix" in told.notes["stages"]


def test_the_edges_may_be_compared_by_any_measure(two):
    solution = solution_of(two.layout, two.bag)
    assert solution.settings["measure"] != two.edges.measure
    for measure in ("ssd", "mgc"):
        assert unmix(solution, jigsaw.compare(two.bag, measure)).image.shape == two.image.shape


def test_edges_of_another_puzzle_are_refused(two, one):
    with pytest.raises(JigsawError, match="not of one puzzle"):
        unmix(solution_of(two.layout, two.bag), one.edges)


@pytest.mark.parametrize("known", [{"members": 3}, {"one_image": True}])
def test_what_a_search_has_told_apart_or_is_known_to_be_one_is_left_alone(two, one, known):
    solution = solution_of(two.layout, two.bag)
    assert needs_unmixing(solution)
    solution = replace(solution, settings={**solution.settings, **known})
    assert not needs_unmixing(solution)
    assert unmix(solution, two.edges) is solution
    with pytest.raises(JigsawError, match="not of one puzzle"):
        unmix(solution, one.edges)


# --- Photographs --------------------------------------------------------------------------------------

PHOTOGRAPHS = ("astronaut", "chelsea", "coffee")


@pytest.mark.parametrize("size", [28, 40])
@pytest.mark.parametrize("name", PHOTOGRAPHS)
def test_a_photograph_is_not_split_whether_it_is_right_or_as_a_solver_leaves_it(name, size):
    bag, truth = jigsaw.cut([getattr(data, name)()], size)
    edges = jigsaw.compare(bag, "fused")
    layout = truth.places[:, [2, 1, 3]].astype(np.int32)
    assert not images_of(layout, bonds_of(edges)).any()
    settings = jigsaw.PRESETS["paper"].changed(population=200, generations=25)
    solution = jigsaw.solve(jigsaw.compare(bag), settings=settings, seed=1)
    assert not unmix(solution, edges).image.any()


def test_photographs_glued_together_are_told_apart():
    photographs = [getattr(data, name)()[:224, :252] for name in (*PHOTOGRAPHS, "rocket")]
    bag, truth = jigsaw.cut(photographs, 28, 1)
    image, row, column, turn = truth.places.T
    layout = np.column_stack([column + 9 * (image % 2), row + 8 * (image // 2), turn]).astype(np.int32)
    assert (placed_relations(layout) < 0).sum() == 2 * (16 + 18)  # one rectangle
    assert_told_apart(images_of(layout, bonds_of(jigsaw.compare(bag, "fused"))), image)


def test_a_stray_piece_far_away_does_not_make_two_images_one(two):
    layout, expected = two.layout.copy(), two.image.copy()
    corner = two.at(11, 5)
    layout[corner, :2] += 30
    expected[corner] = 0
    np.testing.assert_array_equal(images_of(layout, two.bonds), expected)


@pytest.mark.parametrize("size", [28, 40])
def test_a_photograph_with_a_dark_sky_is_one_image(size):
    bag, truth = jigsaw.cut([data.rocket()], size)
    layout = truth.places[:, [2, 1, 3]].astype(np.int32)
    assert not images_of(layout, bonds_of(jigsaw.compare(bag, "fused"))).any()


def test_the_public_name_is_the_function():
    importlib.import_module("jigsaw.unmixing")
    assert jigsaw.unmix is unmix
