"""The record of a proof: what is claimed, for which numbers, under which assumptions, and how to repeat it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headsmith.proof.composition import Error, Proved
from headsmith.proof.rounding import ASSUMPTIONS
from headsmith.records.shown import Shown, number, upper
from headsmith.refusal import Refusal

SLACK = 1.002  # room in the stored bound, so that other software, rounding elsewhere, can prove it again


class StaleCertificate(Refusal):
    """The weights, their dtype or the manifest are no longer what the certificate speaks of."""


@dataclass(frozen=True, repr=False)
class Certificate(Shown):
    """bound = approximation + rounding, for every input in the domain.

    kind: "proved" (rigorous arithmetic on the stored numbers), "conditional" (rests on a constant the user vouches
    for) or "measured" (sampled). `least` is a proved lower bound of the error at the input `witness`.
    """

    approximation: float
    rounding: float
    kind: str
    statement: str
    domain: tuple[float, float]
    dtype: str
    weights: str
    assumptions: tuple[str, ...] = ASSUMPTIONS
    least: float = 0.0
    witness: float = 0.0
    proof: tuple[dict[str, Any], ...] = field(default=())

    @property
    def bound(self) -> float:
        return math.nextafter(self.approximation + self.rounding, math.inf)

    def title(self) -> str:
        word = {"proved": "certified", "conditional": "conditional on your constant"}.get(self.kind, self.kind)
        return f"Certificate: error at most {upper(self.bound)} ({word})"

    def rows(self) -> list[tuple[str, str]]:
        rows = [
            ("statement", self.statement),
            ("approximation", upper(self.approximation, 3)),
            ("rounding", f"{upper(self.rounding, 3)} in {self.dtype}"),
        ]
        if self.least:
            rows.append(("attained", f"at least {number(self.least)} at x = {number(self.witness, 6)}"))
        cells = sum(len(part["cells"]) - 1 for part in self.proof if isinstance(part.get("cells"), list))
        if cells:
            rows.append(("proof", f"{cells} Taylor cells in ball arithmetic"))
        rows.append(("assumes", "; ".join(self.assumptions)))
        return rows

    def record(self) -> dict[str, Any]:
        """JSON, with every float in hexadecimal."""
        return {
            "approximation": self.approximation.hex(),
            "rounding": self.rounding.hex(),
            "bound": self.bound.hex(),
            "kind": self.kind,
            "statement": self.statement,
            "domain": [end.hex() for end in self.domain],
            "dtype": self.dtype,
            "weights": self.weights,
            "assumptions": list(self.assumptions),
            "least": self.least.hex(),
            "witness": self.witness.hex(),
            "proof": list(self.proof),
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Certificate:
        read = float.fromhex
        return cls(
            approximation=read(record["approximation"]),
            rounding=read(record["rounding"]),
            kind=record["kind"],
            statement=record["statement"],
            domain=(read(record["domain"][0]), read(record["domain"][1])),
            dtype=record["dtype"],
            weights=record["weights"],
            assumptions=tuple(record["assumptions"]),
            least=read(record["least"]),
            witness=read(record["witness"]),
            proof=tuple(record["proof"]),
        )


def part_record(proof: Proved) -> dict[str, Any]:
    """How to repeat the proof of one part: choices (cells), not claims. The numbers of its heads are in the file."""
    part = proof.part
    return {
        "input": part.input,
        "output": part.output,
        "target": part.target.tree() if part.target else None,
        "domain": [end.hex() for end in part.domain],
        "bias": part.bias.hex(),
        "slope": proof.slope.hex(),
        "removable": [place.hex() for place in part.target.places(*part.domain).removable] if part.target else [],
        "cells": [edge.hex() for edge in proof.approximation.edges],
        "rounding": [edge.hex() for edge in proof.rounding.edges],
    }


def certify(
    proofs: Sequence[Proved], error: Error, formula: str, domain: tuple[float, float], dtype: str, weights: str
) -> Certificate:
    """The certificate of a program whose output has this error."""
    lo, hi = domain
    first = proofs[0].approximation if len(proofs) == 1 else None
    return Certificate(
        approximation=error.approximation * SLACK,
        rounding=error.rounding * SLACK,
        kind="proved",
        statement=f"|network(x) - ({formula})| <= bound for every {dtype} x in [{number(lo, 6)}, {number(hi, 6)}]",
        domain=domain,
        dtype=dtype,
        weights=weights,
        least=first.least if first else 0.0,
        witness=first.witness if first else 0.0,
        proof=tuple(part_record(p) for p in proofs),
    )
