import dataclasses

import pytest

from headsmith import lab
from headsmith.papers.icl.written import written


def lines(run):
    return {check.name: check for check in run.report().checks}


@pytest.mark.parametrize("heads", [2, 4])
def test_heads_on_the_valley_pass_every_line(heads):
    report = written(heads, lab.Task()).report()
    assert report.passed, str(report)
    assert {check.observation for check in report.checks} == {"O1", "O2", "O3", "O4"}


def test_one_head_is_asked_for_its_own_observations():
    checks = lines(written(1, lab.Task()))
    assert checks["one head: risk / debiased descent"].value > 1.5
    assert not [check for check in checks.values() if check.observation in ("O2", "O4")]


def test_a_short_run_fails():
    run = lab.train(2, preset="smoke", steps=60, seeds=[1], out=None)
    assert not run.report().passed and "✗" in str(run.report())


def test_a_run_played_backwards_does_not_fall():
    run = written(2, lab.Task())
    peak = int(run.omega()[:, 0, 0].argmax())
    kq, ov = run.kq[peak:].flip(0), run.ov[peak:].flip(0)
    backwards = dataclasses.replace(run, kq=kq, ov=ov, steps=run.steps[peak:])
    assert not lines(backwards)["|omega| at its peak / at the end"].passed


def test_heads_of_one_sign_are_a_remark():
    run = written(2, lab.Task())
    aligned = dataclasses.replace(run, kq=run.kq.abs(), ov=run.ov.abs())
    assert any("plateau" in remark for remark in aligned.report().remarks)
