"""Perceptrons as attention-only networks: every activation, proofs, files, real data, refusals."""

import json
import time
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import headsmith as hs
from headsmith.network import FeedForward, save_tensors
from headsmith.proof.certificate import StaleCertificate
from headsmith.proof.stack import Linear, Zonotope
from headsmith.targets.mlp import read_mlp, read_stack, write_mlp


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
    """Random inputs, corners of the box, and corners chosen by the sign of one output's gradient."""
    torch.manual_seed(seed)
    lo, hi = net.plan.domain
    x = lo + (hi - lo) * torch.rand(count, net.plan.stack.widths[0], dtype=net.dtype)
    x[: count // 3] = torch.where(x[: count // 3] > (lo + hi) / 2, hi, lo).to(net.dtype)
    return x


def exact(net, x):
    rows = net.plan.stack.balls(x.double().numpy())
    return torch.tensor([[float(v.mid()) for v in row] for row in rows], dtype=torch.float64)


ACTIVATIONS = [
    nn.ReLU, nn.LeakyReLU, nn.Hardtanh, nn.ReLU6, nn.SiLU, QuickGELU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.Softplus,
    lambda: nn.GELU("tanh"), nn.Identity,
]  # fmt: skip


@pytest.mark.parametrize("act", ACTIVATIONS, ids=lambda a: getattr(a, "__name__", "?"))
def test_measured_is_at_most_certified(act):
    model = perceptron(4, 6, 3, act=act)
    net = hs.compile(model, domain=(-2, 2), eps=1e-4)
    x = points(net, 60)
    error = float((net(x).double() - exact(net, x)).abs().max())
    assert error <= net.certificate.bound <= 1e-4
    assert float(net.certify(x[:4]).max()) <= net.certificate.bound
    with torch.no_grad():
        assert float((net(x) - model(x)).abs().max()) <= net.certificate.bound + 1e-14
    assert not any(isinstance(layer, FeedForward) for layer in net.network.layers.values())


@pytest.mark.parametrize("act", [nn.ReLU, nn.SiLU, nn.GELU], ids=lambda a: a.__name__)
def test_float32(act):
    net = hs.compile(perceptron(5, 8, 2, act=act, dtype=torch.float32), domain=(-1, 1), eps=1e-2, dtype="float32")
    x = points(net, 100)
    assert float((net(x).double() - exact(net, x)).abs().max()) <= net.certificate.bound <= 1e-2
    assert net(x).dtype == torch.float32


def test_depth_and_the_worst_input_we_can_climb_to():
    net = hs.compile(perceptron(3, 7, 5, 4, 2), domain=(-3, 3), eps=1e-6)
    model = perceptron(3, 7, 5, 4, 2)
    x = points(net, 30).requires_grad_()
    for _ in range(20):
        error = (net(x) - model(x)).square().sum()
        (grad,) = torch.autograd.grad(error, x)
        x = (x + 0.3 * grad / (grad.norm(dim=-1, keepdim=True) + 1e-30)).clamp(-3, 3).detach().requires_grad_()
    assert float((net(x) - model(x)).detach().abs().max()) <= net.certificate.bound


@settings(max_examples=8)
@given(
    act=st.sampled_from([nn.ReLU, nn.LeakyReLU, nn.Hardtanh, nn.SiLU, nn.Tanh]),
    widths=st.lists(st.integers(1, 5), min_size=2, max_size=4),
    scale=st.floats(0.1, 20),
    digits=st.integers(2, 8),
)
def test_any_small_perceptron(act, widths, scale, digits):
    model = perceptron(2, *widths, act=act, seed=len(widths))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= scale
    net = hs.compile(model, domain=(-1, 2), eps=10.0**-digits)
    x = points(net, 12)
    assert float((net(x) - exact(net, x)).detach().abs().max()) <= net.certificate.bound <= 10.0**-digits


def test_silu_is_exact():
    model = perceptron(6, 9, 3, act=nn.SiLU)
    net = hs.compile(model, domain=(-2, 2), eps=1e-10)
    x = points(net, 200)
    assert float((net(x) - model(x)).detach().abs().max()) < 1e-13
    assert net.certificate.approximation < 1e-15


def test_ranges_hold_every_preactivation():
    """The domains that were proved on contain what the network really computes, at random inputs and corners."""
    net = hs.compile(perceptron(4, 8, 8, 6, 2, act=nn.SiLU), domain=(-3, 3), eps=1e-6)
    trace = net.network.trace(net.encode(points(net, 400)))
    for layer, (lo, hi) in enumerate(net.plan.carried.domains, 1):
        at, token, where = net.network.variables[f"z{layer}"]
        z = trace[f"blocks.{at}.hook_resid_post"][..., token, where]
        assert lo <= float(z.min()) and float(z.max()) <= hi


def test_saved_loaded_and_proved_again(tmp_path):
    net = hs.compile(perceptron(4, 6, 5, 2), domain=(-1, 1), eps=1e-6)
    x = points(net, 20)
    again = hs.load(net.save(tmp_path / "net.safetensors"))
    assert torch.equal(again(x), net(x)) and again.reprove().bound == net.certificate.bound
    assert (again.plan.anchors, again.plan.heads) == (net.plan.anchors, net.plan.heads)
    assert torch.equal(again.plan.build()(x), net(x))
    with torch.no_grad():
        again.network.layers["units1"].output.weight[0, 0, 0] += 1e-12
    with pytest.raises(StaleCertificate):
        _ = again.certificate
    with pytest.raises(hs.Refusal, match="not those of the perceptron"):
        again.reprove()
    broken = hs.load(net.save(tmp_path / "net.safetensors"))
    with torch.no_grad():
        broken.network.layers["units1"].key.coefficient[2, 0, 0] *= 0.5
    with pytest.raises(hs.Refusal, match="equal units"):
        broken.reprove()


def test_modules_that_do_nothing_and_modules_that_end_with_an_activation():
    inner = nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 2), nn.Sigmoid())
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 3, bias=False), nn.Tanh(), nn.Identity(), inner).double().eval()
    stack = read_stack(model)
    assert [a.formula for a in stack.activations] == ["x", "tanh(x)", "sigmoid(x)"]
    net = hs.compile(model, domain=(-1, 1), eps=1e-9)
    x = points(net, 20)
    assert float((net(x) - model(x)).detach().abs().max()) <= net.certificate.bound


