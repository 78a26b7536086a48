"""A scalar head as it is stored, and what rounding does to it.

Softmax is shift invariant, floating point is not.  To first order the rounding of the scores costs

    N = u max_z sum_j w_j |g_j - phi| (|a_j z| + |b_j| + |a_j z + b_j|),

so a huge score is harmless where its key has no weight or the leading keys share one value.  The key whose
score is set to zero is chosen to make N small, and N (with the rounding of the values and of their sum) is
part of every acceptance test.
"""

import math
from dataclasses import dataclass

import numpy as np

from headsmith.search.keys import Array, Keys, attention, lines

ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24}


@dataclass(frozen=True)
class KeyTable:
    """phi(z) = sum_j softmax_j(slopes_j z + offsets_j) values_j, with its sampled sup error.

    `error` is measured in the dtype asked for; `noise` estimates the rounding error a proof would have to
    allow.  In float32 the arrays hold float32 numbers, widened.
    """

    slopes: Array
    offsets: Array
    values: Array
    error: float
    noise: float

    def __call__(self, z: Array) -> Array:
        return evaluate(self.slopes, self.offsets, self.values, np.asarray(z, np.float64))

    @property
    def total(self) -> float:
        """What must fit into eps: error + 2 noise, since a proof allows for more rounding than is seen."""
        return self.error + 2 * self.noise

    def __len__(self) -> int:
        return len(self.slopes)


class Unreached(Exception):
    """No head within eps was found: the best one seen (if any) and the reason, as a clause."""

    def __init__(self, best: KeyTable | None, reason: str) -> None:
        super().__init__(reason)
        self.best = best
        self.reason = reason
        self.near = best.error + best.noise if best else math.inf


def evaluate(slopes: Array, offsets: Array, values: Array, z: Array) -> Array:
    """phi(z), computed in the dtype of its arguments (all alike)."""
    scores = slopes[:, None] * z[None, :]
    scores += offsets[:, None]
    scores -= scores.max(axis=0)
    np.exp(scores, out=scores)
    return (values @ scores) / scores.sum(axis=0)


def noise(slopes: Array, offsets: Array, values: Array, weights: Array, z: Array, u: float) -> float:
    """N + 8 u max|g|, with weights = the attention at the points z."""
    spread = weights * np.abs(values[:, None] - values @ weights)
    return _score_noise(slopes, offsets, spread, z, u) + 8 * u * float(np.abs(values).max())


def _score_noise(slopes: Array, offsets: Array, spread: Array, z: Array, u: float) -> float:
    product = slopes[:, None] * z[None, :]
    size = np.abs(product + offsets[:, None])
    size += np.abs(product)
    size += np.abs(offsets)[:, None]
    return u * float(np.einsum("jm,jm->m", spread, size).max())


def best_reference(keys: Keys, values: Array, z: Array, start: int = 0) -> int:
    """The key that should score zero: the one with the least N over the points z."""
    weights = attention(keys, z, start)
    gaps = np.abs(values[..., :, None] - (values @ weights)[..., None, :])
    spread = weights * gaps.reshape(-1, *weights.shape).max(axis=0)
    most = min(keys.number, 32, max(6, 6_000_000 // weights.size))
    tries = np.unique(np.linspace(0, keys.number - 1, most).astype(int))
    return int(min(tries, key=lambda r: _score_noise(*lines(keys, int(r)), spread, z, 1.0)))
