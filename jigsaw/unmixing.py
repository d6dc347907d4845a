"""Telling the images of an assembly apart, their number unknown.

Cores (boards.py) are where images may be. Every other piece belongs to the core to which the strongest
contacts lead. Two regions that lie side by side are one image if the whole line of contact between them says
so, and a region is an image only if it is nearly a rectangle, and not of a few pieces.

The search of preset `best` tells images apart by itself, and finishes each (search.py); this is for the
assemblies of others, and where no rectangles are to be found.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from jigsaw.assembly import Bonds, bonds_of, lay_out, make_assembly
from jigsaw.boards import by_size, cores_of, misfit_of
from jigsaw.compiled import kernel
from jigsaw.edges import Edges
from jigsaw.errors import JigsawError
from jigsaw.geometry import placed_relations
from jigsaw.meter import Meter
from jigsaw.provenance import notes
from jigsaw.solution import Solution

log = logging.getLogger(__name__)

CORE = 0.6  # strength of contacts that hold cores together, as a share of the greatest
LEAST = 9  # pieces of a core that may be an image,
SHARE = 1 / 100  # and what share of all pieces
CHANCE = 1.0  # what a contact between pieces that do not belong together may gain, on average
PRIOR = 1.0  # contacts as strong as can be, above chance, that it takes to hold two regions for one image
SMALLEST = 16  # pieces of an image: a few pieces that lie apart may be a square by chance
MISFIT = 0.2  # share of an image's pieces that may lie outside its rectangle, or be missing inside


def unmix(solution: Solution, edges: Edges) -> Solution:
    """Tell the images of a solution apart; one that a search has told apart already is returned as it is.

    Parameters
    ----------
    solution
        An assembly of one or several images.
    edges
        Compared edges of its pieces; best by the measure of preset `best`, whatever the solver used.
    """
    if solution.pieces_digest != edges.pieces_digest or len(solution.layout) != edges.pieces:
        raise JigsawError("solution and edges are not of one puzzle: compare the pieces that were solved")
    if not needs_unmixing(solution):
        return solution
    with Meter() as meter:
        image = images_of(solution.layout, bonds_of(edges))
    log.info("%d image%s", image.max() + 1, "s" * bool(image.max() > 0))
    return replace(solution, image=image, notes=notes("unmix", meter, solution.notes))


def needs_unmixing(solution: Solution) -> bool:
    """Return whether the images of a solution are not told apart yet, nor known to be one."""
    return solution.settings["members"] == 0 and not solution.settings["one_image"]


def images_of(layout: np.ndarray, bonds: Bonds) -> np.ndarray:
    """Return the number of the image that each piece of an assembly lies in, the largest image being 0."""
    pieces = len(layout)
    assembly = make_assembly(pieces)
    lay_out(assembly, bonds, layout.astype(np.int32))
    relations = placed_relations(layout)
    core = cores_of(layout, relations, assembly.contact, CORE * bonds.none)
    count = likely_images(core)
    if count < 2:
        return np.zeros(pieces, np.int32)
    e = np.flatnonzero(relations > np.arange(4 * pieces))
    e = e[np.argsort(-assembly.contact[e], kind="stable")]
    one, two, gain = e // 4, relations[e] // 4, assembly.contact[e]
    region = np.where(core < count, core, -1)
    _grow(region, one, two)
    while True:
        evidence = _evidence(region, one, two, gain, count)
        i, j = np.unravel_index(evidence.argmax(), evidence.shape)
        if evidence[i, j] <= PRIOR * bonds.none:
            regions = np.unique(region[region >= 0])
            ragged = [r for r in regions if _ragged(layout[region == r])]
            if not ragged or len(regions) == 1:
                return by_size(np.maximum(region, 0))
            i = min(ragged, key=lambda r: (region == r).sum())
            others = evidence[i] + np.where(np.isin(np.arange(count), region), 0, -np.inf)
            others[i] = -np.inf
            j = others.argmax()
        region[region == j] = i


def least_pieces(pieces: int) -> float:
    """Return how many of so many pieces an image must have."""
    return max(LEAST, SHARE * pieces)


def likely_images(core: np.ndarray) -> int:
    """Return how many of the cores, which are numbered by their size, may be images."""
    return int((np.bincount(core + 1)[1:] >= least_pieces(len(core))).sum())


def _ragged(layout: np.ndarray) -> bool:
    """Return whether pieces are far from a rectangle, or too few."""
    return len(layout) < SMALLEST or misfit_of(layout[:, :2]) > MISFIT * len(layout)


def _evidence(
    region: np.ndarray, one: np.ndarray, two: np.ndarray, gain: np.ndarray, count: int
) -> np.ndarray:
    """Return what the contacts between regions gain above chance, (count, count)."""
    evidence = np.zeros((count, count))
    across = (region[one] != region[two]) & (region[one] >= 0) & (region[two] >= 0)
    np.add.at(evidence, (region[one][across], region[two][across]), gain[across] - CHANCE)
    return evidence + evidence.T


@kernel(allocates=True)
def _grow(region, one, two):
    """Join pieces by contacts, the strongest first, but never two regions; what none holds stays -1."""
    root = np.arange(len(region))
    for i in range(len(one)):
        a, b = _root(root, one[i]), _root(root, two[i])
        if a != b and (region[a] == region[b] or region[a] < 0 or region[b] < 0):
            root[b] = a
            region[a] = max(region[a], region[b])
    for p in range(len(region)):
        region[p] = region[_root(root, p)]


@kernel
def _root(root, p):
    """Return the piece that stands for all those joined with p."""
    while root[p] != p:
        root[p] = root[root[p]]
        p = root[p]
    return p


def warm_up() -> None:
    """Compile the kernels, or load them from the cache."""
    _grow(np.zeros(1, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int32))
