"""The references, against scikit-learn where it solves the same problem, and against optimality where not."""

from itertools import pairwise

import numpy as np
import pytest

from headsmith.reference.solvers import Objective, gradient_descent, sigmoid

linear_model = pytest.importorskip("sklearn.linear_model")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5))
    return X, X @ rng.normal(size=5) + rng.normal(size=60)


def same(a, b):
    return np.abs(a - b).max() <= 1e-9 * np.abs(b).max()


def test_least_squares_ridge_lasso_and_elastic_net(data):
    X, y = data
    options = {"fit_intercept": False}
    tight = options | {"tol": 1e-14, "max_iter": 10**6}
    assert same(Objective.of("squared", X, y).minimiser(), linear_model.LinearRegression(**options).fit(X, y).coef_)
    assert same(
        Objective.of("squared", X, y, l2=0.3).minimiser(), linear_model.Ridge(60 * 0.3, **options).fit(X, y).coef_
    )
    assert same(Objective.of("squared", X, y, l1=0.3).minimiser(), linear_model.Lasso(0.3, **tight).fit(X, y).coef_)
    net = linear_model.ElasticNet(1.0, l1_ratio=0.4, **tight).fit(X, y).coef_
    assert same(Objective.of("squared", X, y, l1=0.4, l2=0.6).minimiser(), net)


@pytest.mark.parametrize("loss, options", [("logistic", {"l2": 0.01}), ("logistic", {}), ("huber", {"delta": 0.5})])
def test_the_gradient_vanishes(data, loss, options):
    X, y = data
    p = Objective.of(loss, X, (y > 0.5 * X[:, 0]) * 1.0 if loss == "logistic" else y, **options)
    w = p.minimiser()
    assert np.abs(p.gradient(w)).max() < 1e-12 * np.abs(X).max()
    assert all(p.objective(w) <= p.objective(w + 1e-3 * step) for step in np.eye(5))


@pytest.mark.parametrize("seed", range(8))
def test_huber_with_few_inliers(seed):
    """A delta far below the noise: at times no sample is an inlier, or fewer than there are coordinates."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 3)) * [1.0, 10.0, 0.1]
    p = Objective.of("huber", X, X @ [1.0, -0.2, 5.0] + rng.standard_t(1.5, size=12), delta=10.0 ** rng.uniform(-2, 0))
    assert np.abs(p.gradient(p.minimiser()) / np.abs(X).mean(0)).max() < 1e-10


def test_gradient_descent_walks_downhill_to_the_minimiser(data):
    X, y = data
    p = Objective.of("squared", X, y, l2=1.0)
    path = gradient_descent(p, 400, 1 / np.linalg.eigvalsh(X.T @ X / 60 + np.eye(5))[-1])
    assert path.shape == (401, 5)
    assert all(p.objective(b) <= p.objective(a) + 1e-12 for a, b in pairwise(path))
    assert np.abs(path[-1] - p.minimiser()).max() < 1e-6


def test_gradients_are_slopes_of_objectives(data):
    X, y = data
    for loss, labels in (("squared", y), ("huber", y), ("logistic", (y > 0) * 1.0)):
        p, w = Objective.of(loss, X, labels, l2=0.1), np.full(5, 0.1)
        slopes = [(p.objective(w + 1e-6 * e) - p.objective(w - 1e-6 * e)) / 2e-6 for e in np.eye(5)]
        assert np.allclose(slopes, p.gradient(w), atol=1e-7)


def test_the_sigmoid_does_not_overflow():
    assert np.array_equal(sigmoid(np.array([-1e4, 0.0, 1e4])), [0.0, 0.5, 1.0])
