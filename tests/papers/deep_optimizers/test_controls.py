"""The controls against direct computation, and an oracle that no honest stop can beat."""

import pytest
import torch

from headsmith.lab.train.networks import ReluNetworks
from headsmith.papers.deep_optimizers import controls, measured
from headsmith.papers.deep_optimizers.controls import closed_form, test_prompts, trained_networks

test_prompts.__test__ = False
TASK = ReluNetworks(2, 2, 8)


def test_the_same_seed_gives_the_same_prompts_and_their_means():
    one, two, other = (test_prompts(TASK, 30, 9, seed, "cpu") for seed in (0, 0, 1))
    assert torch.equal(one.x, two.x) and torch.equal(one.y, two.y) and not torch.equal(one.x, other.x)
    assert torch.allclose(one.means, one.points.mean(-1)) and one.points.shape == (30, controls.POINTS)


def test_examples_come_first_and_queries_next():
    test = test_prompts(TASK, 3, 9, 0, "cpu")
    X, y, x, answer = test.split(4, 2)
    assert torch.equal(torch.cat([X, x], 1), test.x[:, :6]) and torch.equal(torch.cat([y, answer], 1), test.y[:, :6])


def test_the_context_mean_sees_the_context_alone():
    test = test_prompts(TASK, 5, 9, 0, "cpu")
    guess = closed_form(test, 6, 2)["context mean"]
    assert torch.allclose(guess, test.y[:, :6].double().mean(1, keepdim=True).expand(5, 2))


def test_the_oracle_is_the_best_epoch_and_the_honest_stop_does_not_see_the_query(monkeypatch):
    monkeypatch.setattr(controls, "EPOCHS", 12)
    test = test_prompts(TASK, 20, 13, 0, "cpu")
    found = trained_networks(test, TASK, 10, 2)
    answer = test.split(10, 2)[3]
    wrong = {name: (guess - answer).square().sum(-1) for name, guess in found.items()}
    assert bool((wrong["trained, oracle"] <= wrong["trained, last epoch"]).all())
    assert float(wrong["trained, oracle"].sum()) < float(wrong["trained, last epoch"].sum())
    lied = test._replace(y=torch.cat([test.y[:, :10], test.y[:, 10:] + 5], 1))
    again = trained_networks(lied, TASK, 10, 2)
    for name in ("trained, last epoch", "trained, validated"):
        assert torch.equal(again[name], found[name])
    assert not torch.equal(again["trained, oracle"], found["trained, oracle"])


def test_training_fits_the_examples(monkeypatch):
    monkeypatch.setattr(controls, "RATE", 3e-2)
    test = test_prompts(TASK, 20, 32, 0, "cpu")
    copied = test._replace(
        x=torch.cat([test.x[:, :30], test.x[:, :2]], 1), y=torch.cat([test.y[:, :30], test.y[:, :2]], 1)
    )
    guess = trained_networks(copied, TASK, 30, 2)["trained, last epoch"]
    assert float((guess - test.y[:, :2]).square().mean()) < 0.05 * float(test.y.square().mean())


@pytest.mark.parametrize("layers, at_most", [(3, 1400), (6, 400)])
def test_a_chunk_of_networks_fits_into_memory(layers, at_most):
    assert 1 <= controls._chunk(ReluNetworks(layers)) <= at_most


def test_no_network_starts_at_what_it_has_to_learn(monkeypatch):
    """Nor do two prompts of different chunks start alike."""
    monkeypatch.setattr(controls, "EPOCHS", 1)
    monkeypatch.setattr(controls, "_chunk", lambda task: 2)
    test = test_prompts(TASK, 4, 12, controls.START_SEED + 1, "cpu")
    same = test._replace(x=test.x[:1].expand(4, -1, -1), y=test.y[:1].expand(4, -1))
    guess = trained_networks(same, TASK, 10, 2)["trained, last epoch"]
    assert len({round(float(g), 4) for g in guess[:, 0]}) == 4
    assert controls.START_SEED != measured.TEST_SEED
