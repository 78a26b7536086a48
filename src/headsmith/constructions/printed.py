"""The papers' own rule, for comparison and for teaching: a staircase.

Uniform anchors L_j = lo + j h, j = 0..P, scores -beta (z - L_j)^2, values f(L_j), and beta so large that the nearest
anchor takes all. The proof of Thm 3.1 (In-Context Algorithm Emulation; Thm 3.4 of Universal Approximation with Softmax
Attention has the same shape) gives

    |phi - f| <= omega_f(h) + 2 B P exp(-3/4 beta h^2),   so   P = ceil(2 Lip (hi - lo) / eps),
                                                          beta = 4/(3 h^2) ln(4 B P / eps).

The number of anchors grows like 1/eps. Centred at the middle of the domain, where the scores are smallest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from headsmith.constructions.design import Altered, Design, Tally
from headsmith.functions import Expression, Unresolved, lipschitz
from headsmith.network import Network
from headsmith.proof.certificate import SLACK, Bound
from headsmith.proof.statement import Head, Part
from headsmith.refusal import Refusal

LARGEST = 4096  # anchors that a printed table is built with; the plan knows the number beyond


def printed_steps(target: Expression, domain: tuple[float, float], eps: float) -> float:
    """P, the number of grid steps that the rule asks for; by the modulus of continuity where no slope bounds f."""
    lo, hi = domain
    try:
        slope = lipschitz(target, lo, hi)
    except Unresolved:
        slope = math.inf
    if slope == math.inf:
        return math.ceil((hi - lo) / max(_modulus(target, domain, eps / 2), 1e-300))
    steps = 2 * slope * (hi - lo) / eps
    return max(1, math.ceil(steps)) if math.isfinite(steps) else math.inf


def printed_part(
    target: Expression, domain: tuple[float, float], eps: float, dtype: str, input: str, output: str
) -> Part:
    """The staircase as a part; refused where it would be too large to build."""
    lo, hi = domain
    steps = printed_steps(target, domain, eps)
    if steps + 1 > LARGEST:
        TooLarge(steps + 1, eps).network(None, dtype)
    h = (hi - lo) / steps
    anchors = lo + h * np.arange(int(steps) + 1)
    size = max(1e-300, target.bound(lo, hi))
    beta = 4 / (3 * h * h) * math.log(max(4 * size * steps / eps, 2.0))
    middle = (lo + hi) / 2
    slopes = 2 * beta * (anchors - middle)
    offsets = -slopes * middle - beta * (anchors - middle) ** 2
    head = Head.table(slopes, offsets, target(anchors)).cast(dtype)
    return Part(input, output, target, domain, (head,))


def is_printed(part: Part) -> bool:
    """Whether a part is a staircase: one table whose anchors are evenly spaced and whose values are f at them."""
    if len(part.heads) != 1 or part.bias or part.target is None or part.heads[0].attends_to_itself:
        return False
    head, anchors = part.heads[0], np.linspace(*part.domain, part.heads[0].keys)
    steps = np.diff(head.slopes)
    even = np.allclose(steps, steps[:1], rtol=1e-3, atol=0.0)
    return bool(len(steps) and even and np.allclose(head.values, part.target(anchors), rtol=1e-6, atol=1e-12))


@dataclass(frozen=True)
class TooLarge(Design):
    """A printed rule that asks for more anchors than are built: its size and the paper's promise are known."""

    name = "printed rule"
    anchors: float
    eps: float

    @property
    def tally(self) -> Tally:
        return Tally(int(self.anchors), heads=1, layers=1)

    def method(self, target: Any) -> str:
        return "printed"

    def prove(self, target: Any, request: Any) -> Bound:
        return Bound(math.nextafter(self.eps / SLACK, 0), 0.0, kind="as the paper promises")

    def network(self, target: Any, dtype: str) -> Network:
        least = 1.01 * self.eps * self.anchors / (LARGEST - 2)
        raise Refusal(
            f"the printed rule asks for {self.tally.keys:,} anchors; tables of up to {LARGEST:,} are built: "
            f"ask for eps = {float(f'{least:.1e}'):g}, or use method='auto'"
        )

    @classmethod
    def stored(cls, target: Any, network: Network, request: Any, record: dict[str, Any]) -> TooLarge:
        raise Altered("a printed rule that is too large to build is never saved")


def _modulus(target: Expression, domain: tuple[float, float], eps: float) -> float:
    """The largest h with |f(z + h) - f(z)| <= eps, as far as samples tell."""
    lo, hi = domain
    z = np.linspace(lo, hi, 4097)[:-1]
    small, large = 0.0, hi - lo
    for _ in range(120):
        h = (small + large) / 2
        moved = np.abs(target(np.minimum(z + h, hi)) - target(z)).max()
        small, large = (h, large) if moved <= eps else (small, h)
    return small
