"""The stream of softmax training: its features, and the score that makes a rate a share of attention."""

import math
from itertools import pairwise

import pytest
import torch

import headsmith as hs
from headsmith.constructions.training.softmax_sheet import LEAST, SoftmaxSheet, above, score

SHEET = SoftmaxSheet(widths=(2, 3, 1), biases=True, bent=(1,), samples=4, most=2.0)


def test_families_lie_behind_each_other_and_w_and_a_alike():
    ends = [(place.start, place.stop) for place in SHEET.slices.values()]
    assert ends[0][0] == 0 and all(a[1] == b[0] for a, b in pairwise(ends))
    shift = SHEET.slices["a"].start - SHEET.slices["w"].start
    assert [row + shift for row in SHEET.row(2, 0)] == SHEET.row(2, 0, "a")
    kept = {row for name in ("x", "y", "one", "absent", "ask", "w") for row in SHEET.rows(name)}
    assert kept.isdisjoint(SHEET.scratch()) and len(kept) + len(SHEET.scratch()) == SHEET.width


@pytest.mark.parametrize("rate", [1e-6, 0.1, 0.25, 3.0, 1e5])
@pytest.mark.parametrize("count", [1.0, 7.0])
def test_a_share_of_attention_is_the_rate(rate, count):
    """Of count samples that score `ask` beside one that scores 0."""
    most = above(rate)
    assert most / 32 <= rate < most / 16
    scores = torch.tensor([score(most, rate, count)] * int(count) + [0.0], dtype=torch.float64)
    assert float(torch.softmax(scores, 0)[0]) * most * count == pytest.approx(rate, rel=1e-14)


def test_a_rate_that_is_no_share_is_refused():
    for rate in (2.0, 5.0, 2.0 * LEAST * 0.99):
        with pytest.raises(hs.Refusal, match=r"a share of attention.*but not 2 here.*method='auto'"):
            score(2.0, rate, 4.0)
    assert score(2.0, 2.0 * LEAST, 1.0) < -27 and score(2.0, 1.999, 1.0) > 7


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("rates", [(), (3,)])
def test_every_token_is_told_the_same(batch, rates):
    shape = torch.broadcast_shapes(batch, rates)
    stream, present = torch.zeros(*shape, 5, SHEET.width), torch.ones(*batch, 4)
    present[..., 1] = 0
    SHEET.instruct(stream, torch.full(rates, 0.5), present, (1.0, 1.0))
    assert torch.equal(stream[..., SHEET.slices["ask"]], torch.full((*shape, 5, 1), math.log(1 / 9)))
    assert stream[..., :, SHEET.slices["absent"].start].reshape(-1, 5)[0].tolist() == [0, 1, 0, 0, 1]
