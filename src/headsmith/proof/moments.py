"""What an optimizer makes of the error of a gradient, entry by entry, from the tokens of a step that was run.

E bounds |computed - exact| of the letter beside it, exact being the formula on the stored moments and the gradient of
the stored weights; E_g is what the gradient is off by.

    momentum  v' = beta v + g          E_v = E_g + own                          w' - w = -rate v'     E = E_v + own
    adam      m' = b1 m + (1 - b1) g   E_m = (1 - b1) E_g + own
              v' = b2 v + (1 - b2) s   E_v = (1 - b2) (2 |g| E_g + E_g^2) + own       s = g^2
              z = a2 v'                E_z = a2 E_v + own                             a = 1 / (1 - b^t)
              mu = a1 m'               E_mu = a1 E_m + own
              w' - w = -rate mu f(z)   E = table |mu| + f(low) E_mu + |mu| E_z / 2 low^(3/2) + own

f(z) = 1 / sqrt(z + root) falls and flattens, so that low = max(z - E_z, 0) + root is where both are largest. Own is
what rounding adds: a coefficient, a product, a sum, and the two sums that replace a moment, m + (m' - m). E is in units
of the gradient: what w' is off by, over the rate. Roundings of what is itself an error are left to who adds up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from headsmith.proof.rounding import Format, gamma
from headsmith.reference.optimizers import Optimizer


@dataclass(frozen=True)
class Kept:
    """What the units of a layer hold: g with its decay, the moments before and behind, and who tells a1, a2."""

    g: Tensor
    before: Mapping[str, Tensor]
    after: Mapping[str, Tensor]
    lead: Tensor  # a1, a2: (batch..., 1, 1)
    lift: Tensor


@dataclass(frozen=True)
class Spent:
    """E of the move over the rate, of which `table` is the approximation; and E of each moment."""

    move: Tensor
    table: Tensor
    moments: Mapping[str, Tensor]


@dataclass(frozen=True)
class RootTable:
    """What is proved of the table for f: its errors, in exact arithmetic and by rounding."""

    approximation: float = 0.0
    rounding: float = 0.0


def spent(error: Tensor, kept: Kept, optimizer: Optimizer, table: RootTable, fmt: Format, worst: bool = False) -> Spent:
    """E of one layer for E_g = error."""
    if optimizer.name == "adam":
        return _adam(error, kept, optimizer, table, fmt, worst)
    u, v = fmt.unit, kept.after["v"].abs()
    off = error + _averaged(optimizer.beta * kept.before["v"].abs(), kept.g.abs(), (3, 1), fmt)
    off = off + _replaced(kept, "v", fmt)
    return Spent(off + gamma(2, u) * v, torch.zeros_like(v), {"v": off})


def _adam(error: Tensor, kept: Kept, optimizer: Optimizer, table: RootTable, fmt: Format, worst: bool) -> Spent:
    (b1, b2), u, g = optimizer.betas, fmt.unit, kept.g.abs()
    (m, v), (m_new, v_new) = ([part[name].abs() for name in ("m", "v")] for part in (kept.before, kept.after))
    off_m = (1 - b1) * error + _averaged(b1 * m, (1 - b1) * g, (3, 4), fmt) + _replaced(kept, "m", fmt)
    off_v = (1 - b2) * (2 * g + error) * error
    off_v = off_v + _averaged(b2 * v, (1 - b2) * g.square(), (3, 5), fmt) + _replaced(kept, "v", fmt)
    off_z = kept.lift * (off_v + gamma(3, u) * v_new)
    mu = kept.lead * m_new
    off_mu = kept.lead * off_m + gamma(5, u) * mu
    z = torch.zeros_like(v_new) if worst else (kept.lift * v_new - off_z).clamp(min=0.0)
    low = z + optimizer.root
    steep = low.rsqrt()
    rounded = (table.rounding + u * steep) * mu
    move = steep * off_mu + mu * off_z * steep / (2 * low) + rounded
    approximation = table.approximation * mu
    return Spent(move + approximation, approximation, {"m": off_m, "v": off_v})


def _averaged(stays: Tensor, comes: Tensor, counts: tuple[int, int], fmt: Format) -> Tensor:
    """b m + c g: so many roundings of each term."""
    return gamma(counts[0], fmt.unit) * stays + gamma(counts[1], fmt.unit) * comes + 4 * fmt.tiny


def _replaced(kept: Kept, name: str, fmt: Format) -> Tensor:
    """m + (m' - m): two sums."""
    before, after = kept.before[name], kept.after[name]
    return fmt.unit * ((after - before).abs() + after.abs())


def lost_behind(optimizer: Optimizer, fmt: Format) -> float:
    """What is flushed behind the moments: rate v', or rate a1 m', which a table multiplies; or else a later result."""
    steep = optimizer.root**-0.5 if optimizer.name == "adam" else 0.0
    return (1 + steep) * fmt.tiny if optimizer.moments else 0.0


def largest_kept(g: Tensor, optimizer: Optimizer, size: float, fmt: Format) -> Kept:
    """The largest moments that gradients up to g leave, v^ being at most `size`; a1, a2 as in the first step.

    After many steps m is a mean of gradients and v of their squares, and momentum adds up to g / (1 - beta).
    """
    one, grow = torch.ones(1, 1, dtype=g.dtype), 1 + 2e4 * fmt.unit
    if optimizer.name != "adam":
        most = {"v": g * grow / (1 - optimizer.beta)}
        return Kept(g, most, {"v": -most["v"]}, one, one)
    b1, b2 = optimizer.betas
    most = {"m": g * grow, "v": torch.full_like(g, size * grow)}
    return Kept(g, most, {name: -part for name, part in most.items()}, one / (1 - b1), one / (1 - b2))


def largest_move(g: Tensor, optimizer: Optimizer, table: RootTable, fmt: Format) -> Tensor:
    """The largest move over the rate that gradients up to g make."""
    if optimizer.name == "adam":
        steep = optimizer.root**-0.5 + table.approximation + table.rounding
        return g * steep * (1 + 2e4 * fmt.unit)
    return largest_kept(g, optimizer, 0.0, fmt).before["v"] if optimizer.moments else g
