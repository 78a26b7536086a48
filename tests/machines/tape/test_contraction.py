"""Loops that forget: no step moves two points further apart than is proved, and there are two that it moves so far."""

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import torch
from flint import arb, arb_mat

import headsmith as hs
from headsmith.functions import precision
from headsmith.machines.tape.contraction import SLOPES, contraction, drift, followed, step_error, step_factor
from headsmith.proof.ball_matrix import entered
from headsmith.proof.certificate import StaleCertificate
from headsmith.refusal import Refusal


def slope(loss):
    return {
        "squared": lambda t: t,
        "logistic": lambda t: 0.5 * np.tanh(t / 2),
        "huber": lambda t: np.clip(t, -1.0, 1.0),
    }[loss]


def stepped(X, y, w, loss, rate, l1, l2):
    w = w - rate * (X.T @ slope(loss)(X @ w - y) / len(X) + l2 * w)
    return np.sign(w) * np.maximum(np.abs(w) - rate * l1, 0.0)


def data(seed=0, samples=20, features=3):
    r = np.random.default_rng(seed)
    return r.standard_normal((samples, features)), r.standard_normal(samples)


@pytest.mark.parametrize("loss", SLOPES)
@pytest.mark.parametrize(("rate", "l1", "l2"), [(0.1, 0.0, 0.0), (0.5, 0.1, 0.3), (3.0, 0.05, 0.2)])
def test_no_step_exceeds_its_factor(loss, rate, l1, l2):
    X, y = data()
    factor, r = step_factor(X, loss, rate, l2), np.random.default_rng(1)
    for size in (1e-3, 1.0, 100.0):
        w, v = size * r.standard_normal((2, 3))
        moved = np.linalg.norm(stepped(X, y, w, loss, rate, l1, l2) - stepped(X, y, v, loss, rate, l1, l2))
        assert moved <= factor * np.linalg.norm(w - v) * (1 + 1e-9)


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("l2", [0.0, 0.25])
def test_the_factor_is_attained_along_an_eigenvector(rate, l2):
    X, y = data()
    values, vectors = np.linalg.eigh(X.T @ X / len(X) + l2 * np.eye(3))
    expected = max(abs(1 - rate * values[0]), abs(1 - rate * values[-1]))
    factor = step_factor(X, "squared", rate, l2)
    assert expected * (1 - 1e-12) <= factor <= expected * (1 + 1e-8)
    worst = vectors[:, 0] if abs(1 - rate * values[0]) == expected else vectors[:, -1]
    moved = stepped(X, y, worst, "squared", rate, 0.0, l2) - stepped(X, y, 0 * worst, "squared", rate, 0.0, l2)
    assert np.linalg.norm(moved) == pytest.approx(expected, rel=1e-9)


def test_losses_that_flatten_contract_by_the_penalty_alone():
    X, _ = data()
    for loss in ("logistic", "huber"):
        assert step_factor(X, loss, 0.1) == 1.0
        assert step_factor(X, loss, 0.1, 0.5) == pytest.approx(0.95)
    most = float(np.linalg.eigvalsh(X.T @ X / len(X))[-1])
    assert step_factor(X, "logistic", 12 / most) == pytest.approx(2.0, rel=1e-8)
    assert step_factor(X, "huber", 3 / most) == pytest.approx(2.0, rel=1e-8)


def test_more_features_than_samples_do_not_contract():
    X, _ = data(samples=2, features=5)
    assert step_factor(X, "squared", 0.01) == 1.0
    assert step_factor(X, "squared", 0.01, 0.5) < 1.0


@pytest.mark.parametrize("factor", [0.0, 0.5, 0.999999, 1.0, 1.5])
@pytest.mark.parametrize("steps", [1, 2, 7, 200])
def test_the_drift_is_a_geometric_sum_rounded_up(factor, steps):
    exact = sum(Fraction(factor) ** i for i in range(steps)) * Fraction(1e-12)
    found = Fraction(drift(factor, 1e-12, steps))
    assert exact <= found <= exact * Fraction(1 + 1e-15)


def test_without_an_end_only_what_contracts_stays_near():
    assert drift(0.75, 1.0) == 4.0 and drift(1.0, 0.0) == 0.0
    assert math.isinf(drift(1.0, 1e-12)) and math.isinf(drift(1.1, 1e-12))


def test_the_worst_errors_reach_the_drift():
    """Errors that all point the same way along the slowest eigenvector."""
    X, y = np.diag([1.0, 2.0]), np.zeros(2)
    rate, e, w = 0.5, np.array([1e-3, 0.0]), np.zeros(2)
    factor = step_factor(X, "squared", rate)
    for k in range(1, 30):
        w = stepped(X, y, w, "squared", rate, 0.0, 0.0) + e
        assert 0.999 * drift(factor, 1e-3, k) <= np.linalg.norm(w) <= drift(factor, 1e-3, k) * (1 + 1e-12)


def test_a_descent_has_the_factor_of_its_steps():
    X, y = data()
    program = hs.prompt.descent(X, y, l1=0.1, l2=0.2, rate=0.1)
    assert contraction(program) == step_factor(X, "squared", 0.1, 0.2) < 1
    assert contraction(hs.prompt.descent(X, y)) < 1 < contraction(hs.prompt.descent(X, y, rate=100.0))
    assert contraction(hs.prompt.descent(X, (y > 0).astype(float), "logistic")) == 1.0
    with pytest.raises(Refusal, match="momentum=0 has a factor"):
        contraction(hs.prompt.descent(X, y, momentum=0.9))
    iterates = list(program.iterates())
    apart = [float((after - before).norm()) for before, after in pairwise(iterates[:40])]
    assert all(after <= contraction(program) * before * (1 + 1e-9) for before, after in pairwise(apart))


