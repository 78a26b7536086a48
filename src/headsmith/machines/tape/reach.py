"""How far the sums of a program can go, whatever tokens come: what a run checks, proved beforehand for all inputs.

    V <- f(V)                  |f(z)| <= |z| for identity, tanh, silu, relu, gelu;  |tanh| <= 1
    V <- V / sqrt(V.V + g)     |V|_2 <= 1;  sum V = 0 where the columns of its rows add up to 0
    Z <- attention             an average of V over tokens: no number, and no head's vector, is longer than the longest
    s <- Z, s + Z              and every number off by at most the promise of such a pass

What is known of each slot (`known`) goes from pass to pass in exact arithmetic, rounded up, and the promise of the
machine, which holds for every state in the domain, is added behind each: so it holds of what the machine computes. A
sum that is proved cannot be refused. What is not proved is checked in the run, and what follows rests on that check.
The lower end of a norm cannot be proved: a sum may cancel to anything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headsmith.machines.tape.errors import TOKENS
from headsmith.machines.tape.instruction import Instruction, Rows
from headsmith.machines.tape.known import Known
from headsmith.machines.tape.looping import jumps
from headsmith.machines.tape.program import TapeProgram
from headsmith.machines.tape.ranges import BlockRanges
from headsmith.machines.tape.tables import ROOM
from headsmith.proof.rounding import FORMATS, INFLATE, gamma
from headsmith.records.shown import Shown, exactly, upper
from headsmith.refusal import Refusal

NAMED = 4  # instructions that are not proved, in a table
Found = tuple[Rows, Tensor, Tensor]
"""Rows, with what their terms and their values are at most."""


@dataclass(frozen=True)
class Reached:
    """One instruction: the most that |theta . s + bias| and sum |theta_k s_k| + |bias| can be; why it is not proved."""

    name: str
    value: float
    sums: float
    reason: str = ""


@dataclass(frozen=True, repr=False)
class Reach(Shown):
    """What the passes of a program can reach, instruction by instruction."""

    program: str
    inputs: str
    domain: float
    norms: bool
    lines: tuple[Reached, ...]

    @property
    def proved(self) -> bool:
        """Whether no sum can leave the domain."""
        return not any(line.reason for line in self.lines)

    @property
    def most(self) -> Reached:
        """The instruction that comes nearest to the end of the domain, of those that are proved."""
        within = [line for line in self.lines if not line.reason]
        return max(within, key=lambda line: line.sums, default=Reached("no instruction", 0.0, 0.0))

    def title(self) -> str:
        return f"Reach of {self.program}: {len(self.lines)} pass{'es' * (len(self.lines) != 1)}, {self.inputs}"

    def rows(self) -> list[tuple[str, str]]:
        unproved = [(at, line) for at, line in enumerate(self.lines) if line.reason]
        count = len(self.lines) - len(unproved)
        which = "never left" if self.proved else f"not left by {count} of {len(self.lines)} instructions"
        most = f"sums of at most {upper(self.most.sums, 4)}, in {self.most.name}"
        found = [(f"domain {exactly(self.domain)}", f"{which}: {most}" if count else "checked in every run")]
        found += [("checked", f"{at} ({line.name}) {line.reason}") for at, line in unproved[:NAMED]]
        if len(unproved) > NAMED:
            found.append(("checked", f"and {len(unproved) - NAMED} more"))
        if self.norms:
            found.append(("norms", "checked in every run: nothing bounds from below what a sum may cancel to"))
        return [*found, ("holds for", f"up to {TOKENS} tokens; every bound is rounded up")]


def reach(program: TapeProgram, ranges: BlockRanges, promises: Mapping[str, float], largest: Any = None) -> Reach:
    """The passes of a program, one after another; promises: what a pass of each sort is off by at most."""
    for instruction in program.written:
        if jumps(instruction):
            raise Refusal(f"{instruction.name} says itself what comes next: what it reaches is only known from a run")
    walk = _Walk(program, ranges, promises)
    inputs = walk.enter(largest)
    lines = tuple(walk.through(instruction) for instruction in program)
    norms = any(instruction.unit for instruction in program.written)
    return Reach(program.source.name, inputs, ranges.domain, norms, lines)


class _Walk:
    """What is known of the slots, pass by pass."""

    def __init__(self, program: TapeProgram, ranges: BlockRanges, promises: Mapping[str, float]) -> None:
        self.program, self.ranges, self.promises = program, ranges, promises
        self.raw: set[int] = set()  # slots that hold tokens of which nothing is known
        self.slots: dict[int, Known] = {}

    def enter(self, largest: Any) -> str:
        """The slots before the first pass, and what is taken for granted of them, in words."""
        sizes, program = self.ranges.sizes, self.program
        if program.start is not None:
            if largest is not None:
                raise Refusal(f"{program.source.name} carries its own data: leave largest out")
            start = program.start[..., :-1].abs().reshape(-1, sizes.slots, sizes.slot).amax(0)
            self.slots = {k: Known.of(row) for k, row in enumerate(start)}
            return "on its own data"
        entry, inputs = self._largest(largest)
        state = torch.zeros(sizes.slots * sizes.slot, dtype=torch.float64)
        for place in program.inputs:
            state[place.of(sizes)] = entry[place.first : place.first + place.count]
        self.slots = {k: Known.of(row) for k, row in enumerate(state.reshape(sizes.slots, sizes.slot))}
        self.raw = {k for k, known in self.slots.items() if not bool(known.sizes.isfinite().all())}
        return inputs

    def _largest(self, largest: Any) -> tuple[Tensor, str]:
        """The largest |x| of each number of a token: given, that of all texts, or infinite."""
        count = self.program.features
        if largest is not None:
            if isinstance(largest, bool) or not (isinstance(largest, int | float) and 0 <= largest < math.inf):
                raise Refusal(f"largest, the largest |x| of a token, must be a number from 0 on, not {largest!r}")
            return torch.full((count,), float(largest), dtype=torch.float64), f"tokens of |x| <= {exactly(largest)}"
        found = getattr(self.program.source, "largest", None)
        if found is not None:
            return found, "whatever text is typed"
        return torch.full((count,), math.inf, dtype=torch.float64), "whatever tokens come"

    def through(self, instruction: Instruction) -> Reached:
        """One pass: its sums, and the slots behind it."""
        found = [(rows, self._terms(rows), self._values(rows)) for rows in instruction.rows]
        sums = max((float(terms.max()) for _, terms, _ in found), default=0.0)
        value = max((float(values.max()) for _, _, values in found), default=0.0)
        line = Reached(instruction.name, value, sums, self._reason(instruction, sums))
        z = self._viewed(instruction, [part for part in found if part[0].part == "V"])
        self._write(instruction, z.off(self._promise(instruction)))
        return line

    def _terms(self, rows: Rows) -> Tensor:
        """sum |theta_k s_k| + |bias|, rounded up twice: as `ranges` checks it."""
        return (sum((self.slots[k].terms(w) for k, w in rows.weights.items()), rows.bias.abs()) * INFLATE) * INFLATE

    def _values(self, rows: Rows) -> Tensor:
        return sum((self.slots[k].values(w) for k, w in rows.weights.items()), rows.bias.abs()) * INFLATE

    def _reason(self, instruction: Instruction, most: float) -> str:
        """Why a run has to check it; nothing where it need not."""
        domain = self.ranges.domain
        added = [k for k, how in instruction.put.items() if how == "add"]
        for slot in sorted({*instruction.reads, *added} & self.raw):
            return f"{'reads' if slot in instruction.reads else 'adds to'} slot {slot}, the tokens as they came"
        if not most <= domain:
            return f"may reach sums of {upper(most, 4)}, as far as is known"
        for slot in added:
            if not (held := float(self.slots[slot].sizes.max())) <= domain:
                return f"adds to slot {slot}, which may hold {upper(held, 4)}, as far as is known"
        return ""

    def _bent(self, instruction: Instruction, V: list[Found]) -> Tensor:
        """|f(V)|, at most; beyond the domain a run would have been refused."""
        sizes = torch.zeros(self.ranges.sizes.slot, dtype=torch.float64)
        for rows, _, values in V:
            sizes[rows.first : rows.first + len(values)] = values.clamp(max=self.ranges.domain)
        return sizes.clamp(max=1.0) if instruction.activation == "tanh" else sizes

    def _viewed(self, instruction: Instruction, V: list[Found]) -> Known:
        """Z: f(V) or its unit vector, or averages of them over tokens, head by head."""
        found = Known.of(self._bent(instruction, V))
        if instruction.unit:
            count = max((rows.first + len(terms) for rows, terms, _ in V), default=0)
            tilt = self._tilt(V) if instruction.activation == "identity" else math.inf
            found = Known.of((found.sizes > 0).double(), 1.0, count, tilt)
        return Known.of(found.sizes) if instruction.view in ("heads", "causal") else found

    def _tilt(self, V: list[Found]) -> float:
        """|sum U| of a unit vector: columns of its rows that add up to a share of what their sizes do, at most.

        |sum_i V_i| <= sum_j |sum_i theta_ij| |s_j| <= share sum_ij |theta_ij s_j|, and U is V over sqrt(lo) at least.
        """
        columns: dict[int, tuple[Tensor, Tensor]] = {}
        D, u = self.ranges.sizes.slot, FORMATS["float64"].unit
        for rows, _, _ in V:
            for slot, weight in (*rows.weights.items(), (-1, rows.bias[:, None])):
                wide = torch.nn.functional.pad(weight, (0, D - weight.shape[1]))
                total, size = columns.get(slot, (torch.zeros(D).double(), torch.zeros(D).double()))
                columns[slot] = total + wide.sum(0), size + wide.abs().sum(0)
        shares = [torch.where(size > 0, total.abs() / size, 0.0).max() for total, size in columns.values()]
        share = max((float(found) for found in shares), default=0.0) + gamma(2 * D, u)
        most = sum(float(terms.clamp(max=self.ranges.domain).sum()) for _, terms, _ in V)
        return share * most / math.sqrt(self.ranges.norm[0] * (1 - ROOM)) * INFLATE

    def _promise(self, instruction: Instruction) -> float:
        """How far a pass of its sort is from its instruction, in every entry and for every state."""
        if instruction.view == "self":
            return self.promises["unit" if instruction.unit else "self"]
        return self.promises["whole" if instruction.view == "whole" else "heads"]

    def _write(self, instruction: Instruction, z: Known) -> None:
        for slot, how in instruction.put.items():
            before = self.slots[slot].within(self.ranges.domain)
            self.slots[slot] = before.plus(z) if how == "add" else z
            self.raw.discard(slot)
