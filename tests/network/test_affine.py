import pytest
import torch

from headsmith.network import Affine, Dense, Select, rotation
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


def test_padding_travels_with_the_tokens():
    padding = torch.tensor([[True, False, False]])
    layer = Affine(Select([0], 1), source=[2, 0, -1])
    assert layer.padding_out(padding).tolist() == [[False, True, False]] and layer.padding_out(None) is None
    assert layer.tokens_out(3) == 3 and Affine(Select([0], 1), source=[1]).tokens_out(3) == 1


def test_another_basis_and_the_dense_form_compute_the_same():
    layer, x = Affine(Select([1, -1, 0], 2), rand(3), [1, 0]), rand(4, 2, 2)
    before, after = rotation(0, 2), rotation(1, 3)
    assert torch.allclose(layer.rotated(before, after)(x @ before), layer(x) @ after, atol=1e-14)
    [dense] = layer.dense(2)
    assert isinstance(dense.map, Dense) and torch.equal(dense(x), layer(x))


def test_costs_and_words():
    layer = Affine(Dense(rand(3, 2)), rand(3), [0, 0])
    assert layer.flops(1, 2) == 2 * (3 * (2 + 1) + 3) and layer.dense_parameters(1, 2) == 9
    assert layer.summary() == "dense 2 -> 3 + bias, 2 tokens out" and layer.unusual() is None
    assert "each token" in Affine(Dense(rand(2, 3, 2))).unusual()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Affine(Select([0], 1), bias=[1.0, 2.0]),
        lambda: Affine(Select([0], 1), source=[-2]),
        lambda: Affine(Select([0], 1), source=[]),
        lambda: Affine(Select([[0], [0]], 1), source=[0]),
    ],
)
def test_malformed_layers_are_refused(make):
    with pytest.raises(Refusal):
        make()
