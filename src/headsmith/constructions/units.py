"""Layers of a multi-layer perceptron as attention layers: every hidden unit is a head, every matrix an output map.

    stream of layer l:   z_1, ..., z_d, (zeros up to four), one                 one token
    linear:   one head that sees only its own token; value = W x + b, copied to the next stream
    units:    head k reads (z_k, one); its keys are itself and a null token (a gate), or P memory tokens (a table);
              what it returns is multiplied by column k of the next matrix as it is written

The last head of a units layer carries `one` and the bias of the next matrix: its best key leads by 1000, so that its
weight is exactly 1. Nothing is residual, and there is no feed-forward layer. (That a neuron can be an attention head is
also in Huben and Morris 2023.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from headsmith.constructions.assemble import tensor
from headsmith.constructions.design import Design, Tally
from headsmith.constructions.reading import heads_of
from headsmith.functions import lipschitz
from headsmith.network import Affine, Attention, Dense, Network, Select, Sparse
from headsmith.proof.certificate import Bound
from headsmith.proof.composition import exact, prove_part
from headsmith.proof.domain import Interval
from headsmith.proof.stack import Carried, Linear, Nonlinearity, Unit, carry
from headsmith.proof.statement import Head, Part

if TYPE_CHECKING:
    from headsmith.compiler.request import Request

LEAD = 1000.0  # exp(-1000) is 0 in every format: this key has all the weight
SLOPE, OFFSET, VALUE, SPIKE = range(4)  # where a memory token keeps its numbers


@dataclass(frozen=True, eq=False)
class Units(Design):
    """The heads that stand for the activation of each layer, the same for all its `counts[l]` units."""

    name, serves = "units", "mlp"
    stacked: tuple[tuple[Head, ...], ...]
    counts: tuple[int, ...]

    @property
    def tally(self) -> Tally:
        each = [(n, head.keys) for n, own in zip(self.counts, self.stacked, strict=True) for head in own]
        return Tally(sum(n * keys for n, keys in each), sum(n for n, _ in each), 1 + len(self.counts))

    def method(self, target: Any) -> str:
        return "attention only"

    def network(self, target: Any, dtype: str) -> Network:
        return stack_network(target.linears, self.stacked, getattr(torch, dtype))

    def prove(self, target: Any, request: Request) -> Bound:
        carried = self.carried(target, request)
        return Bound(float(carried.approximation.max()), float(carried.rounding.max()))

    def carried(self, target: Any, request: Request) -> Carried:
        """The errors of every output, and the domain on which the heads of each layer were proved."""

        def again(layer: int, domain: Interval) -> Unit:
            return proved(target.sigmas[layer], self.stacked[layer], domain, request.dtype)

        return carry(target.held(request), target.sigmas, request.domain["x"], request.format, again)

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> Units:
        counts = target.widths[1:-1]
        layers: Any = [network.layers[f"units{l}"] for l in range(1, len(counts) + 1)]
        found = [heads_of(layer, width(n) - 1)[:-1:n] for layer, n in zip(layers, counts, strict=True)]
        return cls(tuple(map(tuple, found)), tuple(counts))


def proved(sigma: Nonlinearity, heads: Sequence[Head], domain: Interval, dtype: str) -> Unit:
    """The proof of these heads, as a dtype stores them, on this domain."""
    part = Part("x", "out", sigma.expression, domain, tuple(heads))
    proof = prove_part(part, dtype, exact(domain))
    slope = lipschitz(sigma.expression, *domain)
    return Unit(part.heads, proof.approximation.bound, proof.rounding.bound, slope)


def always(slope: float, intercept: float) -> Head:
    """slope z + intercept as a gate that never closes: itself with score 1000, the null token with 0."""
    return Head(np.zeros(2), np.array([LEAD, 0.0]), np.array([intercept, 0.0]), np.array([slope, 0.0]))


def folded(heads: Sequence[Head], bias: float) -> tuple[Head, ...]:
    """The same function as gates only or one table only: bias into the values, lines into gates that never close.

    Adding 0.0 turns -0.0 into 0.0, so that what is read back from the tensors is the same to the bit.
    """
    if any(not head.attends_to_itself for head in heads):
        [table] = heads
        return (Head.table(table.slopes + 0.0, table.offsets + 0.0, table.values + bias),)
    lines = [head for head in heads if head.keys == 1]
    gates = [Head(*(v + 0.0 for v in vars(head).values())) for head in heads if head.keys == 2]
    slope, intercept = sum(float(h.lines[0]) for h in lines), bias + sum(float(h.values[0]) for h in lines)
    return (*([always(slope, intercept)] if slope or intercept or not gates else []), *gates)


def width(units: int) -> int:
    return max(units, 4) + 1


def linear_layer(linear: Linear, dtype: torch.dtype) -> Attention:
    """One head attends to its own token: z' = W z + b, and one' = one."""
    out, into = linear.weight.shape
    a, b = width(into), width(out)
    value = torch.zeros(1, b, a, dtype=torch.float64)
    value[0, :out, :into], value[0, :out, -1] = torch.tensor(linear.weight), torch.tensor(linear.bias)
    value[0, -1, -1] = 1.0
    one = Select([[a - 1]], a)
    return Attention(one, one, Dense(value.to(dtype)), Select.writing([[*range(b)]], b), visible="self")


def unit_layer(heads: Sequence[Head], linear: Linear, dtype: torch.dtype) -> Attention:
    """z' = W sum of heads(z) + b: for each unit the same heads, each head scaled by its column of W as it writes."""
    out, units = linear.weight.shape
    a, b, count = width(units), width(out), len(heads)
    one, gated = a - 1, heads[0].attends_to_itself or (heads[0].keys == 2 and heads[0].offsets[0] == LEAD)
    column = torch.zeros(count * units + 1, b, 1, dtype=torch.float64)
    column[:-1, :out, 0] = torch.tensor(linear.weight).T.repeat(count, 1)
    column[-1, :out, 0], column[-1, -1, 0] = torch.tensor(linear.bias), 1.0
    write = Dense(column.to(dtype))
    if gated and all(h.lines[0] == 1 and not h.offsets[0] and not h.values[0] for h in heads):
        query = Select([[k] for _ in heads for k in range(units)] + [[one]], a)
        keys = [[[h.slopes[0]]] for h in heads for _ in range(units)] + [[[LEAD]]]
        key = Sparse([[[one]]] * len(keys), tensor(keys, dtype), a)
        return Attention(query, key, query, write, visible="self", memory=torch.zeros(1, a, dtype=dtype))
    query = Select([[k, one] for _ in heads for k in range(units)] + [[one, one]], a)
    if gated:
        keys = [[[h.slopes[0]], [h.offsets[0]]] for h in heads for _ in range(units)] + [[[LEAD], [0.0]]]
        values = [[[h.lines[0], h.values[0]]] for h in heads for _ in range(units)] + [[[1.0, 0.0]]]
        sources = [[[k, one]] for _ in heads for k in range(units)] + [[[one, one]]]
        key = Sparse([[[one], [one]]] * len(keys), tensor(keys, dtype), a)
        value = Sparse(sources, tensor(values, dtype), a)
        return Attention(query, key, value, write, visible="self", memory=torch.zeros(1, a, dtype=dtype))
    [head] = heads
    memory = torch.zeros(head.keys, a, dtype=torch.float64)
    for place, numbers in ((SLOPE, head.slopes), (OFFSET, head.offsets), (VALUE, head.values)):
        memory[:, place] = torch.tensor(numbers)
    memory[0, SPIKE], memory[:, -1] = LEAD, 1.0
    look = Select([[SLOPE, OFFSET]] * units + [[SPIKE, -1]], a)
    read = Select([[VALUE]] * units + [[one]], a)
    return Attention(query, look, read, write, visible="none", memory=memory.to(dtype))


