"""The layer that turns the tape: what it fetches is what stands there, bit for bit."""

import pytest
import torch

from headsmith.machines.tape.fetch import Fetching
from headsmith.refusal import Refusal

from ..data import random


def tape(lines, rows=3, width=5):
    at = torch.arange(lines, dtype=torch.float64).repeat_interleave(rows)[:, None]
    return torch.cat([random(lines * rows, width - 2, seed=1), at, at.square()], -1)


def prompt(lines, pc, tokens=4):
    state = torch.cat(
        [random(tokens, 3, seed=2), torch.full((tokens, 1), pc).double(), -torch.ones(tokens, 1).double()], -1
    )
    return torch.cat([tape(lines), state])


@pytest.mark.parametrize("off", [0.0, 0.24, -0.24, 1e-9])
@pytest.mark.parametrize(("lines", "line"), [(1, 0), (4, 0), (4, 3), (3000, 0), (3000, 1777), (3000, 2999)])
def test_the_line_that_is_fetched_is_the_line_that_is_written(lines, line, off):
    given = prompt(lines, line + off)
    out = Fetching(rows=3, width=5)(given)
    assert torch.equal(out[:3], tape(lines)[3 * line : 3 * line + 3])
    assert torch.equal(out[3:], given[-4:])


def test_lines_at_the_end_of_a_tape_as_long_as_is_promised():
    """Squares of addresses are exact, and neighbouring scores still 2048 apart."""
    at = torch.arange(2**16, dtype=torch.float64)[:, None]
    written = torch.cat([at, at, at.square()], -1)
    for line in (0, 1, 2**15, 2**16 - 2, 2**16 - 1):
        for off in (-0.25, 0.25):
            state = torch.tensor([[7.0, line + off, -1.0]], dtype=torch.float64)
            assert Fetching(rows=1, width=3)(torch.cat([written, state]))[0, 0].item() == line


def test_a_batch_has_its_own_places():
    both = torch.stack([prompt(4, 1.0), prompt(4, 2.0)])
    out = Fetching(rows=3, width=5)(both)
    assert torch.equal(out[0, :3], tape(4)[3:6]) and torch.equal(out[1, :3], tape(4)[6:9])


def test_what_is_no_prompt_is_refused():
    layer = Fetching(rows=3, width=5)
    for wrong in (tape(2), prompt(2, 0.0)[1:], prompt(2, 0.0)[6:]):
        with pytest.raises(Refusal, match="3 tokens an instruction, then state tokens"):
            layer(wrong)
    with pytest.raises(Refusal, match="all of its tokens are seen"):
        layer(prompt(2, 0.0), torch.zeros(10, dtype=torch.bool))
    with pytest.raises(Refusal, match="feature by feature"):
        layer.rotated(None, None)


def test_it_says_what_it_is():
    layer = Fetching(rows=3, width=5)
    given = prompt(1, 0.0)
    [dense] = layer.dense(7)
    assert torch.equal(dense(given), layer(given))
    assert layer.width_in == layer.width_out == 5 and layer.flops(7, 5) == 40 and layer.dense_parameters(7, 5) == 25
    assert "3 tokens of one instruction" in layer.summary() and "address" in layer.unusual()
