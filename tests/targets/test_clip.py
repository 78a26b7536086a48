"""n truncated linear models: gates, tables, heads on tokens, the printed versions."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import headsmith as hs


def models(n=5, d=3, low=-1.0, high=1.0, seed=0):
    g = np.random.default_rng(seed)
    return hs.target.Clip(g.normal(size=(n, d)), g.normal(size=n), low, high)


def inputs(net, count, domain, seed=1):
    """Random prompts, corners of the box, and prompts that put z at the kinks and just beside them."""
    clip = net.target
    g = np.random.default_rng(seed)
    x = g.uniform(*domain, (count, *clip.W.shape))
    x[: count // 4] = np.where(x[: count // 4] > 0, domain[1], domain[0])
    for k in range(count // 4, count // 2):
        goal = (clip.low, clip.high)[k % 2] + g.normal() * 10.0 ** g.uniform(-9, 0)
        row = x[k] - clip.W * ((x[k] * clip.W).sum(1) + clip.t - goal)[:, None] / (clip.W**2).sum(1)[:, None]
        x[k] = np.clip(row, *domain)
    return torch.tensor(x).to(net.dtype).clamp(*domain)


def measured(net, x):
    clip = net.target
    z = np.einsum("bnd,nd->bn", x.numpy().astype(np.longdouble), clip.W.astype(np.longdouble)) + clip.t
    return float(np.abs(net(x).double().numpy() - np.clip(z, clip.low, clip.high)).max())


CASES = [
    (dict(eps=1e-3), "gate", 4),
    (dict(eps=1e-10), "gate", 4),
    (dict(eps=1e-2, method="table"), "table", 4),
    (dict(eps=1e-2, method="heads"), "telescoping heads", 20),
    (dict(eps=1e-2, heads=3), "telescoping tables", 12),
    (dict(eps=1e-3, dtype="float32"), "gate", 4),
    (dict(eps=1e-1, method="printed"), "printed", 40),
    (dict(eps=1e-1, method="printed", heads=4), "printed", 20),
]


@pytest.mark.parametrize("request_, method, keys", CASES, ids=str)
def test_measured_is_at_most_certified(request_, method, keys):
    net = hs.compile(models(), domain=(-2, 2), **request_)
    x, bound = inputs(net, 800, (-2, 2)), net.certificate.bound
    assert (net.certificate.kind, net.plan.method) == ("proved", method) and net.plan.anchors <= keys
    assert measured(net, x) <= bound
    assert float(net.certify(x[:3]).max()) <= bound
    assert bound <= request_["eps"] or (method == "printed" and "heads" in request_)


def test_the_sentence_names_every_hypothesis():
    net = hs.compile(models(4, 2, -0.1, 1.0000004), domain=(-1, 0.3), eps=1e-2)
    assert net.certificate.statement == (
        "|network(x) - Range_[-0.1, 1.0000004](w_i . x_i + t_i)| <= bound for every float64 x in [-1, 0.3], "
        f"at each of 4 tokens of 2 features, w and t of SHA-256 {net.target.hash()}"
    )


def test_other_weights_have_another_sentence():
    one, other = (hs.compile(hs.target.Clip([[w]], [0.0]), domain=(-1, 1), eps=1e-2) for w in (1.0, -1.0))
    assert one.certificate.statement != other.certificate.statement
    assert str(one.target) == "Clip of 1 truncated linear model in 1 feature, range [-1, 1]"


def test_gates_at_any_eps_and_tables_with_few_keys():
    """Range on [-1, 1] over z in [-2, 2]: 4 keys both ways; the printed rule asks for 40, 400, 4000."""
    line = hs.target.Clip([[1.0]], [0.0])
    for eps in (1e-1, 1e-4, 1e-10):
        assert hs.plan(line, domain=(-2, 2), eps=eps).anchors == 4
    plan = hs.plan(line, domain=(-2, 2), eps=1e-3, method="table")
    assert plan.heads == 1 and plan.anchors <= 4 and plan.bound <= 1e-3 and plan.printed_anchors == 4000
    assert hs.plan(line, domain=(-2, 2), eps=1e-1, method="printed").anchors == 40
    huge = hs.plan(line, domain=(-2, 2), eps=1e-5, method="printed")
    assert huge.anchors == 400_000
    with pytest.raises(hs.Refusal, match="anchors"):
        huge.build()


@pytest.mark.slow
def test_multi_head_form_needs_27_heads_where_the_printed_rule_needs_750():
    clip = hs.target.Clip(np.full((10, 2), 0.6), np.full(10, 0.5), -1.0, 2.0)
    plan = hs.plan(clip, domain=(-2, 2), eps=1e-3, method="heads")
    assert plan.heads <= 27 and plan.bound <= 1e-3 and plan.printed_anchors == 7500


def test_the_target_may_ask_for_heads():
    W, t = np.full((5, 2), 0.4), np.linspace(-0.2, 0.2, 5)
    own = hs.plan(hs.target.Clip(W, t, low=-1, high=1, heads=4), domain=(-3, 3), eps=1e-2)
    asked = hs.plan(hs.target.Clip(W, t, low=-1, high=1), domain=(-3, 3), eps=1e-2, heads=4)
    assert own.heads == asked.heads == 4 and own.bound == asked.bound
    with pytest.raises(hs.Refusal, match="heads must be"):
        hs.target.Clip(W, t, heads=1.5)
    with pytest.raises(hs.Refusal, match="did you mean heads"):
        hs.plan(hs.target.Clip(W, t), domain=(-3, 3), eps=1e-2, head=4)


def test_printed_heads_lose_the_truncation():
    net = hs.compile(models(6, 2, -1.0, 2.0), domain=(-3, 3), eps=0.1, heads=8, method="printed")
    x = inputs(net, 400, (-3, 3))
    assert measured(net, x) == pytest.approx(2.0, abs=1e-6)
    assert net.certificate.bound >= 2.0 > net.plan.eps
    assert "misses" in str(net.plan)


def test_refusals_name_what_can_be_had():
    with pytest.raises(hs.Refusal, match="can be had") as refused:
        hs.compile(models(1, 2), domain=(-2, 2), eps=1e-7, dtype="float32")
    eps = float(str(refused.value).split("eps = ")[1].split()[0])
    assert hs.compile(models(1, 2), domain=(-2, 2), eps=eps, dtype="float32").certificate.bound <= eps
    with pytest.raises(hs.Refusal, match="cannot be the keys"):
        hs.plan(models(2), domain=(-2, 2), eps=1e-2, heads=2)
    with pytest.raises(hs.Refusal, match="domain"):
        hs.plan(models(), eps=1e-2)
    with pytest.raises(hs.Refusal, match="W has 1 row but t has 2 numbers"):
        hs.target.Clip([[1.0]], [0.0, 1.0])
    with pytest.raises(hs.Refusal, match="low < high"):
        hs.target.Clip([[1.0]], [0.0], 1, 1)
    net = hs.compile(models(), domain=(-2, 2), eps=1e-2)
    with pytest.raises(hs.Refusal, match="outside"):
        net(torch.full((5, 3), 2.5, dtype=torch.float64))
    with pytest.raises(hs.Refusal, match="shape"):
        net(torch.zeros(5, 4, dtype=torch.float64))


@pytest.mark.slow
def test_too_few_heads_are_refused_with_an_eps_that_can_be_had():
    with pytest.raises(hs.Refusal, match="heads=65; eps = ") as refused:
        hs.plan(models(3, 2), domain=(-2, 2), eps=1e-3, heads=2)
    eps = float(str(refused.value).split("; eps = ")[1].split()[0])
    assert hs.plan(models(3, 2), domain=(-2, 2), eps=eps, heads=2).bound <= eps <= 0.07
    with pytest.raises(hs.Refusal, match="819 that are built on 5 tokens; eps = "):
        hs.plan(models(), domain=(-2, 2), eps=1e-6, method="heads")


@settings(max_examples=8)
@given(
    seed=st.integers(0, 99),
    low=st.floats(-3, 1),
    width=st.floats(0.01, 5),
    scale=st.floats(1e-3, 30),
    digits=st.integers(1, 8),
    shape=st.tuples(st.integers(1, 6), st.integers(1, 9)),
    dtype=st.sampled_from(["float64", "float32"]),
)
def test_any_models(seed, low, width, scale, digits, shape, dtype):
    g = np.random.default_rng(seed)
    clip = hs.target.Clip(scale * g.normal(size=shape), g.normal(size=shape[0]), low, low + width)
    eps = 10.0**-digits if dtype == "float64" else 0.05
    net = hs.compile(clip, domain=(-1, 3), eps=eps, dtype=dtype)
    x = inputs(net, 100, (-1, 3), seed)
    assert measured(net, x) <= net.certificate.bound <= eps


def test_range_is_exact_at_float_ends():
    net = hs.compile(hs.target.Clip([[1.0]], [0.0], 0.1, 0.3), domain=(-1, 1), eps=1e-12)
    assert math.isclose(float(net(torch.tensor([[1.0]], dtype=torch.float64))), 0.3, abs_tol=1e-12)
