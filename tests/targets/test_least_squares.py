"""Least squares and ridge inside attention, whatever the data: against the closed form, which nobody tells it."""

import numpy as np
import pytest
import torch

import headsmith as hs

LeastSquares = hs.target.LeastSquares
ROOM = {"x": 2.0, "y": 3.0}


@pytest.fixture(scope="module")
def task():
    return LeastSquares(features=2, samples=12, curvature=0.5)


@pytest.fixture(scope="module")
def net(task):
    return hs.compile(task, domain=ROOM, eps=1e-6)


def data(seed, n=10):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.clip(X @ rng.normal(size=2) + 0.3 * rng.normal(size=n), -3, 3)


def solution(X, y, lam=0.0):
    return np.linalg.solve(X.T @ X / len(X) + lam * np.eye(2), X.T @ y / len(X))


def test_one_frozen_network_solves_every_data_set_and_every_penalty(net, task):
    """Cor 3.1.3 and 3.1.4: lambda is in the prompt, as samples; the weights are those of least squares."""
    before = net.network.state_dict()
    for seed in range(3):
        X, y = data(seed)
        for lam in (0.0, 0.01, 0.3):
            w = net(*task.padded(X, y, lam)).numpy()
            assert np.abs(w - solution(X, y, lam)).max() <= net.certificate.bound <= 1e-6
    assert all(torch.equal(before[name], value) for name, value in net.network.state_dict().items())


def test_a_penalty_in_the_weights():
    own = hs.compile(LeastSquares(2, 10, curvature=0.75, l2=0.25), domain=ROOM, eps=1e-6)
    X, y = data(3)
    assert np.abs(own(X, y).numpy() - solution(X, y, 0.25)).max() <= own.certificate.bound
    assert float(own.certify(X, y).max()) <= own.certificate.bound


@pytest.mark.parametrize(("method", "eps"), [("auto", 1e-3), ("printed", 0.1)])
def test_the_bound_is_attained_where_all_samples_are_as_flat_as_was_promised(method, eps):
    """One feature, |x| = sqrt(curvature), |y| = Y: rho^t of the longest w* is left after t steps."""
    target = LeastSquares(features=1, samples=4, curvature=0.25)
    net = hs.compile(target, domain=ROOM, eps=eps, method=method)
    found = float(net.certify(np.full((4, 1), 0.5 * (1 + 1e-9)), np.full(4, 3.0)).max())
    left = target.pace(net.plan.request).left(net.plan.design.rate, net.plan.design.steps)
    assert 0.99 * left <= found <= net.certificate.bound
    assert (net.certificate.bound <= eps) == (method == "auto") and (method == "auto" or left > 5)


def test_float32():
    net = hs.compile(LeastSquares(1, 4, curvature=1.0), domain=ROOM, eps=1e-2, dtype="float32")
    x, y = (part.float() for part in net.target.sample(net.certificate.domain, 20, torch.Generator().manual_seed(0)))
    assert float(net.certify(x, y).max()) <= net.certificate.bound <= 1e-2


def test_random_data_of_a_domain_are_curved_enough(task):
    domain = task.domain(ROOM, "float64")
    x, y = task.sample(domain, 50, torch.Generator().manual_seed(0))
    task.check(domain, x, y)
    tight = LeastSquares(2, 3, curvature=2.5)
    tight.check(domain, *tight.sample(domain, 5, torch.Generator().manual_seed(0)))


def test_what_cannot_be_promised_is_refused(net, task):
    X, y = data(0)
    with pytest.raises(hs.Refusal, match=r"curvature of .*, promised was 0\.5"):
        net(*task.padded(0.3 * X, y))
    with pytest.raises(hs.Refusal, match="lies outside"):
        net(*task.padded(2 * X, y))
    with pytest.raises(hs.Refusal, match="the mean of its eigenvalues"):
        hs.plan(LeastSquares(2, 12, curvature=5.0), domain=ROOM, eps=1e-3)
    with pytest.raises(hs.Refusal, match=r"condition number .* takes"):
        hs.plan(LeastSquares(2, 12, curvature=1e-5), domain=ROOM, eps=1e-6)
    with pytest.raises(hs.Refusal, match="not unique"):
        LeastSquares(2, 12, curvature=0.0)
    with pytest.raises(hs.Refusal, match="curvature must be"):
        LeastSquares(2, 12, curvature="much")  # type: ignore[arg-type]
    with pytest.raises(hs.Refusal, match="2 more for a penalty"):
        task.padded(np.zeros((11, 2)), np.zeros(11), 0.1)


def test_a_refusal_names_an_eps_that_can_be_had():
    with pytest.raises(hs.Refusal, match=r"eps = .* can be had") as refused:
        hs.plan(LeastSquares(1, 4, curvature=1.0), domain=ROOM, eps=1e-9, dtype="float32")
    eps = float(str(refused.value).split("eps = ")[1].split()[0])
    plan = hs.plan(LeastSquares(1, 4, curvature=1.0), domain=ROOM, eps=eps, dtype="float32")
    assert plan.bound <= eps
