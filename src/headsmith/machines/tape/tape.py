"""The tape machine: one frozen block, and programs that are lists of prompts for it.

    state <- block(instruction, state), instruction by instruction

Heads, linear layers, activations, norms, residual sums, means, steps of descent and whole transformers are such lists
(`hs.machine.host`, `program.listing()`); the block knows D, S, H and two ranges, and has one hash for all of them.
Nothing is computed outside of it. (In-Context Algorithm Emulation, section 4, whose machine holds heads only.)
"""

from __future__ import annotations

import time
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from headsmith.machines.machine import Machine, positive, whole
from headsmith.machines.tape import frozen, tables
from headsmith.machines.tape.errors import TOKENS, Errors
from headsmith.machines.tape.instruction import Sizes
from headsmith.machines.tape.pass_seen import PassSeen
from headsmith.machines.tape.program import TapeProgram
from headsmith.machines.tape.ranges import UNDECIDED, WIDEST, BlockRanges
from headsmith.machines.tape.reach import Reach, reach
from headsmith.machines.tape.running import WAYS, Running
from headsmith.machines.tape.tape_result import TapeResult
from headsmith.network import Network
from headsmith.proof.certificate import Bound, Certificate, StaleCertificate
from headsmith.proof.domain import Domain
from headsmith.proof.statement import Head
from headsmith.records.shown import exactly, number, upper
from headsmith.refusal import Refusal

