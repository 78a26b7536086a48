"""Each term of the bound of f(w . x - y) x, at an input that needs it."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import headsmith as hs
from headsmith.constructions.rule import (
    Rule,
    block,
    dense,
    dense_rounding,
    leaked,
    score_slip,
    suppression,
)
from headsmith.proof.residuals import Ranges
from headsmith.proof.rounding import FORMATS
from headsmith.proof.statement import Head

SINGLE = FORMATS["float32"]
CLIFF = 30.0
"""A head whose own block has one key, at z = 0, and whose other keys all come up at z = 1: nothing in C is spare."""


def cliff(keys=10, value=-1.0):
    slopes = np.full(keys, CLIFF)
    slopes[0] = 0.0
    return Head.table(slopes, -slopes, np.r_[1.0, np.full(keys - 1, value)])


def tokens(x, y, w):
    """(n, 3 + 1) tokens of one feature."""
    x, y, w = (torch.tensor(part, dtype=torch.float64) for part in (x, y, w))
    return torch.stack([x, y, w, x], -1)


def foreign(head, n, strength, other):
    """Weight that query 0, whose residual is 0, gives to the other samples, whose residuals are `other`."""
    network = dense(head, 1, n, strength, torch.float64)
    given_ = tokens([1.0] * n, [0.0] + [-other] * (n - 1), [0.0] * n)
    return float(network.trace(given_)["blocks.1.attn.hook_pattern"][0, 0, head.keys :].sum())


@pytest.mark.parametrize("leak", [1e-3, 1e-9])
@pytest.mark.parametrize("n", [2, 5])
def test_the_weight_that_leaves_a_block_is_the_leak_and_no_more(leak, n):
    """All keys of all other samples tie with the best own one: neither n nor the keys may be counted less."""
    head = cliff()
    strength = suppression(head, 1.0, 1.0, n, leak)
    assert 0.9 * leak <= foreign(head, n, strength, 1.0) <= leak
    ranges = Ranges(x=1.0, y=1.0, w=1e-9, residual=1.0)
    assert leaked(head, ranges, 1, n, strength) == pytest.approx(leak, rel=1e-4)
    assert leaked(head, ranges, 1, 1, strength) == 0.0


def test_the_lowest_score_of_the_own_block_counts():
    """top(z) = 5 |z|: a query at 0 has 5 less than a key at 1."""
    head = Head.table([-5.0, 5.0], [0.0, 0.0], [1.0, -1.0])
    assert 0.2e-6 < foreign(head, 2, suppression(head, 1.0, 1.0, 2, 1e-6), 1.0) <= 1e-6
    shifted = Head.table([-5.0, 5.0], [-7.0, -7.0], [1.0, -1.0])
    assert suppression(shifted, 1.0, 1.0, 2, 1e-6) == pytest.approx(suppression(head, 1.0, 1.0, 2, 1e-6))


def test_the_lowest_score_between_two_samples_of_it_counts():
    """top = slope |z - b| where b falls between the points that are tried: half a step of the grid is paid for."""
    slope, b = 3000.0, 0.0005
    head = Head.table([-slope, slope], [slope * b, -slope * b], [1.0, -1.0])
    most = slope * (1 + b)
    assert most <= suppression(head, 1.0, 1.0, 2, 1.0) - math.log(2) <= most + 1e-6


def test_a_w_of_its_own_meets_residuals_of_other_samples_that_nobody_has():
    """Sample 0 asks with w = 3, and 3 x_1 - y_1 = 6, far beyond the residuals, which are 0 and 0."""
    head = cliff()
    ranges, n = Ranges(x=1.0, y=3.0, w=3.0, residual=1.0), 2
    strength = suppression(head, 1.0, ranges.products(1), n, 1e-6)
    network = dense(head, 1, n, strength, torch.float64)
    pattern = network.trace(tokens([1.0, 1.0], [3.0, -3.0], [3.0, -3.0]))["blocks.1.attn.hook_pattern"]
    own = torch.eye(n).repeat_interleave(head.keys, 1)
    assert float((pattern[0, :: head.keys] * (1 - own)).sum(-1).max()) <= 1e-6
    small = suppression(head, 1.0, 1.0, n, 1e-6)
    assert leaked(head, ranges, 1, n, small) == 1.0 and leaked(head, ranges, 1, n, strength) < 1.01e-6
    few = dense(head, 1, n, small, torch.float64)
    bad = few.trace(tokens([1.0, 1.0], [3.0, -3.0], [3.0, -3.0]))["blocks.1.attn.hook_pattern"]
    assert float((bad[0, :: head.keys] * (1 - own)).sum(-1).max()) > 0.9


def test_what_leaks_may_pull_to_the_other_side():
    """Own value 1, all others -1: a leak of weight l costs 2 l."""
    target, rule = hs.target.ResidualRule("1", 1, 5), Rule(cliff(40), 5, suppression(cliff(40), 1.0, 1.0, 5, 1e-3))
    request = hs.plan(target, domain={"residual": 1.0, "x": 1.0, "y": 1.0, "w": 1e-12}, eps=1.0).request
    given_ = tokens([1.0] * 5, [0.0] + [-1.0] * 4, [0.0] * 5)
    off = float(
        abs(rule.network(target, "float64")(given_)[0, 0] - block(rule.head, 1, 5, torch.float64)(given_)[0, 0])
    )
    table = Rule(rule.head, 5).prove(target, request).approximation
    spent = rule.prove(target, request).approximation - table
    assert 1.5e-3 < off <= spent <= 2.02e-3


def test_the_slip_reaches_the_output_through_the_slope_of_f():
    """tanh(4 z) in float32: near 0, what w . x loses comes back four times as large."""
    net = hs.compile(
        hs.target.ResidualRule("tanh(4*t)", 1, 1),
        domain={"residual": 0.125, "x": 64.0, "w": 64.0, "y": 4096.0}, eps=0.6, dtype="float32",
    )  # fmt: skip
    g = torch.Generator().manual_seed(0)
    x, w = (32 + 31 * torch.rand(4000, 1, 1, generator=g) for _ in range(2))
    y = (x * w)[..., 0]
    keep = ((x.double() * w.double())[..., 0] - y.double()).abs()[:, 0] < 0.1
    x, y, w = x[keep], y[keep], w[keep]
    assert 0.05 * net.certificate.rounding <= float(net.certify(x, y, w).max()) <= net.certificate.bound
    assert net.certificate.rounding > 64 * 4 * SINGLE.unit * (64 * 64 + 4096)


def test_the_error_of_the_table_is_multiplied_by_x():
    """At the worst residual and the largest x, the bound is met to within a few per cent."""
    net = hs.compile(
        hs.target.ResidualRule("sin(t)", 1, 1), domain={"residual": 3.0, "x": 7.0, "w": 1.0, "y": 3.0}, eps=0.05
    )
    z = torch.linspace(-3, 3, 601, dtype=torch.float64)[:, None]
    worst = float(net.certify(torch.full((601, 1, 1), 7.0).double(), -z, torch.zeros(1).double()).max())
    assert 0.95 * net.certificate.bound <= worst <= net.certificate.bound


def test_scores_slip_by_every_addition():
    """C first, then three numbers that are each lost to rounding: the order is anyone's."""
    strength, lost = np.float32(2.0**20), np.float32(0.03)
    score = strength + np.float32(0.0)
    for part in (lost, lost, lost):
        score = score + part
    head, ranges = Head.table([0.03], [0.03], [1.0]), Ranges(x=1.0, y=1.0, w=1.0, residual=1.0)
    slip = score_slip(head, ranges, 1, float(strength), SINGLE)
    assert abs(float(score) - (float(strength) + 0.09)) > 0.08
    assert slip >= 7 * SINGLE.unit * (2.0**20 + 0.09)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_dense_layer_in_floating_point(dtype):
    """Large offsets shift the weights of two keys by a few units in the last place of C."""
    fmt, g = FORMATS[dtype], torch.Generator().manual_seed(0)
    head = Head.table([-8.0, 8.0], [0.0, 0.0], [-1.0, 1.0]).cast(dtype)
    ranges = Ranges(x=1.0, y=1.0, w=1.0, residual=1.0)
    strength = 3e3
    kind = getattr(torch, dtype)
    given_ = (2 * torch.rand(3000, 2, 4, generator=g, dtype=torch.float64) - 1).to(kind)
    given_[..., 2] *= 0.1
    given_[..., 3] = 1.0
    found = dense(head, 1, 2, strength, kind)(given_)[..., 0].double().numpy()
    x, y, w = (given_[..., k].double().numpy() for k in range(3))
    error = np.abs(found - head(w * x - y)).max()
    bound = dense_rounding(2 * head.keys, score_slip(head, ranges, 1, strength, fmt), fmt)
    assert 0.02 * bound <= error <= bound


def test_sums_of_all_keys_are_paid_for():
    """Weights 1/n of ones, added in order: n roundings and more."""
    keys = 2**12 + 1
    total = np.float32(0.0)
    weight = np.float32(1) / np.float32(keys)
    for _ in range(keys):
        total = total + weight
    assert abs(float(total) - 1) <= dense_rounding(keys, 0.0, SINGLE)
    assert dense_rounding(keys, 0.0, SINGLE) >= 2 * keys * SINGLE.unit
    assert dense_rounding(1, 1e-3, SINGLE) >= math.expm1(2e-3)


@settings(max_examples=8)
@given(
    st.integers(1, 3), st.integers(1, 4), st.sampled_from(["auto", "dense"]), st.sampled_from(["float64", "float32"])
)
def test_any_size_keeps_its_promise(features, samples, method, dtype):
    target = hs.target.ResidualRule("tanh(t) + 1", features, samples)
    net = hs.compile(target, domain=2.0, eps=1e-2, method=method, dtype=dtype)
    x, y, w = (p.to(net.dtype) for p in target.sample(net.certificate.domain, 8, torch.Generator().manual_seed(1)))
    assert float(net.certify(x, y, w).max()) <= net.certificate.bound <= 1e-2
