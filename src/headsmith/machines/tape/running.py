"""A program on a block, pass by pass, in one of three ways; every pass is checked before it is believed.

    named     what an instruction names, by the tables of the block (`passes`)
    all       the network, handed one instruction after another
    looped    the network, handed the whole tape; it says itself what comes next (`looping`)

All three are the same real function of the state. "all" and "looped" agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from headsmith.machines.tape import frozen, looping
from headsmith.machines.tape.fetch import NEAR
from headsmith.machines.tape.instruction import Instruction
from headsmith.machines.tape.passes import PassRun, run
from headsmith.machines.tape.program import TapeProgram
from headsmith.machines.tape.ranges import BlockRanges
from headsmith.network import Network
from headsmith.proof.statement import Head
from headsmith.records.shown import number
from headsmith.refusal import Refusal

WAYS = {
    "named": "the rows that each names",
    "all": "all rows of the network",
    "looped": "applications of the network to one prompt",
}
"""How a run is executed, in the words of its certificate."""


@dataclass(frozen=True)
class Running:
    """A block: its network, its tables, and what they hold."""

    network: Network
    tables: Mapping[str, Head]
    ranges: BlockRanges

    @torch.no_grad()
    def passes(self, program: TapeProgram, state: Tensor, way: str) -> Iterator[PassRun]:
        """Every pass of a run from this state on."""
        if way == "looped":
            yield from self._looped(program, state)
            return
        for at, instruction in enumerate(program):
            if looping.jumps(instruction):
                raise Refusal(f"instruction {at} ({instruction.name}) jumps: run the program with looped=True")
            done = self._named(at, instruction, state)
            done = done if way == "named" else self.whole(done, frozen.prompt(instruction, state, self.ranges.sizes))[0]
            yield done
            state = done.after

    def _named(self, at: int, instruction: Instruction, state: Tensor) -> PassRun:
        """The rows that are named, and the checks."""
        self.ranges.check(at, instruction, state)
        done = run(instruction, state, self.ranges.sizes, self.tables)
        self.ranges.check_norm(at, done)
        return done

    def _looped(self, program: TapeProgram, state: Tensor) -> Iterator[PassRun]:
        """state <- network(tape, state) until the place of the first token is that of the last line."""
        if state.dim() != 2:
            raise Refusal(f"a prompt that holds its tape runs one sequence, not a batch of {tuple(state.shape[:-2])}")
        lines = looping.lines(program)
        tape, tokens = looping.tape(lines, self.ranges.sizes), frozen.marked(state)
        for _ in range(looping.PASSES):
            at = self._line(program, float(tokens[0, -2]), len(lines))
            if at == len(lines) - 1:
                return
            named = self._named(at, lines[at], tokens[..., :-2])
            done, tokens = self.whole(named, torch.cat([tape, tokens]))
            yield done
        raise Refusal(f"{program.source.name} did not halt within {looping.PASSES:,} passes")

    @staticmethod
    def _line(program: TapeProgram, place: float, lines: int) -> int:
        """The one line that is fetched from a place; between two lines a mixture of both would run."""
        at = round(place)
        if not 0 <= at < lines:
            raise Refusal(f"{program.source.name} jumps to line {at}, and has the lines 0 to {lines - 1}")
        if abs(place - at) > NEAR:
            raise Refusal(
                f"{program.source.name} jumps to {number(place)}, between two lines: a target is a whole number"
            )
        return at

    def whole(self, named: PassRun, prompt: Tensor) -> tuple[PassRun, Tensor]:
        """A pass as the network runs it, with what its layers held, and the state tokens that come out."""
        at, names = frozen.stream(self.ranges.sizes), list(self.network.layers)
        *_, held, out = self._kept(prompt, names[-2:])
        part = {name: held[..., at[name].start : at[name].stop] for name in ("K", "Q", "g", "V", "U", "Z")}
        square = None if named.square is None else part["V"].square().sum(-1, keepdim=True) + part["g"]
        values = (part["V"], square, part["U"], part["Z"], out[..., :-2])
        return PassRun(named.instruction, named.before, named.sums, part, *values), out

    def _kept(self, prompt: Tensor, names: list[str]) -> Iterator[Tensor]:
        """The streams behind these layers."""
        for name, stream in zip(self.network.layers, self.network.states(prompt), strict=True):
            if name in names:
                yield stream
