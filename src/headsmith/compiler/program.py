"""Whole programs: heads beside heads, and heads that read what other heads wrote.

A formula whose outermost function is applied to something curved, such as abs(sin(3*x)), is built as two parts: one
writes sin(3*x) into a variable of the residual stream, the next reads it. The tolerance is shared out so that it is
spent where it buys keys: gates and exact heads, whose size does not depend on it, get little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headsmith.compiler.scalar import Interval, ScalarTask, solve
from headsmith.constructions.design import Short
from headsmith.constructions.exact import exact_terms
from headsmith.constructions.gate import hinges
from headsmith.constructions.printed import printed_part
from headsmith.functions import Expression, Unresolved, lipschitz
from headsmith.functions.composition import Step, decomposed, split, variable
from headsmith.proof.certificate import SLACK
from headsmith.proof.composition import Proved, exact, propagate
from headsmith.proof.statement import Part

METHODS = ("auto", "printed", "table", "composition")
CHEAP = 0.05  # share of the tolerance for a part whose size does not depend on it, relative to one whose size does

Parts = tuple[Part, ...]


def forge(target: Expression, domain: Interval, eps: float, dtype: str, method: str = "auto") -> Parts:
    """Parts whose proved error meets eps on the domain; raises Short."""
    task = ScalarTask(target, domain, eps, dtype, input=variable(target))
    if method == "printed":
        return (printed_part(target, domain, eps, dtype, task.input, task.output),)
    if method == "composition":
        return _composed(task)
    if method == "auto" and _wants_composition(task):
        try:
            return _composed(task)
        except Short:
            pass
    try:
        return _finished([solve(task, method)], task)
    except Short as alone:
        if method != "auto" or not any(split(term) for term in target.terms()):
            raise
        try:
            return _composed(task)
        except Short as composed:
            raise min((alone, composed), key=lambda short: short.best) from None


def _wants_composition(task: ScalarTask) -> bool:
    """Kinked, not piecewise linear, and every kinked term is a function of something we can build."""
    if not task.places.kinks or cheap(task.target, task.domain):
        return False
    kinked = [t for t in task.target.terms() if t.places(*task.domain).kinks]
    return all(split(term) or cheap(term, task.domain) for term in kinked)


def cheap(target: Expression, domain: Interval) -> bool:
    """Whether the number of keys does not depend on eps: exact heads and gates."""
    return not exact_terms(target).rest or hinges(target, *domain, target.places(*domain).kinks) is not None


def _composed(task: ScalarTask) -> Parts:
    """Each part gets a share of eps: little where its size does not depend on it, and less the more it is magnified."""
    steps = decomposed(task.target)
    if len(steps) < 2:
        raise Short("no term of the formula is a function of something curved, so there is nothing to compose")
    shares = _shares(steps, task.domain)
    unit = 0.96 * task.eps / sum(share for share, _ in shares)
    effort = max(0.5, 2.0 / (len(steps) + len(steps) % 2))
    proofs: list[Proved] = []
    errors = {task.input: exact(task.domain)}
    free = True  # one part may put its constant into the bias of the output
    for (source, output, f), (share, slope) in zip(steps, shares, strict=True):
        start = errors[source]
        own = replace(task, target=f, eps=unit * share / max(slope, 1e-9), input=source, output=output, effort=effort)
        if source != task.input:
            own = replace(own, domain=start.widened(), start=start)
        proof = solve(replace(own, may_bias=free or output != task.output))
        free = free and not (proof.part.bias and output == task.output)
        errors[output] = propagate([proof], start, task.dtype)[output]
        proofs.append(proof)
    return _finished(proofs, task)


def _shares(steps: Sequence[Step], domain: Interval) -> list[tuple[float, float]]:
    """(share of the tolerance, slope of what reads it) of each part."""
    readers = {source: f for source, _, f in steps[1:]}
    found, reach = [], dict[str, Interval]()
    for source, output, f in steps:
        where = reach.get(source, domain)
        slope = 1.0
        if output in readers and output != "out":
            reach[output] = _reach(f, domain)
            slope = lipschitz(readers[output], *reach[output])
            if not slope < 1e12:
                raise Short(f"{readers[output]} is too steep on the values of {f}")
        found.append((CHEAP if cheap(f, where) else 1.0, slope))
    return found


def _finished(proofs: Sequence[Proved], task: ScalarTask) -> Parts:
    error = propagate(proofs, exact(task.domain), task.dtype)[task.output]
    if not error.total * SLACK <= task.eps:
        raise Short(f"the proof gives {error.total * SLACK:.1e} in {task.dtype}", error.total * SLACK)
    return tuple(proof.part for proof in proofs)


def _reach(inner: Expression, domain: Interval) -> Interval:
    """A quick enclosure of the values of the inner function, with room for its error."""
    lo, hi = domain
    step = (hi - lo) / 64
    try:
        balls = [inner.range(lo + i * step, min(hi, lo + (i + 1) * step)) for i in range(64)]
    except Unresolved as reason:
        raise Short(str(reason)) from None
    low, high = min(float(b.lower()) for b in balls), max(float(b.upper()) for b in balls)
    room = 1e-2 * (high - low) + 1e-12
    return low - room, high + room
