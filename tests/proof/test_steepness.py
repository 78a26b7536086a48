"""Lipschitz constants of formulas: above every rise, and close to one."""

import math

import numpy as np
import pytest

from headsmith.functions import parse
from headsmith.proof.steepness import steepness

UNIT = [(-1.0, 1.0), (-1.0, 1.0)]


def test_steepness_bounds_every_rise():
    f = parse("sin(3*x)*y")
    found = steepness([f], ["x", "y"], UNIT)
    assert 3.0 <= found <= 4.2
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-1, 1, (2, 500, 2))
    rise = np.abs(f(x=a[:, 0], y=a[:, 1]) - f(x=b[:, 0], y=b[:, 1]))
    assert (rise <= found * np.abs(a - b).max(1)).all()


@pytest.mark.parametrize(
    ("formulas", "slope"),
    [(["x*y"], 2.0), (["x/4", "y/2"], 0.5), (["exp(x)"], math.e), (["sin(9*x)*y"], 82**0.5), (["3"], 0.0)],
)
def test_the_constant_is_that_of_the_steepest_point(formulas, slope):
    assert slope <= steepness([parse(f) for f in formulas], ["x", "y"], UNIT) <= 1.003 * slope


@pytest.mark.parametrize("f", ["abs(x)", "sqrt(x + 1)", "1/x"])
def test_a_slope_that_cannot_be_enclosed_is_infinite(f):
    assert steepness([parse(f)], ["x", "y"], UNIT) == math.inf


@pytest.mark.parametrize(
    "formula, true",
    [("x + y", 2.0), ("x*y", 2.0), ("3*x - y", 4.0), ("sin(5*x)", 5.0), ("x^2 + y", 3.0), ("exp(x)*y", 2 * math.e)],
)
def test_every_variable_counts_where_it_is_steepest(formula, true):
    f = parse(formula)
    assert true <= steepness([f], ["x", "y"], UNIT) <= 1.1 * true


def test_the_steepest_component_counts():
    assert 7 <= steepness([parse("x"), parse("7*y"), parse("x*y")], ["x", "y"], UNIT) <= 7.1


def test_a_slope_inside_of_a_cell_counts():
    """The slope of this step is 40 on a thirtieth of the box, far from every border of the cells."""
    assert steepness([parse("tanh(40*(x - 0.0137))")], ["x", "y"], UNIT) >= 40


def test_a_vertical_slope_is_infinite():
    assert steepness([parse("sqrt(x + 1)*y")], ["x", "y"], UNIT) == math.inf
