"""The one assumption about hardware that can be measured: exp inside softmax is within 4 u of the truth.

    python benchmarks/exp_accuracy.py [cpu|cuda]

A softmax over the scores (0, t) with t so low that 1 + exp(t) rounds to 1 returns its exp(t) undisturbed, so the error
can be read off: for *every* float32 in [-87, -17.4], and for samples in float64. Above that, the division and the sum
blur the reading by up to 2 u. Needs only torch; run it again when the library or the hardware changes.
"""

from __future__ import annotations

import sys
from decimal import Decimal, getcontext

import torch

ROUNDOFF = {torch.float32: 2.0**-24, torch.float64: 2.0**-53}


def executed(t: torch.Tensor) -> torch.Tensor:
    return torch.softmax(torch.stack([torch.zeros_like(t), t], -1), -1)[..., 1]


def every_float32(device: str, low: float = -87.0, high: float = -17.4) -> tuple[float, int]:
    """Worst error in units of u over all float32 between low and high."""
    first, last = (torch.tensor(x, dtype=torch.float32).view(torch.int32).item() for x in (high, low))
    worst, count, step = 0.0, 0, 1 << 22
    for start in range(first, last + 1, step):
        bits = torch.arange(start, min(start + step, last + 1), dtype=torch.int64, device=device).to(torch.int32)
        t = bits.view(torch.float32)
        truth = t.double().exp()
        worst = max(worst, float(((executed(t).double() - truth).abs() / truth).max()) / ROUNDOFF[torch.float32])
        count += len(t)
    return worst, count


def blurred_float32(device: str, count: int = 4_000_000) -> float:
    """Worst error of exp(t)/(1 + exp(t)), t in [-17.4, 0], in units of u: the sum and the division are in it."""
    t = -17.4 * torch.rand(count, generator=torch.Generator().manual_seed(0)).to(device)
    truth = torch.sigmoid(t.double())
    return float(((executed(t).double() - truth).abs() / truth).max()) / ROUNDOFF[torch.float32]


def sampled_float64(device: str, count: int = 20_000) -> float:
    """Worst error in units of u over random float64 in [-700, -37.5], against 40 digits."""
    getcontext().prec = 40
    t = -37.5 - 662.5 * torch.rand(count, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = executed(t.to(device)).cpu().tolist()
    errors = [abs(Decimal(y) / Decimal(x).exp() - 1) for x, y in zip(t.tolist(), found, strict=True)]
    return float(max(errors)) / ROUNDOFF[torch.float64]


def main(device: str) -> None:
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    worst, count = every_float32(device)
    print(f"torch {torch.__version__}, {name}; assumed: 4 u")
    print(f"float32, all {count:,} floats in [-87, -17.4]: {worst:.2f} u")
    print(f"float32, 4,000,000 samples in [-17.4, 0], sum and division included: {blurred_float32(device):.2f} u")
    print(f"float64, 20,000 samples in [-700, -37.5]: {sampled_float64(device):.2f} u")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "cpu")
