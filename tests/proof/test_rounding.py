"""The rounding theorem against torch: never below what is executed, in either dtype, wherever one looks."""

import math
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headsmith.constructions.assemble import assemble
from headsmith.functions import precision
from headsmith.proof.cells import NEGLIGIBLE
from headsmith.proof.rounding import FORMATS, Format, head_rounding, part_rounding, prove_rounding, summed, tree
from headsmith.proof.statement import Head, Part

from .nasty import crossings, exact, nasty_head
from .theorem import CASES, plain_rounding

DTYPES = ("float64", "float32")


def executed_error(net: torch.nn.Module, part: Part, points: np.ndarray) -> np.ndarray:
    """|network - exact value| at floats, at 256 bits."""
    outputs = net(torch.from_numpy(points)[:, None, None])[:, 0, 0].double().tolist()
    with precision(256):
        return np.array([float(abs(exact(part, z) - y).upper()) for z, y in zip(points.tolist(), outputs, strict=True)])


def worst_error(part: Part, dtype: str, rng: np.random.Generator, random: int = 12, rounds: int = 2) -> float:
    """Random points, ends, ties of neighbouring keys, one ulp beside them, and a local search from the worst."""
    lo, hi = part.domain
    kind = np.dtype(dtype).type
    net = assemble([part], getattr(torch, dtype))

    def clip(points) -> np.ndarray:
        return np.clip(np.asarray(points, dtype=dtype), kind(lo), kind(hi))

    special = clip([lo, hi, *crossings(part)[:8]])
    points = clip(
        np.concatenate(
            [rng.uniform(lo, hi, random), special, np.nextafter(special, kind(9)), np.nextafter(special, kind(-9))]
        )
    )
    errors = executed_error(net, part, points)
    best, place = errors.max(), points[errors.argmax()]
    for _ in range(rounds):
        near = clip(place + rng.normal(size=8) * 10 ** rng.uniform(-9, -1, 8) * (hi - lo))
        errors = executed_error(net, part, near)
        if errors.max() > best:
            best, place = errors.max(), near[errors.argmax()]
    return float(best)


@pytest.mark.parametrize("dtype", DTYPES)
@given(seed=st.integers(0, 2**32), count=st.sampled_from([1, 1, 2, 4]), biased=st.booleans())
def test_executed_heads_stay_within_the_bound(dtype, seed, count, biased):
    rng = np.random.default_rng(seed)
    heads = tuple(nasty_head(rng, 3 if dtype == "float32" else 8, dtype) for _ in range(count))
    bias = float(np.dtype(dtype).type(rng.normal() * 10 ** rng.uniform(-2, 4))) if biased else 0.0
    lo = float(np.dtype(dtype).type(rng.uniform(-1, 0.5)))
    hi = float(np.dtype(dtype).type(lo + 10 ** rng.uniform(-5, 0)))
    part = Part("x", "out", None, (lo, hi), heads, bias)
    bound = prove_rounding(part, FORMATS[dtype], 0.0, most=60).bound
    assert bound == math.inf or worst_error(part, dtype, rng) <= bound


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_executed_heads_stay_within_the_bound_at_length(dtype):
    rng = np.random.default_rng(7)
    ratios = []
    for _ in range(100):
        heads = tuple(nasty_head(rng, 3 if dtype == "float32" else 8, dtype) for _ in range(int(rng.integers(1, 4))))
        part = Part("x", "out", None, (-0.5, 0.75), heads, 0.25)
        bound = prove_rounding(part, FORMATS[dtype], 0.0, most=300).bound
        if bound < math.inf:
            ratios.append(worst_error(part, dtype, rng, 40, 6) / bound)
    assert len(ratios) > 40 and max(ratios) <= 1.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_bound_is_of_the_order_of_what_is_seen(dtype):
    """sigmoid(3x) with two keys: bound and executed error differ by a small factor, not by orders."""
    part = Part("x", "out", None, (-2.0, 2.0), (Head.table([-1.5, 1.5], [0.0, 0.0], [0.0, 1.0]),))
    bound = prove_rounding(part, FORMATS[dtype], 0.0).bound
    seen = worst_error(part, dtype, np.random.default_rng(0), 300)
    assert seen <= bound <= 20 * seen


