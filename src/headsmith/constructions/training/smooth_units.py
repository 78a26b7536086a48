"""Units whose value and slope are numbers: tanh, sigmoid, silu, softplus and gelu in the tokens of a training.

    fold    p <- relu(z), a <- |z| and c <- z, both cut off                     MLP, where tables are searched
    bend    p <- p + sum of table(...) times 1 or z                             softmax over copies of the token
    slope   r' <- sum of table(...) times 1 or z                                the same
    gate    delta <- relu(r') q - relu(-r') q                                   a token attends to itself

The paper has sums of ReLUs for r and r': O(eps^(-1/2)) terms in each unit, and an element-wise multiplication layer.
Here tanh, sigmoid and silu are exact but for rounding (`functions.smooth`), and softplus and gelu take proved tables of
few keys. The product with q needs no such layer either: a ReLU score that sees only its own token is a factor.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch

from headsmith.constructions.rule import copies
from headsmith.constructions.training.stream import Stream
from headsmith.functions.smooth import TAIL, Mean, Smooth
from headsmith.network import Copies, Layer, Select
from headsmith.network.hidden import SIGNS, Hidden, heads, itself, mlp
from headsmith.proof.composition import exact, prove_part
from headsmith.proof.curves import SOFT, Slip, Smoothness, added
from headsmith.proof.rounding import FORMATS
from headsmith.proof.statement import Head, Part


@dataclass(frozen=True, eq=False)
class SmoothUnits:
    """The layers of such units in layer j, with the tables that were searched, and what they add to an error."""

    smooth: Smooth
    tables: tuple[Head, ...] = ()

    def forward(self, tape: Stream, j: int, dtype: torch.dtype) -> Iterator[tuple[str, Layer]]:
        """From z to p and r'."""
        if self.smooth.cut:
            yield f"fold{j}", mlp(folding(tape, j, self.smooth), tape.width, dtype)
        left = iter(self.tables)
        for name, parts, row in (("bend", self.smooth.value, "p"), ("slope", self.smooth.slope, "slope")):
            held = [(part, next(left) if part.formula else known(part)) for part in parts]
            yield f"{name}{j}", copied(tape, j, held, f"{row} {j}", dtype)

    def backward(self, tape: Stream, j: int, dtype: torch.dtype) -> Layer:
        """delta = relu(r' one) q - relu(-r' one) q: two heads for each unit, of which one is shut."""
        slopes, q, delta = (tape.rows(f"{name} {j}") for name in ("slope", "q", "delta"))
        query, value = (heads([[{r: sign}] for sign in SIGNS for r in rows], tape.width, dtype) for rows in (slopes, q))
        ones = Select([tape.rows("one")] * 2 * len(q), tape.width)
        return itself(query, ones, value, [[row] for row in delta] * 2, tape.width)

    def curve(self, dtype: str) -> Smoothness:
        """What values and slopes are off by, for every z up to HIGHEST."""
        left, smooth = iter(self.tables), self.smooth

        def slip(part: Mean) -> Slip:
            return _proved(part, smooth.range(part), dtype, next(left)) if part.formula else _known(part, dtype)

        return Smoothness(smooth, added([*map(slip, smooth.value)]), added([*map(slip, smooth.slope)]))


def folding(tape: Stream, j: int, smooth: Smooth) -> Iterator[Hidden]:
    """p = relu(z), a = relu(z) - relu(z - CUT) + the same of -z, and c its odd twin."""
    [one], cut = tape.rows("one"), smooth.cut
    for k, (z, p) in enumerate(zip(tape.rows(f"z {j}"), tape.rows(f"p {j}"), strict=True)):
        yield Hidden({z: 1.0}, {p: 1.0})
        for part in smooth.searched:
            row = tape.rows(f"{part.reads} {j}")[k]
            for sign in SIGNS:
                out = sign if part.reads == "cut" else 1.0
                yield Hidden({z: sign}, {row: out})
                yield Hidden({z: sign, one: -cut}, {row: -out})


def known(table: Mean) -> Head:
    """The head of three keys over k z, the offset of the middle one being log 2."""
    return Head.table([table.k, 0.0, -table.k], [0.0, math.log(2), 0.0], table.levels)


def copied(tape: Stream, j: int, parts: Sequence[tuple[Mean, Head]], write: str, dtype: torch.dtype) -> Copies:
    """For every part and unit one head: write += table(reads) times."""
    units, [one] = range(tape.widths[j]), tape.rows("one")
    reads = [[tape.rows(f"{part.reads} {j}")[k]] for part, _ in parts for k in units]
    times = [[one if part.times == "one" else tape.rows(f"z {j}")[k]] for part, _ in parts for k in units]
    writes = [[row] for _ in parts for row in tape.rows(write)]
    tables, own = [head for _, head in parts for _ in units], [[one]] * len(reads)
    return copies(tables, (reads, own, times), tape.width, Select.writing(writes, tape.width), dtype)


# what is proved of the tables


def _known(part: Mean, dtype: str) -> Slip:
    """Of a head of three keys, its multiple included."""
    slip = SOFT * FORMATS[dtype].unit
    return Slip(fixed=slip) if part.times == "one" else Slip(each=slip)


@lru_cache(maxsize=64)
def _proved(part: Mean, domain: tuple[float, float], dtype: str, head: Head) -> Slip:
    found = prove_part(Part("z", "out", part.expression, domain, (head,)), dtype, exact(domain))
    return Slip(found.approximation.bound + 2 * TAIL, found.rounding.bound)
