"""Hopfield layers that compute: neurons and gradients from stored patterns, and where the print goes wrong."""

import pytest
import torch

from headsmith import Refusal
from headsmith.machines.hopfield import Gradients, Neurons


def random(*shape, seed):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    ("f", "exact", "eps"), [("tanh(x)", torch.tanh, 1e-12), ("sin(x)", torch.sin, 1e-2), ("relu(x)", torch.relu, 5e-2)]
)
def test_neurons_read_their_weights_from_patterns(f, exact, eps):
    layer = Neurons(f, features=3, neurons=4, domain=3.0, eps=eps)
    before = layer.weight_hash
    for seed in range(2):
        a, b, z = random(4, 3, seed=seed) * 0.3, random(4, seed=seed + 9) * 0.2, random(2, 6, 3, seed=seed + 20)
        result = layer(a, b, z)
        error = (result.value - exact(z @ a.T + b)).abs().max()
        assert result.value.shape == (2, 6, 4)
        assert float(error) <= result.certificate.bound <= 1.01 * eps + 1e-12
    assert layer.weight_hash == before


def test_neurons_refuse_what_leaves_the_domain():
    layer = Neurons("tanh(x)", features=2, neurons=1, domain=1.0, eps=1e-6)
    with pytest.raises(Refusal, match="neuron 0 meets 2 at state 1"):
        layer([[1.0, 0.0]], [0.0], [[0.5, 0.0], [2.0, 0.0]])
    with pytest.raises(Refusal, match="these neurons read"):
        layer([[1.0]], [0.0], [[0.5, 0.0]])


def samples(seed=0):
    x, w = random(6, 3, seed=seed).clamp(-1, 1), random(3, seed=seed + 1)
    y = torch.tensor([-8.0, 8.0, 0.0, 5.0, -5.0, 3.0], dtype=torch.float64)
    return x, y, w, x @ w - y


@pytest.mark.parametrize(("f", "exact"), [("x", lambda r: r), ("tanh(x)", torch.tanh)])
def test_gradients_of_all_samples(f, exact):
    x, y, w, r = samples()
    layer = Gradients(f, features=3, samples=6, residual=12.0, inputs=1.0, eps=1e-3)
    result = layer(x, y, w)
    error = float((result.value - exact(r)[:, None] * x).abs().max())
    assert error <= result.certificate.bound <= 1e-3 and result.certificate.kind == "proved"
    each = random(6, 3, seed=5)
    own = layer(x, y, each).value
    assert torch.allclose(own, exact((x * each).sum(-1) - y)[:, None] * x, atol=1e-3)


@pytest.mark.parametrize("fault", ["sign", "constant"])
def test_theorem_e2_as_printed_reads_the_wrong_pattern(fault):
    x, y, w, r = samples()
    sizes = {"features": 3, "samples": 6, "residual": 12.0, "inputs": 1.0, "eps": 1e-3, "steps": 32}
    exact = r[:, None] * x
    printed = Gradients("x", **sizes, faults=(fault,))(x, y, w)
    repaired = Gradients("x", **sizes)(x, y, w)
    assert float((printed.value - exact).abs().max()) > 1.0 and printed.certificate.kind == "measured"
    assert float((repaired.value - exact).abs().max()) <= repaired.certificate.bound <= 0.5


def test_gradients_refuse_by_name():
    x, y, w, _ = samples()
    layer = Gradients("x", features=3, samples=6, residual=2.0, inputs=1.0, eps=1e-2)
    with pytest.raises(Refusal, match="sample 1 has the residual"):
        layer(x, y, w)
    with pytest.raises(Refusal, match="patterns hold"):
        layer(x[:5], y, w)
    with pytest.raises(Refusal, match="give steps"):
        Gradients("x", features=3, samples=6, residual=2.0, inputs=1.0, eps=1e-2, faults=("sign",))
