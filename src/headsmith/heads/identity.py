"""The identity as a softmax table: a lattice of keys, and how few of them are enough.

A key at L_j with score -beta (z - L_j)^2 and value L_j: softmax over a lattice of step h returns z itself, almost. By
Poisson summation the only error of the infinite lattice is an alias, and cutting the lattice off g steps beyond the
range adds a tail:

    |phi(z) - z| <= alias + pad,   alias = (2 pi h / kappa) S1 / (1 - 2 S0),   kappa = beta h^2,  q = exp(-pi^2/kappa),
    S1 = sum k q^(k^2),   S0 = sum q^(k^2),   pad = 2 sum_{k>=g} (k+1) h exp(-kappa k^2) / theta.

So the number of keys grows like the logarithm of range / eps, where the papers' proofs (beta -> infinity, nearest key
takes all) need range / eps of them. This is what Table 4 of In-Context Algorithm Emulation shows and its theory does
not explain. The lattice is symmetric, so phi is odd: phi(0) = 0, and small z are returned with small error.
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
    """z for |z| <= radius within eps (in exact arithmetic), with the fewest keys of a symmetric lattice.

    >>> identity(5.0, 1e-3).keys, identity(5.0, 1e-9).keys
    (11, 21)
    """
    best: tuple[int, float, float] | None = None
    for kappa in KAPPAS:
        for guards in range(1, 16):
            unit = alias(kappa) + pad(kappa, guards)
            # steps = 2 radius / h + 2 guards must be whole: shrink h to the next one that makes it so
            inner = max(1, math.ceil(2 * radius * unit / eps))
            steps = inner + 2 * guards
            if best is None or steps < best[0]:
                best = (steps, kappa, 2 * radius / inner)
    assert best is not None
    steps, kappa, h = best
    anchors = h * (np.arange(steps + 1) - steps / 2)
    beta = kappa / h**2
    return Head.table(2 * beta * anchors, -beta * anchors**2, anchors)
