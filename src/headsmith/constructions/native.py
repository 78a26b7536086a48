"""A network of ReLU units over whole sequences as two attention layers (softmax-universality, Thm I.2, repaired).

    f_i(X) = sum_k outer_ik relu(s_ik),    s_ik = sum_j inner_ikj . x_j + bias_ik

Layer 1, head (i, j): token i reads token j (its only visible key, so with weight 1) through W_V = [inner_ikj ;
outer_ik inner_ikj]; the bias enters in head (i, i). n^2 heads leave s_k and v_k = outer_k s_k, sign included, on
token i. Layer 2, head k: a gate. Token i sees itself with score beta s_ik and a null token with score 0; its value is
v_ik. So it adds outer_ik s sigmoid(beta s), which is outer_ik relu(s) within kappa |outer_ik| / beta, kappa = W(1/e).

As printed, one layer more, no bias, and the sign picks between two heads of which the wrong one ties with the null
token for every beta and returns s/2 (`three_layers` has all three layers, with and without their faults).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from headsmith.constructions.design import Design, Short, Tally
from headsmith.constructions.gate import RELU_GAP
from headsmith.network import Affine, Attention, Dense, Network, Select, Sparse
from headsmith.proof.approximation import Unprovable
from headsmith.proof.certificate import Bound
from headsmith.proof.gates import gate_slip, row_slips
from headsmith.proof.rounding import INFLATE, Format, gamma
from headsmith.records.shown import number

if TYPE_CHECKING:
    from headsmith.compiler.request import Request
    from headsmith.targets.relu_network import ReluNetwork

STEEPEST = 1e12


@dataclass(frozen=True, eq=False)
class Gates(Design):
    """The sharpness of the gates; everything else is the target's.

    >>> Gates.within(hs.target.ReluNetwork(np.ones((1, 1, 1, 1)), np.ones((1, 1))), 1e-3).beta
    293...
    """

    name, serves = "gates", "relu-network"
    beta: float
    units: int
    tokens: int

    @classmethod
    def within(cls, target: ReluNetwork, eps: float, dtype: str = "float64") -> Gates:
        """The smallest sharpness that leaves kappa sum|outer| / beta <= 0.95 eps; the rest is for rounding beta."""
        beta = max(RELU_GAP * float(np.abs(target.outer).sum(1).max()) / (0.95 * eps), 1.0)
        return cls(float(np.dtype(dtype).type(beta)), *reversed(target.outer.shape))

    @property
    def tally(self) -> Tally:
        return Tally(2 * self.units, self.tokens**2 + self.units, layers=2)

    def method(self, target: ReluNetwork) -> str:
        return f"read, then gates of sharpness {number(self.beta)} (Thm I.2, repaired)"

    def network(self, target: Any, dtype: str) -> Network:
        """X (n tokens, d features) -> (n tokens, 1); the stream holds x, one, s_k, v_k, out."""
        kind, d, units = getattr(torch, dtype), target.inner.shape[3], self.units
        names = [
            *(f"x.{i}" for i in range(d)),
            "one",
            *(f"{row}.{k}" for row in "sv" for k in range(units)),
            "out",
        ]
        width = len(names)
        one = torch.zeros(width, dtype=kind)
        one[d] = 1.0
        layers = {
            "lift": Affine(Select([*range(d), *[-1] * (width - d)], features=d), one),
            "read": self._read(target, width, kind),
            "gates": self._gates(d, width, kind),
            "out": Affine(Select([width - 1], features=width)),
        }
        return Network(layers, tokens=[f"token.{i}" for i in range(self.tokens)], features=names)

    def _read(self, target: ReluNetwork, width: int, kind: torch.dtype) -> Attention:
        n, d = self.tokens, target.inner.shape[3]
        rows, biases = value_rows(target)
        value = np.zeros((n, n, 2, self.units, width))
        value[..., :d] = rows.transpose(1, 3, 0, 2, 4)
        value[range(n), range(n), :, :, d] = biases.transpose(1, 0, 2)
        return Attention(
            Select([[-1]] * (n * n), width),
            Select([[-1]] * (n * n), width),
            Dense(torch.from_numpy(value.reshape(n * n, -1, width)).to(kind)),
            Select.writing([[*range(d + 1, width - 1)]] * (n * n), width),
            visible=torch.eye(n * n, dtype=torch.bool).reshape(n * n, n, n),
            residual=True,
        )

    def _gates(self, d: int, width: int, kind: torch.dtype) -> Attention:
        s, v = range(d + 1, d + 1 + self.units), range(d + 1 + self.units, width - 1)
        return Attention(
            Select([[place] for place in s], width),
            Sparse([[[d]]] * self.units, torch.full((self.units, 1, 1), self.beta, dtype=kind), width),
            Select([[place] for place in v], width),
            Select.writing([[width - 1]] * self.units, width),
            visible="self",
            memory=torch.zeros(1, width, dtype=kind),
            residual=True,
        )

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> Gates:
        beta: Any = network.layers["gates"].key.coefficient  # type: ignore[union-attr]
        return cls(float(beta.flatten()[0]), *reversed(target.outer.shape))

    def prove(self, target: ReluNetwork, request: Request) -> Bound:
        """|net - f|_i <= sum_k |outer_ik| kappa/beta + rounding."""
        if not 1 <= self.beta <= STEEPEST:
            raise Unprovable(f"gates of sharpness {number(self.beta)} are needed, at most {STEEPEST:g} are proved")
        approximation = RELU_GAP / self.beta * float(np.abs(target.outer).sum(1).max()) * (1 + 1e-12)
        return Bound(approximation, self.rounding(target, request.domain.size("X"), request.format))

    def rounding(self, target: ReluNetwork, radius: float, fmt: Format) -> float:
        """Of the worst token: its gates, and their sum."""
        rows, biases = value_rows(target)
        (S, V), (s_slip, v_slip) = row_slips(rows, biases, np.array([[[0.0]], [[1.0]]]), radius, fmt)
        if not max(self.beta * S.max(), V.sum(1).max()) < np.finfo(fmt.name).max / 4:
            raise Short(f"the sums or the scores of the gates leave the range of {fmt.name}")
        own = gate_slip(np.abs(target.outer), V, s_slip, v_slip, self.beta, fmt)
        sums = own.sum(1) + gamma(self.units - 1, fmt.unit) * (V + own).sum(1)
        return float(sums.max()) * INFLATE


def value_rows(target: ReluNetwork) -> tuple[np.ndarray, np.ndarray]:
    """What layer 1 stores for s and v: rows (2, token i, units, token j, features), biases (2, token i, units)."""
    outer = target.outer
    return np.stack([target.inner, outer[..., None, None] * target.inner]), np.stack([target.bias, outer * target.bias])
