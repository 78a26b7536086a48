import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headsmith.reference import regression, risks

SETTINGS = [(5, 40, 0.1, 0.879), (3, 12, 0.5, 0.5), (8, 20, 0.05, 1.0)]


def prompts(n: int, d: int, L: int, noise: float, seed: int = 0):
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(n, L, d, generator=g, dtype=torch.float64)
    x = torch.randn(n, d, generator=g, dtype=torch.float64)
    w = torch.randn(n, d, generator=g, dtype=torch.float64) / math.sqrt(d)
    y = (X @ w[..., None])[..., 0] + math.sqrt(noise) * torch.randn(n, L, generator=g, dtype=torch.float64)
    return X, y, x, (w * x).sum(-1)


def sampled_risk(predict, d, L, noise, n=40_000):
    X, y, x, clean = prompts(n, d, L, noise)
    errors = (predict(X, y, x) - clean) ** 2
    return noise + float(errors.mean()), float(errors.std()) / math.sqrt(n)


@pytest.mark.parametrize("d, L, noise, rate", SETTINGS)
def test_closed_forms_match_sampling(d, L, noise, rate):
    cases = [
        (lambda X, y, x: regression.vanilla_gd(X, y, x, rate), risks.vanilla_gd(d, L, noise, rate)),
        (lambda X, y, x: regression.debiased_gd(X, y, x, rate), risks.debiased_gd(d, L, noise, rate)),
        (lambda X, y, x: regression.ridge(X, y, x, noise), risks.ridge(d, L, noise, draws=8000)),
        (
            lambda X, y, x: regression.linear_attention(X, y, x, rate, 10),
            risks.linear_attention(d, L, noise, 10, rate),
        ),
        (regression.zero, risks.zero(noise)),
    ]
    for predict, expected in cases:
        got, error = sampled_risk(predict, d, L, noise, 20_000)
        assert abs(got - expected) < 4.5 * error


def test_ols_matches_sampling_and_is_infinite_when_underdetermined():
    got, error = sampled_risk(regression.ols, 5, 40, 0.1)
    assert abs(got - risks.ols(5, 40, 0.1)) < 4.5 * error
    assert risks.ols(5, 6, 0.1) == math.inf


def test_default_values_of_the_paper():
    assert risks.vanilla_gd(5, 40, 0.1) == pytest.approx(0.2398, abs=5e-5)
    assert risks.debiased_gd(5, 40, 0.1) == pytest.approx(0.2429, abs=5e-5)
    assert risks.ridge(5, 40, 0.1) == pytest.approx(0.1145, abs=1e-4)
    assert risks.ols(5, 40, 0.1) == pytest.approx(0.1147, abs=5e-5)
    assert risks.debiased_rate(5, 40, 0.1) == pytest.approx(0.87912, abs=5e-6)


@given(st.integers(1, 20), st.integers(2, 200), st.floats(0.01, 2), st.floats(-0.3, 0.3))
def test_best_rates_are_the_best(d, L, noise, shift):
    for risk, best in [
        (risks.vanilla_gd, risks.vanilla_rate(d, L, noise)),
        (risks.debiased_gd, risks.debiased_rate(d, L, noise)),
    ]:
        assert risk(d, L, noise, best + shift) >= risk(d, L, noise) - 1e-12


def test_printed_debiased_risk_is_wrong_and_ours_is_right():
    got, error = sampled_risk(lambda X, y, x: regression.debiased_gd(X, y, x, 0.5), 5, 40, 0.1)
    assert risks.debiased_gd(5, 40, 0.1, 0.5) == pytest.approx(0.4023, abs=1e-4)
    assert risks.debiased_gd_printed(5, 40, 0.1, 0.5) == pytest.approx(0.4163, abs=1e-4)
    assert abs(got - risks.debiased_gd(5, 40, 0.1, 0.5)) < 4 * error
    assert abs(got - risks.debiased_gd_printed(5, 40, 0.1, 0.5)) > 4 * error
    # with the rate put back at 1 the two agree
    assert risks.debiased_gd_printed(5, 40, 0.1, 1.0) == pytest.approx(risks.debiased_gd(5, 40, 0.1, 1.0))


