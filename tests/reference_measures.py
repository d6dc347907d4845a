"""The measures `prediction`, `fused` and `refitted`, slowly: all edges with all edges, by the formulas.

Nothing is screened and nothing is left out: the rivals of an edge are all edges of other pieces or, of
upright pieces, all those on the opposite side. An edge is 4 piece + side; a matrix has an entry for every
pair of edges, also for those that cannot touch.
"""

import numpy as np
from reference import Comparison
from scipy.stats import multivariate_normal
from skimage.color import rgb2lab

MOST = 12.0  # that -ln p may be


def rows_of(pixels, lab):
    """The two outermost pixel rows of all edges, read clockwise: border and next, (4 n, K, 3) each."""
    turned = np.array([np.rot90(piece, side) for piece in pixels for side in range(4)])
    colours = np.rint(16 * rgb2lab(turned)) if lab else turned.astype(float)
    return colours[:, 0], colours[:, 1]


def allowed(edges, upright=False):
    """Which pairs of edges can touch: those of different pieces; of upright pieces, opposite sides."""
    e, f = np.indices((edges, edges))
    different = e // 4 != f // 4
    return different & (e % 4 == (f + 2) % 4) if upright else different


def compare(dissimilarities, possible):
    """The edges that can touch each edge, best first, ties by number; best buddies; the mean."""
    nearest = [
        sorted(np.flatnonzero(possible[e]).tolist(), key=lambda f, row=row: (row[f], f))
        for e, row in enumerate(dissimilarities)
    ]
    first = [row[0] if row else -1 for row in nearest]
    buddy = [f if f >= 0 and first[f] == e else -1 for e, f in enumerate(first)]
    mean = dissimilarities[possible].mean() if possible.any() else 0.0
    return Comparison(nearest, buddy, float(mean), dissimilarities)


# --- Prediction ---------------------------------------------------------------------------------------


def prediction(pixels):
    """How far each edge (column) is from what each edge (row) expects, in L*a*b* units."""
    border, following = rows_of(pixels, lab=True)
    expected = border + (border - following)
    facing = border[:, ::-1]
    return np.array([np.abs(each - facing).sum(axis=(1, 2)) for each in expected]) / 16


# --- Mahalanobis gradient compatibility -----------------------------------------------------------------


def gradient_compatibility(pixels):
    """Gallagher's compatibility of all pairs of edges, both ways added; `reference` has that of one pair."""
    border, following = rows_of(pixels, lab=False)
    unit = np.vstack([np.zeros(3), np.ones(3), -np.ones(3), np.eye(3), -np.eye(3)])
    one_way = np.empty((len(border), len(border)))
    for e, gradients in enumerate(border - following):
        precision = np.linalg.inv(np.cov(np.vstack([gradients, unit]), rowvar=False))
        steps = border[:, ::-1] - border[e] - gradients.mean(axis=0)
        one_way[e] = ((steps @ precision) * steps).sum(axis=(1, 2))
    return one_way + one_way.T


# --- Fused ----------------------------------------------------------------------------------------------


def differences(pixels):
    """Four kinds of x of all pairs of edges: ln(1 + |x|²), its mean over the edge. (4, edges, edges)"""
    border, following = rows_of(pixels, lab=True)
    midway = (border + (border - following) / 2) / 16
    size = midway.shape[1]
    span = min(4, size - 1)
    means_of_kinds = np.empty((4, len(midway), len(midway)))
    for e, each in enumerate(midway):
        for f, other in enumerate(midway):
            b = each - other[::-1]
            means = np.array([b[k : k + span].mean(axis=0) for k in range(size + 1 - span)])
            changes = np.array([b[k + span] - b[k] for k in range(size - span)])
            colours = b[:, 1:]
            kinds = (means, changes, colours, np.diff(colours, axis=0))
            means_of_kinds[:, e, f] = [np.log(1 + (x**2).sum(axis=1)).mean() for x in kinds]
    return means_of_kinds


def unlikeness(pixels):
    """U of all pairs of edges: the four, weighted."""
    return np.tensordot([1.2, 2.0, 1.15, 4.5], differences(pixels), 1)


def a_little(measured, possible):
    """A fiftieth of the median, over all edges, of the second-smallest value, or of the only one."""
    seconds = [sorted(row[can])[:2][-1] for row, can in zip(measured, possible, strict=True) if can.any()]
    return 0.02 * max(np.median(seconds), 1e-3) if seconds else 0.02


def log_sum(terms, possible):
    """The logarithm of the sum of the exponentials of those terms of each row that are possible."""
    total = np.zeros(len(terms))
    for e, (row, can) in enumerate(zip(terms, possible, strict=True)):
        if can.any():
            total[e] = np.logaddexp.reduce(row[can])
    return total


def fused(pixels, upright=False):
    """The probability that two edges touch, as -ln p, never below 0 nor above MOST, of all pairs."""
    gradient = gradient_compatibility(pixels)
    possible = allowed(4 * len(pixels), upright)
    return improbabilities(
        -3.0 * np.log(gradient + a_little(gradient, possible)) - unlikeness(pixels), possible
    )


def improbabilities(odds, possible):
    """-ln p of all pairs by their odds, the rivals on both sides being all that is possible."""
    r = log_sum(odds, possible)
    normalised = 0.75 * (2 * odds - r[:, None] - r)
    q = log_sum(normalised, possible)
    return np.clip((q[:, None] + q) / 2 - normalised, 0, MOST)


# --- Refitted -------------------------------------------------------------------------------------------


def coefficients(pixels, rows=4, count=8):
    """The first cosine coefficients of the outer rows of all edges, each row and channel by itself."""
    size = pixels.shape[1]
    k, i = np.arange(min(count, size))[:, None], np.arange(size)
    waves = np.cos(np.pi * k * (2 * i + 1) / (2 * size)) * np.where(k == 0, 1, 2**0.5) / size**0.5
    turned = np.array([np.rot90(piece, side) for piece in pixels for side in range(4)], float)
    return np.array([(waves @ edge[:rows]).transpose(0, 2, 1).ravel() for edge in turned])


def likenesses(pixels, pairs, count=8):
    """Ln of how much more probable any two edges are as ends of such pairs than as any two edges."""
    strips = coefficients(pixels, count=count)
    strips = strips - strips.mean(axis=0)
    ends = np.array([strips[e] for pair in pairs for e in pair])
    others = np.array([strips[e] for pair in pairs for e in pair[::-1]])
    alone = ends.T @ ends / len(ends) + 0.02 * np.eye(ends.shape[1])
    across = ends.T @ others / len(ends)
    together = np.block([[alone, across], [across, alone]])
    single = [multivariate_normal.logpdf(strip, cov=alone) for strip in strips]
    both = [
        [multivariate_normal.logpdf(np.concatenate([one, two]), cov=together) for two in strips]
        for one in strips
    ]
    return np.array(both) - np.add.outer(single, single)


def refitted(pixels, pairs, weights):
    """The probability that two edges touch, as -ln p, by weights of what was learnt and of five others."""
    gradient = gradient_compatibility(pixels)
    possible = allowed(4 * len(pixels))
    terms = [
        np.maximum(likenesses(pixels, pairs), -10),
        -np.log(gradient + a_little(gradient, possible)),
        *-differences(pixels),
    ]
    odds = np.tensordot(weights, terms, 1)
    return improbabilities(odds, possible)
