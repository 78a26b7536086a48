"""Predicates of figure 5 that can fail, and that its transformers differ in depth alone."""

import copy
from dataclasses import replace

import pytest

from headsmith.papers.deep_optimizers import figure_5, figures_1_2, frame
from headsmith.papers.deep_optimizers.figure_5 import CLAIMS, PRESETS, cases, outcome, panel, who

POOLED, WITHIN, RISES, MEAN, RIDGE = (claim.text for claim in CLAIMS)


def table(pooled, within):
    few = [0.01] * len(pooled)
    return {"pooled": pooled, "pooled_error": few, "within": within, "within_error": few}


@pytest.fixture
def good():
    """Measurements of which every claim holds: four depths, three numbers of examples."""
    depths = PRESETS["good"]["depths"]
    scores = {
        who(kind, blocks): table(
            [0.6 + 0.02 * i, 0.7 + 0.02 * i, 0.8 + 0.02 * i], [0.3 + 0.02 * i, 0.4 + 0.02 * i, 0.5 + 0.02 * i]
        )
        for kind in frame.ATTENTIONS
        for i, blocks in enumerate(depths)
    }
    scores |= {"ridge": table([0.5] * 3, [0.2] * 3), "context mean": table([0.5] * 3, [0.0] * 3)}
    m = {
        "examples": [15, 30, 45], "length": 50, "layout": "interleaved", "steps": 100_000,
        "cases": [panel(3)], "targets": {panel(3): {"flag": ""}}, "scores": {panel(3): scores},
    }  # fmt: skip
    return outcome(copy.deepcopy(m), PRESETS["good"])


def verdicts(m):
    return {claim.text: claim.verdict(m) for claim in CLAIMS}


@pytest.mark.parametrize(
    "claim, name, key, examples, wrong",
    [
        (POOLED, who("relu", 6), "pooled", 1, 0.9),
        (POOLED, who("softmax", 10), "pooled", 2, 0.82),
        (WITHIN, who("softmax", 8), "within", 0, 0.2),
        (RISES, who("relu", 4), "pooled", 2, 0.61),
        (MEAN, "context mean", "within", 2, 0.56),
        (RIDGE, "ridge", "within", 2, 0.56),
    ],
)
def test_each_claim_holds_of_good_numbers_and_fails_of_one_wrong_one(good, claim, name, key, examples, wrong):
    m = good.measurements
    assert set(verdicts(m).values()) == {"holds"}
    m["scores"][panel(3)][name][key][examples] = wrong
    assert verdicts(m)[claim] == "fails"


def test_noise_between_neighbours_is_no_reversal(good):
    m = good.measurements
    m["scores"][panel(3)][who("relu", 8)]["pooled"][0] -= 0.03  # less than two standard errors of the difference
    assert verdicts(m)[POOLED] == "holds"


def test_short_runs_decide_nothing_and_the_rows_name_every_depth(good):
    assert set(verdicts(good.measurements | {"steps": 100}).values()) == {"too short to tell"}
    assert sum("blocks" in row.name and row.seeds == 1 for row in good.rows) == 8 * 3
    assert good.measurements["attentions"] == ["relu", "softmax"]


def test_transformers_differ_in_depth_alone_and_figure_1_trains_one_of_them():
    [case] = cases(PRESETS["smoke"], ("relu", "softmax"))
    assert len({replace(one, shape=replace(one.shape, blocks=1)) for one in case.learners.values()}) == 2
    assert [one.shape.blocks for one in case.learners.values()] == [1, 2, 3, 4] * 2
    shared = {one for other in figures_1_2.cases(frame.PRESETS["smoke"], ("relu", "softmax"))
              for one in other.learners.values()}  # fmt: skip
    assert shared < set(case.learners.values())


def test_the_self_check_sees_scores_that_do_not_differ(monkeypatch):
    assert figure_5.self_check()
    monkeypatch.setattr(figure_5, "linear_scores", lambda examples: (table([0.5, 0.5], [0.5, 0.5]),) * 2)
    assert not figure_5.self_check()
