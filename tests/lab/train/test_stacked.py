"""Seeds that are trained together: each is what it would be alone, and none knows of another."""

import pytest
import torch
from torch import nn

from headsmith.lab.train.learners import learn
from headsmith.lab.train.stacked import Repeated, Stack, orders, squared
from headsmith.refusal import Refusal


class Net(nn.Module):
    """A small network with a buffer that is not trained."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 8), nn.Linear(8, 2)
        self.register_buffer("shift", torch.randn(2))

    def forward(self, x):
        return self.last(torch.tanh(self.first(x))) + self.shift


def samples(seed):
    x = torch.randn(50, 3, generator=torch.Generator().manual_seed(seed))
    return x, x[:, :2] * x[:, 2:]


def lesson(seeds, samples=samples, **changes):
    settings = {"steps": 40, "batch": 8, "rate": 1e-2} | changes
    return Repeated({"f": "a product"}, tuple(seeds), lambda _: Net(), samples, squared, **settings)


def alone(seed, steps=40, batch=8):
    """Plain Adam on the plain module, with the batches of that seed."""
    torch.manual_seed(seed)
    model, (x, y) = Net(), samples(seed)
    adam = torch.optim.Adam(model.parameters(), lr=1e-2)
    for rows in orders([seed], 50, batch, steps)[:, 0].long():
        adam.zero_grad()
        squared(model, (x[rows], y[rows])).backward()
        adam.step()
    return model


def test_a_stacked_run_is_the_single_runs():
    stack = learn(lesson([3, 5, 9]))[0].model
    for i, seed in enumerate((3, 5, 9)):
        single = alone(seed)
        for name, value in stack.part(i).state_dict().items():
            assert torch.allclose(value, single.state_dict()[name], rtol=0, atol=2e-6), name
    assert not torch.allclose(stack.part(0).last.weight, stack.part(1).last.weight, atol=1e-2)


def test_no_seed_knows_of_another():
    """One whose samples are nonsense leaves the others as they are, to the last bit."""

    def spoilt(seed):
        x, y = samples(seed)
        return (x, y * torch.nan) if seed == 5 else (x, y)

    sound, other = (learn(lesson([3, 5, 9], kind))[0].model for kind in (samples, spoilt))
    for a, b in zip(sound.values, other.values, strict=True):
        assert torch.equal(a[0], b[0]) and torch.equal(a[2], b[2]) and bool(b[1].isnan().all())


def test_an_epoch_sees_every_sample_once():
    order = orders([0, 1], 12, 4, 9)
    for epoch in range(3):
        seen = order[3 * epoch : 3 * epoch + 3].transpose(0, 1).flatten(1)
        assert torch.equal(seen.sort(1).values, torch.arange(12).int().expand(2, 12))
    assert not torch.equal(order[:3, 0], order[:3, 1]) and not torch.equal(order[:3], order[3:6])
    assert torch.equal(orders([1], 12, 4, 9)[:, 0], order[:, 1])


def test_a_run_that_was_stopped_goes_on(tmp_path):
    noted = lesson([0, 1], score=lambda stack: [float(value.sum()) for value in stack.values[0]])
    whole, _ = learn(noted, notes=4, score=noted.score)
    first, done = learn(noted, tmp_path, notes=4, score=noted.score, until=lambda fit: len(fit.steps) == 2)
    again, ended = learn(noted, tmp_path, notes=4, score=noted.score)
    assert not done and ended and first.steps == [10, 20] and again.steps == [10, 20, 30, 40]
    assert again.scores == whole.scores and again.losses == whole.losses and len(whole.scores[0]) == 2
    assert all(torch.equal(a, b) for a, b in zip(again.model.values, whole.model.values, strict=True))


def test_buffers_are_stacked_and_not_trained():
    modules = [Net(), Net()]
    stack = Stack(modules)
    assert len(stack.values) == 4 and torch.equal(stack.part(1).shift, modules[1].shift)
    x = torch.randn(2, 5, 3)
    assert torch.allclose(stack(x)[1], modules[1](x[1]), atol=1e-6)


def test_what_cannot_be_trained_is_refused():
    with pytest.raises(Refusal, match="got 0 seeds"):
        lesson([])
    with pytest.raises(Refusal, match="steps >= 1"):
        lesson([0], steps=0)
