"""Gathering: every token sees all entries bit for bit, and the stored numbers come back."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.constructions.design import Altered
from headsmith.constructions.gather import Gathered


def test_every_token_sees_every_entry_and_reads_its_own_outputs():
    net = hs.compile(hs.target.SequenceMap(["x1*x2/2", "x1 - x2"], 2, 1), domain=(-1, 1), eps=1e-2)
    X = torch.tensor([[[0.1], [-0.7]]], dtype=torch.float64)
    trace = net.network.trace(X)
    assert trace["blocks.1.hook_resid_post"][0, :, 1:3].tolist() == [[0.1, -0.7], [0.1, -0.7]]
    one, two = trace["blocks.2.hook_resid_post"][0, :, 4:6]
    assert torch.equal(one, two) and net(X)[0, :, 0].tolist() == one.tolist()


def test_what_is_stored_is_what_was_built():
    plan = hs.plan(hs.target.SequenceMap(["x1*x2/2", "x1 - x2"], 2, 1), domain=(-1, 1), eps=1e-2)
    network = plan.design.network(plan.target, plan.dtype)
    back = Gathered.stored(plan.target, network, plan.request, {})
    assert np.array_equal(back.head.values, plan.design.head.values) and back.tally.heads == 3
    assert back.prove(plan.target, plan.request) == plan.design.prove(plan.target, plan.request)
    with pytest.raises(Altered):
        Gathered.stored(plan.target, network, replace(plan.request, method="bumps"), {})
