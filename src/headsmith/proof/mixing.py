"""What floating point adds to a weighted mean whose scores are stored: attention with fixed weights.

    y = sum_j w_j v_j,   w = softmax(scores),   |v_j| <= 1

The scores are exact; exp is not, nor are the division (two roundings, where it multiplies by the inverse) and the two
sums, which run in any order. Numbers below the normal range may be flushed to zero.
"""

from __future__ import annotations

import numpy as np

from headsmith.proof.approximation import Unprovable
from headsmith.proof.rounding import EXP_ERROR, INFLATE, Format, gamma, tree


def mix_rounding(scores: np.ndarray, weights: np.ndarray, fmt: Format) -> tuple[float, float]:
    """|executed y - y|, and a bound of the sum of the executed weights; `weights` are those of the exact softmax.

    An exp that is flushed moves the mean by up to 2 tiny; a weight that the division flushes costs less. What the
    products w_j v_j lose is not in it, since it does not shrink with v.
    """
    u, flushed = fmt.unit, len(scores) * fmt.tiny
    slips = exp_slips(scores, fmt)
    moved = float(weights @ slips) + flushed
    share = weights * (1 + slips) / (1 - moved)
    t = tree(share, u, len(scores))
    if not (moved < 0.5 and t < 0.5):
        raise Unprovable(f"{fmt.name} loses the weights of a head")
    mean = (moved_mean(weights, slips) + 2 * flushed) / (1 - moved)
    normal = (t + gamma(2, u)) / (1 - t)
    whole = share * (1 + normal)
    total = float(whole.sum())
    return (mean + normal + tree(whole, u, len(scores)) + u * total) * INFLATE, total * INFLATE


def exp_slips(scores: np.ndarray, fmt: Format) -> np.ndarray:
    """Relative errors of exp(score - largest score): the difference is off by u times itself, exp by 2 ulp."""
    gaps = fmt.unit * (scores.max() - scores) * INFLATE
    with np.errstate(over="ignore"):
        return np.expm1(gaps) * (1 + EXP_ERROR * fmt.unit) + EXP_ERROR * fmt.unit


def moved_mean(weights: np.ndarray, slips: np.ndarray) -> float:
    """sup |sum_j p_j x_j (v_j - mean v)| over |x_j| <= slip_j and |v_j| <= 1.

    The worst v is a vertex: -1 on keys of weight P <= 1/2, which gives 2 (P a + (1 - 2 P) b), a = sum_j p_j slip_j and
    b its part on those keys, at most min(a, P widest). This is the largest over P.

    >>> moved_mean(np.array([0.5, 0.5]), np.array([1e-9, 1e-9]))
    1e-09
    """
    a, widest = float(weights @ slips), float(slips.max())
    q = a / widest
    return widest * (1 + q) ** 2 / 4 if q >= 1 / 3 else 2 * a * (1 - q)
