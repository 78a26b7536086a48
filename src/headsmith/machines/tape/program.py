"""A tape program: a list of instructions for a block of given sizes, and where the numbers go in and come out.

    enter(X)   state (..., T, S D + 1): every token of X in the slots that `inputs` names, zeros elsewhere, and a 1;
               a program that carries its data has a `start` instead, and takes no X
    run        instructions, then `loop` as many `times` as it says, then `closing`
    leave      the numbers of the state that `outputs` names, times `unit`, a power of two; a number that is kept as a
               positive and a negative part, one of which is 0, comes out as the one less the other (`minus`)

Between enter and leave only the block computes: both copy numbers, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headsmith.machines.tape.instruction import Instruction, Sizes
from headsmith.machines.tape.listing import TapeListing
from headsmith.network.inputs import accept
from headsmith.records.shown import Shown
from headsmith.refusal import Refusal


@dataclass(frozen=True)
class Stretch:
    """Numbers first, first + 1, ... of a vector, `count` of them, lie in a slot, from its number `at` on."""

    slot: int
    at: int
    first: int
    count: int

    def of(self, sizes: Sizes) -> slice:
        """Where that is in a state token."""
        start = self.slot * sizes.slot + self.at
        return slice(start, start + self.count)


@dataclass(frozen=True, eq=False, repr=False)
class TapeProgram(Shown):
    """The instructions of one program for one size of block, and the program that they came from.

    unit       the value is this many times what the block computed: a power of two, so nothing is rounded
    pooled     all tokens hold one vector, which is the value
    scales     what each norm multiplies its numbers by
    domain, norm   the ranges of the block that it was lowered for
    """

    sizes: Sizes
    source: Any
    instructions: tuple[Instruction, ...]
    inputs: tuple[Stretch, ...]
    outputs: tuple[Stretch, ...]
    loop: tuple[Instruction, ...] = ()
    times: int = 0
    closing: tuple[Instruction, ...] = ()
    start: Tensor | None = None
    unit: float = 1.0
    pooled: bool = False
    minus: tuple[Stretch, ...] = ()
    scales: tuple[float, ...] = ()
    domain: float = 256.0
    norm: tuple[float, float] = (2.0**-6, 2.0**6)

    @property
    def width(self) -> int:
        """Numbers of a state token, S D + 1."""
        return self.sizes.slots * self.sizes.slot + 1

    @property
    def features(self) -> int:
        """Numbers of a token of X; none where the program carries its data."""
        return _count(self.inputs)

    def __len__(self) -> int:
        """Passes of a run."""
        return len(self.instructions) + self.times * len(self.loop) + len(self.closing)

    def __iter__(self) -> Iterator[Instruction]:
        """The instruction of every pass, in order."""
        yield from self.instructions
        for _ in range(self.times):
            yield from self.loop
        yield from self.closing

    @cached_property
    def written(self) -> tuple[Instruction, ...]:
        """Every instruction once, as the listing shows them."""
        return self.instructions + self.loop + self.closing

    @property
    def numbers(self) -> int:
        """Numbers that the instructions name."""
        return sum(instruction.numbers for instruction in self.written)

    def enter(self, X: Any = None) -> Tensor:
        """The state before the first pass, (..., tokens, S D + 1), in float64."""
        if self.start is not None:
            if X is not None:
                raise Refusal(f"{self.source.name} carries its own data: call the machine with the program alone")
            return self.start.clone()
        x = self._tokens(X)
        state = x.new_zeros(*x.shape[:-1], self.width)
        for place in self.inputs:
            state[..., place.of(self.sizes)] = x[..., place.first : place.first + place.count]
        state[..., -1] = 1.0
        return state

    def _tokens(self, X: Any) -> Tensor:
        if X is None:
            raise Refusal(f"{self.source.name} needs tokens to run on: give X (tokens, {self.features} features)")
        if isinstance(X, str):
            if not hasattr(self.source, "tokens"):
                raise Refusal(f"{self.source.name} reads numbers, not text: give X (tokens, {self.features} features)")
            X = self.source.tokens(X)
        x = accept(X, torch.float64, torch.device("cpu")).detach()
        if x.dim() < 2 or x.shape[-1] != self.features or not x.numel():
            raise Refusal(f"{self.source.name} runs on X (..., tokens, {self.features} features), not {tuple(x.shape)}")
        return x

    def given(self, state: Tensor) -> Tensor | None:
        """The X that was entered; none where the program carries its data."""
        if self.start is not None:
            return None
        return torch.cat([state[..., p.of(self.sizes)] for p in sorted(self.inputs, key=lambda p: p.first)], -1)

    def leave(self, state: Tensor) -> Tensor:
        """The value in a state: (..., tokens, outputs), or (..., outputs) where the tokens were pooled."""
        value = self._read(self.outputs, state) * self.unit
        if self.minus:
            value = value - self._read(self.minus, state) * self.unit
        return value[..., 0, :] if self.pooled else value

    def _read(self, stretches: tuple[Stretch, ...], state: Tensor) -> Tensor:
        return torch.cat([state[..., s.of(self.sizes)] for s in sorted(stretches, key=lambda s: s.first)], -1)

    def reference(self, X: Any = None) -> Tensor:
        """What the instructions compute, pass by pass, by plain formulas in float64."""
        state = self.enter(X)
        for instruction in self:
            state = instruction.reference(state, self.sizes)
        return self.leave(state)

    def listing(self) -> TapeListing:
        """One line an instruction: what it reads and writes, its activation, its view, its size."""
        return TapeListing(self)

    def plot(self) -> Any:
        """A program says what is to be done; how well it is done is seen of a run."""
        raise Refusal(f"{self.source.name} is a list of prompts: listing() shows it, and vm(program, X).plot() a run")

    def save(self, path: str | Path) -> Path:
        """One safetensors file: what was asked for, and for which block; `hs.load` lowers it again.

        >>> from headsmith import load, prompt
        >>> from headsmith.machines.tape.lowering import lower
        >>> tape = lower(prompt.linear([[1.0, 2.0]], [0.5], "relu"), Sizes(slot=4, slots=2, heads=1))
        >>> load(tape.save("program.safetensors")).reference([[1.0, 1.0]])
        tensor([[3.5000]], dtype=torch.float64)
        """
        from headsmith.machines.tape.program_files import save

        return save(self, path)

    def title(self) -> str:
        return f"Tape program {self.source.name}: {len(self)} pass{'es' * (len(self) != 1)}"

    def rows(self) -> list[tuple[str, str]]:
        loop = f", {len(self.loop)} of them {self.times} times" if self.times else ""
        return [
            ("instructions", f"{len(self.written)}{loop}"),
            ("numbers", f"{self.numbers:,}".replace(",", " ")),
            ("block", str(self.sizes)),
        ]


def _count(places: Sequence[Stretch]) -> int:
    return sum(place.count for place in places)
