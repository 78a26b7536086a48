"""The sums of ReLUs that stand for an activation and its slope in the paper's transformer that trains (Def 4).

    relu, leaky, hard tanh                 r is a few ReLUs; r' has jumps, which no sum comes near (E2): a ramp of
                                           width gap beside each kink, relu(z / gap) - relu(z / gap - 1)
    tanh, sigmoid, silu, softplus, gelu    knots where they are needed (`search.knots`), proved on all of R

A ramp rounds 1 / gap times more than its argument, and a narrower one is met by fewer pre-activations: 2^-20 is rounded
to some 1e-10, 2^-10 in float32 to some 1e-4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from headsmith.constructions.design import Short, many
from headsmith.functions import parse
from headsmith.functions.kinks import Kinked
from headsmith.functions.smooth import FORMULAS, SMOOTH, Smooth
from headsmith.proof.curves import Kinks, Slip, Smoothness
from headsmith.proof.relu_sums import Asymptotes, ReluSum, sup_error
from headsmith.search.knots import bends_needed, relu_sum

RAMP = {"float64": 2.0**-20, "float32": 2.0**-10}
MOST = 2048  # ReLUs of a sum: every one is a head of every unit
Numbers = tuple[float, ...]
End = tuple[float, float]
STRAIGHT = Smooth("identity", (), (), 1.0, 0.0)


@dataclass(frozen=True, eq=False)
class Sums:
    """Of r and of r'."""

    value: ReluSum
    slope: ReluSum


IDENTITY = Sums(ReluSum.of([(1.0, 0.0, 1.0), (-1.0, 0.0, -1.0)]), ReluSum.of([(0.0, 1.0, 1.0)]))


def ramped(name: str, dtype: str) -> Kinked:
    """An activation whose slopes are ramps: z is on one of them where it is within the gap of a kink."""
    return replace(Kinked.of(name, dtype), gap=RAMP[dtype])


def kinked_sums(name: str, dtype: str) -> Sums:
    """Exact, but on the ramps."""
    kinked = ramped(name, dtype)
    steep, floor = 1 / kinked.gap, kinked.floor
    slope = [(steep, 0.0, 1 - floor), (steep, -1.0, floor - 1)]
    if floor:
        slope.append((0.0, 1.0, floor))
    if name == "hard tanh":  # 0 from -1 and 1 outwards
        ends = ((steep, steep, 1.0), (steep, steep - 1, -1.0), (steep, 1 - steep, -1.0), (steep, -steep, 1.0))
        slope = [*ends]
    return Sums(ReluSum.of(kinked.value), ReluSum.of(slope))


@lru_cache(maxsize=64)
def smooth_sums(name: str, near: float, dtype: str) -> Sums:
    """Both within `near`, or a reason why not."""
    found = []
    for formula, left, right in FORMULAS[name]:
        r, ends = parse(formula), Asymptotes(left, right)
        if (needed := bends_needed(r, ends, near)) > MOST:
            raise Short(f"{many(needed, 'ReLU')} a unit stand for {name} within {near:.2g}, more than {MOST}")
        found.append(relu_sum(r, ends, near, dtype))
    return Sums(*found)


def curve_of(name: str, sums: Sums, dtype: str) -> Kinks | Smoothness:
    """What is proved of these very sums."""
    if name not in SMOOTH:
        return Kinks(ramped(name, dtype))
    parts = zip((sums.value, sums.slope), FORMULAS[name], strict=True)
    return Smoothness(Smooth.of(name), *(Slip(_proved(*_numbers(found), *about)) for found, about in parts))


def _numbers(found: ReluSum) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(part.tolist()) for part in (found.slopes, found.offsets, found.coefficients))


@lru_cache(maxsize=64)
def _proved(slopes: Numbers, offsets: Numbers, coefficients: Numbers, formula: str, left: End, right: End) -> float:
    found = ReluSum(*map(np.array, (slopes, offsets, coefficients)))
    return sup_error(found, parse(formula), Asymptotes(left, right))
