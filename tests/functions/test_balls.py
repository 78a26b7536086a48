import math

import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from headsmith.functions import Unresolved, parse, precision
from headsmith.functions.balls import ceil_float, floor_float, hull, increasing

finite = st.floats(-1e12, 1e12)


def test_the_context_comes_back():
    before = ctx.prec, ctx.cap
    parse("sin(x)").jets(0.0, 1.0, 30, prec=300)
    with pytest.raises(Unresolved), precision(77, 9):
        parse("1/x").jets(0.0, 1.0, 3)
    assert (ctx.prec, ctx.cap) == before


def test_precision_sets_bits_and_terms():
    with precision(200, 7):
        assert (ctx.prec, ctx.cap) == (200, 7)
        with precision(60):
            assert (ctx.prec, ctx.cap) == (60, 7)
        assert ctx.prec == 200


@given(finite, finite, st.floats(0, 1))
def test_a_hull_holds_what_is_between(a, b, share):
    ball = hull(a, b)
    assert ball.contains(a) and ball.contains(b) and ball.contains(arb(a) + (arb(b) - arb(a)) * arb(share).mid())
    assert ball.overlaps(hull(b, a))


@given(finite, st.floats(0, 1e3))
def test_ends_are_rounded_outwards_and_by_no_more_than_needed(middle, radius):
    ball = arb(middle, radius)
    low, high = floor_float(ball), ceil_float(ball)
    assert arb(low) <= ball.lower() and ball.upper() <= arb(high)
    assert arb(math.nextafter(high, -math.inf)) < ball.upper() and arb(math.nextafter(low, math.inf)) > ball.lower()


def test_a_third_is_rounded_to_either_side():
    with precision(200):
        third = arb(1) / 3
        assert floor_float(third) <= 1 / 3 <= ceil_float(third) == math.nextafter(floor_float(third), 1)


def test_an_increasing_function_is_taken_at_the_ends():
    wide = hull(-700, 700)
    image = increasing(arb.tanh, wide)
    assert image.contains(arb(-700).tanh()) and image.contains(arb(700).tanh()) and image.abs_upper() < 1.001
    assert increasing(arb.exp, arb(0)) == 1
