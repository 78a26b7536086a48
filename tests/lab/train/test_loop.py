"""Schedules, and that a run which stops and goes on is bit for bit the run that did not."""

import pytest
import torch
from torch import nn

from headsmith.lab.train.loop import Loop, share
from headsmith.refusal import Refusal


def build(schedule="one-cycle", clip=1.0, seed=0, steps=40):
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))

    def draw(generator, step):
        x = torch.randn(8, 2, generator=generator)
        return x, x.prod(-1, keepdim=True) * (1 + step)  # the step matters

    def loss(model, batch):
        return (model(batch[0]) - batch[1]).square().mean()

    return Loop(model, draw, loss, steps=steps, rate=1e-2, schedule=schedule, seed=seed, clip=clip)


def test_a_one_cycle_schedule_rises_to_its_peak_and_falls_to_nothing():
    rates = [share("one-cycle", step, 200) for step in range(200)]
    peak = rates.index(1.0)
    assert rates[: peak + 1] == sorted(rates[: peak + 1]) and rates[peak + 1 :] == sorted(rates[peak + 1 :])[::-1]
    assert 0 < rates[0] <= 0.1 and rates[-1] < 1e-3 and peak <= 10
    assert share("one-cycle", 0, 1) == 1 and share("constant", 7, 9) == 1 and share("cosine", 0, 9) == 1
    with pytest.raises(Refusal, match="cosine, constant or one-cycle"):
        share("linear", 0, 10)


def test_a_continued_run_is_bit_for_bit_the_whole_one():
    whole = build()
    whole.advance(40)
    first = build()
    first.advance(17)
    kept = {name: value.clone() for name, value in first.state().items()}
    second = build(seed=9)
    second.restore(kept)
    second.advance(23)
    assert second.step == 40 and all(torch.equal(a, b) for a, b in zip(whole.kept, second.kept, strict=True))
    assert torch.equal(whole.total, second.total)
    forgetful = build(seed=9)
    forgetful.restore({**kept, "random": forgetful.generator.get_state()})
    forgetful.advance(23)
    assert not torch.equal(whole.kept[0], forgetful.kept[0])  # the test can fail


def test_a_step_is_adam_with_clipping():
    ours, plain = build(), build()
    ours.advance(3)
    adam = torch.optim.Adam(plain.model.parameters())
    for step in range(3):
        adam.param_groups[0]["lr"] = plain.rates[step]
        adam.zero_grad()
        plain.loss(plain.model, plain.draw(plain.generator, torch.tensor(step))).backward()
        nn.utils.clip_grad_norm_(plain.model.parameters(), 1.0)
        adam.step()
    for a, b in zip(ours.kept, plain.kept, strict=True):
        assert torch.allclose(a, b, atol=1e-7)


def test_an_unknown_precision_is_refused():
    with pytest.raises(Refusal, match="float32, tf32 or bfloat16"):
        Loop(nn.Linear(1, 1), lambda g, s: None, lambda m, b: b, steps=1, rate=1.0, precision="int8")
