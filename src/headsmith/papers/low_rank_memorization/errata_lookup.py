"""What fails as printed of the layer that looks labels up (low-rank-memorization, Cor 1), and its repair."""

from __future__ import annotations

import numpy as np
import torch

from headsmith.network.lookup import Lookup
from headsmith.papers.errata import Evidence, erratum
from headsmith.records.shown import number

PAPER = "low-rank-memorization"
LABELS = 9


def random_ids(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids in [0, 1] in order, not nearer than a hundredth of their mean distance, and labels 1 to 9."""
    draw = np.random.default_rng(0)
    steps = draw.exponential(size=count) + 0.01
    return np.cumsum(steps) / steps.sum(), draw.integers(1, LABELS + 1, count).astype(float)


def interpolant(ids: np.ndarray, labels: np.ndarray, knots: np.ndarray, dtype: str) -> float:
    """The largest error of c(t) = sum_j w_j relu(t - b_j), w solved in float64, then run in the dtype."""
    w = np.zeros(len(ids))
    slope = value = 0.0
    last = knots[0]
    for j, (t, y) in enumerate(zip(ids, labels, strict=True)):
        value += slope * (knots[j] - last)
        w[j] = (y - value - slope * (t - knots[j])) / (t - knots[j])
        slope, last = slope + w[j], knots[j]
    t, b, w = (x.astype(dtype) for x in (ids, knots, w))
    return float(np.abs(np.maximum(t[:, None] - b[None], 0) @ w - labels).max())


def ramps(ids: np.ndarray, labels: np.ndarray, dtype: torch.dtype) -> float:
    """The largest error of a ramp for each change of label, within the gap, in the dtype."""
    change = np.flatnonzero(np.diff(labels))
    left, gap = ids[change] + np.diff(ids)[change] / 4, np.diff(ids)[change]
    levels = labels[np.append(change, len(ids) - 1)][:, None]
    layer = Lookup([0.0, 1.0], left, 2 / gap, levels, [1.0], [0]).to(dtype)
    x = torch.stack([torch.zeros(len(ids)).double(), torch.from_numpy(ids)], 1).to(dtype)
    return float((layer(x)[:, 0].double() - torch.from_numpy(labels)).abs().max())


@erratum(
    PAPER,
    "Cor 1, knots",
    printed="any b_1 < t_1 < b_2 < t_2 < ... will do (Zhang et al.)",
    repair="a pair of units for each change of label, both saturated at the ids",
    where="network/lookup.py",
)
def midpoints() -> Evidence:
    """Knots half-way: every slope answers for the overshoot of the one before, and weights grow."""
    ids, labels = random_ids(1000)
    knots = np.concatenate([ids[:1] - 1e-3, (ids[1:] + ids[:-1]) / 2])
    before = [interpolant(ids, labels, knots, dtype) for dtype in ("float64", "float32")]
    after = [ramps(ids, labels, dtype) for dtype in (torch.float64, torch.float32)]
    return (
        f"1000 ids: error {number(before[0], 1)} in float64, {number(before[1], 2)} in float32",
        f"error {number(after[0], 1)} in float64, {number(after[1], 1)} in float32",
        before[1] > 0.5,
        max(after) < 1e-6,
    )


@erratum(
    PAPER,
    "Cor 1, the skip connection",
    printed="FF(H) = labels: the layer interpolates the labels",
    repair="it interpolates labels - H, or takes H away: -relu(H + B) + B",
    where="network/lookup.py",
)
def skipped() -> Evidence:
    """Eq 3 adds H to what the layer makes, so that an interpolant of the labels is off by H."""
    ids, labels = random_ids(100)
    before = float(np.abs(ids + np.interp(ids, ids, labels) - labels).max())
    after = float(np.abs(ids + np.interp(ids, ids, labels - ids) - labels).max())
    return f"off by {before:.2g}", f"off by {number(after, 1)}", before > 0.9, after < 1e-12


@erratum(
    PAPER,
    "Cor 1, its count",
    printed="4 (s + d) + d (2 n N + d) parameters, for a block of Eq 2 and Eq 3",
    repair="for factors of rank 1 and knots of each output; matrices as Eq 3 has them hold d times as many",
    where="doors/recall/capacity.py",
)
def counted() -> Evidence:
    """d = 16, n = 16, N = 500: d networks of n N units each, as torch would hold W_1 and W_2."""
    n, N, d, s = 16, 500, 16, 1
    printed = 4 * (s + d) + d * (2 * n * N + d)
    units = d * n * N
    layers = torch.nn.Linear(d, units, device="meta"), torch.nn.Linear(units, d, device="meta")
    dense = 4 * s * d + sum(p.numel() for layer in layers for p in layer.parameters())
    shared = 5 * d + (n * N - 1) * (1 + d) + d
    return (
        f"{printed} counted, {dense} held (x {dense / printed:.2g})",
        f"{shared} with factors of rank 1 and one set of knots for all outputs",
        dense > 10 * printed,
        shared < printed,
    )
