"""Predicates of figures 3 and 4 that can fail; the printed shifts are flagged and decide nothing about learners."""

import copy

import pytest

from headsmith.papers.deep_optimizers import figures_3_4, measured
from headsmith.papers.deep_optimizers.figures_3_4 import CLAIMS, PRESETS, cases, outcome, panel

RISES, ORACLE, HONEST, MEAN, RIDGE, PRINTED = (claim.text for claim in CLAIMS)
SHIFTED = panel(-0.5)


def table(pooled, within):
    few = [0.01] * len(pooled)
    return {"pooled": pooled, "pooled_error": few, "within": within, "within_error": few}


@pytest.fixture
def good():
    """Measurements of which every claim holds but the one about the printed shifts."""
    scores = {
        "ReLU attention": table([0.8, 0.95, 0.97], [0.1, 0.8, 0.9]),
        "ridge": table([0.7, 0.9, 0.95], [0.0, 0.6, 0.8]),
        "context mean": table([0.6, 0.8, 0.8], [-0.2, 0.0, 0.0]),
        "trained, validated": table([0.7, 0.9, 0.96], [0.0, 0.6, 0.9]),
        "trained, oracle": table([0.8, 0.97, 0.99], [0.5, 0.9, 0.9]),
    }
    shifts = [panel(shift) for shift in (0.0, -0.5, 0.5)]
    literal = {panel(-0.5, literal=True): {}, panel(0.5, literal=True): {"ridge": scores["ridge"]}}
    flags = {case: {"flag": ""} for case in shifts} | {case: {"flag": "constant"} for case in literal}
    m = {
        "examples": [3, 20, 50], "length": 50, "layout": "interleaved", "steps": 100_000, "targets": flags,
        "cases": [*shifts, *literal], "scores": {case: scores for case in shifts} | literal,
    }  # fmt: skip
    return outcome(copy.deepcopy(m), PRESETS["good"])


def verdicts(m):
    return {claim.text: claim.verdict(m) for claim in CLAIMS}


@pytest.mark.parametrize(
    "claim, who, key, examples, wrong",
    [
        (RISES, "ReLU attention", "pooled", 0, 0.97),
        (ORACLE, "trained, oracle", "pooled", 2, 1.03),
        (HONEST, "trained, validated", "pooled", 2, 1.03),
        (MEAN, "context mean", "pooled", 2, 0.96),
        (RIDGE, "ridge", "within", 1, 0.79),
    ],
)
def test_each_claim_fails_of_one_wrong_number_at_one_shift(good, claim, who, key, examples, wrong):
    m = good.measurements
    assert verdicts(m) == {text: "fails" if text == PRINTED else "holds" for text in verdicts(m)}
    m["scores"][SHIFTED][who][key][examples] = wrong
    assert verdicts(m)[claim] == "fails"


def test_the_printed_shifts_are_judged_as_targets_only(good):
    m = good.measurements
    assert m["judged"] == [panel(0.0), SHIFTED, panel(0.5)]
    clean = m | {"targets": {case: {"flag": ""} for case in m["targets"]}}
    assert verdicts(clean)[PRINTED] == "holds"
    one = clean | {"targets": clean["targets"] | {panel(0.5, literal=True): {"flag": "large"}}}
    assert verdicts(one)[PRINTED] == "fails"
    assert [row.ours for row in good.rows if row.name == panel(-0.5, literal=True)] == ["not asked: constant"]
    assert all("flagged" in row.ours for row in good.rows if row.name.startswith(panel(0.5, literal=True)))


def test_short_runs_decide_nothing_about_transformers(good):
    found = verdicts(good.measurements | {"steps": 100})
    assert found.pop(PRINTED) == "fails" and set(found.values()) == {"too short to tell"}


def test_each_case_shifts_the_parameters_of_the_task_and_not_of_training():
    made = cases(PRESETS["full"], ("relu",))
    assert [(case.task.shift, case.task.literal) for case in made] == [
        (0.0, False), (-0.5, False), (0.5, False), (-0.5, True), (0.5, True),
    ]  # fmt: skip
    for case in made:
        [one] = case.learners.values()
        assert case.task.layers == one.task.layers == 4 and one.task.shift == 0 and not one.task.literal


def test_the_self_check_sees_an_unflagged_constant_and_wrong_controls(monkeypatch):
    assert figures_3_4.self_check()
    with monkeypatch.context() as patch:
        patch.setattr(measured, "flat", lambda points: 0.0)
        patch.setattr(measured, "APART", float("inf"))
        assert not figures_3_4.self_check()
    monkeypatch.setattr(figures_3_4, "linear_scores", lambda examples: (table([0.5, 0.5], [0.5, 0.5]),) * 2)
    assert not figures_3_4.self_check()
