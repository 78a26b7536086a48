import dataclasses

import pytest

from headsmith.lab.read import mechanism
from headsmith.papers.icl import patterns
from headsmith.papers.icl.frame import TOY, checked
from headsmith.papers.icl.written import written

ITEMS = ("figure-1a", "figure-1b", "figure-3a", "figure-3b", "figure-3c", "figure-5", "figure-13")


@pytest.mark.parametrize("name", [*ITEMS, "figure-2", "figure-14"])
def test_the_known_answer_is_read_as_it_is(check, name):
    assert check(name)


@pytest.mark.parametrize("name", ITEMS)
def test_untrained_heads_are_noticed(check, untrained, name):
    assert not check(name)


def test_another_formula_is_noticed(check, monkeypatch):
    smoother = patterns.regression.kernel_smoother
    monkeypatch.setattr(patterns.regression, "kernel_smoother", lambda X, y, x, w, m: smoother(X, y, x, 1.01 * w, m))
    assert not check("figure-2")


def test_a_dummy_that_is_none_is_noticed(check, monkeypatch):
    """Heads with a share of the work are called dummies: removing them costs, and the claim fails."""
    written.cache_clear()
    monkeypatch.setattr(mechanism, "DUMMY", 0.4)
    assert not check("figure-14")
    written.cache_clear()


def test_a_course_that_is_played_backwards_does_not_rise_and_fall():
    run = patterns.trained(TOY, None, 2)
    backwards = dataclasses.replace(run, kq=run.kq[5:].flip(0), ov=run.ov[5:].flip(0), steps=run.steps[5:])
    verdicts = [patterns.RISES_AND_FALLS.verdict(patterns.course(r) | {"steps": 10**5}) for r in (run, backwards)]
    assert verdicts == ["holds", "fails"]


def test_the_film_has_six_frames_and_ends_with_the_run():
    m = checked(patterns.figure_5.run, TOY)
    assert len(m["frames"]) == 6 and m["frame_steps"][-1] == m["steps"]
    assert m["frame_off_diagonal"][0] > 0.1 > 1e-3 > m["frame_off_diagonal"][-1]
