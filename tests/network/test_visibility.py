import math

import pytest
import torch

from headsmith.network.visibility import bands, hide, in_band, join, over_batch, weigh
from headsmith.refusal import Refusal

T, F = True, False


def test_every_pattern_is_a_band():
    table = in_band(bands(("all", "causal", "strict", "self", "none")), 2).tolist()
    assert table == [[[T, T], [T, T]], [[T, F], [T, T]], [[F, F], [T, F]], [[T, F], [F, T]], [[F, F], [F, F]]]
    with pytest.raises(Refusal, match="no visibility is called 'some'"):
        bands(("some",))


def test_tables_are_stretched_over_the_batch():
    assert over_batch(torch.ones(2, 3, 4), 2).shape == (2, 1, 1, 3, 4)


def test_data_and_memory_share_one_table():
    data, memory = torch.tensor([[[T, F]]]), torch.tensor([[[F]], [[T]]])
    assert join(None, None, (2, 1)) is None
    assert join(data, memory, (2, 1)).tolist() == [[[T, F, F]], [[T, F, T]]]
    assert join(None, memory, (2, 1)).tolist() == [[[T, T, F]], [[T, T, T]]]
    assert join(data, None, (2, 0)) is data and join(None, memory, (0, 1)) is memory


def test_hidden_keys_get_no_weight_and_blind_queries_none_at_all():
    scores, visible = torch.zeros(1, 2, 2), torch.tensor([[[T, F], [F, F]]])
    hidden = hide(scores.clone(), visible, sighted=False)
    assert hidden.tolist() == [[[0, -math.inf], [0, 0]]]
    for weights in ("softmax", "hardmax"):
        assert weigh(hidden, visible, weights, sighted=False).tolist() == [[[1, 0], [0, 0]]]


def test_the_three_weights():
    scores = torch.tensor([[[1.0, -2.0, 1.0]]], dtype=torch.float64)
    e = [math.exp(s) for s in (1, -2, 1)]
    assert weigh(scores, None, "softmax", True)[0, 0].tolist() == pytest.approx([v / sum(e) for v in e])
    assert weigh(scores, None, "relu", True)[0, 0].tolist() == pytest.approx([1 / 3, 0, 1 / 3])
    assert weigh(scores, None, "hardmax", True)[0, 0].tolist() == [0.5, 0, 0.5]
    seen = torch.tensor([[[T, T, F]]])
    assert weigh(hide(scores.clone(), seen, True), seen, "relu", True)[0, 0].tolist() == [0.5, 0, 0]


def test_many_heads_of_few_keys_take_the_other_axis_and_agree():
    scores = torch.randn(5, 4, 3, 2, dtype=torch.float64)
    assert torch.allclose(weigh(scores, None, "softmax", True), torch.softmax(scores, -1), atol=1e-16)
