"""The formulas of a step, against torch's own optimizers."""

import pytest
import torch
from flint import arb

from headsmith.reference.optimizers import Optimizer

RATE, SLOPES = 0.25, (1.5, -0.5, 0.0, 2.0)


def path(optimizer):
    """w behind each step, from 1."""
    w, kept, found = arb(1), (arb(0),) * len(optimizer.moments), []
    for t, g in enumerate(SLOPES, 1):
        w, kept = optimizer.moved(w, arb(g), kept, arb(RATE), t)
        found.append(float(w.mid()))
    return found


def by_torch(make):
    w, found = torch.nn.Parameter(torch.ones(1, dtype=torch.float64)), []
    optimizer = make([w])
    for g in SLOPES:
        w.grad = torch.tensor([g], dtype=torch.float64)
        optimizer.step()
        found.append(w.item())
    return found


def test_momentum_is_that_of_torch():
    expected = by_torch(lambda w: torch.optim.SGD(w, lr=RATE, momentum=0.75))
    assert path(Optimizer("momentum", beta=0.75)) == pytest.approx(expected, rel=1e-15)
    assert path(Optimizer()) == pytest.approx(by_torch(lambda w: torch.optim.SGD(w, lr=RATE)), rel=1e-15)


def test_adam_is_that_of_torch_where_no_root_is_needed():
    """torch adds its eps behind the root, which makes no difference if both are next to nothing."""
    expected = by_torch(lambda w: torch.optim.Adam(w, lr=RATE, betas=(0.8, 0.9), eps=1e-12))
    assert path(Optimizer("adam", betas=(0.8, 0.9), root=1e-24)) == pytest.approx(expected, rel=1e-10)


def test_the_root_is_inside():
    w, _ = Optimizer("adam", betas=(0.5, 0.5), root=3.0).moved(arb(0), arb(1), (arb(0), arb(0)), arb(1), 1)
    assert float(w.mid()) == -0.5


def test_corrections_are_rounded_once():
    first, second = Optimizer("adam", betas=(0.5, 0.75), root=1.0).corrections(2)
    assert (first, second) == (4 / 3, 16 / 7)
    small = Optimizer("adam", betas=(0.9, 0.999), root=1.0).corrections(1)[1]
    assert small == 1 / (1 - 0.999)
    assert Optimizer("momentum", beta=0.5).corrections(3) == (1.0, 1.0)
