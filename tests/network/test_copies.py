"""Copies of a token: what they compute, their dense form, their file, their hooks."""

import pytest
import torch

from headsmith.network import Copies, Network, Select, from_config
from headsmith.refusal import Refusal


def product(residual=True):
    """Two heads on features (a, b, out): a tanh(a b) and b sigmoid(a b)."""
    return Copies(
        query=Select([[0], [0]], 3),
        key=Select([[1], [1]], 3),
        value=Select([[0], [1]], 3),
        output=Select.writing([[2], [2]], 3),
        slopes=[[-1.0, 1.0], [0.0, 1.0]],
        offsets=[[0.0, 0.0], [0.0, 0.0]],
        levels=[[-1.0, 1.0], [0.0, 1.0]],
        residual=residual,
    )


@pytest.fixture
def x():
    return torch.randn(4, 5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def expected(x, residual=True):
    a, b, out = x.unbind(-1)
    return a * torch.tanh(a * b) + b * torch.sigmoid(a * b) + (out if residual else 0)


@pytest.mark.parametrize("residual", [True, False])
def test_it_multiplies_and_equals_its_dense_form(x, residual):
    network = Network({"rule": product(residual)}, tokens=[f"t{i}" for i in range(5)])
    assert torch.allclose(network(x)[..., 2], expected(x, residual), atol=1e-15)
    dense = network.dense()
    assert [layer.kind for layer in dense.layers.values()] == ["affine", "attention", "affine"]
    assert torch.allclose(dense(x), network(x), atol=1e-13)


def test_it_comes_back_from_its_file_bit_for_bit(x):
    network = Network({"rule": product()}, tokens=["a"] * 5)
    again = from_config(network.config(), network.tensors())
    assert torch.equal(again(x), network(x)) and again.config() == network.config()


def test_hooks_and_rotation(x):
    network = Network({"rule": product()}, tokens=["a"] * 5)
    record = network.trace(x)
    assert set(record) == set(network.hook_names())
    assert record["blocks.0.attn.hook_pattern"].shape == (4, 2, 5, 2)
    with network.hooks({"blocks.0.attn.hook_z": torch.zeros_like}):
        assert torch.equal(network(x), x)
    turn = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1)))[0]
    turned = product().rotated(turn, turn)
    assert torch.allclose(turned(x @ turn), product()(x) @ turn, atol=1e-13)


def test_cost_and_refusals():
    layer = product()
    assert layer.flops(5, 3) > 0 and layer.dense_parameters(5, 3) > 30 and "copies" in layer.summary()
    assert layer.unusual()
    one = Select([[0]], 3)
    with pytest.raises(Refusal, match="shape"):
        Copies(one, one, one, Select.writing([[2]], 3), [[1.0]], [[0.0, 0.0]], [[1.0]])
    with pytest.raises(Refusal, match="heads axis"):
        Copies(Select([0], 3), one, one, Select.writing([[2]], 3), [[1.0]], [[0.0]], [[1.0]])
