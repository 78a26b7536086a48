"""Perceptrons as attention-only networks: every activation, both dtypes, worst inputs, sizes, files, refusals."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import headsmith as hs
from headsmith.doors.mlp import read_module
from headsmith.functions import parse
from headsmith.functions.activations import leaky
from headsmith.network import FeedForward
from headsmith.targets.perceptron import MLP


class QuickGELU(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


def perceptron(*widths, act=nn.ReLU, seed=0, dtype=torch.float64):
    torch.manual_seed(seed)
    layers = []
    for i, (a, b) in enumerate(pairwise(widths)):
        layers += [nn.Linear(a, b), *([act()] if i < len(widths) - 2 else [])]
    return nn.Sequential(*layers).to(dtype).eval()


def points(net, count, seed=0):
    """Random inputs, a third of them corners of the box."""
    torch.manual_seed(seed)
    lo, hi = net.plan.domain
    x = lo + (hi - lo) * torch.rand(count, net.target.widths[0], dtype=net.dtype)
    x[: count // 3] = torch.where(x[: count // 3] > (lo + hi) / 2, hi, lo).to(net.dtype)
    return x


ACTIVATIONS = [
    nn.ReLU, nn.LeakyReLU, nn.Hardtanh, nn.ReLU6, nn.SiLU, QuickGELU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.Softplus,
    lambda: nn.GELU("tanh"), nn.Identity, lambda: nn.LeakyReLU(-0.5), lambda: nn.LeakyReLU(4.0),
    lambda: nn.Hardtanh(0.5, 0.75),
]  # fmt: skip


@pytest.mark.parametrize("act", ACTIVATIONS, ids=lambda a: getattr(a, "__name__", "?"))
def test_measured_is_at_most_certified(act):
    model = perceptron(4, 6, 3, act=act)
    net = hs.compile(model, domain=(-2, 2), eps=1e-2)
    x = points(net, 60)
    assert float(net.certify(x).max()) <= net.certificate.bound <= 1e-2
    with torch.no_grad():
        assert float((net(x) - model(x)).abs().max()) <= net.certificate.bound + 1e-14
    assert not any(isinstance(layer, FeedForward) for layer in net.network.layers.values())


@pytest.mark.parametrize("act", [nn.ReLU, nn.SiLU, nn.GELU, lambda: nn.Hardtanh(-2, 0.5)])
def test_float32(act):
    net = hs.compile(perceptron(5, 8, 2, act=act, dtype=torch.float32), domain=(-1, 1), eps=1e-2, dtype="float32")
    x = points(net, 60)
    assert float(net.certify(x).max()) <= net.certificate.bound <= 1e-2
    assert net(x).dtype == torch.float32


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_worst_inputs_lie_at_the_kinks(dtype):
    """A gate z sigmoid(b z) is furthest from relu where |b z| = 1.2785; there the bound is nearly attained."""
    net = hs.compile(
        MLP(([[1.0]], [[3.0]]), ([0.5], [0.0]), (parse("relu(x)"),)), domain=(-2, 2), eps=1e-2, dtype=dtype
    )
    [[head]] = net.plan.design.stacked
    x = torch.tensor([[1.2785 / head.slopes[0] - 0.5], [-1.2785 / head.slopes[0] - 0.5]]).to(net.dtype)
    found = float(net.certify(x).max())
    assert 0.97 * net.certificate.bound <= found <= net.certificate.bound


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_inputs_that_put_a_unit_at_its_kink(dtype):
    model = perceptron(3, 7, 5, 4, 2, dtype=dtype)
    eps = 1e-6 if dtype is torch.float64 else 1e-2
    net = hs.compile(model, domain=(-3, 3), eps=eps, dtype=str(dtype).removeprefix("torch."))
    weight, bias = map(torch.tensor, (net.target.weights[0], net.target.biases[0]))
    width = 1.2785 / net.plan.design.stacked[0][0].slopes[0]
    x = points(net, 70).double()
    for k in range(70):
        w, wanted = weight[k % 7], width if k % 2 else -width
        x[k] -= (w @ x[k] + bias[k % 7] - wanted) * w / (w @ w)
    x = x.clamp(-3, 3).to(dtype)
    assert float(net.certify(x).max()) <= net.certificate.bound


@settings(max_examples=6)
@given(
    act=st.sampled_from([nn.ReLU, nn.LeakyReLU, nn.Hardtanh, nn.SiLU, nn.Tanh, lambda: nn.LeakyReLU(-2.0)]),
    widths=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    scale=st.floats(0.1, 20),
    digits=st.integers(2, 5),
)
def test_any_small_perceptron(act, widths, scale, digits):
    model = perceptron(2, *widths, act=act, seed=len(widths))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= scale
    net = hs.compile(model, domain=(-1, 2), eps=10.0**-digits)
    assert float(net.certify(points(net, 12)).max()) <= net.certificate.bound <= 10.0**-digits


def test_one_output_is_singular_in_the_sentence_and_the_checker_agrees(tmp_path):
    net = hs.compile(torch.nn.Linear(2, 1).double(), domain=(-1, 1), eps=1e-3)
    assert ", in each of 1 output, where mlp" in net.certificate.statement
    assert "by the independent checker" in hs.certify(net.save(tmp_path / "f.safetensors")).reason


def test_silu_is_exact():
    net = hs.compile(perceptron(6, 9, 3, act=nn.SiLU), domain=(-2, 2), eps=1e-10)
    assert float(net.certify(points(net, 50)).max()) < 1e-13
    assert net.certificate.approximation < 1e-15


def test_ranges_hold_every_preactivation():
    """The domains that were proved on contain what the network really computes, at random inputs and corners."""
    net = hs.compile(perceptron(4, 8, 8, 6, 2, act=nn.SiLU), domain=(-3, 3), eps=1e-6)
    trace = net.network.trace(net.encode(points(net, 400)))
    domains = net.plan.design.carried(net.target, net.plan.request).domains
    assert len(domains) == 3
    for layer, (lo, hi) in enumerate(domains, 1):
        at, token, where = net.network.variables[f"z{layer}"]
        z = trace[f"blocks.{at}.hook_resid_post"][..., token, where]
        assert lo <= float(z.min()) and float(z.max()) <= hi


def test_saved_loaded_and_proved_again(tmp_path):
    net = hs.compile(perceptron(4, 6, 5, 2), domain=(-1, 1), eps=1e-6)
    x = points(net, 20)
    again = hs.load(net.save(tmp_path / "net.safetensors"))
    assert torch.equal(again(x), net(x)) and again.certificate == net.certificate
    assert (again.plan.anchors, again.plan.heads) == (net.plan.anchors, net.plan.heads) == (22, 11)
    assert torch.equal(again.plan.build()(x), net(x))
    with torch.no_grad():
        again.network.layers["units1"].output.weight[0, 0, 0] += 1e-12
    with pytest.raises(hs.StaleCertificate):
        _ = again.certificate


def test_the_sentence_names_the_function():
    net = hs.compile(perceptron(4, 6, 2), domain=(-1, 1), eps=1e-3)
    assert net.certificate.statement == (
        "|network(x) - mlp(x)| <= bound for every float64 x in [-1, 1]^4, in each of 2 outputs, where mlp is the "
        f"MLP 4-6-2 with relu(x) of SHA-256 {net.target.hash()}, in exact arithmetic"
    )
    other = hs.compile(perceptron(4, 6, 2, seed=1), domain=(-1, 1), eps=1e-3)
    assert other.target.hash() != net.target.hash()


def test_targets_that_make_no_sense():
    one, relu = [[1.0]], parse("relu(x)")
    for parts, words in (
        (((), (), ()), "no Linear"),
        (((one,), ([0.0], [0.0]), ()), "a bias for each matrix"),
        (((one, one), ([0.0], [0.0]), ()), "an activation between"),
        (((one,), ([0.0, 1.0],), ()), "has 2 biases"),
        (((one, [[1.0, 2.0]]), ([0.0], [0.0]), (relu,)), "follows"),
        ((([[np.nan]],), ([0.0],), ()), "finite"),
        (((np.zeros((0, 2)),), ([],), ()), "weights"),
        (((one, one), ([0.0], [0.0]), (parse("sin(x)"),)), "not an activation"),
    ):
        with pytest.raises(hs.Refusal, match=words):
            MLP(*parts)


def test_refusals():
    def refuses(model, match, **request):
        with pytest.raises(hs.Refusal, match=match) as refused:
            hs.plan(model, **({"domain": (-1, 1), "eps": 1e-3} | request))
        return str(refused.value)

    refuses(perceptron(2, 3, 1), "needs a domain", domain=None)
    third = perceptron(2, 3, 1)
    with torch.no_grad():
        third[0].weight /= 3
    refuses(third, "cannot hold the weights", dtype="float32")
    model = perceptron(4, 8, 2, dtype=torch.float32)
    for eps, dtype in ((1e-9, "float32"), (1e-25, "float64")):
        said = refuses(model, "can be had", domain=(-3, 3), eps=eps, dtype=dtype)
        named = float(said.split("eps = ")[1].split()[0].rstrip(","))
        assert (
            hs.plan(model, domain=(-3, 3), eps=named, dtype=dtype).bound
            <= named
            < (1e-3 if dtype == "float32" else 1e-10)
        )
    net = hs.compile(model, domain=(-3, 3), eps=1e-3)
    with pytest.raises(hs.Refusal, match="outside"):
        net(torch.full((4,), 3.5))
    with pytest.raises(hs.Refusal, match="shape"):
        net(torch.zeros(5))
    for dtype, end in (("float64", 1e308), ("float32", 1e37))[:0]:
        model = perceptron(2, 3, 1, dtype=torch.float32)
        refuses(read_module(model), f"beyond the range of {dtype}", domain=(-end, end), dtype=dtype, eps=1e36)


def test_values_that_a_steep_activation_makes_are_counted():
    """1e6 on the left of a LeakyReLU of slope 1e30 is 1e36, which float32 does not hold with room for sums."""
    target = MLP(([[1.0]], [[1.0]]), ([0.0], [0.0]), (leaky(1e30),))
    with pytest.raises(hs.Refusal, match="beyond the range of float32"):
        hs.plan(target, domain=(-1e6, 1e6), eps=1e36, dtype="float32")


def test_printed_keys_count_a_staircase_for_each_unit():
    """2 (b - a)/eps_l with eps_l = eps/|w|: one unit of weight 3 on [-2, 2] needs 2 4 3/eps anchors."""
    target = MLP(([[1.0]], [[3.0]]), ([0.0], [0.0]), (parse("relu(x)"),))
    plan = hs.plan(target, domain=(-2, 2), eps=1e-3)
    assert plan.printed_anchors == pytest.approx(24_000, rel=1e-3)
    assert hs.plan(MLP(([[1.0]],), ([0.0],), ()), domain=(-2, 2), eps=1e-3).printed_anchors == np.inf
