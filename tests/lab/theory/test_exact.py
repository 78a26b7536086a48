import math

import numpy as np
import pytest
import torch
from hypothesis import strategies as st

from headsmith import lab
from headsmith.lab import tasks
from headsmith.lab.theory.approximate import Problem
from headsmith.lab.theory.exact import best_mu, concentration
from headsmith.reference import risks

DEFAULT = Problem(5, 40, 0.1)


weights = st.lists(st.floats(-0.6, 0.6), min_size=3, max_size=3)


def integrated_risk(model, task, prompts: int, seed: int) -> float:
    """noise + |x - X'v|^2 / d + noise |v|^2, v = sum_h mu_h p_h: weights and noise integrated out given (X, x)."""
    drawn = task.draw(prompts, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    d = task.features
    kq, ov = (t.detach() for t in model.products())
    X = drawn.tokens[:, :d]
    p = model.activation.weights(torch.einsum("hij,bj->bhi", kq[:, :d, :d], drawn.query) @ X)
    v = torch.einsum("h,bhl->bl", ov[:, 0, d], p)
    residual = drawn.query - (X @ v.unsqueeze(-1)).squeeze(-1)
    return task.noise + float((residual.square().sum(-1) / d + task.noise * v.square().sum(-1)).mean())


def test_exact_loss_equals_sampling_of_the_full_model():
    omega, mu = [0.3, -0.2, 0.1], [1.5, -2.0, 0.5]
    model = lab.AttentionModel.from_reduced(omega, mu, 5)
    task = tasks.isotropic(5, 40, 0.1)
    values = [integrated_risk(model, task, 4000, seed) for seed in range(3)]
    exact = float(lab.exact_loss(omega, mu, draws=4000))
    assert exact == pytest.approx(sum(values) / 3, abs=0.015)
    drawn = task.draw(20_000, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        squares = (model(drawn) - drawn.target).square()
    assert exact == pytest.approx(float(squares.mean()), abs=4 * float(squares.std()) / math.sqrt(20_000))


def test_exact_loss_tends_to_the_debiased_risk():
    for gamma, tolerance in ((0.05, 5e-5), (0.01, 2e-6)):
        mu = 0.88 / (2 * gamma)
        value = float(lab.exact_loss([gamma, -gamma], [mu, -mu]))
        assert value == pytest.approx(risks.debiased_gd(5, 40, 0.1, 0.88), abs=tolerance)


def test_measured_values_of_the_exact_loss():
    assert float(lab.exact_loss([0.13, -0.13], [3.38, -3.38])) == pytest.approx(0.2430, abs=3e-4)
    assert float(lab.exact_loss([0.518], [1.49], draws=8000)) == pytest.approx(0.4040, abs=3e-3)
    # the squared activation at the paper's own parameters is better than any softmax pair
    square = float(lab.exact_loss([0.2882, -0.2882], [1.7561, -1.7561], "square:0.5"))
    assert square == pytest.approx(0.2384, abs=8e-4)
    assert square < 0.2415 < risks.debiased_gd(5, 40, 0.1)


def test_exact_loss_has_gradients_and_the_best_mu_is_best():
    omega = torch.tensor([0.2, -0.2], dtype=torch.float64, requires_grad=True)
    lab.exact_loss(omega, [2.0, -2.0], draws=200).backward()
    assert omega.grad is not None and abs(float(omega.grad.sum())) < 1e-9
    mu, value = best_mu([0.13, -0.13], DEFAULT)
    assert float(mu[0]) == pytest.approx(DEFAULT.valley(0.13), rel=0.02)
    for factor in (0.95, 1.05):
        assert float(lab.exact_loss([0.13, -0.13], (factor * mu).tolist())) > value


@pytest.mark.slow
def test_the_exact_minimum_is_at_a_small_positive_gamma():
    grid = np.linspace(0.01, 0.2, 20)
    losses = [best_mu([g, -g], DEFAULT, draws=4000)[1] for g in grid]
    assert 0.04 <= grid[int(np.argmin(losses))] <= 0.10
    assert min(losses) < risks.debiased_gd(5, 40, 0.1) - 1e-5


def test_lemma_c2_by_sampling():
    torch.manual_seed(0)
    d, L, a, b = 4, 10, 0.5, -0.3
    v = torch.randn(d, dtype=torch.float64)
    X = torch.randn(200_000, L, d, dtype=torch.float64)
    p, q = (torch.softmax(w * (X @ v), -1) for w in (a, b))
    left = ((X * p.unsqueeze(-1)).sum(1) * (X * q.unsqueeze(-1)).sum(1)).sum(-1).mean()
    n = float(v @ v)
    pp, qq, pq = p.square().sum(-1), q.square().sum(-1), (p * q).sum(-1)
    qp2, pq2 = (q * p**2).sum(-1), (p * q**2).sum(-1)
    right = (
        d * pq
        + a * b * n * (1 - pp) * (1 - qq)
        + 2 * a * a * n * (-qp2 + pq * pp)
        + 2 * b * b * n * (-pq2 + pq * qq)
        + a * b * n * (pq - pq2 - qp2 + pq**2)
    ).mean()
    assert float(left) == pytest.approx(float(right), abs=6e-3)


def test_attention_concentrates_with_length():
    means = [float(concentration(0.5, 5, L).mean()) for L in (40, 640)]
    assert means[1] < 0.3 * means[0]
