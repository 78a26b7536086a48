"""What fails as printed of the universal approximator (low-rank-memorization, Prop 1, Eq 58 to 67), and its repair."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from headsmith.papers.errata import Evidence, erratum
from headsmith.records.shown import number

PAPER = "low-rank-memorization"
D = 8
STEEP = 100.0  # R, or 1/delta: how steep a ramp is
HERE = "papers/low_rank_memorization/errata_approximation.py"


def relu(z: np.ndarray) -> np.ndarray:
    return np.maximum(z, 0.0)


def step(z: np.ndarray) -> np.ndarray:
    """From 0 to 1 between 0 and 1/STEEP."""
    return relu(STEEP * z) - relu(STEEP * z - 1)


@erratum(
    PAPER,
    "Eq 58",
    printed="the quantiser sums steps at t/D for t = 1 to D",
    repair="t = 0 to D - 1",
    where=HERE,
)
def quantiser() -> Evidence:
    """z in the middle of each cell, whose upper corner is wanted."""
    z = (np.arange(D) + 0.5) / D
    wanted = np.ceil(z * D) / D
    before, after = (
        float(np.abs(sum(step(z - t / D) for t in ts) / D - wanted).max()) for ts in (range(1, D + 1), range(D))
    )
    return f"off by {before:.3g}, a cell", f"off by {number(after, 1)}", before >= 1 / D, after < 1e-12


@erratum(
    PAPER,
    "Eq 59",
    printed="+step(z - 1) above 1; -relu(-R z) - relu(-R z - 1) below 0: -1 outside [0, 1]",
    repair="-step(z - 1) - step(-z), step(z) = relu(R z) - relu(R z - 1)",
    where=HERE,
)
def penalty() -> Evidence:
    """At z = -3 and z = 3: the penalty ought to be -1."""
    z = np.array([-3.0, 3.0])
    inside = np.linspace(0, 1, 11)
    printed = step(z - 1) - relu(-STEEP * z) - relu(-STEEP * z - 1)

    def repaired(z: np.ndarray) -> np.ndarray:
        return -step(z - 1) - step(-z)

    low, high = printed.tolist()
    works = np.abs(repaired(z) + 1).max() < 1e-9 and np.abs(repaired(inside)).max() == 0
    return f"{low:g} below, {high:+g} above", "-1 below, -1 above, 0 within", low < -2 and high > 0, bool(works)


@erratum(
    PAPER,
    "Eq 60",
    printed="the first layer adds up penalties over all positions",
    repair="it works on each token by itself; what lies outside the box is refused",
    where="targets/equivariant.py",
)
def penalty_of_others() -> Evidence:
    """Two inputs whose first tokens agree; the second token is inside the box, or is not."""
    inputs = np.array([[0.5, 0.5], [0.5, 3.0]])
    wanted = -step(inputs - 1).sum(1) - step(-inputs).sum(1)
    tokenwise = -step(inputs - 1)[:, 0] - step(-inputs)[:, 0]
    gap = float(np.abs(wanted[0] - wanted[1]))
    return (
        f"penalties {gap:g} apart are wanted of first tokens that are the same",
        f"what works on a token by itself gives them {abs(tokenwise[0] - tokenwise[1]):g} apart: no layer of Eq 3 can",
        gap > 0,
        tokenwise[0] == tokenwise[1],
    )


@erratum(
    PAPER,
    "Eq 64, Eq 65",
    printed="for large D the attention moves a token by at most d n/(4 D), less than 1/(4 D)",
    repair="the output direction divided by d n",
    where=HERE,
)
def large_grid() -> Evidence:
    """n = d = 2: the quotient of the two is d n for every D."""
    n, d, grids = 2, 2, [2**k for k in range(1, 30)]
    before = min((d * n / (4 * m)) / (1 / (4 * m)) for m in grids)
    after = max((d * n / (4 * m)) / (d * n) / (1 / (4 * m)) for m in grids)
    return f"{before:g} times 1/(4 D), D from 2 to 5e8", f"{after:g} times 1/(4 D)", before > 1, after <= 1


def hat(z: np.ndarray, middle: float, weight: float) -> np.ndarray:
    """relu(R (z - l) + 1) - weight relu(R (z - l)) + relu(R (z - l) - 1): a hat if the weight is 2."""
    at = STEEP * (z - middle)
    return relu(at + 1) - weight * relu(at) + relu(at - 1)


@erratum(
    PAPER,
    "Eq 67, the hat",
    printed="relu(R (z - l) + 1) - relu(R (z - l)) + relu(R (z - l) - 1)",
    repair="-2 relu(R (z - l))",
    where=HERE,
)
def unbounded_hat() -> Evidence:
    """From 0 to 1, middle 1/2."""
    z = np.linspace(0, 1, 1001)
    before, after = hat(z, 0.5, 1.0), hat(z, 0.5, 2.0)
    away = np.abs(z - 0.5) > 1.5 / STEEP
    ok = abs(after.max() - 1) < 1e-9 and float(np.abs(after[away]).max()) < 1e-9
    return f"{before.max():.3g} at z = 1", f"at most {after.max():.3g}, 0 away from l", before.max() > 10, bool(ok)


@erratum(
    PAPER,
    "Eq 67, the bump",
    printed="the mean of hats over all coordinates is a bump at the grid point L",
    repair="interpolation on the scalar id of L, which names all of it",
    where="network/lookup.py",
)
def mean_of_hats() -> Evidence:
    """Grid points of (1/8, ..., 1)^2: the mean of two hats at one of them, beside ids a . L with an irrational a."""
    points = np.array([(i, j) for i in range(1, D + 1) for j in range(1, D + 1)]) / D
    L = points[20]
    before = (hat(points[:, 0], L[0], 2.0) + hat(points[:, 1], L[1], 2.0)) / 2
    ids = points @ np.array([1.0, math.sqrt(2) - 1])
    order = np.argsort(ids)
    after = np.interp(ids, ids[order], np.eye(len(points))[20][order])
    others = np.arange(len(points)) != 20
    return (
        f"{before[others].max():g} at {int((before[others] > 0.1).sum())} other grid points",
        f"{number(float(after[others].max()), 1)} at other grid points, {after[20]:g} at L",
        before[others].max() > 0.4,
        after[others].max() < 1e-12 and after[20] == 1,
    )


@erratum(
    PAPER,
    "Prop 1, its last step",
    printed="a cell of the grid has volume D^-d, and those with equal tokens a volume that vanishes",
    repair="D^-(d n), and a share of at most n (n - 1)/2 D^-d",
    where="constructions/grid_memory.py",
)
def repeated_cells() -> Evidence:
    """D = 8, d = 1, n = 3: all cells whose tokens are not all different, counted."""
    n, d = 3, 1
    repeated = sum(len({*cell}) < n for cell in product(range(D**d), repeat=n))
    before, after, most = repeated / D**d, repeated / D ** (d * n), n * (n - 1) / 2 / D**d
    return f"a volume of {before:g} in a box of 1", f"{after:.3g}, at most {most:.3g}", before > 1, after <= most