def test_refusals():
    def refuses(model, match, **request):
        with pytest.raises(hs.Refusal, match=match):
            hs.plan(model, **({"domain": (-1, 1), "eps": 1e-3} | request))

    refuses(nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2), nn.Linear(2, 1)), "LayerNorm is neither")
    refuses(nn.Sequential(nn.ReLU(), nn.Linear(2, 2)), "starts with ReLU")
    refuses(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.1)), "training mode")
    refuses(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(3, 1)), "follows")
    refuses(nn.Sequential(), "nothing to compile")
    refuses(perceptron(2, 3, 1), "needs a domain", domain=None)
    third = perceptron(2, 3, 1)
    with torch.no_grad():
        third[0].weight /= 3
    refuses(third, "cannot hold the weights", dtype="float32")
    fake = type("QuickGELU", (nn.Module,), {"forward": lambda self, x: x})()
    refuses(nn.Sequential(nn.Linear(2, 2), fake), "does not compute")
    model = perceptron(4, 8, 2, dtype=torch.float32)
    with pytest.raises(hs.Refusal, match="can be had") as refused:
        hs.plan(model, domain=(-3, 3), eps=1e-9, dtype="float32")
    eps = float(str(refused.value).split("eps = ")[1].split()[0])
    assert hs.plan(model, domain=(-3, 3), eps=eps, dtype="float32").bound <= eps
    refuses(perceptron(2, 3, 1), "can be had", eps=1e-25)
    net = hs.compile(model, domain=(-3, 3), eps=1e-3)
    with pytest.raises(hs.Refusal, match="outside"):
        net(torch.full((4,), 3.5))
    with pytest.raises(hs.Refusal, match="shape"):
        net(torch.zeros(5))


def test_files_of_perceptrons(tmp_path):
    model = nn.Sequential(nn.Linear(3, 4), nn.GELU("tanh"), nn.Linear(4, 2), nn.ReLU6()).eval()
    named = read_mlp(write_mlp(tmp_path / "named.safetensors", model))
    assert named.hash() == read_stack(model).hash()
    plain = perceptron(3, 4, 2, dtype=torch.float32)
    save_tensors(tmp_path / "plain.safetensors", dict(plain.state_dict()), {})
    assert read_mlp(tmp_path / "plain.safetensors", "relu").hash() == read_stack(plain).hash()
    with pytest.raises(hs.Refusal, match="which activation"):
        read_mlp(tmp_path / "plain.safetensors")
    with pytest.raises(hs.Refusal, match="no activation is called"):
        read_mlp(tmp_path / "plain.safetensors", "swash")
    save_tensors(tmp_path / "odd.safetensors", {"a": torch.zeros(2)}, {})
    with pytest.raises(hs.Refusal, match="no MLP"):
        read_mlp(tmp_path / "odd.safetensors", "relu")
    save_tensors(tmp_path / "list.safetensors", dict(plain.state_dict()), {"layers": json.dumps({"a": 1})})
    with pytest.raises(hs.Refusal, match="names"):
        read_mlp(tmp_path / "list.safetensors")


