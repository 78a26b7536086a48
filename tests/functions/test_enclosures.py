"""Balls hold every value of a formula, at a point and over an interval."""

import mpmath
import pytest
from flint import arb
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headsmith.functions import Unresolved, parse, precision
from headsmith.functions.balls import hull
from headsmith.functions.enclosures import OPERATIONS, at, natural, over

from .formulas import formulas, reference


@settings(max_examples=150, deadline=None)
@given(formulas(), st.floats(-3, 3, allow_subnormal=False))
def test_balls_hold_the_true_value(f, x):
    try:
        true = reference(f, x)
        ball = f.at(x)
    except (ZeroDivisionError, OverflowError, Unresolved):
        assume(False)
    low, high = (mpmath.mpf(end.str(60, radius=False)) for end in (ball.lower(), ball.upper()))
    slack = mpmath.mpf(10) ** -45 * (1 + abs(true))
    assert low - slack <= true <= high + slack


@settings(max_examples=150, deadline=None)
@given(formulas(), st.floats(-2, 2), st.sampled_from([1.0, 0.1, 1e-6]), st.floats(0, 1))
def test_ranges_hold_every_value(f, lo, width, share):
    try:
        ball = f.range(lo, lo + width)
        true = reference(f, mpmath.mpf(lo) + mpmath.mpf(width) * mpmath.mpf(share) * (1 - mpmath.mpf(10) ** -15))
    except (Unresolved, ZeroDivisionError, OverflowError, ValueError):
        assume(False)
    low, high = (mpmath.mpf(end.str(60, radius=False)) for end in (ball.lower(), ball.upper()))
    slack = mpmath.mpf(10) ** -40 * (1 + abs(true))
    assert low - slack <= true <= high + slack


def test_the_unknown_is_never_divided_away():
    f = parse("x^2/((cos(x) - 1)/(x*sin(x)))^2")
    with pytest.raises(Unresolved):
        f.range(-0.5, 1.5)
    assert f.range(0.2, 0.3).contains(f.at(0.25))


def test_ranges_are_tight_where_no_derivative_exists():
    assert parse("sqrt(x)").range(0, 2.0**-46).upper() < 1.001 * 2.0**-23
    small = parse("x*log(x)").range(0, 2.0**-40)
    assert small.lower() > -2.8e1 * 2.0**-40 and small.upper() < 1e-9 * 2.0**-40 * 28
    assert parse("x^1.5 + 2*x*log(x)").range(0, 1e-12).abs_upper() < 1e-10
    assert parse("max(abs(x), 0.5)").range(-1, 1).lower() > 0.49


@pytest.mark.parametrize(("name", "bottom"), [("silu", -1.278), ("gelu", -0.752), ("gelu_tanh", -0.752)])
def test_the_bottom_of_a_hump_is_in_the_ball(name, bottom):
    f = parse(f"{name}(x)")
    assert OPERATIONS[name](hull(-3, 3)).lower() <= f(bottom) < min(f(-3.0), f(3.0))
    assert OPERATIONS[name](hull(-0.5, 3)).lower() > f(bottom)


@pytest.mark.parametrize(
    ("name", "lo", "hi", "low", "high"),
    [
        ("sign", -1, 2, -1, 1),
        ("sign", 0.5, 2, 1, 1),
        ("step", -1, 0, 0, 1),
        ("floor", 0.5, 2.5, 0, 2),
        ("abs", -3, 2, 0, 3),
    ],
)
def test_jumps_and_kinks_give_all_their_values(name, lo, hi, low, high):
    ball = OPERATIONS[name](hull(lo, hi))
    assert ball.contains(low) and ball.contains(high)
    assert not ball.contains(low - 0.01) and not ball.contains(high + 0.01)


@pytest.mark.parametrize("text", ["1/x", "log(x)", "tan(x)", "x^-2", "sqrt(x - 9)"])
def test_what_is_unbounded_is_unresolved_not_wide(text):
    with pytest.raises(Unresolved):
        over(parse(text), -2, 2)


def test_several_variables_and_exact_inputs():
    assert at(parse("x*y + 1"), {"x": 0.5, "y": arb(4)}) == 3
    with precision(128):
        assert not natural(parse("log(x)/x"), {"x": hull(0, 1)}).is_finite()
