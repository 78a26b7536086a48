"""Thm I.2, repaired: the gap of the gates is attained, and an adversary who rounds attains the sum over units."""

import math

import numpy as np
import pytest
import torch
from tests.proof.worst_case import COARSE, worst

import headsmith as hs
from headsmith.compiler.request import Request
from headsmith.constructions.design import Short
from headsmith.constructions.native import STEEPEST, Gates
from headsmith.proof import gates
from headsmith.proof.approximation import Unprovable
from headsmith.proof.domain import Domain

Relu = hs.target.ReluNetwork
u = COARSE.unit
REQUEST = Request(1.0, Domain({"X": (-1.0, 1.0)}))


def units(outer, inner=1.0):
    """One token of one feature, as many equal units as outer has numbers."""
    return Relu(np.full((1, len(outer), 1, 1), inner), [outer])


def run(op, target, beta, x):
    """The whole network, in the order of its layers, for one token of one feature."""
    out = []
    for w, a in zip(target.inner[0, :, 0, 0].tolist(), target.outer[0].tolist(), strict=True):
        s, v = op(w * x), op(op(a * w) * x)
        out.append(op(op.softmax([op(beta * s), 0.0], gates.EXP_ERROR)[0] * v))
    return op.sum(out)


@pytest.mark.parametrize("outer", [[1.0], [1.0, 1.0, 2.0]])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_gap_of_every_gate_is_attained(outer, dtype):
    """|relu(s) - s sigmoid(beta s)| is largest at beta s = +-1.2784645."""
    net = hs.compile(units(outer), domain=(-1, 1), eps=1e-3, dtype=dtype)
    x = torch.tensor([[[1.2784645]], [[-1.2784645]]]).to(net.dtype) / net.plan.design.beta
    gap = net.certify(x).max()
    assert 0.998 * net.certificate.approximation <= 1.003 * gap and gap <= net.certificate.bound


def test_no_rounding_exceeds_it():
    rng = np.random.default_rng(0)
    for _ in range(10):
        target = Relu(rng.normal(size=(1, 4, 1, 1)), rng.normal(size=(1, 4)))
        attained = worst(lambda op, target=target: run(op, target, 5.0, 1.0))
        assert attained <= Gates(5.0, 4, 1).rounding(target, 1.0, COARSE)


def test_units_are_added_one_after_the_other():
    """One unit that counts, then thirty faint ones."""
    target = units([1.0, *[8 * u] * 30])
    bound = Gates(40.0, 31, 1).rounding(target, 1.0, COARSE)
    assert 0.85 * bound <= worst(lambda op: run(op, target, 40.0, 1.0)) <= bound


def test_the_gates_of_all_units_round():
    target = units([1.0] * 3)
    bound = Gates(40.0, 3, 1).rounding(target, 1.0, COARSE)
    assert worst(lambda op: run(op, target, 40.0, 1.0)) <= bound <= 3 * 10.1 * u


def test_the_rounding_grows_with_the_domain():
    target = units([1.0])
    assert Gates(40.0, 1, 1).rounding(target, 1000.0, COARSE) > 990 * Gates(40.0, 1, 1).rounding(target, 1.0, COARSE)


@pytest.mark.parametrize("beta", [math.nan, -1.0, 0.0, 0.5, 2 * STEEPEST, math.inf])
def test_a_sharpness_out_of_range_is_not_proved(beta):
    with pytest.raises(Unprovable, match="sharpness"):
        Gates(beta, 1, 1).prove(units([1.0]), REQUEST)


def test_scores_and_sums_that_overflow_are_not_proved():
    for target, radius in ((units([1.0]), 2e38), (units([1e10] * 3, 1e29), 1.0)):
        with pytest.raises(hs.Refusal, match="range of float32"):
            hs.plan(target, domain=(-radius, radius), eps=1e45, dtype="float32")
    with pytest.raises(Short, match="range"):
        Gates(1e10, 1, 1).prove(units([1.0]), Request(1.0, Domain({"X": (-1e29, 1e29)}), "float32"))
