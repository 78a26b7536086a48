"""Errors through a stack y_l = sigma(W_l y_{l-1} + b_l) whose activations are heads.

    e_l <= eps_l + L_l (|W_l| e_{l-1} + lin_l),        componentwise, absolute values of matrices entrywise

eps_l is the proved error of the heads on a domain that holds *our* preactivations, L_l the Lipschitz constant of sigma
there, lin_l the rounding of the matrix product; the slope of a head is never needed. What is propagated is the error,
not the values: intervals of values grow hopelessly, and only say on which domain the heads must be good.

Domains: boxes through the matrices, and beside them a zonotope, which remembers that the coordinates are tied,

    sigma(z) = lambda z + mu +- delta on [lo, hi];      the smaller of both is kept, unit by unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb

from headsmith.functions import Expression
from headsmith.functions.activations import THRESHOLD, spelled
from headsmith.proof.rounding import Format, gamma
from headsmith.proof.statement import Head

INFLATE = 1 + 1e-9  # pays for float64 arithmetic on sums of non-negative terms
BOTTOMS = {"SiLU": -0.2784646, "QuickGELU": -0.1636103, "GELU": -0.1699713, "GELUTanh": -0.1700410}
STEEPEST = 1.13  # the largest slope of those with a bottom
SAMPLES = 256  # cells in which an activation is sampled, with its Lipschitz constant between


@dataclass(frozen=True, eq=False)
class Linear:
    """y = weight x + bias, weight (out, in)."""

    weight: np.ndarray
    bias: np.ndarray

    def box(self, lo: np.ndarray, hi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The image of a box, rounded outwards."""
        middle, radius = (lo + hi) / 2, (hi - lo) / 2
        reach = np.abs(self.weight) @ radius + self.noise(np.abs(middle) + radius)
        centre = self.weight @ middle + self.bias
        return centre - reach * INFLATE, centre + reach * INFLATE

    def noise(self, size: np.ndarray) -> np.ndarray:
        """What float64 may add to weight x + bias, computed here, for |x| <= size."""
        terms = self.weight.shape[1] + 3
        return terms * 2.0**-52 * (np.abs(self.weight) @ size + np.abs(self.bias)) + 1e-300


