"""Ranges on which "Transformers are Deep Optimizers" (deep-optimizers, Lemma 2 and 3) approximates r and r'.

A sum of ReLUs goes on linearly outside of its range. Pre-activations are v.p with |v| <= B_v and K entries of p, each
up to B_r: they reach B_v sqrt(K) B_r, in r' as in r.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from headsmith.papers.deep_optimizers.sums import Curve, passed, sigmoid_slope, summed
from headsmith.papers.errata import Evidence, erratum

PAPER = "deep-optimizers"
WIDTH, REACH, TERMS = 16, 2.0, 257
"""K, B_v (of every row) and how many ReLUs a sum has; inputs have norm 1."""


def gradient(r: Curve, slope: Curve) -> tuple[Tensor, float]:
    """(the gradient of the squared loss of a network of three layers, the largest pre-activation behind the first)."""
    g = torch.Generator().manual_seed(0)
    sizes = ((WIDTH, 4), (WIDTH, WIDTH), (1, WIDTH))
    rows = [torch.randn(*size, generator=g, dtype=torch.float64) for size in sizes]
    rows[1] = rows[1].abs()  # rows that point to where all units answer, as rows may
    rows = [REACH * V / V.norm(dim=1, keepdim=True) for V in rows]
    x, y = (torch.randn(20, size, generator=g, dtype=torch.float64) for size in (4, 1))
    found = passed(rows, x / x.norm(dim=1, keepdim=True), y, r, slope, bent=2)
    return torch.cat([part.flatten() for part in found.gradient[::-1]]), float(found.z[1].abs().max())


def off(r: Curve, slope: Curve) -> float:
    """How far the gradient is off, relative to its size."""
    exact = gradient(torch.sigmoid, sigmoid_slope)[0]
    return float((gradient(r, slope)[0] - exact).norm() / exact.norm())


@erratum(
    PAPER,
    "E3 Lemma 2, R_1",
    printed="r on [-R, R], R = max(B_v B_r, 1)",
    repair="R = B_v max(B_x, sqrt(K) B_r)",
    where="papers/deep_optimizers/errata_ranges.py",
)
def range_of_r() -> Evidence:
    """sigmoid: B_r = 1 bounds one entry of p, and 16 of them meet a row of norm 2."""
    narrow, wide = max(REACH, 1.0), REACH * math.sqrt(WIDTH)
    seen = gradient(torch.sigmoid, sigmoid_slope)[1]
    before, after = (off(summed(torch.sigmoid, reach, TERMS), sigmoid_slope) for reach in (narrow, wide))
    return (
        f"|z| = {seen:.2g} outside of R = {narrow:g}: gradient off by {before:.0e}",
        f"R = {wide:g}: {after:.0e} with as many terms",
        seen > narrow and before > 20 * after,
        seen <= wide and after < 1e-3,
    )


@erratum(
    PAPER,
    "E4 Lemma 3, R_2",
    printed="r' on [-R, R], R = max(B_v B_r', 1), from the bound of slopes",
    repair="the range of r: its argument is the same pre-activation",
    where="papers/deep_optimizers/errata_ranges.py",
)
def range_of_slope() -> Evidence:
    """sigmoid: slopes are at most 1/4, so R = 1 is printed; beyond it the line goes below 0."""
    narrow, wide = max(REACH / 4, 1.0), REACH * math.sqrt(WIDTH)
    seen = gradient(torch.sigmoid, sigmoid_slope)[1]
    before, after = (off(torch.sigmoid, summed(sigmoid_slope, reach, TERMS)) for reach in (narrow, wide))
    return (
        f"|z| = {seen:.2g} outside of R = {narrow:g}: gradient off by {before:.0e}",
        f"R = {wide:g}: {after:.0e} with as many terms",
        seen > narrow and before > 20 * after,
        seen <= wide and after < 1e-3,
    )
