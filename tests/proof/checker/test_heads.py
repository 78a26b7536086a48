"""Sums of heads over an interval: each term of a remainder, where it is all there is or written out plainly."""

import math

import numpy as np
import pytest
from flint import arb, ctx

from headsmith.constructions.gate import gate
from headsmith.proof.checker import heads
from headsmith.proof.checker.heads import (
    FAR,
    K,
    Key,
    down,
    extent,
    frame,
    look,
    polynomial,
    prove,
    series_of,
    steepest,
    up,
)  # fmt: skip
from headsmith.proof.checker.programs import value
from headsmith.proof.checker.verdict import Budget, Rejected
from headsmith.proof.statement import Head

from ..nasty import nasty_head
from .helpers import IDENTITY, constant, keys_of, tree_of


@pytest.mark.parametrize("seed", range(12))
def test_series_enclose_nasty_heads(seed):
    """Slopes to 1e10, values to 1e5, duplicate keys, a key that is oneself, against 400 bits."""
    rng = np.random.default_rng(seed)
    head = keys_of(nasty_head(rng, 10))
    h = 10 ** rng.uniform(-3, 1) / max(abs(k.a) for k in head)
    c = float(rng.uniform(-1, 1))
    series, rest = series_of(head, c, h)
    ctx.prec = 400
    for y in (-1.0, 1.0, *rng.uniform(-1, 1, 3).tolist()):
        near = sum((q * arb(y) ** k for k, q in enumerate(series)), arb(0))
        assert not rest.is_finite() or abs(value([head], 0.0, arb(c) + arb(h) * y) - near).lower() <= rest.upper()


def plain_remainder(head, h, f):
    """(tail_N + tail_Z |q| + |left|) / Z_0 exp(|Z_1|/Z_0), at c = 0, with the whole exp |d| for each tail."""
    q = [float(x) for x in series_of(head, 0.0, h)[0]]
    q[0] -= f.value
    N, Z, tail_n, tail_z = np.zeros(K + 2), np.zeros(K + 1), 0.0, 0.0
    for a, b, g, l in f.near:
        d, v, tilt = (a - f.mean) * h, g - f.value, l * h
        terms = math.exp(b - f.top) * d ** np.arange(K + 1) / [math.factorial(k) for k in range(K + 1)]
        Z, N = Z + terms, N + np.append(terms * v, 0) + np.append(0, terms * tilt)
        tail = abs(terms[-1] * d / (K + 1)) * math.exp(abs(d))
        tail_z, tail_n = tail_z + tail, tail_n + tail * (abs(v) + abs(tilt)) + abs(terms[-1] * tilt)
    size = abs(f.value) + max(abs(k.g) + abs(k.l) * h for k in head)
    tail_z, tail_n = tail_z + f.far * math.exp(-FAR), tail_n + f.far * math.exp(-FAR) * size
    left = np.convolve(q, Z)
    left[: K + 1] -= N[: K + 1]
    whole = tail_n + tail_z * np.abs(q).sum() + np.abs(left[K + 1 :]).sum()
    return whole / Z[0] * math.exp(abs(Z[1]) / Z[0])


FAR_KEYS = Head.table([-0.1, 0.1, *[0.0] * 9], [0.0, 0.0, *[-90.0] * 9], [-1e30, 1e30, *[0.0] * 9])


REMAINDERS = {
    "a curve": (Head.table([-0.5, 0.5], [0.0, 0.0], [-1.0, 1.0]), 1.0),
    "equal values": (Head.table([-0.5, 0.5], [0.0, 0.0], [1.0, 1.0]), 1.0),
    "equal lines": (Head(*(np.array(row) for row in ([-0.5, 0.5], [0.0, 0.0], [0.0, 0.0], [1.0, 1.0]))), 1.0),
    "a gate": (gate((1.0, 0.0), (1.0, 0.0)), 1.0),
    "skipped keys": (FAR_KEYS, 1e-3),
    "a skipped key of great value": (Head.table([-0.1, 0.1, 0.0], [0.0, 0.0, -90.0], [-1.0, 1.0, 1e40]), 1e-3),
}


@pytest.mark.parametrize("name", REMAINDERS)
@pytest.mark.parametrize("steer", ["as it is", "another mean", "another value"])
def test_no_term_of_the_remainder_is_missing(name, steer, monkeypatch):
    """As stated; and for other steering numbers, since far from the mean slope only Jensen's inequality bounds Z."""
    head, h = REMAINDERS[name]
    head = keys_of(head)
    f = frame(head, 0.0, h)
    mean = f.mean + (1.5 / h if steer == "another mean" else 0.0)
    value = f.value + (2.0 * max(1.0, *(abs(k.g) for k in head)) if steer == "another value" else 0.0)
    f = type(f)(mean, f.top + 0.5, value, f.near, f.far)
    monkeypatch.setattr(heads, "frame", lambda *_: f)
    assert plain_remainder(head, h, f) * 0.99999 <= float(series_of(head, 0.0, h)[1])
    assert float(series_of(head, 0.0, h)[1]) <= plain_remainder(head, h, f) * 1.001


