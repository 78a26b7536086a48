"""The tables with which machines read numbers out of prompts, proved; and the shortest one that a promise allows.

A lattice returns z for |z| <= radius. What it costs is proved on the stored numbers, so a table that comes out of a
file is worth as much as one that was just searched for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from headsmith.constructions.identity import lattice, printed, smooth, two_key
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
    part = Part("x", "out", parse("x"), (-radius, radius), (Head(*map(np.array, numbers)),))
    found = prove(part, 32 * resolution(part, ()))  # a fiftieth of the error
    return Lattice(found.bound, prove_rounding(part, FORMATS[dtype], 0.0).bound)


def shortest(method: str, radius: float, dtype: str, eps: float, gain: float, promise: Promise, asked: str) -> Head:
    """The first table whose promise meets eps, aimed at eps / gain an entry; refused with an eps that can be had."""
    make = smooth if method == "auto" else two_key
    aim = 0.9 * eps / gain
    for _ in range(12):
        try:
            head = make(radius, aim, dtype).head
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
            promises.append(promise(smooth(radius, 2.0**-fineness * radius, dtype).head).with_slack().total)
        except Refusal:
            break
    return min(promises)


def printed_table(radius: float, dtype: str, eps: float, entry: float) -> Head:
    """The lattice of the printed rule, nearest key takes all; refused where it would be too long to build."""
    steps, beta = printed(radius, entry)
    if steps > LONGEST:
        raise Refusal(
            f"the printed rule asks for {steps + 1:,} keys a head; tables of up to {LONGEST + 1:,} are built: "
            f"ask for eps = {upper(1.01 * eps * steps / LONGEST)} or more, or use method='auto'"
        )
    return lattice(radius, steps, beta, radius, dtype).head


def printed_entry(eps: float, domain: float, head_dim: int, tokens: int) -> float:
    """The error of K, Q, V that the printed proof of Thm 4.1 asks for: half of eps directly, half through softmax."""
    share = eps / (2 * tokens * domain)
    return min(eps / 2, -math.log1p(-min(share / 2, 0.5)) / (head_dim * (2 * domain + 1)))


@dataclass(frozen=True, repr=False)
class Sizes(Shown):
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
