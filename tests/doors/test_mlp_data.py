"""Perceptrons trained on real data, compiled within 1e-6."""

from itertools import pairwise

import pytest
import torch
from torch import nn

import headsmith as hs


def perceptron(*widths, act=nn.ReLU, seed=0, dtype=torch.float64):
    torch.manual_seed(seed)
    layers = []
    for i, (a, b) in enumerate(pairwise(widths)):
        layers += [nn.Linear(a, b), *([act()] if i < len(widths) - 2 else [])]
    return nn.Sequential(*layers).to(dtype).eval()


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
    net = hs.compile(model, domain=(-1, 1), eps=1e-6)
    model = model.double()
    with torch.no_grad():
        ours, theirs = net(held_out), model(held_out.double())
        assert net.certificate.kind == "proved" and net.certificate.bound <= 1e-6
        assert float((ours - theirs).abs().max()) <= net.certificate.bound
        assert torch.equal(ours.argmax(-1), theirs.argmax(-1))


def test_diabetes_within_1e6():
    data = pytest.importorskip("sklearn.datasets").load_diabetes()
    x = torch.tensor(data.data * 10, dtype=torch.float32)
    y = torch.tensor((data.target - 150) / 75, dtype=torch.float32)[:, None]
    model = _trained(10, 1, x[:350], y[:350], nn.functional.mse_loss, steps=100)
    net = hs.compile(model, domain=(-3, 3), eps=1e-6)
    with torch.no_grad():
        assert float((net(x[350:]) - model.double()(x[350:].double())).abs().max()) <= net.certificate.bound <= 1e-6


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
