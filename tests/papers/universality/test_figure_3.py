"""Figure 3: where a head looks, and a self-check that sees a head without anchors."""

import torch

from headsmith.papers.universality import constructed, figure_3


def test_the_self_check_sees_a_head_that_looks_everywhere(monkeypatch):
    assert figure_3.self_check()
    pattern = constructed.anchored_pattern
    monkeypatch.setattr(constructed, "anchored_pattern", lambda *args: torch.full_like(pattern(*args), 1 / 30))
    assert not figure_3.self_check()


def test_labels_are_clipped_and_models_are_the_seeds():
    _, y, z = figure_3.data(0.5, 20, 3)
    assert float(y.abs().max()) == 0.25 and float(z.abs().max()) > 0.25
    w, x = figure_3._held(0.5, {"samples": 20}, 3)
    assert torch.allclose(x @ w + 1, z[16:], atol=1e-5)


def test_shares_of_attention():
    pattern = torch.tensor([[[0.5, 0.3, 0.2], [0.0, 0.1, 0.9]]])
    ends, two = figure_3.look(pattern)
    assert abs(ends - 0.8) < 1e-6 and abs(two - 0.9) < 1e-6


def test_claims_about_training_wait_and_can_fail():
    def m(*ends, two=0.95, steps=2500):
        return {"steps": steps, "trained": [{"ends": e, "two keys": two} for e in ends]}

    most, falls, sharp = figure_3.CLAIMS[3:]
    assert {claim.verdict(m(0.9, 0.5, 0.2, steps=40)) for claim in (most, falls, sharp)} == {"too short to tell"}
    assert [claim.verdict(m(0.9, 0.5, 0.2)) for claim in (most, falls, sharp)] == ["holds"] * 3
    assert [claim.verdict(m(0.4, 0.38, 0.36, two=0.8)) for claim in (most, falls, sharp)] == ["fails"] * 3
