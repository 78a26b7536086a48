"""The gradient of a network, in balls: what a step of the transformer is compared with.

    z(j) = V_j p(j-1),   p(j) = r(z(j)),   delta(j) = r'(z(j)) (V_{j+1}' delta(j+1)),   grad_j = (1/n) delta(j)' p(j-1)

Rows are samples. Where a network has biases, V_j has them as its last column and p a constant 1. r' is that of torch: 0
at the kink of ReLU and at both ends of hard tanh, a at the kink of a leaky ReLU of slope a.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flint import arb, arb_mat

from headsmith.functions.balls import hull
from headsmith.functions.kinks import LEAK

Curve = Callable[[arb], arb]


def _step(below: float, above: float) -> Curve:
    """`below` for z <= 0, `above` for z > 0, both where a ball cannot tell."""
    return lambda z: arb(above) if z > 0 else arb(below) if z <= 0 else hull(below, above)


def _inside(z: arb) -> arb:
    size = abs(z)
    return arb(1) if size < 1 else arb(0) if size >= 1 else hull(0, 1)


def _sigmoid(z: arb) -> arb:
    return 1 / (1 + (-z).exp())


def _normal(z: arb) -> arb:
    """The share of a normal distribution below z."""
    return (-z / arb(2).sqrt()).erfc() / 2


CURVES: dict[str, tuple[Curve, Curve]] = {
    "identity": (lambda z: z, lambda z: arb(1)),
    "relu": (lambda z: z.max(arb(0)), _step(0.0, 1.0)),
    "leaky": (lambda z: z.max(arb(0)) + arb(LEAK) * z.min(arb(0)), _step(LEAK, 1.0)),
    "hard tanh": (lambda z: z.max(arb(-1)).min(arb(1)), _inside),
    "tanh": (lambda z: z.tanh(), lambda z: 1 / z.cosh() ** 2),
    "sigmoid": (_sigmoid, lambda z: _sigmoid(z) * _sigmoid(-z)),
    "silu": (lambda z: z * _sigmoid(z), lambda z: _sigmoid(z) * (1 + z * _sigmoid(-z))),
    "softplus": (lambda z: (1 + (-abs(z)).exp()).log() + z.max(arb(0)), _sigmoid),
    "gelu": (lambda z: z * _normal(z), lambda z: _normal(z) + z * (-z * z / 2).exp() / (2 * arb.pi()).sqrt()),
}
"""activation -> (r, r')"""


@dataclass(frozen=True)
class Backpropagation:
    """A network: its activation, the layers that have it, whether it has biases, and loss' as a function of (f, y).

    >>> net = Backpropagation("relu", (1,), False, lambda f, y: f - y)
    >>> V = [arb_mat([[1.0], [-1.0]]), arb_mat([[2.0, 1.0]])]
    >>> net.gradient(V, arb_mat([[3.0]]), arb_mat([[5.0]]), [1.0])[0].tolist()
    [[6.00000000000000], [0]]
    """

    activation: str
    bent: tuple[int, ...]
    biases: bool
    slope: Callable[[arb, arb], arb]

    def outputs(self, rows: Sequence[arb_mat], x: arb_mat) -> tuple[list[arb_mat], list[arb_mat], arb_mat]:
        """(what each layer reads, z of each layer, f), one row for each sample."""
        value, p = CURVES[self.activation][0], x
        reads, levels = [], []
        for j, V in enumerate(rows, 1):
            reads.append(_with_one(p) if self.biases else p)
            levels.append(reads[-1] * V.transpose())
            p = _each(value, levels[-1]) if j in self.bent else levels[-1]
        return reads, levels, p

    def gradient(self, rows: Sequence[arb_mat], x: arb_mat, y: arb_mat, present: Sequence[float]) -> list[arb_mat]:
        """The mean over the samples that are present, a matrix for each layer."""
        reads, levels, f = self.outputs(rows, x)
        slope, last = CURVES[self.activation][1], len(rows)
        pairs = zip(f.tolist(), y.tolist(), present, strict=True)
        delta = arb_mat([[arb(t) * self.slope(a, b) for a, b in zip(u, v, strict=True)] for u, v, t in pairs])
        found = []
        for j in range(last, 0, -1):
            if j < last:
                delta = delta * _columns(rows[j], levels[j - 1].ncols())
            if j in self.bent:
                delta = _product(delta, _each(slope, levels[j - 1]))
            found.append(delta.transpose() * reads[j - 1] * (1 / arb(sum(present))))
        return found[::-1]


def _each(curve: Curve, values: arb_mat) -> arb_mat:
    return arb_mat([[curve(v) for v in row] for row in values.tolist()])


def _product(a: arb_mat, b: arb_mat) -> arb_mat:
    """Entry by entry."""
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    return arb_mat([[u * v for u, v in zip(*rows, strict=True)] for rows in pairs])


def _with_one(p: arb_mat) -> arb_mat:
    return arb_mat([[*row, arb(1)] for row in p.tolist()])


def _columns(V: arb_mat, count: int) -> arb_mat:
    """Without the biases."""
    return arb_mat([row[:count] for row in V.tolist()])
