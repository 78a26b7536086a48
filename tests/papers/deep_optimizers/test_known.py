"""What is known without training."""

from headsmith.papers.deep_optimizers.known import TOY, linear_scores, trains


def test_ridge_solves_linear_targets_and_the_mean_knows_nothing():
    right, nothing = linear_scores([3, 20])
    assert right["within"][1] > 0.999 and right["pooled"][1] > right["pooled"][0]
    assert nothing["within"][1] < 0.05 and nothing["pooled"][1] < 0.9


def test_tiny_transformers_train(monkeypatch):
    assert trains()
    monkeypatch.setitem(TOY, "rate", float("inf"))
    assert not trains()
