"""Guesses and scores: an interleaved pass answers at every size, degenerate targets are flagged."""

import pytest
import torch

from headsmith.lab.train.networks import ReluNetworks
from headsmith.lab.train.transformer import Interleaved, Pairs, Shape
from headsmith.papers.deep_optimizers import figures_1_2, known, measured
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


@pytest.mark.parametrize(
    "task, flag",
    [
        (ReluNetworks(3, 4, 30), ""),
        (ReluNetworks(3, 4, 30, shift=-5.0, literal=True), "100% of the targets are constant"),
        (ReluNetworks(6, 3, 32, shift=0.5, literal=True), "answers"),
        (ReluNetworks(3, 4, 30, far=0.5), ""),
    ],
)
def test_targets_that_are_constant_or_of_another_size_are_flagged(task, flag):
    found = measured.about(test_prompts(task, 200, 9, 0, "cpu"))
    assert found["flag"].startswith(flag) and bool(found["flag"]) == bool(flag)
    assert found["constant"] == (1 if "constant" in flag else 0) and 0 <= found["between"] < 1


def test_the_share_between_prompts_is_that_of_their_means():
    made = test_prompts(ReluNetworks(2, 2, 4), 50, 9, 0, "cpu")
    points = made.means.unsqueeze(-1).expand_as(made.points)
    assert measured.about(made._replace(points=points))["between"] == pytest.approx(1, abs=1e-5)
    inside = made.points - made.means.unsqueeze(-1)
    assert measured.about(made._replace(points=inside, means=inside.mean(-1)))["between"] == pytest.approx(0, abs=1e-3)


def test_nobody_is_asked_about_constants():
    dead = ReluNetworks(3, 4, 30, shift=-5.0, literal=True)
    settings = {"examples": [3], "prompts": 20, "baseline_prompts": 5}
    found = measured._asked(dead, {}, settings)
    assert found["scores"] == {} and found["targets"]["flag"] == "100% of the targets are constant"


def test_measurements_are_kept_and_read_back(tmp_path, monkeypatch):
    monkeypatch.setattr("headsmith.papers.deep_optimizers.controls.EPOCHS", 2)
    settings = known.TOY | {"far": [0.0], "examples": [3], "prompts": 20, "baseline_prompts": 5}
    cases = figures_1_2.cases(settings, ["relu"])
    record = Record(tmp_path, {"kind": "asked"})
    first = measured.measure(cases, settings, tmp_path / "lab", record.once)
    monkeypatch.setattr(measured, "_asked", None)  # not asked again
    assert measured.measure(cases, settings, tmp_path / "lab", record.once) == first
    [training] = first["training"].values()
    assert training["steps"] == [1, 2] and first["targets"]["N = 3, w2 = 0"]["constant"] == 0
