"""What a run of a tape hands back: the value, and on request what each of its passes costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from torch import Tensor

from headsmith.machines.prompts.descent import DescentProgram
from headsmith.machines.tape.contraction import followed
from headsmith.machines.tape.program import TapeProgram
from headsmith.machines.tape.proving import prove
from headsmith.proof.certificate import Bound, Certificate, StaleCertificate
from headsmith.proof.handed import Handed
from headsmith.records.shown import number
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.machines.tape.tape import Tape


@dataclass(frozen=True, repr=False, eq=False)
class TapeResult(Handed):
    """value, how many passes it took and how long; `bounds` and `certificate` run it once more and bound each pass.

    The certificate speaks of the passes, one by one: each is that close to its instruction, for the state that it was
    given. `prove` speaks of the value.
    """

    program: TapeProgram
    value: Tensor
    passes: int
    seconds: float
    way: str
    machine: Tape
    entered: Tensor

    @property
    def weights(self) -> Tensor:
        """The value, by the name that steps of descent have for it."""
        return self.value

    @cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """|pass - instruction| in every entry of the state behind it, one for each pass."""
        return self.machine.bounds(self.program, self.entered, self.way, self.value)

    @cached_property
    def certificate(self) -> Certificate:  # type: ignore[override]
        """The largest of the bounds, with the sentence that says what it bounds."""
        return self.machine.certified_run(self.program, self.bounds, self.way)

    def prove(self, bits: int | str = "auto") -> Certificate:
        """|value - program(X)| <= bound, end to end and for this X alone: a theorem, whatever the machine did."""
        if not self.valid:
            raise StaleCertificate("the value or its tokens were changed after the run: run it again")
        return prove(self.program.source, self.program.given(self.entered), self.value, bits)

    def drift(self) -> Certificate:
        """|iterate - exact iterate|_2 <= e (1 - q^k)/(1 - q) for every step k of a descent without momentum.

        e is the largest error of a step, in balls, of the very iterates of this run; q is what a step leaves of a
        distance. Where q < 1 errors fade, however long the run.

        >>> result = hs.machine.Tape(slot=8, slots=3, heads=2)(hs.prompt.descent([[1.0], [2.0]], [2.0, 4.0], rate=0.1))
        >>> result.drift().bound < 1e-10, result.drift().statement[:60]
        (True, '|w_k - exact iterate|_2 <= e (1 - q^k)/(1 - q) for every k f')
        """
        if not self.valid:
            raise StaleCertificate("the value or its tokens were changed after the run: run it again")
        source = self.program.source
        if not isinstance(source, DescentProgram):
            raise Refusal(f"{source.name} has no steps of descent: result.prove() bounds the error of its value")
        found = self.machine.iterates(self.program, self.entered, self.way, self.value)
        return followed(source, [w.reshape(len(source.l1), -1) for w in found])

    def plot(self) -> Any:
        """A matplotlib figure: a bar for each pass, as high as what is certified of it."""
        title = f"{self.program.source.name}: what each of {self.passes} passes can be off by, certified"
        bounds = [bound.with_slack().total for bound in self.bounds]
        done = [seen.instruction for seen in self.machine.running.passes(self.program, self.entered, self.way)]
        names, kinds = [instruction.name for instruction in done], [instruction.kind for instruction in done]
        return import_module("headsmith.views.tape_run").tape_run(title, names, kinds, bounds)

    def title(self) -> str:
        worked_out = "certificate" in vars(self)
        each = f": {self.promise()}{' a pass' * self.valid}" if worked_out else ""
        return f"Result of {self.program.source.name}, {self.passes} passes{each}"

    def rows(self) -> list[tuple[str, str]]:
        flat = self.value.detach().reshape(-1).tolist()
        shown = ", ".join(number(v, 6) for v in flat[:12]) + (", ..." if len(flat) > 12 else "")
        proof = self.proof() if "certificate" in vars(self) else [("certificate", "worked out when it is asked for")]
        return [("value", shown), ("time", f"{number(self.seconds)} s"), *proof]
