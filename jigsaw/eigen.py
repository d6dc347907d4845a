"""Eigenvectors, and what leads to them, as kernels: the same to the last bit on every processor.

Libraries add in another order, or use other instructions, on another processor; what a search makes of a
difference in the last bit is in the end another assembly.
"""

from __future__ import annotations

import numpy as np

from jigsaw.compiled import kernel

_SWEEPS = 30  # at most; a dozen are enough
_NOTHING = 1e-13  # share of the diagonal that is left beside it in the end


@kernel(allocates=True)
def product(left, right):
    """Return the matrix product, each sum in the order of the rows of `right`."""
    total = np.zeros((left.shape[0], right.shape[1]))
    for i in range(left.shape[0]):
        for k in range(left.shape[1]):
            for j in range(right.shape[1]):
                total[i, j] += left[i, k] * right[k, j]
    return total


@kernel(allocates=True)
def decoupled(across, alone):
    """Return ρ and W with W' across W = diag(ρ) and W' alone W = 1.

    Both matrices are symmetric, and `alone` is positive definite.
    """
    size = len(alone)
    lower = np.zeros((size, size))  # alone = lower lower'  (Cholesky)
    for i in range(size):
        for j in range(i + 1):
            rest = alone[i, j]
            for k in range(j):
                rest -= lower[i, k] * lower[j, k]
            lower[i, j] = np.sqrt(rest) if i == j else rest / lower[j, j]
    inverse = np.zeros((size, size))  # of lower
    for j in range(size):
        for i in range(j, size):
            rest = 1.0 if i == j else 0.0
            for k in range(j, i):
                rest -= lower[i, k] * inverse[k, j]
            inverse[i, j] = rest / lower[i, i]
    upper = inverse.T.copy()
    matrix = product(product(inverse, across), upper)
    turned = np.eye(size)
    for _ in range(_SWEEPS):
        if not _sweep(matrix, turned):
            break
    return np.diag(matrix).copy(), product(upper, turned.T.copy())


@kernel
def _sweep(matrix, turned):
    """Turn all pairs of axes so that the matrix becomes more diagonal (Jacobi); False if it is already.

    The rows of `turned` become eigenvectors.
    """
    size, most, beside = len(matrix), 0.0, 0.0
    for i in range(size):
        most = max(most, abs(matrix[i, i]))
        for j in range(i):
            beside = max(beside, abs(matrix[i, j]))
    if beside <= _NOTHING * most:
        return False
    for i in range(size):
        for j in range(i + 1, size):
            if abs(matrix[i, j]) <= _NOTHING * most / 16:
                continue
            half = (matrix[j, j] - matrix[i, i]) / (2 * matrix[i, j])
            tangent = (1.0 if half >= 0 else -1.0) / (abs(half) + np.sqrt(half * half + 1))
            cosine = 1 / np.sqrt(tangent * tangent + 1)
            sine = tangent * cosine
            for k in range(size):
                one, two = matrix[k, i], matrix[k, j]
                matrix[k, i] = cosine * one - sine * two
                matrix[k, j] = sine * one + cosine * two
            for k in range(size):
                one, two = matrix[i, k], matrix[j, k]
                matrix[i, k] = cosine * one - sine * two
                matrix[j, k] = sine * one + cosine * two
            for k in range(size):
                one, two = turned[i, k], turned[j, k]
                turned[i, k] = cosine * one - sine * two
                turned[j, k] = sine * one + cosine * two
    return True
