"""The tables with which machines read numbers out of prompts, proved; and the shortest one that a promise allows.

A frozen head cannot hold a weight that it is to be told later, but it can *score* with it: with the key a_r theta + b_r
and the query x, head r sees a_r (theta . x) + b_r, and if the values are the anchors L_r, softmax returns theta . x up
to a small error. Which error depends on the anchors alone:

    smooth    L_r = r h, score -beta (z - L_r)^2: almost exact (`constructions.identity` says why)
    two-key   L = -A, A, score z/A L_r/A: A tanh(z/A), error at most |z|^3 / (3 A^2)
    printed   the same lattice with beta -> infinity: the nearest anchor, error h/2 (algorithm-emulation Thm 4.2)

What a table costs is proved on the stored numbers, so one that comes out of a file is worth as much as one that was
just searched for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from headsmith.constructions.identity import identity, lattice
from headsmith.functions import parse
from headsmith.proof.approximation import Unprovable, prove
from headsmith.proof.certificate import Bound
from headsmith.proof.composition import resolution
from headsmith.proof.rounding import FORMATS, prove_rounding
from headsmith.proof.statement import Head, Part
from headsmith.records.shown import Shown, exactly, number, upper
from headsmith.refusal import Refusal

LONGEST = 1024  # steps of a printed table that is built
Promise = Callable[[Head], Bound]


@dataclass(frozen=True)
class Lattice:
    """|executed - z| <= approximation + rounding for every z of the dtype in the range."""

    approximation: float
    rounding: float

    @property
    def total(self) -> float:
        """approximation + rounding."""
        return self.approximation + self.rounding


Numbers = tuple[tuple[float, ...], ...]


def numbers_of(head: Head) -> Numbers:
    """The columns of a table as plain numbers: what a cached proof is about."""
    return tuple(tuple(column.tolist()) for column in (head.slopes, head.offsets, head.values, head.lines))


def proved(head: Head, radius: float, dtype: str) -> Lattice:
    """What a table is worth as the identity on |z| <= radius; the score is one product and one sum.

    >>> proved(Head.table([-1e-3, 1e-3], [0.0, 0.0], [-1e3, 1e3]), 1.0, "float64").approximation < 1e-6
    True
    """
    return _proved(numbers_of(head), radius, dtype)


@lru_cache(maxsize=256)
def _proved(numbers: Numbers, radius: float, dtype: str) -> Lattice:
    part = _part(Head(*map(np.array, numbers)), radius)
    found = prove(part, 32 * resolution(part, ()))  # a fiftieth of the error
    return Lattice(found.bound, prove_rounding(part, FORMATS[dtype], 0.0).bound)


def _part(head: Head, radius: float) -> Part:
    return Part("x", "out", parse("x"), (-radius, radius), (head,))


def smooth(radius: float, eps: float, dtype: str = "float64") -> Head:
    """The shortest smooth table that is found whose *proved* error on |z| <= radius is at most eps.

    The closed formulas give a first number of steps; then one step after another is taken away as long as some spacing
    and sharpness still reach eps at sampled points, and the table is proved.

    >>> smooth(5.0, 1e-3).keys
    7
    """
    if eps < 1e-18 * radius:
        raise Refusal(f"the identity on |z| <= {radius:g} cannot be had within {eps:.2g}: numbers are not that fine")
    shortest = identity(radius, eps)
    while shortest.keys > 3:
        error, h, kappa = best_lattice(radius, shortest.keys - 2)
        if error > 0.98 * eps:
            break
        shortest = lattice(shortest.keys - 2, h, kappa)
    table = shortest.cast(dtype)
    bound = prove(_part(table, radius), 0.01 * eps).bound
    if bound > eps:
        raise Refusal(
            f"the identity on |z| <= {radius:g} cannot be had within {eps:.2g} in {dtype}: rounding the table costs "
            f"{bound:.2g}; ask for a larger eps"
        )
    return table


def two_key(radius: float, eps: float, dtype: str = "float64") -> Head:
    """A tanh(z/A) with A = sqrt(radius^3 / (3 eps)): two keys, no lattice."""
    a = math.sqrt(radius**3 / (3 * 0.99 * eps))
    return Head.table([-1 / a, 1 / a], [0.0, 0.0], [-a, a]).cast(dtype)


def best_lattice(radius: float, steps: int) -> tuple[float, float, float]:
    """(sampled error, h, kappa) of the best smooth lattice with this many steps on |z| <= radius."""
    z = np.linspace(0.0, radius, 121)
    kappas = np.geomspace(0.1, 2.5, 60)[:, None, None]
    found = (math.inf, 0.0, 0.0)
    for spread in np.geomspace(0.3, 3.0, 30).tolist():  # guard as a multiple of sqrt(steps), the natural scale
        guard = spread * math.sqrt(steps)
        if steps - 2 * guard < 0.5:
            break
        h = 2 * radius / (steps - 2 * guard)
        anchors = h * (np.arange(steps + 1) - steps / 2)
        weights = np.exp(-kappas * ((z[:, None] - anchors) / h) ** 2)
        errors = np.abs((weights @ anchors) / weights.sum(-1) - z).max(-1)
        k = int(np.nanargmin(errors))
        found = min(found, (float(errors[k]), h, float(kappas[k, 0, 0])))
    return found


def shortest(method: str, radius: float, dtype: str, eps: float, gain: float, promise: Promise, asked: str) -> Head:
    """The first table whose promise meets eps, aimed at eps / gain an entry; refused with an eps that can be had."""
    make = smooth if method == "auto" else two_key
    aim = 0.9 * eps / gain
    for _ in range(12):
        try:
            head = make(radius, aim, dtype)
            bound = promise(head).with_slack()
        except (Refusal, Unprovable):
            break
        if bound.total <= eps:
            return head
        spare = eps - bound.rounding
        aim *= min(0.8, 0.9 * spare / bound.approximation) if spare > 0 else 0.1
    reached = 1.1 * _floor(radius, dtype, promise)
    raise Refusal(
        f"{asked} cannot promise {eps:.2g} in {dtype}, for rounding: eps = {upper(reached)} can be had"
        f"{' with method=auto' * (method != 'auto')}, or a smaller domain"
    )


def _floor(radius: float, dtype: str, promise: Promise) -> float:
    """The least promise that rounding allows, over lattices finer and finer."""
    promises = []
    for fineness in range(10, 46, 3):
        try:
            promises.append(promise(smooth(radius, 2.0**-fineness * radius, dtype)).with_slack().total)
        except Refusal:
            break
    return min(promises)


def printed(radius: float, eps: float) -> tuple[int, float]:
    """(P, beta) of the printed rule: h <= eps/2 and beta = 4/(3 h^2) ln(2 (2 radius) P / eps).

    >>> printed(2.0, 1e-3)[0]
    8000
    """
    steps = math.ceil(4 * radius / eps)
    h = 2 * radius / steps
    return steps, 4 / (3 * h * h) * math.log(4 * radius * steps / eps)


def printed_table(radius: float, dtype: str, eps: float, entry: float) -> Head:
    """The lattice of the printed rule, nearest key takes all; refused where it would be too long to build."""
    steps, beta = printed(radius, entry)
    if steps > LONGEST:
        raise Refusal(
            f"the printed rule asks for {steps + 1:,} keys a head; tables of up to {LONGEST + 1:,} are built: "
            f"ask for eps = {upper(1.01 * eps * steps / LONGEST)} or more, or use method='auto'"
        )
    h = 2 * radius / steps
    return lattice(steps, h, beta * h * h).cast(dtype)


def printed_entry(eps: float, domain: float, head_dim: int, tokens: int) -> float:
    """The error of K, Q, V that the printed proof of Thm 4.1 asks for: half of eps directly, half through softmax."""
    share = eps / (2 * tokens * domain)
    return min(eps / 2, -math.log1p(-min(share / 2, 0.5)) / (head_dim * (2 * domain + 1)))


@dataclass(frozen=True, repr=False)
class HeadSizes(Shown):
    """What the machine is made of, beside what the printed theorems need for the same promise."""

    features: int
    head_dim: int
    tokens: int
    domain: float
    eps: float
    dtype: str
    keys: int
    entry: float
    heads: int
    printed_41: int
    printed_42: int

    def title(self) -> str:
        return f"Attention machine: {self.head_dim} x {self.features} heads on up to {self.tokens} tokens"

    def rows(self) -> list[tuple[str, str]]:
        return [
            ("domain", f"entries of K, Q, V up to {exactly(self.domain)}, {self.dtype}"),
            ("asked", f"eps = {number(self.eps)}"),
            ("size", f"{self.heads} heads of {self.keys} keys and one softmax"),
            ("entries", f"K, Q, V within {upper(self.entry)}"),
            ("printed", f"{number(self.printed_41)} heads (Thm 4.1), {number(self.printed_42)} keys a head (Thm 4.2)"),
        ]
