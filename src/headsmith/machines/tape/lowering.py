"""From a program to instructions: which slots it uses, and what one pass can do at once.

    post-LN    heads(u) -> b | unit(C(W_O z + x)) -> a | f(W_1 u) -> one pass a slot | unit(C(W_2 h + x)) -> a
    pre-LN     unit(C x) -> b | heads -> c | x += W_O z | unit(C x) -> b | f(W_1 u) -> one pass a slot | x += W_2 h

Each is a rule for one program: a linear layer writes D numbers a pass; a residual sum adds to the slot of x, or is read
together with what is added where a norm follows; a norm leaves a unit vector and hands gamma and beta to its readers
(`held`). The scale s of a norm, a power of two, brings s^2 (var + eps) of the samples into the middle of the table.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from headsmith.machines.prompts.descent import DescentProgram
from headsmith.machines.prompts.heads import HeadProgram, LinearProgram
from headsmith.machines.prompts.layers import (
    ChainProgram,
    NormProgram,
    PoolProgram,
    ResidualProgram,
    flat,
)
from headsmith.machines.prompts.rule import RuleProgram
from headsmith.machines.tape.asked import as_chain, every, samples_of, shared
from headsmith.machines.tape.descending import lower_descent
from headsmith.machines.tape.held import Held, added
from headsmith.machines.tape.instruction import Instruction, Rows, Sizes
from headsmith.machines.tape.program import Stretch, TapeProgram
from headsmith.machines.tape.ranges import LONGEST
from headsmith.machines.tape.rule_tokens import lower_rule
from headsmith.records.shown import exactly, number
from headsmith.refusal import Refusal

NORM, DOMAIN = (2.0**-6, 2.0**6), 256.0
Terms = list[tuple[Tensor | None, Held]]
"""Summands W x of a vector that a pass reads at once; None stands for the identity."""


def lower(
    program: Any,
    sizes: Sizes,
    *,
    sample: Any = None,
    norm: tuple[float, float] = NORM,
    domain: float = DOMAIN,
    scales: Sequence[float] | None = None,
) -> TapeProgram:
    """The instructions of a program for a block of these sizes; `sample` are tokens on which norms are measured.

    scales: those of a tape that was lowered before, in place of a measurement.

    >>> from headsmith.machines.prompts.heads import linear
    >>> print(lower(linear([[1.0, 2.0]], activation="tanh"), Sizes(slot=4, slots=2, heads=1)).listing())
    Tape program chain: 1 pass
         instruction  reads  writes  activation  view  numbers
      0  linear       0      0       tanh                    3
    """
    if isinstance(program, DescentProgram):
        return lower_descent(program, sizes, domain)
    if isinstance(program, RuleProgram):
        return lower_rule(program, sizes, domain)
    source = as_chain(program)
    work = _Lowering(sizes, norm, scales)
    tape = work.tape(source, samples_of(source, sample))
    D, S, H = sizes.slot, sizes.slots, sizes.heads
    if work.slots > S:
        raise Refusal(
            f"this program takes {work.slots} slots of {D} numbers, the block has {S}: "
            f"hs.machine.Tape(slot={D}, slots={work.slots}, heads={H}) holds it"
        )
    return replace(tape, norm=norm, domain=domain)


def slots_of(program: Any, slot: int, heads: int, *, sample: Any = None, norm: tuple[float, float] = NORM) -> int:
    """How many slots of that many numbers the program takes."""
    source = as_chain(program)
    work = _Lowering(Sizes(slot, 0, heads), norm)
    work.tape(source, samples_of(source, sample))
    return work.slots


class _Lowering:
    """Instructions as they are made, the slots that are taken, and the samples as they pass through."""

    def __init__(self, sizes: Sizes, norm: tuple[float, float], scales: Sequence[float] | None = None) -> None:
        self.sizes, self.norm_range = sizes, norm
        self.given = None if scales is None else list(scales)
        self.scales: list[float] = []
        self.instructions: list[Instruction] = []
        self.kept: Counter[int] = Counter()  # slots that a residual sum still needs
        self.slots = 0
        self.state: Tensor | None = None

    def tape(self, source: ChainProgram, x: Tensor) -> TapeProgram:
        """The whole program, whether it fits or not."""
        norms = sum(isinstance(stage, NormProgram) for stage in every(source))
        if self.given is not None and len(self.given) != norms:
            raise Refusal(f"{len(self.given)} scales are given for {norms} norms")
        held, inputs = self.enter(x, norms > 0 and self.given is None)
        held = self.written(self.run((source,), held))
        return TapeProgram(
            self.sizes,
            source,
            tuple(self.instructions),
            inputs,
            held.stretches,
            pooled=source.pooled,
            scales=tuple(self.scales),
        )

    def enter(self, x: Tensor, measured: bool) -> tuple[Held, tuple[Stretch, ...]]:
        """The tokens in the first slots; `measured` where samples have to pass through."""
        D, width = self.sizes.slot, x.shape[-1]
        stretches = tuple(Stretch(i, 0, at, min(D, width - at)) for i, at in enumerate(range(0, width, D)))
        self.slots = len(stretches)
        if measured:
            padding = x.new_zeros(*x.shape[:-1], self.slots * D - width)
            self.state = torch.cat([x, padding], -1)
        return Held.plainly(*stretches), stretches

    def free(self, taken: set[int]) -> int:
        """The first slot that nobody needs."""
        slot = next(i for i in range(self.slots + 1) if i not in taken and not self.kept[i])
        self.slots = max(self.slots, slot + 1)
        return slot

    def emit(self, instruction: Instruction) -> None:
        """One more pass; the samples go through it as well."""
        self.instructions.append(instruction)
        if self.state is not None:
            self.state = instruction.reference(self.samples(), self.sizes)

    def samples(self) -> Tensor:
        """The state of the samples, as wide as the slots that are taken."""
        state = torch.zeros(1, 0) if self.state is None else self.state
        missing = self.slots * self.sizes.slot - state.shape[-1]
        return torch.cat([state, state.new_zeros(*state.shape[:-1], max(0, missing))], -1)

    # one rule for each program

    def run(self, stages: tuple[Any, ...], x: Held) -> Held:
        """The stages one after another."""
        todo = list(flat(stages))
        while todo:
            stage = todo.pop(0)
            if isinstance(stage, ResidualProgram):
                x = self.residual(stage, x, todo.pop(0) if todo and isinstance(todo[0], NormProgram) else None)
            elif isinstance(stage, NormProgram):
                x = self.norm(stage, [(None, x)], torch.zeros(stage.features, dtype=torch.float64))
            elif isinstance(stage, HeadProgram):
                x = self.heads(stage, x)
            elif isinstance(stage, PoolProgram):
                x = self.set([(None, x)], torch.zeros(x.features, dtype=torch.float64), stage.name, view="whole")
            else:
                x = self.set([(stage.weight, x)], stage.bias, stage.name, activation=stage.activation)
        return x

    def written(self, x: Held) -> Held:
        """The vector as plain numbers, which the outside can copy."""
        zero = torch.zeros(x.features, dtype=torch.float64)
        return x if x.plain else self.set([(None, x)], zero, "write out")

    def rows(self, terms: Terms, bias: Tensor, at: slice = slice(None)) -> tuple[dict[int, Tensor], Tensor]:
        """(slot -> weights, bias) of some rows of the sum of all terms."""
        total: dict[int, Tensor] = {}
        shift = bias[at]
        for matrix, held in terms:
            own = torch.eye(held.features, dtype=torch.float64) if matrix is None else matrix
            weights, more = held.read(own[at])
            shift = shift + more
            for slot, weight in weights.items():
                total[slot] = added(total.get(slot), weight)
        return total, shift

    def set(self, terms: Terms, bias: Tensor, name: str, activation: str = "identity", view: str = "self") -> Held:
        """f(sum of terms + bias), D numbers a pass; the last pass may write over what it reads."""
        D, reads = self.sizes.slot, set().union(*(held.slots for _, held in terms))
        starts = range(0, len(bias), D)
        out: list[Stretch] = []
        for i, first in enumerate(starts):
            weights, shift = self.rows(terms, bias, slice(first, first + D))
            own = {stretch.slot for stretch in out}
            slot = self.free(own if i == len(starts) - 1 else own | reads)
            called = name if len(starts) == 1 else f"{name} {i + 1}/{len(starts)}"
            self.emit(Instruction(called, (Rows("V", weights, shift),), activation, view=view, put={slot: "set"}))
            out.append(Stretch(slot, 0, first, len(shift)))
        return Held.plainly(*out)

    def residual(self, program: ResidualProgram, x: Held, norm: NormProgram | None) -> Held:
        """x + the stages; a norm behind it is part of the same pass."""
        self.kept.update(x.slots)
        *inner, last = flat(program.stages)
        zero, name = torch.zeros(x.features, dtype=torch.float64), program.name
        if isinstance(last, LinearProgram) and last.activation == "identity":
            z, matrix, bias, name = self.run(tuple(inner), x), last.weight, last.bias, last.name
        else:
            z, matrix, bias = self.run((*inner, last), x), None, zero
        self.kept.subtract(x.slots)
        if norm is not None:
            return self.norm(norm, [(matrix, z), (None, x)], bias, f"{name}, {norm.name}")
        alone = x.plain and not any(self.kept[slot] for slot in x.slots)
        if alone and all(s.at == 0 for s in x.stretches) and (len(x.stretches) == 1 or not x.slots & z.slots):
            for stretch in x.stretches:
                weights, shift = self.rows([(matrix, z)], bias, slice(stretch.first, stretch.first + stretch.count))
                self.emit(Instruction(name, (Rows("V", weights, shift),), put={stretch.slot: "add"}))
            return x
        return self.set([(matrix, z), (None, x)], bias, name)

    def norm(self, program: NormProgram, terms: Terms, bias: Tensor, name: str | None = None) -> Held:
        """The unit vector of C(sum of terms + bias); gamma, beta and sqrt(d) are left to the readers."""
        d, name = program.features, name or program.name
        if d > self.sizes.slot:
            raise Refusal(
                f"{name} is a norm over {d} numbers, a slot of this block holds {self.sizes.slot}: "
                f"hs.machine.Tape(slot={shared(d, self.sizes.heads)}, slots={self.sizes.slots}, "
                f"heads={self.sizes.heads}) has wider ones"
            )
        centring = torch.eye(d, dtype=torch.float64) - (1.0 / d if program.centred else 0.0)
        centring = centring / math.sqrt(d)
        weights, shift = self.rows(
            [(centring if m is None else centring @ m, held) for m, held in terms], centring @ bias
        )
        reading = Instruction(name, (Rows("V", weights, shift),))
        s = self._scale(program, reading) if self.given is None else self.given[len(self.scales)]
        self.scales.append(s)
        rows = Rows("V", {slot: s * w for slot, w in weights.items()}, s * shift)
        floor = Rows("g", {}, torch.tensor([s * s * program.eps], dtype=torch.float64))
        slot = self.free(set())
        self.emit(Instruction(name, (rows, floor), unit=True, put={slot: "set"}))
        return Held((Stretch(slot, 0, 0, d),), program.gamma * math.sqrt(d), program.beta)

    def _scale(self, program: NormProgram, reading: Instruction) -> float:
        """s, a power of two, for which s^2 (var + eps) of the samples is in the middle of the table."""
        powers = reading.named("V", self.samples(), self.sizes).square().sum(-1) + program.eps
        low, high, (least, most) = float(powers.min()), float(powers.max()), self.norm_range
        if not 0 < low <= high < math.inf:
            raise Refusal(f"{reading.name} meets a token whose numbers are all equal, and eps = 0: it has no direction")
        s = 2.0 ** round(math.log2(math.sqrt(least * most) / math.sqrt(low * high)) / 2)
        if not least <= s * s * low <= s * s * high <= most:
            half = 2.0 ** math.ceil(math.log2(high / low) / 2 + 2)
            which = f"hs.machine.Tape(..., norm=({exactly(1 / half)}, {exactly(half)})) does"
            raise Refusal(
                f"{reading.name} meets variances from {number(low)} to {number(high)} on the samples, a ratio above "
                f"the {number(most / least)} that the norm table of this block holds: "
                f"{which if half * half <= LONGEST else 'no table reaches so far'}"
            )
        return s

    def heads(self, program: HeadProgram, x: Held) -> Held:
        """H heads a pass, or one where a head is wider than D/H; they share slots where they can."""
        D, H = self.sizes.slot, self.sizes.heads
        rows = program.head_dim
        size, count = D // H, program.weights[0].shape[:-2].numel()
        if rows > (size if program.causal else D):
            kind, need = ("causal head", H * rows) if program.causal else ("head", shared(rows, H))
            raise Refusal(
                f"a {kind} of {rows} rows does not fit a block of {H} heads of {size} numbers: "
                f"hs.machine.Tape(slot={need}, slots={self.sizes.slots}, heads={H}) holds it"
            )
        if rows <= size:
            return self._side_by_side(program, x, count, rows, size)
        return self._one_by_one(program, x, count, rows)

    def _side_by_side(self, program: HeadProgram, x: Held, count: int, rows: int, size: int) -> Held:
        """Head h of a pass writes numbers h size, h size + 1, ... of the slot."""
        H, out = self.sizes.heads, list[Stretch]()
        for group in range(0, count, H):
            many = min(H, count - group)
            parts = [self._part(program, x, p, range(group, group + many), size) for p in range(3)]
            own = {stretch.slot for stretch in out}
            slot = self.free(own if group + many == count else own | x.slots)
            called = program.name if count <= H else f"{program.name} {group // H + 1}/{-(-count // H)}"
            view = "causal" if program.causal else "heads"
            self.emit(Instruction(called, tuple(parts), program.activation, view=view, put={slot: "set"}))
            if rows == size:
                out.append(Stretch(slot, 0, group * rows, many * rows))
            else:
                out += [Stretch(slot, h * size, (group + h) * rows, rows) for h in range(many)]
        return Held.plainly(*out)

    def _one_by_one(self, program: HeadProgram, x: Held, count: int, rows: int) -> Held:
        """Wide heads: one a pass, added up in slots that hold as many as fit."""
        room, out = self.sizes.slot // rows, list[Stretch]()
        for h in range(count):
            k, q, v = (self._part(program, x, p, range(h, h + 1), rows) for p in range(3))
            place = h % room
            moved = Rows("V", v.weights, v.bias, place * rows)
            fresh = place == 0
            own = {stretch.slot for stretch in out}
            slot = self.free(own if h == count - 1 else own | x.slots) if fresh else out[-1].slot
            called = program.name if count == 1 else f"{program.name} {h + 1}/{count}"
            put = {slot: "set" if fresh else "add"}
            self.emit(Instruction(called, (k, q, moved), program.activation, view="whole", put=put))
            out.append(Stretch(slot, place * rows, h * rows, rows))
        return Held.plainly(*out)

    def _part(self, program: HeadProgram, x: Held, part: int, which: range, size: int) -> Rows:
        """K, Q or V of some heads, head h in rows h size, h size + 1, ..."""
        weight, bias = program.weights[part], program.biases[part]
        rows = program.head_dim
        weight, bias = weight.reshape(-1, rows, weight.shape[-1]), bias.reshape(-1, rows)
        matrix = weight.new_zeros((len(which) - 1) * size + rows, weight.shape[-1])
        shift = bias.new_zeros(len(matrix))
        for i, h in enumerate(which):
            matrix[i * size : i * size + rows], shift[i * size : i * size + rows] = weight[h], bias[h]
        weights, shift = self.rows([(matrix, x)], shift)
        return Rows("KQV"[part], weights, shift)
