"""The pace of descent: each factor of the bound has data that need it."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.compiler.request import Request
from headsmith.constructions.least_squares import Convergence, Pace
from headsmith.proof.approximation import Unprovable
from headsmith.proof.statement import Head

LINE = Pace(features=1, samples=2, inputs=2.0, labels=1.0, curvature=1.0, l2=0.0)


def planned(curvature=1.0, eps=1e-3, l2=0.0, samples=2, x=2.0, **options):
    target = hs.target.LeastSquares(1, samples, curvature, l2)
    plan = hs.plan(target, domain={"x": x, "y": 1.0}, eps=eps, **options)
    return target, plan.design, plan.request


def descended(X, y, rate, steps, l2=0.0):
    """Iterates of exact descent from 0."""
    w, path = np.zeros(X.shape[1]), [np.zeros(X.shape[1])]
    for _ in range(steps):
        w = w - rate * (X.T @ (X @ w - y) / len(y) + l2 * w)
        path.append(w)
    return np.array(path)


@pytest.mark.parametrize("l2", [0.0, 0.5])
def test_the_longest_solution_and_what_is_left_of_it(l2):
    """Data at the curvature: |w*| = Y/sqrt(mu) without a penalty, and after t steps rho^t of it is left."""
    pace = replace(LINE, l2=l2)
    rate, s = pace.rate("float64"), math.sqrt(1.0 - l2)
    X, y = np.full((2, 1), s), np.ones(2)
    w = s / (s * s + l2)
    assert w <= pace.longest and (l2 > 0 or pace.longest <= 1.0000001 * w)
    far = np.abs(descended(X, y, rate, 20, l2)[:, 0] - w)
    bounds = [pace.left(rate, t) for t in range(21)]
    assert (far <= bounds).all() and (l2 > 0 or (far >= 0.999999 * np.array(bounds)).all())


def test_the_square_falls_as_the_corollary_says_and_faster():
    """Cor D.1.1 for one strongly convex quadratic: exp(-t/kappa) for the square, which is the square root of ours."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)) * [1.0, 0.5, 0.2]
    y = rng.normal(size=30)
    values = np.linalg.eigvalsh(X.T @ X / 30)
    kappa, w = values[-1] / values[0], np.linalg.lstsq(X, y)[0]
    path = descended(X, y, 1 / values[-1], 200)
    square, t = ((path - w) ** 2).sum(1), np.arange(201)
    assert (square <= np.exp(-t / kappa) * square[0]).all() and (square <= (1 - 1 / kappa) ** (2 * t) * square[0]).all()
    loss = [((X @ v - y) ** 2).mean() / 2 for v in (*path, w)]
    assert (np.array(loss[:-1]) - loss[-1] <= values[-1] / 2 * np.exp(-t / kappa) * square[0] + 1e-15).all()


def test_the_rate_never_expands_distances():
    for dtype in ("float32", "float64"):
        for inputs in np.random.default_rng(0).uniform(0.5, 3, 50):
            pace = replace(LINE, features=3, inputs=float(inputs))
            assert 0.999 < pace.rate(dtype) * pace.steepest <= 1
    corner = np.full((4, 3), pace.inputs)
    assert 0.999 < np.linalg.eigvalsh(corner.T @ corner / 4)[-1] / pace.steepest <= 1


@pytest.mark.parametrize(("eps", "l2"), [(1e-2, 0.0), (1e-6, 0.0), (1e-3, 0.25)])
def test_iterates_stay_in_the_ranges_that_were_proved(eps, l2):
    """Random data at every curvature, and labels that leave the largest residual."""
    rng = np.random.default_rng(0)
    pace = replace(LINE, features=2, samples=6, l2=l2, curvature=0.3)
    rate, worst = pace.rate("float64"), 0.0
    for _ in range(200):
        X, y = rng.uniform(-2, 2, (6, 2)), rng.choice([-1.0, 1.0], 6)
        if np.linalg.eigvalsh(X.T @ X / 6)[0] + l2 < 0.3:
            continue
        path = descended(X, y, rate, 40, l2)
        worst = max(worst, float(np.abs(path @ X.T - y).max()))
        assert np.linalg.norm(path, axis=1).max() <= pace.longest and worst <= pace.ranges(0.0).residual
    assert worst > 0.5 * pace.ranges(0.0).residual / math.sqrt(6) and pace.ranges(0.5).w >= pace.longest + 0.5


def test_the_residual_of_a_lone_sample():
    """One sample that the others pull away from: near Y + B |w*|, and never above sqrt(n) Y."""
    pace = replace(LINE, samples=100, curvature=3.9)
    X, y = np.full((100, 1), 1.99), np.ones(100)
    X[0], y[0] = 2.0, -1.0
    path = descended(X, y, pace.rate("float64"), 30)
    found = float(np.abs(path @ X.T - y).max())
    assert 0.9 * pace.ranges(0.0).residual <= found <= pace.ranges(0.0).residual
    assert pace.ranges(0.25).residual >= pace.ranges(0.0).residual + 0.5


def test_the_error_of_a_step_counts_as_often_as_it_lasts():
    """A table that is off by c moves the fixed point by c x/mu: all of the bound beyond what descent leaves."""
    target, design, request = planned(eps=0.05)
    off = Head.table(design.head.slopes, design.head.offsets, design.head.values + 0.01)
    moved = Convergence(off, design.samples, design.rate, design.steps)
    bound = moved.prove(target, request)
    X, y = np.full((2, 1), 1 + 1e-9), np.ones(2)
    found = float(hs.compile(target, domain=request.domain.plain(), eps=0.05)(X, y))
    tokens = target.encode(torch.tensor(X), torch.tensor(y))
    out = float(target.decode(moved.run(target, moved.network(target, "float64"), tokens, request.domain)))
    assert 0.0095 <= abs(out - found) <= bound.total
    kept = LINE.kept(design.rate, design.steps)
    left = target.pace(request).left(design.rate, design.steps)
    assert bound.approximation - left >= kept * design.rate * 0.01 * 2.0
    assert LINE.kept(0.25, 3) == 3 and 4 <= LINE.kept(0.25, 10**6) <= 4.0001


def test_a_drift_out_of_the_ranges_is_not_proved():
    target, design, request = planned(eps=0.05)
    wild = Head.table(design.head.slopes, design.head.offsets, design.head.values + 0.5)
    with pytest.raises(Unprovable, match="drift"):
        Convergence(wild, 2, design.rate, design.steps).prove(target, request)
    with pytest.raises(Unprovable, match="above 1/beta"):
        Convergence(design.head, 2, 1.01 * design.rate, design.steps).prove(target, request)


def test_what_is_stored_is_what_was_built():
    for options in ({}, {"dtype": "float32", "eps": 0.05}, {"method": "printed", "l2": 0.5, "eps": 0.05}):
        target, design, request = planned(**options)
        back = Convergence.stored(target, design.network(target, request.dtype), request, {})
        assert (back.rate, back.steps, back.printed) == (design.rate, design.steps, design.printed)
        assert np.array_equal(back.head.values, design.head.values) and isinstance(request, Request)
