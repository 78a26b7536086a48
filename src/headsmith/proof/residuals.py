"""The residuals w . x_i - y_i that a learning rule f(w . x_i - y_i) x_i is a function of.

Their ranges are named sets like any other, but the size of a residual is a hypothesis about three inputs together:
it is checked sample by sample, exactly. What floating point makes of w . x - y slips by `Ranges.residuals`; a table
that reads it errs by its own error and by that slip times the slope of f.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb
from torch import Tensor

from headsmith.functions import Expression
from headsmith.proof.certificate import Bound
from headsmith.proof.composition import Error, propagate, prove_part
from headsmith.proof.domain import Domain, Finite, read_interval
from headsmith.proof.rounding import INFLATE, Format, gamma
from headsmith.proof.statement import Head, Part
from headsmith.records.shown import exactly
from headsmith.refusal import Refusal


@dataclass(frozen=True)
class Ranges:
    """The largest sizes of the entries of x (and directions), y and w, and of the residuals w . x_i - y_i."""

    x: float
    y: float
    w: float
    residual: float

    @classmethod
    def of(cls, domain: Domain) -> Ranges:
        """Of a domain in this order; labels become signs of x, and nothing is subtracted."""
        x, y, w, z = domain.names
        return cls(
            domain.size(x),
            0.0 if isinstance(domain.sets[y], Finite) else domain.size(y),
            domain.size(w),
            domain.size(z),
        )

    def products(self, features: int) -> float:
        """Of all terms of w . x - y, the absolute values added."""
        return features * self.w * self.x + self.y

    def residuals(self, features: int, fmt: Format, spare: int = 0) -> Error:
        """The computed w . x - y: a product and up to `features` additions a term, and `spare` roundings more."""
        slip = gamma(features + 1 + spare, fmt.unit) * self.products(features) + (features + 1) * fmt.tiny
        return Error(0.0, slip * INFLATE, (-self.residual, self.residual))


def read_ranges(given: Any, names: Sequence[str], dtype: str, title: str) -> Domain:
    """domain=5.0 or (-5, 5) bounds residuals and entries alike; a mapping bounds each by name; the residual comes last.

    >>> print(read_ranges({"residual": 5.0, "w": 1.0}, ("x", "w", "w.x"), "float64", "a rule"))
    x in [-5, 5], w in [-1, 1], w.x in [-5, 5]
    """
    if given is None:
        raise Refusal(f"{title} needs a domain, such as domain=5.0: the size of residuals and entries")
    asked = dict(given) if isinstance(given, Mapping) else {"residual": given}
    most = asked.pop("residual", asked.pop(names[-1], None))
    sizes = {name: _half(asked.pop(name, most)) for name in names}
    if asked or None in sizes.values():
        raise Refusal(
            "the domain of a rule is a positive number that bounds residuals and entries, or a mapping such as "
            f"{{'residual': 5.0, 'x': 3.0, 'w': 1.0, 'y': 5.0}}, not {given!r}"
        )
    return Domain({name: read_interval((-size, size), dtype) for name, size in sizes.items() if size})


def _half(given: Any) -> float | None:
    """r of r, or of (-r, r); None for what is no size."""
    try:
        low, high = given if isinstance(given, list | tuple) else (-given, given)
        return float(high) if low == -high and 0 < high < math.inf else None
    except (TypeError, ValueError):
        return None


def check_residuals(x: Tensor, y: Tensor, w: Tensor, limit: float) -> None:
    """|w . x_i - y_i| <= limit, decided exactly where rounding could decide it; or the sample that is beyond."""
    x, y, w = (part.detach().double().cpu() for part in (x, y, w))
    terms = x * w
    size = (terms.sum(-1) - y).abs()
    slip = 1.01 * gamma(x.shape[-1] + 1, 2.0**-53) * (terms.abs().sum(-1) + y.abs()) + 1e-300
    doubtful = (size + slip > limit).nonzero().tolist()
    x, w, y = x.expand(*size.shape, -1), w.expand(*size.shape, -1), y.expand(size.shape)
    for place in sorted((tuple(p) for p in doubtful), key=lambda p: -float(size[p])):
        products = (Fraction(a) * Fraction(b) for a, b in zip(x[place].tolist(), w[place].tolist(), strict=True))
        if abs(sum(products, -Fraction(float(y[place])))) > Fraction(limit):
            raise Refusal(
                f"sample {place[-1]} has a residual of size {float(size[place]):.6g}, beyond the domain "
                f"{exactly(limit)}: compile with a larger domain"
            )


def residual(x: Sequence[float], y: float, w: Sequence[Any]) -> Any:
    """w . x - y in balls."""
    return sum((arb(a) * b for a, b in zip(w, x, strict=True)), -arb(y))


def prove_table(f: Expression, heads: Sequence[Head], z: Error, dtype: str) -> Error:
    """|sum of heads(computed z) - f(exact z)|, and where f(z) lies."""
    part = Part("z", "f", f, z.widened(), tuple(heads))
    return propagate([prove_part(part, dtype, z)], z, dtype)["f"]


def largest(table: Error) -> float:
    """The largest |value| that a table computes."""
    return (max(map(abs, table.reach)) + table.total) * INFLATE


def multiplied(table: Error, size: float, fmt: Format) -> Bound:
    """(f + error) v for |v| <= size: the error times |v|, and one rounding of the product."""
    product = fmt.unit * largest(table) * size + fmt.tiny
    return Bound(table.approximation * size * INFLATE, (table.rounding * size + product) * INFLATE)
