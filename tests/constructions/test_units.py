"""Units: what is stored is read back to the bit, and the proof is of nothing but the stored numbers."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import headsmith as hs
from headsmith.constructions.units import Units, always, proved, unit_layer, width
from headsmith.functions import parse
from headsmith.functions.activations import named
from headsmith.network import fingerprint
from headsmith.proof.stack import Linear, activation
from headsmith.proof.statement import Head
from headsmith.refusal import Refusal
from headsmith.targets.perceptron import MLP

ACTS = ("relu", "hardtanh", "silu", "tanh", "softplus", "identity", "leakyrelu(-0.5)")


def random_mlp(widths, act, seed=0, dtype=np.float64):
    draw = np.random.default_rng(seed)
    weights = [draw.normal(size=(b, a)).astype(dtype) for a, b in pairwise(widths)]
    biases = [draw.normal(size=b).astype(dtype) for b in widths[1:]]
    return MLP(tuple(weights), tuple(biases), (named(act),) * (len(widths) - 2))


@settings(max_examples=12)
@given(
    widths=st.lists(st.integers(1, 6), min_size=2, max_size=4),
    act=st.sampled_from(ACTS),
    dtype=st.sampled_from(["float64", "float32"]),
)
def test_stored_undoes_network(widths, act, dtype):
    plan = hs.plan(random_mlp(widths, act, dtype=np.dtype(dtype)), domain=(-1, 1), eps=0.3, dtype=dtype)
    network = plan.design.network(plan.target, dtype)
    again = Units.stored(plan.target, network, plan.request, {})
    assert fingerprint(again.network(plan.target, dtype)) == fingerprint(network)
    assert again.counts == tuple(widths[1:-1])
    assert again.prove(plan.target, plan.request) == plan.design.prove(plan.target, plan.request)
    assert again.tally == (plan.anchors, plan.heads, len(widths) - 1)


def test_the_proof_follows_the_numbers():
    """Half as steep gates are twice as far from relu, whatever was planned."""
    plan = hs.plan(random_mlp([1, 1, 1], "relu"), domain=(-2, 2), eps=1e-3)
    [[head]] = plan.design.stacked
    blunt = Units(((replace(head, slopes=head.slopes / 2),),), (1,))
    assert blunt.prove(plan.target, plan.request).approximation == pytest.approx(2 * plan.proof.approximation, rel=0.02)


def test_numbers_that_a_dtype_does_not_hold_are_not_proved():
    """A file may say float32 over a target that float32 rounds: the network would not be what was proved."""
    plan = hs.plan(random_mlp([2, 3, 1], "relu"), domain=(-1, 1), eps=1e-3)
    with pytest.raises(Refusal, match="cannot hold the weights"):
        plan.design.prove(plan.target, replace(plan.request, dtype="float32"))


def test_the_errors_of_the_heads_are_proved_where_they_are_read():
    unit = proved(activation(named("relu")), (always(1.0, 0.0),), (-3.0, 1.0), "float64")
    assert 3.0 <= unit.approximation <= 3.1 and unit.slope == pytest.approx(1.0)
    gate = Head(np.array([1e3, 0.0]), np.zeros(2), np.zeros(2), np.array([1.0, 0.0]))
    unit = proved(activation(named("relu")), (gate,), (-3.0, 3.0), "float32")
    assert 0.278e-3 <= unit.approximation <= 0.282e-3 and unit.rounding > 2.0**-24


def test_the_bound_is_that_of_the_worst_output():
    """Outputs of weight 1, 5 and -5: the bound is five times the error of the unit."""
    [w] = [np.array([[1.0], [5.0], [-5.0]])]
    target = MLP(([[1.0]], w), ([0.0], np.zeros(3)), (parse("relu(x)"),))
    net = hs.compile(target, domain=(-1, 1), eps=1e-2)
    [[head]] = net.plan.design.stacked
    x = torch.tensor([[1.2785 / head.slopes[0]]], dtype=torch.float64)
    found = net.certify(x)[0]
    assert (
        float(found.max()) == pytest.approx(net.certificate.bound, rel=0.03)
        and float(found.max()) <= net.certificate.bound
    )


def test_a_layer_of_gates_of_one_slope_needs_no_constants():
    layer = unit_layer((always(1.0, 0.0),), Linear(np.ones((1, 2)), np.zeros(1)), torch.float64)
    assert layer.heads == 3 and width(2) == 5
