"""The rules for errors hold, and no term of them is more than is needed: each is met by a case that it alone covers.

Rounding is tested in a format so coarse that an adversary can be played: every operation is off by as much as the
model allows, in whichever direction hurts.
"""

import math
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headsmith.machines.bounds import a_posteriori, a_priori, softmax_rounding
from headsmith.proof.rounding import EXP_ERROR, FORMATS, Format, gamma

from .data import random

EXACT = Format("exact", 0.0, 0.0)


@given(st.integers(0, 10**6), st.floats(1e-12, 1.0), st.integers(1, 6))
def test_errors_in_keys_queries_and_values_are_bounded(seed, e, tokens):
    k, q, v = (random(tokens, 3, seed=seed + i) for i in range(3))
    noise = [random(tokens, 3, seed=seed + 10 + i).sign() * e for i in range(3)]
    moved, rounding = a_posteriori(k, q, v, (e, e, e), "float64")
    near = torch.softmax(q @ k.mT, -1) @ v
    far = torch.softmax((q + noise[1]) @ (k + noise[0]).mT, -1) @ (v + noise[2])
    assert bool(((near - far).abs() <= moved + rounding + 1e-14).all())
    size = float(max(t.abs().max() for t in (k, q, v))) + e
    assert float((near - far).abs().max()) <= sum(a_priori(e, size, 3, tokens, FORMATS["float64"])) * 1.0001


def head(q, k, v):
    """sum_i softmax_i(q k_i) v_i for numbers q, k_i, v_i."""
    w = [math.exp(q * x) for x in k]
    return sum(a * b for a, b in zip(w, v, strict=True)) / sum(w)


@pytest.mark.parametrize(("size", "e"), [(0.3, 0.3), (0.6, 0.05), (0.05, 0.5), (1.0, 1e-3)])
def test_a_priori_all_entries_off_in_the_worst_direction(size, e):
    """Two keys at the ends, pushed apart; the value off as well: what is second order counts where e is like size."""
    before = head(size, (size, -size), (size, -size))
    after = head(size + e, (size + e, -size - e), (size + e, -size + e))
    bound, _ = a_priori(e, size, 1, 2, EXACT)
    assert 0.55 * bound < after - before <= bound


def test_a_lone_token_costs_what_its_value_costs():
    assert 1e-3 <= a_priori(1e-3, 5.0, 4, 1, EXACT)[0] <= 1.001e-3


def adversary(q, k, v, fmt, head_dim=1):
    """The largest error of a head over two keys when every operation is off by as much as the model allows."""
    u, exact, worst = fmt.unit, head(q, k, v), 0.0
    for a, b, gap, exp, total, *own in product((-1, 1), repeat=7):
        s = [q * x + sign * gamma(head_dim, u) * abs(q * x) for x, sign in zip(k, (a, b), strict=True)]
        w = [
            math.exp((x - max(s)) * (1 + gap * u)) * (1 + sign * exp * EXP_ERROR * u)
            for x, sign in zip(s, (a, b), strict=True)
        ]
        w = [0.0 if x < fmt.tiny else x for x in w]
        each = [x / (sum(w) * (1 - total * u)) * (1 + r * u) ** 3 * y for x, y, r in zip(w, v, own, strict=True)]
        worst = max(worst, abs(sum(each) - exact))
    return worst


COARSE = Format("coarse", 2.0**-12, 2.0**-60)
FLUSHING = Format("flushing", 2.0**-40, 2.0**-8)
CASES = {  # format, q, keys, values, terms of a score, least share of the bound that is met: known scores, all scores
    "scores off": (COARSE, 4.0, (1.0, 1.0), (-1.0, 1.0), 32, 0.85, 0.8),
    "exp off": (COARSE, 0.0, (1.0, 1.0), (-1.0, 1.0), 1, 0.85, 0.85),
    "sums off": (COARSE, 0.0, (1.0, 1.0), (1.0, 1.0), 1, 0.9, 0.9),
    "a gap that is rounded": (COARSE, 8.0, (0.5, -0.5), (0.0, 1.0), 1, 0.6, 0.0),
    "an underflow": (FLUSHING, 1.0, (2.75, -2.8), (0.0, 1.0), 1, 0.15, 0.15),
}


@pytest.mark.parametrize("name", CASES)
def test_the_worst_rounding_of_two_keys(name, monkeypatch):
    fmt, q, k, v, terms, known, unknown = CASES[name]
    monkeypatch.setitem(FORMATS, fmt.name, fmt)
    keys, queries = (torch.tensor([[x] * terms for x in t], dtype=torch.float64) for t in (k, (q / terms, q / terms)))
    values = torch.tensor([[y] * terms for y in v], dtype=torch.float64)
    moved, found = (float(t[0, 0]) for t in a_posteriori(keys, queries, values, (0.0, 0.0, 0.0), fmt.name))
    worst = adversary(q, k, v, fmt, terms)
    assert moved <= 1e-12 and known * found < worst <= found
    score, spread, most = abs(q) * max(map(abs, k)), max(v) - min(v), max(map(abs, v))
    bound = softmax_rounding(score, spread, most, terms, 2, fmt)
    assert unknown * bound < worst <= bound


def test_errors_of_each_part_alone():
    """K alone, Q alone, V alone and K with Q, on two keys that are far apart."""
    k, q, v = (torch.tensor(t, dtype=torch.float64)[:, None] for t in ((1.0, -1.0), (0.2, 0.2), (1.0, -1.0)))
    here = head(0.2, (1.0, -1.0), (1.0, -1.0))
    for e, after in {
        (0.1, 0.0, 0.0): head(0.2, (1.1, -1.1), (1.0, -1.0)),
        (0.0, 0.1, 0.0): head(0.3, (1.0, -1.0), (1.0, -1.0)),
        (0.0, 0.0, 0.1): here + 0.1,
    }.items():
        bound = float(a_posteriori(k, q, v, e, "float64")[0][0, 0])
        assert 0.65 * bound < abs(after - here) <= bound, e
    k, q = 0 * k, 0 * q  # nothing but the product of both errors
    bound = float(a_posteriori(k, q, v, (0.5, 0.5, 0.0), "float64")[0][0, 0])
    assert 0.9 * bound < head(0.5, (0.5, -0.5), (1.0, -1.0)) <= bound


def test_a_heavy_key_that_gives_way_to_a_light_one():
    """Two keys with weights 99 : 1 whose scores move by one against each other: both terms of the quotient move."""
    k, v = torch.tensor([[math.log(99.0)], [0.0]]), torch.tensor([[0.0], [1.0]])
    moved = 0.01 * math.e**2 / (0.99 + 0.01 * math.e**2) - 0.01
    bound = float(a_posteriori(k, torch.ones(1, 1), v, (1.0, 0.0, 0.0), "float64")[0][0, 0])
    assert moved <= bound <= 2 * moved
