"""Heads on tensor grids: interpolation, polynomials between nodes, rounding, keys that are a product."""

import itertools
import math

import numpy as np
import pytest
from flint import arb

from headsmith.proof.checker import grids
from headsmith.proof.checker.grids import on_nodes
from headsmith.proof.checker.verdict import Budget, Rejected

from .helpers import DOUBLE, tree_of


def test_a_head_errs_less_than_its_spill():
    """Interpolated at its nodes, two keys: the true error is below, and not ten thousand times."""
    axis = grids.Axis((-1.5, 1.5), (0.0, 0.0))
    for n, h in itertools.product((5, 8), (0.5, 1.0)):
        nodes = h * np.cos((2 * np.arange(n + 1) + 1) * np.pi / (2 * n + 2))
        fine = h * np.cos(np.linspace(0, np.pi, 2001))
        p = np.polynomial.chebyshev.Chebyshev.fit(nodes, np.tanh(1.5 * nodes), n, [-h, h])
        true = np.abs(np.tanh(1.5 * fine) - p(fine)).max()
        assert true <= grids.spill(axis, (-h, h), n) <= 1e3 * true


def test_a_remainder_of_interpolation_is_attained():
    """x^(n+1) is off by h^(n+1)/2^n, whatever the other variable is."""
    n, names = 5, ["x", "y"]
    f = tree_of("x^6*y")
    found = grids._derivative(f, names, ((-1.0, 1.0), (0.0, 3.0)), 0, n)
    assert 3 / 2**n <= found <= 3.01 / 2**n
    assert grids._derivative(f, names, ((-1.0, 1.0), (0.0, 3.0)), 1, n) <= 1e-300
    assert grids._derivative(tree_of("abs(x)*y"), names, ((-1.0, 1.0), (0.0, 3.0)), 0, n) == math.inf


@pytest.mark.parametrize("dims", [1, 2])
def test_a_polynomial_is_below_only_if_it_is(dims):
    """T_3 T_3 .. is 1; between nodes, too: 1 is shown, and 0.999 is not."""
    size = 4**dims
    coefficients = [arb(0)] * (size - 1) + [arb(1)]
    grids._below(coefficients, [3] * dims, 1.001, Budget())
    with pytest.raises(Rejected):
        grids._below(coefficients, [3] * dims, 0.999, Budget())


def test_a_peak_between_all_nodes_is_found():
    """A polynomial of degree 3 an axis, turned: its largest value lies at no first node."""
    for turn in np.linspace(0.0, 0.5, 7):
        c, s = math.cos(turn), math.sin(turn)
        p = np.polynomial.chebyshev.chebmulx([0, 0, c])[:4] + np.array([0, s, 0, 0])
        fine = np.cos(np.linspace(0, np.pi, 20001))
        true = np.abs(np.polynomial.chebyshev.chebval(fine, p)).max()
        grids._below([arb(x) for x in p.tolist()], [3], true * 1.001, Budget())
        with pytest.raises(Rejected):
            grids._below([arb(x) for x in p.tolist()], [3], true * 0.999, Budget())


def test_coefficients_that_are_left_out_are_paid_for():
    coefficients = [arb(1), arb(0.5), arb(0.25), arb(0.125)]
    kept, degrees, left = grids._trimmed(coefficients, [3], 0.2)
    assert degrees == [2] and len(kept) == 3 and left >= 0.125


def two_by_two(values):
    axis = grids.Axis((-1.0, 1.0), (0.0, 0.0))
    return grids.Grid([axis, axis], [values])


def shown(values, formula, stated):
    component = grids.Component(two_by_two(values), values, tree_of(formula), ["x", "y"], stated, Budget())
    component.shown(((-1.0, 1.0), (-1.0, 1.0)))


def test_the_error_of_a_grid_is_found():
    """tanh(x) tanh(y) + 0.25 against tanh(x) tanh(y): 0.25, and that is a lie below it."""
    values = [1.25, -0.75, -0.75, 1.25]
    shown(values, "tanh(x)*tanh(y)", 0.2505)
    with pytest.raises(Rejected) as rejected:
        shown(values, "tanh(x)*tanh(y)", 0.2495)
    assert rejected.value.args[0] == 1


def test_a_grid_rounds_as_its_scores_do():
    """Three terms a score: with slopes of 1e6 this is all there is, and it is not below a simulation of it."""
    axis = grids.Axis((1e5, 1.1e5), (0.0, -1e4))
    flat = grids.Axis((1e5, 1.05e5), (0.0, -5e3))
    grid, point = grids.Grid([axis, flat], [[-1.0, 1.0, 1.0, -1.0]]), ((1.0, 1.0), (1.0, 1.0))
    found = grids.slip(grid, point, DOUBLE)
    magnitude = 1e5 + 1e5
    assert found >= 3 * DOUBLE.u * magnitude
    assert grids.slip(grid, ((0.99, 1.0), (1.0, 1.0)), DOUBLE) >= found


def test_keys_that_are_no_product_are_rejected():
    rows = [[-1.0, -1.0, 0.0, 1.0], [-1.0, 1.0, 0.5, 2.0], [1.0, -1.0, 0.25, 3.0], [1.0, 1.0, 0.75, 4.0]]
    grid = grids.factored(rows, 2)
    assert [a.slopes for a in grid.axes] == [(-1.0, 1.0)] * 2 and grid.values == [[1.0, 2.0, 3.0, 4.0]]
    for place in ((3, 2), (2, 0), (1, 1)):
        bad = [row[:] for row in rows]
        bad[place[0]][place[1]] += 2.0**-40
        with pytest.raises(Rejected):
            grids.factored(bad, 2)


def test_a_grid_of_points_is_evaluated_once_for_each_of_its_own():
    x, y = [arb(1), arb(2)], [arb(3), arb(5)]
    found = on_nodes(tree_of("x*y + x^2"), ["x", "y"], [x, y])
    assert [float(v) for v in found] == [4.0, 6.0, 10.0, 14.0]
