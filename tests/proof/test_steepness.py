"""Lipschitz constants of formulas: above every rise, and close to one."""

import math

import numpy as np
import pytest

from headsmith.functions import parse
from headsmith.functions.several import evaluator
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


@pytest.mark.parametrize("f", ["sqrt(abs(x))", "sqrt(x + 1)", "1/x", "floor(x)"])
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


@pytest.mark.parametrize(
    ("formula", "slope"),
    [
        ("abs(x)", 1.0),
        ("relu(-3*x)*y", 6.0),
        ("max(x, -2*x)", 2.0),
        ("min(x, 3*y)", 3.0),
        ("clip(x + y, -y, 0.5)", 2.0),
        ("abs(abs(x) - 0.5)*y", 1.5),
    ],
)
def test_both_sides_of_a_kink_count(formula, slope):
    """The hull of both sides is an upper bound, and close to it: every rise stays below, and some come near."""
    f = parse(formula)
    found = steepness([f], ["x", "y"], UNIT)
    rng = np.random.default_rng(0)
    a = rng.uniform(-1, 1, (2, 20_000))
    b = np.clip(a + 1e-3 * rng.choice([-1, 1], a.shape), -1, 1)
    [below], [above] = (evaluator([f], ["x", "y"])(*p) for p in (a, b))
    rise = np.abs(below - above) / np.maximum(np.abs(a - b).max(0), 1e-12)
    assert 0.9 * slope <= rise.max() <= found * (1 + 1e-9) and slope <= found <= 1.6 * slope
