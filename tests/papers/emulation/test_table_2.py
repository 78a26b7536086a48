"""Table 2: prompts hold the weights of their algorithm, and a self-check that sees shuffled responses."""

import torch

from headsmith.lab.train.learners import learn
from headsmith.papers.emulation import table_2


def test_the_self_check_sees_shuffled_responses(monkeypatch):
    assert table_2.self_check()
    synthetic = table_2.synthetic

    def shuffled(*args):
        x, w, y = synthetic(*args)
        return x, w, y.roll(1, -1)

    monkeypatch.setattr(table_2, "synthetic", shuffled)
    assert not table_2.self_check()


def test_prompts_hold_the_weights_of_their_algorithm():
    x, w, y = table_2.synthetic("ridge", 0, 3)
    assert torch.allclose(y, (x @ w.unsqueeze(-1)).squeeze(-1))
    _, sparse, _ = table_2.synthetic("lasso", 0, 50)
    assert 0.4 < float((sparse == 0).double().mean()) < 0.6


def test_the_frozen_model_sees_a_third_of_each():
    x, w, _ = table_2.samples(0, 10)
    assert len(x) == 10 and torch.equal(w[4:7], table_2.synthetic("ridge", 0, 3)[1].float())
    assert torch.equal(table_2.samples(5, 4)[1], table_2.synthetic("lasso", 1, 4)[1].float())


def test_all_models_train_together_and_are_measured():
    lesson = table_2.lessons(table_2.DRY)["all models"]
    fit, _ = learn(lesson, notes=1, score=lesson.score)
    m = table_2.measured(table_2.DRY, {"all models": fit})
    assert len(m["scores"]) == 8 and m["seeds"] == 2
    part, (x, w, y) = fit.model.part(6), table_2.tests("ridge", 8)
    with torch.no_grad():
        assert abs(float((part(x.float(), w.float()) - y).square().mean()) / m["scores"][6][1] - 1) < 1e-4


def test_claims_can_fail():
    *_, calm, exact = table_2.CLAIMS
    m = {"steps": 10**6, "seeds": 5, "baseline spread": [0.1] * 3}
    assert [calm.verdict(m | {"frozen spread": [0.05, 0.05, s]}) for s in (0.05, 0.2)] == ["holds", "fails"]
    assert [exact.verdict({"constructed": [0.0, e]}) for e in (1e-13, 1e-11)] == ["holds", "fails"]
