"""What a tape is asked to run: programs of hs.prompt as chains, and the tokens on which their norms are measured."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from headsmith.machines.prompts.heads import SampleProgram
from headsmith.machines.prompts.layers import ChainProgram, Stage, features
from headsmith.machines.prompts.regression import Regression
from headsmith.network.inputs import accept
from headsmith.refusal import Refusal

SAMPLES = 64  # standard normal tokens, where nobody gave samples


def as_chain(program: Any) -> ChainProgram:
    """The program as a chain; what a tape does not run is refused."""
    if isinstance(program, SampleProgram):
        raise Refusal(f"{program.name} becomes a head when it sees its tokens X: give program.on(X) to the tape")
    if isinstance(program, Regression):
        raise Refusal(
            f"{program.name} is a problem: hs.machine.Solver solves it, and hs.prompt.descent is a tape for it"
        )
    if not isinstance(program, Stage):
        raise Refusal(f"a tape runs the programs of hs.prompt, not {type(program).__name__}")
    return program if isinstance(program, ChainProgram) else ChainProgram("chain", (program,))


def samples_of(program: ChainProgram, sample: Any, tokens: int = SAMPLES) -> Tensor:
    """Tokens on which norms are measured; by default the program's own, or standard normal ones."""
    width = features(program)
    if sample is None:
        sample = getattr(program, "sample", None)
    if sample is None:
        if width is None:
            raise Refusal(
                f"nothing in {program.name} says how many numbers a token has: give a sample, (tokens, numbers)"
            )
        return torch.randn(tokens, width, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x = accept(sample, torch.float64, torch.device("cpu")).detach()
    if x.dim() < 2 or not x.numel() or width not in (None, x.shape[-1]):
        raise Refusal(f"the samples must be tokens (..., tokens, {width or 'numbers'}), not {tuple(x.shape)}")
    return x


def shared(numbers: int, heads: int) -> int:
    """The least slot of so many numbers that heads can share."""
    return heads * -(-numbers // heads)


def every(program: Any) -> list[Any]:
    """A program and all that it is made of."""
    return [program, *(inner for stage in getattr(program, "stages", ()) for inner in every(stage))]
