"""Sequence maps by bumps: the four claims, and a self-check that sees a network that does not converge."""

import pytest

from headsmith.papers.universality import sequence_bumps
from headsmith.records import Record


def test_the_slope_of_errors_over_cells():
    halving = [{"cells": 4.0, "error": 1.0}, {"cells": 16.0, "error": 0.5}]
    assert sequence_bumps.slope(halving) == pytest.approx(-1.0)


def test_every_claim_holds_on_a_small_run_and_the_self_check_says_so(tmp_path, monkeypatch):
    settings = {"g": [3, 6], "eps": [1e-1, 1e-4]}
    entry = sequence_bumps.sequence_bumps
    outcome = entry.run(settings, Record(tmp_path, settings))
    assert [claim.verdict(outcome.measurements) for claim in entry.claims] == ["holds"] * 4
    assert set(outcome.measurements["cut"]) >= {"x", "target", "printed", "core", "straddling"}


def test_the_self_check_sees_errors_that_do_not_fall(monkeypatch):
    assert sequence_bumps.self_check()
    monkeypatch.setattr(sequence_bumps, "sup_error", lambda g, **options: 1.0)
    assert not sequence_bumps.self_check()
