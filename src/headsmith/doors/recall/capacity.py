"""What a float can keep apart, before anything is built (low-rank-memorization, Sec 3.3 of our measurements).

    gap/range = 2.5 to 4.6 over ids^2,   in every family that was measured: ids lie like random points

An id is a number of the dtype, so a gap below a few roundings is lost: in float32 about 3 000 ids can be told apart, in
float64 some 10^7. Fewer need be: only where labels change, and words whose label never does lie side by side in an
embedding of our own. What Theorem 2 promises (Eq 8) needs neither: no float reaches its exponents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headsmith.compiler.request import read_dtype
from headsmith.doors.recall.reading import causal, numbered
from headsmith.proof.printed_scale import PrintedScale, power
from headsmith.proof.rounding import FORMATS
from headsmith.records.shown import Shown, number
from headsmith.refusal import Refusal
from headsmith.search.context_keys import context_keys
from headsmith.targets.reading import check_sizes

COUNTS = (100, 400, 1_600, 3_200, 8_000, 12_800, 64_000, 200_000, 1_000_000, 10_000_000, 100_000_000)
SPREAD = 3.0  # gap/range times ids^2: 2.5 to 4.6 was measured, from 40 to 64 000 ids
EASY, LEAST = 10.0, 4.0  # in units of roundoff: any weights will do; the best of a few hundred were found to do


def expected_gap(ids: int) -> float:
    """The smallest gap of so many ids, as a share of their range, that a search for weights may hope for.

    >>> expected_gap(1000)
    3e-06
    """
    return min(1.0, SPREAD / max(ids, 1) ** 2)


def margin(ids: int, dtype: str) -> float:
    """That gap in units of roundoff of the dtype.

    >>> round(margin(3200, "float32"), 1)
    4.9
    """
    return expected_gap(ids) / FORMATS[dtype].unit


def survives(ids: int, dtype: str) -> bool:
    """Whether so many ids can be told apart in this dtype.

    >>> survives(3200, "float32"), survives(12_800, "float32"), survives(12_800, "float64")
    (True, False, True)
    """
    return margin(ids, dtype) >= LEAST


@dataclass(frozen=True, repr=False)
class Capacity(Shown):
    """How many ids survive in a dtype, and what these data need.

    largest      the most ids that survive
    table        for each count of ids (count, gap/range, gap in units of roundoff, whether it survives)
    ids          contexts of the data that must be told apart, None without data
    width        of the feed-forward layer, at most: two units a label change, and one that clears the output
    parameters   (factors and shared knots, dense matrices, the paper's 4 (1 + d) + d (2 n N + d)), at most
    printed      Theorem 2 on these data, for tokens without vectors that of one-hot ones
    """

    dtype: str
    largest: int
    table: tuple[tuple[int, float, float, bool], ...]
    ids: int | None = None
    width: int | None = None
    parameters: tuple[int, int, int] | None = None
    printed: PrintedScale | None = None

    @property
    def enough(self) -> bool | None:
        """Whether all ids of the data can be told apart, as labels at random ask for; None without data."""
        return None if self.ids is None else survives(self.ids, self.dtype)

    def title(self) -> str:
        if self.ids is None:
            return f"ids that survive in {self.dtype}: about {number(self.largest, 2)}"
        says = "can" if self.enough else "cannot"
        most = number(self.largest, 2)
        return f"{self.ids} ids {says} all be told apart in {self.dtype}, as a rule: it keeps about {most}"

    def rows(self) -> list[tuple[str, str]]:
        if self.ids is not None and self.parameters is not None:
            gap, units = expected_gap(self.ids), margin(self.ids, self.dtype)
            structured, dense, paper = self.parameters
            promised = [] if self.printed is None else [("Eq 8 promises", power(self.printed.log10_gap))]
            return [
                ("gap/range", f"about {number(gap, 1)}: {number(units, 2)} roundings, {number(LEAST)} are needed"),
                *promised,
                ("width", f"at most {self.width}"),
                ("parameters", f"at most {structured}; dense {dense}; by the paper's formula {paper}"),
            ]
        return [
            (f"{ids}", f"gap/range about {number(gap, 1)}: {number(units, 2)} roundings{'' if kept else ', too few'}")
            for ids, gap, units, kept in self.table
        ]


def capacity(
    dtype: str = "float64",
    sequences: Sequence[Any] | None = None,
    *,
    features: int = 16,
    positions: bool = False,
    mask: str | None = None,
) -> Capacity:
    """How many context ids a dtype keeps apart; with sequences, how many they need, and what the network would cost.

    sequences   of words, numbers or vectors; of vectors `features` is their width, else that of our embedding
    positions, mask   as in `hs.target.Recall`

    >>> print(capacity("float32", ["the cat sat".split(), "the dog sat".split()]))
    6 ids can all be told apart in float32, as a rule: it keeps about 3500
      gap/range      about 0.08: 1.4e6 roundings, 4 are needed
      Eq 8 promises  10^-3148
      width          at most 11
      parameters     at most 97; dense 443; by the paper's formula 516
    >>> capacity("float32").enough is None, capacity("float64").largest > 1e7
    (True, True)
    """
    dtype, before = read_dtype(dtype), causal(positions, mask)
    check_sizes(features=features)
    table = tuple((k, expected_gap(k), margin(k, dtype), survives(k, dtype)) for k in COUNTS)
    largest = int((SPREAD / (LEAST * FORMATS[dtype].unit)) ** 0.5)
    if sequences is None:
        return Capacity(dtype, largest, table)
    data = numbered(sequences)
    vectors = isinstance(data.words[0], tuple)
    d = len(data.words[0]) if vectors else features  # type: ignore[arg-type]
    ids = len(np.unique(context_keys(data.tokens, data.lengths, positions, before)))
    n, N, changes = int(data.lengths.max()), len(data.lengths), max(ids - 1, 1)
    width = 2 * changes + 1
    parameters = 3 * changes + 5 * d + 2, width * (2 * d + 1) + 5 * d, 4 * (1 + d) + d * (2 * n * N + d)
    return Capacity(dtype, largest, table, ids, width, parameters, _printed(sequences, data.words, n, vectors))


def _printed(sequences: Sequence[Any], words: Sequence[Any], n: int, vectors: bool) -> PrintedScale | None:
    """Theorem 2 for these tokens; None where it says nothing: sequences of one token, one type, or a zero vector."""
    try:
        if vectors:
            return PrintedScale.of([np.array(list(sequence), dtype=np.float64) for sequence in sequences])
        return PrintedScale(n, len(words), len(words), 0.999, 1.001, 1.414)  # one-hot: norm 1, distance sqrt(2)
    except Refusal:
        return None
