"""Predicates of figures 1 and 2 that can fail, and a self-check that notices wrong controls."""

import copy

import pytest
import torch

from headsmith.papers.deep_optimizers import figures_1_2, known
from headsmith.papers.deep_optimizers.figures_1_2 import CLAIMS, DECAY, panel

RISES, ORACLE, HONEST, FALLS, MEAN, RIDGE = (claim.text for claim in CLAIMS)


def table(pooled, within):
    few = [0.01] * len(pooled)
    return {"pooled": pooled, "pooled_error": few, "within": within, "within_error": few}


@pytest.fixture
def good():
    """Measurements of which every claim holds."""
    ours = table([0.8, 0.95, 0.97, 0.9], [0.1, 0.8, 0.9, 0.7])
    controls = {
        "ridge": table([0.7, 0.9, 0.95, 0.96], [0.0, 0.6, 0.8, 0.8]),
        "context mean": table([0.6, 0.8, 0.8, 0.8], [-0.2, 0.0, 0.0, 0.0]),
        "trained, validated": table([0.7, 0.9, 0.96, 0.97], [0.0, 0.6, 0.9, 0.9]),
        "trained, oracle": table([0.8, 0.97, 0.99, 0.99], [0.5, 0.9, 0.9, 0.9]),
    }
    both = {"ReLU attention": ours, "softmax attention": ours}
    far = {name: table([v - 0.1 for v in ours["pooled"]], ours["within"]) for name in both}
    return {
        "examples": [3, 20, 50, 75], "length": 50, "layout": "interleaved", "steps": 100_000, "nets": [3],
        "far": [0.0, 0.5], "judged": [panel(3, 0.0)],
        "scores": {panel(3, 0.0): both | controls, panel(3, 0.5): far | controls},
    }  # fmt: skip


def verdicts(m):
    return {claim.text: claim.verdict(m) for claim in (*CLAIMS, DECAY)}


@pytest.mark.parametrize(
    "claim, who, key, examples, wrong",
    [
        (RISES, "ReLU attention", "pooled", 0, 0.97),
        (ORACLE, "trained, oracle", "pooled", 2, 1.03),
        (HONEST, "trained, validated", "pooled", 2, 1.03),
        (MEAN, "context mean", "pooled", 2, 0.96),
        (RIDGE, "ridge", "within", 1, 0.79),
        (DECAY.text, "softmax attention", "pooled", 3, 0.96),
    ],
)
def test_each_claim_holds_of_good_numbers_and_fails_of_one_wrong_one(good, claim, who, key, examples, wrong):
    assert set(verdicts(good).values()) == {"holds"}
    bad = copy.deepcopy(good)
    bad["scores"][panel(3, 0.0)][who][key][examples] = wrong
    assert verdicts(bad)[claim] == "fails"


def test_a_shift_must_cost_something(good):
    bad = copy.deepcopy(good)
    bad["scores"][panel(3, 0.5)]["softmax attention"]["pooled"][2] = 0.969
    assert verdicts(bad)[FALLS] == "fails"


def test_short_runs_decide_nothing_and_pairs_have_no_positions_to_forget(good):
    assert set(verdicts(good | {"steps": 100}).values()) >= {"too short to tell"}
    assert verdicts(good | {"steps": 100})[RIDGE] == "too short to tell"
    assert verdicts(good | {"layout": "pairs"})[DECAY.text] == "too short to tell"


def test_the_self_check_sees_a_ridge_that_does_not_fit(monkeypatch):
    assert figures_1_2.self_check()
    closed = known.closed_form

    def wrong(*args):
        found = closed(*args)
        return found | {"ridge": found["context mean"] + torch.zeros_like(found["ridge"])}

    monkeypatch.setattr(known, "closed_form", wrong)
    assert not figures_1_2.self_check()


def test_each_case_asks_one_task_of_all_learners():
    made = figures_1_2.cases(figures_1_2.PRESETS["full"], ("relu", "softmax"))
    assert [case.name for case in made][:2] == ["N = 3, w2 = 0", "N = 3, w2 = 0.1"] and len(made) == 12
    assert {case.task.layers for case in made} == {3, 4, 6} and made[1].task.far == 0.1
    for case in made:
        assert {one.task.layers for one in case.learners.values()} == {case.task.layers}
        assert {one.task.far for one in case.learners.values()} == {0.0}  # trained without shift
