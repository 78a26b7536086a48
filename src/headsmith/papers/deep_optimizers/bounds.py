"""How far sums of ReLUs put a gradient off, known before any prompt is: as printed, and repaired.

    p(j) = r(V_j p(j-1)),   s(N) = r' u,   s(j) = r' (V_{j+1}' s(j+1)),   u = 2 (p(N) - y),   A(j) = s(j) p(j-1)'
    gradient = (1/2n) sum of A(1), ..., A(N) over n samples; r, r' and u within eps_r, eps_slope, eps_loss of themselves

Every row of V is at most B_v in the 2-norm. The paper bounds V' s by rows too, but V' is made of columns (E5), and adds
up p and A with sqrt(P) and P where P and P^2 are (E6). `mended` puts these in their places. `two_norm` starts again:
|V|_2 <= sqrt(units) B_v serves V and V' alike, and no entry is bounded alone.

(deep-optimizers Lemma 2, Lemma 6, Cor 1.1.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

ROOM = 0.25
"""What |p| may be off by and still be in the range of the sums."""


@dataclass(frozen=True)
class Hypotheses:
    """N layers of these widths, |v|_2 <= row for each row of weights, |x|_2 <= x, |y_k| <= y, and r at every layer."""

    depth: int
    inputs: int
    width: int
    outputs: int
    row: float
    x: float
    y: float

    @property
    def units(self) -> tuple[int, ...]:
        """n_1, ..., n_N."""
        return (self.width,) * (self.depth - 1) + (self.outputs,)

    @property
    def root(self) -> float:
        """P = max(sqrt(K), sqrt(d))."""
        return math.sqrt(max(self.units))


@dataclass(frozen=True)
class CurveBounds:
    """What is known of r: |r(t)| <= highest(T) for |t| <= T, |r'| <= steep, |r''| <= bend, |r'''| <= twist."""

    highest: Callable[[float], float]
    steep: float
    bend: float
    twist: float


TANH = CurveBounds(math.tanh, 1.0, 4 / (3 * math.sqrt(3)), 2.0)
SIGMOID = CurveBounds(lambda t: 1 / (1 + math.exp(-t)), 1 / 4, 1 / (6 * math.sqrt(3)), 1 / 8)


@dataclass(frozen=True)
class Eps:
    """eps_r, eps_slope, eps_loss: how far the sums are from r, r' and u."""

    r: float
    slope: float
    loss: float = 0.0


def printed(h: Hypotheses, r: CurveBounds, e: Eps) -> float:
    """(N/2) P [(E_s^r eps_r + E_s^r' eps_slope + E_s^l eps_loss) sqrt(P) B_r + B_s E_r eps_r], to the letter.

    >>> h = Hypotheses(depth=3, inputs=3, width=5, outputs=3, row=2.0, x=1.0, y=1.0)
    >>> printed(h, TANH, Eps(1e-4, 1e-4)) < mended(h, TANH, Eps(1e-4, 1e-4))
    True
    """
    P, largest, E_r = h.root, _largest(h, r, 1.0), _grown(h, r)
    B_s, E_s = _lemma_6(h, r, P, r.steep, 2 * (largest[-1] + h.y))
    off = E_s.r * e.r + E_s.slope * e.slope + E_s.loss * e.loss
    return h.depth / 2 * P * (off * math.sqrt(P) * max(largest) + B_s * E_r * e.r)


def mended(h: Hypotheses, r: CurveBounds, e: Eps) -> float:
    """(N/2) P [(E_s^r eps_r + ...) max(B_x, P B_r) + B_s E_r eps_r] with P^2 for P in B_s and E_s: the printed form.

    B_r' and B_l are of what was approximated, as Lemma 6 has it, and so is |p|.
    """
    P, largest, E_r = h.root, _largest(h, r, math.sqrt(h.width)), _grown(h, r)
    steep = r.steep + e.slope + r.bend * h.row * E_r * e.r
    handed = 2 * (largest[-1] + h.y) + e.loss + 2 * E_r * e.r
    B_s, E_s = _lemma_6(h, r, P * P, steep, handed)
    off = E_s.r * e.r + E_s.slope * e.slope + E_s.loss * e.loss
    size = max(h.x, P * max(largest[1:])) + E_r * e.r
    return h.depth / 2 * P * (off * size + B_s * E_r * e.r)


def _largest(h: Hypotheses, r: CurveBounds, spread: float) -> list[float]:
    """B_r^0, ..., B_r^N: B_r^j = highest(B_v B_r^(j-1)), where entries would have to be spread times that (E3)."""
    found = [h.x]
    for j in range(h.depth):
        found.append(r.highest(h.row * found[-1] * (spread if j else 1.0)))
    return found


def _grown(h: Hypotheses, r: CurveBounds) -> float:
    """E_r: |p(j)| is off by at most E_r eps_r."""
    total = [sum((math.sqrt(h.width) * r.steep * h.row) ** k for k in range(j)) for j in range(1, h.depth + 1)]
    return max(part * math.sqrt(n) for part, n in zip(total, h.units, strict=True))


def _lemma_6(h: Hypotheses, r: CurveBounds, columns: float, steep: float, handed: float) -> tuple[float, Eps]:
    """(B_s, E_s of each eps); |V' s| is taken for columns B_v max |s|, r' for at most steep, u for at most handed."""
    E_r, factor = _grown(h, r), columns * h.row
    powers = [(steep * factor) ** k for k in range(h.depth)]
    tails = [sum(powers[:k]) for k in range(h.depth)]
    B_s = max(powers) * steep * handed
    each = [factor * B_s * tail + power * handed for tail, power in zip(tails, powers, strict=True)]
    from_r = max(r.bend * h.row * E_r * one + power * steep * 2 * E_r for one, power in zip(each, powers, strict=True))
    return B_s, Eps(from_r, max(each), max(powers) * steep)


