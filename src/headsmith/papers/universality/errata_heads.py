"""Errata of the scalar head, whose keys are anchors on a line: a norm, a count of keys and a factor.

(softmax-universality Thm 3.4 and Lemma F.1.)
"""

from __future__ import annotations

import math

import numpy as np

from headsmith.papers.errata import Evidence, erratum
from headsmith.reference.scalar_head import attend, gaussian

PAPER = "softmax-universality"


@erratum(
    PAPER,
    "Lemma F.1, its use",
    printed="|V (softmax - e)| is at most the max-norm of softmax - e times max|V|",
    repair="at most the tail mass times (max V - min V)",
    where="proof/cells.py",
)
def max_norm() -> Evidence:
    """Alternating values +-1 at an anchor: the neighbours pull the same way, which a max-norm does not see."""
    anchors = np.linspace(-1, 1, 33)
    values = np.where(np.arange(33) % 2 == 0, -1.0, 1.0)
    slopes, offsets = gaussian(anchors, 12 / (anchors[1] - anchors[0]) ** 2)
    weights = attend(anchors[16:17], slopes, offsets)[0]
    error = abs(weights @ values - values[16])
    deviation = np.abs(weights - (np.arange(33) == 16)).max()
    tail = 1 - weights[16]
    before, after = error / (deviation * np.abs(values).max()), error / (tail * (values.max() - values.min()))
    return f"error / bound = {before:.2f}", f"error / bound = {after:.2f}", before > 1, after <= 1 + 1e-12


@erratum(
    PAPER,
    "Thm 3.4, proof",
    printed="softmax is eps0-close if beta >= (ln(n-2) - ln eps0)/(dL^2/2), n tokens",
    repair="ln(p-1), p keys: it is the keys that leak",
    where="constructions/printed.py",
)
def count_of_keys() -> Evidence:
    """n = 3 tokens, p = 128 keys, at an anchor: two neighbours leak eps0 each."""
    p, n, eps0 = 128, 3, 1e-3
    anchors = np.linspace(-1, 1, p, endpoint=False)
    half = (anchors[1] - anchors[0]) ** 2 / 2

    def off(beta: float) -> float:
        weights = attend(anchors[64:65], *gaussian(anchors, beta))[0]
        return float(np.abs(weights - (np.arange(p) == 64)).max()) / eps0

    before, after = off((math.log(n - 2) - math.log(eps0)) / half), off((math.log(p - 1) - math.log(eps0)) / half)
    return f"{before:.2f} eps0", f"{after:.3f} eps0", before > 1, after <= 1


@erratum(
    PAPER,
    "Thm 3.4, beta twice",
    printed="W_K and W_Q both carry beta, for scores -(beta/2)(z - L)^2",
    repair="the product of their factors is beta dL/2",
    where="constructions/printed.py",
)
def beta_twice() -> Evidence:
    """p = 128: the printed product is beta^2, and the head is steeper by the same factor."""
    p = 128
    step = 2 / p
    k = np.arange(p)
    anchors = -1 + k * step
    beta = 2 / step**2 * math.log(p * (p - 2))
    meant = -beta / 2 * ((0.3 - anchors) ** 2 - (0.3 - anchors[0]) ** 2)

    def ratio(product: float) -> float:
        scores = -product * k * (-2 * 0.3 + anchors[0] + anchors)
        return float(np.median(scores[1:] / meant[1:]))

    before, after = ratio(beta * beta), ratio(beta * step / 2)
    return f"scores {before:.2g} times as large", f"{after:.6f} times", before > 10, abs(after - 1) < 1e-9