def test_a_key_is_far_only_if_it_is_far_all_over_the_cell():
    head = (Key(0.0, 0.0, 0.0, 0.0), Key(100.0, -100.0, 1.0, 0.0))
    assert frame(head, 0.0, 0.1).far == 1 and frame(head, 0.0, 0.5).far == 0


def test_a_polynomial_between_its_nodes():
    """T_12 is 1 between the nodes, and a ball is as large as its radius."""
    chebyshev = [arb(x) for x in np.polynomial.chebyshev.cheb2poly([0.0] * 12 + [1.0]).tolist()]
    assert 1 <= polynomial(chebyshev, 0.0, 0.0)[0] <= 1.002
    assert polynomial([arb(0, 0.5)], 0.0, 0.0)[0] >= 0.5
    assert polynomial([arb(1)], 0.25, 0.0)[0] >= 1.25 and polynomial([arb(1)], 0.25, 0.0)[1] <= 0.75
    assert polynomial([arb(1)], 0.25, 9.0)[0] >= 1.25
    small = [arb(1), *[arb(0)] * 10, arb(4e-5), arb(5e-5)]
    assert polynomial(small, 0.0, 0.0)[0] >= 1 + 8.9e-5


def test_factors_between_few_nodes_are_larger():
    """T_12 turned so that no node of the coarser grid meets its largest value."""
    shift = math.pi / 96
    p = np.polynomial.chebyshev.cheb2poly([0.0] * 11 + [math.sin(11 * shift), math.cos(12 * shift)])
    fine = np.cos(np.linspace(0, math.pi, 40001))
    true = np.abs(np.polynomial.polynomial.polyval(fine, p)).max()
    assert polynomial([arb(x) for x in p.tolist()], 0.0, 10.0)[0] >= true


def test_branches_heads_bias_and_remainders_count():
    budget = Budget()
    for slope in (1.0, -1.0):
        cell = look([(Key(0.0, 0.0, 0.0, slope),)], 0.0, tree_of("abs(x)"), (-1.0, 1.0), 0.0, budget)
        assert cell.upper >= 2 and cell.lower == 0 and cell.room >= 2
    cell = look([IDENTITY, IDENTITY], 0.5, tree_of("x"), (-1.0, 1.0), 0.0, budget)
    assert 1.5 <= cell.upper <= 1.51
    two = [keys_of(Head.table([-d, d], [0.0, 0.0], [-1.0, 1.0])) for d in (1.0, 1.1)]
    rests = sum(float(series_of(head, 0.0, 1.0)[1]) for head in two)
    cell = look(two, 0.0, tree_of("sin(3*x)"), (-1.0, 1.0), 0.0, budget)
    assert cell.upper >= cell.lower + 1.99 * (rests + 3.0**13 / math.factorial(13) * 0.98)
    assert cell.values is not None and cell.values.hi >= 1 and cell.values.lo <= -1


def test_the_worst_cell_is_the_bound():
    proof = prove([constant(0.0)], 0.0, tree_of("2*abs(x)"), (-1.0, 2.0), 1e-9, Budget())
    assert 4 <= proof.bound <= 4.01 and proof.values[1] >= 4 and proof.values[0] <= 0


def test_an_error_that_is_attained_is_false():
    with pytest.raises(Rejected) as rejected:
        prove([constant(0.0)], 0.0, tree_of("x^2"), (-1.0, 2.0), 1e-9, Budget(), most=3.9)
    assert rejected.value.args[0] == 1


def test_slopes_and_values_over_an_interval():
    assert 3 <= steepest(tree_of("sin(3*x)"), (-2.0, 2.0), Budget()) <= 3.02
    assert 1 <= steepest(tree_of("abs(x)"), (-2.0, 2.0), Budget()) <= 1.01
    assert steepest(tree_of("sqrt(x)"), (0.0, 1.0), Budget()) == math.inf
    low, high = extent(tree_of("sin(3*x)"), (-2.0, 2.0), Budget())
    assert -1.01 <= low <= -1 and 1 <= high <= 1.01


def test_floats_above_and_below_a_ball():
    """Only 0 itself is 0: what is too small for a float is not, nor is a ball around 0."""
    assert up(arb(0)) == down(arb(0)) == 0 == up(0.0)
    least = 5e-324
    small = arb(10) ** -400
    assert up(small) == least == -down(-small) and up(-small) >= 0 >= down(small)
    assert up(arb(0, 1e-30)) >= 1e-30 and down(arb(0, 1e-30)) <= -1e-30 and up(arb(0, small)) == least
    assert up(arb("nan")) == math.inf == -down(arb("nan")) and up(arb(10) ** 400) == math.inf
    third = arb(1) / 3
    assert down(third) < third < up(third)
