"""Code is asked twice: what it answers must be finite, of the right shape, and the same again."""

import itertools

import pytest
import torch

from headsmith.functions.asked import asked
from headsmith.refusal import Refusal

X = torch.linspace(-1, 1, 24, dtype=torch.float64).reshape(6, 2, 2)
count = itertools.count()


def test_one_sample_at_a_time():
    assert torch.equal(asked(lambda x: x.flip(0), X), X.flip(1))
    assert torch.equal(asked(lambda x: x if x.sum() > 0 else -x, X), X * X.sum((1, 2)).sign()[:, None, None])


def test_code_that_only_knows_batches():
    assert torch.equal(asked(lambda x: x.transpose(1, 2), X), X.mT)


@pytest.mark.parametrize(
    "moody",
    [
        lambda x: x + torch.rand_like(x) * 1e-9,
        lambda x: x + next(count),
        torch.nn.Dropout(),
        lambda x: x[:, :] * torch.arange(6).reshape(6, 1, 1),  # by its place in the batch
    ],
)
def test_code_that_answers_differently_is_refused(moody):
    with pytest.raises(Refusal, match="answers differently"):
        asked(moody, X)


def test_code_may_work_in_place():
    given = X.clone()
    assert torch.equal(asked(lambda x: x.mul_(2), given), 2 * X) and torch.equal(given, X)


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda x: x.log(), "not finite near -"),
        (lambda x: x[0], "of the same shape"),
        (lambda x: 3, "of the same shape"),
        (lambda x: x.float(), "in float64"),  # which is not computed within ulps of float64
        (lambda x: x.double() + 0j, "in float64"),
    ],
)
def test_refusals(f, says):
    with pytest.raises(Refusal, match=says):
        asked(f, X)
