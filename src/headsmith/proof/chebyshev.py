"""Polynomials through Chebyshev nodes in several variables, bounded from their values there.

A polynomial of degree n in each of d variables is at most max over M nodes an axis / cos(n pi/2M)^d (Ehlich and
Zeller, one axis at a time); its norm of interpolation at n + 1 nodes is at most `lebesgue(n)` an axis.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from flint import arb
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def lebesgue(degree: int) -> float:
    """1 + (2/pi) ln(n+1), rounded up."""
    return (1 + 2 / math.pi * math.log(degree + 1)) * (1 + 1e-12)


@lru_cache(maxsize=16)
def chebyshev_nodes(count: int, bits: int) -> list[arb]:
    """cos((2j+1) pi / 2m) in balls, in the caller's precision of so many bits."""
    return [(arb.pi() * (2 * j + 1) / (2 * count)).cos() for j in range(count)]


def angles(count: int) -> Floats:
    """(2j+1) pi / 2m, whose cosines are the first-kind nodes."""
    return (2 * np.arange(count) + 1) * np.pi / (2 * count)


@lru_cache(maxsize=64)
def cosines(rows: int, count: int, columns: int) -> Floats:
    """T_k at the first-kind nodes of `count`: (count, columns); arguments reduced first, so within 8u of the truth."""
    turns = np.outer(2 * np.arange(rows) + 1, np.arange(columns)) % (4 * count)
    return np.cos(turns * np.pi / (2 * count))


def interpolant_bound(values: Floats, degree: int, drop: float, samples: int) -> float:
    """sup over [-1,1]^d of the polynomial with these values at the Chebyshev nodes, from above.

    Chebyshev coefficients that sum to less than `drop` are left out and paid for, which lowers the degree to
    sample for.
    """
    dims, count = values.ndim, degree + 1
    unit, peak = 2.0**-53, float(np.abs(values).max())
    transform = cosines(count, count, count).T * (2 / count)
    transform[0] /= 2
    coefficients = values
    for k in range(dims):
        coefficients = np.moveaxis(np.tensordot(transform, coefficients, (1, k)), 0, k)
    noise = dims * (2 * count) ** dims * (count + 10) * 4 * unit * peak
    size, dropped = np.abs(coefficients), 0.0
    degrees = [degree] * dims
    for k in range(dims):
        while degrees[k] > 1:
            part = float(np.take(size, degrees[k], axis=k).sum())
            if dropped + part > drop:
                break
            dropped += part
            size = np.take(size, range(degrees[k]), axis=k)
            degrees[k] -= 1
    coefficients = coefficients[tuple(slice(n + 1) for n in degrees)]
    each = samples ** (1 / dims)
    shrink = 1.0
    for k, n in enumerate(degrees):
        nodes = max(2 * n, min(24 * n, int(each)))
        fine = cosines(nodes, nodes, n + 1)
        coefficients = np.moveaxis(np.tensordot(fine, coefficients, (1, k)), 0, k)
        shrink *= math.cos(n * math.pi / (2 * nodes)) * (1 - 1e-14)
    return (float(np.abs(coefficients).max()) + noise) / shrink + dropped + noise
