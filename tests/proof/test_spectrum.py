"""Proved eigenvalue bounds are on the right side, and close."""

from fractions import Fraction

import numpy as np
import pytest
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


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_any_vectors_will_do(monkeypatch, scale):
    """The least eigenvalue of (1, 9/10; 9/10, 1) is 1/10, which Gershgorin attains in the basis that it is given in."""
    monkeypatch.setattr(np.linalg, "eigh", lambda matrix: (None, scale * np.eye(2)))
    found = least_eigenvalue(np.array([[1.0, 0.9], [0.9, 1.0]]), np.zeros((2, 2)))
    assert 0.1 - 1e-9 < found <= 0.1


def test_singular_matrices_have_no_positive_bound(monkeypatch):
    """(a, b)(a, b)' is singular; in a basis with a long null vector, what its products round is all that is left."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        (a, b), length = rng.integers(100, 1000, 2).astype(float), 1e6 * rng.random()
        V = np.array([[b * length, 0.0], [-a * length, 1.0]])
        monkeypatch.setattr(np.linalg, "eigh", lambda matrix, V=V: (None, V))
        assert least_eigenvalue(np.array([[a * a, a * b], [a * b, b * b]]), np.zeros((2, 2))) <= 0


def test_the_products_of_a_gram_matrix_are_rounded():
    X = np.random.default_rng(0).normal(size=(40, 3))
    matrix, error = gram(X, 0.3)
    exact = [
        [Fraction(0.3) * sum(Fraction(a) * Fraction(b) for a, b in zip(u, v, strict=True)) / 40 for v in X.T]
        for u in X.T
    ]
    off = [
        [abs(float(Fraction(a) - b)) for a, b in zip(*rows, strict=True)] for rows in zip(matrix, exact, strict=True)
    ]
    assert np.max(off) > 0 and (np.array(off) <= error).all()
