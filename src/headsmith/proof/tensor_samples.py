"""Several variables, an opaque function: samples of it, and the user's Lipschitz constant for what lies between them.

On a cell the head is a polynomial p up to a proved remainder, whose slopes are polynomials and bounded like it. On
a mesh of spacing s (in the largest coordinate),

    |phi - f| <= max over the mesh |phi - f| + (slope of p + L) s/2 + 2 remainder + rounding,

where |f(x) - f(y)| <= L max_k |x_k - y_k|. The constant is checked on the mesh and refused when the samples
contradict it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev

from headsmith.functions.asked import ULPS
from headsmith.proof.approximation import Unprovable
from headsmith.proof.chebyshev import angles, cosines
from headsmith.proof.rounding import FORMATS
from headsmith.proof.tensor import Box, Floats, TensorHead, interpolate
from headsmith.proof.tensor_rounding import prove_tensor_rounding
from headsmith.records.shown import upper
from headsmith.refusal import Refusal

SAMPLES = 10_000_000
SHARE = 0.6  # of eps for what happens between the samples
NOISE = ULPS * 2.0**-52  # the function is taken to return float64 values within this share of the largest


def prove_tensor_samples(head: TensorHead, f: Callable[..., Floats], lipschitz: float, box: Box, eps: float) -> float:
    """sup |phi - f| over the box, given |f(x) - f(y)| <= lipschitz max|x - y| in every component."""
    proof, cells = interpolate(head, (), [f"x{k + 1}" for k in range(len(box))], box, 0.02 * eps)
    plans = []
    for edges, rest in cells:
        steep = _slope(head, edges, proof.degree) + lipschitz
        counts = [max(1, math.ceil(min((b - a) * steep / (SHARE * eps), 1e9))) for a, b in edges]
        plans.append((edges, rest, steep, counts))
    total = sum(math.prod(n + 1 for n in counts) for *_, counts in plans)
    if total > SAMPLES:
        raise Unprovable(
            f"Lipschitz constant {lipschitz:g} and eps = {eps:g} call for {total:.1e} samples, more than "
            f"{SAMPLES:.0e}; formulas need no samples",
            eps * (10 * total / SAMPLES) ** (1 / len(box)),
        )
    worst = 0.0
    for edges, rest, steep, counts in plans:
        nodes = [np.linspace(a, b, n + 1) for (a, b), n in zip(edges, counts, strict=True)]
        values = f(*np.meshgrid(*nodes, indexing="ij"))
        if not np.isfinite(values).all() or len(values) != head.components:
            raise Unprovable("the function is not finite at a sample, or has not as many outputs as the head")
        step = max((b - a) / n for (a, b), n in zip(edges, counts, strict=True)) * (1 + 1e-12)
        size = float(np.abs(values).max())
        refuse_contradicted(values, nodes, lipschitz)
        between = steep * step / 2 + 2 * rest + NOISE * size
        worst = max(worst, float(np.abs(head.grid(nodes) - values).max()) + between)
    rounding = prove_tensor_rounding(head, box, FORMATS["float64"], 1e-3 * eps)
    return (worst + rounding) * (1 + 1e-9)


def _slope(head: TensorHead, edges: Box, degree: int) -> float:
    """sum_k sup |dp/dx_k| of the interpolating polynomial on a cell, the largest over the components.

    The derivative is a polynomial too, bounded on M = 8n nodes an axis and divided by cos(n pi/2M)^d.
    """
    count, dims = degree + 1, len(edges)
    nodes = [(a + b) / 2 + (b - a) / 2 * np.cos(angles(count)) for a, b in edges]
    transform = cosines(count, count, count).T * (2 / count)
    transform[0] /= 2
    coefficients = head.grid(nodes)
    for k in range(dims):
        coefficients = np.moveaxis(np.tensordot(transform, coefficients, (1, k + 1)), 0, k + 1)
    fine = 8 * degree if dims < 3 else 3 * degree
    total: Floats = np.zeros(len(coefficients))
    for k, (a, b) in enumerate(edges):
        values = chebyshev.chebder(coefficients, axis=k + 1)
        for i in range(dims):
            values = np.moveaxis(np.tensordot(cosines(fine, fine, values.shape[i + 1]), values, (1, i + 1)), 0, i + 1)
        total = total + np.abs(values).reshape(len(values), -1).max(1) * 2 / (b - a)
    noise = degree**2 * dims * (2 * count) ** dims * (count + 10) * 2.0**-50 * float(np.abs(head.values).max())
    noise *= 2 / min(b - a for a, b in edges)
    return (float(total.max()) + noise) / math.cos(degree * math.pi / (2 * fine)) ** dims * (1 + 1e-9)


def refuse_contradicted(values: Floats, nodes: list[Floats], lipschitz: float) -> None:
    """A constant that neighbouring samples on a grid disprove, naming what they allow."""
    noise = 2 * NOISE * float(np.abs(values).max())
    for k, x in enumerate(nodes):
        if len(x) < 2:
            continue
        step = float(np.diff(x).max())
        rise = float(np.abs(np.diff(values, axis=k + 1)).max())
        if rise > lipschitz * step + noise:
            raise Refusal(
                f"the function rises with slope {rise / step:.6g} along x{k + 1}, so {lipschitz:g} is no Lipschitz "
                f"constant; give at least {upper(rise / step, 3)}"
            )
