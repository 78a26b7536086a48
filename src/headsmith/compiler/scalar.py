"""From a function of one variable to heads whose certified error meets eps.

The order is: exact (terms that are heads already) -> gate (piecewise linear) -> table (keys searched, values solved;
grouped at kinks) -> gates for the kinks and a table for the rest. Whatever is found is proved on the numbers that will
be stored, and the search goes on, with a tighter aim, until the *proved* total meets eps. Nothing is promised before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from headsmith.constructions.design import Short
from headsmith.constructions.exact import ExactTerms, exact_terms
from headsmith.constructions.gate import Hinges, hinges, without_line
from headsmith.functions import Expression, Places, Unresolved
from headsmith.proof.approximation import Unprovable
from headsmith.proof.certificate import SLACK
from headsmith.proof.composition import Error, Proved, exact, propagate, prove_part
from headsmith.proof.statement import Head, Part
from headsmith.search.question import Question
from headsmith.search.search import search
from headsmith.search.table import Unreached

Interval = tuple[float, float]


@dataclass(frozen=True)
class ScalarTask:
    """output += target(input) within eps, for input in domain, in this dtype."""

    target: Expression
    domain: Interval
    eps: float
    dtype: str
    input: str = "x"
    output: str = "out"
    start: Error | None = None
    may_bias: bool = True
    effort: float = 1.0

    @property
    def places(self) -> Places:
        return self.target.note(("places", self.domain), lambda: self.target.places(*self.domain))

    def prove(self, heads: Sequence[Head], bias: float) -> Proved:
        """The proof for these heads, cast to the dtype they will be stored in."""
        if bias and not self.may_bias:
            heads, bias = [*heads, Head.table([0.0], [0.0], [bias])], 0.0
        cast = tuple(head.cast(self.dtype) for head in heads)
        bias = float(np.dtype(self.dtype).type(bias))
        part = Part(self.input, self.output, self.target, self.domain, cast, bias)
        try:
            return prove_part(part, self.dtype, self.start or exact(self.domain))
        except (Unprovable, Unresolved) as reason:
            raise Short(str(reason)) from None


def total(proof: Proved, dtype: str) -> float:
    """The bound that a certificate of this part alone would state, for an exact input."""
    error = propagate([proof], exact(proof.part.domain), dtype)[proof.part.output]
    return error.total * SLACK


def solve(task: ScalarTask, method: str = "auto") -> Proved:
    """Heads for a function of one variable, proved within eps; raises Short."""
    if method == "table":
        return _table(task, [], 0.0)
    terms = exact_terms(task.target)
    if not terms.rest:
        return _exact(task, terms)
    bent = hinges(task.target, *task.domain, task.places.kinks)
    if bent is not None:
        try:
            return _gates(task, bent)
        except Short:
            other = without_line(bent)
            if other is None:
                raise
            return _gates(task, other)
    bias, heads = (terms.bias, terms.heads) if terms.heads else (0.0, [])
    try:
        return _table(task, heads, bias)
    except Short:
        if not task.places.kinks:
            raise
        return _peeled(task)


def _exact(task: ScalarTask, terms: ExactTerms) -> Proved:
    heads = terms.all_heads()
    bias = terms.bias
    if not heads:
        heads, bias = (Head.table([0.0], [0.0], [terms.bias]),), 0.0
    return _within(task, task.prove(heads, bias))


def _gates(task: ScalarTask, bent: Hinges) -> Proved:
    """Sharpen all gates together until the proof agrees; rounding sets how sharp is too sharp."""
    aim = 0.97 * task.eps
    for _ in range(6):
        proof = task.prove(bent.heads(aim) or (Head.table([0.0], [0.0], [0.0]),), bent.intercept)
        spare = task.eps - proof.rounding.bound * SLACK
        if total(proof, task.dtype) <= task.eps or not spare > 0.05 * task.eps:
            break
        aim *= min(0.9, 0.97 * spare / (proof.approximation.bound * SLACK))
    return _within(task, proof)


def _table(task: ScalarTask, heads: Sequence[Head], bias: float) -> Proved:
    """One searched table beside the exact heads; aim lower while the proof asks for it, cap values if rounding does."""
    scale = max(1e-300, float(np.abs(task.target(np.linspace(*task.domain, 257))).max()))
    unit = float(np.finfo(task.dtype).eps) / 2
    flat = _flat(task, heads, bias)
    if flat is not None:
        return flat
    if task.eps < unit * scale:
        raise Short(f"one rounding of f in {task.dtype} alone costs {unit * scale:.1e}", 8 * unit * scale)
    aim, cap, best, part = task.eps, None, math.inf, ""
    for _ in range(5):
        try:
            rest = _remainder(task.target, heads, bias)
            question = Question(rest, *task.domain, aim, task.places.kinks, cap, task.dtype)
            found = search(question, task.effort)
        except Unreached as failure:
            reason = f"the search for keys fails: {failure.reason}"
            if part:  # it did find keys, but for more than the proof could confirm
                reason = f"the proof gives {best:.1e} where the search promised less"
            raise Short(reason, min(1.2 * failure.near, best)) from None
        proof = task.prove([*heads, Head.table(found.slopes, found.offsets, found.values)], bias)
        bound = total(proof, task.dtype)
        if bound <= task.eps:
            return proof
        best = min(best, bound)
        part = "rounding" if proof.rounding.bound > proof.approximation.bound else "approximation"
        spare = task.eps - proof.rounding.bound * SLACK
        if spare > 0.2 * task.eps:
            aim *= min(0.9, 0.95 * spare / (proof.approximation.bound * SLACK))
        else:
            cap = (float(np.abs(found.values).max()) / scale if cap is None else cap) / 3
            if cap < 1.2:
                break
    raise Short(f"the proof gives {best:.1e} in {task.dtype}, most of it {part}", best)


def _flat(task: ScalarTask, heads: Sequence[Head], bias: float) -> Proved | None:
    """One key, the middle of the range, where that is near enough."""
    values = _remainder(task.target, heads, bias)(np.linspace(*task.domain, 4097))
    if not np.ptp(values) / 2 < 0.999 * task.eps:
        return None
    try:
        proof = task.prove([*heads, Head.table([0.0], [0.0], [(values.max() + values.min()) / 2])], bias)
    except Short:
        return None
    return proof if total(proof, task.dtype) <= task.eps else None


def _peeled(task: ScalarTask) -> Proved:
    """f = sum of gates at its kinks + a rest whose slope is continuous, searched as a table."""
    jumps = []
    for k in task.places.kinks:
        jump = _slope(task.target, k, 1) - _slope(task.target, k, -1)
        if abs(jump) > 1e-9:
            jumps.append((k, 1.0, jump))
    bent = Hinges(0.0, 0.0, tuple(jumps))
    gates, hinge = bent.heads(0.3 * task.eps), bent.heads(1e-9 * task.eps)
    aim = 0.6 * task.eps
    best = math.inf
    for _ in range(3):
        try:
            question = Question(_remainder(task.target, hinge, 0.0), *task.domain, aim, dtype=task.dtype)
            found = search(question, task.effort)
        except Unreached as failure:
            raise Short(f"the search for keys fails: {failure.reason}", best) from None
        proof = task.prove([*gates, Head.table(found.slopes, found.offsets, found.values)], 0.0)
        if total(proof, task.dtype) <= task.eps:
            return proof
        best = min(best, total(proof, task.dtype))
        aim *= 0.7
    raise Short(f"the proof gives {best:.1e}", best)


def _within(task: ScalarTask, proof: Proved) -> Proved:
    bound = total(proof, task.dtype)
    if not bound <= task.eps:
        cost = f"costs {proof.rounding.bound:.1e}" if math.isfinite(bound) else "has no bound: the scores are too large"
        raise Short(f"rounding in {task.dtype} alone {cost}", bound)
    return proof


def _remainder(target: Expression, heads: Sequence[Head], bias: float) -> Callable[[np.ndarray], np.ndarray]:
    def f(z: np.ndarray) -> np.ndarray:
        return target(z) - sum((head(z) for head in heads), np.float64(bias))

    return f


def _slope(target: Expression, place: float, side: int) -> float:
    """One-sided derivative at a kink, from the Taylor series a little beside it."""
    for scale in (2.0**-20, 2.0**-14, 2.0**-26):
        radius = scale * max(1.0, abs(place))
        centre = place + side * 2 * radius
        try:
            jets = target.jets(centre, radius, 4)
        except Unresolved:
            continue
        if len(jets) == 1:
            c = [float(x.mid()) for x in jets[0].coefficients]
            y = -2.0 * side
            return (c[1] + 2 * c[2] * y + 3 * c[3] * y * y + 4 * c[4] * y**3) / radius
    raise Short(f"the slope beside the kink at {place:.6g} is not finite")
