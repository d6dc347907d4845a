"""Scores of a solution against the truth; definitions in docs/metrics.md."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from jigsaw.errors import JigsawError
from jigsaw.files import digest
from jigsaw.geometry import Places, relations_of, rotate_array
from jigsaw.meter import Meter
from jigsaw.pieces import Bag, Truth
from jigsaw.provenance import VERSION, notes
from jigsaw.separation import most_votes, separation, true_motions
from jigsaw.solution import Solution

if TYPE_CHECKING:
    from jigsaw.edges import Edges


def evaluate(solution: Solution, truth: Truth, bag: Bag, edges: Edges | None = None) -> dict[str, Any]:
    """Return the scores of a solution, as scores.json holds them.

    Given the edges it was made from, the fitness of the true images is told too.
    """
    with Meter() as meter:
        scores = _scores(solution, truth, bag)
    if edges is not None:
        scores["true_fitness"] = _true_fitness(solution, truth, edges)
    record = notes("evaluate", meter, solution.notes)
    stages = record["stages"]
    return {
        **scores,
        "solution": digest({key: getattr(solution, key) for key in ("relations", "layout", "image")}),
        # From the pieces to the solution, as the literature counts it.
        "seconds": sum(stages.get(stage, {}).get("seconds", 0.0) for stage in ("compare", "solve")),
        "stages": stages,
        "seed": solution.seed,
        "cut_seed": truth.seed,
        "piece_size": bag.piece_size,
        "preset": solution.preset,
        "settings": solution.settings,
        "version": VERSION,
        "provenance": {
            **record["provenance"],
            "commit": solution.notes.get("provenance", {}).get("commit", ""),
        },
    }


def _scores(solution: Solution, truth: Truth, bag: Bag) -> dict[str, Any]:
    one_puzzle = solution.pieces_digest == truth.pieces_digest == bag.digest
    if not (one_puzzle and len(solution.layout) == len(truth.places) == len(bag)):
        raise JigsawError("solution, truth and pieces are not of one puzzle: make them again from one `cut`")
    image = truth.places[:, 0]
    true = relations_of(true_layout(truth)).reshape(-1)
    wanted = np.flatnonzero(true >= 0)
    found = solution.relations.reshape(-1)
    right = found[wanted] == true[wanted]

    labels = edge_labels(bag.pixels)
    duplicate = _duplicates(labels)
    clean = ~duplicate[wanted // 4] & ~duplicate[true[wanted] // 4]
    of_image = image[wanted // 4]
    direct = most_votes(true_motions(solution, truth), image, len(truth.shapes))
    identical = stand_for_true(true, found, labels)[1].sum()
    apart = separation(solution, truth, true)
    places = Places(solution.layout)
    taken = np.zeros(len(bag), bool)
    per_image: list[dict[str, Any]] = []
    for i in range(len(truth.shapes)):
        mine = of_image == i
        pieces = int((image == i).sum())
        neighbor = _share(right[mine])
        per_image.append(
            {
                "image": truth.names[i],
                "pieces": pieces,
                "neighbor": neighbor,
                "perfect": neighbor == 1,
                "ceiling": _share(clean[mine]),
                "direct": int(direct[i]) / pieces,
                "pixel_perfect": _appears(i, solution, truth, labels, places, taken),
                "sedas": float(apart.sedas[i]),
                "enas": float(apart.enas[i]),
                "solved": int(apart.taken[i]),
                "foreign": int(apart.foreign[i]),
            }
        )
    neighbor = _share(right)
    return {
        "neighbor": neighbor,
        "perfect": neighbor == 1,
        "neighbor_identical": 2 * int(identical) / len(wanted) if len(wanted) else 1.0,
        "pixel_perfect": all(row["pixel_perfect"] for row in per_image),
        "ceiling": _share(clean),
        "direct": float(
            np.average([r["direct"] for r in per_image], weights=[r["pieces"] for r in per_image])
        ),
        "sedas": float(apart.sedas.mean()),
        "enas": float(apart.enas.mean()),
        "foreign": int(apart.foreign.sum()),
        "pieces": len(bag),
        "images": len(truth.shapes),
        "images_found": len(np.unique(solution.image)),
        "per_image": per_image,
        "fitness": solution.fitness,
        "history": [round(float(best), 3) for best in solution.history[:, 0]],
    }


def _true_fitness(solution: Solution, truth: Truth, edges: Edges) -> float:
    from jigsaw.chromosome import costs_of, fitness_of  # compiled kernels take a while to load

    if solution.edges_digest != edges.digest:
        raise JigsawError("the solution was not made from these edges: give those it was made from")
    return float(fitness_of(costs_of(edges), relations_of(true_layout(truth)).reshape(-1)))


def true_layout(truth: Truth) -> np.ndarray:
    """Return the layout of the true images, side by side without touching."""
    image, row, column, turn = truth.places.T
    first_column = np.concatenate([[0], np.cumsum(truth.shapes[:, 1] + 1)])[:-1]
    return np.column_stack([column + first_column[image], row, turn])


def edge_labels(pixels: np.ndarray) -> np.ndarray:
    """Return a number for each edge, the same for edges that nothing can tell apart.

    Pieces are the same if one, turned, equals the other pixel for pixel. (4 n) int64: label // 4 names
    the class of equal pieces.
    """
    turned = (np.rot90(pixels, -r, axes=(1, 2)).copy() for r in range(4))
    digests = [[hashlib.blake2b(piece, digest_size=16).digest() for piece in pieces] for pieces in turned]
    # Number equal pictures alike; a piece's class is the least of its four, reached by turn `upright`.
    _, number = np.unique(np.array(digests, "V16"), return_inverse=True)
    number = number.reshape(4, -1).T
    upright = number.argmin(axis=1)
    name = number.min(axis=1)
    # A piece that looks the same turned by `period` quarter turns has only that many kinds of edge.
    period = np.where(number[:, 0] == number[:, 1], 1, np.where(number[:, 0] == number[:, 2], 2, 4))
    side = (np.arange(4)[None, :] + upright[:, None]) % period[:, None]
    return (4 * name[:, None].astype(np.int64) + side).reshape(-1)


def _duplicates(labels: np.ndarray) -> np.ndarray:
    """Return which pieces have an identical twin."""
    name = labels[::4] // 4
    _, inverse, counts = np.unique(name, return_inverse=True, return_counts=True)
    return counts[inverse] > 1


def stand_for_true(true: np.ndarray, found: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the found relations, each by its lesser edge, and which stand for a true one.

    Identical pieces are interchangeable: of relations that look alike, as many count as there should be,
    those that are right without exchange first.
    """
    pairs = []
    for relations in (true, found):
        e = np.flatnonzero(relations > np.arange(len(relations)))
        pairs.append((e, np.sort(np.column_stack([labels[e], labels[relations[e]]]), axis=1)))
    (_, true_ends), (edges, found_ends) = pairs
    _, look = np.unique(np.concatenate([true_ends, found_ends]), axis=0, return_inverse=True)
    wanted = np.bincount(look[: len(true_ends)], minlength=look.max(initial=-1) + 1)
    look = look[len(true_ends) :]
    order = np.lexsort((found[edges] != true[edges], look))
    firsts = np.searchsorted(look[order], look[order])
    stand = np.empty(len(edges), bool)
    stand[order] = np.arange(len(edges)) - firsts < wanted[look[order]]
    return edges, stand