def test_bayes_ratio_theorem_on_a_grid():
    for xi in torch.logspace(-2, 1, 20).tolist():
        for noise in torch.logspace(-2, 0.5, 20).tolist():
            if noise + 1 / xi > 1:
                ratio = risks.debiased_gd_limit(xi, noise) / risks.bayes_limit(xi, noise)
                assert 1 <= ratio <= risks.bayes_ratio_bound(xi, noise) * (1 + 1e-9)
    # the finite-L risks approach their limits
    assert risks.debiased_gd(500, 4000, 0.1) == pytest.approx(risks.debiased_gd_limit(0.125, 0.1), abs=1e-3)
    assert risks.ridge(50, 400, 0.1, draws=200) == pytest.approx(risks.bayes_limit(0.125, 0.1), abs=2e-3)


def test_preconditioners_reduce_to_the_isotropic_rates():
    eye = torch.eye(5, dtype=torch.float64)
    assert torch.allclose(risks.preconditioner(eye, 40, 0.1), risks.debiased_rate(5, 40, 0.1) * eye)
    assert torch.allclose(risks.preconditioner(eye, 40, 0.1, debiased=False), risks.vanilla_rate(5, 40, 0.1) * eye)
    assert risks.preconditioned_gd(eye, 40, 0.1) == pytest.approx(risks.debiased_gd(5, 40, 0.1))


def test_preconditioned_risk_is_minimal_at_the_derived_preconditioner():
    i = torch.arange(5)
    S = (0.5 ** (i[:, None] - i).abs()).double()
    best = risks.preconditioned_gd(S, 40, 0.1)
    printed = risks.preconditioned_gd(S, 40, 0.1, risks.preconditioner(S, 40, 0.1, debiased=False))
    inverse = risks.preconditioned_gd(S, 40, 0.1, torch.linalg.inv(S))
    assert best == pytest.approx(0.2368, abs=5e-5)
    assert printed == pytest.approx(0.2372, abs=5e-5)
    assert inverse == pytest.approx(0.2591, abs=5e-5)
    # against sampling, with correlated covariates
    X, _, x, _ = prompts(20_000, 5, 40, 0.1)
    root = torch.linalg.cholesky(S)
    g = torch.Generator().manual_seed(1)
    w = torch.randn(20_000, 5, generator=g, dtype=torch.float64) / math.sqrt(5)
    X, x = X @ root.T, x @ root.T
    y = (X @ w[..., None])[..., 0] + math.sqrt(0.1) * torch.randn(20_000, 40, generator=g, dtype=torch.float64)
    guess = regression.debiased_gd(X, y, x, 1.0, risks.preconditioner(S, 40, 0.1))
    errors = (guess - (w * x).sum(-1)) ** 2
    assert abs(0.1 + float(errors.mean()) - best) < 4 * float(errors.std()) / math.sqrt(20_000)


def test_multi_task_targets():
    supports = [[0, 1, 2, 3], [2, 3, 4, 5]]
    own = risks.multi_task_rates(supports, 6, 40, 0.1)
    shared = risks.multi_task_rates(supports, 6, 40, 0.1, shared=True)
    assert own[0].tolist() == pytest.approx([0.9009] * 4 + [0.0] * 2, abs=1e-4)
    assert shared[0].tolist() == pytest.approx([0.8197, 0.8197, 0.9009, 0.9009, 0.8197, 0.8197], abs=1e-4)
    assert risks.multi_task(supports, 6, 40, 0.1, own)[0] == pytest.approx(0.2216, abs=5e-5)
    assert sum(risks.multi_task(supports, 6, 40, 0.1, shared)) / 2 == pytest.approx(0.2612, abs=5e-5)
