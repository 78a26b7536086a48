"""Whole programs: heads beside heads, and heads that read what other heads wrote.

A formula whose outermost function is applied to something curved, such as abs(sin(3*x)), is built as two parts: one
writes sin(3*x) into a variable of the residual stream, the next reads it. The tolerance is shared out so that it is
spent where it buys keys: gates and exact heads, whose size does not depend on it, get little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from headsmith.compiler.scalar import Domain, Short, Task, solve
from headsmith.functions import Expression, Unresolved, lipschitz
from headsmith.heads.exact import exact_terms
from headsmith.heads.gate import hinges
from headsmith.heads.printed import printed_part
from headsmith.proof.approximation import Unprovable
from headsmith.proof.certificate import SLACK
from headsmith.proof.composition import Error, Proved, exact, propagate, prove_part
from headsmith.proof.statement import Part

METHODS = ("auto", "printed", "table", "composition")
CHEAP = 0.05  # share of the tolerance for a part whose size does not depend on it, relative to one whose size does


@dataclass(frozen=True)
class Program:
    """Proved parts in order, the error of the output, and how they were found."""

    proofs: tuple[Proved, ...]
    error: Error
    method: str

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(proof.part for proof in self.proofs)

    @property
    def keys(self) -> int:
        return sum(part.keys for part in self.parts)

    @property
    def heads(self) -> int:
        return sum(len(part.heads) for part in self.parts)

    @property
    def bound(self) -> float:
        return self.error.total * SLACK


def forge(target: Expression, domain: Domain, eps: float, dtype: str, method: str = "auto") -> Program:
    """Parts whose proved error meets eps on the domain; raises Short."""
    task = Task(target, domain, eps, dtype, input=target.variables[0] if target.variables else "x")
    if method == "printed":
        part = printed_part(target, domain, eps, dtype, task.input, task.output)
        try:
            proof = prove_part(part, dtype, 1e-2 * eps, task.places.kinks, exact(domain))
        except (Unprovable, Unresolved) as reason:
            raise Short(str(reason)) from None
        return _finished([proof], task, "printed")
    if method == "composition":
        return _composed(task)
    if method == "auto" and _wants_composition(task):
        try:
            return _composed(task)
        except Short:
            pass
    try:
        proof, name = solve(task, method)
        return _finished([proof], task, name)
    except Short as alone:
        if method != "auto" or not any(split(term) for term in target.terms()):
            raise
        try:
            return _composed(task)
        except Short as composed:
            raise min((alone, composed), key=lambda short: short.best) from None


def split(term: Expression) -> tuple[Expression, Expression] | None:
    """(outer, inner) with term = outer(inner), inner curved: 2*abs(sin(3*x)) gives 2*abs(x) and sin(3*x)."""
    moving = [i for i, child in enumerate(term.children) if not child.is_constant]
    if len(moving) != 1:
        return None
    child = term.children[moving[0]]
    found = split(child) if term.op in ("neg", "*", "/") else None
    if found is None and child.affine() is not None:
        return None
    if found is None and term.op in ("neg", "*", "/"):
        return None
    outer, inner = found if found is not None else (Expression.variable(term.variables[0]), child)
    children = [outer if i == moving[0] else c for i, c in enumerate(term.children)]
    return Expression.of(term.op, *children), inner


def _wants_composition(task: Task) -> bool:
    """Kinked, not piecewise linear, and every kinked term is a function of something we can build."""
    if not task.places.kinks or _cheap(task.target, task.domain, task.places.kinks):
        return False
    kinked = [t for t in task.target.terms() if t.places(*task.domain).kinks]
    return all(split(term) or _cheap(term, task.domain) for term in kinked)


def _cheap(target: Expression, domain: Domain, kinks: Sequence[float] | None = None) -> bool:
    """Whether the number of keys does not depend on eps."""
    if not exact_terms(target).rest:
        return True
    found = target.places(*domain).kinks if kinks is None else kinks
    return hinges(target, *domain, tuple(found)) is not None


def _composed(task: Task) -> Program:
    domain, terms = task.domain, task.target.terms()
    splits = [(term, split(term)) for term in terms]
    nested = [(term, found) for term, found in splits if found is not None]
    if not nested:
        raise Short("no term of the formula is a function of something curved, so there is nothing to compose")
    plain = [term for term, found in splits if found is None and not term.is_constant]
    constants = [term for term in terms if term.is_constant]
    if constants and not plain:  # a constant is free beside a function that has a bias of its own
        term, (outer, inner) = nested[0]
        nested[0] = (term, (_sum([outer, *constants]), inner))
    else:
        plain += constants
    sums = [_sum(plain)] if plain else []  # one part per pair of variables: the file says what each head is for
    weights = [CHEAP if _cheap(e, domain) else 1.0 for e in sums]
    shares: list[tuple[float, float, float]] = []
    for _, (outer, inner) in nested:
        reach = _reach(inner, domain)
        slope = lipschitz(outer, *reach)
        if not slope < 1e12:
            raise Short(f"{outer} is too steep on the values of {inner}")
        shares.append((CHEAP if _cheap(inner, domain) else 1.0, CHEAP if _cheap(outer, reach) else 1.0, slope))
    unit = 0.96 * task.eps / (sum(weights) + sum(a + b for a, b, _ in shares))
    effort = max(0.5, 1.0 / (len(sums) + len(nested)))
    proofs: list[Proved] = []
    free = True
    for e, weight in zip(sums, weights, strict=True):
        proof, _ = solve(replace(task, target=e, eps=unit * weight, may_bias=free, effort=effort))
        free = free and not proof.part.bias
        proofs.append(proof)
    for i, ((_, (outer, inner)), (weight, outer_weight, slope)) in enumerate(zip(nested, shares, strict=True), 1):
        name, tolerance = f"mid{i}", unit * weight / max(slope, 1e-9)
        below, _ = solve(replace(task, target=inner, eps=tolerance, output=name, effort=effort))
        error = propagate([below], exact(domain), task.dtype)[name]
        above, _ = solve(
            replace(
                task,
                target=outer,
                domain=error.widened(),
                eps=unit * outer_weight,
                input=name,
                start=error,
                may_bias=free,
                effort=effort,
            )
        )
        free = free and not above.part.bias
        proofs += [below, above]
    return _finished(proofs, task, "composition")


def _finished(proofs: Sequence[Proved], task: Task, method: str) -> Program:
    error = propagate(proofs, exact(task.domain), task.dtype)[task.output]
    program = Program(tuple(proofs), error, method)
    if not program.bound <= task.eps:
        raise Short(f"the proof gives {program.bound:.1e} in {task.dtype}", program.bound)
    return program


def _sum(terms: Sequence[Expression]) -> Expression:
    return reduce(lambda a, b: a + b, terms)


def _reach(inner: Expression, domain: Domain) -> Domain:
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
