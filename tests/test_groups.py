"""Groups of pieces: joining them turns and shifts the smaller one, unless any pieces would collide.

In the examples sides are 0 top, 1 right, 2 bottom, 3 left, and edge 4 p + s is side s of piece p.
"""

import numpy as np
import reference
from hypothesis import given
from hypothesis import strategies as st

from jigsaw.geometry import relations_of
from jigsaw.groups import enter, join, neighbour, piece_at, workspace

TOP, RIGHT, BOTTOM, LEFT = range(4)


class Table:
    """A table on which single pieces lie, to be joined."""

    def __init__(self, pieces):
        self.pieces = pieces
        self.records, self.places = workspace(pieces)
        for piece in range(pieces):
            self.records[piece]["group"] = piece
            self.records[piece]["ring"] = piece
            self.records[piece]["size"] = 1
            enter(self.records, self.places, piece)

    def join(self, e, f):
        return join(self.records, self.places, e, f)

    def at(self, piece):
        record = self.records[piece]
        return int(record["x"]), int(record["y"]), int(record["turn"])

    def groups(self):
        """All groups, by following their rings."""
        found = []
        left = set(range(self.pieces))
        while left:
            first = piece = min(left)
            group = {}
            while piece not in group:
                group[piece] = self.at(piece)
                piece = int(self.records[piece]["ring"])
            assert piece == first
            left -= set(group)
            found.append(group)
        return found

    def touching(self, e):
        return neighbour(self.records, self.places, e)

    def relations(self):
        return {(e, self.touching(e)) for e in range(4 * self.pieces) if self.touching(e) > e}

    def state(self):
        """Everything there is to know, to see whether it changed."""
        return self.groups(), self.relations(), self.records["size"].tolist(), self.records["group"].tolist()


def edge(piece, side):
    return 4 * piece + side


def row_of(pieces):
    """A table with pieces joined left to right, the first at (0, 0)."""
    table = Table(pieces)
    for piece in range(1, pieces):
        assert table.join(edge(piece - 1, RIGHT), edge(piece, LEFT))
    return table


def ring_with_a_gap():
    """A table with pieces 0 to 6 around an empty place, one corner open, and pieces 7 and 8 loose.

    0 1 2
    6   3
    5 4
    """
    table = Table(9)
    for one, side, two in [(0, RIGHT, 1), (1, RIGHT, 2), (2, BOTTOM, 3), (0, BOTTOM, 6), (6, BOTTOM, 5)]:
        assert table.join(edge(one, side), edge(two, (side + 2) % 4))
    assert table.join(edge(5, RIGHT), edge(4, LEFT))
    return table


# --- The paper's examples -----------------------------------------------------------------------------


def test_a_piece_is_turned_so_that_the_two_edges_face_each_other():
    table = Table(2)
    assert table.join(edge(0, RIGHT), edge(1, TOP))
    assert table.at(0) == (0, 0, 0)
    assert table.at(1) == (1, 0, 3)  # three quarter turns clockwise bring its top to the left
    assert table.touching(edge(0, RIGHT)) == edge(1, TOP)
    assert table.touching(edge(1, TOP)) == edge(0, RIGHT)


def test_a_group_is_rotated_as_a_whole_when_it_is_merged():
    table = Table(5)
    assert table.join(edge(0, RIGHT), edge(1, LEFT))
    assert table.join(edge(1, RIGHT), edge(2, LEFT))
    assert table.join(edge(3, RIGHT), edge(4, LEFT))  # 3 4, side by side
    assert table.join(edge(2, RIGHT), edge(3, TOP))  # the top of 3 must face left
    assert table.at(3) == (3, 0, 3)
    assert table.at(4) == (3, -1, 3)  # what was to the right of 3 is above it now
    assert table.touching(edge(3, RIGHT)) == edge(4, LEFT)  # and still touches the same edge


def test_pieces_that_come_to_lie_side_by_side_have_an_implicit_relation():
    table = Table(4)
    assert table.join(edge(0, RIGHT), edge(1, LEFT))
    assert table.join(edge(2, RIGHT), edge(3, LEFT))
    assert table.join(edge(0, BOTTOM), edge(2, TOP))  # 0 1 over 2 3: nobody joined 1 and 3
    assert table.touching(edge(1, BOTTOM)) == edge(3, TOP)
    assert table.touching(edge(3, TOP)) == edge(1, BOTTOM)


def test_an_implicit_relation_cannot_be_assigned_again():
    table = Table(4)
    table.join(edge(0, RIGHT), edge(1, LEFT))
    table.join(edge(2, RIGHT), edge(3, LEFT))
    table.join(edge(0, BOTTOM), edge(2, TOP))
    assert not table.join(edge(1, BOTTOM), edge(3, TOP))


