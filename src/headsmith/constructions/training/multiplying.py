"""Softmax that multiplies two numbers of a token: a head over 31 copies of it, the same for every product.

    p_r = softmax_r(r x / R - r^2 / 4),   r = -15 .. 15,   sum_r p_r r R / 2 = x   for |x| <= 5 R / 4,   x = q . k

Sums of Gaussians over a lattice have no error but an alias of 1e-17 R (`constructions.identity`), and every number of
this table is a multiple of 1/4 or of R / 2, R being a power of two, so that no format rounds any. What is left is what
softmax itself rounds: some 100 units of roundoff of R at worst, a few as a rule. A head writes x times a value, which
is a third factor: q . k v.

Scores of ReLU attention are products already. Those of softmax attention are not read by anybody: the copies turn them
into numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from headsmith.constructions.rule import copies
from headsmith.functions import parse
from headsmith.network import Copies, Select
from headsmith.proof.composition import exact, prove_part
from headsmith.proof.curves import Slip
from headsmith.proof.statement import Head, Part

STEPS = 15  # on each side: what lies beyond them weighs 1e-17 for any |x| <= 5 R / 4
ROOM = 1.25  # slopes are at most 1.13, and a product that is rounded may be a little beyond R


@dataclass(frozen=True)
class Factors:
    """What one head multiplies: (query . key) value, written over `writes`; all are features of one token."""

    query: Sequence[int]
    key: Sequence[int]
    value: Sequence[int]
    writes: Sequence[int]


def table(reach: float) -> Head:
    """The copies, for products up to `reach`.

    >>> round(float(table(4.0)(np.array(3.1416))), 12)
    3.1416
    """
    r = np.arange(-STEPS, STEPS + 1)
    return Head.table(r / reach, -(r**2) / 4, r * reach / 2)


@lru_cache(maxsize=64)
def slip(reach: float, dtype: str) -> Slip:
    """|executed - x| for every number x of the dtype up to 5/4 reach, proved.

    >>> found = slip(1.0, "float64")
    >>> found.approximation < 2e-16, found.fixed < 1.2e-14
    (True, True)
    """
    ends = (-ROOM * reach, ROOM * reach)
    proved = prove_part(Part("x", "out", parse("x"), ends, (table(reach),)), dtype, exact(ends))
    return Slip(proved.approximation.bound, proved.rounding.bound)


def multiply(factors: Sequence[Factors], width: int, reach: float, dtype: torch.dtype) -> Copies:
    """One head for each product.

    >>> layer = multiply([Factors([0, 1], [1, 2], [3], [4])], 5, 16.0, torch.float64)
    >>> layer(torch.tensor([[2.0, 3.0, -1.0, 0.5, 0.0]]).double()).round(decimals=12)
    tensor([[ 2.0000,  3.0000, -1.0000,  0.5000,  1.5000]], dtype=torch.float64)
    """
    reads = [even([getattr(each, name) for each in factors]) for name in ("query", "key", "value")]
    write = Select.writing([each.writes for each in factors], width)
    return copies([table(reach)] * len(factors), reads, width, write, dtype)


def even(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """As many features for each head: short ones are filled up with rows that are 0."""
    most = max(map(len, rows))
    return [[*row, *[-1] * (most - len(row))] for row in rows]
