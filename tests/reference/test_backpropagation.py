"""Back-propagation in balls against autograd."""

import pytest
import torch
from flint import arb, arb_mat
from torch.nn import functional as F

from headsmith.reference.backpropagation import CURVES, Backpropagation

TORCH = {"identity": lambda z: z, "relu": F.relu, "leaky": F.leaky_relu, "hard tanh": F.hardtanh, "tanh": torch.tanh,
         "sigmoid": torch.sigmoid, "silu": F.silu, "softplus": F.softplus, "gelu": F.gelu}  # fmt: skip


def balls(x):
    return arb_mat(x.detach().tolist())


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("bent", [(1, 2), (1, 2, 3)])
@pytest.mark.parametrize("name", CURVES)
def test_the_gradient_is_that_of_autograd(name, bent, biases):
    torch.manual_seed(0)
    x, y = torch.randn(4, 3).double(), torch.randn(4, 2).double()
    V = [torch.randn(b, a + biases).double().requires_grad_() for a, b in ((3, 4), (4, 2), (2, 2))]
    present = torch.tensor([1.0, 0.0, 1.0, 1.0]).double()
    p = x
    for j, rows in enumerate(V, 1):
        z = F.pad(p, (0, biases), value=1.0) @ rows.mT
        p = TORCH[name](z) if j in bent else z
    loss = 0.5 * ((p - y).square().sum(-1) * present).sum() / present.sum()
    found = Backpropagation(name, bent, biases, lambda f, t: f - t).gradient(
        [*map(balls, V)], balls(x), balls(y), present.tolist()
    )
    for mine, theirs in zip(found, torch.autograd.grad(loss, V), strict=True):
        gap = (mine - balls(theirs)).tolist()
        assert max(float(abs(v).upper()) for row in gap for v in row) <= 1e-12


@pytest.mark.parametrize(("name", "kink"), [("relu", 0.0), ("leaky", 0.0), ("hard tanh", 1.0), ("hard tanh", -1.0)])
def test_slopes_at_kinks_are_those_of_torch_and_both_where_a_ball_cannot_tell(name, kink):
    slope = CURVES[name][1]
    z = torch.tensor(kink, dtype=torch.float64, requires_grad=True)
    [theirs] = torch.autograd.grad(TORCH[name](z), z)
    assert float(slope(arb(kink))) == float(theirs)
    wide = slope(arb(kink, 1e-9))
    assert wide.contains(1) and wide.contains(arb(float(theirs)))