def test_a_collision_is_refused_and_leaves_both_groups_as_they_were():
    table = ring_with_a_gap()
    assert table.join(edge(7, RIGHT), edge(8, LEFT))
    before = table.state()
    # Piece 7 would fit the empty place below 1, but 8 would come to lie on 3.
    assert not table.join(edge(1, BOTTOM), edge(7, TOP))
    assert table.state() == before
    for side in range(4):  # however the pair is turned, 8 lands on 1, 3, 4 or 6
        assert not table.join(edge(6, RIGHT), edge(7, side))
    assert table.state() == before


def test_a_single_piece_fits_where_a_pair_collides_and_touches_all_around():
    table = ring_with_a_gap()
    assert table.join(edge(1, BOTTOM), edge(7, TOP))
    around = [table.touching(edge(7, side)) for side in range(4)]
    assert around == [edge(1, BOTTOM), edge(3, LEFT), edge(4, TOP), edge(6, RIGHT)]


def test_an_edge_that_already_touches_another_takes_no_second_one():
    table = Table(3)
    assert table.join(edge(0, RIGHT), edge(1, LEFT))
    before = table.state()
    assert not table.join(edge(0, RIGHT), edge(2, LEFT))
    assert table.state() == before


def test_two_edges_of_one_group_are_never_joined():
    table = row_of(3)
    before = table.state()
    assert not table.join(edge(0, LEFT), edge(2, RIGHT))
    assert not table.join(edge(1, TOP), edge(1, BOTTOM))
    assert table.state() == before


# --- Which group moves --------------------------------------------------------------------------------


def test_the_smaller_group_moves_and_the_larger_stays_whichever_is_named_first():
    for larger_first in (True, False):
        table = Table(5)
        assert table.join(edge(0, RIGHT), edge(1, LEFT))
        assert table.join(edge(1, RIGHT), edge(2, LEFT))
        assert table.join(edge(3, RIGHT), edge(4, LEFT))
        stays = [table.at(piece) for piece in (0, 1, 2)]
        moves = [table.at(piece) for piece in (3, 4)]
        pair = edge(1, TOP), edge(3, TOP)
        assert table.join(*(pair if larger_first else pair[::-1]))
        assert [table.at(piece) for piece in (0, 1, 2)] == stays
        assert [table.at(piece) for piece in (3, 4)] != moves
        assert table.at(3) == (1, -1, 2)
        assert table.at(4) == (0, -1, 2)


def test_a_group_knows_its_size_and_its_places():
    table = ring_with_a_gap()
    name = int(table.records[4]["group"])
    assert table.records[name]["size"] == 7
    assert {int(table.records[piece]["group"]) for piece in range(7)} == {name}
    for piece in range(7):
        x, y, _ = table.at(piece)
        assert piece_at(table.records, table.places, name, x, y) == piece
    x, y, _ = table.at(1)
    assert piece_at(table.records, table.places, name, x, y + 1) == -1


# --- Any sequence of joins ----------------------------------------------------------------------------


@st.composite
def joins(draw):
    pieces = draw(st.integers(1, 10))
    edges = st.integers(0, 4 * pieces - 1)
    return pieces, draw(st.lists(st.tuples(edges, edges), max_size=40))


@given(joins())
def test_any_joins_give_the_relations_of_the_reference(case):
    pieces, pairs = case
    table, groups = Table(pieces), reference.singles(pieces)
    for e, f in pairs:
        assert table.join(e, f) == reference.join(groups, e, f)
        assert table.relations() == reference.relations_of(groups)
    assert {frozenset(group) for group in table.groups()} == {frozenset(group) for group in groups}


@given(st.integers(0, 2**32 - 1), st.integers(15, 40))
def test_large_groups_have_the_relations_of_the_reference(seed, pieces):
    rng = np.random.default_rng(seed)
    table, groups = Table(pieces), reference.singles(pieces)
    for _ in range(200):
        e, f = rng.integers(0, 4 * pieces, 2).tolist()
        assert table.join(e, f) == reference.join(groups, e, f)
    assert table.relations() == reference.relations_of(groups)


@given(st.integers(0, 2**32 - 1), st.integers(1, 15))
def test_the_relations_of_a_layout_are_those_of_the_reference(seed, pieces):
    rng = np.random.default_rng(seed)
    places = rng.permutation(25)[:pieces]
    layout = np.column_stack([places % 5 - 7, places // 5 + 3, rng.integers(0, 4, pieces)])
    expected = reference.table_of(reference.relations_of([reference.group_in(layout)]), pieces)
    np.testing.assert_array_equal(relations_of(layout), expected)
