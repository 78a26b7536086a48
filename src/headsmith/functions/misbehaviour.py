"""Where a formula is no continuous function on its domain, or none that few keys follow: said by name, before a search.

Jumps, poles and places without a value, for one variable; jumps, kinks inside the box and vertical edges for several.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headsmith.functions.balls import Unresolved
from headsmith.functions.expression import JUMPS, Expression
from headsmith.functions.several import evaluator
from headsmith.records.shown import exactly, interval, number
from headsmith.refusal import Refusal

Interval = tuple[float, float]
Box = tuple[Interval, ...]

KINKS = ("abs", "relu", "min", "max", "clip")


def refuse_misbehaviour(f: Expression, domain: Interval) -> None:
    """Jumps, poles and places without a value, by name."""
    lo, hi = domain
    try:
        places = f.places(lo, hi)
    except Unresolved as reason:
        raise Refusal(f"{f} could not be understood on {interval(domain)}: {reason}") from None
    if places.undefined:
        a, b = places.undefined[0]
        raise Refusal(f"{f} has no value on {interval((a, b))}: choose a domain that leaves it out")
    if places.poles:
        raise Refusal(
            f"{f} has a pole at {number(places.poles[0], 6)}, inside {interval(domain)}: "
            "choose a domain that leaves it out"
        )
    if places.jumps:
        at, size = max(places.jumps, key=lambda jump: abs(jump[1]))
        raise Refusal(
            f"{f} jumps by {number(abs(size))} at {number(at, 6)}: no continuous head comes within "
            f"{number(abs(size) / 2)} there; compile the pieces on either side of it"
        )


def refuse_overflow(f: Expression, domain: Interval, dtype: str) -> None:
    """Values that the dtype cannot hold, with room for the sums that make them."""
    largest, most = float(np.nanmax(np.abs(f(np.linspace(*domain, 257))))), float(np.finfo(dtype).max) / 1024
    if not largest < most:
        raise Refusal(
            f"{f} reaches {number(largest)} on {interval(domain)}, beyond the range of {dtype}: choose a smaller domain"
        )


def defined_ends(f: Expression, ends: Interval, dtype: str) -> tuple[Interval, str]:
    """The interval with an end moved to the next number where f has a value, and a sentence that says so.

    float64(0.3) is less than 3/10, so sqrt(x - 0.3) has no value at the end of [0.3, 1] that floating point knows.
    """
    found, notes = list(ends), []
    kind = np.dtype(dtype).type
    for i, other in ((0, 1), (1, 0)):
        inner = float(np.nextafter(kind(ends[i]), kind(ends[other])))
        if not _has_value(f, ends[i]) and _has_value(f, inner) and not _has_pole(f, ends, ends[i]):
            found[i] = inner
            notes.append(f"{f} has no value at {exactly(ends[i])}: the domain ends at {exactly(inner)}")
    return (found[0], found[1]), "; ".join(notes)


def _has_value(f: Expression, x: float) -> bool:
    try:
        return bool((f.at(x) if f.variables else f.at()).is_finite())
    except Unresolved:
        return False


def _has_pole(f: Expression, ends: Interval, x: float) -> bool:
    try:
        return any(abs(pole - x) <= 1e-9 * max(abs(x), ends[1] - ends[0]) for pole in f.places(*ends).poles)
    except Unresolved:
        return True


PIECES = "compile the pieces on either side, or a torch nn.Sequential of Linear and ReLU where it is one"


def refuse_edges(
    expressions: Sequence[Expression], names: Sequence[str], box: Box, title: str, instead: str = PIECES
) -> None:
    """Jumps have no continuous approximation, kinks across a box and vertical edges no small grid: all are named."""
    nodes = {node for f in expressions for node in f.order if node.variables}
    for node in nodes:
        if node.op in JUMPS:
            raise Refusal(
                f"{title} jumps where {node} does: no continuous head comes within half the jump; compile the pieces"
            )
    for f in expressions:
        _refuse_vertical(f, names, box, title)
    for node in nodes:
        if node.op in KINKS and _bends(node, names, box):
            raise Refusal(
                f"{title} has the kink of {node} inside the box: a grid of smooth weights follows "
                f"it only to first order; {instead}"
            )


def _bends(node: Expression, names: Sequence[str], box: Box) -> bool:
    """Whether what a kinked function reads crosses a kink: 0, or what min, max and clip compare it with."""
    points = np.meshgrid(*(np.linspace(lo, hi, 9) for lo, hi in box), indexing="ij")
    read, *against = (evaluator([child], names)(*points) for child in node.children)
    gaps = [read - other for other in against] or [read]
    return any(gap.min() < 0 < gap.max() for gap in gaps)


def _refuse_vertical(f: Expression, names: Sequence[str], box: Box, title: str) -> None:
    """Ends of a variable where f has no value, or leaves it infinitely steep, as sqrt(x) does at 0."""
    middle = [(lo + hi) / 2 for lo, hi in box]
    for k, ends in enumerate(box):
        for end, other in (ends, ends[::-1]):
            steps = (other - end) * np.array([0.0, 2.0**-30, 2.0**-15])
            points = [end + steps if i == k else np.full(3, m) for i, m in enumerate(middle)]
            at, near, far = evaluator([f], names)(*points)[0]
            if not np.isfinite(at):
                what = "has no value"
            elif abs(near - at) > 2.0**-10 * abs(far - at) > 0:  # smooth functions give 2^-15
                what = "is infinitely steep"
            else:
                continue
            raise Refusal(
                f"{title} {what} at {names[k]} = {exactly(end)}, an end of the box: a grid of smooth weights does not "
                "follow it; choose a box that leaves it out"
            )
