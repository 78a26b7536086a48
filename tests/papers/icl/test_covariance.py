import pytest
import torch

from headsmith.papers.icl import covariance

ITEMS = ("figure-12", "figure-15")


@pytest.mark.parametrize("name", ITEMS)
def test_the_known_answer_is_read_as_it_is(check, name):
    assert check(name)


@pytest.mark.parametrize("name", ITEMS)
def test_untrained_heads_are_noticed(check, untrained, name):
    assert not check(name)


def test_a_preconditioner_that_is_three_percent_off_is_noticed(check, monkeypatch):
    targets = covariance._targets()
    targets["derived optimum"] = 1.03 * targets["derived optimum"]
    monkeypatch.setattr(covariance, "_targets", lambda: targets)
    assert not check("figure-12")


def test_gap_and_cosine():
    a, b = torch.eye(2), torch.tensor([[1.0, 0.0], [0.0, -1.0]])
    assert covariance._gap(2 * a, a) == pytest.approx(1) and covariance._cosine(a, 3 * a) == pytest.approx(1)
    assert covariance._cosine(a, b) == 0
