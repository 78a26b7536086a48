"""Errata of the scalar head: one head whose keys are anchors on a line.

Both constructive papers rest on it: scores -(beta/2)(z - L_k)^2, values f(L_k), and beta so large that the nearest
anchor takes all. What is printed about it fails in small ways (a norm, a letter, a count of keys) and in one large
way: sizes that grow like 1/eps and then stop helping, because single precision cannot hold the scores.
"""

from __future__ import annotations

import math

import numpy as np

from headsmith.papers.errata import Evidence, erratum
from headsmith.refusal import Refusal

UNIVERSALITY, EMULATION = "softmax-universality", "algorithm-emulation"


def attend(z: np.ndarray, slopes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """softmax_k(slopes_k z + offsets_k), one row per input, in the dtype of its arguments.

    >>> attend(np.zeros(1), np.zeros(2), np.zeros(2))
    array([[0.5, 0.5]])
    """
    scores = z[:, None] * slopes + offsets
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


def gaussian(anchors: np.ndarray, beta: float, centre: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Slopes and offsets of -(beta/2)(z - L_k)^2, less what all keys share, for the input z - centre."""
    moved = anchors - centre
    return beta * moved, -beta / 2 * moved**2


@erratum(
    UNIVERSALITY,
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
    UNIVERSALITY,
    "Thm 3.4, proof",
    printed="softmax is eps0-close if beta >= (ln(n-2) - ln eps0)/(dL^2/2), n tokens",
    repair="ln(p-1), p keys: it is the keys that leak",
    where="heads/printed.py",
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
    UNIVERSALITY,
    "Thm 3.4, beta twice",
    printed="W_K and W_Q both carry beta, for scores -(beta/2)(z - L)^2",
    repair="the product of their factors is beta dL/2",
    where="heads/printed.py",
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


@erratum(
    EMULATION,
    "Thm 3.1, size",
    printed="P = 2 Lip (b - a)/eps anchors, a staircase: 1/eps",
    repair="keys searched, values solved: log(1/eps)",
    where="heads/search.py",
)
def staircase() -> Evidence:
    """sin(3*x) on [-2, 2] with as many keys as ours: how far the printed rule gets, and ours at eps = 1e-4."""
    from headsmith.targets import compile
    from headsmith.targets.measurement import measure

    net = compile("sin(3*x)", domain=(-2, 2), eps=1e-4)
    keys = net.plan.anchors
    anchors = np.linspace(-2, 2, keys)
    z = np.linspace(-2, 2, 4001)
    beta = 8 / 3 / (anchors[1] - anchors[0]) ** 2 * math.log(4 * keys / 1e-4)
    before = float(np.abs(attend(z, *gaussian(anchors, beta)) @ np.sin(3 * anchors) - np.sin(3 * z)).max())
    after = measure(net).error  # type: ignore[arg-type]
    return f"{before:.2g} with {keys} keys", f"{after:.1e} with {keys} keys", before > 1e-4, after <= 1e-4


@erratum(
    EMULATION,
    "Thm 3.1, single precision",
    printed="beta (2 z L - L^2) with beta ~ P^2 log P: more anchors, less error",
    repair="a centred, smooth grid: scores stay small",
    where="heads/search.py",
)
def single_precision() -> Evidence:
    """f(z) = z on [0, 10] in float32, P = 30 000, promised 20/P: the scores lose the bits that tell anchors apart."""
    rng, steps, kind = np.random.default_rng(0), 30_000, np.float32
    z = rng.uniform(0, 10, 200).astype(kind)
    h = 10 / steps
    anchors = h * np.arange(steps + 1)
    slopes, offsets = gaussian(anchors, 8 / 3 / h**2 * math.log(4 * 10 * steps / (20 / steps)))
    hard = attend(z, slopes.astype(kind), offsets.astype(kind)) @ anchors.astype(kind)
    before = float(np.abs(hard.astype(float) - z).max())
    spread = np.linspace(-4.0, 14.0, 37)
    slopes, offsets = gaussian(spread, 1.0 / 0.5**2, centre=5.0)
    soft = attend(z - kind(5), slopes.astype(kind), offsets.astype(kind)) @ spread.astype(kind)
    after = float(np.abs(soft.astype(float) - z).max())
    promised = 20 / steps
    return (
        f"{before:.1e} with 30 001 keys (promised {promised:.1e})",
        f"{after:.1e} with {len(spread)} keys",
        before > promised,
        after <= promised,
    )


@erratum(
    EMULATION,
    "Thm 3.1, out of range",
    printed="nothing is said about w.x - y outside the grid; the head clamps in silence",
    repair="inputs are checked when the network runs",
    where="targets/formula.py",
)
def out_of_range() -> Evidence:
    """exp on [-1, 1] at z = 2: the last anchor's value comes back."""
    from headsmith.targets import compile

    net = compile("exp(x)", domain=(-1, 1), eps=0.1, method="printed")
    anchors = np.linspace(-1, 1, net.plan.anchors)
    slopes, offsets = gaussian(anchors, 40 / (anchors[1] - anchors[0]) ** 2)
    clamped = float((attend(np.array([2.0]), slopes, offsets) @ np.exp(anchors))[0])
    before = abs(clamped - math.exp(2))
    try:
        net(2.0)
    except Refusal:
        return f"{before:.2g} off, in silence", "refused", before > 0.1, True
    return f"{before:.2g} off, in silence", "answered", before > 0.1, False