@pytest.mark.parametrize(("dtype", "slope"), [("float32", 1e4), ("float64", 1e9)])
def test_steep_scores_near_a_tie(dtype, slope):
    """Where the rounding of the scores is all there is, the bound is a few times what is seen."""
    head = Head.table([slope, 1.3 * slope], [0.0, -0.21 * slope], [-1.0, 1.0]).cast(dtype)
    part = Part("x", "out", None, (0.6875, 0.703125), (head,))
    bound = prove_rounding(part, FORMATS[dtype], 0.0).bound
    seen = worst_error(part, dtype, np.random.default_rng(0), 300, 4)
    assert seen <= bound <= 8 * seen


def test_a_lost_format_is_infinite():
    """Scores of 1e9 in float32 are off by 60: no statement is possible, and none is made."""
    steep = Head.table([-1e9, 1e9], [0.0, 3.0], [0.0, 1.0]).cast("float32")
    assert head_rounding(steep, 0.5, 0.25, FORMATS["float32"]) == math.inf
    assert head_rounding(steep, 0.5, 0.25, FORMATS["float64"]) < 1e-5


def test_normalisation_of_very_many_keys_is_not_turned_around():
    """4096 keys that may each have weight 1 in a wide cell: the sum may lose everything, so the answer is infinite."""
    spread = np.linspace(-1, 1, 5000) * 1e4
    head = Head.table(spread, -spread, np.ones(5000))
    assert head_rounding(head, 0.0, 1.0, FORMATS["float32"]) == math.inf


# The tree lemma ---------------------------------------------------------------------------------------------------


def plain_tree(terms: list[float], u: float) -> Fraction:
    """min over n of (n-1) u A + (sum of all but the n largest), in rational numbers."""
    ordered = sorted(map(Fraction, terms), reverse=True)
    tails = [Fraction(0), *accumulate(reversed(ordered))][::-1]
    return min(n * Fraction(u) * tails[0] + tail for n, tail in enumerate(tails[1:]))


@given(st.lists(st.floats(-22, 0).map(lambda p: 10**p), min_size=1, max_size=200))
def test_tree_is_not_below_its_formula(terms):
    u = 2.0**-53
    assert Fraction(tree(np.array(terms), u, len(terms))) >= plain_tree(terms, u)


def test_tree_does_not_cancel():
    """A hundred large terms and nine hundred that vanish beside them still count."""
    terms = [0.01] * 100 + [1e-17] * 900
    assert Fraction(tree(np.array(terms), 2.0**-53, 1000)) >= plain_tree(terms, 2.0**-53)


@given(st.integers(0, 2**32), st.integers(2, 60))
def test_any_bracketing_obeys_the_tree_lemma(seed, count):
    """Signed float32 terms over eight orders of magnitude, added in a random binary tree."""
    rng = np.random.default_rng(seed)
    terms = (rng.choice([-1, 1], count) * 10 ** rng.uniform(-8, 0, count)).astype(np.float32)
    exactly = sum(map(Fraction, terms.tolist()))
    pool = list(terms)
    while len(pool) > 1:
        i, j = rng.choice(len(pool), 2, replace=False)
        added = np.float32(pool[i] + pool[j])
        pool = [x for k, x in enumerate(pool) if k not in (i, j)] + [added]
    assert abs(Fraction(float(pool[0])) - exactly) <= Fraction(tree(np.abs(terms).astype(float), 2.0**-24, count))


@given(st.integers(0, 2**32), st.integers(2, 9))
def test_perturbed_weights_move_the_mean_as_stated(seed, count):
    """mean' - mean = sum p x (v - mean) / (1 + sum p x), the identity behind the weight error."""
    rng = np.random.default_rng(seed)
    p = [Fraction(int(n), 1) for n in rng.integers(1, 1000, count)]
    p = [x / sum(p) for x in p]
    x, v = ([Fraction(int(n), 997) for n in rng.integers(-400, 400, count)] for _ in range(2))
    mean = sum(a * b for a, b in zip(p, v, strict=True))
    moved = [a * (1 + b) for a, b in zip(p, x, strict=True)]
    new = sum(a * b for a, b in zip(moved, v, strict=True)) / sum(moved)
    stated = sum(a * b * (c - mean) for a, b, c in zip(p, x, v, strict=True)) / (
        1 + sum(a * b for a, b in zip(p, x, strict=True))
    )
    assert new - mean == stated


