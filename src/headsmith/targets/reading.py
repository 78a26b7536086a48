"""Reading the numbers of a target, each refused in one sentence where it makes no sense."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headsmith.refusal import Refusal


def check_sizes(**sizes: int) -> None:
    """Whole numbers from 1."""
    for name, value in sizes.items():
        if isinstance(value, bool) or not (isinstance(value, int) and value >= 1):
            raise Refusal(f"{name} must be a whole number of at least 1, not {value!r}")


def plain_name(name: str) -> str:
    """The name of a function, if it is an identifier in ASCII: a sentence could be hidden in any other.

    >>> plain_name("erf"), plain_name("x, and proved")
    ('erf', 'f')
    """
    return name if name.isascii() and name.isidentifier() else "f"


def read_numbers(given: Any, name: str, axes: int) -> np.ndarray:
    """Finite float64 numbers with this many axes, copied and read-only."""
    try:
        given = given.detach().cpu().numpy() if hasattr(given, "detach") else given
        if np.iscomplexobj(given):  # a cast would drop the imaginary parts
            raise TypeError
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise Refusal(f"{name} must be an array of real numbers") from None
    if array.ndim != axes or array.size == 0:
        plural = "axis" if axes == 1 else "axes"
        raise Refusal(f"{name} must be a finite array with {axes} {plural}, not of shape {array.shape}")
    if not np.isfinite(array).all():
        raise Refusal(f"{name} holds NaN or infinity: give finite numbers")
    array.flags.writeable = False
    return array


def read_ends(low: Any, high: Any) -> tuple[float, float]:
    """Finite low < high."""
    try:
        ends = float(low), float(high)
    except (TypeError, ValueError):
        ends = math.nan, math.nan
    if not (math.isfinite(ends[0]) and math.isfinite(ends[1]) and ends[0] < ends[1]):
        raise Refusal(f"a range needs finite low < high, not [{low}, {high}]")
    return ends
