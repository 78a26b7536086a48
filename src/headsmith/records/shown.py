"""Objects that show themselves: a short table in a terminal, the same table in a notebook.

Numbers get a few significant digits. A *bound* must not shrink when it is shown, so it is rounded up in decimal
(`upper`): the printed digits are themselves a bound.
"""

from __future__ import annotations

import html
import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal


def number(x: float, digits: int = 3) -> str:
    """``x`` with ``digits`` significant digits.

    >>> number(0.0012345), number(123456.0), number(2.5e-9)
    ('0.00123', '1.23e5', '2.5e-9')
    """
    return _decimal(x, digits, ROUND_HALF_EVEN)


def upper(x: float, digits: int = 2) -> str:
    """The least decimal with ``digits`` significant digits that is not below ``x``.

    >>> upper(9.9401e-7), upper(0.25), upper(1.001)
    ('1e-6', '0.25', '1.1')
    """
    return _decimal(x, digits, ROUND_CEILING)


def lower(x: float, digits: int = 3) -> str:
    """The largest decimal with ``digits`` significant digits that is not above ``x``.

    >>> lower(9.9491e-7), lower(0.25), lower(1.009)
    ('9.94e-7', '0.25', '1')
    """
    return _decimal(x, digits, ROUND_FLOOR)


def exactly(x: float) -> str:
    """The shortest decimal that is this float.

    >>> exactly(2.0), exactly(1.0000004), exactly(-1e-7)
    ('2', '1.0000004', '-1e-07')
    """
    return repr(float(x)).removesuffix(".0")


def interval(ends: tuple[float, float]) -> str:
    """[lo, hi], each end exactly.

    >>> interval((-2.0, 0.3))
    '[-2, 0.3]'
    """
    return f"[{exactly(ends[0])}, {exactly(ends[1])}]"


def _decimal(x: float, digits: int, rounding: str) -> str:
    x = float(x)
    if not math.isfinite(x):
        return {math.inf: "∞", -math.inf: "-∞"}.get(x, "nan")
    rounded = Context(prec=digits, rounding=rounding).create_decimal(Decimal(x)).normalize()
    if rounded == 0:
        return "0"
    if -4 <= rounded.adjusted() < 5:
        return f"{rounded:f}"
    mantissa = rounded.scaleb(-rounded.adjusted()).normalize()
    return f"{mantissa:f}e{rounded.adjusted()}"


class Shown:
    """Printed as a title and rows (name, text)."""

    def title(self) -> str:
        """The first line: what this is."""
        return type(self).__name__

    def rows(self) -> list[tuple[str, str]]:
        """(name, text) of each line below the title."""
        return []

    def __str__(self) -> str:
        rows = self.rows()
        width = max((len(name) for name, _ in rows), default=0)
        return "\n".join([self.title(), *(f"  {name:<{width}}  {text}" for name, text in rows)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><td style='text-align:left'>{html.escape(name)}</td>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in self.rows()
        )
        return f"<b>{html.escape(self.title())}</b><table>{body}</table>"