def test_zonotope_remembers_what_boxes_forget():
    """x - x is 0, whatever the box of x is."""
    split, join = Linear(np.array([[1.0], [1.0]]), np.zeros(2)), Linear(np.array([[1.0, -1.0]]), np.zeros(1))
    tied = Zonotope(np.zeros(1), np.array([[5.0]]), np.zeros(1)).through(split).through(join)
    lo, hi = join.box(*split.box(np.array([-5.0]), np.array([5.0])))
    assert hi[0] >= 10 and tied.meet(lo, hi)[1][0] < 1e-6


@pytest.fixture(scope="module")
def digits():
    data = pytest.importorskip("sklearn.datasets").load_digits()
    x, y = torch.tensor(data.data / 8 - 1, dtype=torch.float32), torch.tensor(data.target)
    return _trained(64, 10, x[:1400], y[:1400], nn.functional.cross_entropy), x[1400:]


def _trained(into, out, x, y, loss, steps=80):
    model = perceptron(into, 64, out, dtype=torch.float32)
    adam = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        adam.zero_grad()
        loss(model(x), y).backward()
        adam.step()
    return model.eval()


def test_digits_within_1e6_and_every_prediction_unchanged(digits):
    model, held_out = digits
    start = time.process_time()
    net = hs.compile(model, domain=(-1, 1), eps=1e-6)
    assert time.process_time() - start < 10
    model = model.double()
    with torch.no_grad():
        ours, theirs = net(held_out), model(held_out.double())
        assert net.certificate.kind == "proved" and net.certificate.bound <= 1e-6
        assert float((ours - theirs).abs().max()) <= net.certificate.bound
        assert torch.equal(ours.argmax(-1), theirs.argmax(-1))
        x = held_out[:1].double().expand(1000, -1).contiguous()
        slow, fast = (min(_seconds(f, x) for _ in range(25)) for f in (net, model))
    assert slow < 20 * fast


def _seconds(f, x):
    start = time.process_time()
    f(x)
    return time.process_time() - start


def test_diabetes_within_1e6():
    data = pytest.importorskip("sklearn.datasets").load_diabetes()
    x = torch.tensor(data.data * 10, dtype=torch.float32)
    y = torch.tensor((data.target - 150) / 75, dtype=torch.float32)[:, None]
    model = _trained(10, 1, x[:350], y[:350], nn.functional.mse_loss, steps=100)
    net = hs.compile(model, domain=(-3, 3), eps=1e-6)
    with torch.no_grad():
        assert float((net(x[350:]) - model.double()(x[350:].double())).abs().max()) <= net.certificate.bound <= 1e-6


def test_command_line(tmp_path, capsys):
    from headsmith.cli import main

    save_tensors(tmp_path / "mlp.safetensors", dict(perceptron(3, 4, 2, dtype=torch.float32).state_dict()), {})
    request = ["compile", str(tmp_path / "mlp.safetensors"), "--domain", "-3", "3", "--eps", "1e-6"]
    out = tmp_path / "attention.safetensors"
    assert main([*request, "--activation", "relu", "--out", str(out)]) == 0
    assert "MLP 3-4-2 with relu(x)" in capsys.readouterr().out
    assert hs.load(out).certificate.bound <= 1e-6
    assert main(request) == 0
    assert "relu is assumed, --activation changes it" in capsys.readouterr().err


@pytest.mark.slow
def test_the_gelu_block_of_minilm_per_input():
    """384-1536-384 from all-MiniLM-L6-v2, layer 0: certified over a box and, far more tightly, per input."""
    minilm = pytest.importorskip("headsmith.machines.minilm")
    try:
        weights = minilm.weights()
    except (hs.Refusal, AttributeError, FileNotFoundError):
        pytest.skip("the weights of MiniLM are not installed")
    parts = [(k, v) for k, v in weights.items() if "layer.0.intermediate" in k or "layer.0.output.dense" in k]
    found = {("0" if "intermediate" in k else "2") + "." + k.rpartition(".")[2]: torch.as_tensor(v) for k, v in parts}
    model = nn.Sequential(nn.Linear(384, 1536), nn.GELU(), nn.Linear(1536, 384))
    model.load_state_dict(found)
    net = hs.compile(model.eval(), domain=(-4, 4), eps=1e-6)
    torch.manual_seed(0)
    x = torch.randn(3, 384, dtype=torch.float64).clamp(-4, 4)
    assert net.certificate.bound <= 1e-6
    assert float(net.certify(x).max()) <= 0.1 * net.certificate.bound
