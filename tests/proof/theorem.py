"""The rounding theorem at one point, written out plainly: what every implementation of it must not fall below.

Each `Case` makes one of its terms the largest, with a floating-point format made for that.
"""

import math
from dataclasses import dataclass

import numpy as np

from headsmith.constructions.gate import gate
from headsmith.proof.rounding import Format
from headsmith.proof.statement import Head

EXP = 4


@dataclass(frozen=True)
class Case:
    head: Head
    z: float
    fmt: Format


def plain_sum(terms, u):
    """min over n of (n-1) u A + (all but the n largest)."""
    ordered = sorted(terms, reverse=True)
    return min(n * u * math.fsum(ordered) + math.fsum(ordered[n + 1 :]) for n in range(len(ordered)))


def plain_rounding(case: Case) -> float:
    """The theorem of `proof.rounding` for one head at one point, term by term."""
    head, z, u, tiny = case.head, case.z, case.fmt.unit, case.fmt.tiny
    keys = list(zip(*(getattr(head, n).tolist() for n in ("slopes", "offsets", "values", "lines")), strict=True))
    scores = [a * z + b for a, b, *_ in keys]
    powers = [math.exp(s - max(scores)) for s in scores]
    p = [e / math.fsum(powers) for e in powers]
    slips = [2 * u / (1 - 2 * u) * (abs(a * z) + abs(b)) + 4 * tiny for a, b, *_ in keys]
    moves = [s + u * (max(scores) - score + s + max(slips)) for s, score in zip(slips, scores, strict=True)]
    alphas = [math.expm1(m) * (1 + EXP * u) + EXP * u for m in moves]
    flushed = len(keys) * tiny * math.exp(2 * max(slips))
    moved = math.fsum(a * b for a, b in zip(p, alphas, strict=True)) + flushed
    values = [g + l * z for *_, g, l in keys]
    sizes = [abs(g) + abs(l * z) for *_, g, l in keys]
    gaps = [math.fsum(q * abs(v - w) for q, w in zip(p, values, strict=True)) for v in values]
    weight = math.fsum(q * a * g for q, a, g in zip(p, alphas, gaps, strict=True))
    weight = (weight + 2 * flushed * max(sizes)) / (1 - moved)
    share = [q * (1 + a) / (1 - moved) for q, a in zip(p, alphas, strict=True)]
    t = plain_sum(share, u)
    normal = (t + 2 * u / (1 - 2 * u)) / (1 - t)
    parts = [s * size * (1 + normal) for s, size in zip(share, sizes, strict=True)]
    own = [(abs(math.frexp(l)[0]) != 0.5) + (g != 0) if l else 0 for *_, g, l in keys]
    added = plain_sum(parts, u) + u * math.fsum(parts) + 2 * flushed * max(sizes)
    added += 2 * len(keys) * tiny * max(1.0, *sizes)
    mine = u * math.fsum(x * n for x, n in zip(parts, own, strict=True))
    return weight + normal * (math.fsum(parts) + flushed * max(sizes)) + added + mine


DOUBLE, COARSE = Format("float64", 2.0**-53, 2.0**-1022), Format("coarse", 2.0**-53, 1e-9)
WIDE = Format("wide", 1e-3, 0.0)
LEVEL = np.zeros(8)

CASES = {
    "slips of the scores": Case(Head.table([1e4, 1.1e4], [0.0, -1e3], [-1.0, 1.0]), 1.0, DOUBLE),
    "subtracting the best score": Case(Head.table([0.0, 0.0], [0.0, -5.0], [0.0, 1e4]), 0.0, DOUBLE),
    "exp": Case(Head.table([0.0, 0.0], [0.0, 0.0], [-1.0, 1.0]), 0.0, DOUBLE),
    "underflow of scores": Case(Head.table([0.0, 0.0], [0.0, 0.0], [-1.0, 1.0]), 0.0, COARSE),
    "flushed weights": Case(Head.table([0.0] * 9, [0.0, *[-9.0] * 8], [0.0, *[1.0] * 8]), 0.0, COARSE),
    "underflow of products": Case(Head.table(LEVEL, LEVEL, LEVEL + 1e-3), 0.0, COARSE),
    "normalisation of many": Case(Head.table(LEVEL, LEVEL, LEVEL + 1.0), 0.0, DOUBLE),
    "sums": Case(Head.table(LEVEL, LEVEL, LEVEL + 1.0), 0.0, WIDE),
    "one key": Case(Head.table([0.0], [0.0], [3.0]), 0.0, DOUBLE),
    "a value that is a line": Case(Head(*(np.array([x]) for x in (0.0, 0.0, 5.0, 0.3))), 100.0, DOUBLE),
    "a line without constant": Case(Head(*(np.array([x]) for x in (0.0, 0.0, 0.0, 0.3))), 100.0, DOUBLE),
    "a gate": Case(gate((8.0, 0.1), (1.0, 0.2)), 0.25, DOUBLE),
    "moves by a quarter": Case(Head.table([1e15, 1e15], [0.0, 0.0], [-1.0, 1.0]), 1.0, DOUBLE),
    "large moves": Case(Head.table([0.0, 0.0], [0.0, -3.0], [-1.0, 1.0]), 0.0, Format("rough", 0.01, 0.0)),
}
