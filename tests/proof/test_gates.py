"""Gates: an adversary attains each term of what rounding adds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headsmith.proof import gates
from headsmith.proof.gates import EXP_SLIP, SCORE_SLIP, gate_slip, row_slips
from headsmith.proof.rounding import Format

from .worst_case import COARSE, Ops, worst

u = COARSE.unit
FINE = Format("float64", 2.0**-100, 0.0)


def sigmoid(t):
    return 1 / (1 + math.exp(-t)) if t > 0 else math.exp(t) / (1 + math.exp(t))


def gate(op, s, v, beta):
    """The first weight of softmax(beta s, 0), times v."""
    return op(op.softmax([op(beta * s), 0.0], gates.EXP_ERROR)[0] * v)


def attained(s, outer=1.0, beta=1.0, fmt=COARSE):
    return worst(lambda op: gate(op, s, outer * s, beta), fmt)


def bound(s, outer=1.0, beta=1.0, fmt=COARSE, slips=(0.0, 0.0)):
    return float(gate_slip(np.array(outer), np.array(abs(outer * s)), *map(np.array, slips), beta, fmt))


@given(st.floats(-30, 30), st.floats(0.1, 10), st.floats(1, 100))
def test_no_rounding_exceeds_it(s, outer, beta):
    assert attained(s, outer, beta) <= bound(s, outer, beta)


def test_an_open_gate_rounds_four_times():
    """At t = 12 the smaller exp is faint, but not so faint that the sum of both would be exact."""
    assert 0.95 * bound(12.0) <= attained(12.0) <= bound(12.0)


def test_the_constants_are_the_largest_values():
    t = np.linspace(0, 10, 100_001)
    slope = np.exp(-t) / (1 + np.exp(-t)) ** 2
    assert 0.9995 * SCORE_SLIP <= (t**2 * slope).max() <= SCORE_SLIP * (1 - 20 * 2.0**-24)
    assert 0.9995 * EXP_SLIP <= (t * slope).max() <= EXP_SLIP * (1 - 20 * 2.0**-24)


def test_a_worse_exp_costs_as_much(monkeypatch):
    """Both exps slip, in opposite directions."""
    monkeypatch.setattr(gates, "EXP_ERROR", 400)
    assert 0.95 * bound(1.5434) <= attained(1.5434) <= bound(1.5434)


def test_the_score_slips(monkeypatch):
    """At t = 5 what the sigmoid misses of 1 is less than what the slip of the score costs."""
    monkeypatch.setattr(gates, "EXP_ERROR", 0)
    assert 4 * u * 5.0 < attained(5.0) <= bound(5.0)


@pytest.mark.parametrize("outer", [0.5, 2.0])
def test_slips_of_both_rows_add_up_where_the_gate_opens_by_mistake(outer):
    """s < 0, so the gate should be shut; the executed s is just above 0, and a steep gate lets v - slip through."""
    slip, v_slip, beta = 1e-6, 1e-6, 1e12
    s = -0.99 * slip
    executed = (outer * s - v_slip) * sigmoid(beta * (s + slip))
    found = bound(s, outer, beta, FINE, (slip, v_slip))
    assert 0.98 * found <= abs(executed) <= found


def test_what_underflows():
    tiny = Format("float64", 2.0**-45, 2.0**-12)
    s = math.log(0.99 * tiny.tiny)
    assert 0.9 * 0.99 * bound(s, 100.0, fmt=tiny) <= abs(100 * s * sigmoid(s)) <= bound(s, 100.0, fmt=tiny)
    assert gate(Ops(tiny), 0.99 * tiny.tiny, 0.99 * tiny.tiny, 1e9) == 0.0
    assert 0.99 * tiny.tiny <= bound(0.99 * tiny.tiny, beta=1e9, fmt=tiny)


# rows


def row(weights, bias=0.0, products=0.0, radius=1.0, fmt=COARSE):
    """(size, slip) of one row over heads and features."""
    size, slip = row_slips(np.array(weights), np.array(bias), np.array(products), radius, fmt)
    return float(size), float(slip)


def executed(weights, bias, x, fmt=COARSE):
    """A head for each token, the bias in the first."""

    def run(op):
        first, *rest = weights
        heads = [op.sum([*(op(a * x) for a in first), bias]), *(op.dot(w, [x] * len(w)) for w in rest)]
        return op.sum(heads)

    return worst(run, fmt)


@given(st.integers(0, 10_000))
def test_no_row_slips_further(seed):
    rng = np.random.default_rng(seed)
    weights, bias = rng.normal(size=rng.integers(1, 4, 2)), float(rng.normal())
    assert executed(weights.tolist(), bias, 2.0) <= row(weights, bias, radius=2.0)[1]


def test_a_row_rounds_once_a_feature_and_once_a_token():
    faint = 8 * u
    weights = np.full((8, 8), faint)
    weights[0, 0] = 1.0
    assert 0.8 * row(weights, faint)[1] <= executed(weights.tolist(), faint, 1.0) <= row(weights, faint)[1]
    few = [[1.0]]
    assert executed(few, 1.0, 1.0) <= row(few, 1.0)[1] <= 4.01 * u


def test_the_size_of_a_row():
    assert row([[1.0, -2.0]], -0.5, radius=3.0)[0] == pytest.approx(9.5, rel=1e-8)


def test_numbers_that_the_dtype_rounds():
    halfway, fine = 1 + 2.0**-24, Format("float32", 2.0**-100, 0.0)
    for weights, bias, radius in (([[halfway]], 0.0, 3.0), ([[halfway, halfway]], halfway, 1.0)):
        lost = radius * 2.0**-24 * np.size(weights) + 2.0**-24 * (bias > 0)
        assert lost <= row(weights, bias, radius=radius, fmt=fine)[1] <= 1.001 * lost


def test_products_were_rounded_in_float64():
    """(1 + 2^-26) (1 + 2^-27) lies halfway between two floats; 2^-540 2^-535 between zero and the least of them."""
    product = (1 + 2.0**-26) * (1 + 2.0**-27)
    assert row([[product]], products=1.0, fmt=FINE)[1] >= 2.0**-53 * (1 - 1e-7)
    assert row([[product]], products=0.0, fmt=FINE)[1] < 2.0**-90
    assert row([[2.0**-540 * 2.0**-535]], products=1.0, radius=2.0**535, fmt=FINE)[1] >= 2.0**-540


def test_products_of_a_row_that_underflow():
    tiny = Format("float64", 2.0**-45, 2.0**-12)
    weights = np.full((10, 10), 0.99 * tiny.tiny)
    found = row(weights, 0.99 * tiny.tiny, fmt=tiny)[1]
    assert 0.85 * found <= 0.99 * tiny.tiny * 101 <= found
