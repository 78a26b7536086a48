"""n truncated linear models: gates, tables, heads on tokens, the printed versions, and the prompt as program."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import headsmith as hs
from headsmith.heads import clip as rules
from headsmith.proof.certificate import StaleCertificate


def models(n=5, d=3, low=-1.0, high=1.0, seed=0):
    g = np.random.default_rng(seed)
    return hs.target.Clip(g.normal(size=(n, d)), g.normal(size=n), low, high)


def inputs(net, count, domain, seed=1):
    """Random prompts, corners of the box, and prompts that put z at the kinks and just beside them."""
    clip = net.plan.clip
    g = np.random.default_rng(seed)
    x = g.uniform(*domain, (count, *clip.W.shape))
    x[: count // 4] = np.where(x[: count // 4] > 0, domain[1], domain[0])
    for k in range(count // 4, count // 2):
        goal = (clip.low, clip.high)[k % 2] + g.normal() * 10.0 ** g.uniform(-9, 0)
        row = x[k] - clip.W * ((x[k] * clip.W).sum(1) + clip.t - goal)[:, None] / (clip.W**2).sum(1)[:, None]
        x[k] = np.clip(row, *domain)
    return torch.tensor(x).to(net.dtype).clamp(*domain)


def measured(net, x):
    clip = net.plan.clip
    z = np.einsum("bnd,nd->bn", x.numpy().astype(np.longdouble), clip.W.astype(np.longdouble)) + clip.t
    return float(np.abs(net(x).double().numpy() - np.clip(z, clip.low, clip.high)).max())


CASES = [
    dict(eps=1e-3),
    dict(eps=1e-10),
    dict(eps=1e-6, method="table"),
    dict(eps=1e-2, method="heads"),
    dict(eps=1e-3, heads=4),
    dict(eps=1e-3, dtype="float32"),
    dict(eps=1e-1, method="printed"),
    dict(eps=1e-1, method="printed", heads=4),
]


@pytest.mark.parametrize("request_", CASES, ids=str)
def test_measured_is_at_most_certified(request_):
    net = hs.compile(models(), domain=(-2, 2), **request_)
    x = inputs(net, 800, (-2, 2))
    bound = net.certificate.bound
    assert net.certificate.kind == "proved"
    assert measured(net, x) <= bound
    assert float(net.certify(x[:3]).max()) <= bound
    assert bound <= request_["eps"] or (request_.get("method") == "printed" and "heads" in request_)


@pytest.mark.parametrize("request_", [dict(eps=1e-6), dict(eps=1e-3, heads=3), dict(eps=1e-4, method="table")], ids=str)
def test_saved_loaded_and_proved_again(request_, tmp_path):
    net = hs.compile(models(low=-0.5, high=2.0), domain=(-1, 1), **request_)
    x = inputs(net, 40, (-1, 1))
    again = hs.load(net.save(tmp_path / "clip.safetensors"))
    assert torch.equal(again(x), net(x))
    assert again.reprove().bound == net.certificate.bound
    assert again.plan.anchors == net.plan.anchors and again.plan.heads == net.plan.heads
    assert torch.equal(again.plan.build()(x), net(x))
    with torch.no_grad():
        again.network.layers["models"].bias[0] += 1e-9
    with pytest.raises(StaleCertificate):
        _ = again.certificate
    assert again.reprove().bound > net.certificate.bound  # the moved model is paid for, not overlooked


def test_gates_at_any_eps_and_tables_with_few_keys():
    """Range on [-1, 1] over z in [-2, 2]: 4 keys both ways; the printed rule asks for 40, 400, 4000."""
    line = hs.target.Clip([[1.0]], [0.0])
    for eps in (1e-1, 1e-4, 1e-10):
        assert hs.plan(line, domain=(-2, 2), eps=eps).anchors == 4
    for eps in (1e-3, 1e-6):
        plan = hs.plan(line, domain=(-2, 2), eps=eps, method="table")
        assert plan.heads == 1 and plan.anchors <= 6 and plan.bound <= eps
    assert [rules.printed_size(-1, 1, e) for e in (1e-1, 1e-2, 1e-3)] == [40, 400, 4000]
    assert hs.plan(line, domain=(-2, 2), eps=1e-1, method="printed").anchors == 40
    huge = hs.plan(line, domain=(-2, 2), eps=1e-5, method="printed")
    assert huge.anchors == 400_000
    with pytest.raises(hs.Refusal, match="anchors"):
        huge.build()


def test_multi_head_form_needs_27_heads_where_the_printed_rule_needs_750():
    clip = hs.target.Clip(np.full((10, 2), 0.6), np.full(10, 0.5), -1.0, 2.0)
    plan = hs.plan(clip, domain=(-2, 2), eps=1e-3, method="heads")
    assert plan.heads <= 27 and plan.bound <= 1e-3
    assert rules.sentinel_size(-1.0, 2.0, 10, 1e-3) == 750


def sup(heads, low, high, c=400_001):
    z = np.linspace(low - 1, high + 1, c)
    return float(np.abs(sum(h(z) for h in heads) - np.clip(z, low, high)).max())


def slope(sizes, errors):
    return np.polyfit(np.log(sizes), np.log(errors), 1)[0]


def test_the_target_may_ask_for_heads():
    W, t = np.full((5, 2), 0.4), np.linspace(-0.2, 0.2, 5)
    own = hs.plan(hs.target.Clip(W, t, low=-1, high=1, heads=4), domain=(-3, 3), eps=1e-3)
    asked = hs.plan(hs.target.Clip(W, t, low=-1, high=1), domain=(-3, 3), eps=1e-3, heads=4)
    assert own.heads == asked.heads == 4 and own.bound == asked.bound
    with pytest.raises(hs.Refusal, match="heads must be"):
        hs.target.Clip(W, t, heads=1.5)


def test_printed_rule_has_slope_minus_one_in_p():
    sizes = [8, 16, 32, 64]
    errors = [sup([rules.printed_rule(-1, 1, p)], -1, 1, 20_001) for p in sizes]
    assert slope(sizes, errors) == pytest.approx(-1, abs=0.02)
    assert errors == pytest.approx([2 / p for p in sizes], rel=1e-3)  # dL: the anchor that is missing


def test_repaired_sentinels_have_slope_minus_one_in_heads_and_tokens():
    by_heads = [sup(rules.sentinels(-1, 2, 6, H, 1e-3, repaired=True, c=40), -1, 2, 20_001) for H in (4, 8, 16)]
    by_tokens = [sup(rules.sentinels(-1, 2, n, 8, 1e-3, repaired=True, c=40), -1, 2, 20_001) for n in (10, 18, 34)]
    assert slope([4, 8, 16], by_heads) == pytest.approx(-1, abs=0.02)
    assert slope([8, 16, 32], by_tokens) == pytest.approx(-1, abs=0.02)
    assert by_heads[0] == pytest.approx(0.0719, rel=0.01)


def test_telescoping_heads_err_by_the_same_fraction_of_a_step():
    for n, H in ((3, 2), (6, 8), (18, 4)):
        error = sup(rules.telescope(-1, 2, n, H), -1, 2, 40_001)
        assert error * (n - 1) * H / 3 == pytest.approx(0.0615, abs=0.001)


def test_printed_heads_lose_the_truncation():
    net = hs.compile(models(6, 2, -1.0, 2.0), domain=(-3, 3), eps=0.1, heads=8, method="printed")
    x = inputs(net, 400, (-3, 3))
    assert measured(net, x) == pytest.approx(2.0, abs=1e-6)
    assert net.certificate.bound >= 2.0 > net.plan.eps
    assert "misses eps" in str(net.plan)


def test_refusals_name_what_can_be_had():
    with pytest.raises(hs.Refusal, match="can be had") as refused:
        hs.compile(models(1, 2), domain=(-2, 2), eps=1e-7, dtype="float32")
    eps = float(str(refused.value).split("eps = ")[1].split()[0])
    assert hs.compile(models(1, 2), domain=(-2, 2), eps=eps, dtype="float32").certificate.bound <= eps
    with pytest.raises(hs.Refusal, match="too few"):
        hs.plan(models(2), domain=(-2, 2), eps=1e-2, heads=2)
    with pytest.raises(hs.Refusal, match="heads="):
        hs.plan(models(3, 2), domain=(-2, 2), eps=1e-3, heads=2)
    with pytest.raises(hs.Refusal, match="domain"):
        hs.plan(models(), eps=1e-2)
    with pytest.raises(hs.Refusal, match="rows"):
        hs.target.Clip([[1.0]], [0.0, 1.0])
    with pytest.raises(hs.Refusal, match="low < high"):
        hs.target.Clip([[1.0]], [0.0], 1, 1)
    net = hs.compile(models(), domain=(-2, 2), eps=1e-2)
    with pytest.raises(hs.Refusal, match="outside"):
        net(torch.full((5, 3), 2.5, dtype=torch.float64))
    with pytest.raises(hs.Refusal, match="shape"):
        net(torch.zeros(5, 4, dtype=torch.float64))


def prompts(count, net, seed=0):
    clip, g = net.plan.clip, np.random.default_rng(seed)
    x = torch.tensor(g.uniform(-1, 1, (count, clip.tokens, clip.features))).to(net.dtype)
    w = torch.tensor(g.uniform(-clip.weight, clip.weight, (count, clip.features))).to(net.dtype)
    return x, w, torch.tensor(g.uniform(-clip.shift, clip.shift, (count, clip.tokens))).to(net.dtype)


@pytest.mark.parametrize("request_", [dict(eps=1e-3), dict(eps=1e-2, dtype="float32")], ids=str)
def test_weights_in_the_prompt(request_, tmp_path):
    net = hs.compile(hs.target.PromptClip(6, 3, weight=2.0), domain=(-1, 1), **request_)
    x, w, t = prompts(500, net)
    exact = ((x.double() * w.double()[:, None]).sum(-1) + t.double()).clamp(-1, 1)
    assert float((net(x, w, t).double() - exact).abs().max()) <= net.certificate.bound <= request_["eps"]
    assert float(net.certify(x[:3], w[:3], t[:3]).max()) <= net.certificate.bound
    again = hs.load(net.save(tmp_path / "prompt.safetensors"))
    assert torch.equal(again(x, w, t), net(x, w, t)) and again.reprove().bound == net.certificate.bound


def test_printed_prompt_loses_the_shifts():
    net = hs.compile(hs.target.PromptClip(4, 2), domain=(-1, 1), eps=0.2, method="printed")
    x, w, t = prompts(300, net)
    exact = ((x * w[:, None]).sum(-1) + t).clamp(-1, 1)
    error = float((net(x, w, t) - exact).abs().max())
    assert 0.9 < error <= net.certificate.bound
    halved = ((x * w[:, None]).sum(-1) + t[:, :1] / 2).clamp(-1, 1)
    assert float((net(x, w, t) - halved).abs().max()) < 0.2  # it does compute something: t_0 / 2 for every token


@settings(max_examples=8)
@given(
    seed=st.integers(0, 99),
    low=st.floats(-3, 1),
    width=st.floats(0.01, 5),
    scale=st.floats(1e-3, 30),
    digits=st.integers(1, 8),
    dtype=st.sampled_from(["float64", "float32"]),
)
def test_any_models(seed, low, width, scale, digits, dtype):
    g = np.random.default_rng(seed)
    clip = hs.target.Clip(scale * g.normal(size=(3, 2)), g.normal(size=3), low, low + width)
    eps = 10.0**-digits if dtype == "float64" else 0.05
    net = hs.compile(clip, domain=(-1, 3), eps=eps, dtype=dtype)
    x = inputs(net, 100, (-1, 3), seed)
    assert measured(net, x) <= net.certificate.bound <= eps


def test_range_is_exact_at_float_ends():
    net = hs.compile(hs.target.Clip([[1.0]], [0.0], 0.1, 0.3), domain=(-1, 1), eps=1e-12)
    assert math.isclose(float(net(torch.tensor([[1.0]], dtype=torch.float64))), 0.3, abs_tol=1e-12)
