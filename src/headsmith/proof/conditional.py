"""A bound that rests on the user's word: samples of an opaque function, and a constant for what lies between them.

On a cell the head is a polynomial P up to a proved remainder rho. Between samples z_i a distance s apart,

    |phi - f| <= max|phi(z_i) - f(z_i)| + (sup|P'| + L) s/2 + 2 rho                  if |f'| <= L,
    |phi - f| <= max|phi(z_i) - f(z_i)| + (sup|P''| + L2) s^2/8 + 2 rho              if |f''| <= L2.

The constants are checked against the samples and refused when these contradict them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from flint import arb
from torch import Tensor

from headsmith.functions import precision
from headsmith.proof.approximation import Unprovable, cell
from headsmith.proof.cells import ORDER, head_series, up
from headsmith.proof.rounding import FORMATS, prove_rounding
from headsmith.proof.statement import Part
from headsmith.records.shown import number, upper
from headsmith.refusal import Refusal

SAMPLES = 10_000_000
CALLABLE_ULPS = 8  # the function is taken to return float64 values within this many ulps

Function = Callable[[np.ndarray], np.ndarray]


def prove_from_samples(part: Part, f: Function, eps: float, slope: float, curvature: float | None) -> float:
    """sup |part - f| over the domain, given |f'| <= slope and perhaps |f''| <= curvature."""
    cells = [(a, b, *_polynomial(part, a, b)) for a, b in _resolved(part, 2e-3 * eps)]
    rounding = prove_rounding(part, FORMATS["float64"], 1e-3 * eps).bound
    counts = [_count(b - a, p, eps, slope, curvature) for a, b, p, _ in cells]
    if sum(counts) > SAMPLES:
        raise Unprovable(
            f"the constants call for {sum(counts):.1e} samples, more than {SAMPLES:.0e}"
            + (" (derivative_bounds=(L1, L2) would need fewer)" if curvature is None else "")
        )
    worst, steepest, sharpest = 0.0, (0.0, 0.0), (0.0, 0.0)
    for (a, b, p, rest), count in zip(cells, counts, strict=True):
        z = np.linspace(a, b, count + 1)
        values, step = f(z), float(np.diff(z).max())
        steepest = max(steepest, _seen(z, values, step, 1))
        if curvature is not None:
            sharpest = max(sharpest, _seen(z, values, step, 2))
        between = (p[0] + slope) * step / 2 if curvature is None else (p[1] + curvature) * step * step / 8
        noise = CALLABLE_ULPS * 2.0**-52 * float(np.abs(values).max())
        worst = max(worst, float(np.abs(part(z) - values).max()) + between + 2 * rest + noise)
    _contradicted(steepest, sharpest, slope, curvature)
    return (worst + rounding) * (1 + 1e-9)


def _resolved(part: Part, goal: float) -> list[tuple[float, float]]:
    """Cells on which the head is a polynomial up to `goal`."""
    waiting, done = list(pairwise(np.unique(np.linspace(*part.domain, 9)).tolist())), []
    while waiting:
        a, b = waiting.pop()
        if _polynomial(part, a, b)[1] <= goal:
            done.append((a, b))
            continue
        middle = a + (b - a) / 2
        if len(done) > 5000 or not a < middle < b:
            raise Unprovable(f"the head is too sharp to enclose near {middle:g}")
        waiting += [(a, middle), (middle, b)]
    return done


def _polynomial(part: Part, a: float, b: float) -> tuple[tuple[float, float], float]:
    """(sup|P'|, sup|P''|) on a cell and the remainder."""
    c, h = cell(a, b)
    with precision(128, ORDER + 2):
        first, second, rest = arb(0), arb(0), arb(0)
        for head in part.heads:
            q, remainder = head_series(head, c, h)
            first += sum((k * abs(x) for k, x in enumerate(q)), arb(0)) / h
            second += sum((k * (k - 1) * abs(x) for k, x in enumerate(q)), arb(0)) / h**2
            rest += remainder
        return (up(first), up(second)), up(rest)


def _count(width: float, p: tuple[float, float], eps: float, slope: float, curvature: float | None) -> int:
    if curvature is None:
        return math.ceil(min(width * (p[0] + slope) / (0.08 * eps), 1e12)) + 1
    return math.ceil(min(width * math.sqrt((p[1] + curvature) / (0.32 * eps)), 1e12)) + 2


def _seen(z: np.ndarray, values: np.ndarray, step: float, order: int) -> tuple[float, float]:
    """(the least |f'| or |f''| that would explain these samples, where)."""
    differences = np.abs(np.diff(values, order))
    k = int(differences.argmax())
    noise = (
        16
        * 2.0**-52
        * 4 ** (order - 1)
        * (float(np.abs(values).max()) + float(differences[k]) / step * float(np.abs(z).max()))
    )
    return max(0.0, float(differences[k]) - noise) / step**order, float(z[k])


def _contradicted(
    steepest: tuple[float, float], sharpest: tuple[float, float], slope: float, curvature: float | None
) -> None:
    """Refuse constants that the samples disprove, naming what all of them allow."""
    if steepest[0] > slope:
        raise Refusal(
            f"the function rises with slope {number(steepest[0], 6)} near {number(steepest[1], 6)}, so {slope:g} is no "
            f"Lipschitz constant; give at least {upper(steepest[0], 3)}"
        )
    if curvature is not None and sharpest[0] > curvature:
        raise Refusal(
            f"the function bends with f'' = {number(sharpest[0], 6)} near {number(sharpest[1], 6)}, "
            f"more than {curvature:g}; give at least {upper(sharpest[0], 3)}"
        )


def asked_twice(function: Callable[[Tensor], Any], z: np.ndarray, name: str) -> np.ndarray:
    """The values of a function of numbers, asked twice: the second time backwards and in two pieces.

    >>> asked_twice(torch.square, np.array([1.0, 2.0]), "square")
    array([1., 4.])
    """
    first, pieces = _asked(function, z, name), np.split(z[::-1], [len(z) // 3])
    again = np.concatenate([_asked(function, piece, name) for piece in pieces])[::-1]
    if not (np.abs(again - first) <= 2 * CALLABLE_ULPS * 2.0**-52 * np.abs(first).max(initial=0.0)).all():
        raise Refusal(
            f"{name} answers differently when it is asked twice: it is random, keeps a state, or mixes the numbers of "
            "one tensor"
        )
    return first


def _asked(function: Callable[[Tensor], Any], z: np.ndarray, name: str) -> np.ndarray:
    """Finite float64 values, as many as were asked for, of a function that leaves its input as it is."""
    x = torch.from_numpy(np.array(z, dtype=np.float64))
    try:
        with torch.no_grad():
            y = function(x)
    except Exception as error:
        said = " ".join(str(error).split())
        raise Refusal(f"{name} fails on a tensor of float64 ({type(error).__name__}: {said})") from None
    if not isinstance(y, Tensor) or y.shape != x.shape or y.dtype != x.dtype:
        raise Refusal(f"{name} must map a tensor to a tensor of the same shape, in float64")
    if not np.array_equal(x.numpy(), z):
        raise Refusal(f"{name} changes the tensor that it is given: let it return a new one")
    values = y.detach().cpu().numpy().copy()
    if not np.isfinite(values).all():
        raise Refusal(f"{name} is not finite at {float(z[~np.isfinite(values)][0]):g}: choose another domain")
    return values
