"""Programs of hs.prompt in one line, and their listings on a block that fits."""

import pytest
import torch

from headsmith import machine, prompt
from headsmith.machines.tape.instruction import Sizes
from headsmith.refusal import Refusal

W = torch.randn(6, 6, generator=torch.Generator().manual_seed(0))
HEADS = W.reshape(2, 3, 6)
DATA = [[1.0, 0.5], [2.0, -1.0], [0.5, 1.0]], [2.0, 4.0, 1.0]
HEAD = prompt.head(HEADS, HEADS, HEADS, "1/sqrt(3)", causal=True)
SUM = prompt.residual(HEAD, prompt.linear(W))


@pytest.mark.parametrize(
    ("program", "line"),
    [
        (prompt.linear(W[:2], activation="gelu"), "linear 6 -> 2 (gelu)"),
        (prompt.linear(W), "linear 6 -> 6"),
        (HEAD, "head 6 -> 3 (2 of them, causal)"),
        (prompt.head(W, W, W, activation="tanh"), "head 6 -> 6 (tanh)"),
        (prompt.head(W, W, W), "head 6 -> 6"),
        (prompt.norm(W[0]), "norm of 6"),
        (prompt.norm(W[0], centred=False), "norm of 6 (RMS)"),
        (prompt.unit(6), "unit of 6"),
        (prompt.pool(), "pool"),
        (SUM, "residual of 2: head 6 -> 3 (2 of them, causal), linear 6 -> 6"),
        (prompt.chain(prompt.norm(W[0]), SUM, prompt.pool()), "chain of 3: norm of 6, residual, pool"),
        (prompt.chain(*[prompt.pool()] * 8), "chain of 8: pool, pool, pool, pool, pool, pool, ..."),
        (prompt.mean(), "mean: a head for tokens of hs.prompt.samples"),
        (prompt.descent(*DATA, rate=0.5), "squared descent, 200 steps: 3 samples of 2 features, rate 0.5"),
        (prompt.rule("tanh(t)", *DATA), "rule tanh(t), 100 steps: 3 samples of 2 features, rate 0.1"),
    ],
)
def test_a_program_is_one_line(program, line):
    assert str(program) == repr(program) == line
    assert program._repr_html_().startswith("<b>")


@pytest.mark.parametrize("program", [prompt.chain(prompt.norm(W[0]), SUM), prompt.descent(*DATA, steps=3)])
def test_its_listing_is_that_of_the_tape_that_host_makes(program):
    assert str(program.listing()) == str(machine.host(program)[1].listing())


def test_a_listing_of_tokens_of_any_size_is_refused():
    with pytest.raises(Refusal, match="how many numbers a token has"):
        prompt.pool().listing()


def test_sizes_in_words():
    assert str(Sizes(4, 1, 1)) == "1 slot of 4, 1 head" and str(Sizes(384, 7, 12)) == "7 slots of 384, 12 heads"


def test_a_program_with_its_own_data_takes_no_mask_and_no_sample():
    for options in ({"causal": True}, {"sample": W}):
        with pytest.raises(Refusal, match="carries its own data: it takes no sample and no causal mask"):
            machine.host(prompt.descent(*DATA), **options)
