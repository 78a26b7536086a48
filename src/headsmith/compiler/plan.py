"""What will be built, how large it is and what it promises, before it is built; or why nothing can be.

The search is the same for every kind: prove the target's designs, the cheapest first, until one meets eps. Where none
does, larger tolerances are tried until one succeeds, so that a refusal names an eps that was just had.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING, Any

from headsmith.compiler.request import Request
from headsmith.compiler.target import Target
from headsmith.constructions.design import Design, Short, freeze, many
from headsmith.functions import Unresolved
from headsmith.network import fingerprint
from headsmith.proof.approximation import Unprovable
from headsmith.proof.certificate import Bound, Certificate, gap_text
from headsmith.records.shown import Shown, number, upper
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.compiler.compiled import Compiled

LADDER = (2, 2, 3, 4, 10, 100, 100, 100, 100)  # steps to a tolerance that can be had, small ones first to stay near
LARGEST = 1.7e308  # two digits of more, rounded up, are infinite


@dataclass(frozen=True, repr=False)
class Plan(Shown):
    """A target, what was asked, the design that was chosen and what was proved of it. `build()` makes the network.

    `asked` is False for the plan of a file: what it was once asked is not shown, since nobody can check it.
    """

    target: Target
    request: Request
    design: Design
    proof: Bound
    asked: bool = True

    def __post_init__(self) -> None:
        freeze(self.design)

    @property
    def domain(self) -> Any:
        """(lo, hi), or a dict of them by variable."""
        return self.request.domain.plain()

    @property
    def eps(self) -> float:
        """What was asked."""
        return self.request.eps

    @property
    def dtype(self) -> str:
        """The dtype of the network."""
        return self.request.dtype

    @property
    def method(self) -> str:
        """How the design was made."""
        return self.design.method(self.target)

    @property
    def anchors(self) -> int:
        """Keys of all heads."""
        return self.design.tally.keys

    @property
    def heads(self) -> int:
        """Attention heads."""
        return self.design.tally.heads

    @property
    def layers(self) -> int:
        """Attention layers."""
        return self.design.tally.layers

    @property
    def approximation(self) -> float:
        """The stated error in exact arithmetic."""
        return self.proof.approximation

    @property
    def rounding(self) -> float:
        """What floating point may add."""
        return self.proof.rounding

    @property
    def bound(self) -> float:
        """What the certificate will state."""
        return self.proof.total

    @property
    def printed_anchors(self) -> float:
        """The size that the papers' rule would need for the same promise."""
        return self.target.printed_keys(self.request) or math.inf

    def title(self) -> str:
        return f"Plan: {self.target}"

    def rows(self) -> list[tuple[str, str]]:
        rows = [
            *self.target.rows(),
            ("domain", f"{self.request.domain}, {self.dtype}"),
            ("method", self.method),
            ("size", self.design.size()),
            *self.design.rows(self.target),
            (
                "bound" if self.proof.norm == "sup" else f"{self.proof.norm} bound",
                bound_text(self.approximation, self.rounding, self.proof.kind),
            ),
        ]
        if self.proof.min_gap is not None:
            rows.append(("smallest gap", gap_text(self.proof.min_gap)))
        if self.request.domain.note:
            rows.append(("note", self.request.domain.note))
        if self.asked and self.eps:
            missed = "" if self.bound <= self.eps else ", which the printed construction misses"
            rows.append(("asked", f"eps = {number(self.eps)}{missed}"))
            printed = self.target.printed_keys(self.request)
            if printed is not None:
                rows.append(("printed rule", "no finite size" if math.isinf(printed) else many(printed, "key")))
        return rows

    def build(self) -> Compiled:
        """The network, its certificate bound to the numbers it holds."""
        network = self.design.network(self.target, self.dtype)
        statement = self.target.statement(self.request)
        certificate = Certificate.of(
            self.proof, statement, self.request.domain, self.dtype, fingerprint(network), self.target.assumptions
        )
        return self.target.compiled()(network, self, certificate)


def make_plan(target: Target, request: Request) -> Plan:
    """The plan of the first design that meets eps, or a Refusal that names a tolerance which was just had."""
    try:
        return first_design(target, request)
    except Short as short:
        raise _refusal(target, request, short) from None


def first_design(target: Target, request: Request) -> Plan:
    """The first design whose proved bound meets eps; raises Short."""
    best, reason = math.inf, "there is no design for it"
    try:
        for design in target.designs(request):
            try:
                bound = design.prove(target, request).with_slack()
            except (Unprovable, Unresolved) as failure:
                reason, best = str(failure), min(best, getattr(failure, "best", math.inf))
                continue
            if bound.total <= request.eps or not design.promises:
                return Plan(target, request, design, bound)
            best = min(best, bound.total)
            most = "rounding" if bound.rounding > bound.approximation else "approximation"
            reason = f"the proof gives {upper(bound.total)} in {request.dtype}, most of it {most}"
    except Short as short:
        raise Short(short.reason if not math.isfinite(best) else reason, min(best, short.best)) from None
    raise Short(reason, best)


def _refusal(target: Target, request: Request, short: Short) -> Refusal:
    """What was asked, why it cannot be had, and an eps that was just tried and can."""
    if target.faultless:
        return Refusal(f"{target} in {request.dtype} cannot be certified: {short.reason}{_other(request, 'perhaps')}")
    asked = (
        f"{target} within {number(request.eps)} in {request.dtype} for {request.domain} cannot be certified: "
        f"{short.reason}"
    )
    flat = 1.01 * target.size(request.domain)
    rounding = 16 * request.format.unit * flat if math.isfinite(flat) else 0.0
    least = max(2 * request.eps, rounding, 1.05 * short.best if math.isfinite(short.best) else 0.0)
    rungs = (min(rung, flat) for rung in (*accumulate(LADDER, mul, initial=least), flat))
    for tried in (float(upper(rung)) for rung in rungs if rung < LARGEST):
        if _can(target, replace(request, eps=tried)):
            return Refusal(f"{asked}; eps = {tried:g} can be had{_other(request)}")
        if tried >= flat:
            break
    return Refusal(f"{asked}; nor can any larger eps that was tried{_other(request)}")


def _can(target: Target, request: Request) -> bool:
    try:
        first_design(target, request)
    except (Short, Refusal):
        return False
    return True


def _other(request: Request, word: str = "and less") -> str:
    if request.dtype == "float32":
        return f", {word} with dtype='float64'"
    return ", and perhaps less with method='auto'" if request.method != "auto" else ""


def bound_text(approximation: float, rounding: float, kind: str = "proved") -> str:
    """9.3e-7 = 9.2e-7 approximation + 1e-8 rounding."""
    if approximation == rounding == 0:
        return "0: there is no error"
    total = upper(math.nextafter(approximation + rounding, math.inf), 3)
    word = "" if kind == "proved" else f" ({kind})"
    return f"{total} = {upper(approximation, 3)} approximation + {upper(rounding, 3)} rounding{word}"
