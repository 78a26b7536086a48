"""Errors through a stack: the recursion by hand, sensitivities, and enclosures of values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headsmith.proof.rounding import FORMATS
from headsmith.proof.stack import Linear, Unit, Zonotope, carry, sensitivities
from headsmith.proof.statement import Head
from headsmith.targets.activations import NAMES, named

LINE = (Head(np.zeros(1), np.zeros(1), np.zeros(1), np.ones(1)),)


def linear(out, into, seed):
    g = np.random.default_rng(seed)
    return Linear(g.normal(size=(out, into)), g.normal(size=out))


def test_the_recursion_by_hand():
    """e_1 = eps_1 + L rounding, e_2 = |W_2| e_1: with eps_1 = 1/8 and L = 2 everywhere."""
    first, second = linear(3, 2, 0), linear(4, 3, 1)
    unit = Unit(LINE, 0.125, 0.0, 2.0, 0.0)
    done = carry([first, second], [named("relu")], (-1, 1), FORMATS["float64"], lambda *_: unit)
    assert done.approximation == pytest.approx(np.abs(second.weight).sum(1) * 0.125)
    assert 0 < done.rounding.max() < 1e-13
    lo, hi = done.domains[0]
    reach = np.abs(first.weight).sum(1)
    assert lo == pytest.approx((first.bias - reach).min(), rel=1e-6)
    assert hi == pytest.approx((first.bias + reach).max(), rel=1e-6)


def test_float32_rounds_more():
    stack = [linear(3, 2, 0), linear(4, 3, 1)]
    unit = Unit(LINE, 0.0, 0.0, 1.0, 0.0)
    fine, coarse = (
        carry(stack, [named("relu")], (-1, 1), FORMATS[name], lambda *_: unit).rounding.max()
        for name in ("float64", "float32")
    )
    assert coarse / fine == pytest.approx(2.0**29, rel=1e-3)


def test_sensitivity_is_what_an_error_of_one_costs():
    stack = [linear(3, 2, 0), linear(4, 3, 1), linear(2, 4, 2)]
    last, middle = np.abs(stack[2].weight), np.abs(stack[1].weight)
    assert sensitivities(stack, [1.0, 3.0]) == pytest.approx([(3 * last @ middle).sum(1).max(), last.sum(1).max()])


@settings(max_examples=30)
@given(
    name=st.sampled_from(sorted(NAMES)),
    ends=st.tuples(st.floats(-30, 30), st.floats(0, 20)),
    share=st.floats(0, 1),
)
def test_bands_and_boxes_hold_the_activation(name, ends, share):
    sigma = named(name)
    lo, hi = np.array([ends[0]]), np.array([ends[0] + ends[1]])
    z = lo + share * (hi - lo)
    value = float(sigma.expression(z)[0])
    low, high = sigma.box(lo, hi)
    assert low[0] <= value <= high[0]
    tilt, shift, width = sigma.band(lo, hi, 1.13)
    assert abs(value - tilt[0] * z[0] - shift[0]) <= width[0]


def test_zonotope_and_box_hold_the_image():
    first, second = linear(5, 3, 3), linear(4, 5, 4)
    x = np.random.default_rng(5).uniform(-1, 1, (500, 3))
    z = Zonotope(np.zeros(3), np.eye(3), np.zeros(3)).through(first).through(second)
    lo, hi = z.meet(*second.box(*first.box(-np.ones(3), np.ones(3))))
    y = (x @ first.weight.T + first.bias) @ second.weight.T + second.bias
    assert (lo <= y.min(0)).all() and (y.max(0) <= hi).all()
    assert (hi - lo).sum() < 0.9 * np.subtract(*second.box(*first.box(-np.ones(3), np.ones(3)))[::-1]).sum()
