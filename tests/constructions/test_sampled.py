"""A sampled head: read back to the bit, proved on samples, with the rounding of its own dtype."""

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.compiler.request import Request
from headsmith.constructions.design import Short
from headsmith.constructions.sampled import SampledHead
from headsmith.network import fingerprint
from headsmith.proof import conditional
from headsmith.proof.statement import Head
from headsmith.refusal import Refusal
from headsmith.targets.callables import Code


def request(target, dtype="float64", eps=1e-2):
    return Request.read(target, eps, (-1, 1), dtype, "auto")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_stored_undoes_network(dtype):
    target = Code("sin", derivative_bounds=(1.0, 1.0), function=torch.sin)
    plan = hs.plan(target, domain=(-1, 1), eps=1e-2, dtype=dtype)
    network = plan.design.network(target, dtype)
    again = SampledHead.stored(target, network, plan.request, {})
    assert fingerprint(again.network(target, dtype)) == fingerprint(network)
    assert again.prove(target, plan.request) == plan.design.prove(target, plan.request)


def test_the_rounding_of_the_network_is_in_the_bound():
    """Two keys of +-1000 that cancel round by about 1000 u in float32, which no sample in float64 shows."""
    head = SampledHead(Head.table([0.0, 0.0], [0.0, 0.0], [1e3, -1e3]))
    target = Code("zero", lipschitz=0.0, function=torch.zeros_like)
    bound = head.prove(target, request(target, "float32"))
    assert bound.kind == "conditional" and bound.approximation < 1e-11 and bound.rounding >= 1e3 * 2.0**-24


def test_the_error_at_the_samples_is_in_the_bound():
    head = SampledHead(Head.table([0.0], [0.0], [0.25]))
    target = Code("zero", lipschitz=0.0, function=torch.zeros_like)
    assert 0.25 <= head.prove(target, request(target)).approximation <= 0.2501


def test_without_the_function_nothing_is_proved():
    target = Code("erf", lipschitz=1.13)
    head = SampledHead(Head.table([0.0], [0.0], [0.25]))
    with pytest.raises(Refusal, match="does not hold the function erf"):
        head.prove(target, request(target))


def test_too_many_samples_end_the_search(monkeypatch):
    monkeypatch.setattr(conditional, "SAMPLES", 10)
    target = Code("tanh", lipschitz=1.0, function=torch.tanh)
    with pytest.raises(Short, match="derivative_bounds"):
        SampledHead(Head.table(*np.array([[-1.0, 1.0], [0.0, 0.0], [-1.0, 1.0]]))).prove(target, request(target))
