"""Bounds of polynomials from values at Chebyshev nodes: attained cases, so that no factor can be left out."""

import math

import numpy as np
import pytest

from headsmith.proof.chebyshev import angles, chebyshev_nodes, interpolant_bound, lebesgue


def values_of(f, degree, dims):
    nodes = np.cos(angles(degree + 1))
    return f(*np.meshgrid(*[nodes] * dims, indexing="ij"))


@pytest.mark.parametrize("degree", [1, 4, 8, 18])
def test_lebesgue_is_not_below_the_norm_of_interpolation(degree):
    nodes, x = np.cos(angles(degree + 1)), np.cos(np.linspace(0, math.pi, 4001))
    basis = [np.prod([(x - b) / (a - b) for b in nodes if b != a], axis=0) for a in nodes]
    true = np.abs(basis).sum(0).max()
    assert true <= lebesgue(degree) <= true + 0.5


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_between_the_nodes_a_polynomial_is_larger(dims):
    """T_n is 1 where no node lies: on the coarsest grid that is used, cos(n pi/2M) for every axis."""
    degree = 6

    def f(*x):
        return math.prod(np.cos(degree * np.arccos(v) + 0.0) for v in x)

    values = values_of(lambda *x: f(*x), degree, dims)
    for samples in (1, 20**dims, 60**dims):
        assert interpolant_bound(values, degree, 0.0, samples) >= 1


def test_a_maximum_between_nodes_of_the_fine_grid():
    """The polynomial that is largest exactly between two nodes of the grid of 2 n: only the factor holds it."""
    degree = 8
    shift = math.pi / (2 * 2 * degree)
    best = 0.0
    for turn in np.linspace(0, 2 * shift, 9):
        values = values_of(lambda x, turn=turn: np.cos(degree * np.arccos(x)) * np.cos(degree * turn), degree, 1)
        fine = np.cos(np.linspace(0, math.pi, 20001))
        true = np.abs(np.cos(degree * np.arccos(fine)) * np.cos(degree * turn)).max()
        best = max(best, true / interpolant_bound(values, degree, 0.0, 1))
    assert 0.6 <= best <= 1


def test_coefficients_that_are_dropped_are_paid_for():
    values = values_of(lambda x: 1 + 0.25 * np.cos(5 * np.arccos(x)), 5, 1)
    assert interpolant_bound(values, 5, 0.3, 1000) >= 1.25
    assert interpolant_bound(values, 5, 0.0, 1000) >= 1.25


def test_values_near_the_last_digit_are_not_lost():
    """A polynomial that is 1 everywhere but for rounding is at most 1 and what float64 may add."""
    values = np.ones((9, 9))
    assert 1 < interpolant_bound(values, 8, 1e-3, 10_000) <= 1.05


def test_nodes_are_those_of_the_first_kind():
    assert np.allclose([float(x) for x in chebyshev_nodes(5, 64)], np.cos(angles(5)))
