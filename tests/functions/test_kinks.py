"""Activations of a few ReLUs are the ones of torch, and their gates are shut where the slope is small."""

import pytest
import torch
from torch.nn import functional as F

from headsmith.functions.kinks import LEAK, Kinked

TORCH = {"relu": F.relu, "leaky": F.leaky_relu, "hard tanh": F.hardtanh}
Z = torch.tensor([-3.0, -1.0, -0.25, 0.0, 2.0**-50, 0.25, 0.75, 1.0, 1 - 2.0**-30, 1.5], dtype=torch.float64)


def added(terms, z):
    return sum(out * F.relu(slope * z + shift) for slope, shift, out in terms)


@pytest.mark.parametrize("name", TORCH)
def test_the_values_are_those_of_torch(name):
    assert torch.equal(added(Kinked.of(name, "float64").value, Z), TORCH[name](Z))
    assert F.leaky_relu(torch.tensor(-1.0, dtype=torch.float64)).neg().item() == LEAK


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", TORCH)
def test_the_penalty_is_0_beyond_the_gap_and_1_where_the_gate_is_shut(name, dtype):
    kinked, kind = Kinked.of(name, dtype), getattr(torch, dtype)
    ends = [0.0] if name != "hard tanh" else [1.0, -1.0]
    z = torch.tensor([s * e for e in (0.0, kinked.gap, 2 * kinked.gap, 0.5, 1.0, 3.0) for s in (1, -1)], dtype=kind)
    z = torch.cat([e + z if e == 0 else e - e * z for e in ends])
    c = sum(F.relu(slope * z + torch.tensor(shift, dtype=kind)) for slope, shift in kinked.penalty)
    room = kinked.room(z)
    assert bool((c[room >= kinked.gap] == 0).all()) and bool((c[room <= 0] >= 1).all())
    assert bool((room >= kinked.gap).any()) and bool((room <= 0).any())


def test_where_a_format_cannot_hold_the_shift_the_gap_is_wider():
    for dtype in ("float64", "float32"):
        shift = Kinked.of("hard tanh", dtype).penalty[0][1]
        assert float(torch.tensor(shift, dtype=getattr(torch, dtype))) == shift