def stack_network(linears: Sequence[Linear], heads: Sequence[Sequence[Head]], dtype: torch.dtype) -> Network:
    """lift, the first matrix, then one units layer for each activation, read."""
    into, out = linears[0].weight.shape[1], linears[-1].weight.shape[0]
    a, last = width(into), width(out)
    bias = torch.zeros(a, dtype=dtype)
    bias[-1] = 1.0
    layers: dict[str, Affine | Attention] = {
        "lift": Affine(Select([*range(into), *[-1] * (a - into)], features=into), bias),
        "linear1": linear_layer(linears[0], dtype),
    }
    variables: dict[str, tuple[int | str, int | str, slice]] = {"z1": ("linear1", 0, slice(0, len(linears[0].bias)))}
    for l, (own, linear) in enumerate(zip(heads, linears[1:], strict=True), 2):
        layers[f"units{l - 1}"] = unit_layer(own, linear, dtype)
        variables[f"z{l}"] = (f"units{l - 1}", 0, slice(0, len(linear.bias)))
    layers["read"] = Affine(Select([*range(out)], features=last))
    names = [*(f"x.{i}" for i in range(into)), *(f"pad.{i}" for i in range(a - 1 - into)), "one"]
    return Network(layers, tokens=["input"], features=names, variables=variables)
