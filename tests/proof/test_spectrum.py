"""Proved eigenvalue bounds are on the right side, and close."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headsmith.proof.spectrum import gram, largest_eigenvalue, least_eigenvalue


@given(seed=st.integers(0, 10**6), spread=st.integers(0, 5))
def test_bounds_bracket_the_spectrum(seed, spread):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 4)) * np.geomspace(1, 10.0**-spread, 4)
    matrix, error = gram(X)
    values = np.linalg.eigvalsh(matrix)
    slack = 1e-12 * values[-1]
    assert values[0] * (1 - 1e-9) - slack <= least_eigenvalue(matrix, error)
    assert least_eigenvalue(matrix, error) <= values[0] + 1e-15 * values[-1]
    assert values[-1] * (1 - 1e-15) <= largest_eigenvalue(matrix, error) <= values[-1] * (1 + 1e-8)


def test_a_singular_matrix_has_no_positive_bound():
    assert least_eigenvalue(np.ones((3, 3)), np.zeros((3, 3))) <= 0


def test_errors_of_the_entries_are_paid_for():
    matrix, error = np.diag([1.0, 2.0]), np.full((2, 2), 0.1)
    assert least_eigenvalue(matrix, error) <= np.linalg.eigvalsh(matrix - 0.1)[0] + 1e-12
    assert largest_eigenvalue(matrix, error) >= np.linalg.eigvalsh(matrix + 0.1)[-1]
