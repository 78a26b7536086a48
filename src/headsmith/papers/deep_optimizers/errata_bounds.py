"""Bounds of "Transformers are Deep Optimizers" (deep-optimizers, Lemma 6, Thm 1, Cor 1.1) that are exceeded.

Each erratum attains what a printed bound excludes, with weights that its hypotheses allow, and stays within the bound
that is repaired (`papers.deep_optimizers.bounds`).
"""

from __future__ import annotations

import math

import torch

from headsmith.papers.deep_optimizers.bounds import (
    SIGMOID,
    Eps,
    Hypotheses,
    mended,
    printed,
    printed_trajectory,
    trajectory,
    two_norm,
)
from headsmith.papers.deep_optimizers.sums import apart, passed, sigmoid_slope
from headsmith.papers.errata import Evidence, erratum

PAPER = "deep-optimizers"
WIDE = Hypotheses(depth=2, inputs=2, width=256, outputs=256, row=0.25, x=0.5, y=0.0)
"""K = d = 256 sigmoid units, rows so short that no layer makes an error larger: r' B_v P = 1."""


@erratum(
    PAPER,
    "E5 Lemma 6, B_s",
    printed="|V' s| is at most sqrt(K) B_v |s|, from the norms of rows",
    repair="K B_v |s|: V' s is made of columns, of which rows bound each entry alone",
    where="proof/perturbation.py",
)
def columns() -> Evidence:
    """r = id, N = 2, all rows of V_2 are B_v e_1: the allowed case that the printed bound excludes."""
    K, row, slope = 16, 1.5, 0.7
    second = torch.zeros(K, K, dtype=torch.float64)
    second[:, 0] = row
    handed = float((second.T @ torch.full((K,), slope, dtype=torch.float64)).abs().max())
    drawn = torch.randn(500, K, K, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    drawn = row * drawn / drawn.norm(dim=2, keepdim=True)
    worst = max(handed, float((slope * drawn.abs().sum(1)).max()))
    printed, repaired = (bound * row * slope for bound in (math.sqrt(K), K))
    return (
        f"|s(1)| = {handed:.3g}, printed at most {printed:.3g}",
        f"at most {repaired:.3g}; largest seen {worst:.3g}",
        handed > 1.5 * printed,
        worst <= repaired * (1 + 1e-12) and handed > 0.99 * repaired,
    )


def kronecker(h: Hypotheses) -> tuple[float, Eps]:
    """(how far the gradient of one sample is off, by which errors): V_1 = B_v e_1, V_2 = 0, u_k off by 1/1000."""
    rows = [torch.zeros(n, fan, dtype=torch.float64) for n, fan in ((h.width, h.inputs), (h.outputs, h.width))]
    rows[0][:, 0] = h.row
    x, y = (torch.zeros(1, size, dtype=torch.float64) for size in (h.inputs, h.outputs))
    x[0, 0], e = h.x, Eps(0.0, 0.0, 1e-3)
    exact, off = (passed(rows, x, at, torch.sigmoid, sigmoid_slope) for at in (y, y - e.loss / 2))
    return float(apart(exact, off)), e


@erratum(
    PAPER,
    "E6 Thm 1, its sum",
    printed="|A - A'| <= P ((E_s eps) sqrt(P) B_r + B_s E_r eps_r), P = sqrt(max(K, d))",
    repair="max(B_x, P B_r) for sqrt(P) B_r: |s p'| = |s| |p|, and |p| has K entries",
    where="papers/deep_optimizers/bounds.py",
)
def products() -> Evidence:
    """A wide sigmoid layer, each of whose units answers about B_r: the bound of the whole gradient is exceeded."""
    found, e = kronecker(WIDE)
    before, after, ours = (bound(WIDE, SIGMOID, e) for bound in (printed, mended, two_norm))
    return (
        f"gradient off by {found:.3g}, printed at most {before:.3g} (K = {WIDE.width})",
        f"at most {after:.3g}, by norms of layers {ours:.3g}",
        found > 1.5 * before,
        found <= ours <= after,
    )


@erratum(
    PAPER,
    "E11 Cor 1.1, Lemma 14",
    printed="after l steps w is within (1 + n L_f)^l eps / L_f; rates up to L_f",
    repair="((1 + rate L_f)^l - 1) eps / L_f",
    where="papers/deep_optimizers/bounds.py",
)
def accumulated() -> Evidence:
    """One sample x = 2 of a linear model: L_f = 4, a rate of 2 is allowed as printed, each gradient is off by eps."""
    slope, rate, off, steps = 4.0, 2.0, 1e-3, 3
    exact, perturbed, gaps = 1.0, 1.0, []
    for t in range(steps):
        exact, perturbed = exact - rate * slope * exact, perturbed - rate * (slope * perturbed + off * (-1) ** t)
        gaps.append(abs(exact - perturbed))
    printed = [printed_trajectory(off, slope, 1, t) for t in range(1, steps + 1)]
    repaired = [trajectory(off, slope, rate, t) for t in range(1, steps + 1)]
    many = printed_trajectory(off, slope, 20, 20)
    return (
        f"gap {gaps[-1]:.2g} after 3 steps, printed at most {printed[-1]:.2g}; {many:.0e} for n = 20, 20 steps",
        f"at most {repaired[-1]:.2g}",
        all(gap > bound for gap, bound in zip(gaps, printed, strict=True)),
        all(gap <= bound * (1 + 1e-9) for gap, bound in zip(gaps, repaired, strict=True)),
    )
