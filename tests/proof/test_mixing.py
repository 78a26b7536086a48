"""Weighted means with stored scores: an adversary attains each term of the rounding bound."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headsmith.proof import mixing
from headsmith.proof.approximation import Unprovable
from headsmith.proof.mixing import exp_slips, mix_rounding, moved_mean
from headsmith.proof.rounding import EXP_ERROR, Format

from .worst_case import COARSE, worst

u = COARSE.unit


def softmax(scores):
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def attained(scores, values, fmt=COARSE):
    """The worst |executed - exact| of sum_j w_j v_j."""
    return worst(lambda op: op.dot(op.softmax(list(scores), mixing.EXP_ERROR), list(values)), fmt)


def bound(scores, fmt=COARSE):
    return mix_rounding(scores, softmax(scores), fmt)[0]


@given(st.integers(0, 10_000))
def test_no_rounding_exceeds_it(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=rng.integers(2, 7)) * rng.choice([0.1, 1, 5])
    values = rng.choice([-1.0, 1.0], len(scores))
    assert attained(scores, values) <= bound(scores)


def test_each_exp_slips_by_its_score_and_by_two_ulp():
    gaps = np.array([0.0, 1.0, 30.0, 300.0])
    true = np.array([math.expm1(u * gap) * (1 + EXP_ERROR * u) + EXP_ERROR * u for gap in gaps])
    found = exp_slips(-gaps, COARSE)
    assert (true <= found).all() and (found <= 1.000001 * true).all()


@given(st.integers(0, 10_000))
def test_the_mean_moves_as_far_as_a_vertex_says(seed):
    rng = np.random.default_rng(seed)
    p, slips = rng.dirichlet(np.ones(rng.integers(2, 8))), rng.uniform(0, 1, 8)
    slips = slips[: len(p)]
    true = max(p * slips @ abs(np.array(v) - p @ v) for v in product([-1, 1], repeat=len(p)))
    assert true <= moved_mean(p, slips) * (1 + 1e-12)


@pytest.mark.parametrize(("p", "slips"), [([0.5, 0.5], [1e-3, 1e-3]), ([0.99, 0.01], [0.0, 1e-3])])
def test_the_mean_moves_as_far_where_keys_are_even_or_one_is_faint(p, slips):
    p, slips = np.array(p), np.array(slips)
    true = max(p * slips @ abs(np.array(v) - p @ v) for v in product([-1, 1], repeat=2))
    assert true == pytest.approx(moved_mean(p, slips), rel=1e-9)


def test_a_worse_exp_costs_as_much(monkeypatch):
    monkeypatch.setattr(mixing, "EXP_ERROR", 400)
    scores = np.zeros(2)
    assert 0.98 * bound(scores) <= attained(scores, [1.0, -1.0]) <= bound(scores)


def test_the_division_and_the_product_round(monkeypatch):
    monkeypatch.setattr(mixing, "EXP_ERROR", 0)
    scores = np.array([0.0, -600.0])
    assert attained(scores, [1.0, 0.0]) == pytest.approx(3 * u, rel=1e-4)
    assert attained(scores, [1.0, 0.0]) <= bound(scores) <= 3.001 * u


def test_both_sums_round_once_a_term():
    """One key that counts and fifty faint ones: each addition is off by u times everything."""
    scores = np.array([0.0, *[math.log(8 * u)] * 50])
    assert 0.93 * bound(scores) <= attained(scores, np.ones(51)) <= bound(scores)


def test_exps_that_underflow_move_the_mean():
    tiny = Format("float64", 2.0**-45, 2.0**-12)
    scores = np.array([0.0, *[math.log(0.999 * tiny.tiny)] * 10])
    found = attained(scores, [1.0, *[-1.0] * 10], tiny)
    assert 0.9 * bound(scores, tiny) <= found <= bound(scores, tiny)


@pytest.mark.parametrize("fmt", [Format("float64", 0.1, 0.0), Format("float64", 2.0**-53, 0.2)])
def test_a_format_that_loses_the_weights_proves_nothing(fmt):
    with pytest.raises(Unprovable, match="loses the weights"):
        bound(np.zeros(3), fmt)


def test_scores_too_far_apart_prove_nothing():
    with pytest.raises(Unprovable), np.errstate(over="ignore", invalid="ignore"):
        bound(np.array([0.0, -1e300]))
