"""Heads and trees made to break bounds: steep slopes, large values, duplicate keys, ties, a key that is oneself."""

import numpy as np
from flint import arb

from headsmith.proof.statement import Head, Part


def nasty_head(rng: np.random.Generator, steepest: float, dtype: str = "float64") -> Head:
    keys = int(rng.integers(1, 12))
    slopes = rng.normal(size=keys) * 10 ** rng.uniform(-1, steepest)
    offsets = -slopes * rng.uniform(-1, 1) + rng.normal(size=keys) * 10 ** rng.uniform(-3, 1.5)
    values = rng.normal(size=keys) * 10 ** rng.uniform(-3, 5)
    lines = np.zeros(keys)
    if rng.random() < 0.4:
        lines[0] = rng.normal() * 10 ** rng.uniform(-2, 4)
    if keys > 2 and rng.random() < 0.4:
        slopes[1], offsets[1] = slopes[2], offsets[2]
    if rng.random() < 0.2:
        values = np.abs(values).max() * (-1.0) ** np.arange(keys)
    return Head(slopes, offsets, values, lines).cast(dtype)


def exact(part: Part, z: arb | float) -> arb:
    """sum of heads, written plainly, in the caller's precision."""
    total, z = arb(part.bias), arb(z)
    for head in part.heads:
        rows = list(zip(*(getattr(head, n).tolist() for n in ("slopes", "offsets", "values", "lines")), strict=True))
        scores = [arb(a) * z + b for a, b, *_ in rows]
        top = max(scores, key=lambda s: float(s.mid()))
        weights = [(s - top).exp() for s in scores]
        total += sum((w * (arb(g) + arb(l) * z) for w, (*_, g, l) in zip(weights, rows, strict=True)), arb(0)) / sum(
            weights, arb(0)
        )
    return total


def crossings(part: Part) -> list[float]:
    """Where neighbouring keys tie and where the value of a self key vanishes."""
    found = []
    for head in part.heads:
        for a0, a1, b0, b1 in zip(head.slopes, head.slopes[1:], head.offsets, head.offsets[1:], strict=False):
            if a0 != a1:
                found.append(float((b0 - b1) / (a1 - a0)))
        if head.lines[0]:
            found.append(float(-head.values[0] / head.lines[0]))
    return found
