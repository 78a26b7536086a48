import pytest
import torch
from torch import nn

from headsmith.lab.train.training import fit, fit_seeds
from headsmith.records import Record
from headsmith.refusal import Refusal


def test_the_general_loop_fits_and_resumes(tmp_path):
    def data(g):
        x = torch.rand(64, 1, generator=g)
        return x, 2 * x - 1

    def build():
        return nn.Linear(1, 1)

    torch.manual_seed(0)
    [whole] = fit_seeds(build, data, [4], steps=200, rate=0.05, evaluate=lambda m: float(m.bias.detach()))
    assert whole.losses[-1] < 1e-2 and len(whole.scores) == 20 and whole.steps[-1] == 200
    record = Record(tmp_path, {"kind": "fit"})
    calls = {"n": 0}

    def failing(g):
        calls["n"] += 1
        if calls["n"] > 120:
            raise KeyboardInterrupt
        return data(g)

    from headsmith.lab.train import training

    clock = iter(range(0, 100_000, 11))
    original = training.time.monotonic
    training.time.monotonic = lambda: next(clock)
    try:
        with pytest.raises(KeyboardInterrupt):
            fit_seeds(
                build, failing, [4], steps=200, rate=0.05, record=record, evaluate=lambda m: float(m.bias.detach())
            )
    finally:
        training.time.monotonic = original
    [again] = fit_seeds(
        build, data, [4], steps=200, rate=0.05, record=record, evaluate=lambda m: float(m.bias.detach())
    )
    assert torch.equal(again.model.weight, whole.model.weight)
    assert again.losses == whole.losses and again.scores == whole.scores
    with pytest.raises(Refusal):
        fit(build(), data, steps=0)
