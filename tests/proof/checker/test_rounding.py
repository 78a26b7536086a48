"""The checker's rounding theorem, term by term, against the theorem written out plainly."""

import math

import numpy as np
import pytest

from headsmith.proof.checker.heads import Key
from headsmith.proof.checker.rounding import Format, Sum, any_order, gamma, head_slip, rounding, sum_slip
from headsmith.proof.checker.verdict import Budget
from headsmith.proof.statement import Head

from ..theorem import CASES, plain_rounding
from .helpers import DOUBLE, SINGLE, constant, keys_of


@pytest.mark.parametrize("name", CASES)
def test_no_term_of_the_rounding_theorem_is_missing(name):
    case = CASES[name]
    fmt = Format(case.fmt.name, "d", case.fmt.unit, case.fmt.tiny, 1e30)
    found, _ = head_slip(keys_of(case.head), (case.z, case.z), fmt)
    assert (1 - 1e-6) * plain_rounding(case) <= found <= 1.2 * plain_rounding(case)


def test_a_cell_costs_what_its_worst_point_does():
    head = keys_of(Head.table([-50.0, 50.0], [0.0, 0.1], [-1.0, 1.0]))
    points = [head_slip(head, (z, z), DOUBLE) for z in np.linspace(-1, 1, 41).tolist()]
    wide = head_slip(head, (-1.0, 1.0), DOUBLE)
    assert wide[0] >= max(p[0] for p in points) and wide[1] >= max(p[1] for p in points)
    late = keys_of(Head.table([-50.0, 50.0], [0.0, -20.0], [0.0, 1e6]))
    wide, end = (head_slip(late, ends, DOUBLE) for ends in ((-1.0, 1.0), (1.0, 1.0)))
    assert wide[0] >= end[0] and wide[1] >= end[1]
    line = (Key(0.0, 0.0, 0.0, 0.3),)
    assert head_slip(line, (0.0, 8.0), DOUBLE)[0] >= head_slip(line, (8.0, 8.0), DOUBLE)[0]


def test_heads_and_bias_cost_an_addition_each():
    own = head_slip(constant(1.0), (0.0, 0.0), DOUBLE)[0]
    found = sum_slip(Sum([constant(1.0)] * 8, 16.0, 8), (0.0, 0.0), DOUBLE)
    assert 8 * own + 8 * DOUBLE.u * 24 <= found <= 1.01 * (8 * own + 8 * DOUBLE.u * 24)


def test_so_many_roundings_that_nothing_is_left():
    assert gamma(2, 2.0**-2) == 1 and gamma(2, 0.5) == gamma(2**24, SINGLE.u) == gamma(2**25, SINGLE.u) == math.inf


def test_any_order_is_the_tree_lemma():
    terms, u = [1.0, 0.5, 1e-3, 1e-12, 1e-12], 1e-6
    stated = min(n * u * sum(terms) + sum(terms[n + 1 :]) for n in range(5))
    assert stated <= any_order(terms, u) <= 1.001 * stated
    assert any_order([1.0] * 100, u) >= 99 * 100 * u
    assert any_order([0.01] * 100 + [1e-17] * 900, 2.0**-53) >= 99 * 2.0**-53


def test_numbers_that_may_overflow_have_no_bound():
    """A value of 3e38 is a number of float32, the sum of two is not; nor is a key whose weight is 0 then harmless."""
    large, far = (Key(0.0, 0.0, 3e38, 0.0),), (Key(0.0, 0.0, 0.0, 0.0), Key(0.0, -500.0, 3e38, 3e38))
    assert head_slip(large, (0.0, 2.0), SINGLE)[0] == math.inf == head_slip(far, (0.0, 2.0), SINGLE)[0]
    assert head_slip(large, (0.0, 2.0), DOUBLE)[0] < 1e24
    half = constant(5e37)
    assert sum_slip(Sum([half] * 2, 0.0, 1), (0.0, 0.0), SINGLE) == math.inf > sum_slip(Sum([half]), (0.0, 0.0), SINGLE)
    assert sum_slip(Sum([half], 5e37, 1), (0.0, 0.0), SINGLE) == math.inf


def test_keys_are_paid_for_in_pairs():
    """The time of many keys that weigh alike goes with their square."""
    spent = []
    for n in (100, 400):
        budget = Budget(work=10**9)
        rounding(Sum([(Key(0.0, 0.0, 1.0, 0.0),) * n]), (0.0, 1.0), DOUBLE, 1.0, budget)
        spent.append(10**9 - budget.left)
    assert spent[1] >= 6 * spent[0]
