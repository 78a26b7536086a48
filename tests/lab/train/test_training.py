import pytest
import torch
from torch import nn

from headsmith.lab.train import training
from headsmith.lab.train.training import fit
from headsmith.records import Record
from headsmith.refusal import Refusal


def test_the_general_loop_fits_and_resumes(tmp_path):
    def data(g):
        x = torch.rand(64, 1, generator=g)
        return x, 2 * x - 1

    def trained(sample, **options):
        torch.manual_seed(4)
        noted = lambda m: float(m.bias.detach())  # noqa: E731
        return fit(nn.Linear(1, 1), sample, steps=200, rate=0.05, seed=4, evaluate=noted, **options)

    whole = trained(data)
    assert whole.losses[-1] < 1e-2 and len(whole.scores) == 20 and whole.steps[-1] == 200
    record = Record(tmp_path, {"kind": "fit"})
    calls = {"n": 0}

    def failing(g):
        calls["n"] += 1
        if calls["n"] > 120:
            raise KeyboardInterrupt
        return data(g)

    clock = iter(range(0, 100_000, 11))
    original = training.time.monotonic
    training.time.monotonic = lambda: next(clock)
    try:
        with pytest.raises(KeyboardInterrupt):
            trained(failing, record=record)
    finally:
        training.time.monotonic = original
    again = trained(data, record=record)
    assert torch.equal(again.model.weight, whole.model.weight)
    assert again.losses == whole.losses and again.scores == whole.scores
    with pytest.raises(Refusal):
        fit(nn.Linear(1, 1), data, steps=0)


def test_batches_are_moved_whole_and_a_device_that_is_not_there_refused():
    x, (y, z) = training._moved((torch.ones(2), [torch.ones(3), torch.ones(1)]), "meta")
    assert {part.device.type for part in (x, y, z)} == {"meta"} and y.shape == (3,)
    with pytest.raises(Refusal, match="choose cpu or cuda"):
        fit(nn.Linear(1, 1), lambda g: torch.ones(2), steps=1, device="tpu")
