"""Proved distances hold: for points near and far from minimisers, on data of all shapes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headsmith.machines.evidence import distance
from headsmith.reference.solvers import Problem


def problem(loss, seed, l1=0.0, l2=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 3)) * 10.0 ** rng.uniform(-2, 2, 3)
    y = X @ (rng.normal(size=3) / np.abs(X).mean(0)) + rng.normal(size=25)
    if loss == "logistic":
        y = rng.integers(0, 2, 25).astype(float)
    return Problem.of(loss, X, y, l1=l1, l2=l2, delta=1.5), rng


@given(
    seed=st.integers(0, 10**6),
    loss=st.sampled_from(["squared", "logistic", "huber"]),
    size=st.sampled_from([0.0, 1e-12, 1e-8, 1e-4, 1e-2, 1.0]),
)
def test_the_bound_holds_wherever_the_point_is(seed, loss, size):
    p, rng = problem(loss, seed)
    best = p.minimiser()
    point = best + size * rng.normal(size=3) / np.abs(p.X).mean(0)
    found = distance(p, point)
    assert np.abs(point - best).max() <= found.bound + 1e-12 * np.abs(best).max()
    if size <= 1e-8 and loss != "huber":
        assert found.bound <= 300 * max(size, 1e-13) / np.abs(p.X).mean(0).min()


@given(seed=st.integers(0, 10**6), l1=st.sampled_from([1e-3, 0.1, 1.0]), l2=st.sampled_from([0.0, 0.1]))
def test_penalised_problems_and_their_zeros(seed, l1, l2):
    p, rng = problem("squared", seed, l1, l2)
    best = p.minimiser()
    found = distance(p, best)
    assert found.bound <= 1e-8 * max(1.0, np.abs(best).max())
    assert all(best[k] == 0 for k in found.zeros)
    away = np.where(best == 0, 0.0, best * (1 + 1e-5 * rng.normal(size=3)))
    assert np.abs(away - best).max() <= distance(p, away).bound


def test_nothing_is_claimed_without_curvature():
    X = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    assert distance(Problem.of("squared", X, [1.0, 2.0, 3.0]), np.array([0.5, 0.5])).bound == np.inf
    assert distance(Problem.of("huber", X[:, :1], [9.0, -9.0, 9.0], delta=0.1), np.zeros(1)).bound == np.inf


def test_the_duality_gap_proves_zeros_where_data_are_fewer_than_features():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(10, 15))
    p = Problem.of("squared", X, X[:, 0] * 2, l1=0.5)
    best = p.minimiser()
    found = distance(p, best)
    assert len(found.zeros) >= 10 and found.bound < 1e-9
    wrong = best.copy()
    wrong[0] *= 0.99
    assert np.abs(wrong - best).max() <= distance(p, wrong).bound


@pytest.mark.parametrize("noise", [0.0, 1e-9])
def test_the_rounding_of_huge_and_tiny_data_is_paid_for(noise):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) * [1e-8, 1e8]
    p = Problem.of("squared", X, rng.normal(size=40) * 1e5)
    best = p.minimiser()
    found = distance(p, best * (1 + noise))
    assert np.abs(best * noise).max() <= found.bound < 1e-6 * np.abs(best).max()
