"""What floating point adds to a gate, v sigmoid(beta s), whose score s and value v are sums that layers worked out.

The token sees itself with score beta s and a null token with score 0. The score rounds once and each exp is off by
2 ulp; two exps are summed, divided (two roundings, where the softmax multiplies by the inverse) and multiplied with v.
"""

from __future__ import annotations

import numpy as np

from headsmith.proof.rounding import EXP_ERROR, FORMATS, INFLATE, Format, gamma

SCORE_SLIP, EXP_SLIP = 0.4393, 0.2239
"""sup t^2 sigmoid'(t) and sup |t| sigmoid'(t), rounded up: what a slip of the score and of an exp costs a gate."""


def row_slips(
    rows: np.ndarray, biases: np.ndarray, products: np.ndarray, radius: float, fmt: Format
) -> tuple[np.ndarray, np.ndarray]:
    """(size, slip) of sum_jd row_jd x_jd + bias, |x| <= radius, for rows (..., n heads, d) and biases (...).

    d + 1 terms in a head, then n heads, are at most n + d roundings of a term. What the dtype rounds when it stores
    the rows is known; where `products` says so, they are products, rounded once more in float64.
    """
    n, d = rows.shape[-2:]
    sizes = (np.abs(rows).sum((-1, -2)) * radius + np.abs(biases)) * INFLATE
    with np.errstate(over="ignore", invalid="ignore"):
        cast = [np.abs(w.astype(fmt.name).astype(np.float64) - w) for w in (rows, biases)]
    exact = FORMATS["float64"]
    before = products * exact.unit * (sizes + (n * d * radius + 1) * exact.tiny)
    stored = cast[0].sum((-1, -2)) * radius + cast[1] + before
    return sizes, (stored + gamma(n + d, fmt.unit) * (sizes + stored) + n * (d + 1) * fmt.tiny) * INFLATE


def gate_slip(
    outer: np.ndarray, most: np.ndarray, s_slip: np.ndarray, v_slip: np.ndarray, beta: float, fmt: Format
) -> np.ndarray:
    """|executed gate - outer relu(s)| but for the gap of the gate itself, where |v| = |outer s| <= most.

    relu is 1-Lipschitz and 0 <= sigmoid <= 1, so slips of s and v cost at most |outer| s_slip + v_slip.
    """
    u, v = fmt.unit, most + v_slip
    shift = (SCORE_SLIP + 2 * EXP_ERROR * EXP_SLIP) * u / beta
    return v_slip + outer * (s_slip + shift) + gamma(4, u) * v + (v + 1) * fmt.tiny
