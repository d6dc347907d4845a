"""Eigenvectors, beside those of the library."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh

from jigsaw.eigen import decoupled, product


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_coordinates_have_nothing_to_do_with_one_another(size, seed):
    rng = np.random.default_rng(seed)
    here, there = rng.normal(size=(2, 3 * size, size)) @ rng.normal(size=(size, size))
    alone = here.T @ here + 0.1 * np.eye(size)
    across = here.T @ there + there.T @ here
    found, basis = decoupled(across, alone)
    scale = np.abs(found).max()
    np.testing.assert_allclose(np.sort(found), eigh(across, alone)[0], rtol=0, atol=1e-9 * scale)
    np.testing.assert_allclose(basis.T @ alone @ basis, np.eye(size), atol=1e-9)
    np.testing.assert_allclose(basis.T @ across @ basis, np.diag(found), atol=1e-9 * scale)


@pytest.mark.parametrize("matrix", [np.zeros((3, 3)), np.eye(4), np.ones((2, 2))])
def test_equal_and_missing_correlations_are_found_too(matrix):
    found, basis = decoupled(matrix, np.eye(len(matrix)))
    np.testing.assert_allclose(np.sort(found), np.linalg.eigvalsh(matrix), atol=1e-12)
    np.testing.assert_allclose(basis.T @ basis, np.eye(len(matrix)), atol=1e-12)


def test_a_product_is_that_of_the_library():
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=(7, 4)), rng.normal(size=(4, 5))
    np.testing.assert_allclose(product(one, two), one @ two)
