"""The largest error of a sum of ReLUs: attained within a few per cent, on all of R; refused where it is not known."""

import math

import numpy as np
import pytest

from headsmith.functions import parse
from headsmith.functions.smooth import FORMULAS
from headsmith.proof.approximation import Unprovable
from headsmith.proof.relu_sums import CLOSE, TURNS, Asymptotes, ReluSum, sup_error
from headsmith.search.knots import relu_sum

CASES = [(name, k) for name in FORMULAS for k in (0, 1)]
Z = np.concatenate([np.linspace(-12, 12, 40_001), np.linspace(-300, 300, 4_001)])


def case(name, k, near=1e-3, dtype="float64"):
    formula, left, right = FORMULAS[name][k]
    r, ends = parse(formula), Asymptotes(left, right)
    return relu_sum(r, ends, near, dtype), r, ends


@pytest.mark.parametrize("name, k", CASES)
def test_the_error_is_attained(name, k):
    found, r, ends = case(name, k)
    measured, proved = np.abs(found(Z) - r(Z)).max(), sup_error(found, r, ends)
    assert measured <= proved <= 1.01 * CLOSE * measured


@pytest.mark.parametrize("name, k", CASES)
def test_a_sum_that_is_off_by_more_is_seen(name, k):
    """A knot that is moved by a hundredth, and a coefficient whose twin makes up for it beyond the knots."""
    found, r, ends = case(name, k)
    middle = int(np.argmin(np.abs(found.offsets + 1.0)))
    offsets = found.offsets.copy()
    offsets[middle] += 0.5
    moved = ReluSum(found.slopes, offsets, found.coefficients)
    assert sup_error(moved, r, ends) >= np.abs(moved(Z) - r(Z)).max() > 2e-3


def test_tails_count():
    """Knots up to 3 alone: tanh comes 0.005 nearer to 1 and -1 beyond them, where no cell is."""
    knots = np.linspace(-3, 3, 601)
    inner = np.round(np.diff(np.tanh(knots)) / np.diff(knots) * 2.0**40) / 2.0**40
    bends = np.diff(np.concatenate([[0.0], inner, [0.0]]))
    found = ReluSum.of([(0.0, 1.0, np.tanh(-3.0)), *((1.0, -x, c) for x, c in zip(knots, bends, strict=True))])
    proved = sup_error(found, parse("tanh(x)"), Asymptotes((0.0, -1.0), (0.0, 1.0)))
    assert 1 - np.tanh(3.0) <= proved <= 1.001 * (1 - np.tanh(3.0))
    inside = np.linspace(-3, 3, 9_001)
    assert np.abs(found(inside) - np.tanh(inside)).max() <= 1e-5


@pytest.mark.parametrize("terms, words", [
    ([(1.0, 0.0, 1.0)], "must reach"), ([(0.0, 1.0, 1.0)], "must reach"),
    ([(2.0, 8.0, 1.0), (2.0, -8.0, -1.0)], "slopes -1, 0 and 1"), ([(1.0, math.nan, 1.0)], "finite"),
    ([(1.0, 4.0, 0.5), (1.0, -4.0, 0.25)], "slopes at infinity"),
    ([(1.0, 4.0, 0.5), (1.0, 0.0, 2.0**-130), (1.0, -4.0, -0.5)], "slopes at infinity"),  # less than a ball can tell
    ([(-1.0, -4.0, 0.5), (1.0, -4.0, 0.0)], "slopes at"),
])  # fmt: skip
def test_what_is_no_such_sum_is_not_proved(terms, words):
    with pytest.raises(Unprovable, match=words):
        sup_error(ReluSum.of(terms), parse("tanh(x)"), Asymptotes((0.0, -1.0), (0.0, 1.0)))


@pytest.mark.parametrize("name, k", CASES)
def test_none_of_the_activations_turns_beyond(name, k):
    """r less its asymptote falls or rises from TURNS outwards: the hypothesis about tails."""
    formula, *ends = FORMULAS[name][k]
    z = np.linspace(TURNS, 30, 2_001)
    for sign, (slope, level) in zip((-1, 1), ends, strict=True):
        rest = parse(formula)(sign * z) - (slope * sign * z + level)
        change = np.diff(rest)
        assert (change >= -1e-15).all() or (change <= 1e-15).all()
        assert abs(rest[-1]) <= 1e-11


def test_what_a_slip_costs():
    found = ReluSum.of([(4.0, 0.0, 1.0), (4.0, -1.0, -2.0), (0.0, 1.0, 0.5)])
    assert (found.steep, found.level, found.total, len(found)) == (12.0, 2.5, 3.5, 3)
    assert found(np.array([0.25, 1.0])).tolist() == [1.5, 4.0 - 6.0 + 0.5]
