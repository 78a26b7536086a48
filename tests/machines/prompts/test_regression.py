"""Regressions as prompts: their instructions are a gradient step, their units are undone, their data are checked."""

import math

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.machines.prompts.regression import separable
from headsmith.reference.solvers import sigmoid
from headsmith.refusal import Refusal

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 3)) * [1.0, 10.0, 0.1]
Y = X @ [1.0, -0.2, 5.0] + RNG.normal(size=12)
LABELS = (np.arange(12) % 3 == 0).astype(float)
PROGRAMS = {
    "ols": lambda **k: hs.prompt.ols(X, Y, **k),
    "ridge": lambda **k: hs.prompt.ridge(X, Y, 0.3, **k),
    "lasso": lambda **k: hs.prompt.lasso(X, Y, 0.3, **k),
    "elastic net": lambda **k: hs.prompt.elastic_net(X, Y, 0.2, 0.3, **k),
    "logistic": lambda **k: hs.prompt.logistic(X, LABELS, 0.1, **k),
    "huber": lambda **k: hs.prompt.huber(X, Y, 0.7, **k),
}


def step(program, p, q):
    """What the block makes of the instructions, before it shrinks."""
    i = program.instructions(50.0)
    z = i["a"] @ np.concatenate([p, q]) + i["shift"]
    bent = np.stack([z, sigmoid(z), z - np.clip(z, -1, 1), np.ones_like(z)], -1)
    return p + ((i["op"] * bent).sum(-1)[:, None] * i["step"]).sum(0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_instructions_are_one_step_of_nesterov(name):
    program = PROGRAMS[name]()
    p, q = RNG.normal(size=(2, 3))
    ahead = p + program.momentum * (p - q)
    assert np.allclose(step(program, p, q), ahead - program.rate * program.scaled.gradient(ahead), rtol=0, atol=1e-12)
    assert np.allclose(program.instructions(50.0)["threshold"], program.rate * program.scaled.l1)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_solution_in_the_builders_units_is_the_users(name, intercept):
    program = PROGRAMS[name](intercept=intercept)
    found, wanted = program.weights(program.scaled.minimiser()), program.problem.minimiser()
    assert np.allclose(found, wanted, rtol=1e-6, atol=1e-8) and len(found) == 3 + intercept


def test_an_intercept_is_not_penalised():
    program = hs.prompt.elastic_net(X, Y, 0.2, 0.3, intercept=True)
    assert program.problem.l1.tolist() == [0.2] * 3 + [0.0] and program.problem.l2.tolist() == [0.3] * 3 + [0.0]
    assert np.allclose(program.means, X.mean(0))


def test_rate_and_momentum_come_from_the_eigenvalues():
    program = hs.prompt.ols([[1.0, 0.0], [0.0, 3.0]], [1.0, 1.0])  # columns in their root mean square: X'X/n = 1
    assert program.curvature == pytest.approx((1.0, 1.0)) and program.momentum == pytest.approx(0.0, abs=1e-6)
    flat = hs.prompt.ols([[1.0, 1.0], [2.0, 2.0]], [1.0, 1.0])
    assert flat.condition == math.inf and flat.rate == pytest.approx(0.5) and 0.99 < flat.momentum < 1


def test_planes_between_classes():
    assert separable(X, (X[:, 0] > 0).astype(float)) and not separable(X, LABELS)


NAN = X.copy()
NAN[2, 1] = math.nan
REFUSED = {
    "separable": (lambda: hs.prompt.logistic(X, (X[:, 0] > 0).astype(float)), "separated by a plane"),
    "labels": (lambda: hs.prompt.logistic(X, Y), "0 or 1"),
    "nan": (lambda: hs.prompt.ols(NAN, Y), "nan at sample 2, feature 1"),
    "huge": (lambda: hs.prompt.ols(1e120 * X, Y), "squares overflow"),
    "faint": (lambda: hs.prompt.ols(1e-120 * X, Y), "feature 0 of X is below 1e-100, its squares vanish"),
    "delta": (lambda: hs.prompt.huber(X, Y, "a"), "delta must be a number that is not negative, not 'a'"),
    "no delta": (lambda: hs.prompt.huber(X, Y, 0), "must be positive"),
    "lengths": (lambda: hs.prompt.ols(X, Y[:-1]), "12 samples in X and 11 in y"),
    "negative": (lambda: hs.prompt.ridge(X, Y, -1.0), "lam must be a number that is not negative"),
    "axes": (lambda: hs.prompt.ols(Y, Y), "X must have shape"),
    "complex": (lambda: hs.prompt.ols(X, 1j * Y), "y must hold numbers only"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_data_that_make_no_regression_are_refused(name):
    call, words = REFUSED[name]
    with pytest.raises(Refusal, match=words):
        call()


def test_data_come_from_tensors_too():
    given = hs.prompt.ols(torch.tensor(X), torch.tensor(Y, requires_grad=True))
    assert np.array_equal(given.problem.X, X) and np.array_equal(given.problem.y, Y)


def test_the_name_says_exactly_what_the_penalties_are():
    assert [hs.prompt.lasso(X, Y, lam).name for lam in (0.3, 0.30000004, 1)] == [
        "lasso 0.3",
        "lasso 0.30000004",
        "lasso 1",
    ]
    assert hs.prompt.elastic_net(X, Y, 1e-7, 2.0000001).name == "elastic net 1e-07 2.0000001"
    program = hs.prompt.ols(X, Y)
    for array in (program.problem.X, program.problem.y, program.problem.l1, program.problem.l2):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
