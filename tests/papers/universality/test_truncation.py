"""Truncated linear models: Thm 3.4 has its slopes; Thm 3.9 fails as printed and holds repaired."""

import pytest

from headsmith.papers.universality import truncation


@pytest.fixture(scope="module")
def measured():
    return truncation.measure(truncation.PRESETS["smoke"])


def test_verdicts(measured):
    verdicts = [claim.verdict(measured) for claim in truncation.CLAIMS]
    assert verdicts == ["holds", "holds", "fails", "holds", "holds", "holds"]


def test_the_self_check_sees_other_numbers(measured, monkeypatch):
    monkeypatch.setattr(truncation, "measure", lambda settings: measured)
    assert truncation.self_check()
    wrong = ({"slope p": -2.0}, {"printed within bound": True}, {"slope heads": -0.9}, {"steps": [0.07]})
    for change in wrong:
        monkeypatch.setattr(truncation, "measure", lambda settings, change=change: measured | change)
        assert not truncation.self_check()


def test_the_sup_error_reaches_beyond_both_ends():
    assert truncation.sup([lambda z: z], -1.0, 1.0, 101) == pytest.approx(1.0)
