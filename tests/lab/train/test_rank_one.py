"""Rank-1 attention against plain loops, and what each kind of attention may and may not depend on."""

import math

import pytest
import torch

from headsmith.lab.train.rank_one import KINDS, RankOneAttention, RankOneShape, RankOneTransformer
from headsmith.refusal import Refusal

WORDS, LENGTH, TAGS = 9, 7, 3
THERE = torch.tensor([[True] * 5 + [False] * 2, [True] * 3 + [False] * 4])


def model(kind, blocks=2):
    return RankOneTransformer(RankOneShape(blocks, 6, 8, kind), WORDS, LENGTH, TAGS).double()


def words():
    return torch.randint(WORDS, (2, LENGTH))


@pytest.mark.parametrize("scores", [True, False])
@torch.no_grad()
def test_attention_is_equation_20(scores):
    """One token at a time: o times a softmax mean of v1 . h, values and keys the same, scores not scaled."""
    layer, h = RankOneAttention(6, scores).double(), torch.randn(2, LENGTH, 6).double()
    found = layer(h, THERE)
    v1, v2 = layer.pair[0], layer.pair[1] if scores else torch.zeros(6).double()
    for b in range(2):
        keys = [float(v1 @ h[b, j]) for j in range(LENGTH) if THERE[b, j]]
        for i in range(LENGTH):
            weights = [math.exp(key * float(v2 @ h[b, i])) for key in keys]
            mean = sum(w * key for w, key in zip(weights, keys, strict=True)) / sum(weights)
            assert torch.allclose(found[b, i], mean * layer.out, atol=1e-12)


def test_the_maps_have_rank_1_and_the_controls_differ_in_them_alone():
    shapes = {kind: {name: tuple(p.shape) for name, p in model(kind, 1).named_parameters()} for kind in KINDS}
    own = {kind: {name for name in found if ".attention." in name} for kind, found in shapes.items()}
    rest = [{name: shape for name, shape in found.items() if ".attention." not in name} for found in shapes.values()]
    assert all(one == rest[0] for one in rest) and not own["none"]
    assert shapes["rank-1"]["blocks.0.attention.pair"] == (2, 6) and shapes["mean"]["blocks.0.attention.pair"] == (1, 6)
    assert shapes["rank-1"]["blocks.0.attention.out"] == (6,)
    assert shapes["full"]["blocks.0.attention.head.query.weight"] == (6, 6)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_behind_a_sentence_changes_nothing(kind):
    made, one = model(kind), words()
    other = torch.where(THERE, one, (one + 1) % WORDS)
    assert torch.allclose(made(one, THERE)[THERE], made(other, THERE)[THERE], atol=1e-12)
    assert torch.allclose(made(one, THERE)[1, :3], made(one[1:, :3], THERE[1:, :3])[0], atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tag_depends_on_the_other_words_unless_there_is_no_attention(kind):
    made, one = model(kind), words()
    other = one.clone()
    other[:, 1] = (one[:, 1] + 1) % WORDS
    same = torch.allclose(made(one, THERE)[:, 0], made(other, THERE)[:, 0], atol=1e-9)
    assert same == (kind == "none")


@pytest.mark.parametrize("kind", KINDS)
def test_a_tag_depends_on_the_position(kind):
    made = model(kind)
    assert not torch.allclose(*made(torch.zeros(1, 2, dtype=torch.long), torch.ones(1, 2).bool())[0], atol=1e-6)


def test_what_cannot_be_built_is_refused():
    for shape in (RankOneShape(0), RankOneShape(attention="relu"), RankOneShape(width=0)):
        with pytest.raises(Refusal, match="attention rank-1, mean, none, full; got"):
            RankOneTransformer(shape, WORDS, LENGTH, TAGS)
