"""Table 1: the verdicts, and a self-check that sees another head."""

import torch

from headsmith.lab.train.learners import learn
from headsmith.papers.emulation import table_1
from headsmith.papers.emulation.trained import ENOUGH

TINY = {"heads": [2], "steps": 2, "samples": 64, "seeds": 2, "tests": 5}


def test_the_self_check_sees_another_head(monkeypatch):
    """The machine runs the head of seed 0; measured against that of seed 1 it is wrong."""
    assert table_1.self_check()
    exact = table_1.exact
    monkeypatch.setattr(table_1, "exact", lambda seed, x: exact(seed + 1, x))
    assert not table_1.self_check()


def test_claims_wait_for_long_runs_and_can_fail():
    *trained, machine = table_1.CLAIMS

    def m(*errors, slope=-0.9, steps=ENOUGH):
        return {"steps": steps, "trained": errors, "slope": slope}

    assert {claim.verdict(m(3.0, 1.0, steps=10)) for claim in trained} == {"too short to tell"}
    assert [claim.verdict(m(3.0, 1.0, 0.5)) for claim in trained] == ["holds"] * 3
    assert [claim.verdict(m(3.0, 3.5, 0.7, slope=-0.5)) for claim in trained] == ["fails"] * 3
    assert [machine.verdict({"constructed": error}) for error in (1e-13, 1e-11)] == ["holds", "fails"]


def test_the_printed_numbers_pass_what_is_claimed():
    printed = [mean for mean, _ in table_1.PRINTED.values()]
    m = {"steps": ENOUGH, "trained": printed, "slope": table_1.steepness(list(table_1.PRINTED), printed)}
    assert {claim.verdict(m) for claim in table_1.CLAIMS[:3]} == {"holds"}


def test_three_models_are_trained_on_keys_queries_and_values():
    lesson = table_1.lessons(TINY)["2 heads"]
    stack = lesson.build()
    guesses, right = stack(torch.stack([table_1.tokens(0, 3)] * 2))
    assert [tuple(part.shape[2:]) for part in guesses] == [(20, 48), (20, 48), (20, 24)]
    k, q, v = (part[1] for part in right)
    assert torch.allclose(table_1.emulated(k, q, v), table_1.exact(1, table_1.tokens(0, 3)), atol=1e-2)
    fit, _ = learn(lesson, notes=1, score=lesson.score)
    assert len(fit.scores[-1]) == 2 and min(fit.scores[-1]) > 0.1


def test_who_answers_right_scores_zero(monkeypatch):
    """A model that gives the right K, Q and V has an error of rounding alone."""
    monkeypatch.setattr(table_1.Parts, "forward", lambda self, x: (right := _right(self, x), right))
    lesson = table_1.lessons(TINY)["2 heads"]
    assert max(lesson.score(lesson.build())) < 1e-3


def _right(parts, x):
    return tuple(x @ parts.get_buffer(f"target{i}").mT for i in range(3))
