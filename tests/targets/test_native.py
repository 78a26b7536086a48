"""ReLU networks over sequences as two attention layers, and the printed third layer beside them."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import headsmith as hs
from headsmith.heads.native import printed_unit

Relu = hs.target.ReluNetwork


def weights(seed, n=3, units=5, d=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, units, n, d)), rng.choice([-1.0, 1.0, 0.5], (n, units)), rng.normal(size=(n, units))


def f(X, inner, outer, bias):
    return (outer * np.maximum(np.einsum("ikjd,bjd->bik", inner, X) + bias, 0)).sum(-1)


@given(st.integers(0, 10_000), st.sampled_from([("float64", 1e-9), ("float64", 1e-1), ("float32", 1e-2)]))
def test_measured_stays_below_certified(seed, precision):
    dtype, eps = precision
    w = weights(seed)
    net = hs.compile(Relu(*w), domain=(-1, 1), eps=eps, dtype=dtype)
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (200, 3, 2))
    X[:50] = np.sign(X[:50])
    X = torch.from_numpy(X).to(net.dtype)
    assert np.abs(net(X).double().numpy() - f(X.double().numpy(), *w)).max() <= net.certificate.bound <= eps


def test_the_sharpness_follows_from_eps():
    plans = [hs.plan(Relu(*weights(0)), domain=(-1, 1), eps=eps) for eps in (1e-2, 1e-4)]
    assert plans[1].beta == pytest.approx(100 * plans[0].beta, rel=0.01)
    assert plans[0].heads == 9 + 5 and plans[0].layers == 2


def test_the_printed_layer_returns_half_the_absolute_value_for_every_beta():
    sums = np.linspace(-2, 2, 30).reshape(10, 3)
    signs = np.array([1.0, -1.0, 1.0])
    for beta in (50.0, 500.0):
        assert np.allclose(printed_unit(sums, signs, beta), signs * np.abs(sums) / 2, atol=0.6 / beta)


def test_files_and_refusals(tmp_path):
    net = hs.compile(Relu(*weights(1)), domain=(-1, 1), eps=1e-3)
    back = hs.load(net.save(tmp_path / "n.safetensors"))
    assert back.reprove().bound == net.certificate.bound
    with torch.no_grad():
        back.network.layers["read"].value.weight[0, 0, 0] += 1e-9
    with pytest.raises(hs.Refusal, match="not the construction"):
        back.reprove()
    with pytest.raises(hs.Refusal, match="can be had") as refused:
        hs.plan(Relu(*weights(1)), domain=(-1, 1), eps=1e-15)
    eps = float(str(refused.value).split("eps = ")[-1].split(" ")[0])
    assert hs.plan(Relu(*weights(1)), domain=(-1, 1), eps=eps).bound <= eps
    with pytest.raises(hs.Refusal, match="shape"):
        hs.plan(Relu(*weights(1)[:2], np.zeros(3)), domain=(-1, 1), eps=1e-3)


@pytest.mark.parametrize(
    ("method", "eps", "dtype"), [("anchors", 0.2, "float64"), ("printed", 3.0, "float64"), ("anchors", 0.5, "float32")]
)
def test_anchors_keep_the_direct_bound(method, eps, dtype, tmp_path):
    w = weights(2)
    net = hs.compile(Relu(*w), domain=(-1, 1), eps=eps, method=method, dtype=dtype)
    X = np.random.default_rng(0).uniform(-1, 1, (300, 3, 2))
    X[:80] = np.sign(X[:80])
    X = torch.from_numpy(X).to(net.dtype)
    assert np.abs(net(X).double().numpy() - f(X.double().numpy(), *w)).max() <= net.certificate.bound <= eps
    assert hs.load(net.save(tmp_path / "a.safetensors")).reprove().bound == net.certificate.bound


def test_sharp_anchors_need_many_more():
    w = weights(2)
    tuned, sharp = (hs.plan(Relu(*w), domain=(-1, 1), eps=3.0, method=m) for m in ("anchors", "printed"))
    assert sharp.sizes[1] > 4 * tuned.sizes[1]
    with pytest.raises(hs.Refusal, match="anchors would be needed"):
        hs.plan(Relu(*w), domain=(-1, 1), eps=1e-4, method="anchors")