ROWS = ("named", "all")
CHANGED = "the program or its numbers were changed after the run: run it again"
FARTHEST = 2.0**500  # a norm, whose square root and square are numbers as well
MOST_KEYS = 256  # keys of a table: five times those of the longest, a norm of ratio 2^20
LARGEST = 2**13  # numbers of a slot: a norm makes a matrix of their square
NARROW = 32.0  # domain: in narrower ones the error of ReLU, 2^-42 around 0 whatever the domain, is the larger part
SHARPEST = UNDECIDED / 4  # error of a flag: far less than what keeps a condition from being one


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
    root: float

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
        sizes: dict[str, Any] = {
            "slot": slot, "slots": slots, "heads": heads, "domain": domain, "low": norm[0], "high": norm[1],
        }  # fmt: skip
        self._size(**sizes, root=1.0)  # sizes are checked before a table is searched
        found, within = tables.root(self.low, self.high)
        self._size(**sizes, root=within)
        self._freeze({"read": tables.reading(self.domain), **tables.bending(), "norm": found})

    def _size(self, *, slot: int, slots: int, heads: int, domain: float, low: float, high: float, root: float) -> None:
        self.slot, self.slots, self.heads = whole("slot", slot), whole("slots", slots), whole("heads", heads)
        self.domain = positive("domain, the largest sum of |theta_k s_k| + |bias|,", domain)
        self.low, self.high = positive("the least |c|^2 + g of a norm", low), positive("the largest of a norm", high)
        if self.slot > LARGEST:
            raise Refusal(f"a slot holds up to {LARGEST} numbers, not {slot}: take more slots")
        if self.slot % self.heads:
            raise Refusal(f"{heads} heads do not share {slot} numbers: take a number of heads that divides the slot")
        if not self.low < self.high:
            raise Refusal(f"norm is the range of |c|^2 + g, from below to above, not ({low!r}, {high!r})")
        if not 1 / FARTHEST <= self.low < self.high <= FARTHEST:
            raise Refusal(f"norms lie between 2^-500 and 2^500, not from {low!r} to {high!r}: scale the program")
        if not 1 <= self.domain <= WIDEST:
            raise Refusal(
                f"domains are proved from 1 to {exactly(WIDEST)}, not {exactly(self.domain)}: scale the program"
            )
        self.root = positive("the error of the table of 1/sqrt", root)
        self.reads = frozen.count(self.sizes) + 1, slots * slot + len(frozen.MORE)
        self.parameters = {
            "slot": slot, "slots": slots, "heads": heads, "domain": self.domain, "low": self.low, "high": self.high,
            "root": self.root,
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

    @property
    def numbers(self) -> int:
        """Numbers in the tables: score and value of every key, and a line for those of activations."""
        return sum(keys * (3 if name in ("read", "norm") else 4) for name, keys in self.keys.items())

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
        if max(self.keys.values()) > MOST_KEYS:
            raise Refusal(f"a table of a tape has up to {MOST_KEYS} keys, more are not proved")
        errors, worth = self.errors, self.errors.worth
        if not worth.root.total <= self.root:
            raise Refusal(f"the machine does not hold 1/sqrt within {upper(self.root)}")
        for name, (approximation, _, _) in worth.bends.items():
            if not approximation <= tables.FINE * max(self.domain, NARROW):
                raise Refusal(f"the machine does not hold {name} on |z| <= {exactly(self.domain)}")
        if not errors.entry(self.domain, True) <= SHARPEST:
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

    def __call__(self, program: Any, X: Any = None, *, rows: str = "named", looped: bool = False) -> TapeResult:
        """Run a program on X (..., tokens, features); one of hs.prompt, or a module, is hosted for this X first.

        rows="named" computes what each instruction names, rows="all" the network itself, instruction by instruction.
        looped=True hands the network the whole tape: what comes next is then its own decision.
        """
        self.refuse_stale()
        program = self._hosted(program, X)
        way = self._way(program, rows, looped)
        start, count = time.perf_counter(), 0
        entered = state = self.read(program.enter(X))
        for done in self.running.passes(program, entered, way):
            state, count = done.after, count + 1
        value = program.leave(state)
        seconds = time.perf_counter() - start
        return TapeResult(program, value, count, seconds, way, self, entered)

    def _hosted(self, program: Any, X: Any) -> TapeProgram:
        """The program as a tape for this block, its norms measured on X."""
        if isinstance(program, TapeProgram):
            return program
        return self.host(program, sample=None if isinstance(X, str) else X)

    def _way(self, program: TapeProgram, rows: str, looped: bool) -> str:
        if program.sizes != self.sizes:
            D, S, H = program.sizes.slot, program.sizes.slots, program.sizes.heads
            raise Refusal(
                f"the program is for {S} slots of {D} and {H} heads, this machine has {self.slots} of {self.slot} and "
                f"{self.heads}: build it with slot={D}, slots={S}, heads={H}, or host the program for this machine"
            )
        if rows not in ROWS:
            raise Refusal(f"rows is one of {', '.join(ROWS)}, not {rows!r}")
        return "looped" if looped else rows

    @property
    def running(self) -> Running:
        """How it runs."""
        return Running(self.network, self.tables, self.ranges)

    def bounds(self, program: TapeProgram, state: Tensor, way: str, value: Tensor) -> tuple[Bound, ...]:
        """What each pass of a run from a state costs; refused where the run comes to another value."""
        self.refuse_stale()
        errors, found, last = self.errors, [], state
        for done in self.running.passes(program, state, way):
            found.append(errors.a_posteriori(done))
            last = done.after
        if not torch.equal(program.leave(last), value):
            raise StaleCertificate(CHANGED)
        return tuple(found)

    def iterates(self, program: TapeProgram, state: Tensor, way: str, value: Tensor) -> tuple[Tensor, ...]:
        """What the value would be before the loop, and behind each turn of it; refused where the run ends elsewhere."""
        turn, found = len(program.loop) + (way == "looped"), [program.leave(state)]
        for count, done in enumerate(self.running.passes(program, state, way), 1 - len(program.instructions)):
            if count > 0 and count % turn == 0:
                found.append(program.leave(done.after))
        if not torch.equal(found[-1], value):
            raise StaleCertificate(CHANGED)
        return tuple(found)

    def certified_run(self, program: TapeProgram, bounds: tuple[Bound, ...], way: str) -> Certificate:
        """What the bounds of the passes promise of a run."""
        worst = max(bounds, key=lambda bound: bound.total, default=Bound(0.0, 0.0))
        return self.certified(
            worst,
            f"|pass - instruction| <= bound in every entry of the state, for each of the {len(bounds)} passes of this "
            f"run of {program.source.name}, executed as {WAYS[way]}, from the state that it was given",
        )

    def explain(self, program: Any, X: Any = None, at: int = 0) -> PassSeen:  # type: ignore[override]
        """One pass of a run: slots before and behind it, the room it left in the domain and in the range of norms."""
        self.refuse_stale()
        program = self._hosted(program, X)
        way = self._way(program, "named", False)
        if isinstance(at, bool) or not isinstance(at, int) or not 0 <= at < len(program):
            raise Refusal(f"{program.source.name} has the passes 0 to {len(program) - 1}, not {at!r}")
        done = next(islice(self.running.passes(program, program.enter(X), way), at, None))
        instruction, square = done.instruction, done.square
        before, after = (
            state[..., :-1].unflatten(-1, (self.slots, self.slot)).abs().movedim(-2, 0).flatten(1).amax(1).tolist()
            for state in (done.before, done.after)
        )
        return PassSeen(
            program.source.name, at, instruction.name, instruction.view, instruction.activation, instruction.reads,
            tuple(instruction.put.items()), self.ranges.check(at, instruction, done.before), self.domain,
            None if square is None else (float(square.min()), float(square.max())), self.norm,
            tuple(zip(before, after, strict=True)),
            self.errors.a_posteriori(done).with_slack(),
        )  # fmt: skip

    def reach(self, program: Any, largest: float | None = None) -> Reach:
        """How far its sums of rows can go whatever tokens come, or for all with |x| <= largest: proved, without a run.

        >>> layers = hs.prompt.norm([1.0] * 4), hs.prompt.linear([[3.0, 4.0, 0.0, 0.0]])
        >>> print(Tape(slot=8, slots=3, heads=2).reach(hs.prompt.chain(*layers)))
        Reach of chain: 2 passes, whatever tokens come
          domain 256  not left by 1 of 2 instructions: sums of at most 10.01, in linear
          checked     0 (norm) reads slot 0, the tokens as they came
          norms       checked in every run: nothing bounds from below what a sum may cancel to
          holds for   up to 4096 tokens; every bound is rounded up
        """
        promises = {name: bound.total for name, bound in self.promises.items()}
        program = self._hosted(program, None)
        self._way(program, "named", False)
        return reach(program, self.ranges, promises, largest)

    def host(self, module: Any, **options: Any) -> TapeProgram:
        """The tape of a module for this very block (`hs.machine.host` makes a block for a module)."""
        from headsmith.machines.tape.host import hosted

        return hosted(module, self.sizes, self.norm, self.domain, **options)

    def title(self) -> str:
        return f"Tape machine: {self.sizes}"

    def rows(self) -> list[tuple[str, str]]:
        names = {"self": "rows", "unit": "norms", "heads": "heads", "whole": "wide heads"}
        promises = [f"{names[name]} {upper(bound.total)}" for name, bound in self.promises.items()]
        return [
            ("domain", f"sums of rows up to {exactly(self.domain)}, norms {number(self.low)} to {number(self.high)}"),
            ("frozen", f"{self.numbers} numbers in tables; an instruction is {self.reads[0] - 1} tokens"),
            ("a pass", f"error at most: {', '.join(promises)}"),
            ("weights", self.weight_hash[:16]),
        ]
