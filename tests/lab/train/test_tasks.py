import math

import pytest
import torch

from headsmith import lab
from headsmith.lab import tasks
from headsmith.refusal import Refusal


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_shapes_and_moments_of_the_isotropic_task():
    drawn = tasks.isotropic(5, 40, 0.1).draw(3, 4000, generator=generator())
    assert drawn.tokens.shape == (3, 4000, 6, 40)
    assert drawn.query.shape == (3, 4000, 5)
    assert drawn.target.shape == (3, 4000, 1)
    x, y = drawn.tokens[..., :5, :], drawn.tokens[..., 5, :]
    assert float(x.mean()) == pytest.approx(0, abs=0.01)
    assert float(x.var()) == pytest.approx(1, abs=0.01)
    assert float(y.square().mean()) == pytest.approx(1.1, abs=0.04)
    assert float(drawn.target.square().mean()) == pytest.approx(1.1, abs=0.05)


def test_the_noise_is_the_residual_of_least_squares():
    drawn = tasks.isotropic(3, 60, 0.25).draw(2000, dtype=torch.float64, generator=generator())
    X, y, x = drawn.regression()
    w = torch.linalg.lstsq(X, y.unsqueeze(-1)).solution.squeeze(-1)
    residual = y - (X @ w.unsqueeze(-1)).squeeze(-1)
    assert float(residual.square().sum(-1).mean()) / 57 == pytest.approx(0.25, rel=0.02)
    # the query's answer has the same weights: prediction error = noise (1 + d/(L - d - 1))
    assert float((drawn.target[:, 0] - (x * w).sum(-1)).square().mean()) == pytest.approx(0.25 * (1 + 3 / 56), rel=0.1)


def test_correlated_covariates_have_the_given_covariance():
    task = tasks.correlated(0.5, features=4)
    drawn = task.draw(4000, dtype=torch.float64, generator=generator())
    rows = drawn.tokens[:, :4].transpose(1, 2).reshape(-1, 4)
    assert torch.allclose(rows.T @ rows / len(rows), tasks.kms(4, 0.5), atol=0.02)
    assert torch.allclose(drawn.query.T @ drawn.query / 4000, tasks.kms(4, 0.5), atol=0.1)


@pytest.mark.parametrize("weights, variance", [("independent", 1.1), ("shared", 4 / 6 + 0.1), ("notebook", 4 + 0.4)])
def test_multi_task_conventions(weights, variance):
    task = tasks.multi_task(weights=weights)
    drawn = task.draw(3000, dtype=torch.float64, generator=generator())
    responses = drawn.tokens[:, 6:]
    assert responses.square().mean((0, 2)).tolist() == pytest.approx([variance] * 2, rel=0.06)
    # responses depend on their support only
    X = drawn.tokens[:, :6]
    correlation = (X * responses[:, :1]).mean(-1)
    assert float(correlation[:, 4:].abs().mean()) < 0.6 * float(correlation[:, :4].abs().mean())
    shared = (drawn.tokens[:, 6] * drawn.tokens[:, 7]).mean()
    assert (abs(float(shared)) > 0.2) == (weights == "shared")


def test_other_lengths_and_a_users_sampler():
    task = tasks.isotropic()
    assert task.draw(2, length=7).tokens.shape == (2, 6, 7)

    def sampler(batch, length, g):
        X = torch.rand(batch, length, 2, generator=g)
        x = torch.rand(batch, 2, generator=g)
        return X, X.sum(-1), x, x.sum(-1)

    own = tasks.sampled(sampler, features=2, length=12, noise=0.0)
    drawn = own.draw(3, 4, generator=generator())
    assert drawn.tokens.shape == (3, 4, 3, 12)
    run = lab.train(1, task=own, preset="smoke", steps=20, seeds=1, out=None)
    assert math.isfinite(float(run.loss[-1, 0]))


def test_the_module_lists_its_tasks():
    assert dir(tasks) == sorted(tasks.__all__) and "correlated" in dir(tasks)


def test_bad_tasks_are_refused():
    for wrong in (
        lambda: tasks.isotropic(0),
        lambda: tasks.isotropic(5.0),
        lambda: tasks.correlated(0.5, features=0),
        lambda: tasks.isotropic(5, 1),
        lambda: tasks.isotropic(noise=-1.0),
        lambda: tasks.correlated(torch.tensor([[1.0, 2.0], [2.0, 1.0]])),
        lambda: tasks.correlated(torch.tensor([[1.0, 0.5], [0.1, 1.0]])),
        lambda: tasks.multi_task([[7]]),
        lambda: tasks.multi_task(weights="other"),
    ):
        with pytest.raises(Refusal):
            wrong()
    bad = tasks.sampled(
        lambda b, length, g: (torch.zeros(b, 3, 2), torch.zeros(b, 3), torch.zeros(b, 2), torch.zeros(b)), 2, 5, 0.1
    )
    with pytest.raises(Refusal, match="sampler"):
        bad.draw(4)
