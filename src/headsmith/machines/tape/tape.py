"""The tape machine: one frozen block, and programs that are lists of prompts for it.

    state <- block(instruction, state), instruction by instruction

Heads, linear layers, activations, norms, residual sums, means, steps of descent and whole transformers are such lists
(`hs.machine.host`, `program.listing()`); the block knows D, S, H and two ranges, and has one hash for all of them.
Nothing is computed outside of it. (In-Context Algorithm Emulation, section 4, whose machine holds heads only.)
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from headsmith.machines.machine import Machine, positive, whole
from headsmith.machines.tape import frozen, tables
from headsmith.machines.tape.errors import TOKENS, Errors
from headsmith.machines.tape.instruction import Instruction, Sizes
from headsmith.machines.tape.passes import PassRun, run
from headsmith.machines.tape.program import TapeProgram
from headsmith.machines.tape.ranges import BlockRanges
from headsmith.machines.tape.tape_result import TapeResult
from headsmith.network import Network
from headsmith.proof.certificate import Bound, Certificate
from headsmith.proof.domain import Domain
from headsmith.proof.statement import Head
from headsmith.records.shown import exactly, number, upper
from headsmith.refusal import Refusal

ROWS = ("named", "all")
LIMIT = 2.0**28  # D domain^2: scores beyond it would come near to those that shut a gate


class Tape(Machine):
    """vm(program, X) runs a tape program; slot = D numbers, S slots, H heads, rows up to `domain`, norms in `norm`.

    >>> vm = Tape(slot=8, slots=3, heads=2)
    >>> vm.keys["read"], vm.keys["norm"], vm.promises["self"].total < 2e-11
    (23, 33, True)
    """

    kind = "tape"
    slot: int
    slots: int
    heads: int
    domain: float
    low: float
    high: float

    def __init__(
        self,
        slot: int = 384,
        slots: int = 7,
        heads: int = 12,
        domain: float = 256.0,
        norm: tuple[float, float] = (2.0**-6, 2.0**6),
    ) -> None:
        if not (isinstance(norm, tuple | list) and len(norm) == 2):
            raise Refusal(f"norm is the range of |c|^2 + g, (lo, hi), not {norm!r}")
        self._size(slot=slot, slots=slots, heads=heads, domain=domain, low=norm[0], high=norm[1])
        self._freeze(
            {"read": tables.reading(self.domain), **tables.bending(), "norm": tables.root(self.low, self.high)}
        )

    def _size(self, *, slot: int, slots: int, heads: int, domain: float, low: float, high: float) -> None:
        self.slot, self.slots, self.heads = whole("slot", slot), whole("slots", slots), whole("heads", heads)
        self.domain = positive("domain, the largest sum of |theta_k s_k| + |bias|,", domain)
        self.low, self.high = positive("the least |c|^2 + g of a norm", low), positive("the largest of a norm", high)
        if self.slot % self.heads:
            raise Refusal(f"{heads} heads do not share {slot} numbers: take a number of heads that divides the slot")
        if not self.low < self.high:
            raise Refusal(f"norm is the range of |c|^2 + g, from below to above, not ({low!r}, {high!r})")
        if not self.domain >= 1 or self.slot * self.domain**2 > LIMIT:
            most = (LIMIT / self.slot) ** 0.5
            raise Refusal(f"slots of {slot} numbers hold a domain from 1 to {number(most)}, not {number(self.domain)}")
        self.reads = frozen.count(self.sizes) + 1, slots * slot + len(frozen.MORE)
        self.parameters = {
            "slot": slot, "slots": slots, "heads": heads, "domain": self.domain, "low": self.low, "high": self.high,
        }  # fmt: skip

    @property
    def sizes(self) -> Sizes:
        """D, S and H."""
        return Sizes(self.slot, self.slots, self.heads)

    @property
    def norm(self) -> tuple[float, float]:
        """The range of |c|^2 + g."""
        return self.low, self.high

    @property
    def keys(self) -> dict[str, int]:
        """Keys of each table."""
        return {name: head.keys for name, head in self.tables.items()}

    # the promise

    @property
    def ranges(self) -> BlockRanges:
        """What is checked of every pass."""
        return BlockRanges(self.sizes, self.domain, self.norm)

    @property
    def errors(self) -> Errors:
        """What a pass costs."""
        return Errors(self.ranges, tables.Worth.of(self.tables, self.domain, self.norm))

    @property
    def promises(self) -> dict[str, Bound]:
        """What a pass of each sort costs at most, for every state in the domain: self, unit, heads, whole."""
        self.refuse_stale()
        return {name: bound.with_slack() for name, bound in self.errors.promises().items()}

    def prove(self) -> Bound:
        """The worst pass; activations that are others, and flags that would be misread, are refused."""
        errors = self.errors
        for name, (approximation, _, _) in errors.worth.bends.items():
            if not approximation <= tables.FINE * self.domain:
                raise Refusal(f"the machine does not hold {name} on |z| <= {exactly(self.domain)}")
        if not errors.entry(self.domain, True) <= 2.0**-10:
            raise Refusal("the machine reads its flags too coarsely to shut a gate")
        return max(errors.promises().values(), key=lambda bound: bound.total)

    @property
    def statement(self) -> str:
        """|pass - instruction| <= bound, and for which states."""
        return (
            f"|pass - instruction| <= bound in every entry of the state behind it, for every instruction, every state "
            f"of up to {TOKENS} tokens of {self.slots} slots of {self.slot} with {self.hypotheses}"
        )

    @property
    def hypotheses(self) -> Domain:
        """What is checked of every pass."""
        return Domain(
            {
                "sum |theta_k s_k| + |bias|": (0.0, self.domain),
                "slots that are added to": (-self.domain, self.domain),
                "|c|^2 + g of a norm": self.norm,
                "g": (0.0, self.domain),
            }
        )

    # the network, and back

    def _build(self) -> Network:
        return frozen.network(self.sizes, self.tables)

    def _stored(self, network: Network) -> dict[str, Head]:
        return frozen.stored(network)

    # running

    def __call__(self, program: TapeProgram, X: Any = None, *, rows: str = "named") -> TapeResult:
        """Run a program on X (..., tokens, features): the rows that are named, or `rows="all"`, the network itself."""
        self.refuse_stale()
        self._check(program, rows)
        start = time.perf_counter()
        state = program.enter(X)
        for done in self.passes(program, X, rows=rows):
            state = done.after
        value, seconds = program.leave(state), time.perf_counter() - start
        return TapeResult(
            program, value, len(program), seconds, lambda: self._bounds(program, X, rows), self._each(program, rows)
        )

    def _check(self, program: Any, rows: str) -> None:
        if not isinstance(program, TapeProgram):
            raise Refusal(
                f"this machine runs tape programs, not {type(program).__name__}: hs.machine.host makes one of a module"
            )
        if program.sizes != self.sizes:
            D, S, H = program.sizes.slot, program.sizes.slots, program.sizes.heads
            raise Refusal(
                f"the program is for {S} slots of {D} and {H} heads, this machine has {self.slots} of {self.slot} and "
                f"{self.heads}: build it with slot={D}, slots={S}, heads={H}, or host the program for this machine"
            )
        if rows not in ROWS:
            raise Refusal(f"rows is one of {', '.join(ROWS)}, not {rows!r}")

    def passes(self, program: TapeProgram, X: Any = None, *, rows: str = "named") -> Iterator[PassRun]:
        """Every pass of a run, checked."""
        state, ranges = program.enter(X), self.ranges
        with torch.no_grad():
            for at, instruction in enumerate(program):
                ranges.check(at, instruction, state)
                done = run(instruction, state, self.sizes, self.tables)
                ranges.check_norm(at, done)
                done = done if rows == "named" else self.whole_pass(instruction, state, done)
                yield done
                state = done.after

    def whole_pass(self, instruction: Instruction, state: Tensor, named: PassRun) -> PassRun:
        """The pass as the network runs it, all rows of it, and what its layers held."""
        at, D = frozen.stream(self.sizes), self.slot
        stream: dict[str, Tensor] = {}
        names = list(self.network.layers)
        for name, out in zip(names, self.network.states(frozen.prompt(instruction, state, self.sizes)), strict=True):
            stream[name] = out
        held = stream[names[-2]]
        part = {name: held[..., at[name].start : at[name].stop] for name in ("K", "Q", "g", "V", "U", "Z")}
        square = part["V"].square().sum(-1, keepdim=True) + part["g"] if instruction.unit else None
        after = stream[names[-1]][..., : self.slots * D + 1]
        return PassRun(instruction, state, named.sums, part, part["V"], square, part["U"], part["Z"], after)

    def _bounds(self, program: TapeProgram, X: Any, rows: str) -> tuple[Bound, ...]:
        errors = self.errors
        return tuple(errors.a_posteriori(done) for done in self.passes(program, X, rows=rows))

    def _each(self, program: TapeProgram, rows: str) -> Any:
        def certify(bounds: tuple[Bound, ...]) -> Certificate:
            worst = max(bounds, key=lambda bound: bound.total, default=Bound(0.0, 0.0))
            path = {"named": "the rows that each names", "all": "all rows of the network"}[rows]
            return self.certified(
                worst,
                f"|pass - instruction| <= bound in every entry of the state, for each of the {len(bounds)} passes of "
                f"this run of {program.source.name}, executed as {path}, from the state that it was given",
            )

        return certify

    def title(self) -> str:
        return f"Tape machine: {self.slots} slots of {self.slot}, {self.heads} heads"

    def rows(self) -> list[tuple[str, str]]:
        names = {"self": "rows", "unit": "norms", "heads": "heads", "whole": "wide heads"}
        promises = [f"{names[name]} {upper(bound.total)}" for name, bound in self.promises.items()]
        return [
            ("domain", f"sums of rows up to {exactly(self.domain)}, norms {number(self.low)} to {number(self.high)}"),
            ("frozen", f"{sum(4 * h.keys for h in self.tables.values())} numbers of tables, {self.reads[0] - 1} rows"),
            ("a pass", f"error at most: {', '.join(promises)}"),
            ("weights", self.weight_hash[:16]),
        ]
