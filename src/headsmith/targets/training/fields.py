"""What a user may say of a training, read once: an activation, a box, an optimizer."""

from __future__ import annotations

import math
from typing import Any

from headsmith.proof.domain import read_interval
from headsmith.records.shown import exactly
from headsmith.reference.backpropagation import CURVES
from headsmith.reference.optimizers import Optimizer
from headsmith.refusal import Refusal
from headsmith.targets.reading import read_ends

DEFAULTS: dict[str, dict[str, Any]] = {
    "gd": {},
    "momentum": {"beta": 0.9},
    "adam": {"betas": (0.9, 0.999), "root": 1e-4},
}
"""optimizer -> its numbers"""


def read_activation(given: Any) -> str:
    """The name that it has here, however it is spelled: hard_tanh, Hardtanh, LeakyReLU."""
    known = {name.replace(" ", ""): name for name in CURVES} | {"leakyrelu": "leaky"}
    found = known.get(str(given).lower().translate(str.maketrans("", "", " _-")))
    if found is None:
        raise Refusal(f"no activation is called {given!r}; there are {', '.join(CURVES)}")
    return found


def read_number(given: Any, name: str, least: float) -> float:
    """A number from `least` up to but not 1e6."""
    try:
        value = math.nan if isinstance(given, bool) else float(given)
    except (TypeError, ValueError):
        value = math.nan
    if not least <= value < 1e6:
        kind = "positive" if least else "not negative"
        raise Refusal(f"the {name} must be a number below 1e6 and {kind}, not {given!r}")
    return value


def read_box(given: Any) -> tuple[float, float] | None:
    """A number B for [-B, B], or two ends around 0."""
    if given is None:
        return None
    low, high = read_ends(*((-given, given) if isinstance(given, int | float) else given))
    if not low <= 0 <= high:
        raise Refusal(f"the box of a projection must hold 0, where unused features lie, not [{low:g}, {high:g}]")
    return low, high


def read_optimizer(name: Any, **numbers: Any) -> Optimizer:
    """gd, momentum or adam; numbers that are None are the usual ones.

    >>> read_optimizer("momentum", beta=None)
    Optimizer(name='momentum', beta=0.9, betas=(0.0, 0.0), root=0.0)
    """
    if name not in DEFAULTS:
        raise Refusal(f"no optimizer is called {name!r}; there are {', '.join(DEFAULTS)}")
    given = {word: value for word, value in numbers.items() if value is not None}
    for word in given:
        if word not in DEFAULTS[name]:
            owner = next(other for other in DEFAULTS if word in DEFAULTS[other])
            raise Refusal(f"{word} belongs to optimizer={owner!r}, not to {name!r}: leave it out")
    found = DEFAULTS[name] | given
    if "root" in found:
        found["root"] = read_number(found["root"], "root of Adam", math.ulp(0.0))
    if "beta" in found:
        found["beta"] = _share(found["beta"], "beta")
    if "betas" in found:
        if not isinstance(found["betas"], tuple | list) or len(found["betas"]) != 2:
            raise Refusal(f"betas must be two numbers such as (0.9, 0.999), not {found['betas']!r}")
        found["betas"] = tuple(_share(b, f"betas[{k}]") for k, b in enumerate(found["betas"]))
    return Optimizer(name, **found)


def read_spread(given: Any, dtype: str) -> tuple[float, float]:
    """[0, v] for Adam's v^; ends that are given must start at 0."""
    low, high = read_interval((0.0, given) if isinstance(given, int | float) else given, dtype)
    if low != 0:
        raise Refusal(f"v^ is a mean of squares: its range starts at 0, not at {exactly(low)}")
    return low, high


def _share(given: Any, name: str) -> float:
    if isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given < 1:
        return float(given)
    raise Refusal(f"{name} must be a number from 0 up to but not 1, not {given!r}")
