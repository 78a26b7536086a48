"""What floating point adds: the executed head against the exact one, for every input of a cell.

Model of execution: scores by a two-term dot product in any order, fused or not; softmax with subtraction of the
computed maximum, then a division; the weighted sum in any order. The value g + l z of a self key costs a rounding for
the product, unless l is a power of two, and one for the sum, unless g is 0. Assumed: nearest rounding, exp within 2 ulp
(4u), no TF32, no autocast.

With executed weights proportional to p_j (1 + x_j), |x_j| <= alpha_j, the weighted mean moves by
sum p_j x_j (v_j - phi) / (1 + sum p_j x_j), because sum p_j (v_j - phi) = 0, and |v_j - phi| <= sum_i p_i |v_j - v_i|:
keys that agree with those around them cost nothing.
Sums are charged by the tree lemma: in any order of additions the error is at most (n-1) u A + tail for every choice of
n big terms, A the sum of all |terms| and tail that of the small ones. So a head pays for the keys it looks at.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from flint import arb

from headsmith.functions import precision
from headsmith.proof.approximation import cell
from headsmith.proof.cells import NEGLIGIBLE, frame, up
from headsmith.proof.statement import Head, Part

EXP_ERROR = 4  # units of u, for exp inside torch.softmax
INFLATE = 1 + 1e-9  # pays for evaluating sums of non-negative terms in float64


@dataclass(frozen=True)
class Format:
    """A floating-point format: unit roundoff and the smallest normal number."""

    name: str
    unit: float
    tiny: float


FORMATS = {"float64": Format("float64", 2.0**-53, 2.0**-1022), "float32": Format("float32", 2.0**-24, 2.0**-126)}

ASSUMPTIONS = (
    "IEEE round to nearest, no TF32, no autocast",
    "explicit matmul, softmax, matmul (no fused attention kernel)",
    "exp inside softmax within 2 ulp; results below the normal range may be flushed to zero",
)


def gamma(n: int, u: float) -> float:
    """n u/(1 - n u) >= |(1 + d_1) ... (1 + d_n) - 1| for |d_i| <= u."""
    return n * u / (1 - n * u)


def summed(n: int, u: float) -> float:
    """A sum of n terms, none above M, errs by at most this share of n M: each addition by u k M, k = 2..n.

    >>> summed(1, 0.5), summed(3, 2.0**-24) * 2**24 * 3
    (0.0, 5.0)
    """
    return u * ((n + 1) / 2 - 1 / n)


def tree(terms: np.ndarray, u: float, count: int) -> float:
    """min over n of (1 + 2 gamma) ((n-1) u A + tail): any order of summation, any bracketing."""
    ordered = np.sort(terms)[::-1]
    tails = np.append(np.cumsum(ordered[::-1])[::-1], 0.0)  # the smallest first: no cancellation
    best = (np.arange(len(ordered)) * u * tails[0] + tails[1:]).min()
    return float(best) * (1 + 2 * gamma(count, u)) * INFLATE


def head_rounding(head: Head, c: float, h: float, fmt: Format, terms: int = 2, reach: float = 0.0) -> float:
    """|executed - phi(z)| for every float z in [c-h, c+h]; inf where the format is truly lost.

    Where z is itself a dot product inside the score, `terms` counts the roundings of a score and `reach` bounds the sum
    of the absolute values of z's terms.
    """
    u, tiny, f = fmt.unit, fmt.tiny, frame(head, c, h)
    slopes, offsets, values, lines = (getattr(head, n)[f.active] for n in ("slopes", "offsets", "values", "lines"))
    size = abs(c) + h
    powers = [(arb(a) * c + b - f.top).exp() for a, b in zip(slopes.tolist(), offsets.tolist(), strict=True)]
    z0 = sum(powers, arb(0))
    z1 = sum((t * (arb(a) - f.mean) * h for t, a in zip(powers, slopes.tolist(), strict=True)), arb(0))
    least = z0 * (-abs(z1) / z0).exp()
    ahead = [abs((arb(a) - f.mean) * h).exp() for a in slopes.tolist()]
    highest = np.array([up(t * e / least) for t, e in zip(powers, ahead, strict=True)])
    weights = np.minimum(highest, 1.0)
    far = f.skipped * NEGLIGIBLE * up(1 / least)

    slips = gamma(terms, u) * (np.abs(head.slopes) * max(size, reach) + np.abs(head.offsets)) + 2 * terms * tiny
    scores = head.slopes * c + head.offsets
    drift = np.abs(head.slopes - f.mean) * h + 4e-16 * (np.abs(head.slopes) * size + np.abs(head.offsets))
    gaps = (scores + drift).max() - scores + drift
    etas = (slips + u * (gaps + slips + slips.max())) * INFLATE
    if etas.max() > 300:
        return math.inf
    alphas = np.expm1(etas) * (1 + EXP_ERROR * u) + EXP_ERROR * u
    far_alpha, alpha = float(alphas.max()), alphas[f.active]
    flushed = head.keys * tiny * math.exp(2 * slips.max())
    moved = float(weights @ alpha) + far * far_alpha + flushed
    if moved >= 0.5:
        return math.inf

    level, widest = values + lines * c, float(np.abs(head.values).max() + np.abs(head.lines).max() * size)
    apart = np.abs(level[:, None] - level) + np.abs(lines[:, None] - lines) * h + 4e-16 * widest * (lines != 0).any()
    np.fill_diagonal(apart, 0.0)
    gap = apart @ weights + far * 2 * widest
    most = np.abs(values) + np.abs(lines) * size
    share = weights * (1 + alpha) / (1 - moved)
    far_share = far * (1 + far_alpha) / (1 - moved)

    weight_error = (weights @ (alpha * gap) + (far * far_alpha + flushed) * 2 * widest) / (1 - moved)
    t = tree(share, u, head.keys) + 2 * far_share
    if t >= 0.5:
        return math.inf
    normal = (t + gamma(2, u)) / (1 - t)
    scale = 1 + normal
    whole = share * most * scale
    rest = far_share * widest * scale + flushed * widest
    sum_error = tree(whole, u, head.keys) + u * float(whole.sum()) + 2 * rest + 2 * head.keys * tiny * max(1.0, widest)
    slips_of_value = (np.frexp(np.abs(lines))[0] != 0.5).astype(float) + (values != 0)  # l z rounds, and so does + g
    value_error = float((share * gamma(1, u) * slips_of_value * 1.0001 * most * (lines != 0)).sum()) * scale
    error = float(weight_error + normal * (whole.sum() + rest) + sum_error + value_error) * INFLATE
    return math.inf if math.isnan(error) else error


@dataclass(frozen=True)
class Rounding:
    """A rounding error that holds on every cell between the edges."""

    bound: float
    edges: tuple[float, ...]


def part_rounding(part: Part, c: float, h: float, fmt: Format, terms: int = 2, reach: float = 0.0) -> float:
    """Heads plus the additions into the output: bias + heads, in any order."""
    own = sum(head_rounding(head, c, h, fmt, terms, reach) for head in part.heads)
    if own == math.inf:
        return math.inf
    added = part_terms(part, c, h)
    return (own + gamma(max(0, len(added) - 1), fmt.unit) * (math.fsum(added) + own)) * INFLATE


def part_terms(part: Part, c: float, h: float) -> list[float]:
    """|bias| and max |head| on the cell: what is added into the output, without what is 0."""
    sizes = [abs(part.bias), *(_size(head, c, h) for head in part.heads)]
    return [size for size in sizes if size != 0]


def _size(head: Head, c: float, h: float) -> float:
    """max |phi| on the cell, from the keys that matter there."""
    f = frame(head, c, h)
    keys = np.abs(head.values) + np.abs(head.lines) * (abs(c) + h)
    return float(keys[f.active].max()) * INFLATE + 1e-30 * float(keys.max())


def prove_rounding(
    part: Part, fmt: Format, goal: float, most: int = 4000, *, terms: int = 2, reach: float = 0.0
) -> Rounding:
    """The largest rounding error over the domain: cells are bisected, worst first, until it meets the goal,
    or until it is within half of what single points already cost."""
    lo, hi = part.domain
    with precision(64):
        heap: list[tuple[float, float, float]] = []
        cells = 0
        low = 0.0

        def push(a: float, b: float) -> None:
            nonlocal cells, low
            c, h = cell(a, b)
            low = max(low, part_rounding(part, c, 0.0, fmt, terms, reach))
            heapq.heappush(heap, (-part_rounding(part, c, h, fmt, terms, reach), a, b))
            cells += 1

        for a, b in pairwise(np.unique(np.linspace(lo, hi, 9)).tolist()):
            push(a, b)
        while -heap[0][0] > max(goal, 1.5 * low) and cells < most and low < math.inf:
            _, a, b = heapq.heappop(heap)
            middle = a + (b - a) / 2
            if not a < middle < b:
                heapq.heappush(heap, (-math.inf, a, b))
                break
            push(a, middle)
            push(middle, b)
    return Rounding(-heap[0][0], (*sorted(a for _, a, _ in heap), hi))
