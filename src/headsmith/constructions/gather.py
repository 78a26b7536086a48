"""Sequences through one tensor-grid head: gather the tokens, compute every output, let each read its own.

Gathering is exact: head j shows every token only token j, so its weight is 1 and its value is copied bit for bit
(softmax-universality, Lemma I.1 with a column of B that is a unit vector, by visibility instead of by logarithms of
zero). So the network is the grid head on x1, x2, ..., the entries of X, and has its proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from headsmith.constructions.design import Altered, Design, Tally
from headsmith.constructions.tensor_grid import Grid, grid_layer, memory_names, output_names, prove_head, stored_head
from headsmith.network import Affine, Attention, Network, Select
from headsmith.proof.certificate import Bound
from headsmith.proof.tensor_rounding import prove_tensor_rounding
from headsmith.proof.tensor_samples import prove_tensor_samples

if TYPE_CHECKING:
    from headsmith.compiler.request import Request


@dataclass(frozen=True, eq=False)
class Gathered(Grid):
    """A grid head behind a layer that copies all tokens into each."""

    name, serves = "gather", "sequence"
    tokens: int

    @property
    def tally(self) -> Tally:
        return Tally(self.head.tokens, self.tokens + 1, layers=2)

    def method(self, target: Any) -> str:
        return "gather all tokens, then one head on a tensor grid"

    def size(self) -> str:
        """40 memory tokens, 3 heads, 2 layers."""
        return Design.size(self).replace("key", "memory token")

    def network(self, target: Any, dtype: str) -> Network:
        """Lift, gather (head j copies token j into every token), grid, and each token reads its own outputs.

        Where there are fewer outputs than inputs the first tokens read them.
        """
        head, tokens, features, kind = self.head, target.tokens, target.features, getattr(torch, dtype)
        count, each, (rows, columns) = tokens * features, range(features), target.shape
        own, gathered = [f"x.{i}" for i in each], variable_names(count)
        names = [*own, *gathered, "one", *output_names(head), *memory_names(head, gathered)]
        width, first = len(names), features + count
        bias = torch.zeros(width, dtype=kind)
        bias[first] = 1.0
        seen = torch.zeros(tokens, tokens, tokens, dtype=torch.bool)
        for j in range(tokens):
            seen[j, :, j] = True
        written = range(first + 1, first + 1 + head.components)
        nothing = [[-1]] * tokens
        layers = {
            "lift": Affine(Select([*each, *[-1] * (width - features)], features=features), bias),
            "gather": Attention(
                Select(nothing, width),
                Select(nothing, width),
                Select([[*each]] * tokens, width),
                Select.writing([[features + j * features + i for i in each] for j in range(tokens)], width),
                visible=seen,
                residual=True,
            ),
            "grid": grid_layer(head, range(features, first + 1), written, width, kind),
            "read": Affine(
                Select([[written[t * columns + i] for i in range(columns)] for t in range(rows)], width),
                None,
                None if rows == tokens else range(rows),
            ),
        }
        places = enumerate(gathered, features)
        variables: dict[str, Any] = {name: ("gather", 0, slice(i, i + 1)) for i, name in places}
        return Network(layers, tokens=[f"token.{t}" for t in range(tokens)], features=names, variables=variables)

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


def variable_names(count: int) -> tuple[str, ...]:
    """x1, x2, ...

    >>> variable_names(2)
    ('x1', 'x2')
    """
    return tuple(f"x{i + 1}" for i in range(count))
