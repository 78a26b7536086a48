"""What the trained experiments share: a layer that mixes tokens, with heads that need not divide its features."""

import math

import torch

from headsmith.papers.emulation.trained import Columns, Multihead, Predictor


def test_the_trained_layer_mixes_tokens():
    model = Multihead(6, 3, 8, 2, 5, queries=4)
    x, q = torch.randn(2, 6, 3), torch.randn(2, 6, 4)
    assert model(x, q).shape == (2, 6, 5)
    moved = x.clone()
    moved[:, 0] += 1
    assert bool(((model(moved, q) - model(x, q))[:, 1:].abs() > 1e-6).any())


def test_every_token_has_a_matrix_of_its_own():
    layer = Columns(3, 2, 2)
    out = layer(torch.ones(1, 3, 2))
    assert not torch.allclose(out[:, 0], out[:, 1])


def test_heads_are_softmax_attention():
    model, x = Multihead(4, 3, 6, 2, 2), torch.randn(5, 4, 3)
    q, k, v = (layer(x).view(5, 4, 2, 3).transpose(1, 2) for layer in (model.query, model.key, model.value))
    mixed = torch.softmax(q @ k.mT / math.sqrt(3), -1) @ v
    assert torch.allclose(model(x), model.out(mixed.transpose(1, 2).reshape(5, 4, 6)), atol=1e-6)


def test_heads_that_do_not_divide_are_of_two_widths():
    """5 features on 2 heads: 3 and 2; the sixth column is never seen and never trained."""
    model, x = Multihead(4, 3, 5, 2, 2), torch.randn(5, 4, 3)
    before = model(x)
    before.sum().backward()
    for layer in (model.query, model.key, model.value):
        assert not layer.weight.grad[..., 5].any() and layer.weight.grad[..., 4].any()
    with torch.no_grad():
        for layer in (model.query, model.key, model.value):
            layer.weight[..., 5] += 7
        model.out.weight[:, 5] += 7
    assert torch.equal(model(x), before)
    assert model.scale[1, 0, 0] == 1 / math.sqrt(2) and int(Multihead(1, 1, 524, 8, 1).live.sum()) == 524


def test_the_predictor_reads_tokens_and_weights():
    assert Predictor(4, 3, 8, 2)(torch.randn(5, 4, 3), torch.randn(5, 3)).shape == (5, 4)
