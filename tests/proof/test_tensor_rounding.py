"""Rounding of a grid head: executed in float32 where it is worst, and by an adversary within the model."""

import math
from functools import reduce

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headsmith.proof.approximation import Unprovable
from headsmith.proof.rounding import FORMATS
from headsmith.proof.tensor import Axis, TensorHead
from headsmith.proof.tensor_rounding import cell_rounding, prove_tensor_rounding

SEEDS = st.integers(0, 10_000)
SINGLE = FORMATS["float32"]
U = SINGLE.unit


def one_axis(slopes, offsets, values):
    return TensorHead((Axis(np.array(slopes), np.array(offsets)),), np.array(values)[:, None])


def executed(head, x):
    """The head in float32, every product, sum, exponential and quotient rounded by itself."""
    f = np.float32
    scores = [f(f(f(a) * f(x)) + f(b)) for a, b in zip(head.axes[0].slopes, head.axes[0].offsets, strict=True)]
    powers = [f(np.exp(float(f(s - max(scores))))) for s in scores]
    total = reduce(lambda a, b: f(a + b), powers)
    terms = [f(f(p / total) * f(v)) for p, v in zip(powers, head.values[:, 0], strict=True)]
    return float(reduce(lambda a, b: f(a + b), terms))


def at(head, x):
    return cell_rounding(head, [(x, x)], SINGLE)


def test_a_score_slip_that_is_almost_attained():
    """Two large scores tie; both sums and both products are rounded by almost half an ulp, in opposite directions."""
    rows = [("0x1.003bf4p+10", "0x1.dd3dbap-4"), ("0x1.003c20p+10", "0x1.d2402ep-4")]
    slopes, offsets = zip(*([float.fromhex(t) for t in row] for row in rows), strict=True)
    head, x = one_axis(slopes, offsets, [-1.0, 1.0]), 1.0009765625
    error = abs(executed(head, x) - head.grid([np.array([x])])[0, 0])
    assert 0.95 * at(head, x) <= error <= at(head, x)
    assert error <= prove_tensor_rounding(head, [(1.0, 1.001)], SINGLE, 0.0)


@pytest.mark.parametrize("count", [8, 40])
def test_sums_that_are_rounded_the_same_way(count):
    """One key has nearly all the weight and comes first, so that every addition rounds nearly everything: the total
    down, then quotient, product and weighted sum up, each time by u."""
    powers = np.array([1000.0, *[1.0] * (count - 1)])
    total = reduce(lambda a, b: (a + b) * (1 - U), powers)
    terms = powers / total * (1 + U) ** 2
    out = reduce(lambda a, b: (a + b) * (1 + U), terms)
    head = one_axis(np.zeros(count), np.log(powers), np.ones(count))
    assert 0.9 * at(head, 0.0) <= out - 1 <= at(head, 0.0)


def test_exponentials_that_are_off_by_two_ulps():
    """Two keys tie: the exponential of one is 4u too large, of the other 4u too small, and so on down the line."""
    powers = np.array([1 - 4 * U, 1 + 4 * U])
    terms = powers / powers.sum() * (1 + np.array([-2 * U, 2 * U])) * [-1.0, 1.0]
    head = one_axis([0.0, 0.0], [0.0, 0.0], [-1.0, 1.0])
    assert 0.6 * at(head, 0.0) <= terms.sum() <= at(head, 0.0)


def test_two_axes_slip_together():
    """The score of a product of keys has one term more: gamma_3 of all of them."""
    axes = tuple(Axis(np.array([0.0, 512.0]), np.array([0.0, -512.0])) for _ in range(2))
    values = np.array([[-1.0, 0.0], [0.0, 1.0]])[..., None]
    found = cell_rounding(TensorHead(axes, values), [(1.0, 1.0)] * 2, SINGLE)
    slip = 3 * U * 2048  # of the key (1, 1), whose score is (512 + 512) - 1024
    assert 0.25 * 0.75 * slip * 4 / 3 <= found <= 4 * slip


