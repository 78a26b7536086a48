"""Section 5.1: the constructed layer is exact, and a self-check that sees another rule."""

import torch

from headsmith.papers.emulation import section_5_1
from headsmith.papers.emulation.trained import SHORT


def test_the_self_check_sees_another_rule(monkeypatch):
    assert section_5_1.self_check()
    target = section_5_1._target
    monkeypatch.setattr(section_5_1, "_target", lambda x, y, w: 1.001 * target(x, y, w))
    assert not section_5_1.self_check()


def test_claims_wait_for_long_runs_and_can_fail():
    learns, exact = section_5_1.CLAIMS
    assert learns.verdict({"steps": SHORT - 1}) == "too short to tell"
    verdicts = [learns.verdict({"steps": SHORT, "trained": t, "predict zero": 1.0}) for t in (0.4, 0.6)]
    assert verdicts == ["holds", "fails"]
    verdicts = [exact.verdict({"constructed": c, "predict zero": 2.0}) for c in (1e-12, 1e-11)]
    assert verdicts == ["holds", "fails"]


def test_the_rule_is_the_papers():
    x, y, w = torch.tensor([[[2.0]]]), torch.tensor([[1.0]]), torch.tensor([[[3.0]]])
    assert torch.allclose(section_5_1._target(x, y, w), torch.tanh(torch.tensor(5.0)) * 2)
