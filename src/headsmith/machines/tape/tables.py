"""The frozen numbers of a tape: an identity that reads, activations that bend, and 1/sqrt that makes unit vectors.

What each is worth is proved on the stored numbers: |executed - f| <= approximation + rounding on the whole range. Only
the ratio hi/lo of a norm's range costs keys, since c / sqrt(c.c + g) does not change when a program scales c and g.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from headsmith.compiler.scalar import ScalarTask, solve
from headsmith.constructions.design import Short
from headsmith.functions import parse
from headsmith.machines.bending import ACTIVATIONS, activation_error, activation_head
from headsmith.machines.lattices import Lattice, Numbers, numbers_of, proved, smooth
from headsmith.machines.tape.root_keys import OFFSETS, SLOPES, VALUES
from headsmith.proof.approximation import Unprovable, prove
from headsmith.proof.rounding import FORMATS, prove_rounding
from headsmith.proof.statement import Head, Part
from headsmith.records.shown import exactly
from headsmith.refusal import Refusal

FINE = 2.0**-46  # error of the read table relative to the domain: below it rounding is more than half
ROOT = parse("1/sqrt(v)")
ROOM = 2.0**-10  # by how much, relative, tables are proved beyond what is checked
FEW = 64  # keys of a table of 1/sqrt that are preferred to a finer one of more
REACH = 64.0  # the keys that are written down hold 1/sqrt from 1/64 to 64
GOALS = (1.25e-12, 1e-11, 1e-10, 1e-9, 1e-8)  # of the table of 1/sqrt, relative to its largest value


def reading(domain: float) -> Head:
    """The shortest lattice that returns z for |z| <= domain within 2^-46 domain."""
    return smooth(domain * (1 + ROOM), FINE * domain)


def bending() -> dict[str, Head]:
    """The activations that an instruction can ask for."""
    return {name: activation_head(name, "float64") for name in ACTIVATIONS}


def root(lo: float, hi: float) -> tuple[Head, float]:
    """1/sqrt(v) for v in [lo, hi], and within what: the keys that are written down, scaled, or others, searched.

    >>> table, within = root(1.0, 4096.0)
    >>> table.keys, within
    (33, 1.25e-12)
    """
    scale = 4.0 ** math.floor(math.log2(lo * REACH) / 2)  # a power of 4: slopes and values are scaled without rounding
    if not hi <= scale * REACH:
        return _searched(lo, hi)
    slopes, values = np.array(SLOPES) / scale, np.array(VALUES) / math.sqrt(scale)
    return Head.table(slopes, OFFSETS, values), GOALS[0] * math.sqrt(REACH / scale)


@lru_cache(maxsize=16)
def _searched(lo: float, hi: float) -> tuple[Head, float]:
    """The finest table of few keys that is found and proved."""
    found: list[tuple[Head, float]] = []
    for goal in GOALS:
        try:
            task = ScalarTask(ROOT, _wide(lo, hi), goal / math.sqrt(lo), "float64", "v", may_bias=False)
            [head] = solve(task, "table").part.heads
        except Short:
            continue
        found.append((head, task.eps))
        if head.keys <= FEW:
            break
    if found:
        return found[-1] if found[-1][0].keys <= FEW else found[0]
    raise Refusal(
        f"no table of 1/sqrt reaches from {exactly(lo)} to {exactly(hi)}: take a norm range of smaller ratio hi/lo"
    )


def _wide(lo: float, hi: float) -> tuple[float, float]:
    return lo * (1 - ROOM), hi * (1 + ROOM)


@dataclass(frozen=True)
class Worth:
    """What the tables are worth: (approximation, rounding) of reading, of the root; and a slope, of activations."""

    entry: Lattice
    root: Lattice
    bends: Mapping[str, tuple[float, float, float]]

    @classmethod
    def of(cls, tables: Mapping[str, Head], domain: float, norm: tuple[float, float]) -> Worth:
        """Proved, table by table; proofs of the same numbers are remembered."""
        reach = domain * (1 + ROOM)
        bends = {name: activation_error(tables[name], name, reach, "float64") for name in ACTIVATIONS}
        return cls(proved(tables["read"], reach, "float64"), _root_error(numbers_of(tables["norm"]), *norm), bends)


@lru_cache(maxsize=64)
def _root_error(numbers: Numbers, lo: float, hi: float) -> Lattice:
    part = Part("v", "out", ROOT, _wide(lo, hi), (Head(*map(np.array, numbers)),))
    try:
        found = prove(part, 2.0**-45 / math.sqrt(lo)).bound
    except Unprovable:
        return Lattice(math.inf, math.inf)
    return Lattice(found, prove_rounding(part, FORMATS["float64"], 2.0**-45 / math.sqrt(lo)).bound)