def test_what_the_cell_moves_is_counted():
    """A steep head over a wide cell: a key that weighs nothing at the centre weighs all at the end."""
    head = one_axis([0.0, 40.0], [0.0, -20.0], [0.0, 1.0])
    ends = [at(head, x) for x in (0.0, 0.5, 1.0)]
    assert cell_rounding(head, [(0.0, 1.0)], SINGLE) >= max(ends)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", ["slopes", "offsets", "values", "box"])
def test_numbers_that_are_not_finite_are_never_proved(wrong, place):
    numbers = {"slopes": [0.0, 1.0], "offsets": [0.0, 0.0], "values": [0.0, 1.0], "box": [0.0, 1.0]}
    numbers[place][1] = wrong
    head = one_axis(numbers["slopes"], numbers["offsets"], numbers["values"])
    with pytest.raises(Unprovable):
        prove_tensor_rounding(head, [tuple(numbers["box"])], SINGLE, 0.0)


@pytest.mark.parametrize(
    "head", [one_axis([0.0, 1e7], [0.0, 0.0], [0.0, 1.0]), one_axis([0.0] * 2, [0.0, -1000.0], [1.7e308, -1.7e308])]
)
def test_what_the_format_loses_is_infinite(head):
    assert prove_tensor_rounding(head, [(0.0, 1.0)], SINGLE, 0.0) == math.inf


def test_an_empty_box_is_refused():
    with pytest.raises(Unprovable, match="empty"):
        prove_tensor_rounding(one_axis([0.0, 1.0], [0.0, 0.0], [0.0, 1.0]), [(1.0, 0.0)], SINGLE, 0.0)


def random_head(rng, dims, steep=4.0, size=1.0, components=1):
    sizes = rng.integers(2, 5, dims)
    axes = tuple(Axis(rng.normal(0, steep, p), np.round(rng.normal(0, 2, p), 3)) for p in sizes)
    return TensorHead(axes, rng.normal(0, size, (*sizes, components)))


@settings(max_examples=12)
@given(SEEDS, st.sampled_from([1, 2, 3]))
def test_executed_heads_stay_within_the_rounding_theorem(seed, dims):
    rng = np.random.default_rng(seed)
    fmt = FORMATS["float32"]
    head = random_head(rng, dims, steep=float(rng.choice([1.0, 30.0])), size=float(rng.choice([1.0, 100.0])))
    head = TensorHead(
        tuple(Axis(a.slopes.astype(np.float32).astype(float), np.round(a.offsets * 8) / 8) for a in head.axes),
        head.values.astype(np.float32).astype(float),
    )
    keys = [np.array(list(_outer([a.slopes for a in head.axes])))]
    offsets = np.array([sum(p) for p in _outer([a.offsets for a in head.axes])])
    key = np.concatenate([keys[0], offsets[:, None]], 1)
    x = np.concatenate([rng.uniform(-1, 1, (200, dims)), np.sign(rng.normal(size=(8, dims)))]).astype(np.float32)
    query = np.concatenate([x, np.ones((len(x), 1), np.float32)], 1)
    narrow = torch.softmax(torch.from_numpy(query) @ torch.from_numpy(key.astype(np.float32)).T, -1)
    executed = (narrow @ torch.from_numpy(head.values.reshape(-1, 1).astype(np.float32))).double().numpy()[:, 0]
    exact = np.array([head.grid([np.array([t]) for t in p]).reshape(-1)[0] for p in x.astype(float)])
    box = [(-1.0, 1.0)] * dims
    assert np.abs(executed - exact).max() <= prove_tensor_rounding(head, box, fmt, 0.0, most=60)
    for p, error in zip(x[:20].astype(float), np.abs(executed - exact)[:20], strict=True):
        assert error <= cell_rounding(head, [(t, t) for t in p], fmt)


def _outer(parts):
    if not parts:
        return [()]
    return [(a, *rest) for a in parts[0] for rest in _outer(parts[1:])]


def test_the_worst_output_counts():
    head = one_axis([-1.0, 1.0], [0.0, 0.0], [-1e3, 1e3])
    both = TensorHead(head.axes, np.concatenate([head.values, 1e-3 * head.values], -1))
    edges = ((-1.0, 1.0),)
    assert cell_rounding(both, edges, FORMATS["float64"]) >= cell_rounding(head, edges, FORMATS["float64"]) > 0
