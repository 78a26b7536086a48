"""Sequences through one tensor-grid head: gather the tokens, compute every output, let each read its own.

Gathering is exact: head j shows every token only token j, so its weight is 1 and its value is copied bit for bit
(softmax-universality, Lemma I.1 with a column of B that is a unit vector, by
visibility instead of by logarithms of zero).
"""

from __future__ import annotations

from typing import Any

import torch

from headsmith.heads.lattice import grid_layer, memory_names, output_names
from headsmith.network import Affine, Attention, Network, Select
from headsmith.proof.tensor import TensorHead


def gathered_network(head: TensorHead, tokens: int, features: int, dtype: torch.dtype) -> Network:
    """Lift, gather (head j copies token j into every token), grid, and each token reads its own outputs."""
    count = tokens * features
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
        "read": Affine(Select([[written[t * features + i] for i in range(features)] for t in range(tokens)], width)),
    }
    variables: dict[str, Any] = {
        name: ("gather", 0, slice(features + i, features + i + 1)) for i, name in enumerate(gathered)
    }
    return Network(layers, tokens=[f"token.{t}" for t in range(tokens)], features=names, variables=variables)


def variable_names(count: int) -> list[str]:
    return [f"x{i + 1}" for i in range(count)]
