"""Heads that attend to themselves or to a null token.

A token that carries z sees two keys: itself, with score s(z) and value v(z), and a null token of zeros. It returns

    v(z) sigmoid(s(z)):    SiLU exactly (s = v = z), and with s = beta z the ReLU within 0.2785 / beta,

at any size of z, with two keys. So every continuous piecewise linear function is a line plus one gate for each kink,

    f(z) = c_0 + c_1 z + sum_k J_k relu(+-(z - k)),

where the sign says to which side of a chosen flat piece the kink lies. (Universal Approximation with Softmax
Attention, Thm I.2, last layer, repaired; ReLU, hard tanh and clipped ReLU of Appendix H.)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from headsmith.functions import Expression, Unresolved, precision
from headsmith.proof.statement import Head

RELU_GAP = 0.2784645427610738  # max of t sigmoid(-t): Lambert's W(1/e)


def line(slope: float, intercept: float = 0.0) -> Head:
    """slope z + intercept: attend to yourself and to nothing else. Exact.

    >>> import numpy as np
    >>> float(line(3.0, 1.0)(np.array(2.0)))
    7.0
    """
    zero = np.zeros(1)
    return Head(zero, zero, np.array([intercept]), np.array([slope]))


def gate(score: tuple[float, float], value: tuple[float, float]) -> Head:
    """(v_1 z + v_0) sigmoid(s_1 z + s_0), for score = (s_1, s_0) and value = (v_1, v_0). Exact.

    >>> import numpy as np
    >>> silu = gate((1.0, 0.0), (1.0, 0.0))
    >>> float(silu(np.array(0.0)))
    0.0
    """
    return Head(
        np.array([score[0], 0.0]), np.array([score[1], 0.0]), np.array([value[1], 0.0]), np.array([value[0], 0.0])
    )


@dataclass(frozen=True)
class Hinges:
    """c_0 + c_1 z + sum_k jump_k relu(side_k (z - place_k))."""

    intercept: float
    slope: float
    hinges: tuple[tuple[float, float, float], ...]  # place, side, jump

    def heads(self, eps: float) -> tuple[Head, ...]:
        """A line and gates, each gate within eps of its hinge."""
        found = [line(self.slope)] if self.slope else []
        for place, side, jump in self.hinges:
            sharp = RELU_GAP * abs(jump) / eps * side
            found.append(gate((sharp, -sharp * place), (jump * side, -jump * side * place)))
        return tuple(found)


def hinges(target: Expression, lo: float, hi: float, kinks: tuple[float, ...]) -> Hinges | None:
    """The piecewise linear function that `target` is on [lo, hi], or None if some piece of it is curved."""
    borders = [lo, *(k for k in kinks if lo < k < hi), hi]
    lines = [_affine_piece(target, a, b) for a, b in pairwise(borders)]
    if any(found is None for found in lines):
        return None
    pieces = [found for found in lines if found is not None]
    base = next((i for i, (slope, _) in enumerate(pieces) if slope == 0), 0)
    found: list[tuple[float, float, float]] = []
    for i, place in enumerate(borders[1:-1]):
        jump = pieces[i + 1][0] - pieces[i][0]
        if jump:
            found.append((place, 1.0 if i >= base else -1.0, jump))
    return Hinges(pieces[base][1], pieces[base][0], tuple(found))


def without_line(bent: Hinges) -> Hinges | None:
    """The same function with its line folded into two gates at the first kink: more keys, nothing large to cancel."""
    if not bent.slope or not bent.hinges:
        return None
    (place, side, jump), *rest = bent.hinges
    right, left = (bent.slope + jump, -bent.slope) if side > 0 else (bent.slope, jump - bent.slope)
    level = bent.intercept + bent.slope * place
    return Hinges(level, 0.0, ((place, 1.0, right), (place, -1.0, left), *rest))


def _affine_piece(target: Expression, a: float, b: float) -> tuple[float, float] | None:
    """(slope, intercept) on [a, b] if the Taylor series at its middle stops after two terms, and samples agree."""
    centre, radius = a + (b - a) / 2, (b - a) / 8
    try:
        jets = target.jets(centre, radius, 6)
    except Unresolved:
        return None
    if len(jets) != 1 or any(float(abs(c).upper()) > 1e-25 for c in jets[0].coefficients[2:]):
        return None
    level, tilt = jets[0].coefficients[:2]
    with precision(128):
        slope = tilt / radius
        found = float(slope.mid()), float((level - slope * centre).mid())
    z = np.linspace(a, b, 33)  # x^64 has no terms of low degree at 0, and is no line
    off = np.abs(target(z) - (found[0] * z + found[1])).max()
    return found if off <= 1e-12 * (abs(found[0]) * (abs(centre) + b - a) + abs(found[1])) else None
