"""The keys of a scalar head as crossings and steps, the coordinates in which they are easy to move.

A softmax head over one number, phi(z) = sum_j softmax_j(a_j z + b_j) g_j, does not change when one line is
added to all scores.  Sort the keys by slope: what is left are P - 1 *crossings* c_k, the places where the
neighbours k and k + 1 are equally strong, and P - 1 positive *steps* s_k = a_{k+1} - a_k, the sharpness of
the hand-over there.  Slopes and offsets come back as running sums, started at a *reference* key whose score
is zero: exact arithmetic does not care which, floating point does.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LN2 = float(np.log(2.0))


class Keys(NamedTuple):
    """Neighbours k, k + 1 score equally at cross[k]; their slopes differ by step[k] > 0.

    >>> Keys(np.array([0.0]), np.array([2.0]))          # two keys: sigmoid(2 z)
    Keys(cross=array([0.]), step=array([2.]))
    """

    cross: Array
    step: Array

    @property
    def number(self) -> int:
        """Keys of the head: one more than crossings."""
        return len(self.cross) + 1


def from_anchors(anchors: Array, kappa: float) -> Keys:
    """Neighbouring anchors hand over half-way between them, with step 2 kappa / gap.

    >>> from_anchors(np.array([0.0, 1.0, 2.0]), 0.5)
    Keys(cross=array([0.5, 1.5]), step=array([1., 1.]))
    """
    gap = np.diff(anchors)
    return Keys((anchors[1:] + anchors[:-1]) / 2, 2 * kappa / gap)


def running(terms: Array, reference: int) -> Array:
    """Sums of terms[reference:j] (minus those on the left of it), added outwards from the reference."""
    out = np.zeros((len(terms) + 1, *terms.shape[1:]))
    if reference < len(terms):
        np.add.accumulate(terms[reference:], axis=0, out=out[reference + 1 :])
    if reference > 0:
        out[:reference] = -np.add.accumulate(terms[:reference][::-1], axis=0)[::-1]
    return out


def lines(keys: Keys, reference: int) -> tuple[Array, Array]:
    """Slopes a and offsets b with a = b = 0 at the reference key."""
    return running(keys.step, reference), running(-keys.step * keys.cross, reference)


def attention(keys: Keys, z: Array, reference: int) -> Array:
    """softmax_j(a_j z + b_j) as a (P, points) array, summed outwards so that far groups lose no digits."""
    terms = z[None, :] - keys.cross[:, None]
    terms *= keys.step[:, None]
    weights = running(terms, reference)
    weights -= weights.max(axis=0)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=0)
    return weights


def split(keys: Keys, j: int, at: float, width: float) -> Keys:
    """Key j becomes two that cross at `at`; with equal values the head keeps its value there."""
    cross, step = keys
    around = step[max(j - 1, 0) : j + 1]
    delta = min(0.4 * float(around.min()), 2.0 / width) if len(around) else 1.0 / width
    new_cross, new_step = np.insert(cross, j, at), np.insert(step, j, 2 * delta)
    for k, old, sign in ((j - 1, j - 1, 1.0), (j + 1, j, -1.0)):
        if 0 <= old < len(cross):
            new_step[k] = step[old] - delta
            new_cross[k] = (step[old] * cross[old] - delta * at + sign * LN2) / new_step[k]
    return Keys(new_cross, new_step)


def merge(keys: Keys, k: int) -> Keys:
    """Keys k and k + 1 become one, as strong as both together where they crossed (undoes `split`)."""
    cross, step = np.delete(keys.cross, k), np.delete(keys.step, k)
    at, delta = keys.cross[k], keys.step[k] / 2
    for j, sign in ((k - 1, 1.0), (k, -1.0)):
        if 0 <= j < len(cross):
            total = step[j] + delta
            cross[j] = (step[j] * cross[j] + delta * at - sign * LN2) / total
            step[j] = total
    return Keys(cross, step)
