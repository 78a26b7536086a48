"""Reading what was asked: domain, tolerance, dtype and method, each refused in one sentence when it makes no sense."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from headsmith.proof.rounding import FORMATS
from headsmith.refusal import Refusal


def read_eps(eps: Any) -> float:
    """A tolerance: positive and finite."""
    try:
        value = float(eps)
    except (TypeError, ValueError):
        raise Refusal(f"eps must be a positive number such as 1e-6, not {eps!r}") from None
    if not (0 < value < math.inf):
        raise Refusal(f"eps must be a positive number such as 1e-6, not {eps!r}")
    return value


def read_dtype(dtype: Any) -> str:
    """'float64' or 'float32', also given as torch or numpy dtypes."""
    name = dtype.__name__ if isinstance(dtype, type) else str(dtype).removeprefix("torch.")
    if name not in FORMATS:
        raise Refusal(f"dtype must be float64 or float32 (what the rounding theorem covers), not {name!r}")
    return name


def read_method(method: Any, known: Sequence[str]) -> str:
    if method not in known:
        raise Refusal(f"no method is called {method!r}; there are {', '.join(known)}")
    return method


def read_domain(domain: Any, dtype: str) -> tuple[float, float]:
    """[lo, hi], widened outwards to numbers of the dtype."""
    try:
        lo, hi = (float(end) for end in domain)
    except (TypeError, ValueError):
        raise Refusal(f"domain must be two numbers lo < hi, such as (-2, 2), not {domain!r}") from None
    if not (math.isfinite(lo) and math.isfinite(hi)):
        raise Refusal(
            f"the domain [{lo}, {hi}] is not finite: a head is certified on a bounded interval, such as [-8, 8]"
        )
    if not lo < hi:
        raise Refusal(f"the domain [{lo:g}, {hi:g}] is empty: give lo < hi")
    kind = np.dtype(dtype).type
    with np.errstate(over="ignore"):
        low, high = kind(lo), kind(hi)
    low = low if float(low) <= lo else np.nextafter(low, kind(-np.inf))
    high = high if float(high) >= hi else np.nextafter(high, kind(np.inf))
    if not (np.isfinite(low) and np.isfinite(high)):
        raise Refusal(f"the domain [{lo:g}, {hi:g}] is beyond the range of {dtype}")
    return float(low), float(high)
