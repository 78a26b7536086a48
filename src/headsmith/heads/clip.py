"""Heads of constant values for Range_[a,b](z) = min(max(z, a), b): the papers' rules and what they should have been.

Every one of them scores its anchors by -(beta/2)(z - L_k)^2, so with c = beta dL^2 it is a Gaussian smoother on a
uniform grid. The papers send c to infinity, a staircase with error dL/2 (dL as printed, since b itself is no anchor);
c = 5.43 with both ends as anchors errs by 0.0615 dL, for every number of anchors.

With H heads on n tokens (Thm 3.9) the tokens themselves are the keys. Printed: each head holds n - 2 anchors between
two sentinels of value 0, and the network returns 0 outside [a, b]. Repaired, the outermost sentinels carry a and b. Our
form telescopes: Range_[a,b] = a + sum_h (Range_[l_h,r_h] - l_h), one interval for each head, no sentinels at all.

(softmax-universality Thm 3.4, Cor G.6, Thm 3.9, repaired where need be.)
"""

from __future__ import annotations

import math

import numpy as np

from headsmith.proof.statement import Head

SHARPNESS = 5.43  # c = beta dL^2 with the least error, 0.0615 dL
WORST = 0.064  # of dL, at that sharpness, with room for the proof


def smoother(anchors: np.ndarray, values: np.ndarray, beta: float) -> Head:
    """score_k = -(beta/2)(z - L_k)^2 up to a common term, centred in the middle of the anchors.

    >>> import numpy as np
    >>> float(smoother(np.array([0.0, 1.0]), np.array([0.0, 1.0]), 5.43)(np.array(0.5)))
    0.5
    """
    middle = (anchors[0] + anchors[-1]) / 2
    slopes = beta * (anchors - middle)
    return Head.table(slopes, -slopes * middle - beta / 2 * (anchors - middle) ** 2, values)


def uniform(low: float, high: float, keys: int, c: float = SHARPNESS) -> Head:
    """Anchors at both ends and evenly between: error 0.0615 (high - low)/(keys - 1)."""
    anchors = np.linspace(low, high, keys)
    return smoother(anchors, anchors, c * ((keys - 1) / (high - low)) ** 2)


def printed_size(low: float, high: float, eps: float, tokens: int = 1) -> int:
    """p = max(n + 1, ceil(2 (b - a)/eps)) of Cor G.6."""
    return max(tokens + 1, math.ceil(2 * (high - low) / eps * (1 - 1e-12)))


def printed(low: float, high: float, p: int, eps: float) -> Head:
    """Thm 3.4 with the sizes of Cor G.6: L_k = a + k (b - a)/p, k = 0..p-1; b is no anchor."""
    anchors = low + (high - low) / p * np.arange(p)
    size = max(abs(low), abs(high))
    beta = 2 * (p / (high - low)) ** 2 * (math.log(max(p - 2, 2)) + math.log(2 * size / eps))
    return smoother(anchors, anchors, beta)


def printed_rule(low: float, high: float, p: int) -> Head:
    """Thm 3.4 with eps_0 = 1/p (Remark G.5): what the slope in p is measured on."""
    anchors = low + (high - low) / p * np.arange(p)
    return smoother(anchors, anchors, 2 * (p / (high - low)) ** 2 * math.log(p * (p - 2)))


def telescope(low: float, high: float, keys: int, heads: int, c: float = SHARPNESS) -> list[Head]:
    """H heads of `keys` anchors each: head h returns Range_[l_h, r_h](z) - l_h; the first one adds `low`.

    >>> len(telescope(-1, 2, keys=10, heads=4))
    4
    """
    edges = np.linspace(low, high, heads + 1)
    found = []
    for h in range(heads):
        head = uniform(edges[h], edges[h + 1], keys, c)
        found.append(Head.table(head.slopes, head.offsets, head.values - (edges[h] if h else 0.0)))
    return found


def telescope_size(low: float, high: float, keys: int, eps: float) -> int:
    """H = ceil(0.064 (b - a)/((n - 1) eps))."""
    return max(1, math.ceil(WORST * (high - low) / ((keys - 1) * eps)))


def sentinels(
    low: float, high: float, tokens: int, heads: int, eps: float, repaired: bool = False, c: float | None = None
) -> list[Head]:
    """Thm 3.9: head h holds k = (h-1)(n-2) - 1, ..., h(n-2), the first and the last with value 0.

    The scale beta' is not printed; beta' dL = ln(8 M (n-1)/eps) is the least that selects. `repaired` gives the very
    first sentinel the value a and the very last one b, without which the truncation is lost.
    """
    step = (high - low) / (heads * (tokens - 2))
    size = max(abs(low), abs(high))
    sharp = 2 * math.log(8 * size * (tokens - 1) / eps) if c is None else c
    found = []
    for h in range(heads):
        anchors = low + step * np.arange(h * (tokens - 2) - 1, (h + 1) * (tokens - 2) + 1)
        values = anchors.copy()
        values[[0, -1]] = 0.0
        if repaired and h == 0:
            values[0] = low
        if repaired and h == heads - 1:
            values[-1] = high
        found.append(smoother(anchors, values, sharp / step**2))
    return found


def sentinel_size(low: float, high: float, tokens: int, eps: float) -> int:
    """H = ceil(2 (b - a)/(eps (n - 2))): what the printed bound asks for."""
    return max(1, math.ceil(2 * (high - low) / (eps * (tokens - 2)) * (1 - 1e-12)))
