import pytest
import torch

from headsmith.network import Dense, FeedForward, Select, rotation
from headsmith.refusal import Refusal


def rand(*shape):
    return torch.randn(*shape, dtype=torch.float64)


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "tanh", "identity"])
def test_feed_forward(activation):
    up, down, a, b, x = rand(5, 3), rand(3, 5), rand(5), rand(3), rand(2, 4, 3)
    act = getattr(torch.nn.functional, activation, lambda z: z)
    y = FeedForward(Dense(up), Dense(down), a, b, activation, residual=True)(x)
    assert torch.allclose(y, x + act(x @ up.T + a) @ down.T + b, atol=1e-13)


def test_another_basis_and_the_dense_form_compute_the_same():
    layer, x = FeedForward(Select([1, 0, 1], 2), Dense(rand(2, 3)), rand(3), rand(2), "tanh", True), rand(4, 5, 2)
    turn = rotation(2, 2)
    assert torch.allclose(layer.rotated(turn, turn)(x @ turn), layer(x) @ turn, atol=1e-13)
    [dense] = layer.dense(5)
    assert isinstance(dense.up, Dense) and torch.allclose(dense(x), layer(x), atol=1e-14)


def test_costs_and_words():
    layer = FeedForward(Dense(rand(4, 3)), Dense(rand(3, 4)), rand(4), residual=True)
    maps = 4 * (2 * 3 - 1) + 3 * (2 * 4 - 1)
    assert layer.flops(5, 3) == 5 * (maps + 4 + 4 + 3) and layer.dense_parameters(5, 3) == 12 + 12 + 4
    assert layer.summary() == "3 -> 4 relu -> 3, residual" and layer.unusual() is None
    assert "without residual" in FeedForward(Dense(rand(4, 3)), Dense(rand(3, 4))).unusual()


@pytest.mark.parametrize(
    "make",
    [
        lambda: FeedForward(Dense(rand(2, 1)), Dense(rand(1, 3))),
        lambda: FeedForward(Dense(rand(2, 1)), Dense(rand(3, 2)), residual=True),
        lambda: FeedForward(Dense(rand(2, 1)), Dense(rand(1, 2)), activation="step"),
        lambda: FeedForward(Dense(rand(2, 1)), Dense(rand(1, 2)), up_bias=[1.0]),
        lambda: FeedForward(Dense(rand(1, 2, 1)), Dense(rand(1, 2))),
    ],
)
def test_malformed_layers_are_refused(make):
    with pytest.raises(Refusal):
        make()
