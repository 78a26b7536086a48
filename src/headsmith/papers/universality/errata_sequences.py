"""Errata of softmax-universality about sequences: bumps (Lemma 3.11 to Cor 3.15), Thm F.2, Lemma I.1 and Thm I.2.

Each runs the printed weights and the repaired ones on the same inputs.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from headsmith.constructions.bumps import Bumps, bump_network
from headsmith.constructions.native import Gates
from headsmith.constructions.product import FLOOR, Mixture
from headsmith.constructions.three_layers import ThreeLayers
from headsmith.network import Network
from headsmith.papers.errata import Evidence, erratum
from headsmith.targets.relu_network import ReluNetwork

PAPER = "softmax-universality"


def target(X: np.ndarray) -> np.ndarray:
    """(sin(2 x1) x2 + x1/2, cos(1.5 (x1 + x2))) for X (..., 2 tokens, 1 feature) in [-1, 1]."""
    a, b = X[..., 0, 0], X[..., 1, 0]
    return np.stack([np.sin(2 * a) * b + a / 2, np.cos(1.5 * (a + b))], -1)[..., None]


def sup_error(g: int, **options: object) -> float:
    """The largest error of a bump network with g cells an axis, on 1500 inputs, walls of cells among them."""
    settings = {"delta": 0.25, "beta": 30.0, "anchors": 9} | options
    bumps = Bumps(2, 1, g, 0.0, 1.0, **settings)  # type: ignore[arg-type]
    X = np.random.default_rng(0).uniform(-1, 1, (1500, 2, 1))
    X[:500, 0] = np.round(X[:500, 0] * g / 2) * 2 / g  # walls of the first coordinate
    built = bump_network(bumps, target(bumps.centres()))
    outputs = torch.cat([built(part) for part in torch.from_numpy(X).split(250)]).numpy()
    return float(np.abs(outputs - target(X)).max())


@erratum(
    PAPER,
    "E2 (G.46)-(G.47)",
    printed="ramps s/delta and -s/delta: the bias 1/delta is missing, so the bump is upside down",
    repair="add the bias; ramps that straddle the wall",
    where="constructions/bumps.py",
)
def missing_bias() -> Evidence:
    before, after = sup_error(6, ramps="printed", delta=0.2), sup_error(6)
    return f"sup error {before:.2f} of |f| <= 1.5", f"sup error {after:.2f}", before > 1.0, after < 0.5


@erratum(
    PAPER,
    "E3 (G.50), (G.57)",
    printed="W_O = 1 sums g^(dn) equal columns, so the output is g^(dn) times too large",
    repair="W_O = 1/g^(dn)",
    where="constructions/bumps.py",
)
def summed_columns() -> Evidence:
    before, after = sup_error(6, average=False), sup_error(6)
    return f"sup error {before:.1f} with 36 cells", f"sup error {after:.2f}", before > 30, after < 0.5


@erratum(
    PAPER,
    "B7 Lemma 3.12, nearest cell",
    printed="softmax selects the value of the cell nearest to X: at its wall it averages f along a whole line",
    repair="ramps that straddle the wall: the error falls like 1/g",
    where="constructions/bumps.py",
)
def walls() -> Evidence:
    core = [sup_error(g, ramps="core", delta=0.1, anchors=2) for g in (4, 8)]
    ours = [sup_error(g) for g in (4, 8)]
    slopes = [math.log2(errors[1] / errors[0]) for errors in (core, ours)]
    return f"slope {slopes[0]:.2f} in g", f"slope {slopes[1]:.2f} in g", slopes[0] > -0.4, slopes[1] < -0.8


@erratum(
    PAPER,
    "B5 Lemma 3.11, volume",
    printed="the shells between cells have volume B^N (1 - (1-delta)^N)",
    repair="(2B)^N (1 - (1-delta)^N)",
    where="constructions/explicit_relu.py",
)
def volume() -> Evidence:
    g, delta, n = 4, 0.2, 3
    s = np.random.default_rng(0).uniform(0, 1, (200_000, n)) * 2 * g % 2 - 1
    share = float((np.abs(s) > 1 - delta).any(1).mean()) * 2**n
    stated = 1 - (1 - delta) ** n
    return (
        f"{stated:.3f}, measured {share:.2f}",
        f"{2**n * stated:.2f}",
        share > 2 * stated,
        abs(share / 2**n - stated) < 0.01,
    )


@erratum(
    PAPER,
    "B4 (G.51), (G.55)",
    printed="softmax_beta passes errors of its scores on with constant 1",
    repair="total variation at most tanh(beta range/4), slope beta/2 in the max norm",
    where="proof/tensor_rounding.py",
)
def lipschitz() -> Evidence:
    beta, step = 30.0, 1e-3
    moved = 1 / (1 + math.exp(-2 * beta * step)) - 0.5
    allowed = math.tanh(beta * 2 * step / 4)
    return f"{moved / step:.1f} at beta = 30", f"{allowed / step:.1f}", moved > step, moved <= allowed * (1 + 1e-12)


@erratum(
    PAPER,
    "Cor 3.15, softmax axis",
    printed="softmax over the columns of a 1 x g^(dn) matrix: each column has one entry, all weights are 1",
    repair="softmax over the entries of the row",
    where="constructions/bumps.py",
)
def axis() -> Evidence:
    bumps = Bumps(2, 1, 6, 0.0, 1.0, 0.25, 60.0, 9, reader="softmax")
    before = float(np.abs(target(bumps.centres()).sum(0) - target(np.zeros((1, 2, 1)))).max())
    after = sup_error(6, reader="softmax", beta=60.0)
    return f"sup error {before:.1f}", f"sup error {after:.2f}", before > 5, after < 0.5


def smoother(z: np.ndarray, low: float, high: float, p: int, c: float) -> np.ndarray:
    """The head with p anchors on [low, high], scores -(c/2) ((z - L_k)/dL)^2, values L_k."""
    anchors = np.linspace(low, high, p)
    scores = -c / 2 * ((z[..., None] - anchors) / (anchors[1] - anchors[0])) ** 2
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights * anchors).sum(-1) / weights.sum(-1)


@erratum(
    PAPER,
    "E9 Thm F.2, (G.64)",
    printed="the bound contains |W_K^T W_Q|, at least p log p: it grows with p where it should fall",
    repair="Range is 1-Lipschitz: sum |eta| (e_2 + n e_1), e the errors of the heads",
    where="constructions/anchored.py",
)
def stability() -> Evidence:
    rng = np.random.default_rng(1)
    n, d, units = 3, 2, 12
    w, t, eta = rng.normal(size=(units, n, d)), rng.normal(size=units), rng.normal(size=units) / units
    X = rng.uniform(-1, 1, (400, n, d))
    parts = np.einsum("kid,bid->bki", w, X) + t[:, None] / n
    reach, top = float(np.abs(parts).max()), float(np.maximum(parts.sum(-1), 0).max())
    truth = np.maximum(parts.sum(-1), 0) @ eta
    printed, ours, seen = [], [], []
    for p in (16, 32, 64, 128):
        inner = smoother(parts, -reach, reach, p, 5.43).sum(-1)
        outer = smoother(inner, 0.0, top, p, 5.43)
        seen.append(float(np.abs(outer @ eta - truth).max()))
        steps = (2 * reach / (p - 1), top / (p - 1))
        ours.append(float(np.abs(eta).sum()) * 0.0625 * (steps[1] + n * steps[0]))
        printed.append(top / p * (math.sqrt(n) * (1 + 4 * p * math.log(p)) * n**2.5 + n))
    fails = printed[-1] > printed[0] and printed[-1] > 1000 * seen[-1]
    holds = all(a <= b for a, b in zip(seen, ours, strict=True)) and ours[-1] < 0.2 * ours[0]
    return f"bound {printed[0]:.0f} to {printed[-1]:.0f}", f"bound {ours[-1]:.3f}, error {seen[-1]:.4f}", fails, holds


@erratum(
    PAPER,
    "E8 Lemma I.1, footnote",
    printed="B = B+ - B-: the logarithm of zero entries, NaN",
    repair="(B+ + c) - (B- + c), c > 0",
    where="constructions/product.py",
)
def log_of_zero() -> Evidence:
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 2)), np.array([[0.0, 1.5, 0.0], [-2.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    X = torch.from_numpy(rng.uniform(-1, 1, (50, 3, 2)))
    truth = A @ X.mT.numpy() @ B
    errors = []
    for floor in (0.0, FLOOR):
        with np.errstate(invalid="ignore"):
            out = Mixture.of(A, B, floor=floor).network(None, "float64")(X).mT.numpy()
        errors.append(float(np.abs(out - truth).max()))
    return f"error {errors[0]}", f"error {errors[1]:.1e}", math.isnan(errors[0]), errors[1] < 1e-13


def gates(target: ReluNetwork, beta: float) -> Network:
    """The repaired two layers with gates of this sharpness."""
    return Gates(beta, *reversed(target.outer.shape)).network(target, "float64")


@erratum(
    PAPER,
    "E6 Thm I.2, layer 3",
    printed="for a unit of the other sign the score ties with the null token at every beta: the unit returns a|S|/2",
    repair="one head a unit, the sign in its value row",
    where="constructions/three_layers.py",
)
def tie() -> Evidence:
    """All three layers, as printed but for what E1, E7 and E8 repair; the same with the sign in the values."""
    rng = np.random.default_rng(0)
    inner, signs = rng.uniform(-0.5, 0.5, (2, 2, 2, 2)), np.array([[1.0, -1.0], [-1.0, 1.0]])
    X = torch.from_numpy(rng.uniform(-1, 1, (300, 2, 2)))
    sums = np.einsum("ikjd,bjd->bik", inner, X.numpy())
    wanted, halves = (np.maximum(sums, 0) * signs).sum(-1), (np.abs(sums) * signs).sum(-1) / 2
    printed, repaired = (
        ThreeLayers(inner, signs, np.zeros((2, 2)), 1.0, heads=64, faults=faults).network()(X)[..., 0].numpy()
        for faults in (("tie",), ())
    )
    wrong, halved = float(np.abs(printed - wanted).max()), float(np.abs(printed - halves).max())
    right = float(np.abs(repaired - wanted).max())
    two = gates(ReluNetwork(inner, signs), 1000.0)(X)[..., 0].numpy()
    right = max(right, float(np.abs(two - wanted).max()))
    return (
        f"error {wrong:.2f}, a|S|/2 to {halved:.0e}",
        f"error {right:.1e}",
        wrong > 0.4 and halved < 2e-2,
        right < 1e-2,
    )


@erratum(
    PAPER,
    "E7 Thm I.2, no bias",
    printed="sum a ReLU(w.x) without bias is positively homogeneous: a constant is out of reach",
    repair="a bias through the token's own head",
    where="constructions/native.py",
)
def homogeneous() -> Evidence:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.uniform(-1, 1, (400, 1, 2)), np.zeros((1, 1, 2))])
    units = np.maximum(np.einsum("kd,bd->bk", rng.normal(size=(200, 2)), X[:, 0]), 0)
    best, *_ = np.linalg.lstsq(units, np.ones(len(X)), rcond=None)
    before = float(np.abs(units @ best - 1).max())
    built = gates(ReluNetwork(np.zeros((1, 1, 1, 2)), np.ones((1, 1)), np.ones((1, 1))), 1000.0)
    after = float(np.abs(built(torch.from_numpy(X)).numpy() - 1).max())
    return f"error {before:.2f} for f = 1, 200 units", f"error {after:.0e}, 1 unit", before > 1 / 3, after < 1e-12
