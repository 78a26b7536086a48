"""The three attention layers of softmax-universality Thm I.2, whole: as printed, and with each fault repaired.

Tokens 1..n and a null token carry (z; one; position), z_ikj = w_ikj . x_j, written by the affine map in front.

    rows              Thm 3.9 heads whose keys are the n + 1 positions return Range(z); a head copies positions
    mixing            Lemma I.1 with B = 1 e_i^T puts sum_j z_ikj on row (k, i) of token i; a head copies positions
    units             values: the sum of block k; keys: positions; queries: beta (C diag(S_k) + D), D = -1 + [I 1]

Faults of the print, kept where they are named:

    "ends"   the outermost sentinels of Thm 3.9 carry 0: sums beyond the range vanish
    "log"    Lemma I.1 takes ln B of a B that is zero off one column: NaN
    "tie"    two heads a unit, C = diag(a = +1) and diag(a = -1): a token of the other sign ties with the null token
    "bias"   no bias: a constant is out of reach

`native.Gates` is the repair that carries a certificate: two layers, no anchors, no mixing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from headsmith.constructions.clip import sentinels, telescope
from headsmith.constructions.product import FLOOR, Mixture
from headsmith.network import Affine, Attention, Dense, Layer, Network, Select
from headsmith.proof.statement import Head
from headsmith.refusal import Refusal

FAULTS = ("ends", "log", "tie", "bias")
NULL = 50.0  # T of Lemma I.1: how firmly the null token reads itself


@dataclass(frozen=True, eq=False)
class ThreeLayers:
    """f_i(X) = sum_k outer_ik relu(sum_j inner_ikj . x_j + bias_ik), outer of +1 and -1.

    reach bounds |inner_ikj . x_j + bias_ik|; `heads` share a row of layer 1; beta is the sharpness of the units.

    >>> unit = ThreeLayers(np.ones((2, 1, 2, 1)), np.array([[1.0], [-1.0]]), np.zeros((2, 1)), reach=1.0)
    >>> unit.network()(torch.tensor([[0.5], [0.25]]).double())[:, 0].round(decimals=2)
    tensor([ 0.7500, -0.7500], dtype=torch.float64)
    """

    inner: np.ndarray  # (tokens, units, tokens, features)
    outer: np.ndarray  # (tokens, units)
    bias: np.ndarray
    reach: float
    heads: int = 64
    beta: float = 1000.0
    faults: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not set(self.faults) <= set(FAULTS):
            raise Refusal(f"the faults of the print are {', '.join(FAULTS)}")
        if not (np.abs(self.outer) == 1).all():
            raise Refusal("the outer weights of Thm I.2 are +1 and -1: their size belongs to the inner ones")

    @property
    def tokens(self) -> int:
        """n, without the null token."""
        return self.inner.shape[0]

    @property
    def rows(self) -> int:
        """n N pre-activations a token."""
        return self.inner.shape[0] * self.inner.shape[1]

    def network(self) -> Network:
        """X (n, d) -> (n, 1)."""
        n, d = self.tokens, self.inner.shape[3]
        layers: dict[str, Layer] = {
            "models": self._models(n, d),
            "rows": self._range_rows(n),
            "mixing": self._mixing(n),
            "units": self._units(n),
            "out": Affine(Select([0], features=1), None, range(n)),
        }
        return Network(layers, tokens=[f"token.{i}" for i in range(n)])

    def _models(self, n: int, d: int) -> Affine:
        """z, one and positions; nothing but a position on the null token."""
        width = self.rows + 1 + n + 1
        maps, bias = torch.zeros(n + 1, width, d, dtype=torch.float64), torch.zeros(n + 1, width, dtype=torch.float64)
        maps[:n, : self.rows] = torch.from_numpy(self.inner).permute(2, 0, 1, 3).reshape(n, self.rows, d)
        if "bias" not in self.faults:
            for i in range(n):
                bias[i, : self.rows].view(n, -1)[i] = torch.from_numpy(self.bias[i])
        bias[:, self.rows], bias[:, self.rows + 1 :] = 1.0, torch.eye(n + 1)
        return Affine(Dense(maps), bias, [*range(n), 0])

    def _pieces(self, n: int) -> list[Head]:
        if "ends" in self.faults:
            return sentinels(-self.reach, self.reach, n + 1, self.heads, 1e-6)
        return telescope(-self.reach, self.reach, n + 1, self.heads)

    def _range_rows(self, n: int) -> Attention:
        """Range(z) in every row, by `heads` heads each, and the positions."""
        pieces, place, width = self._pieces(n), self.rows + 1, self.rows + n + 2
        count = self.rows * len(pieces)
        query, key, value = (torch.zeros(count + 1, r, width, dtype=torch.float64) for r in (n + 1, n + 1, n + 1))
        output = torch.zeros(count + 1, self.rows + n + 1, n + 1, dtype=torch.float64)
        for r in range(self.rows):
            for h, piece in enumerate(pieces):
                at = r * len(pieces) + h
                query[at, 0, r], query[at, 1, self.rows] = 1.0, 1.0
                key[at, :2, place:] = torch.from_numpy(np.stack([piece.slopes, piece.offsets]))
                value[at, 0, place:], output[at, r, 0] = torch.from_numpy(piece.values.copy()), 1.0
        self._copy(query, key, value, output, place, n)
        return Attention(Dense(query), Dense(key), Dense(value), Dense(output))

    def _copy(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, output: torch.Tensor, place: int, n: int
    ) -> None:
        """The last head keeps the positions: softmax(beta I) is the identity."""
        eye = torch.eye(n + 1, dtype=torch.float64)
        query[-1, : n + 1, place : place + n + 1], key[-1, : n + 1, place : place + n + 1] = self.beta * eye, eye
        value[-1, : n + 1, place : place + n + 1], output[-1, self.rows :, : n + 1] = eye, eye

    def _mixing(self, n: int) -> Attention:
        """For each token i the columns of Lemma I.1 with B = 1 e_i^T, its null token the one that is there."""
        units, width = self.rows // n, self.rows + n + 1
        parts = []
        for i in range(n):
            A, B = np.zeros((self.rows, self.rows)), np.zeros((n, n))
            A[np.arange(units) * n + i, i * units + np.arange(units)], B[:, i] = 1.0, 1.0
            mixed = Mixture.of(A, B, floor=0.0 if "log" in self.faults else FLOOR)
            parts += list(zip(mixed.logs, mixed.values, strict=True))
        rows = max(self.rows, n + 1)
        query, key = (torch.zeros(len(parts) + 1, n + 1, width, dtype=torch.float64) for _ in range(2))
        value = torch.zeros(len(parts) + 1, rows, width, dtype=torch.float64)
        output = torch.zeros(len(parts) + 1, width, rows, dtype=torch.float64)
        for at, (logs, values) in enumerate(parts):
            query[at, :n, self.rows : self.rows + n] = torch.eye(n)
            query[at, :n, self.rows + n] = NULL
            key[at, :n, self.rows :] = torch.from_numpy(logs.T.copy())
            value[at, : self.rows, : self.rows] = torch.from_numpy(values.copy())
            output[at, : self.rows, : self.rows] = torch.eye(self.rows)
        self._copy(query, key, value, output, self.rows, n)
        return Attention(Dense(query), Dense(key), Dense(value), Dense(output))

    def _units(self, n: int) -> Attention:
        """As printed two heads a unit; repaired one, whose values carry the signs."""
        units, width = self.rows // n, self.rows + n + 1
        tied = "tie" in self.faults
        count = 2 * units if tied else units
        query, key = (torch.zeros(count, n, width, dtype=torch.float64) for _ in range(2))
        value = torch.zeros(count, 1, width, dtype=torch.float64)
        output = torch.ones(count, 1, 1, dtype=torch.float64)
        D = -torch.ones(n, n + 1, dtype=torch.float64)
        D[:, :n] += torch.eye(n)
        D[:, n] += 1.0
        for at in range(count):
            k = at % units
            a, sign = torch.from_numpy(self.outer[:, k].copy()), 1.0 if at < units else -1.0
            block = slice(k * n, (k + 1) * n)
            query[at, :, block] = self.beta * (torch.diag((a == sign).double()) if tied else torch.eye(n).double())
            query[at, :, self.rows :] = self.beta * D
            key[at, :, self.rows : self.rows + n] = torch.eye(n)
            value[at, 0, block] = sign if tied else a
        return Attention(Dense(query), Dense(key), Dense(value), Dense(output))
