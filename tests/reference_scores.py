"""The scores, slow and obvious: by looking at pictures and trying every alignment."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np

STEPS = ((0, -1), (1, 0), (0, 1), (-1, 0))  # up, right, down, left


def touching(layout):
    """Return {edge: the edge it touches} of pieces lying at x, y with their turns."""
    at = {(int(x), int(y)): p for p, (x, y, _) in enumerate(layout)}
    assert len(at) == len(layout), "two pieces lie on one another"
    found = {}
    for (x, y), p in at.items():
        for direction, (dx, dy) in enumerate(STEPS):
            q = at.get((x + dx, y + dy))
            if q is not None:
                side = (direction - int(layout[p][2])) % 4
                other = (direction + 2 - int(layout[q][2])) % 4
                found[4 * p + side] = 4 * q + other
    return found


def true_touching(truth):
    """Return {edge: the edge it touches} in the original images."""
    found = {}
    for image in range(len(truth.shapes)):
        members = [p for p in range(len(truth.places)) if truth.places[p][0] == image]
        layout = [(truth.places[p][2], truth.places[p][1], truth.places[p][3]) for p in members]
        for e, f in touching(layout).items():
            found[4 * members[e // 4] + e % 4] = 4 * members[f // 4] + f % 4
    return found


def turned(piece, turns):
    """Return a piece turned clockwise."""
    return np.rot90(piece, -turns)


def pairs(relations):
    return {frozenset(pair) for pair in relations.items()}


def appearance(pair, pixels):
    """Return what two touching pieces look like, whichever way one holds them."""
    e, f = pair
    left = turned(pixels[e // 4], 1 - e % 4)  # its edge faces right
    right = turned(pixels[f // 4], 3 - f % 4)  # its edge faces left
    picture = np.concatenate([left, right], axis=1)
    return min(picture.tobytes(), turned(picture, 2).tobytes())


def alike(piece, other):
    return any(np.array_equal(turned(piece, turns), other) for turns in range(4))


def scores(layout, truth, pixels):
    """Return the scores of a layout."""
    n = len(layout)
    images = range(len(truth.shapes))
    true, found = pairs(true_touching(truth)), pairs(touching(layout))
    twins = {p for p in range(n) if any(p != q and alike(pixels[p], pixels[q]) for q in range(n))}
    looks_true = Counter(appearance(pair, pixels) for pair in true)
    looks_found = Counter(appearance(pair, pixels) for pair in found)
    directs = [direct(image, layout, truth) for image in images]
    neighbor = len(true & found) / len(true) if true else 1.0
    return {
        "neighbor": neighbor,
        "perfect": neighbor == 1,
        "neighbor_identical": (looks_true & looks_found).total() / len(true) if true else 1.0,
        "pixel_perfect": pixel_perfect(layout, truth, pixels),
        "ceiling": sum(all(e // 4 not in twins for e in pair) for pair in true) / len(true) if true else 1.0,
        "direct": sum(directs) / n,
        "pieces": n,
        "images": len(images),
    }


def separation(layout, solved, truth):
    """Return SEDAS, ENAS, the solved image taken for it and its foreign pieces, of each true image."""
    pieces = range(len(layout))
    true = true_touching(truth)
    rows = []
    for image in range(len(truth.shapes)):
        mine = [p for p in pieces if truth.places[p][0] == image]
        sedas = enas = most = 0
        for j in sorted({int(j) for j in solved}):
            inside = [p for p in pieces if solved[p] == j]
            both = [p for p in inside if p in mine]
            worst = len(mine) + len(inside) - len(both)
            touches = touching([layout[p] for p in inside])
            found = {4 * inside[e // 4] + e % 4: 4 * inside[f // 4] + f % 4 for e, f in touches.items()}
            sides = sum(found.get(e) == true.get(e) for p in both for e in range(4 * p, 4 * p + 4))
            sedas = max(sedas, agreeing(both, layout, truth) / worst)
            enas = max(enas, sides / (4 * worst))
            if len(both) > most:
                most, taken, foreign = len(both), j, len(inside) - len(both)
        rows.append({"sedas": sedas, "enas": enas, "solved": taken, "foreign": foreign})
    return rows


def motions(layout, members, truth):
    """Give every turn and shift of an image that lays some piece of it where it lies."""
    for turns in range(4):
        places = {p: place(truth.places[p], turns) for p in members}
        shifts = {
            (int(layout[p][0]) - places[p][0], int(layout[q][1]) - places[q][1])
            for p, q in product(members, members)
        }
        for dx, dy in shifts:
            yield turns, {p: (x + dx, y + dy) for p, (x, y) in places.items()}


def place(true, turns):
    x, y = int(true[2]), int(true[1])
    for _ in range(turns):
        x, y = -y, x
    return x, y


def direct(image, layout, truth):
    """Return how many pieces of an image lie right under the best turn and shift of it."""
    return agreeing([p for p in range(len(layout)) if truth.places[p][0] == image], layout, truth)


def agreeing(members, layout, truth):
    """Return how many of some pieces of an image lie right under the best turn and shift of it."""
    best = 0
    for turns, places in motions(layout, members, truth):
        right = 0
        for p in members:
            x, y, turn = (int(value) for value in layout[p])
            right += (x, y) == places[p] and turn == (int(truth.places[p][3]) + turns) % 4
        best = max(best, right)
    return best


def pixel_perfect(layout, truth, pixels):
    """Return whether every image can be seen in the assembly, each at a place of its own."""
    seen = {(int(x), int(y)): turned(pixels[p], int(turn)) for p, (x, y, turn) in enumerate(layout)}

    def find(image, taken):
        if image == len(truth.shapes):
            return True
        members = [p for p in range(len(layout)) if truth.places[p][0] == image]
        for turns, places in anywhere(seen, members, truth):
            wanted = {places[p]: turned(pixels[p], int(truth.places[p][3]) + turns) for p in members}
            fits = all(
                at not in taken and at in seen and np.array_equal(seen[at], wanted[at]) for at in wanted
            )
            if fits and find(image + 1, taken | set(wanted)):
                return True
        return False

    return find(0, frozenset())


def anywhere(seen, members, truth):
    """Give every turn of an image, its first piece over every piece of the assembly."""
    for turns in range(4):
        places = {p: place(truth.places[p], turns) for p in members}
        x0, y0 = places[members[0]]
        for x, y in seen:
            yield turns, {p: (px + x - x0, py + y - y0) for p, (px, py) in places.items()}
