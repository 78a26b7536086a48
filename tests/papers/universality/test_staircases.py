"""Slopes of the printed rules and of the repaired sentinels."""

import numpy as np
import pytest

from headsmith.papers.universality.staircases import printed_rule, repaired_sentinels


def sup(heads, low, high):
    z = np.linspace(low - 1, high + 1, 20_001)
    return float(np.abs(sum(h(z) for h in heads) - np.clip(z, low, high)).max())


def slope(sizes, errors):
    return np.polyfit(np.log(sizes), np.log(errors), 1)[0]


def test_printed_rule_has_slope_minus_one_in_p():
    sizes = [8, 16, 32, 64]
    errors = [sup([printed_rule(-1, 1, p)], -1, 1) for p in sizes]
    assert slope(sizes, errors) == pytest.approx(-1, abs=0.02)
    assert errors == pytest.approx([2 / p for p in sizes], rel=1e-3)  # dL: the anchor that is missing


def test_repaired_sentinels_have_slope_minus_one_in_heads_and_tokens():
    by_heads = [sup(repaired_sentinels(-1, 2, 6, H, 1e-3, c=40), -1, 2) for H in (4, 8, 16)]
    by_tokens = [sup(repaired_sentinels(-1, 2, n, 8, 1e-3, c=40), -1, 2) for n in (10, 18, 34)]
    assert slope([4, 8, 16], by_heads) == pytest.approx(-1, abs=0.02)
    assert slope([8, 16, 32], by_tokens) == pytest.approx(-1, abs=0.02)
    assert by_heads[0] == pytest.approx(0.0719, rel=0.01)
