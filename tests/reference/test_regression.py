"""The predictors, each against its formula written with loops; their risks are in test_risks."""

import itertools
import math

import pytest
import torch

from headsmith.reference import regression


def prompts(n: int, d: int, L: int, noise: float, seed: int = 0):
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(n, L, d, generator=g, dtype=torch.float64)
    x = torch.randn(n, d, generator=g, dtype=torch.float64)
    w = torch.randn(n, d, generator=g, dtype=torch.float64) / math.sqrt(d)
    y = (X @ w[..., None])[..., 0] + math.sqrt(noise) * torch.randn(n, L, generator=g, dtype=torch.float64)
    return X, y, x, (w * x).sum(-1)


def test_softmax_pair_tends_to_debiased_gd_with_slope_two():
    X, y, x, _ = prompts(2000, 5, 40, 0.1)
    step = regression.debiased_gd(X, y, x, 0.88)
    gaps = [
        float((regression.softmax_pair(X, y, x, g, 0.88 / (2 * g)) - step).abs().mean()) for g in (0.08, 0.04, 0.02)
    ]
    slopes = [math.log2(a / b) for a, b in itertools.pairwise(gaps)]
    assert all(abs(s - 2) < 0.03 for s in slopes)
    assert gaps[0] == pytest.approx(3.7e-3, rel=0.1)


X = torch.tensor([[1.0, 0.0], [0.5, -1.0], [-2.0, 3.0]], dtype=torch.float64)
Y = torch.tensor([2.0, -1.0, 0.5], dtype=torch.float64)
Q = torch.tensor([0.3, -0.7], dtype=torch.float64)
DOTS = [sum(a * b for a, b in zip(row, Q.tolist(), strict=True)) for row in X.tolist()]
MEAN = sum(DOTS) / 3
P = torch.tensor([[2.0, 1.0], [0.0, 0.5]], dtype=torch.float64)


def weighted(scores):
    """sum_l y_l s_l."""
    return sum(b * s for b, s in zip(Y.tolist(), scores, strict=True))


@pytest.mark.parametrize(
    ("predict", "expected"),
    [
        (lambda *z: regression.zero(*z), 0.0),
        (lambda *z: regression.vanilla_gd(*z, 0.5), 0.5 / 3 * weighted(DOTS)),
        (lambda *z: regression.debiased_gd(*z, 0.5), 0.5 / 3 * weighted([s - MEAN for s in DOTS])),
        (
            lambda *z: regression.normalised_gd(*z, 0.5, curvature=2.0),
            (0.5 / 3 * weighted([s - MEAN for s in DOTS])) / (1 + 2 * sum(s * s for s in DOTS) / 3),
        ),
        (lambda *z: regression.linear_attention(*z, 0.5, trained_length=2), 0.5 / 2 * weighted(DOTS)),
        (
            lambda *z: regression.kernel_smoother(*z, 1.5, 2.0),
            2 * weighted([math.exp(1.5 * s) for s in DOTS]) / sum(math.exp(1.5 * s) for s in DOTS),
        ),
    ],
    ids=["zero", "vanilla", "debiased", "normalised", "linear attention", "kernel smoother"],
)
def test_predictors_are_their_formulas(predict, expected):
    assert float(predict(X, Y, Q)) == pytest.approx(expected, abs=1e-14)
    batch = predict(X.expand(4, 3, 2), Y.expand(4, 3), Q.expand(4, 2))
    assert batch.shape == (4,) and batch.tolist() == pytest.approx([expected] * 4, abs=1e-14)


def test_a_preconditioner_turns_the_query():
    assert torch.allclose(regression.debiased_gd(X, Y, Q, 1.0, P), regression.debiased_gd(X, Y, P @ Q, 1.0))


def test_ridge_solves_the_penalised_problem_and_ols_the_plain_one():
    """At the minimiser the gradient of |Xw - y|^2 + noise w' prior^-1 w vanishes."""
    for prior, penalty in ((None, [0.2 * 2] * 2), (torch.tensor([1.0, 0.25]), [0.2, 0.8])):
        w = torch.stack([regression.ridge(X, Y, e, 0.2, prior) for e in torch.eye(2, dtype=torch.float64)])
        gradient = X.T @ (X @ w - Y) + torch.tensor(penalty, dtype=torch.float64) * w
        assert gradient.abs().max() < 1e-13
    w = torch.stack([regression.ols(X, Y, e) for e in torch.eye(2, dtype=torch.float64)])
    assert (X.T @ (X @ w - Y)).abs().max() < 1e-13


def test_ridge_with_a_chosen_penalty_is_leave_one_out_done_by_hand():
    g = torch.Generator().manual_seed(0)
    X, y, x = (torch.randn(shape, generator=g).double() for shape in ((9, 3), (9,), (2, 3)))
    penalties = torch.tensor([0.01, 1.0, 30.0]).double()

    def fitted(X, y, penalty, x):
        centre, level = X.mean(0), y.mean()
        Xc = X - centre
        return level + (x - centre) @ torch.linalg.solve(
            Xc.T @ Xc + penalty * torch.eye(3).double(), Xc.T @ (y - level)
        )

    def left_out(penalty):
        rest = [torch.arange(9) != i for i in range(9)]
        return sum(float(fitted(X[r], y[r], penalty, X[i]) - y[i]) ** 2 for i, r in enumerate(rest))

    errors = [left_out(penalty) for penalty in penalties]
    assert len(set(errors)) == 3
    best = penalties[errors.index(min(errors))]
    assert torch.allclose(regression.ridge_loo(X, y, x, penalties), fitted(X, y, best, x))
    many = regression.ridge_loo(torch.stack([X, X + 3]), torch.stack([y, y - 1]), torch.stack([x, x + 3]), penalties)
    assert torch.allclose(many[1], many[0] - 1)  # each prompt on its own, with an intercept


def test_the_context_mean_is_the_same_for_every_query():
    y = torch.tensor([[1.0, 2.0, 6.0]])
    assert regression.context_mean(torch.randn(1, 3, 2), y, torch.randn(1, 4, 2)).tolist() == [[3.0] * 4]
