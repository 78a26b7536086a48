"""Formulas of one variable: parts that feed parts, side by side for a vector.

    part(z) = bias + sum of heads,   meant to equal f(z);      output = parts of the input, and of what parts wrote

The file says which part is meant to compute what. That is only a hint, and is used only if, put together, the parts
make the formula of the target, as sums of the same terms. With |u_ours - u_true| <= e and f of slope at most L on an
interval that holds both,

    |part(u_ours) - f(u_true)| <= sup |part - f| + L e.

Approximation and rounding obey the same rule and are kept apart. A variable into which several parts write is the sum
of them; it is done when it is first read (`wiring`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from . import formulas
from .formulas import Formula
from .heads import Head, Interval, extent, prove, steepest, up
from .ranges import Range, ranges
from .rounding import INF, Format, Sum, rounding
from .verdict import Budget, need
from .wiring import ODD, Wires, listed

SHARPNESS = (1.5, 1.1, 1.02, 1.001)  # of rounding, relative to what single points already cost
IDENTITY = formulas.read(["var", "x"])


@dataclass(frozen=True)
class Part:
    """One part of the hint, with the heads that the wiring has in its place."""

    source: str
    output: str
    goal: Formula
    bias: float
    heads: tuple[Head, ...]


@dataclass
class State:
    """A variable: how far it can be off, the values it should take, what it is, and the heads that write it."""

    approximation: arb
    rounding: arb
    values: Interval
    meaning: Formula
    done: bool = False


@dataclass
class Found:
    """Errors of one component."""

    approximation: float = 0.0
    rounding: float = 0.0


def finite(text: Any) -> float:
    """A finite number in hexadecimal."""
    need(isinstance(text, str) and len(text) < 64, "a number is malformed")
    value = float.fromhex(text)
    need(math.isfinite(value), "a number is not finite")
    return value


def parts_of(hints: Any, wires: Wires, component: int | None) -> list[Part]:
    """The parts of one component; in a vector, each component has variables of its own."""
    found = []
    for hint in listed(hints):
        source, output = hint["input"], hint["output"]
        need(isinstance(source, str) and isinstance(output, str), ODD)
        if component is not None:
            first = hints[0]["input"]
            source = wires.source if source == first else f"{source}.{component}"
            output = f"{output}.{component}"
        goal, heads = formulas.read(hint["target"]), wires.heads.get((source, output), [])
        need(len(goal.variables) <= 1, "a part has more than one variable")
        found.append(Part(source, output, goal, finite(hint["bias"]), tuple(heads)))
    return found


def covered(programs: Sequence[Sequence[Part]], wires: Wires) -> None:
    """Every head belongs to one part, and every variable begins as the sum of its parts' biases."""
    parts = [part for program in programs for part in program]
    places = [(part.source, part.output) for part in parts]
    need(len(set(places)) == len(places) and set(wires.heads) <= set(places), "some heads are in no part")
    for name, start in wires.bias.items():
        said = sum((Fraction(part.bias) for part in parts if part.output == name), Fraction(0))
        need(said == Fraction(start), f"the variable {name} does not begin as its parts say")


def component(
    parts: Sequence[Part], ends: Interval, goal: Formula, fmt: Format, stated: tuple[float, float], budget: Budget
) -> Found:
    """How far one output can be from its formula."""
    found = Found()
    need(parts, "a component has no parts")
    need(all(part.source != part.output for part in parts), ODD)
    for sharp in SHARPNESS:
        found = propagated(parts, ends, goal, fmt, (stated[0], sharp), budget)
        if found.rounding <= stated[1]:
            break
    return found


def propagated(
    parts: Sequence[Part], ends: Interval, goal: Formula, fmt: Format, aims: tuple[float, float], budget: Budget
) -> Found:
    """Errors from part to part."""
    alone, sharp, found = len(parts) == 1, aims[1], Found()
    floor, most = (aims[0], aims[0]) if alone else (2e-4 * aims[0], INF)
    states = {parts[0].source: State(arb(0), arb(0), ends, IDENTITY)}
    for part in parts:
        need(part.source in states and part.source != part.output, "a part reads what nothing has written")
        source = states[part.source]
        source.done = True
        domain = _widened(source)
        adds = sum(len(p.heads) for p in parts if p.output == part.output) - 1
        adds += any(p.bias for p in parts if p.output == part.output)
        proof = prove(part.heads, part.bias, part.goal, domain, floor, budget, most)
        size = max(map(abs, proof.values)) + proof.bound + abs(part.bias)
        terms = Sum(part.heads, part.bias, max(adds, 0), size)
        slips = rounding(terms, domain, fmt, 0.0, budget, sharp)
        slope = arb(0)
        if source.approximation + source.rounding > 0:
            slope = arb(steepest(part.goal, domain, budget))
        own = State(
            arb(up(proof.bound + slope * source.approximation)),
            arb(up(slips + slope * source.rounding)),
            extent(part.goal, source.values, budget),
            formulas.composed(part.goal, source.meaning),
        )
        _add(states, part.output, own)
    last = states[parts[-1].output]
    said, asked = formulas.summands(last.meaning), formulas.summands(_renamed(goal))
    need(said == asked, "the parts put together are another formula than the target")
    found.approximation, found.rounding = up(last.approximation), up(last.rounding)
    return found


def _renamed(goal: Formula) -> Formula:
    """The formula in the variable x, whatever it is called."""
    need(len(goal.variables) <= 1, "the formula has more than one variable")
    return formulas.composed(goal, IDENTITY)


def _widened(source: State) -> Interval:
    """Where the values of a variable lie, ours and the true ones."""
    if not source.approximation + source.rounding > 0:
        return source.values
    error = source.approximation + source.rounding
    return -up(error - source.values[0]), up(error + source.values[1])


def _add(states: dict[str, State], name: str, own: State) -> None:
    """One more part that writes a variable."""
    before = states.get(name)
    if before is None:
        states[name] = own
        return
    need(not before.done, "a part writes a variable that was read before")
    states[name] = State(
        before.approximation + own.approximation,
        before.rounding + own.rounding,
        _sum(before.values, own.values),
        formulas.added(before.meaning, own.meaning),
    )


def _sum(a: Interval, b: Interval) -> Interval:
    return -up(-(arb(a[0]) + b[0])), up(arb(a[1]) + b[1])


# what is certainly wrong


def value(heads: Sequence[Head], bias: float, z: arb) -> arb:
    """bias + heads at a point, in balls."""
    total = arb(bias)
    for head in heads:
        scores = [k.a * z + k.b for k in head]
        top = max(float(s.mid()) for s in scores)
        weights = [(s - top).exp() for s in scores]
        sums = sum((w * (k.g + k.l * z) for w, k in zip(weights, head, strict=True)), arb(0))
        total += sums / sum(weights, arb(0))
    return total


def program_at(parts: Sequence[Part], x: float) -> arb:
    """The exact value of the output at one input."""
    held = {parts[0].source: arb(x)}
    for part in parts:
        held[part.output] = held.get(part.output, arb(0)) + value(part.heads, part.bias, held[part.source])
    return held[parts[-1].output]


def formula_at(f: Formula, point: dict[str, arb]) -> arb | None:
    """The value of a formula at a point, in balls; None where it has none, or only as a limit."""
    found = ranges(f, {name: Range(x.lower(), x.upper()) for name, x in point.items()})[-1]
    return None if found is None else found.ball
