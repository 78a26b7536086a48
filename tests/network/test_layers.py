import pytest
import torch

from headsmith.network import Affine, Dense, FeedForward, Network, Select, Sparse, TokenMix
from headsmith.refusal import Refusal


def rand(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def test_affine_repeats_drops_and_invents_tokens():
    x = rand(2, 3, 2)
    bias = rand(4, 3)
    weight = rand(3, 2)
    y = Affine(Dense(weight), bias, source=[2, 2, -1, 0])(x)
    for t, s in enumerate([2, 2, None, 0]):
        want = bias[t] + (0 if s is None else x[:, s] @ weight.T)
        assert torch.allclose(y[:, t], want.expand(2, 3), atol=1e-14)


@pytest.mark.parametrize("source", [None, [1, 0, -1]])
def test_affine_with_a_matrix_for_each_token(source):
    x, weight, bias = rand(2, 3, 2), rand(3, 4, 2), rand(4)
    y = Affine(Dense(weight), bias, source)(x)
    for t in range(3):
        s = t if source is None else source[t]
        assert torch.allclose(y[:, t], bias + (0 if s < 0 else 1) * (x[:, s] @ weight[t].T), atol=1e-14)


def test_lift_is_exact():
    lift = Affine(Select([0, -1, -1, -1], 1), bias=[0.0, 1.0, 0.0, 0.0])
    x = rand(100, 1, 1) * 10.0 ** torch.arange(-50, 50).reshape(-1, 1, 1)
    y = lift(x)
    assert torch.equal(y[..., :1], x) and torch.equal(y[0, 0, 1:], torch.tensor([1.0, 0, 0], dtype=x.dtype))


def test_token_mix_is_the_right_hand_w_o():
    """Tokens as columns: X W_O."""
    x, w_o = rand(2, 4, 3), rand(4, 2)
    assert torch.allclose(TokenMix(Dense(w_o.T))(x).mT, x.mT @ w_o, atol=1e-14)
    assert torch.equal(TokenMix(Select([3, 0, 0], 4))(x), x[:, [3, 0, 0]])
    average = TokenMix(Sparse([[0, 1, 2, 3]], [[0.25] * 4], 4))
    assert torch.allclose(average(x), x.mean(-2, keepdim=True), atol=1e-15)


def test_padding_travels_with_the_tokens():
    padding = torch.tensor([[True, False, False]])
    assert Affine(Select([0], 1), source=[2, 0, -1]).padding_out(padding).tolist() == [[False, True, False]]
    assert TokenMix(Select([1, 0], 3)).padding_out(padding).tolist() == [[False, True]]
    assert TokenMix(Dense(rand(2, 3))).padding_out(padding) is None


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "tanh", "identity"])
def test_feed_forward(activation):
    up, down, a, b, x = rand(5, 3), rand(3, 5), rand(5), rand(3), rand(2, 4, 3)
    act = getattr(torch.nn.functional, activation, lambda z: z)
    y = FeedForward(Dense(up), Dense(down), a, b, activation, residual=True)(x)
    assert torch.allclose(y, x + act(x @ up.T + a) @ down.T + b, atol=1e-13)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Affine(Select([0], 1), bias=[1.0, 2.0]),
        lambda: Affine(Select([0], 1), source=[-2]),
        lambda: Affine(Select([[0], [0]], 1), source=[0]),
        lambda: TokenMix(Select([[0]], 1)),
        lambda: FeedForward(Dense(rand(2, 1)), Dense(rand(1, 3))),
        lambda: FeedForward(Dense(rand(2, 1)), Dense(rand(3, 2)), residual=True),
        lambda: FeedForward(Dense(rand(2, 1)), Dense(rand(1, 2)), activation="step"),
        lambda: Network([]),
        lambda: Network([Affine(Select([0, 0], 1)), Affine(Select([0], 3))]),
        lambda: Network({"a.b": Affine(Select([0], 1))}),
        lambda: Network([Affine(Select([0], 1))])(rand(2, 1, 3)),
        lambda: Network([Affine(Select([0], 1))])(rand(2, 1, 1), torch.zeros(1, dtype=torch.bool)),
    ],
)
def test_malformed_layers_are_refused(make):
    with pytest.raises(Refusal):
        make()
