"""Sequences through one tensor-grid head: gather the tokens, compute every output, let each read its own.

Gathering is exact: head j shows every token only token j, so its weight is 1 and its value is copied bit for bit
(softmax-universality, Lemma I.1 with a column of B that is a unit vector, by visibility instead of by logarithms of
zero). So the network is the grid head on x1, x2, ..., the entries of X, and has its proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from headsmith.constructions.design import Altered, Design
from headsmith.constructions.tensor_grid import Grid, grid_layer, memory_names, output_names, prove_head, stored_head
from headsmith.network import Affine, Attention, Network, Select
from headsmith.proof.certificate import Bound
from headsmith.proof.tensor import TensorHead
from headsmith.proof.tensor_rounding import prove_tensor_rounding
from headsmith.proof.tensor_samples import prove_tensor_samples

if TYPE_CHECKING:
    from headsmith.compiler.request import Request


@dataclass(frozen=True, eq=False)
class Gathered(Grid):
    """A grid head behind a layer that copies all tokens into each."""

    name, serves = "gather", "sequence"
    layers = 2
    tokens: int

    @property
    def heads(self) -> int:  # type: ignore[override]
        return self.tokens + 1

    def method(self, target: Any) -> str:
        return "gather all tokens, then one head on a tensor grid"

    def size(self) -> str:
        """40 memory tokens, 3 heads, 2 layers."""
        return Design.size(self).replace("key", "memory token")

    def network(self, target: Any, dtype: str) -> Network:
        return gathered_network(self.head, target.tokens, target.features, getattr(torch, dtype), target.shape)

    def prove(self, target: Any, request: Request) -> Bound:
        """The bound of the grid head; for code from samples, conditional on the constant it comes with."""
        box = target.box(request.domain)
        if not target.code:
            return prove_head(self.head, target.f, target.variables, box, request)
        rounding = prove_tensor_rounding(self.head, box, request.format, 0.01 * request.eps)
        found = prove_tensor_samples(self.head, target.evaluate, target.lipschitz, box, request.eps)
        return Bound(found, rounding, kind="conditional")

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> Gathered:
        if request.method != "auto":
            raise Altered(f"method {request.method!r} makes no grid head")
        return cls(stored_head(network, len(target.variables)), target.tokens)


def gathered_network(
    head: TensorHead, tokens: int, features: int, dtype: torch.dtype, shape: tuple[int, int] | None = None
) -> Network:
    """Lift, gather (head j copies token j into every token), grid, and each token reads its own outputs.

    shape: outputs (tokens, features), where they are fewer than the inputs: the first tokens read them.
    """
    count, (rows, columns) = tokens * features, shape or (tokens, features)
    own, gathered = [f"x.{i}" for i in range(features)], variable_names(count)
    names = [*own, *gathered, "one", *output_names(head), *memory_names(head, gathered)]
    width, first = len(names), features + count
    bias = torch.zeros(width, dtype=dtype)
    bias[first] = 1.0
    seen = torch.zeros(tokens, tokens, tokens, dtype=torch.bool)
    for j in range(tokens):
        seen[j, :, j] = True
    written = range(first + 1, first + 1 + head.components)
    nothing = [[-1]] * tokens
    layers = {
        "lift": Affine(Select([*range(features), *[-1] * (width - features)], features=features), bias),
        "gather": Attention(
            Select(nothing, width),
            Select(nothing, width),
            Select([[*range(features)]] * tokens, width),
            Select.writing([[features + j * features + i for i in range(features)] for j in range(tokens)], width),
            visible=seen,
            residual=True,
        ),
        "grid": grid_layer(head, range(features, first + 1), written, width, dtype),
        "read": Affine(
            Select([[written[t * columns + i] for i in range(columns)] for t in range(rows)], width),
            None,
            None if rows == tokens else range(rows),
        ),
    }
    variables: dict[str, Any] = {
        name: ("gather", 0, slice(features + i, features + i + 1)) for i, name in enumerate(gathered)
    }
    return Network(layers, tokens=[f"token.{t}" for t in range(tokens)], features=names, variables=variables)


def variable_names(count: int) -> tuple[str, ...]:
    """x1, x2, ...

    >>> variable_names(2)
    ('x1', 'x2')
    """
    return tuple(f"x{i + 1}" for i in range(count))
