"""Errata of the scalar head: sizes that grow like 1/eps and then stop helping, and inputs outside the grid.

(algorithm-emulation Thm 3.1.) Single precision cannot hold the scores of the printed rule.
"""

from __future__ import annotations

import math

import numpy as np

from headsmith.papers.errata import Evidence, erratum
from headsmith.reference.scalar_head import attend, gaussian
from headsmith.refusal import Refusal

PAPER = "algorithm-emulation"


@erratum(
    PAPER,
    "Thm 3.1, size",
    printed="P = 2 Lip (b - a)/eps anchors, a staircase: 1/eps",
    repair="keys searched, values solved: log(1/eps)",
    where="search/search.py",
)
def staircase() -> Evidence:
    """sin(3*x) on [-2, 2] with as many keys as ours: how far the printed rule gets, and ours at eps = 1e-4."""
    from headsmith.doors.compile import compile
    from headsmith.views.measurement import measure

    net = compile("sin(3*x)", domain=(-2, 2), eps=1e-4)
    keys = net.plan.anchors
    anchors = np.linspace(-2, 2, keys)
    z = np.linspace(-2, 2, 4001)
    beta = 8 / 3 / (anchors[1] - anchors[0]) ** 2 * math.log(4 * keys / 1e-4)
    before = float(np.abs(attend(z, *gaussian(anchors, beta)) @ np.sin(3 * anchors) - np.sin(3 * z)).max())
    after = measure(net).error  # type: ignore[arg-type]
    return f"{before:.2g} with {keys} keys", f"{after:.1e} with {keys} keys", before > 1e-4, after <= 1e-4


@erratum(
    PAPER,
    "Thm 3.1, single precision",
    printed="beta (2 z L - L^2) with beta ~ P^2 log P: more anchors, less error",
    repair="a centred, smooth grid: scores stay small",
    where="search/search.py",
)
def single_precision() -> Evidence:
    """f(z) = z on [0, 10] in float32, P = 30 000, promised 20/P: the scores lose the bits that tell anchors apart."""
    rng, steps, kind = np.random.default_rng(0), 30_000, np.float32
    z = rng.uniform(0, 10, 200).astype(kind)
    h = 10 / steps
    anchors = h * np.arange(steps + 1)
    slopes, offsets = gaussian(anchors, 8 / 3 / h**2 * math.log(4 * 10 * steps / (20 / steps)))
    hard = attend(z, slopes.astype(kind), offsets.astype(kind)) @ anchors.astype(kind)
    before = float(np.abs(hard.astype(float) - z).max())
    spread = np.linspace(-4.0, 14.0, 37)
    slopes, offsets = gaussian(spread, 1.0 / 0.5**2, centre=5.0)
    soft = attend(z - kind(5), slopes.astype(kind), offsets.astype(kind)) @ spread.astype(kind)
    after = float(np.abs(soft.astype(float) - z).max())
    promised = 20 / steps
    return (
        f"{before:.1e} with 30 001 keys (promised {promised:.1e})",
        f"{after:.1e} with {len(spread)} keys",
        before > promised,
        after <= promised,
    )


@erratum(
    PAPER,
    "Thm 3.1, out of range",
    printed="nothing is said about w.x - y outside the grid; the head clamps in silence",
    repair="inputs are checked when the network runs",
    where="targets/formula.py",
)
def out_of_range() -> Evidence:
    """exp on [-1, 1] at z = 2: the last anchor's value comes back."""
    from headsmith.doors.compile import compile

    net = compile("exp(x)", domain=(-1, 1), eps=0.1, method="printed")
    anchors = np.linspace(-1, 1, net.plan.anchors)
    slopes, offsets = gaussian(anchors, 40 / (anchors[1] - anchors[0]) ** 2)
    clamped = float((attend(np.array([2.0]), slopes, offsets) @ np.exp(anchors))[0])
    before = abs(clamped - math.exp(2))
    try:
        net(2.0)
    except Refusal:
        return f"{before:.2g} off, in silence", "refused", before > 0.1, True
    return f"{before:.2g} off, in silence", "answered", before > 0.1, False
