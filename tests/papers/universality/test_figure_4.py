"""Figure 4: the compiled map beside the trained ones, and a self-check that sees a loose bound."""

import pytest

from headsmith.papers.universality import constructed, figure_4

BESIDE = {"compiled": 1e-14, "bound": 9e-7, "coarse": 1e-6, "coarse bound": 0.09}


@pytest.mark.parametrize(("change", "sound"), [({}, True), ({"bound": 2e-6}, False), ({"compiled": 1e-9}, False)])
def test_the_self_check_sees_a_loose_bound_and_a_large_error(monkeypatch, change, sound):
    monkeypatch.setattr(constructed, "compiled_errors", lambda tokens, samples: BESIDE | change)
    assert figure_4.self_check() is sound


def test_every_size_has_a_lesson():
    lessons = figure_4.lessons(figure_4.PRESETS["full"])
    assert len(lessons) == 12 and {one.steps for one in lessons.values()} == {3750}
    assert {len(one.seeds) for one in lessons.values()} == {7}


def test_claims_about_training_wait_for_it():
    assert {claim.verdict({"steps": 10}) for claim in figure_4.CLAIMS[:4]} == {"too short to tell"}
    m = {"steps": 10**6, "slope p": 0.0, "slope heads": -1.0, "beats mean": True, "beats regression": False}
    assert [claim.verdict(m) for claim in figure_4.CLAIMS[:4]] == ["fails", "holds", "holds", "fails"]


def test_rows_and_picture(monkeypatch):
    monkeypatch.setattr(constructed, "compiled_errors", lambda tokens, samples: dict(BESIDE))
    panel = {"sizes": [10, 20], "trained": [3.0, 2.0], "spread": [0.1, 0.1], "mean": 17.0, "regression": 2.0}
    m = {"steps": 5, "seeds": 1, "panels": {axis: dict(panel) for axis in figure_4.TOKENS}}
    m |= {"slope p": -0.5, "slope heads": -0.5}
    made = figure_4.outcome(m, {"samples": 500})
    assert made.measurements["bound"] == 9e-7 and made.rows[0].ours == "3 ± 0.1"
    assert figure_4.picture(made.measurements).axes
