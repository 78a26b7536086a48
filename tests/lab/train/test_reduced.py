import math

import pytest
import torch

from headsmith import lab
from headsmith.lab.theory.activations import activation
from headsmith.lab.train.reduced import chi_quantiles, reduced_loss_and_gradient
from headsmith.refusal import Refusal

KINDS = ["exp", "tanh", "affine:0.3", "square:0.5", "linear"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_reduced_gradient_is_the_automatic_one(kind):
    torch.manual_seed(1)
    f = activation(kind)
    omega = (0.5 * torch.randn(2, 3, dtype=torch.float64)).requires_grad_()
    mu = torch.randn(2, 3, dtype=torch.float64).requires_grad_()
    r, g = chi_quantiles(5, 8), torch.randn(2, 8, 12, dtype=torch.float64)
    p = f.weights(omega[:, None, :, None] * r[None, :, None, None] * g[:, :, None])
    v = (mu[:, None, :, None] * p).sum(2)
    loss = 0.1 + ((r - (g * v).sum(-1)).square() / 5 + 0.9 * v.square().sum(-1)).mean(1)
    expected = torch.autograd.grad(loss.sum(), (omega, mu))
    with torch.no_grad():
        got, *gradients = reduced_loss_and_gradient(omega, mu, r, g, 5, 0.1, f)
    assert torch.allclose(got, loss)
    for a, b in zip(gradients, expected, strict=True):
        assert torch.allclose(a, b, rtol=1e-9, atol=1e-12)


def test_chi_quantiles_have_the_moments_of_the_distribution():
    r = chi_quantiles(5, 4000)
    assert float(r.square().mean()) == pytest.approx(5, abs=1e-9)
    assert float(r.mean()) == pytest.approx(math.sqrt(2) * math.gamma(3) / math.gamma(2.5), rel=1e-3)


def test_the_reduced_model_finds_the_valley():
    run = lab.train(2, preset="smoke", steps=800, seeds=2, model="reduced", out=None)
    for found in run.diagnoses:
        assert found.manifold_distance < 0.06
        assert found.risk == pytest.approx(0.2429, rel=0.15)
    with pytest.raises(Refusal, match="isotropic"):
        lab.train(2, task=lab.tasks.correlated(), model="reduced", preset="smoke", out=None)
