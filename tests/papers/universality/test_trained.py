"""What the trained experiments share: models that append tokens, data, and baselines."""

import pytest
import torch

from headsmith.papers.universality.trained import Double, Single, clipped, regression, slope


def test_models_append_tokens_and_read_the_first():
    x = torch.rand(3, 6, 5)
    for model in (Single(5, 8, 6, 9, 2), Double(5, 8, 6, 6, 4)):
        assert model(x).shape[:2] == (3, 6)
    assert Single(5, 8, 6, 9, 2).lift(x).shape == (3, 9, 8)


def test_baselines():
    *held, z = clipped(10, 0)
    assert float(held[3][..., 0].abs().max()) <= 5 and torch.equal(held[3][..., 0].double(), z.clamp(-5, 5))
    x = torch.rand(50, 3)
    line = (x[:40], x[:40] @ torch.ones(3, 1), x[40:], x[40:] @ torch.ones(3, 1))
    assert regression(line) < 1e-12
    assert slope([1, 2, 4], [1, 1 / 4, 1 / 16]) == pytest.approx(-2)