def _appears(
    i: int, solution: Solution, truth: Truth, labels: np.ndarray, places: Places, taken: np.ndarray
) -> bool:
    """Return whether an image is somewhere in the assembly, pixel for pixel; if so, mark its pieces as taken.

    Its rarest piece is laid on every piece that looks the same, and the rest compared.
    """
    pieces = np.flatnonzero(truth.places[:, 0] == i)
    true = truth.places[pieces][:, [2, 1]]  # x, y
    names = labels[::4] // 4
    _, inverse, counts = np.unique(names, return_inverse=True, return_counts=True)
    anchor = int(counts[inverse[pieces]].argmin())
    # A few places first: where the image is not, they mostly tell.
    few = np.linspace(0, len(pieces) - 1, 16).astype(int)
    for candidate in np.flatnonzero((names == names[pieces[anchor]]) & ~taken):
        for turn in range(4):
            shift = solution.layout[candidate, :2] - rotate_array(true[[anchor]], turn)[0]
            for which in (few, slice(None)):
                there = places.pieces_at(rotate_array(true[which], turn) + shift)
                if (there < 0).any() or taken[there].any():
                    break
                # The edge facing up, as it lies, must look like the one that should.
                up_there = labels[4 * there + (-solution.layout[there, 2]) % 4]
                up_true = labels[4 * pieces[which] + (-(truth.places[pieces[which], 3] + turn)) % 4]
                if not (up_there == up_true).all():
                    break
            else:
                taken[there] = True
                return True
    return False


def _share(flags: np.ndarray) -> float:
    return int(flags.sum()) / len(flags) if len(flags) else 1.0
