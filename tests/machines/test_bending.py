"""Activations as frozen gates: each is proved, keeps its bound, and is silent when its flag is not set."""

import math

import numpy as np
import pytest
import torch

from headsmith.machines.attention import Attention
from headsmith.machines.bending import ACTIVATIONS, SWITCH, activation_error, activation_head
from headsmith.machines.prompts.heads import HeadProgram, head, linear
from headsmith.proof.statement import Head

from .data import filled


@pytest.fixture(scope="module")
def wide():
    return Attention(features=16, head_dim=16, tokens=16, domain=16.0, eps=1e-7)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_proved_and_keep_their_bound(wide, name):
    z = torch.cat([torch.linspace(-15.9, 15.9, 301), torch.tensor([0.0, 1e-13, -1e-13, 1e-300])]).double()[:, None]
    program = linear([[1.0]], activation=name)
    result = wide(program, z)
    approximation, rounding, _ = activation_error(activation_head(name, "float64"), name, 16.0, "float64")
    assert approximation + rounding <= 1e-12
    assert float((result.value - program.reference(z)).abs().max()) <= result.certificate.bound <= 1e-9


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_whole_machine_is_textbook_attention(name):
    machine = Attention(features=2, head_dim=2, tokens=3, domain=4.0, eps=1e-3)
    program, x = filled(1, domain=3.9, tokens=3, features=2, rows=2)
    prompt = machine.encode(HeadProgram(name, program.weights, program.biases, name), x)
    assert torch.allclose(machine.network.dense()(prompt), machine.network(prompt), atol=1e-12)


def test_a_plain_head_stays_plain_on_a_huge_domain():
    """A ReLU so sharp that its score beats the null key that should silence it would be added: 6e6 for 3e6."""
    machine = Attention(features=1, head_dim=1, tokens=1, domain=4e6, eps=1.0)
    program = head([[0.0]], [[0.0]], [[1.0]])
    x = torch.tensor([[3e6]], dtype=torch.float64)
    result = machine(program, x)
    assert float((result.value - program.reference(x)).abs()) <= result.certificate.bound <= 1.0


def test_tables_that_are_not_the_activation_are_not_taken_for_it():
    gelu = activation_head("gelu", "float64")
    moved = Head(gelu.slopes, gelu.offsets, gelu.values, gelu.lines * 1.001)
    assert activation_error(moved, "gelu", 8.0, "float64")[0] > 1e-3
    twice = Head(*(np.array([v]) for v in (0.0, 0.0, 0.0, 2.0)))
    assert activation_error(twice, "identity", 8.0, "float64")[0] == math.inf
    assert activation_error(activation_head("relu", "float64"), "relu", SWITCH, "float64")[0] == math.inf
    for k in (0, 1):
        unread = [np.array([v]) for v in (0.0, 0.0, 0.0, 1.0)]
        unread[k][0] = math.nan
        assert activation_error(Head(*unread), "identity", 8.0, "float64")[0] == math.inf
