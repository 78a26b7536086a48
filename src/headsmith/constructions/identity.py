"""The identity as an attention head: how a stored number gets out of a prompt, and how a linear rule keeps its digits.

A frozen head cannot hold a weight that it is to be told later, but it can *score* with it: with the key a_r
theta + b_r and the query x, head r sees a_r (theta . x) + b_r, and if the values are the anchors L_r, softmax
returns theta . x up to a small error. Which error depends on the anchors alone:

    smooth    L_r = r h, score -beta (z - L_r)^2. Sums of Gaussians over a lattice are almost exact (Poisson summation)
    two-key   L = -A, A, score z/A L_r/A: A tanh(z/A), error at most |z|^3 / (3 A^2)
    printed   the same lattice with beta -> infinity: the nearest anchor, error h/2 (algorithm-emulation Thm 4.2)

The only error of the infinite lattice is an alias, and cutting it off g steps beyond the range adds a tail:

    |phi(z) - z| <= alias + pad,   alias = (2 pi h / kappa) S1 / (1 - 2 S0),   kappa = beta h^2,  q = exp(-pi^2/kappa),
    S1 = sum k q^(k^2),   S0 = sum q^(k^2),   pad = 2 sum_{k>=g} (k+1) h exp(-kappa k^2) / theta.

So the number of smooth anchors grows like log(range/eps), of printed ones like range/eps. This is what Table 4 of
In-Context Algorithm Emulation shows and its theory does not explain. The lattice is symmetric: phi is odd, and small z
are returned with small error. The formulas plan; what is promised is the proof of the table as stored.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from headsmith.functions import parse
from headsmith.proof.approximation import Approximation, prove
from headsmith.proof.rounding import FORMATS, prove_rounding
from headsmith.proof.statement import Head, Part
from headsmith.refusal import Refusal

KAPPAS = tuple(np.geomspace(0.15, 2.5, 60).tolist())


@dataclass(frozen=True, eq=False)
class Identity:
    """phi(z) = sum_r softmax_r(slopes_r z + offsets_r) anchors_r, close to z for |z| <= radius.

    >>> table = smooth(5.0, 1e-3)
    >>> table.steps, table.proof.bound <= 1e-3
    (6, True)
    """

    head: Head
    radius: float
    dtype: str
    proof: Approximation

    @property
    def steps(self) -> int:
        """P: the table has P + 1 keys."""
        return self.head.keys - 1

    def rounding(self, terms: int, size: float) -> float:
        """What rounding adds when z is a dot product of `terms` terms whose absolute values sum to at most `size`."""
        level = math.ceil(math.log2(max(size, self.radius) / self.radius))
        return _rounding(self, terms, self.radius * 2.0**level)

    def __call__(self, z: np.ndarray) -> np.ndarray:
        return self.head(z)


def alias(kappa: float) -> float:
    """Error of the infinite lattice, in steps.

    >>> alias(0.5) < 3.4e-8 < alias(0.51)
    True
    """
    q = math.exp(-(math.pi**2) / kappa)
    s1 = sum(k * q ** (k * k) for k in range(1, 6))
    s0 = sum(q ** (k * k) for k in range(1, 6))
    return 2 * math.pi / kappa * s1 / (1 - 2 * s0)


def pad(kappa: float, guards: int) -> float:
    """Error of ending the lattice `guards` steps beyond the range, in steps."""
    far = range(guards, guards + 60)
    tail = 2 * sum(math.exp(-kappa * k * k) for k in far)
    near = sum(2 * math.exp(-kappa * (k + 0.5) ** 2) for k in range(guards + 60))
    theta = max(math.exp(-kappa / 4), near - tail)
    return 2 * sum((k + 1) * math.exp(-kappa * k * k) for k in far) / theta + alias(kappa) * tail / theta


def identity(radius: float, eps: float) -> Head:
    """z for |z| <= radius within eps in exact arithmetic: the shortest lattice that the closed formulas promise.

    >>> identity(5.0, 1e-3).keys, identity(5.0, 1e-9).keys
    (10, 20)
    """
    found = []
    for kappa in KAPPAS:
        for guards in range(1, 16):
            # steps = 2 radius / h + 2 guards must be whole: shrink h to the next one that makes it so
            inner = max(1, math.ceil(2 * radius * (alias(kappa) + pad(kappa, guards)) / eps))
            found.append((inner + 2 * guards, kappa, 2 * radius / inner))
    steps, kappa, h = min(found, key=lambda each: each[0])
    return _lattice(steps, h, kappa)


def smooth(radius: float, eps: float, dtype: str = "float64") -> Identity:
    """The shortest smooth table that is found whose *proved* error on |z| <= radius is at most eps.

    The closed formulas give a first number of steps; then one step after another is taken away as long as some spacing
    and sharpness still reach eps at sampled points, and the table is proved.
    """
    if eps < 1e-18 * radius:
        raise Refusal(f"the identity on |z| <= {radius:g} cannot be had within {eps:.2g}: numbers are not that fine")
    shortest = identity(radius, eps)
    while shortest.keys > 3:
        error, h, kappa = best_lattice(radius, shortest.keys - 2)
        if error > 0.98 * eps:
            break
        shortest = _lattice(shortest.keys - 2, h, kappa)
    found = _proved(shortest, radius, dtype, eps)
    if found.proof.bound > eps:
        raise Refusal(
            f"the identity on |z| <= {radius:g} cannot be had within {eps:.2g} in {dtype}: rounding the table costs "
            f"{found.proof.bound:.2g}; ask for a larger eps"
        )
    return found


def two_key(radius: float, eps: float, dtype: str = "float64") -> Identity:
    """A tanh(z/A) with A = sqrt(radius^3 / (3 eps)): two keys, no lattice."""
    a = math.sqrt(radius**3 / (3 * 0.99 * eps))
    return _proved(Head.table([-1 / a, 1 / a], [0.0, 0.0], [-a, a]), radius, dtype, eps)


def lattice(half_width: float, steps: int, beta: float, radius: float, dtype: str = "float64") -> Identity:
    """Anchors -S + 2 S r / P, scores -beta (z - L_r)^2: any P and beta, as an experiment gives them."""
    h = 2 * half_width / steps
    return _proved(_lattice(steps, h, beta * h * h), radius, dtype, 1e-13 * radius)


def printed(radius: float, eps: float) -> tuple[int, float]:
    """(P, beta) of the printed rule: h <= eps/2 and beta = 4/(3 h^2) ln(2 (2 radius) P / eps).

    >>> printed(2.0, 1e-3)[0]
    8000
    """
    steps = math.ceil(4 * radius / eps)
    h = 2 * radius / steps
    return steps, 4 / (3 * h * h) * math.log(4 * radius * steps / eps)


def best_lattice(radius: float, steps: int) -> tuple[float, float, float]:
    """(sampled error, h, kappa) of the best smooth lattice with this many steps on |z| <= radius."""
    z = np.linspace(0.0, radius, 121)
    kappas = np.geomspace(0.1, 2.5, 60)[:, None, None]
    found = (math.inf, 0.0, 0.0)
    for spread in np.geomspace(0.3, 3.0, 30).tolist():  # guard as a multiple of sqrt(steps), the natural scale
        guard = spread * math.sqrt(steps)
        if steps - 2 * guard < 0.5:
            break
        h = 2 * radius / (steps - 2 * guard)
        anchors = h * (np.arange(steps + 1) - steps / 2)
        weights = np.exp(-kappas * ((z[:, None] - anchors) / h) ** 2)
        errors = np.abs((weights @ anchors) / weights.sum(-1) - z).max(-1)
        k = int(np.nanargmin(errors))
        found = min(found, (float(errors[k]), h, float(kappas[k, 0, 0])))
    return found


def _lattice(steps: int, h: float, kappa: float) -> Head:
    anchors = h * (np.arange(steps + 1) - steps / 2)
    beta = kappa / h**2
    return Head.table(2 * beta * anchors, -beta * anchors**2, anchors)


def _proved(head: Head, radius: float, dtype: str, floor: float) -> Identity:
    cast = head.cast(dtype)
    return Identity(cast, radius, dtype, prove(_part(cast, radius), 0.01 * floor))


def _part(head: Head, radius: float) -> Part:
    return Part("x", "out", parse("x"), (-radius, radius), (head,))


@lru_cache(maxsize=512)
def _rounding(table: Identity, terms: int, size: float) -> float:
    part = _part(table.head, table.radius)
    return prove_rounding(part, FORMATS[table.dtype], 0.0, terms=terms, reach=size).bound
