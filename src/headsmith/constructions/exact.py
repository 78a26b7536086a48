"""Terms of a formula that are attention heads already, with nothing to approximate.

    affine(z)                       a head that attends to itself
    c tanh(affine), c sigmoid(affine)     two keys:   tanh(s) = 2 sigmoid(2s) - 1
    c silu(affine), affine sigmoid(affine)    a gate: yourself or a null token

The only error left is that of rounding the constants to floats, and the certificate proves that too. (In-Context
Algorithm Emulation, 2.5: the paper's own test target needs no approximation.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

from flint import arb, fmpq

from headsmith.constructions.gate import gate, line
from headsmith.functions import Expression, precision
from headsmith.proof.statement import Head


@dataclass
class ExactTerms:
    """bias + slope z + heads, and the terms that are left over."""

    bias: float = 0.0
    slope: float = 0.0
    heads: list[Head] = field(default_factory=list)
    rest: list[Expression] = field(default_factory=list)

    def all_heads(self) -> tuple[Head, ...]:
        return ((line(self.slope),) if self.slope else ()) + tuple(self.heads)


def exact_terms(target: Expression) -> ExactTerms:
    """Split a formula of one variable at its plus signs into heads and a rest."""
    with precision(128):
        return _split(target)


def _split(target: Expression) -> ExactTerms:
    found, bias, slope = ExactTerms(), arb(0), arb(0)
    for term in target.terms():
        factor, cores = _factors(term)
        if not cores:
            bias += factor
            continue
        shape = _affine_product(cores)
        if shape is not None:
            slope, bias = slope + factor * shape[0], bias + factor * shape[1]
            continue
        head = _head(factor, cores)
        if head is None:
            found.rest.append(term)
        else:
            found.heads.append(head[0])
            bias += head[1]
    found.bias, found.slope = _float(bias), _float(slope)
    return found


def _head(factor: arb, cores: list[Expression]) -> tuple[Head, arb] | None:
    """The head of factor * product(cores) and the constant beside it, if it is one."""
    squash = [c for c in cores if c.op in ("tanh", "sigmoid", "silu") and _line(c.children[0]) is not None]
    if len(squash) != 1:
        return None
    core = squash[0]
    score = _line(core.children[0])
    others = _affine_product([c for c in cores if c is not core])
    if score is None or others is None:
        return None
    flat = others[0] == 0
    if core.op == "silu":
        if not flat:
            return None
        scale = factor * others[1]
        return _gate(score, (scale * score[0], scale * score[1])), arb(0)
    if core.op == "sigmoid":
        if not flat:
            return _gate(score, (factor * others[0], factor * others[1])), arb(0)
        return _two_keys(score, factor * others[1]), arb(0)
    if not flat:
        return None
    height = factor * others[1]
    return _two_keys((2 * score[0], 2 * score[1]), 2 * height), -height


def _two_keys(score: tuple[arb, arb], height: arb) -> Head:
    """height sigmoid(score), centred: scores -s/2 and s/2 keep the rounding of both keys alike."""
    half = (_float(score[0] / 2), _float(score[1] / 2))
    return Head.table([-half[0], half[0]], [-half[1], half[1]], [0.0, _float(height)])


def _gate(score: tuple[arb, arb], value: tuple[arb, arb]) -> Head:
    return gate((_float(score[0]), _float(score[1])), (_float(value[0]), _float(value[1])))


def _factors(term: Expression) -> tuple[arb, list[Expression]]:
    """term = constant * product of cores that depend on the variable."""
    if term.is_constant:
        return term.at(), []
    if term.op == "neg":
        factor, cores = _factors(term.children[0])
        return -factor, cores
    if term.op == "*":
        (f, left), (g, right) = map(_factors, term.children)
        return f * g, left + right
    if term.op == "/" and term.children[1].is_constant:
        factor, cores = _factors(term.children[0])
        return factor / term.children[1].at(), cores
    return arb(1), [term]


def _line(e: Expression) -> tuple[arb, arb] | None:
    found = e.affine()
    return None if found is None else (_ball(found[0]), _ball(found[1]))


def _affine_product(cores: list[Expression]) -> tuple[arb, arb] | None:
    """(slope, intercept) of a product of at most one affine map of the variable and constants."""
    lines = [_line(c) for c in cores]
    if any(found is None for found in lines):
        return None
    known = [found for found in lines if found is not None]
    if sum(slope != 0 for slope, _ in known) > 1:
        return None
    scale = prod((level for slope, level in known if slope == 0), start=arb(1))
    slope, level = next(((s, l) for s, l in known if s != 0), (arb(0), arb(1)))
    return scale * slope, scale * level


def _ball(x: Fraction | arb) -> arb:
    return arb(fmpq(x.numerator, x.denominator)) if isinstance(x, Fraction) else x


def _float(x: arb) -> float:
    return float(x.mid())
