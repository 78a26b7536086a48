import math

import pytest
from flint import arb, arb_series

from headsmith.functions import Unresolved, parse, precision
from headsmith.functions.balls import hull
from headsmith.functions.several import at_point, on_grid, pure_series


def test_a_point_is_given_in_the_order_of_the_names():
    assert at_point(parse("x - 2*y"), ["y", "x"], [1.0, 5.0]) == 3
    assert at_point(parse("y"), ["x", "y"], [9.0, 2.0]) == 2 and at_point(parse("7"), ["x"], [1.0]) == 7


@pytest.mark.parametrize("text", ["x*y + sin(x)", "sin(x)/x*y", "max(x, y)^2", "x^y + 3", "y", "2", "x/(y + 5)"])
def test_a_grid_is_row_major_and_agrees_with_points(text):
    f, xs, ys = parse(text), [0.5, 1.0, 2.0], [0.25, 3.0]
    with precision(128):
        found = on_grid(f, {"x": [arb(x) for x in xs], "y": [arb(y) for y in ys]})
    assert len(found) == 6
    for ball, (x, y) in zip(found, [(x, y) for x in xs for y in ys], strict=True):
        assert ball.overlaps(at_point(f, ["x", "y"], [x, y])) and ball.rad() < 1e-20


def test_a_grid_passes_through_a_removable_point():
    with precision(128, 30):
        [at_zero, _] = on_grid(parse("sin(x)/x"), {"x": [arb(0), arb(1)]})
    assert abs(float(at_zero) - 1) < 1e-15


def test_pure_derivatives():
    """d^k/dx^k of exp(x y) + y^3 at x = 0, y = 2 is 2^k, plus 8 for k = 0."""
    with precision(128, 5):
        found = pure_series(parse("exp(x*y) + y^3"), {"x": arb_series([0, 1], 5), "y": arb(2)})
    assert [float(found[k]) * math.factorial(k) for k in range(5)] == pytest.approx([9, 2, 4, 8, 16])


def test_the_others_may_be_wide():
    with precision(128, 3):
        slope = pure_series(parse("x*y + abs(y - 3)"), {"x": arb_series([1, 1], 3), "y": hull(-1, 2)})[1]
    assert slope.contains(-1) and slope.contains(2) and not slope.contains(2.1)


@pytest.mark.parametrize(("text", "slope"), [("abs(x)", -1), ("relu(x)", 0), ("min(x, y)", 1), ("clip(x, 0, y)", 0)])
def test_a_kink_that_the_cell_does_not_meet_is_decided(text, slope):
    with precision(128, 3):
        found = pure_series(parse(text), {"x": arb_series([hull(-2, -1), 1], 3), "y": arb(1)})
    assert found[1] == slope


@pytest.mark.parametrize("text", ["abs(x)", "max(x, y)", "1/x", "log(x)", "x^0.5", "y/(x - y)"])
def test_a_cell_that_cannot_be_decided_says_so(text):
    with pytest.raises(Unresolved), precision(128, 3):
        pure_series(parse(text), {"x": arb_series([hull(-1, 1), 1], 3), "y": arb(0)})
