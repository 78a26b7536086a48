"""Truncated linear models whose weights stand in the prompt."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import headsmith as hs


def prompts(count, net, seed=0):
    """Random prompts, and corners of the domain."""
    clip, domain, g = net.target, net.certificate.domain, np.random.default_rng(seed)
    shapes = {"x": (clip.tokens, clip.features), "w": (clip.features,), "t": (clip.tokens,)}
    found = []
    for name, shape in shapes.items():
        v = g.uniform(-1, 1, (count, *shape))
        v[::3] = np.sign(v[::3])
        found.append((torch.tensor(v) * domain.size(name)).to(net.dtype).clamp(*domain[name]))
    return found


def exact(clip, x, w, t):
    own = 1.0 if clip.gains is None else torch.tensor(clip.gains)
    return ((x.double() * own * w.double()[:, None]).sum(-1) + t.double()).clamp(clip.low, clip.high)


def worst(net, x, w, t):
    return float((net(x, w, t).double() - exact(net.target, x, w, t)).abs().max())


@pytest.mark.parametrize("request_", [dict(eps=2e-1), dict(eps=2e-1, dtype="float32")], ids=str)
def test_measured_is_at_most_certified(request_):
    net = hs.compile(hs.target.PromptClip(6, 3, weight=2.0), domain=(-1, 1), **request_)
    x, w, t = prompts(500, net)
    assert worst(net, x, w, t) <= net.certificate.bound <= request_["eps"]
    assert float(net.certify(x[:3], w[:3], t[:3]).max()) <= net.certificate.bound


GAINS = [[1.0, -2.0], [0.0, 0.3], [0.7, 1.1]]


@pytest.mark.parametrize(("dtype", "method"), [("float64", "auto"), ("float32", "auto"), ("float64", "printed")])
def test_every_token_has_gains_of_its_own(dtype, method, tmp_path):
    """Thm D.1: w_i is w times v_i, entry by entry; zeros among the gains are numbers like others."""
    clip = hs.target.PromptClip(3, 2, gains=GAINS)
    net = hs.compile(clip, domain=(-1, 1), eps=0.2, dtype=dtype, method=method)
    prompt = prompts(300, net)
    assert worst(net, *prompt) <= net.certificate.bound and (method == "printed") == (net.certificate.bound > 0.2)
    plain = hs.compile(hs.target.PromptClip(3, 2), domain=(-1, 1), eps=0.2, dtype=dtype)
    assert float((plain(*prompt).double() - exact(clip, *prompt)).abs().max()) > 1
    assert hs.certify(net.save(tmp_path / "gains.safetensors")).status == 0
    assert f"v of SHA-256 {clip.hash()}" in net.certificate.statement and "(w v_i) . x_i" in net.certificate.statement


def test_gains_have_a_row_for_each_token():
    with pytest.raises(hs.Refusal, match="gains are 3 x 2 numbers"):
        hs.target.PromptClip(3, 2, gains=[[1.0, 2.0]])


def test_the_sentence_names_every_hypothesis():
    net = hs.compile(hs.target.PromptClip(2, 1, weight=0.5, shift=0.0), domain=(-1, 2), eps=0.2)
    assert net.certificate.statement == (
        "|network(x, w, t) - Range_[-1, 1](w . x_i + t_i)| <= bound for every float64 "
        "x in [-1, 2], w in [-0.5, 0.5], t in [0, 0], at each of 2 tokens of 1 feature"
    )
    x, w, t = torch.ones(2, 1), torch.ones(1) / 2, torch.zeros(2)
    with pytest.raises(hs.Refusal, match=r"w 0\.75 lies outside"):
        net(x, w + 0.25, t)
    with pytest.raises(hs.Refusal, match=r"t 0\.25 lies outside"):
        net(x, w, t + 0.25)


def test_one_w_for_a_batch():
    net = hs.compile(hs.target.PromptClip(3, 2), domain=(-1, 1), eps=0.2)
    x, w, t = prompts(4, net)
    assert torch.equal(net(x, w[0], t[0]), net(x, w[:1].expand(4, 2), t[:1].expand(4, 3)))
    with pytest.raises(hs.Refusal, match="broadcast"):
        net(x, w[:3], t)


def test_printed_prompt_loses_the_shifts():
    net = hs.compile(hs.target.PromptClip(4, 2), domain=(-1, 1), eps=0.2, method="printed")
    x, w, t = prompts(300, net)
    assert net.plan.method == "printed" and net.plan.anchors == 20
    assert 0.9 < worst(net, x, w, t) <= net.certificate.bound
    halved = exact(net.target, x, w, t[:, :1] / 2)
    assert float((net(x, w, t) - halved).abs().max()) < 0.2  # it does compute something: t_0 / 2 for every token
    with pytest.raises(hs.Refusal, match="anchors"):
        hs.compile(hs.target.PromptClip(4, 2), domain=(-1, 1), eps=1e-5, method="printed")


@pytest.mark.slow
def test_a_refusal_names_an_eps_that_can_be_had():
    clip = hs.target.PromptClip(4, 2)
    with pytest.raises(hs.Refusal, match="can be had") as refused:
        hs.plan(clip, domain=(-1, 1), eps=1e-8)
    eps = float(str(refused.value).split("; eps = ")[1].split()[0])
    assert hs.plan(clip, domain=(-1, 1), eps=eps).bound <= eps < 2e-6


@settings(max_examples=6)
@given(
    tokens=st.integers(1, 5),
    features=st.integers(1, 6),
    low=st.floats(-2, 1),
    width=st.floats(0.1, 2),
    weight=st.floats(0.1, 4),
    shift=st.sampled_from([0.0, 0.3, 3.0]),
    dtype=st.sampled_from(["float64", "float32"]),
)
def test_any_sizes(tokens, features, low, width, weight, shift, dtype):
    clip = hs.target.PromptClip(tokens, features, low, low + width, weight, shift)
    net = hs.compile(clip, domain=(-1, 2), eps=0.2 * width, dtype=dtype)
    assert worst(net, *prompts(60, net)) <= net.certificate.bound <= 0.2 * width


def test_sizes_and_bounds_that_make_no_sense():
    for wrong in (dict(tokens=0, features=1), dict(tokens=1, features=1, weight=0.0)):
        with pytest.raises(hs.Refusal):
            hs.target.PromptClip(**wrong)
