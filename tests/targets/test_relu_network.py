"""ReLU networks over sequences as two attention layers."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import headsmith as hs

Relu = hs.target.ReluNetwork


def weights(seed, n=3, units=5, d=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, units, n, d)), rng.choice([-1.0, 1.0, 0.5], (n, units)), rng.normal(size=(n, units))


def f(X, inner, outer, bias):
    return (outer * np.maximum(np.einsum("ikjd,bjd->bik", inner, X) + bias, 0)).sum(-1)


@given(st.integers(0, 10_000), st.sampled_from([("float64", 1e-9), ("float64", 1e-1), ("float32", 1e-2)]))
def test_measured_stays_below_certified(seed, precision):
    dtype, eps = precision
    n, units, d = np.random.default_rng(seed).integers(1, 5, 3)
    w = weights(seed, n, units, d)
    net = hs.compile(Relu(*w), domain=(-1, 1), eps=eps, dtype=dtype)
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (200, n, d))
    X[:50] = np.sign(X[:50])
    X = torch.from_numpy(X).to(net.dtype)
    assert np.abs(net(X).double().numpy() - f(X.double().numpy(), *w)).max() <= net.certificate.bound <= eps


def test_the_sharpness_follows_from_eps():
    plans = [hs.plan(Relu(*weights(0)), domain=(-1, 1), eps=eps) for eps in (1e-2, 1e-4)]
    assert plans[1].design.beta == pytest.approx(100 * plans[0].design.beta, rel=0.01)
    assert plans[0].heads == 9 + 5 and plans[0].layers == 2


def test_its_balls_hold_the_values():
    w = weights(4)
    net = hs.compile(Relu(*w), domain=(-1, 1), eps=1e-6)
    X = np.random.default_rng(0).uniform(-1, 1, (7, 3, 2))
    errors = net.certify(torch.from_numpy(X)).numpy()
    assert errors.shape == (7, 3) and errors.max() <= net.certificate.bound
    assert np.allclose(errors, np.abs(net(torch.from_numpy(X)).numpy() - f(X, *w)), atol=1e-13)


def test_a_bias_may_be_left_out():
    inner, outer, _ = weights(0)
    assert not hs.compile(Relu(inner, outer), domain=(-1, 1), eps=1e-3)(np.zeros((3, 2))).any()


def test_the_sentence_says_size_and_domain():
    statement = hs.compile(Relu(*weights(0)), domain=(-1, 3), eps=1e-3).certificate.statement
    assert statement.startswith(
        "|network(X) - f(X)| <= bound for every float64 X in [-1, 3], at every token, f the net"
    )
    assert "5 ReLU units over 3 tokens of 2 features of SHA-256 " in statement
    assert statement != hs.compile(Relu(*weights(1)), domain=(-1, 3), eps=1e-3).certificate.statement


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_a_refusal_offers_can_be_had(dtype):
    with pytest.raises(hs.Refusal, match="can be had") as refused:
        hs.plan(Relu(*weights(1)), domain=(-1, 1), eps=1e-15, dtype=dtype)
    eps = float(str(refused.value).split("eps = ")[-1].split(" ")[0].rstrip(","))
    assert hs.plan(Relu(*weights(1)), domain=(-1, 1), eps=eps, dtype=dtype).bound <= eps


def test_shapes_that_do_not_fit_are_refused():
    inner, outer, _ = weights(1)
    for wrong in ((inner, outer, np.zeros((2, 2))), (inner[:2], outer), (inner, outer[:, :2])):
        with pytest.raises(hs.Refusal, match="shape"):
            Relu(*wrong)
    with pytest.raises(hs.Refusal, match="axes"):
        Relu(inner, outer, np.zeros(3))
    with pytest.raises(hs.Refusal, match=r"X must have shape \(..., 3, 2\)"):
        hs.compile(Relu(*weights(1)), domain=(-1, 1), eps=1e-3)(torch.zeros(2, 3))
