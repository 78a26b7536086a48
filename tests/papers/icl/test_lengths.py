import pytest

from headsmith.papers.icl import lengths

ITEMS = ("figure-4a", "figure-8")


@pytest.mark.parametrize("name", [*ITEMS, "figure-4b"])
def test_the_known_answer_is_read_as_it_is(check, name):
    assert check(name)


@pytest.mark.parametrize("name", ITEMS)
def test_untrained_heads_are_noticed(check, untrained, name):
    assert not check(name)


def test_a_wrong_risk_is_noticed(check, monkeypatch):
    risk = lengths.risks.debiased_gd
    monkeypatch.setattr(lengths.risks, "debiased_gd", lambda *args: 1.05 * risk(*args))
    assert not check("figure-4b")


def test_verdicts_wait_for_a_long_run():
    short = {"steps": 40, "risks": {}}
    assert {c.verdict(short) for c in (lengths.WORST, lengths.COINCIDE, lengths.DECREASE)} == {"too short to tell"}