def far(program, iterates):
    """|w_k - exact iterate|_2 for every k, the exact ones in balls of 300 bits."""
    with precision(300):
        step, w = program.exact_step(), arb_mat(len(program.l1), program.X.shape[1])
        for met in iterates[1:]:
            w = step(w)
            rows = (entered(met) - w).tolist()
            yield max(float(sum((x * x for x in row), arb(0)).sqrt()) for row in rows)


def off(program, error):
    """Iterates of which each is that far from the step behind the one before."""
    w = torch.zeros(len(program.l1), program.X.shape[1], dtype=torch.float64)
    yield w
    for _ in range(program.steps):
        w = w - program.rate * (program.slope(w) @ program.X / len(program.y) + program.l2 * w) + error
        yield w


def test_errors_that_point_along_the_slowest_direction_reach_the_bound():
    program = hs.prompt.descent(np.diag([1.0, 2.0]), [0.0, 0.0], rate=0.5, steps=30)
    iterates = list(off(program, torch.tensor([1e-3, 0.0])))
    bound = followed(program, iterates).bound
    assert (
        0.995 * bound < max(far(program, iterates)) <= bound == pytest.approx(1.002e-3 * 4 * (1 - 0.75**30), rel=1e-3)
    )


def test_the_largest_step_of_the_worst_penalty_counts():
    program = hs.prompt.descent([[1.0], [1.0]], [0.0, 0.0], l1=[0.0, 1.0], rate=0.5, steps=3)
    zero = torch.zeros(2, 1, dtype=torch.float64)
    given = [zero, zero + torch.tensor([[0.25], [0.0]]), zero + torch.tensor([[0.125], [1.0]]), zero]
    assert step_error(program, given) == 1.0 and step_error(program, [zero] * 4) < 1e-30
    two = hs.prompt.descent(np.eye(2), [0.0, 0.0], rate=0.5, steps=1)
    assert step_error(two, [torch.zeros(1, 2).double(), torch.tensor([[3.0, 4.0]]).double()]) == pytest.approx(5.0)


def test_what_does_not_contract_adds_up():
    X, y = data()
    program = hs.prompt.descent(X, (y > 0).astype(float), "logistic", steps=5)
    iterates = list(off(program, torch.tensor([1e-3, 0.0, 0.0])))
    certificate = followed(program, iterates)
    assert (
        certificate.bound == pytest.approx(5e-3, rel=0.01) and "<= e k for every k from 1 to 5" in certificate.statement
    )
    assert max(far(program, iterates)) <= certificate.bound


def test_only_iterates_of_the_program_are_followed():
    program = hs.prompt.descent([[1.0]], [1.0], steps=1)
    one, endless = torch.ones(1, 1).double(), torch.full((1, 1), math.nan).double()
    with pytest.raises(Refusal, match="begins at 0, and this run elsewhere"):
        followed(program, [one, one])
    with pytest.raises(Refusal, match="is not finite"):
        followed(program, [0 * one, endless])
    with pytest.raises(Refusal, match="momentum=0 has a factor"):
        followed(hs.prompt.descent([[1.0]], [1.0], momentum=0.5), [0 * one, one])


@pytest.mark.parametrize(
    ("loss", "options"),
    [("squared", {}), ("squared", {"l1": 0.1}), ("squared", {"l1": [0.05, 5.0], "l2": 0.1}), ("huber", {"l2": 0.2}),
     ("logistic", {"l2": 0.3})],
)  # fmt: skip
@pytest.mark.parametrize("way", [{}, {"looped": True}, {"rows": "all"}])
def test_no_iterate_of_a_run_is_further_than_its_drift(loss, options, way):
    X, y = data(samples=6)
    program = hs.prompt.descent(X, (y > 0).astype(float) if loss == "logistic" else y, loss, steps=8, **options)
    result = block()(program, **way)
    certificate, vm = result.drift(), result.machine
    iterates = [
        w.reshape(len(program.l1), -1) for w in vm.iterates(result.program, result.entered, result.way, result.value)
    ]
    assert len(iterates) == 9 and max(far(program, iterates)) <= certificate.bound < 1e-10
    assert "for every k from 1 to 8" in certificate.statement and program.formula in certificate.statement
    assert float((iterates[3] - list(program.iterates())[2]).abs().max()) < 1e-11


@cache
def block():
    return hs.machine.Tape(slot=12, slots=4, heads=2)


def test_a_drift_is_that_of_the_run():
    X, y = data(samples=6)
    result = block()(hs.prompt.descent(X, y, steps=2))
    result.value[0] += 1.0
    with pytest.raises(StaleCertificate, match="changed after the run"):
        result.drift()
    with pytest.raises(Refusal, match=r"chain has no steps of descent: result.prove\(\) bounds"):
        block()(hs.prompt.linear([[1.0]]), [[1.0]]).drift()
    again = block()(hs.prompt.descent(X, y, steps=2))
    again.program.loop[-1].rows[0].weights[1].mul_(2.0)
    with pytest.raises(StaleCertificate, match="changed after the run"):
        again.drift()