@dataclass(frozen=True)
class Nonlinearity:
    """A function that falls to its `bottom` and rises from there (None: it only rises), |sigma'| <= steep.

    Above `cut`, the code that runs under its name may be `gap` away from the formula.
    """

    expression: Expression
    bottom: float | None = None
    steep: float = 1.0
    gap: float = 0.0
    cut: float = math.inf

    def at(self, z: arb) -> arb:
        """A ball that holds the formula and the code at z."""
        return self.expression.at(z) + (arb(0) if bool(z < self.cut) else arb(0, self.gap))

    def apart(self, highest: float) -> float:
        """How far code and formula are apart up to this input."""
        return self.gap if highest >= self.cut else 0.0

    def box(self, lo: np.ndarray, hi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bounds of sigma on each [lo, hi]: the ends, and the bottom."""
        ends = np.stack([self.expression(lo), self.expression(hi)])
        low = ends.min(0) if self.bottom is None else np.minimum(ends.min(0), self.bottom)
        room = 1e-9 * (1 + np.abs(ends).max(0)) + self.gap
        return low - room, ends.max(0) + room

    def band(self, lo: np.ndarray, hi: np.ndarray, slope: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(lambda, mu, delta) with |sigma(z) - lambda z - mu| <= delta on [lo, hi]; `slope` bounds |sigma'|."""
        width = np.maximum(hi - lo, 1e-300)
        tilt = (self.expression(hi) - self.expression(lo)) / width
        z = lo[:, None] + width[:, None] * np.linspace(0, 1, SAMPLES + 1)
        rest = self.expression(z) - tilt[:, None] * z
        least, most = rest.min(1), rest.max(1)
        between = (slope + np.abs(tilt)) * width / (2 * SAMPLES)
        room = 1e-9 * (1 + np.abs(z).max(1) * (1 + np.abs(tilt))) + self.gap
        return tilt, (least + most) / 2, ((most - least) / 2 + between + room) * INFLATE


def activation(formula: Expression) -> Nonlinearity:
    """What the proof needs to know of it: where it turns, its steepest slope, and where its code departs from it.

    >>> from headsmith.functions.activations import named
    >>> activation(named("silu")).bottom
    -0.2784646
    """
    name = spelled(formula)
    if name.startswith("LeakyReLU"):
        slope = float(name[10:-1])
        return Nonlinearity(formula, 0.0 if slope < 0 else None, max(1.0, abs(slope)))
    if name == "Softplus":
        return Nonlinearity(formula, gap=math.exp(-THRESHOLD), cut=THRESHOLD)
    return Nonlinearity(formula, BOTTOMS.get(name), STEEPEST if name in BOTTOMS else 1.0)


@dataclass(frozen=True, eq=False)
class Unit:
    """Heads that stand for an activation on a domain: proved errors, and the Lipschitz constant of the activation."""

    heads: tuple[Head, ...]
    approximation: float
    rounding: float
    slope: float

    def size(self, top: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """sum of |head| for each unit, given bounds of what it returns and of |z|, both ours."""
        if len(self.heads) == 1:
            return top * INFLATE
        values = sum(float(np.abs(h.values).max()) for h in self.heads)
        lines = sum(float(np.abs(h.lines).max()) for h in self.heads)
        return (values + lines * reach) * INFLATE + self.rounding


@dataclass(frozen=True, eq=False)
class Carried:
    """The errors of the outputs, and on which domain each activation was proved."""

    approximation: np.ndarray
    rounding: np.ndarray
    domains: tuple[tuple[float, float], ...]
    units: tuple[Unit, ...]


def carry(
    linears: Sequence[Linear],
    activations: Sequence[Nonlinearity],
    domain: tuple[float, float],
    fmt: Format,
    choose: Callable[[int, tuple[float, float]], Unit],
) -> Carried:
    """Through the whole stack; `choose(layer, domain)` gives the heads of a layer, proved on that domain."""
    features = linears[0].weight.shape[1]
    lo, hi = np.full(features, domain[0]), np.full(features, domain[1])
    zonotope = Zonotope((lo + hi) / 2, np.diag((hi - lo) / 2), 1e-15 * (np.abs(lo) + np.abs(hi)))
    approximation, rounding = np.zeros(features), np.zeros(features)
    size, terms = np.maximum(np.abs(lo), np.abs(hi)), features + 1
    domains, units = [], []
    for layer, linear in enumerate(linears):
        matrix = np.abs(linear.weight)
        noise = gamma(terms + 1, fmt.unit) * (matrix @ size + np.abs(linear.bias)) + 2 * terms * fmt.tiny
        approximation = matrix @ approximation * INFLATE
        rounding = (matrix @ rounding + noise) * INFLATE
        if layer == len(activations):
            break
        lo, hi = linear.box(lo, hi)
        zonotope = zonotope.through(linear)
        lo, hi = zonotope.meet(lo, hi)
        wide = approximation + rounding
        reach = float((lo - wide).min()), float((hi + wide).max())
        reach = math.nextafter(reach[0] * INFLATE, -math.inf), math.nextafter(reach[1] * INFLATE, math.inf)
        reach = min(reach[0], -1e-3), max(reach[1], 1e-3)
        sigma, unit = activations[layer], choose(layer, reach)
        zonotope = zonotope.bent(*sigma.band(lo, hi, unit.slope))
        top = np.maximum(np.abs(lo), np.abs(hi)) + wide
        lo, hi = sigma.box(lo, hi)
        approximation = (unit.approximation + sigma.apart(reach[1]) + unit.slope * approximation) * INFLATE
        rounding = (unit.rounding + unit.slope * rounding) * INFLATE
        size = unit.size(np.maximum(np.abs(lo), np.abs(hi)) + approximation + rounding, top)
        terms = len(unit.heads) * len(size) + 1
        domains.append(reach)
        units.append(unit)
    return Carried(approximation, rounding, tuple(domains), tuple(units))


def sensitivities(linears: Sequence[Linear], slopes: Sequence[float]) -> list[float]:
    """S_l = max over outputs of (|W_last| L ... L |W_{l+1}|) 1: what an error of 1 in every unit of layer l costs."""
    found, row = [], np.eye(len(linears[-1].bias))
    for linear, slope in zip(reversed(linears[1:]), reversed(slopes), strict=True):
        row = row @ np.abs(linear.weight)
        found.append(float(row.sum(1).max()))
        row = row * slope
    return found[::-1]


@dataclass(frozen=True, eq=False)
class Zonotope:
    """centre + generators e +- noise,  |e_i| <= 1;  generators (coordinates, directions), noise from rounding."""

    centre: np.ndarray
    generators: np.ndarray
    noise: np.ndarray

    def through(self, linear: Linear) -> Zonotope:
        """W (centre + generators e) + b, with noise |W| noise and what the product itself rounds."""
        size = np.abs(self.centre) + np.abs(self.generators).sum(1) + self.noise
        noise = np.abs(linear.weight) @ self.noise + linear.noise(size)
        return Zonotope(linear.weight @ self.centre + linear.bias, linear.weight @ self.generators, noise * INFLATE)

    def meet(self, lo: np.ndarray, hi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The box, cut down to this zonotope's."""
        reach = (np.abs(self.generators).sum(1) + self.noise) * INFLATE + 1e-15 * np.abs(self.centre)
        return np.maximum(lo, self.centre - reach), np.minimum(hi, self.centre + reach)

    def bent(self, tilt: np.ndarray, shift: np.ndarray, width: np.ndarray) -> Zonotope:
        """lambda z + mu +- delta, a fresh direction for each coordinate."""
        spread = np.concatenate([self.generators * tilt[:, None], np.diag(width)], 1)
        size = np.abs(self.centre) + np.abs(self.generators).sum(1)
        noise = np.abs(tilt) * self.noise + 1e-15 * (np.abs(tilt) * size + np.abs(shift))
        return Zonotope(tilt * self.centre + shift, spread, noise * INFLATE)
