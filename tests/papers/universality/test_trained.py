"""What the trained experiments share: models that append tokens, data, and baselines."""

import torch
from torch import nn

from headsmith.lab.train.stacked import Stack
from headsmith.papers.universality.trained import (
    Double,
    SelfAttention,
    Single,
    baselines,
    clipped,
    doubles,
    held_out,
    mean_error,
    models,
    regression,
    singles,
)


def test_models_append_tokens_and_read_the_first():
    x = torch.rand(3, 6, 5)
    for model in (Single(5, 8, 6, 9, 2), Double(5, 8, 6, 6, 4)):
        assert model(x).shape[:2] == (3, 6)
    assert Single(5, 8, 6, 9, 2).lift(x).shape == (3, 9, 8)


def test_the_attention_is_that_of_torch_and_starts_like_it():
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(8, 2, batch_first=True)
    torch.manual_seed(0)
    ours = SelfAttention(8, 2)
    assert not ours.into.bias.any() and not ours.out.bias.any()
    bound = theirs.in_proj_weight.abs().max()
    assert 0.8 < float(ours.into.weight.detach().abs().max() / bound.detach()) < 1.25
    with torch.no_grad():
        ours.into.weight.copy_(theirs.in_proj_weight)
        ours.into.bias.normal_()
        theirs.in_proj_bias.copy_(ours.into.bias)
        ours.out.load_state_dict(theirs.out_proj.state_dict())
    x = torch.randn(3, 5, 8)
    assert torch.allclose(ours(x), theirs(x, x, x, need_weights=False)[0], atol=1e-6)


def test_every_seed_has_models_of_its_own():
    w, t = models(3)
    x, y, x_test, _ = clipped(10, 3)
    z = (x * w).sum(-1) + t
    assert torch.equal(y[..., 0], z.clamp(-5, 5)) and not y[..., 1:].any() and (len(x), len(x_test)) == (800, 200)
    assert not torch.equal(models(4)[0], w)


def test_lessons_hold_what_they_are_asked():
    one = singles(60, 10, 2, [3, 4], 5)
    assert one.settings() == {
        "kind": "repeated", "figure": 2, "p": 60, "width": 10, "heads": 2, "seeds": [3, 4], "steps": 5, "batch": 32,
        "rate": 1e-3,
    }  # fmt: skip
    assert one.build()(torch.rand(2, 3, 50, 10)).shape == (2, 3, 50, 32)
    two = doubles(10, 12, 2, [3], 5, 100)
    assert two.samples(3)[0].shape == (80, 10, 5) and len(two.score(two.build())) == 1


def test_held_out_errors_are_each_seeds_own():
    stack = Stack([nn.Linear(2, 2), nn.Linear(2, 2)])
    tests = [(torch.rand(7, 2), torch.rand(7, 2)) for _ in range(2)]
    found = held_out(stack, tests)
    for i, (x, y) in enumerate(tests):
        assert abs(found[i] - (stack.part(i)(x) - y).square().mean().item()) < 1e-6


def test_baselines():
    x = torch.rand(50, 3)
    line = (x[:40], x[:40] @ torch.ones(3, 1), x[40:], x[40:] @ torch.ones(3, 1))
    assert regression(line) < 1e-12 < mean_error(line)
    found = baselines(50, [3])
    assert 0 < found["regression"] < 0.01 * found["mean"]
