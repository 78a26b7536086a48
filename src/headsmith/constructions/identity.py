"""The identity as an attention head, from anchors on a lattice: how a linear rule keeps its digits.

Anchors L_r = r h with scores -beta (z - L_r)^2 and values L_r return z almost exactly: sums of Gaussians over a lattice
have no error but an alias (Poisson summation), and cutting it off g steps beyond the range adds a tail:

    |phi(z) - z| <= alias + pad,   alias = (2 pi h / kappa) S1 / (1 - 2 S0),   kappa = beta h^2,  q = exp(-pi^2/kappa),
    S1 = sum k q^(k^2),   S0 = sum q^(k^2),   pad = 2 sum_{k>=g} (k+1) h exp(-kappa k^2) / theta.

So the number of anchors grows like log(range/eps), where that of the printed rule, beta -> infinity and the nearest
anchor, grows like range/eps. This is what Table 4 of In-Context Algorithm Emulation shows
and its theory does not explain. The lattice is symmetric: phi is odd, and small z are returned with small error. The
formulas plan; what is promised is the proof of the table as stored.
"""

from __future__ import annotations

import math

import numpy as np

from headsmith.proof.statement import Head

KAPPAS = tuple(np.geomspace(0.15, 2.5, 60).tolist())


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
    return lattice(steps, h, kappa)


def lattice(steps: int, h: float, kappa: float) -> Head:
    """Anchors r h about 0 for r = 0..steps, scores -(kappa/h^2)(z - L_r)^2."""
    anchors = h * (np.arange(steps + 1) - steps / 2)
    beta = kappa / h**2
    return Head.table(2 * beta * anchors, -beta * anchors**2, anchors)
