"""Exact numbers: one spelling per decimal, and rational arithmetic that stops before it grows too large."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import cast

from headsmith.refusal import Refusal

OUT_OF_REACH = "beyond 1e300 or below 1e-300 in size: rescale the formula"
EXACT_BITS = 4096  # a constant is kept as a fraction up to this size


def canonical(text: str) -> str:
    """The one spelling of a decimal: plain up to 21 digits, scientific beyond."""
    if len(text) > 1200:
        raise Refusal("a number has more than 1200 characters: write fewer digits")
    try:
        sign, digits, power = Decimal(text).as_tuple()
    except InvalidOperation:  # an exponent of twenty digits
        raise Refusal(f"the number {text[:40]} is {OUT_OF_REACH}") from None
    kept = "".join(map(str, digits)).strip("0")
    if not kept:
        return "0"
    whole = "".join(map(str, digits)).lstrip("0")
    power = cast(int, power) + len(whole) - len(kept)
    size = len(kept) + power  # the value is 0.kept * 10^size
    if abs(size) > 300:
        raise Refusal(f"the number {text[:40]} is {OUT_OF_REACH}")
    minus = "-" if sign else ""
    if power >= 0 and size <= 21:
        return minus + kept + "0" * power
    if power < 0 and size > -6:
        return minus + (kept[:size] or "0" if size > 0 else "0") + "." + "0" * max(0, -size) + kept[max(0, size) :]
    return f"{minus}{kept[0]}{'.' + kept[1:] if kept[1:] else ''}e{size - 1}"


def negated(text: str) -> str:
    """The spelling of the opposite number."""
    return text[1:] if text.startswith("-") else "-" + text


def rational(op: str, values: Sequence[Fraction | None]) -> Fraction | None:
    """The exact rational value of an operation on rationals, while it stays small."""
    if not values or None in values:
        return None
    a, b = cast(Fraction, values[0]), cast(Fraction, values[-1])
    if op == "^":
        size = max(a.numerator.bit_length(), a.denominator.bit_length())
        if b.denominator > 1 or (a == 0 and b <= 0) or size * abs(b) > EXACT_BITS:
            return None
        return a ** int(b)
    found = {
        "neg": lambda: -a,
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "/": lambda: a / b,
    }
    value = found[op]() if op in found else None
    if value is not None and max(value.numerator.bit_length(), value.denominator.bit_length()) > EXACT_BITS:
        return None
    return value
