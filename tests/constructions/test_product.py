"""Lemma I.1: what the stored matrices prove, in exact arithmetic and for an adversary who rounds."""

import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.proof.worst_case import COARSE, worst

import headsmith as hs
from headsmith.compiler.request import Request
from headsmith.constructions.design import Altered
from headsmith.constructions.product import Mixture
from headsmith.proof import mixing
from headsmith.proof.approximation import Unprovable
from headsmith.proof.domain import Domain
from headsmith.proof.rounding import EXP_ERROR, Format

Product = hs.target.Product
u = COARSE.unit


def request(radius=1.0, dtype="float64"):
    return Request(1.0, Domain({"X": (-radius, radius / 2)}), dtype)


def mixture(logs, values):
    """One column of logs for each head, one row of values."""
    return Mixture(np.array(logs)[:, :, None], np.array(values)[:, None, :])


def bound(design, radius=1.0, fmt=COARSE):
    weights = np.exp(design.logs - design.logs.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    return design.rounding(weights.transpose(0, 2, 1), radius, fmt)


def attained(design, X, fmt=COARSE):
    """The worst rounding of the only entry, for X as tokens of features."""

    def run(op):
        heads = []
        for logs, value in zip(design.logs[:, :, 0], design.values[:, 0], strict=True):
            weights = op.softmax(logs.tolist(), mixing.EXP_ERROR)
            heads.append(op.dot(weights, [*(op.dot(value.tolist(), x) for x in X), 0.0]))
        return op.sum(heads)

    return worst(run, fmt)


@given(st.integers(0, 10_000))
def test_no_rounding_exceeds_it(seed):
    rng = np.random.default_rng(seed)
    heads, n, d = rng.integers(1, 3), rng.integers(1, 4), rng.integers(1, 4)
    design = mixture(rng.normal(size=(heads, n + 1)), rng.normal(size=(heads, d)))
    assert attained(design, rng.choice([-2.0, 2.0], (n, d)).tolist()) <= bound(design, 2.0)


def test_a_value_rounds_once_a_feature():
    design = mixture([[0.0, -600.0]], [[1.0, *[8 * u] * 99]])
    assert 0.9 * bound(design) <= attained(design, [[1.0] * 100]) <= bound(design)


def test_two_heads_are_added(monkeypatch):
    monkeypatch.setattr(mixing, "EXP_ERROR", 0)
    design = mixture([[0.0, -600.0]] * 2, [[1.0]] * 2)
    assert attained(design, [[1.0]]) == pytest.approx(10 * u, rel=1e-4)
    assert attained(design, [[1.0]]) <= bound(design) <= 10.01 * u


@pytest.mark.parametrize(
    ("design", "X"),
    [
        (mixture([[0.0, -30.0]], [[1.0, *[0.9 * 2.0**-12] * 99]]), [[1.0] * 100]),
        (mixture([[0.0] * 50 + [-30.0]], [[49.0 * 2.0**-12]]), [[1.0]] * 50),
    ],
)
def test_products_that_underflow(design, X):
    tiny = Format("float64", 2.0**-45, 2.0**-12)
    assert 0.8 * bound(design, fmt=tiny) <= attained(design, X, tiny) <= bound(design, fmt=tiny)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("B", [[[0.5, -1.0], [0.0, 2.0]], [[0.5, 1.0], [3.0, 2.0]]])
def test_stored_logarithms_cost_what_the_worst_input_says(B, dtype):
    """The extreme X has the sign of each coefficient; only its size counts, not where the domain lies."""
    A, B, radius = np.array([[1.0, -2.0, 0.3]]), np.array(B), 1000.0
    design = Mixture.of(A, B, dtype)
    with mpmath.workdps(50):
        logs = [[[mpmath.exp(x) for x in column] for column in head.T] for head in design.logs]
        P = [[[w / mpmath.fsum(column) for w in column[:-1]] for column in head] for head in logs]
        true = max(
            mpmath.fsum(
                abs(
                    mpmath.fsum(design.values[h, 0, k] * P[h][j][r] for h in range(design.tally.heads))
                    - mpmath.mpf(A[0, k]) * B[r, j]
                )
                for k in range(3)
                for r in range(2)
            )
            for j in range(2)
        )
    found = design.prove(Product(A, B), request(radius, dtype)).approximation
    assert true * radius <= found <= true * radius * 1.000001


def test_the_rounding_grows_with_the_domain():
    P = Product([[1.0, 3.0]], [[2.0, -1.0], [0.5, 0.0]])
    small, large = (Mixture.of(P.A, P.B).prove(P, request(r)) for r in (1.0, 1000.0))
    assert large.rounding == pytest.approx(1000 * small.rounding)
    assert large.approximation == pytest.approx(1000 * small.approximation)


def test_printed_weights_sum_to_three_times_the_largest_column():
    B = np.array([[1.0, 2.0], [3.0, 0.5]])
    weights = np.exp(Mixture.of(np.eye(2), B, floor=0.0, share=3.0).logs[0])
    assert np.allclose(weights.sum(0), 12.0) and np.allclose(weights[:2], B)


def test_without_a_floor_zero_entries_give_nan_and_no_proof():
    A, B = np.eye(2), np.array([[0.0, 1.0], [-1.0, 0.0]])
    with np.errstate(invalid="ignore"):
        broken = Mixture.of(A, B, floor=0.0)
        assert torch.isnan(broken.network(None, "float64")(torch.ones(2, 2).double())).any()
    with pytest.raises(Unprovable, match="range"):
        broken.prove(Product(A, B), request())


def test_what_leaves_the_range_of_the_dtype_is_not_proved():
    for A, radius in ((1e30, 1e10), (1e38, 1.0)):
        with pytest.raises(hs.Refusal, match="range of float32"):
            hs.plan(Product([[A, A]], [[1.0]]), domain=(-radius, radius), eps=1e36, dtype="float32")
    assert hs.plan(Product([[1e30]], [[1.0]]), domain=(-1e3, 1e3), eps=1e30, dtype="float32").bound < 1e28


def test_other_shapes_than_the_target_are_not_proved():
    design = Mixture.of(np.eye(2), np.ones((3, 2)))
    for A, B in ((np.ones((3, 2)), np.ones((3, 2))), (np.eye(2), np.ones((3, 3))), (np.eye(2), np.ones((4, 2)))):
        with pytest.raises(Altered):
            design.prove(Product(A, B), request())


def test_exp_error_is_that_of_the_model():
    assert mixing.EXP_ERROR == EXP_ERROR and math.isfinite(bound(mixture([[0.0, 0.0]], [[1.0]])))
