"""Figure 2: constructed heads beside trained ones, and a self-check that sees a wrong construction."""

import numpy as np
import pytest

from headsmith.papers.universality import figure_2


def test_constructed_error_halves_where_the_mean_square_quarters():
    z = np.linspace(-30, 30, 20_001)
    small, large = (figure_2.constructed(p, 50, 1, z) for p in (60, 120))
    assert small["printed sup"] / large["printed sup"] == pytest.approx(2, rel=0.02)
    assert small["repaired"] / large["repaired"] == pytest.approx(4, rel=0.1)


def test_the_self_check_sees_a_construction_that_does_not_improve(monkeypatch):
    monkeypatch.setattr(figure_2, "single_score", lambda *args: 0.1)  # nothing is trained here
    assert figure_2.self_check()
    constructed = figure_2.constructed
    monkeypatch.setattr(figure_2, "constructed", lambda p, *args: constructed(60, *args))
    assert not figure_2.self_check()


def test_claims_about_training_wait_for_it():
    short = {"epochs": 1}
    assert {claim.verdict(short) for claim in figure_2.CLAIMS[:3]} == {"too short to tell"}
    long = {"epochs": 50, "slope p": -1.1, "slope width": 2.0, "slope heads": -1.0}
    assert [claim.verdict(long) for claim in figure_2.CLAIMS[:3]] == ["holds", "fails", "holds"]
