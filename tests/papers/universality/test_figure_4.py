"""Figure 4: the compiled map beside the trained ones, and a self-check that sees a loose bound."""

import pytest

from headsmith.papers.universality import figure_4

BESIDE = {"compiled": 1e-14, "bound": 9e-7, "gates": 1e-3, "mean": 0.1, "regression": 0.1}


@pytest.mark.parametrize(("change", "sound"), [({}, True), ({"bound": 2e-6}, False), ({"compiled": 1e-9}, False)])
def test_the_self_check_sees_a_loose_bound_and_a_large_error(monkeypatch, change, sound):
    monkeypatch.setattr(figure_4, "double_score", lambda *args: 0.1)  # nothing is trained here
    monkeypatch.setattr(figure_4, "references", lambda tokens, samples: BESIDE | change)
    assert figure_4.self_check() is sound


def test_the_target_is_compiled_within_its_bound():
    found = figure_4.references(10, 500)
    assert found["bound"] <= 1e-6 and found["compiled"] < 1e-12 < found["gates"]


def test_claims_about_training_wait_for_it():
    m = {"steps": 10}
    assert {claim.verdict(m) for claim in figure_4.CLAIMS[:3]} == {"too short to tell"}
    m = {"steps": 10**6, "slope p": 0.0, "slope heads": -1.0, "beats regression": False}
    assert [claim.verdict(m) for claim in figure_4.CLAIMS[:3]] == ["fails", "holds", "fails"]
