"""The transformer against plain loops, and what each way of writing a prompt may and may not depend on."""

import math

import pytest
import torch

from headsmith.lab.train.transformer import Interleaved, MultiHead, Pairs, Shape, Transformer, weigh
from headsmith.refusal import Refusal

KINDS = ("softmax", "relu")


def loop(attention, asking, asked, visible):
    """One token and one head at a time."""
    heads, width = attention.heads, asking.shape[-1]
    size = width // heads
    out = torch.zeros_like(asking)
    both = attention.pair(asked)
    keys, values = both[..., :width], both[..., width:]
    for b in range(asking.shape[0]):
        for i in range(asking.shape[1]):
            q = attention.query(asking[b, i])
            joined = torch.zeros(width, dtype=asking.dtype)
            for h in range(heads):
                part = slice(h * size, (h + 1) * size)
                seen = [s for s in range(asked.shape[1]) if visible[i, s]]
                scores = [(q[part] @ keys[b, s, part]).item() / math.sqrt(size) for s in seen]
                if attention.kind == "softmax":
                    total = sum(math.exp(s) for s in scores)
                    weights = [math.exp(s) / total for s in scores]
                else:
                    weights = [max(s, 0.0) / len(seen) for s in scores]
                for weight, s in zip(weights, seen, strict=True):
                    joined[part] += weight * values[b, s, part]
            out[b, i] = attention.out(joined)
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_attention_is_the_plain_loop(kind):
    attention = MultiHead(Shape(1, 2, 6, attention=kind)).double()
    asking, asked = torch.randn(2, 3, 6).double(), torch.randn(2, 4, 6).double()
    visible = torch.tensor([[1, 0, 1, 0], [1, 1, 1, 1], [0, 0, 0, 1]]).bool()
    assert torch.allclose(attention(asking, asked, visible), loop(attention, asking, asked, visible), atol=1e-12)


def test_relu_weights_are_divided_by_the_number_of_visible_tokens():
    scores = torch.tensor([[2.0, -1.0, 4.0, 8.0]])
    visible = torch.tensor([[True, True, True, False]])
    assert weigh(scores, visible, "relu").tolist() == [[pytest.approx(2 / 3), 0.0, pytest.approx(4 / 3), 0.0]]
    assert float(weigh(scores, visible, "softmax").sum()) == pytest.approx(1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_interleaved_guess_depends_on_what_came_before_alone(kind):
    model = Interleaved(Shape(2, 2, 8, attention=kind), 3, 6).double()
    x, y = torch.randn(2, 6, 3).double(), torch.randn(2, 6).double()
    before = model(x, y)
    for k in range(6):
        other_x, other_y = x.clone(), y.clone()
        other_x[:, k + 1 :] += 1
        other_y[:, k:] += 1  # its own answer, too
        after = model(other_x, other_y)
        assert torch.allclose(after[:, : k + 1], before[:, : k + 1], atol=1e-12)
        assert k == 5 or not torch.allclose(after[:, k + 1], before[:, k + 1], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_do_not_know_the_order_of_the_examples_nor_each_others_queries(kind):
    model = Pairs(Shape(2, 2, 8, attention=kind), 3).double()
    X, y, x = torch.randn(2, 6, 3).double(), torch.randn(2, 6).double(), torch.randn(2, 3, 3).double()
    before = model(X, y, x)
    order = torch.randperm(6)
    assert torch.allclose(model(X[:, order], y[:, order], x), before, atol=1e-12)
    assert torch.allclose(model(X, y, x[:, 1:2]), before[:, 1:2], atol=1e-12)
    assert not torch.allclose(model(X, y.flip(1), x), before, atol=1e-6)  # answers swapped alone


@pytest.mark.parametrize("kind", KINDS)
def test_unseen_examples_change_nothing(kind):
    model = Pairs(Shape(2, 2, 8, attention=kind), 3).double()
    X, y, x = torch.randn(2, 6, 3).double(), torch.randn(2, 6).double(), torch.randn(2, 3, 3).double()
    seen = torch.arange(6) < torch.tensor([[4], [6]])
    found = model(X, y, x, seen)
    assert torch.allclose(found[0], model(X[:1, :4], y[:1, :4], x[:1])[0], atol=1e-12)
    assert torch.allclose(found[1], model(X, y, x)[1], atol=1e-12)


def test_positions_tell_the_order_and_without_them_a_full_view_does_not():
    tokens, visible = torch.randn(1, 4, 2), torch.ones(4, 4, dtype=torch.bool)
    order = torch.tensor([1, 0, 3, 2])
    plain, placed = Transformer(Shape(1, 1, 4), 2), Transformer(Shape(1, 1, 4), 2, positions=4)
    assert torch.allclose(plain(tokens[:, order], visible), plain(tokens, visible)[:, order], atol=1e-6)
    with torch.no_grad():
        placed.positions.normal_()
    assert not torch.allclose(placed(tokens[:, order], visible), placed(tokens, visible)[:, order], atol=1e-4)


def test_predict_is_the_last_guess():
    X, y, x = torch.randn(2, 4, 3), torch.randn(2, 4), torch.randn(2, 3)
    interleaved, pairs = Interleaved(Shape(1, 2, 8), 3, 5), Pairs(Shape(1, 2, 8), 3)
    joined = interleaved(torch.cat([X, x[:, None]], 1), torch.cat([y, torch.randn(2, 1)], 1))
    assert torch.allclose(interleaved.predict(X, y, x), joined[:, 4], atol=1e-6)
    assert torch.allclose(pairs.predict(X, y, x), pairs(X, y, x[:, None])[:, 0])


def test_the_centre_is_a_shift_of_the_inputs():
    X, y, x = torch.randn(2, 4, 3), torch.randn(2, 4), torch.randn(2, 3)
    model = Pairs(Shape(1, 2, 8), 3)
    before = model.predict(X, y, x)
    model.centre = -2.0
    assert torch.allclose(model.predict(X - 2, y, x - 2), before, atol=1e-5)


def test_what_cannot_be_built_or_asked_is_refused():
    with pytest.raises(Refusal, match="heads divide"):
        Shape(1, 3, 8)
    with pytest.raises(Refusal, match="softmax or relu"):
        Shape(1, 2, 8, attention="tanh")
    with pytest.raises(Refusal, match="positions for 5"):
        Interleaved(Shape(1, 2, 8), 3, 5)(torch.randn(1, 6, 3), torch.randn(1, 6))
