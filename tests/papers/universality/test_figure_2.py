"""Figure 2: points, claims that wait and can fail, and a self-check that sees a wrong construction."""

import pytest

from headsmith.papers.universality import constructed, figure_2


def test_where_two_sweeps_cross_one_network_is_trained():
    lessons = figure_2.lessons(figure_2.PRESETS["full"])
    assert len(lessons) == 7 + 5 + 5 - 2 and {len(one.seeds) for one in lessons.values()} == {10}
    assert "p = 60, |b - a| = 50, H = 1" in lessons


def test_the_self_check_sees_a_construction_that_does_not_improve(monkeypatch):
    assert figure_2.self_check()
    errors = constructed.truncation_errors
    monkeypatch.setattr(constructed, "truncation_errors", lambda p, *rest: errors(60, *rest))
    assert not figure_2.self_check()


def panels(**changes):
    panel = {"spread": [0.2, 0.1], "trained": [0.02, 0.01], "regression": [0.03, 0.03], "repaired": [1e-4, 1e-5]}
    return {"panels": dict.fromkeys(figure_2.AXES, panel | changes)}


def test_claims_about_training_wait_for_it_and_can_fail():
    long = {"steps": figure_2.ENOUGH, "slope p": -1.1, "slope width": 2.0, "slope heads": -1.0}
    assert [claim.verdict(long) for claim in figure_2.CLAIMS[:3]] == ["holds", "fails", "holds"]
    assert {claim.verdict({"steps": 10}) for claim in figure_2.CLAIMS[:5]} == {"too short to tell"}
    calm, line, constructed_, good = figure_2.CLAIMS[3], figure_2.CLAIMS[4], figure_2.CLAIMS[7], long | panels()
    assert [claim.verdict(good) for claim in (calm, line, constructed_)] == ["holds"] * 3
    assert calm.verdict(long | panels(spread=[0.1, 0.2])) == "fails"
    assert line.verdict(long | panels(regression=[0.03, 0.005])) == "fails"
    assert constructed_.verdict(long | panels(repaired=[1e-4, 0.02])) == "fails"


def test_rows_set_the_constructed_networks_beside(monkeypatch):
    beside = {"printed": 0.1, "printed sup": 0.2, "repaired": 1e-3, "repaired sup": 1e-2}
    monkeypatch.setattr(constructed, "truncation_errors", lambda p, *_: {k: v * 60 / p for k, v in beside.items()})
    settings = figure_2.PRESETS["smoke"]
    panel = {"sizes": [60, 120], "scores": [[0.2], [0.1]], "trained": [0.2, 0.1], "spread": [0.0, 0.0]}
    panel |= {"mean": [2.0, 2.0], "regression": [0.1, 0.1]}
    m = {"steps": 200, "seeds": 1, "panels": {axis: dict(panel) for axis in figure_2.AXES}}
    m |= {f"slope {axis}": -1.0 for axis in figure_2.AXES}
    made = figure_2.outcome(m, settings)
    assert len(made.rows) == 6 + 1 + 3 and made.rows[0].ours == "0.2 ± 0"
    assert made.measurements["constructed slope sup"] == pytest.approx(-1)
    assert figure_2.picture(made.measurements).axes