@given(st.integers(0, 2**32), st.integers(2, 9))
def test_softmax_lemma(seed, count):
    """Scores that move by D change the weights by at most tanh(range(D)/4) in total variation."""
    rng = np.random.default_rng(seed)
    scores, moves = rng.normal(size=(2, count)) * 3
    p, q = (np.exp(s - s.max()) / np.exp(s - s.max()).sum() for s in (scores, scores + moves))
    assert np.abs(p - q).sum() / 2 <= math.tanh((moves.max() - moves.min()) / 4) + 1e-15


# The terms, one by one -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_no_term_of_the_theorem_is_missing(name):
    case = CASES[name]
    with precision(64):
        found = head_rounding(case.head, case.z, 0.0, case.fmt)
    assert (1 - 1e-6) * plain_rounding(case) <= found <= 1.2 * plain_rounding(case)


def test_scores_of_more_terms_cost_more():
    case = CASES["slips of the scores"]
    with precision(64):
        two, six = (head_rounding(case.head, case.z, 0.0, case.fmt, terms) for terms in (2, 6))
        assert 2.5 * two <= six <= 3.5 * two
        far = head_rounding(case.head, case.z, 0.0, case.fmt, reach=10.0)
    assert far >= 5 * two


def test_keys_that_are_left_out_still_round():
    """A key of weight e^-81 worth 1e40 moves the mean by its own relative error."""
    head, u = Head.table([0.0, 0.0], [0.0, -81.0], [0.0, 1e40]), 1e-3
    with precision(64):
        found = head_rounding(head, 0.0, 0.0, Format("wide", u, 0.0))
    slip = 81 * 2 * u / (1 - 2 * u)
    alpha = math.expm1(slip + u * (81 + 2 * slip)) * (1 + 4 * u) + 4 * u
    assert found >= NEGLIGIBLE * 1e40 * (2 * alpha + 2 * (1 + alpha))


def test_heads_and_bias_cost_an_addition_each():
    """Eight heads of size 1 on a bias of 16: 8 u 24, beside what each of them costs."""
    head = Head.table([0.0], [0.0], [1.0])
    part = Part("x", "out", None, (0.0, 1.0), (head,) * 8, 16.0)
    with precision(64):
        own = head_rounding(head, 0.0, 0.0, FORMATS["float64"])
        found = part_rounding(part, 0.0, 0.0, FORMATS["float64"])
    assert 8 * own + 8 * 2.0**-53 * 24 <= found <= 1.01 * (8 * own + 8 * 2.0**-53 * 24)


def test_the_worst_cell_is_the_bound():
    """A head whose values grow with z is worst at an end, and the bound is not that of the middle."""
    part = Part("x", "out", None, (0.0, 1024.0), (Head(*(np.array([x]) for x in (0.0, 0.0, 0.0, 0.3))),))
    with precision(64):
        end = part_rounding(part, 1024.0, 0.0, FORMATS["float64"])
    assert prove_rounding(part, FORMATS["float64"], 0.0).bound >= end


def test_weights_over_a_cell_are_the_largest_in_it():
    """A steep step on a wide cell: each key may weigh everything somewhere."""
    head = Head.table([-50.0, 50.0], [0.0, 0.0], [-1.0, 1.0])
    with precision(64):
        wide = head_rounding(head, 0.0, 1.0, FORMATS["float64"])
        points = [head_rounding(head, z, 0.0, FORMATS["float64"]) for z in np.linspace(-1, 1, 41)]
    assert wide >= max(points)


@pytest.mark.parametrize("n", [3, 5, 9, 17])
def test_sums_lose_what_the_formula_says(n):
    """n numbers near 1 added in order, each chosen so that nearly half a unit is cut off."""
    spread = np.float32(1.0) - np.arange(256, dtype=np.float32) * np.float32(2.0**-24)
    total, exact = np.float32(0.0), 0.0
    for _ in range(n):
        term = spread[np.argmax((float(total) + spread.astype(np.float64)) - (total + spread).astype(np.float64))]
        total, exact = total + term, exact + float(term)
    lost = abs(float(total) - exact) / n
    assert 0.5 * summed(n, FORMATS["float32"].unit) < lost <= summed(n, FORMATS["float32"].unit)
