"""One pass of the frozen block is the formula that its tokens spell."""

import pytest
import torch

from headsmith.machines.block import block, lattice, stream

from .data import random

D, TOKENS, REACH = 2, 5, 8.0


@pytest.fixture(scope="module")
def net():
    return block(D, TOKENS, lattice(REACH))


def prompt(state, low=0.0, high=0.0, seed=0):
    """Random instructions; the first token holds p and what p is shrunk by."""
    at, x = stream(D), torch.zeros(TOKENS, stream(D)["bent"].stop, dtype=torch.float64)
    x[:, at["one"]], x[:, at["state"]] = 1.0, state
    for k, name in enumerate(("a", "shift", "op", "step")):
        x[:, at[name]] = 0.5 * random(TOKENS, len(at[name]), seed=10 * seed + k)
    x[0, at["p"]], x[0, at["low"]], x[0, at["high"]] = state[:D], low, high
    return x


def formula(x):
    at = stream(D)
    part = {name: x[:, place] for name, place in at.items()}
    z = (part["a"] * part["state"]).sum(-1, keepdim=True) + part["shift"]
    bent = torch.cat([z, z.sigmoid(), z - z.clamp(-1, 1), torch.ones_like(z)], -1)
    p = part["p"].sum(0) + (part["step"] * (part["op"] * bent).sum(-1, keepdim=True)).sum(0)
    return p - torch.minimum(torch.maximum(p, -part["low"].sum(0)), part["high"].sum(0))


@pytest.mark.parametrize("seed", range(3))
def test_any_instructions_are_carried_out(net, seed):
    x = prompt(torch.tensor([0.5, -1.5, 2.0, 1.0], dtype=torch.float64), seed=seed)
    assert torch.allclose(net(x)[0], formula(x), rtol=0, atol=1e-11)


def test_large_forms_are_bent(net):
    x = prompt(torch.tensor([2.0, -2.0, 1.0, 1.0], dtype=torch.float64))
    x[:, stream(D)["shift"]] += 3.0
    assert torch.allclose(net(x)[0], formula(x), rtol=0, atol=1e-11)


def test_below_its_threshold_a_coordinate_is_zero_to_the_last_bit(net):
    x = prompt(torch.tensor([0.25, -0.5, 0.0, 0.0], dtype=torch.float64))
    x[:, stream(D)["step"]] = 0.0
    x[0, stream(D)["low"]], x[0, stream(D)["high"]] = 0.375, 0.375
    assert net(x)[0].tolist() == [0.0, pytest.approx(-0.125, abs=1e-11)]


def test_prompts_in_a_batch_do_not_mix(net):
    state = torch.tensor([0.5, -1.5, 2.0, 1.0], dtype=torch.float64)
    both = torch.stack([prompt(state, seed=1), prompt(-state, seed=2)])
    assert torch.allclose(net(both)[:, 0], torch.stack([formula(x) for x in both]), rtol=0, atol=1e-11)


def test_the_table_returns_what_it_reads():
    table, z = lattice(REACH), torch.linspace(-REACH, REACH, 999, dtype=torch.float64).numpy()
    assert abs(table(z) - z).max() <= 1e-14 * REACH


def test_the_stream_holds_each_thing_once():
    places = stream(3)
    taken = [i for place in places.values() for i in place]
    assert taken == list(range(len(taken)))
    assert (len(places["a"]), len(places["op"]), len(places["step"])) == (6, 4, 3)
