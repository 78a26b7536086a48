"""The record of a proof: what is claimed, for which numbers and inputs, under which assumptions.

A `Bound` is what a proof returns. A `Certificate` is a bound with its sentence, its domain and the hash of the
numbers it speaks of; the sentence is always derived from target, domain and dtype, never read from anywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from headsmith.proof.domain import Domain
from headsmith.proof.rounding import ASSUMPTIONS
from headsmith.records.shown import Shown, exactly, lower, number, upper
from headsmith.refusal import Refusal

SLACK = 1.002  # room in the stated bound, so that other software, rounding elsewhere, can prove it again


class StaleCertificate(Refusal):
    """The weights, their dtype or the wiring are no longer what the certificate speaks of."""


@dataclass(frozen=True)
class Bound:
    """|network - target| <= approximation + rounding, for every input in the domain.

    kind: "proved" (rigorous arithmetic on the stored numbers), "conditional" (rests on a constant the user vouches
    for) or "unproved" (a fault of the print was asked for). `least` is a proved lower bound of the error at the input
    `witness`; `cells` counts the pieces of the proof. `min_gap`, of a memory, is how far the executed ids of tokens
    with different labels are apart at least.

    >>> Bound(3e-7, 1e-7).with_slack().total <= 4.02e-7
    True
    """

    approximation: float
    rounding: float
    kind: str = "proved"
    least: float = 0.0
    witness: tuple[float, ...] = ()
    cells: int = 0
    min_gap: float | None = None
    norm: str = "sup"

    @property
    def total(self) -> float:
        """approximation + rounding, rounded up."""
        return _sum(self.approximation, self.rounding)

    def with_slack(self) -> Bound:
        """What a certificate states."""
        return replace(self, approximation=self.approximation * SLACK, rounding=self.rounding * SLACK)


@dataclass(frozen=True, repr=False)
class Certificate(Shown):
    """bound = approximation + rounding, for every input in the domain; `weights` is the hash of the network."""

    approximation: float
    rounding: float
    kind: str
    statement: str
    domain: Domain
    dtype: str
    weights: str
    assumptions: tuple[str, ...] = ASSUMPTIONS
    least: float = 0.0
    witness: tuple[float, ...] = ()
    cells: int = 0
    min_gap: float | None = None
    norm: str = "sup"

    @classmethod
    def of(
        cls,
        bound: Bound,
        statement: str,
        domain: Domain,
        dtype: str,
        weights: str,
        assumptions: tuple[str, ...] = ASSUMPTIONS,
    ) -> Certificate:
        """A stated bound, about these weights."""
        return cls(
            approximation=bound.approximation,
            rounding=bound.rounding,
            kind=bound.kind,
            statement=statement,
            domain=domain,
            dtype=dtype,
            weights=weights,
            assumptions=assumptions,
            least=bound.least,
            witness=bound.witness,
            cells=bound.cells,
            min_gap=bound.min_gap,
            norm=bound.norm,
        )

    @property
    def bound(self) -> float:
        """approximation + rounding, rounded up."""
        return _sum(self.approximation, self.rounding)

    @property
    def exact(self) -> bool:
        """Whether it is proved that there is no error at all."""
        return self.bound == 0 and self.kind == "proved"

    def title(self) -> str:
        if self.exact:
            return "Certificate: no error (certified)"
        word = {"proved": "certified", "conditional": "conditional on your constant"}.get(self.kind, self.kind)
        error = "error" if self.norm == "sup" else f"{self.norm} error"
        return f"Certificate: {error} at most {upper(self.bound)} ({word})"

    def rows(self) -> list[tuple[str, str]]:
        rows = [
            ("statement", self.statement),
            ("approximation", upper(self.approximation, 3)),
            ("rounding", f"{upper(self.rounding, 3)} in {self.dtype}"),
        ]
        if self.exact:
            rows = [("statement", self.statement)]
        if self.min_gap is not None:
            rows.append(("smallest gap", gap_text(self.min_gap)))
        if self.least:
            point = ", ".join(map(exactly, self.witness))
            place = f"x = {point}" if len(self.witness) == 1 else f"({point})"
            rows.append(("attained", f"at least {number(self.least)} at {place}"))
        if self.cells:
            rows.append(("proof", f"{self.cells} {'cell' if self.cells == 1 else 'cells'} in ball arithmetic"))
        rows.append(("assumes", "; ".join(self.assumptions)))
        return rows


def gap_text(gap: float) -> str:
    """How far ids are apart, of which tokens.

    >>> gap_text(1.2345e-9)
    '1.23e-9 between executed ids with different labels'
    """
    return (
        "none is needed: all labels agree"
        if gap == math.inf
        else f"{lower(gap)} between executed ids with different labels"
    )


def _sum(approximation: float, rounding: float) -> float:
    """The sum, rounded up; two zeros are no error."""
    total = approximation + rounding
    return math.nextafter(total, math.inf) if total else 0.0
