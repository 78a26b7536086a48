"""The question a head answers, sampled where it is hard: f on [lo, hi], cut into pieces.

[lo, hi] is split recursively until a polynomial of degree 11 follows f on every piece.  The pieces grade
themselves towards kinks, layers and singular ends, so the same few points per piece serve the fit, the
starting keys (equal numbers of pieces per key) and the final measurement.  The split is at the fraction
0.4718: a kink at a round number must not hide on an edge.
"""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.polynomial import chebyshev

from headsmith.search.keys import Array, Keys
from headsmith.search.table import ROUNDOFF, KeyTable, Unreached, evaluate

Function = Callable[[Array], Array]

CUT = 0.4718
DEGREE = 11
MOST_PIECES = 3000
MARGIN = 0.97  # of eps: what a head may err by
_NODES = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
_BETWEEN = np.cos(np.pi * np.arange(DEGREE + 2) / (DEGREE + 1))
_TO_COEFFICIENTS = np.linalg.inv(chebyshev.chebvander(_NODES, DEGREE))


class Question:
    """f on [lo, hi] within eps, values at most cap max|f|, all arithmetic in dtype."""

    def __init__(
        self,
        f: Function,
        lo: float,
        hi: float,
        eps: float,
        kinks: Sequence[float] = (),
        cap: float | None = None,
        dtype: str = "float64",
    ) -> None:
        self.f, self.lo, self.hi, self.eps = f, float(lo), float(hi), float(eps)
        self.dtype, self.u = dtype, ROUNDOFF[dtype]
        first = self.sample(np.linspace(self.lo, self.hi, 401))
        self.middle = float(first.max() / 2 + first.min() / 2)
        self.size = float(np.abs(first).max()) or 1.0
        self.half_range = float(first.max() - first.min()) / 2
        self.edges = self._pieces()
        self.kinks = sorted({float(k) for k in kinks if self.lo < k < self.hi})
        wanted = cap if cap is not None else 1e4 if dtype == "float64" else 30.0 if eps > 1e-5 else 10.0
        affordable = self.eps / (60 * self.u) / self.size
        self.limit = self.size * wanted
        self.cap = self.size * min(0.9 * wanted, max(affordable, 3.0))
        self.density, self.goal = 1.0, 0.85
        self._grids: dict[int, tuple[Array, Array]] = {}

    def sample(self, z: Array) -> Array:
        """f at these points; what is not finite is refused."""
        with np.errstate(all="ignore"):
            y = np.asarray(self.f(z), np.float64)
        if not np.all(np.isfinite(y)):
            raise Unreached(None, f"it is not finite near {z[~np.isfinite(y)][0]:.6g}")
        return y

    def _pieces(self) -> Array:
        """The edges of the pieces, breadth first, one call of f per generation."""
        if self.lo == self.hi:
            return np.array([self.lo, self.hi])
        # float64 rounds x before f sees it: samples of a smooth f are noisy at some 2^-50 of its size, more where steep
        tolerance = max(min(self.eps, 2e-4 * self.half_range) / 4, 2.0**-46 * self.size)
        rng = np.random.default_rng(20)
        left, right = np.array([self.lo]), np.array([self.hi])
        done = [self.lo, self.hi]
        points = 400
        while len(left):
            if len(left) + len(done) > MOST_PIECES:
                raise Unreached(None, f"it is too rough near {left[len(left) // 2]:.6g} to be resolved")
            nodes = (right + left)[:, None] / 2 + (right - left)[:, None] / 2 * _NODES
            checks = np.empty((len(left), len(_BETWEEN) + points))
            checks[:, : len(_BETWEEN)] = _BETWEEN
            checks[:, len(_BETWEEN) :] = rng.uniform(-1, 1, (len(left), points))
            places = (right + left)[:, None] / 2 + (right - left)[:, None] / 2 * checks
            both = np.concatenate([nodes, places], axis=1)
            both = np.clip(both, left[:, None], right[:, None])
            y = self.sample(both.ravel()).reshape(both.shape)
            coefficients = y[:, : DEGREE + 1] @ _TO_COEFFICIENTS.T
            width = (right - left)[:, None]
            x = (2 * both - left[:, None] - right[:, None]) / width
            follows = _clenshaw(x, coefficients)
            misses = np.abs(follows - y).max(axis=1)
            small = right - left <= 8 * np.spacing(np.maximum(np.abs(left), np.abs(right)))
            moves = np.ptp(y, axis=1)
            jump = small & (moves > self.eps / 2) & (misses > tolerance)
            if jump.any():
                at = int(np.argmax(jump))
                raise Unreached(None, f"it jumps by {moves[at]:.3g} near {left[at]:.6g}")
            again = (misses > tolerance) & ~small
            left, right = left[again], right[again]
            middle = left + CUT * (right - left)
            done.extend(middle.tolist())
            left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
            points = max(12, points // 2)
        return np.unique(done)

    @property
    def pieces(self) -> int:
        """Intervals between kinks."""
        return len(self.edges) - 1

    def grid(self, count: int) -> tuple[Array, Array]:
        """Fit points for `count` keys, Chebyshev on every piece and its edges; f there less its middle."""
        each = int(np.ceil(self.density * max(6.0, 5 * count / self.pieces)))
        if each not in self._grids:
            z = self._on_pieces(np.cos(np.pi * (np.arange(each) + 0.5) / each))
            self._grids[each] = z, self.sample(z) - self.middle
        return self._grids[each]

    def _on_pieces(self, nodes: Array) -> Array:
        left, right = self.edges[:-1, None], self.edges[1:, None]
        inside = np.clip((left + right) / 2 + (right - left) / 2 * nodes, left, right)
        return np.unique(np.concatenate([inside.ravel(), self.edges]))

    @cached_property
    def _dense(self) -> tuple[Array, Array]:
        z = np.concatenate([np.linspace(self.lo, self.hi, 4001), self._on_pieces(np.linspace(-1, 1, 41))])
        return self._represent(z)

    def _represent(self, z: Array) -> tuple[Array, Array]:
        """Points of the dtype inside the domain, in order, and f there."""
        if self.dtype == "float32":
            z = z.astype(np.float32).astype(np.float64)
        z = np.unique(z[(z >= self.lo) & (z <= self.hi)])
        return z, self.sample(z)

    def measure(self, slopes: Array, offsets: Array, values: Array, keys: Keys) -> float:
        """sup |phi - f| over a dense grid, the crossings, and two refinements at the 8 worst places."""

        def errors(z: Array, y: Array) -> Array:
            a, b, g, x = (v.astype(self.dtype) for v in (slopes, offsets, values, z))
            return np.abs(evaluate(a, b, g, x).astype(np.float64) - y)

        z, y = self._dense
        near = keys.cross[:, None] + np.array([-4, -2, -1, 0, 1, 2, 4]) / keys.step[:, None]
        extra = self._represent(near.ravel())
        error = np.concatenate([errors(z, y), errors(*extra)]) if len(extra[0]) else errors(z, y)
        z = np.concatenate([z, extra[0]])
        for _ in range(2):
            order = np.argsort(z)
            z, error = z[order], error[order]
            worst = np.argsort(error)[-8:]
            left, right = z[np.maximum(worst - 1, 0)], z[np.minimum(worst + 1, len(z) - 1)]
            fine, y = self._represent(np.linspace(left, right, 21).ravel())
            if not len(fine):
                break
            z, error = np.concatenate([z, fine]), np.concatenate([error, errors(fine, y)])
        return float(error.max())

    def accepts(self, table: KeyTable) -> bool:
        """Error and noise within MARGIN eps, values within the limit, and quiet where eps allows it."""
        loudest = self.eps / 6 if self.eps > 200 * self.u * self.size else self.eps
        within = table.total <= MARGIN * self.eps and table.noise <= loudest
        return within and float(np.abs(table.values).max()) <= self.limit

    def calm(self) -> None:
        """After a head that only rounding spoils: smaller values, and more of eps left to rounding."""
        self.cap = max(self.cap / 2, 2 * self.size)
        self.goal = 0.5


class Slices:
    """y (functions, points): what many functions are at the same points, to be read off one set of keys within eps."""

    pieces, goal = 1, 0.5

    def __init__(self, z: Array, y: Array, eps: float, cap: float) -> None:
        self.z, self.y, self.eps, self.cap = z, y, eps, cap
        self.lo, self.hi = float(z.min()), float(z.max())
        self.edges = np.array([self.lo, self.hi])

    def grid(self, count: int) -> tuple[Array, Array]:
        """The points and the functions there, whatever the number of keys."""
        return self.z, self.y


def _clenshaw(x: Array, coefficients: Array) -> Array:
    """Row by row sum_k coefficients[i, k] T_k(x[i])."""
    ahead = later = np.zeros_like(x)
    for k in range(coefficients.shape[1] - 1, 0, -1):
        ahead, later = 2 * x * ahead - later + coefficients[:, k, None], ahead
    return x * ahead - later + coefficients[:, 0, None]