def two_norm(h: Hypotheses, r: CurveBounds, e: Eps) -> float:
    """(1/2) sqrt(sum_j (f_j (rho_{j-1} + e_{j-1}) + S_j e_{j-1})^2), from norms of whole layers.

        rho_j = sqrt(n_j) highest(B_v rho_{j-1}), rho_0 = B_x            |p(j)|
        e_j = sqrt(n_j) (eps_r + steep B_v e_{j-1}), e_0 = 0             what p(j) is off by
        c_j = eps_slope + bend B_v e_{j-1}                               what a slope is off by
        gamma = eps_loss + 2 e_N / sqrt(n_N)                             what u_k is off by
        S_N = sqrt(n_N) steep B_l, S_j = steep nu_{j+1} S_{j+1}          |s(j)|, nu_j = sqrt(n_j) B_v
        f_N = sqrt(n_N) (c_N (B_l + gamma) + steep gamma)                what s(N) is off by
        f_j = c_j nu_{j+1} (S_{j+1} + f_{j+1}) + steep nu_{j+1} f_{j+1}  what s(j) is off by

    >>> h = Hypotheses(depth=3, inputs=3, width=5, outputs=3, row=2.0, x=1.0, y=1.0)
    >>> two_norm(h, TANH, Eps(1e-4, 1e-4)) < mended(h, TANH, Eps(1e-4, 1e-4)) / 100
    True
    """
    rho, off = _norms(h, r), _apart(h, r, e)
    apart = [e.slope + r.bend * h.row * before for before in off[:-1]]
    last = math.sqrt(h.outputs)
    missed = e.loss + 2 * off[-1] / last
    handed = 2 * (r.highest(h.row * rho[-2]) + h.y)
    S, f = last * r.steep * handed, last * (apart[-1] * (handed + missed) + r.steep * missed)
    total = 0.0
    for j in range(h.depth - 1, -1, -1):
        total += (f * (rho[j] + off[j]) + S * off[j]) ** 2
        nu = math.sqrt(h.units[j]) * h.row
        S, f = r.steep * nu * S, apart[j - 1] * nu * (S + f) + r.steep * nu * f
    return math.sqrt(total) / 2


def _norms(h: Hypotheses, r: CurveBounds) -> list[float]:
    """rho_0, ..., rho_N."""
    found = [h.x]
    for n in h.units:
        found.append(math.sqrt(n) * r.highest(h.row * found[-1]))
    return found


def _apart(h: Hypotheses, r: CurveBounds, e: Eps) -> list[float]:
    """e_0, ..., e_N."""
    found = [0.0]
    for n in h.units:
        found.append(math.sqrt(n) * (e.r + r.steep * h.row * found[-1]))
    return found


def reach(h: Hypotheses, r: CurveBounds) -> float:
    """R = B_v (max_j rho_j + ROOM): where pre-activations lie, of the sums too as long as no |p| is off by ROOM."""
    return h.row * (max(_norms(h, r)[:-1]) + ROOM)


def uniform(r: CurveBounds, end: float, knots: int) -> Eps:
    """h^2 |r''| / 8 and h^2 |r'''| / 8, h = 2 R / (knots - 1): sums that meet r and r' at as many equal steps."""
    step = 2 * end / (knots - 1)
    return Eps(step * step * r.bend / 8, step * step * r.twist / 8)


def a_priori(h: Hypotheses, r: CurveBounds, knots: int) -> float:
    """`two_norm` of sums of so many knots; infinite where they may leave their own range."""
    e = uniform(r, reach(h, r), knots)
    return two_norm(h, r, e) if max(_apart(h, r, e)[:-1]) <= ROOM else math.inf


def printed_trajectory(eps: float, lipschitz: float, samples: int, steps: int) -> float:
    """(1 + n L_f)^l eps / L_f."""
    return (1 + samples * lipschitz) ** steps * eps / lipschitz


def trajectory(eps: float, lipschitz: float, rate: float, steps: int) -> float:
    """((1 + rate L_f)^l - 1) eps / L_f, both paths projected, on a convex set, L_f of the gradient.

    >>> trajectory(1e-3, 4.0, 0.1, 1)
    0.0001
    """
    return math.expm1(steps * math.log1p(rate * lipschitz)) * eps / lipschitz


@dataclass(frozen=True)
class Demand:
    """What a gradient within eps asks for: knots of a sum, and heads of the widest layer, ((N - 1) K + d) knots."""

    knots: int
    heads: int
    printed_heads: float


def demand(h: Hypotheses, r: CurveBounds, eps: float) -> Demand:
    """Knots as `a_priori` has them; beside it eps_r^-2 terms of each unit, eps_r = 2 eps / (3 C_r) as Theorem 1 says.

    The constants in front of eps^-2, c(k) C^2 of a Lemma that is about existence, are left out: taken for 1.

    >>> need = demand(Hypotheses(3, 3, 5, 3, row=2.0, x=1.0, y=1.0), TANH, 1e-2)
    >>> need.knots, need.heads == 13 * need.knots
    (..., True)
    """
    few, many = 1, 2
    while a_priori(h, r, many) > eps:
        few, many = many, 2 * many
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if a_priori(h, r, middle) > eps else (few, middle)
    each = [3 * printed(h, r, Eps(*unit)) / eps for unit in ((1.0, 0.0), (0.0, 1.0))]
    units = sum(h.units)
    return Demand(many, units * many, max(h.width * each[0] ** 2, units * each[1] ** 2))
