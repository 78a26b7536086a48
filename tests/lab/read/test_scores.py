"""R^2 against numpy and against simulation of its standard error."""

import numpy as np
import pytest
import torch

from headsmith.lab.read.scores import flat, score


def test_both_r2_are_the_textbook_ratios():
    g = np.random.default_rng(0)
    means, noise = g.normal(size=7), g.normal(size=(7, 3))
    y = means[:, None] + noise
    guess = y + 0.3 * g.normal(size=(7, 3))
    found = score(*(torch.tensor(v) for v in (guess, y, means)))
    missed = ((y - guess) ** 2).sum()
    assert found.pooled == pytest.approx(1 - missed / ((y - y.mean()) ** 2).sum())
    assert found.within == pytest.approx(1 - missed / ((y - means[:, None]) ** 2).sum())


def test_the_standard_error_is_the_spread_over_fresh_prompts():
    g = torch.Generator().manual_seed(0)

    def once():
        means = torch.randn(200, generator=g)
        y = means[:, None] + torch.randn(200, 2, generator=g)
        return score(means[:, None].expand(-1, 2) + 0.3 * torch.randn(200, 2, generator=g), y, means)

    found = [once() for _ in range(300)]
    for key in ("pooled", "within"):
        spread = float(np.std([getattr(s, key) for s in found]))
        assert np.mean([getattr(s, f"{key}_error") for s in found]) == pytest.approx(spread, rel=0.15)


def test_without_variation_there_is_no_score():
    zero = torch.zeros(4, 2)
    found = score(zero, zero, torch.zeros(4))
    assert found.pooled is None and found.within is None
    constant = torch.arange(4.0)[:, None].expand(4, 2)
    assert score(constant, constant, torch.arange(4.0)).within is None
    assert flat(constant) == 1 and flat(torch.randn(4, 5)) == 0
