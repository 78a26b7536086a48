import pytest
import torch

from headsmith.network import Dense, Select, Sparse, TokenMix, rotation
from headsmith.refusal import Refusal


def rand(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def test_token_mix_is_the_right_hand_w_o():
    """Tokens as columns: X W_O."""
    x, w_o = rand(2, 4, 3), rand(4, 2)
    assert torch.allclose(TokenMix(Dense(w_o.T))(x).mT, x.mT @ w_o, atol=1e-14)
    assert torch.equal(TokenMix(Select([3, 0, 0], 4))(x), x[:, [3, 0, 0]])
    average = TokenMix(Sparse([[0, 1, 2, 3]], [[0.25] * 4], 4))
    assert torch.allclose(average(x), x.mean(-2, keepdim=True), atol=1e-15)


def test_a_selected_padding_token_stays_one_and_a_mixture_is_none():
    padding = torch.tensor([[True, False, False]])
    assert TokenMix(Select([1, 0], 3)).padding_out(padding).tolist() == [[False, True]]
    assert TokenMix(Dense(rand(2, 3))).padding_out(padding) is None


def test_it_commutes_with_every_basis_and_has_a_dense_form():
    layer, x, turn = TokenMix(Sparse([[0, 2]], [[0.5, -1.0]], 3)), rand(4, 3, 2), rotation(3, 2)
    assert torch.allclose(layer.rotated(turn, turn)(x @ turn), layer(x) @ turn, atol=1e-14)
    [dense] = layer.dense(3)
    assert isinstance(dense.mix, Dense) and torch.allclose(dense(x), layer(x), atol=1e-15)
    assert layer.tokens_out(3) == 1 and layer.width_in is layer.width_out is None


def test_costs_and_words():
    layer = TokenMix(Dense(rand(2, 3)))
    assert layer.flops(3, 4) == 4 * 2 * (2 * 3 - 1) and layer.dense_parameters(3, 4) == 6
    assert "mixes tokens" in layer.unusual() and layer.summary() == "dense 3 -> 2 tokens"


def test_heads_are_refused():
    with pytest.raises(Refusal, match="without a heads axis"):
        TokenMix(Select([[0]], 1))
