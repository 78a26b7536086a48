"""X -> A X B by softmax alone: attention whose weights are a given matrix (softmax-universality, Lemma I.1, repaired).

Paper (tokens are columns, strictly positive B):  W_V = S [A 0],  W_Q = [0 I],  W_K = [0 ln B^T, ln(S 1 - s)],  s
the column sums of B. Here: token r carries a one-hot position, its key is row r of ln B, the query of token j picks
entry j, so the score is ln B_rj, stored, not computed. A null token takes the weight S - s_j that is left over,
with value 0.

The footnote's B = B+ - B- for signed B takes the logarithm of zero. A floor repairs it: B = (B+ + c) - (B- + c),
two heads, the second with -A in its value. c is small against B: it costs scores, which are exact, and not weight,
which is rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from flint import arb, arb_mat

from headsmith.constructions.design import Altered, Design, Short, Tally
from headsmith.functions import precision
from headsmith.network import Affine, Attention, Dense, Network, Select
from headsmith.proof.approximation import Unprovable
from headsmith.proof.cells import up
from headsmith.proof.certificate import Bound
from headsmith.proof.mixing import mix_rounding
from headsmith.proof.rounding import INFLATE, Format, gamma

if TYPE_CHECKING:
    from headsmith.compiler.request import Request
    from headsmith.targets.product import Product

FLOOR, SHARE, PRINTED_SHARE = 2.0**-10, 1.125, 3.0


@dataclass(frozen=True, eq=False)
class Mixture(Design):
    """Log weights (heads, tokens + null, columns) and value matrices (heads, rows, features).

    >>> Mixture.of(np.eye(2), np.array([[1.0, 0.0], [2.0, -1.0]])).tally.heads      # a head for each sign
    2
    """

    name, serves = "mixture", "product"
    logs: np.ndarray
    values: np.ndarray

    @classmethod
    def of(
        cls, A: np.ndarray, B: np.ndarray, dtype: str = "float64", floor: float = FLOOR, share: float = SHARE
    ) -> Mixture:
        """Lemma I.1: S = share max s, and a floor (relative to max|B|) where B is not of one sign.

        As printed: share = 3 and no floor, so that B must be positive.
        """
        parts, signs = _signed(B, floor)
        total = share * max(float(part.sum(0).max()) for part in parts)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            logs = np.stack([np.log(np.concatenate([part, total - part.sum(0, keepdims=True)])) for part in parts])
            values = np.stack([sign * total * A for sign in signs])
            return cls(*(x.astype(dtype).astype(np.float64) for x in (logs, values)))

    @property
    def tally(self) -> Tally:
        heads, keys, _ = self.logs.shape
        return Tally(heads * keys, heads, layers=1)

    def method(self, target: Product) -> str:
        return "attention weights that are a matrix (Lemma I.1)"

    def network(self, target: Any, dtype: str) -> Network:
        """Lift with positions, one attention layer, read."""
        kind = getattr(torch, dtype)
        (_, rows, d), (_, keys, m) = self.values.shape, self.logs.shape
        n, count = keys - 1, max(keys - 1, m)
        features = [*(f"x.{i}" for i in range(d)), *(f"position.{i}" for i in range(count)), "null"]
        width = len(features)
        position = torch.zeros(count, width, dtype=kind)
        position[:, d:-1] = torch.eye(count, dtype=kind)
        tokens = [*range(n), *[-1] * (count - n)]
        layers = {
            "lift": Affine(Select([*range(d), *[-1] * (width - d)], features=d), position, tokens),
            "mix": self._attention(width, count, kind),
            "read": Affine(Select([*range(rows)], features=rows), None, range(m)),
        }
        return Network(layers, tokens=[f"token.{i}" for i in range(n)], features=features)

    def _attention(self, width: int, count: int, kind: torch.dtype) -> Attention:
        """Queries pick a column of the logs, keys hold them by position, the null token the last row."""
        (heads, rows, d), (_, keys, m) = self.values.shape, self.logs.shape
        key, value = np.zeros((heads, m, width)), np.zeros((heads, rows, width))
        key[:, :, d : d + keys - 1] = self.logs[:, :-1].transpose(0, 2, 1)
        key[:, :, -1], value[:, :, :d] = self.logs[:, -1], self.values
        null = torch.zeros(1, width, dtype=kind)
        null[0, -1] = 1.0
        seen = torch.zeros(count, count, dtype=torch.bool)
        seen[:, : keys - 1] = True
        return Attention(
            Select([[*range(d, d + m)]] * heads, width),
            Dense(torch.from_numpy(key).to(kind)),
            Dense(torch.from_numpy(value).to(kind)),
            Select.writing([[*range(rows)]] * heads, rows),
            visible="all" if keys - 1 == count else seen,
            memory=null,
        )

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> Mixture:
        layer: Any = network.layers["mix"]
        key, value = (m.weight.detach().cpu().double().numpy() for m in (layer.key, layer.value))
        n, d = len(network.inputs), target.A.shape[1]
        return cls(np.concatenate([key[:, :, d : d + n], key[:, :, -1:]], -1).transpose(0, 2, 1), value[:, :, :d])

    def prove(self, target: Product, request: Request) -> Bound:
        """The weights P do not depend on X: the layer computes sum_h V_h X P_h, and then rounds."""
        A, B, radius = target.A, target.B, request.domain.size("X")
        if self.values.shape[1:] != A.shape or self.logs.shape[1:] != (len(B) + 1, B.shape[1]):
            raise Altered("the stored matrices have other shapes than A and B")
        if not (np.isfinite(self.logs).all() and np.isfinite(self.values).all()):
            raise Unprovable(f"a logarithm or a value is beyond the range of {request.dtype}")
        with precision(128):
            weights = [[_softmax(column) for column in head.T] for head in self.logs]
            approximation = _worst(self.values, weights, A, B, radius)
            shares = np.array([[[up(w) for w in column] for column in head] for head in weights])
        return Bound(approximation, self.rounding(shares, radius, request.format))

    def rounding(self, weights: np.ndarray, radius: float, fmt: Format) -> float:
        """Of the worst entry: each head mixes values of at most sum_k |V_ik| radius, and the heads are added."""
        d, g = self.values.shape[2], gamma(self.values.shape[2], fmt.unit)
        sizes = np.abs(self.values).sum(2).T * radius * INFLATE
        if not sizes.sum(1).max() < np.finfo(fmt.name).max / 2:
            raise Short(f"the sums A X may leave the range of {fmt.name}")
        worst = 0.0
        for j in range(self.logs.shape[2]):
            mixes = [mix_rounding(self.logs[h, :, j], weights[h, j], fmt) for h in range(len(self.logs))]
            slips, whole = (np.array(x) for x in zip(*mixes, strict=True))
            lost = float((d * whole + self.logs.shape[1]).sum()) * fmt.tiny  # products that underflow
            own = sizes @ ((1 + g) * slips + g) + lost
            addition = gamma(len(self.logs) - 1, fmt.unit) * (sizes.sum(1) + own)
            worst = max(worst, float((own + addition).max()) * INFLATE)
        return worst


def _signed(B: np.ndarray, floor: float) -> tuple[list[np.ndarray], list[float]]:
    """B as positive matrices with signs: itself, or (B+ + c) and (B- + c)."""
    if (B > 0).all() or (B < 0).all():
        return [np.abs(B)], [float(np.sign(B.flat[0]))]
    c = floor * (float(np.abs(B).max()) or 1.0)
    return [np.maximum(B, 0) + c, np.maximum(-B, 0) + c], [1.0, -1.0]


def _softmax(logs: np.ndarray) -> list[arb]:
    top = float(logs.max())
    terms = [(arb(x) - top).exp() for x in logs.tolist()]
    whole = sum(terms, arb(0))
    return [t / whole for t in terms]


def _worst(values: np.ndarray, weights: list[list[list[arb]]], A: np.ndarray, B: np.ndarray, radius: float) -> float:
    """max_ij sum_kr |sum_h V_hik P_hrj - A_ik B_rj| radius: the error of an entry is a sum over the entries of X."""
    left = arb_mat(np.concatenate([values, -A[None]]).reshape(len(values) + 1, -1).T.tolist())
    right = arb_mat([[w for column in head for w in column[:-1]] for head in weights] + [B.T.reshape(-1).tolist()])
    (rows, d), (n, m) = A.shape, B.shape
    found = (left * right).tolist()
    return max(
        up(sum((abs(c) for line in found[i * d : i * d + d] for c in line[j * n : j * n + n]), arb(0)) * radius)
        for i in range(rows)
        for j in range(m)
    )
