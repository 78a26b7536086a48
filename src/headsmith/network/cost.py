"""What a network costs, in the units a reader compares: sizes, stored and textbook numbers, operations."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Cost:
    """Sizes of a network for one input of `tokens` data tokens.

    parameters        numbers the network stores (coefficients, biases, memory)
    dense_parameters  numbers in its textbook matrices
    flops             multiplications, additions and exponentials for one input
    """

    layers: int
    heads: int
    tokens: int
    memory_tokens: int
    width: int
    head_dim: int
    parameters: int
    dense_parameters: int
    flops: int

    def __str__(self) -> str:
        rows = [(field.name.replace("_", " "), f"{getattr(self, field.name):,}") for field in fields(self)]
        return "\n".join(f"{name:<17}{value:>12}" for name, value in rows)
