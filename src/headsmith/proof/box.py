"""A certificate over a box: one interval for each variable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from headsmith.proof.certificate import SLACK, Certificate
from headsmith.records.shown import number


@dataclass(frozen=True, repr=False)
class BoxCertificate(Certificate):
    """bound = approximation + rounding, for every input in the box; `witness` is a point of it."""

    domain: tuple[tuple[float, float], ...]  # type: ignore[assignment]
    witness: tuple[float, ...] = ()  # type: ignore[assignment]

    def rows(self) -> list[tuple[str, str]]:
        rows = super(BoxCertificate, replace(self, least=0.0)).rows()
        if self.least:
            point = ", ".join(number(x, 6) for x in self.witness)
            rows.insert(3, ("attained", f"at least {number(self.least)} near ({point})"))
        cells = sum(part["cells"] for part in self.proof if isinstance(part.get("cells"), int))
        if cells:
            rows.insert(-1, ("proof", f"{cells} product {'cell' if cells == 1 else 'cells'} in ball arithmetic"))
        return rows

    def record(self) -> dict[str, Any]:
        plain = replace(self, domain=(0.0, 0.0), witness=0.0)  # type: ignore[arg-type]
        return {
            **super(BoxCertificate, plain).record(),
            "domain": [[lo.hex(), hi.hex()] for lo, hi in self.domain],
            "witness": [x.hex() for x in self.witness],
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> BoxCertificate:
        read = float.fromhex
        plain = super().from_record({**record, "domain": ["0x0p+0", "0x0p+0"], "witness": "0x0p+0"})
        box = tuple((read(lo), read(hi)) for lo, hi in record["domain"])
        found: Any = replace(plain, domain=box, witness=tuple(map(read, record["witness"])))  # type: ignore[arg-type]
        return found


def box_text(names: Sequence[str], box: Sequence[tuple[float, float]]) -> str:
    """x in [-1, 1], y in [0, 2]."""
    return ", ".join(f"{name} in [{number(lo, 6)}, {number(hi, 6)}]" for name, (lo, hi) in zip(names, box, strict=True))


def certify_box(
    approximation: float,
    rounding: float,
    statement: str,
    box: Sequence[tuple[float, float]],
    dtype: str,
    weights: str,
    least: float = 0.0,
    witness: Sequence[float] = (),
    cells: int = 0,
) -> BoxCertificate:
    """The certificate of a proof over a box, with room for another prover's rounding."""
    proof = ({"method": "tensor", "cells": cells},) if cells else ()
    return BoxCertificate(
        approximation=approximation * SLACK,
        rounding=rounding * SLACK,
        kind="proved",
        statement=statement,
        domain=tuple((float(lo), float(hi)) for lo, hi in box),
        dtype=dtype,
        weights=weights,
        least=least,
        witness=tuple(witness),
        proof=proof,
    )
