"""Scores against the slope of the log density, samples against their moments, and a distance that can tell."""

import pytest
import torch

from headsmith.papers.deep_optimizers.mixture import EARLIEST, NoisyMixture, distance

LINE = NoisyMixture(torch.tensor([[-1.5], [1.5]], dtype=torch.float64), 0.2)
PLANE = NoisyMixture(torch.tensor([[-2.0, -1.6], [2.0, -1.6], [0.0, 2.2]], dtype=torch.float64), 0.15)


def times(count):
    return torch.full((count,), EARLIEST, dtype=torch.float64)


@pytest.mark.parametrize("mixture", [LINE, PLANE])
def test_the_score_is_the_slope_of_the_log_density(mixture):
    x, t, y = mixture.labelled(20, 0)
    x.requires_grad_()
    [slope] = torch.autograd.grad(mixture.log_density(x, t).sum(), x)
    assert torch.allclose(slope, y, atol=1e-12) and y.abs().max() > 0.5


@pytest.mark.parametrize("mixture", [LINE, PLANE])
def test_one_gaussian_has_the_mean_and_covariance_of_the_mixture(mixture):
    t = times(200_000)
    drawn, alike = (draw(t, torch.Generator().manual_seed(1)) for draw in (mixture.sample, mixture.gaussian_sample))
    assert torch.allclose(drawn.mean(0), alike.mean(0), atol=0.02)
    assert torch.allclose(torch.cov(drawn.mT), torch.cov(alike.mT), atol=0.03)
    x = torch.randn(5, mixture.means.shape[1], dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    normal = torch.distributions.MultivariateNormal(drawn.mean(0), torch.atleast_2d(torch.cov(drawn.mT)))
    x.requires_grad_()
    [slope] = torch.autograd.grad(normal.log_prob(x).sum(), x)
    assert torch.allclose(mixture.gaussian_score(x.detach(), times(5)), slope, atol=0.1)


@pytest.mark.parametrize("mixture", [LINE, PLANE])
def test_the_flow_of_the_exact_score_ends_at_the_mixture(mixture):
    true = mixture.sample(times(2000), torch.Generator().manual_seed(1))
    exact, gaussian = (distance(mixture.flowed(s, 2000, 2), true) for s in (mixture.score, mixture.gaussian_score))
    assert exact < 0.12 and gaussian > 2 * exact


def test_the_distance_is_a_shift():
    x = torch.randn(500, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    moved = distance(x, x + torch.tensor([0.3, 0.0]))
    assert moved == pytest.approx(0.3 * 2 / torch.pi, rel=1e-2)  # the mean of |cos|
    assert distance(x, x[torch.randperm(500)]) == pytest.approx(0, abs=1e-12)
    assert distance(x[:, :1], x[:, :1] - 0.4) == pytest.approx(0.4)
