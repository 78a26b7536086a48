"""Proved distances hold: for points near and far from minimisers, on data of all shapes."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from headsmith.machines.evidence import _Curvature, _slopes, distance
from headsmith.reference.solvers import Objective


def problem(loss, seed, l1=0.0, l2=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 3)) * 10.0 ** rng.uniform(-2, 2, 3)
    y = X @ (rng.normal(size=3) / np.abs(X).mean(0)) + rng.normal(size=25)
    if loss == "logistic":
        y = rng.integers(0, 2, 25).astype(float)
    return Objective.of(loss, X, y, l1=l1, l2=l2, delta=1.5), rng


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
    assert distance(Objective.of("squared", X, [1.0, 2.0, 3.0]), np.array([0.5, 0.5])).bound == np.inf
    assert distance(Objective.of("huber", X[:, :1], [9.0, -9.0, 9.0], delta=0.1), np.zeros(1)).bound == np.inf


def test_the_duality_gap_proves_zeros_where_data_are_fewer_than_features():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(10, 15))
    p = Objective.of("squared", X, X[:, 0] * 2, l1=0.5)
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
    p = Objective.of("squared", X, rng.normal(size=40) * 1e5)
    best = p.minimiser()
    found = distance(p, best * (1 + noise))
    assert np.abs(best * noise).max() <= found.bound < 1e-6 * np.abs(best).max()


def test_a_residual_that_rounds_to_zero_is_not_zero():
    """fl(3 fl(1/3)) = 1: the computed gradient vanishes where the exact one does not."""
    w = np.array([1 / 3])
    found = distance(Objective.of("squared", [[3.0]], [1.0]), w)
    assert found.bound >= float(abs(Fraction(w[0]) - Fraction(1, 3))) > 1e-17


def test_a_gradient_that_is_summed_in_floats_is_off():
    """4094 residuals of half an ulp beside 1 and -1: those that share their accumulator with the 1 are lost."""
    r = np.full(4096, 2.0**-54)
    r[0], r[2048] = 1.0, -1.0
    found = distance(Objective.of("squared", np.ones((4096, 1)), -r), np.zeros(1))
    exact = float(sum(map(Fraction, r)) / 4096)
    assert abs(float(np.ones(4096) @ r) / 4096 - exact) > 0  # the sum does lose some, how much is up to the processor
    assert found.bound >= exact


def test_a_flat_direction_stretches_the_distance():
    """Along the least eigenvector of two columns that agree by 0.98 the gradient is fifty times too short."""
    X = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 0.6], [0.6, 1.0]]) * [1e-2, 1e-2]
    best = np.array([1.0, -2.0])
    p = Objective.of("squared", X, X @ best)
    for away in (np.array([1e-3, -1e-3]), np.array([1e-3, 1e-3])):
        assert distance(p, best + away).bound >= 1e-3
    assert distance(p, best + np.array([1e-3, -1e-3])).bound <= 2e-3


def test_a_logistic_loss_flattens_on_the_way():
    """y = 1 for nine of ten: at 1.9 the curvature is larger than it is on the way to log 9."""
    p = Objective.of("logistic", np.ones((10, 1)), np.arange(10) > 0)
    assert np.log(9) - 1.9 <= distance(p, np.array([1.9])).bound <= 1.1 * (np.log(9) - 1.9)


def test_huber_samples_may_stop_being_inliers():
    """Two inliers at residual 0.9 of 1, three outliers that pull: one step out, nothing holds the point back."""
    p = Objective.of("huber", np.ones((5, 1)), [0.0, 0.0, 10.0, 10.0, 10.0], delta=1.0)
    assert p.gradient(np.array([10 - 2 / 3]))[0] == pytest.approx(0, abs=1e-12)
    assert distance(p, np.array([0.9])).bound >= 10 - 2 / 3 - 0.9


def test_a_zero_that_the_penalty_does_not_hold():
    p = Objective.of("squared", [[1.0], [2.0]], [1.0, 2.0], l1=0.1)
    assert distance(p, np.zeros(1)).bound >= p.minimiser()[0] > 0.9


def test_coordinates_are_coupled():
    """The pull on a coordinate that is zero grows as the others move: at the minimiser it is not zero."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(12, 2))
    X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    p = Objective.of("squared", X, X @ [1.0, rng.uniform(-0.3, 0.3)], l1=0.1)
    best = p.minimiser()
    w = np.array([best[0] + rng.uniform(-0.3, 0.3), 0.0])
    assert best[1] != 0 and 1 not in distance(p, w).zeros and np.abs(w - best).max() <= distance(p, w).bound


def test_a_dual_point_that_is_far_proves_little():
    """More features than samples, far from the minimiser: a coordinate that is not zero there must not be one."""
    rng = np.random.default_rng(568)
    X = rng.normal(size=(4, 6))
    p = Objective.of("squared", X, X[:, 0] * 2 + 0.5 * X[:, 1], l1=0.3)
    best = p.minimiser()
    w, on = best * rng.uniform(0.3, 1.2), np.flatnonzero(best)
    w[on[-1]] = 0.0
    assert on[-1] not in distance(p, w).zeros


class InOrder(np.ndarray):
    """Rows times a vector from left to right, which is one of the orders that the bounds hold for."""

    def __matmul__(self, vector):
        total = np.asarray(self)[:, 0] * vector[0]
        for k in range(1, len(vector)):
            total = total + np.asarray(self)[:, k] * vector[k]
        return total


def lossy(count):
    """One, and numbers that vanish when they are added to it one by one; their true sum."""
    small = 2.0**-53 * (1 - 2.0**-20)
    row = np.array([[1.0, *[small] * (count - 1)]]).view(InOrder)
    return row, 1 + (count - 1) * Fraction(small)


def test_sums_that_lose_all_but_one_term():
    row, exact = lossy(41)
    slope, slip = _slopes(Objective("squared", row, np.zeros(1), np.zeros(41), np.zeros(41)), np.ones(41))
    assert slope == 1 and exact - 1 <= Fraction(float(slip[0]))


def test_a_label_that_swallows_the_sum():
    p = Objective.of("squared", [[1.0]], [-1.0])
    w = 2.0**-53 * (1 - 2.0**-20)
    slope, slip = _slopes(p, np.array([w]))
    assert slope == 1 and w <= slip[0]


def test_a_sigmoid_of_a_sum_that_lost_its_terms():
    row, exact = lossy(200)
    slope, slip = _slopes(Objective("logistic", row, np.zeros(1), np.zeros(200), np.zeros(200)), np.ones(200))
    true = 1 / (1 + (-arb(exact.numerator) / exact.denominator).exp())
    assert abs(true - float(slope[0])) <= float(slip[0])


def test_a_sigmoid_is_rounded():
    for w in np.linspace(1e-9, 1e-8, 20):
        slope, slip = _slopes(Objective.of("logistic", [[1.0]], [0.0]), np.array([w]))
        assert abs(1 / (1 + (-arb(float(w))).exp()) - float(slope[0])) <= float(slip[0])


def test_an_inlier_that_may_be_an_outlier_curves_nothing():
    """3 w is rounded by 1, so a residual that is computed as 0 may be 1, beyond delta."""
    w = np.array([(2**53 + 1) / 3])
    p = Objective("huber", np.array([[3.0]]), 3 * w, np.zeros(1), np.zeros(1), delta=0.5)
    assert abs(Fraction(3) * Fraction(float(w[0])) - Fraction(float(p.y[0]))) > Fraction(1, 2)
    slope, slip = _slopes(p, w)
    assert _Curvature(p, p.X, np.zeros(1), w, slope, slip).least() <= 0
