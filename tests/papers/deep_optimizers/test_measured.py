"""Guesses and scores: an interleaved pass answers at every size, degenerate targets get no score."""

import pytest
import torch

from headsmith.lab.train.networks import ReluNetworks
from headsmith.lab.train.transformer import Interleaved, Pairs, Shape
from headsmith.papers.deep_optimizers import figures_1_2, measured
from headsmith.papers.deep_optimizers.controls import test_prompts
from headsmith.records import Record

test_prompts.__test__ = False


@pytest.fixture
def test():
    return test_prompts(ReluNetworks(2, 2, 4), 7, 9, 0, "cpu")


def test_one_interleaved_pass_is_a_pass_for_each_size(test):
    model = Interleaved(Shape(1, 2, 8), 2, 9)
    found = measured.guesses(model, test, [2, 5], 1, chunk=3)
    for k, guess in found.items():
        X, y, x, _ = test.split(k, 1)
        assert torch.allclose(guess[:, 0], model.predict(X, y, x[:, 0]), atol=1e-6)


def test_pairs_are_asked_with_their_own_context(test):
    model = Pairs(Shape(1, 2, 8), 2)
    X, y, x, _ = test.split(5, 3)
    assert torch.allclose(measured.guesses(model, test, [5], 3, chunk=4)[5], model(X, y, x), atol=1e-6)


def test_degenerate_targets_are_not_scored(test):
    guess = torch.zeros(7, 1)
    assert measured.scored(guess, test, 4, 1)["pooled"] is not None
    dead = test_prompts(ReluNetworks(3, 4, 30, shift=-5.0, literal=True), 7, 9, 0, "cpu")
    assert set(measured.scored(guess, dead, 4, 1).values()) == {None}


def test_measurements_are_kept_and_read_back(tmp_path, monkeypatch):
    monkeypatch.setattr("headsmith.papers.deep_optimizers.controls.EPOCHS", 2)
    settings = figures_1_2.TOY | {"far": [0.0], "examples": [3], "prompts": 20, "baseline_prompts": 5}
    cases = figures_1_2.cases(settings, ["relu"])
    record = Record(tmp_path, {"kind": "asked"})
    first = measured.measure(cases, settings, tmp_path / "lab", record.once)
    monkeypatch.setattr(measured, "_asked", None)  # not asked again
    assert measured.measure(cases, settings, tmp_path / "lab", record.once) == first
    [training] = first["training"].values()
    assert training["steps"] == [1, 2] and first["flat"] == {"N = 3, w2 = 0": 0.0}
