"""Section 5.1: the constructed layer is exact, and a self-check that sees another rule."""

import torch

from headsmith.lab.train.learners import learn
from headsmith.papers.emulation import section_5_1
from headsmith.papers.emulation.trained import ENOUGH


def test_the_self_check_sees_another_rule(monkeypatch):
    assert section_5_1.self_check()
    target = section_5_1.target
    monkeypatch.setattr(section_5_1, "target", lambda x, y, w: 1.001 * target(x, y, w))
    assert not section_5_1.self_check()


def test_claims_wait_for_long_runs_and_can_fail():
    half, most, exact = section_5_1.CLAIMS
    assert half.verdict({"steps": ENOUGH - 1}) == most.verdict({"steps": 5}) == "too short to tell"
    m = {"steps": ENOUGH, "predict zero": 1.0}
    assert [half.verdict(m | {"trained": t}) for t in (0.4, 0.6)] == ["holds", "fails"]
    assert [most.verdict(m | {"trained": t}) for t in (0.009, 0.02)] == ["holds", "fails"]
    verdicts = [exact.verdict({"constructed": c, "predict zero": 2.0}) for c in (1e-12, 1e-11)]
    assert verdicts == ["holds", "fails"]


def test_the_rule_is_the_papers():
    x, y, w = torch.tensor([[[2.0]]]), torch.tensor([[1.0]]), torch.tensor([[[3.0]]])
    assert torch.allclose(section_5_1.target(x, y, w), torch.tanh(torch.tensor(5.0)) * 2)


def test_a_short_training_is_measured_on_fresh_samples():
    settings = {"steps": 2, "samples": 64, "seeds": 2, "tests": 5}
    lesson = section_5_1.lessons(settings)["one head"]
    fit, _ = learn(lesson, notes=1, score=lesson.score)
    m = section_5_1.measured(settings, {"one head": fit})
    assert len(m["scores"]) == 2 and 50 < m["predict zero"] < 200 and 0 < m["trained"] < 2 * m["predict zero"]
