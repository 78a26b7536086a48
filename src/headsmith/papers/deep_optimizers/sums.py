"""Back-propagation with sums of ReLUs for r and r', and what it is off by, worked out from what it holds.

    p(j) = r(V_j p(j-1)),   delta(N) = r' (p(N) - y),   delta(j) = r' (V_{j+1}' delta(j+1)),   gradient = mean delta p'

of (1/2n) sum |p(N) - y|^2, as the paper's layers compute it (deep-optimizers, Lemmas 2 to 5), without its tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from headsmith.papers.deep_optimizers.bounds import CurveBounds, Eps

Curve = Callable[[Tensor], Tensor]


def tanh_slope(z: Tensor) -> Tensor:
    """1 / cosh(z)^2."""
    return 1 - torch.tanh(z).square()


def sigmoid_slope(z: Tensor) -> Tensor:
    """sigmoid(z) (1 - sigmoid(z))."""
    return torch.sigmoid(z) * (1 - torch.sigmoid(z))


def summed(curve: Curve, reach: float, knots: int) -> Curve:
    """The sum of ReLUs that meets the curve at equal steps of [-reach, reach], and goes on linearly.

    >>> summed(torch.square, 2.0, 3)(torch.tensor([-1.0, 0.0, 3.0], dtype=torch.float64)).tolist()
    [2.0, 0.0, 6.0]
    """
    at = torch.linspace(-reach, reach, knots, dtype=torch.float64)
    values = curve(at)

    def found(z: Tensor) -> Tensor:
        right = torch.searchsorted(at, z.contiguous()).clamp(1, knots - 1)
        slope = (values[right] - values[right - 1]) / (at[right] - at[right - 1])
        return values[right] + slope * (z - at[right])

    return found


@dataclass(frozen=True)
class Passed:
    """Forwards and back: p(0), ..., p(N), z(1), ..., z(N), the slopes, delta(1), ..., delta(N), the gradient of V_j."""

    rows: Sequence[Tensor]
    p: list[Tensor]
    z: list[Tensor]
    slopes: list[Tensor]
    deltas: list[Tensor]
    y: Tensor

    @property
    def gradient(self) -> list[Tensor]:
        """(batch..., out, in) for each layer."""
        return [d.mT @ p / p.shape[-2] for d, p in zip(self.deltas, self.p, strict=False)]


def passed(rows: Sequence[Tensor], x: Tensor, y: Tensor, r: Curve, slope: Curve, bent: int | None = None) -> Passed:
    """V_j (batch..., out, in), x (batch..., n, in), y (batch..., n, out); the first `bent` layers, or all, have r.

    >>> one = torch.ones(1, 1, dtype=torch.float64)
    >>> passed([2 * one, 3 * one], one, one, lambda z: z, torch.ones_like).gradient[0].item()
    15.0
    """
    last = len(rows) if bent is None else bent
    p, z = [x], list[Tensor]()
    for j, V in enumerate(rows):
        z.append(p[-1] @ V.mT)
        p.append(r(z[-1]) if j < last else z[-1])
    slopes = [slope(part) if j < last else torch.ones_like(part) for j, part in enumerate(z)]
    deltas = [slopes[-1] * (p[-1] - y)]
    for V, each in zip(rows[:0:-1], slopes[-2::-1], strict=True):
        deltas.append(each * (deltas[-1] @ V))
    return Passed(rows, p, z, slopes, deltas[::-1], y)


def apart(one: Passed, other: Passed) -> Tensor:
    """(batch...): the 2-norm between two gradients."""
    pairs = zip(one.gradient, other.gradient, strict=True)
    return sum(((a - b).square().sum((-1, -2)) for a, b in pairs), torch.zeros(())).sqrt()


def a_posteriori(found: Passed, r: CurveBounds, e: Eps, end: float) -> Tensor:
    """(batch...): how far the gradient can be from that of r, entry by entry; infinite where a z leaves [-end, end].

        E_z = |V| E_p,  E_p = eps_r + steep E_z,  E_slope = eps_slope + bend E_z
        E_delta = E_slope |q| + (|slope| + E_slope) E_q,  E_q = |V'| E_delta
        E = mean (E_delta |p| + (|delta| + E_delta) E_p)

    E_q of the last layer is eps_loss / 2 + E_p, delta being half of s. Every layer has r.
    """
    off, e_slopes = [torch.zeros_like(found.p[0])], []
    inside = torch.ones(found.p[0].shape[:-2], dtype=torch.bool)
    for V, z in zip(found.rows, found.z, strict=True):
        e_z = off[-1] @ V.abs().mT
        inside = inside & (z.abs() + e_z <= end).all(-1).all(-1)
        off.append(e.r + r.steep * e_z)
        e_slopes.append(e.slope + r.bend * e_z)
    q, e_q = found.p[-1] - found.y, e.loss / 2 + off[-1]
    total = torch.zeros(found.p[0].shape[:-2], dtype=torch.float64)
    for j in range(len(found.rows) - 1, -1, -1):
        delta, p, V = found.deltas[j], found.p[j], found.rows[j]
        e_delta = e_slopes[j] * q.abs() + (found.slopes[j].abs() + e_slopes[j]) * e_q
        error = e_delta.mT @ p.abs() + (delta.abs() + e_delta).mT @ off[j]
        total = total + (error / p.shape[-2]).square().sum((-1, -2))
        q, e_q = delta @ V, e_delta @ V.abs()
    return torch.where(inside, total.sqrt(), torch.inf)
