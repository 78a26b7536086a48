"""A trained multi-layer perceptron as softmax attention only: no feed-forward layer is left.

    mlp(x) = W_k sigma_{k-1}( ... sigma_1(W_1 x + b_1) ... ) + b_k

Every hidden unit becomes a head, every matrix is applied as heads write (`constructions.units`). The weights are those
of the trained network, bit for bit; what is approximated are the activations, and how far that can move an output is
proved for the whole box of inputs (`proof.stack`). Tolerances go where they buy most: a layer of c units whose errors
are multiplied by S on their way to the output gets eps_l proportional to c/S, which needs the fewest keys in all.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from flint import arb, arb_mat
from torch import Tensor

from headsmith.compiler.program import CHEAP, cheap
from headsmith.compiler.request import Request
from headsmith.compiler.scalar import ScalarTask, solve
from headsmith.compiler.target import Input, Target
from headsmith.constructions.design import Design, Short, many
from headsmith.constructions.units import Units, always, folded
from headsmith.functions import Expression
from headsmith.proof.certificate import SLACK
from headsmith.proof.domain import Domain, Interval
from headsmith.proof.stack import Linear, Nonlinearity, Unit, activation, carry, sensitivities
from headsmith.records.shown import number
from headsmith.refusal import Refusal
from headsmith.targets.reading import read_numbers


@dataclass(frozen=True, eq=False)
class MLP(Target):
    """Linear, activation, Linear, ..., Linear, as exact numbers; net(x) takes x (..., features) to (..., outputs).

    >>> half = MLP(([[1.0, 1.0]], [[0.5]]), ([0.0], [1.0]), (hs.parse("relu(x)"),))
    >>> net = hs.compile(half, domain=(-1, 1), eps=1e-6)
    >>> round(float(net([0.75, -0.25])), 6), str(net.target)
    (1.25, 'MLP 2-1-1 with relu(x)')
    """

    kind = "mlp"
    weights: tuple[Any, ...]  # (out, in) each
    biases: tuple[Any, ...]
    activations: tuple[Expression, ...]

    def __post_init__(self) -> None:
        if not self.weights:
            raise Refusal("there is no Linear in the network, so there is nothing to compile")
        if not len(self.weights) == len(self.biases) == len(self.activations) + 1:
            raise Refusal("an MLP has a bias for each matrix, and an activation between any two of them")
        for name, axes in (("weights", 2), ("biases", 1)):
            given = [read_numbers(value, f"each of the {name}", axes) for value in getattr(self, name)]
            object.__setattr__(self, name, tuple(given))
        for weight, bias, into in zip(self.weights, self.biases, self.widths, strict=False):
            if len(bias) != len(weight):
                raise Refusal(f"a Linear of {len(weight)} outputs has {len(bias)} biases")
            if weight.shape[1] != into:
                raise Refusal(f"a Linear of {weight.shape[1]} inputs follows one of {into} outputs")
        _ = self.sigmas  # refuses what is not known

    def __str__(self) -> str:
        names = sorted(set(map(str, self.activations)))
        return f"MLP {'-'.join(map(str, self.widths))} with {', '.join(names) or 'no activation'}"

    @property
    def widths(self) -> list[int]:
        """Features, hidden units of each layer, outputs."""
        return [self.weights[0].shape[1], *map(len, self.weights)]

    @cached_property
    def sigmas(self) -> list[Nonlinearity]:
        """The activations, with what the proof needs to know of them."""
        return list(map(activation, self.activations))

    @cached_property
    def linears(self) -> list[Linear]:
        """The matrices and biases, layer by layer."""
        return list(map(Linear, self.weights, self.biases))

    def held(self, request: Request) -> list[Linear]:
        """The matrices, if the dtype holds them exactly and all values that come of them."""
        dtype, size = request.dtype, self.size(request.domain)
        if not size < float(np.finfo(dtype).max) / 1024:
            raise Refusal(
                f"{self} may reach {number(size)} for {request.domain}, beyond the range of {dtype}: "
                "choose a smaller domain"
            )
        for value in (*self.weights, *self.biases):
            if not np.array_equal(value.astype(dtype).astype(np.float64), value):
                raise Refusal(
                    f"{dtype} cannot hold the weights as they are: call .float() on the network, or use dtype='float64'"
                )
        return self.linears

    def hash(self) -> str:
        """SHA-256 of the function: formulas, shapes and every weight."""
        digest = hashlib.sha256(repr(list(map(str, self.activations))).encode())
        for weight, bias in zip(self.weights, self.biases, strict=True):
            digest.update(repr(weight.shape).encode() + weight.tobytes() + bias.tobytes())
        return digest.hexdigest()

    @property
    def inputs(self) -> dict[str, Input]:
        return {"x": Input((self.widths[0],))}

    def claim(self) -> str:
        return "mlp(x)"

    def statement(self, request: Request) -> str:
        return (
            f"{super().statement(request)}^{self.widths[0]}, in each of {many(self.widths[-1], 'output')}, "
            f"where mlp is the {self} of SHA-256 {self.hash()}, in exact arithmetic"
        )

    def size(self, domain: Domain) -> float:
        """The largest |W| |y| + |b| of any layer, where |sigma(z)| <= |sigma(0)| + steep |z|."""
        size, most = np.full(self.widths[0], domain.size("x")), 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for layer, linear in enumerate(self.linears):
                size = np.abs(linear.weight) @ size + np.abs(linear.bias)
                most = max(most, float(size.max())) if np.isfinite(size).all() else math.inf
                if layer < len(self.sigmas):
                    sigma = self.sigmas[layer]
                    size = sigma.steep * size + abs(float(sigma.expression(0.0)))
        return most

    def exact(self, x: list[float]) -> list[arb]:
        values = list(map(arb, x))
        for layer, (matrix, bias) in enumerate(zip(_matrices(self), self.biases, strict=True)):
            product = matrix * arb_mat([[value] for value in values])
            values = [product[i, 0] + b for i, b in enumerate(bias.tolist())]
            if layer < len(self.sigmas):
                values = [self.sigmas[layer].at(z) for z in values]
        return values

    def encode(self, *inputs: Tensor) -> Tensor:
        """One token that holds the whole input."""
        return inputs[0][..., None, :]

    def decode(self, tokens: Tensor) -> Tensor:
        return tokens[..., 0, :]

    def printed_keys(self, request: Request) -> float | None:
        """2 (b - a)/eps_l anchors for each unit, on the domains of its layer."""
        linears, ends = self.held(request), request.domain["x"]
        costs = sensitivities(linears, [1.0] * len(self.sigmas))
        ideal = carry(
            linears, self.sigmas, ends, request.format, lambda l, _: Unit((), 0.0, 0.0, self.sigmas[l].steep)
        ).domains
        counts = zip(self.widths[1:-1], costs, ideal, strict=True)
        scale = 2 * len(costs) / request.eps
        return sum(n * math.ceil(scale * (hi - lo) * max(cost, 1e-300)) for n, cost, (lo, hi) in counts) or None

    def designs(self, request: Request) -> Iterator[Design]:
        """Share out eps, find heads layer by layer, and tighten as long as the proof asks for it."""
        linears, counts = self.held(request), self.widths[1:-1]
        costs = sensitivities(linears, [sigma.steep for sigma in self.sigmas])
        shares = [n * (CHEAP if cheap(e, (-9.0, 9.0)) else 1.0) for n, e in zip(counts, self.activations, strict=True)]
        aim = 0.9 * request.eps
        for _ in range(4 if counts else 1):
            goals = [aim * share / (max(cost, 1e-300) * sum(shares)) for share, cost in zip(shares, costs, strict=True)]

            def choose(layer: int, reach: Interval, goals: list[float] = goals) -> Unit:
                try:
                    return _found(self.sigmas[layer], reach, goals[layer], request.dtype)
                except Short as short:
                    raise Short(short.reason, request.eps * short.best / goals[layer]) from None

            carried = carry(linears, self.sigmas, request.domain["x"], request.format, choose)
            yield Units(tuple(unit.heads for unit in carried.units), tuple(counts))
            spare = request.eps - SLACK * float(carried.rounding.max())
            if spare <= 0.05 * request.eps:
                return
            aim *= min(0.8, 0.9 * spare / max(float(carried.approximation.max()), 1e-300))


@lru_cache(4)
def _matrices(mlp: MLP) -> list[arb_mat]:
    """The weights for ball arithmetic; kept beside the target, since balls cannot be copied or pickled."""
    return [arb_mat(weight.tolist()) for weight in mlp.weights]


def _found(sigma: Nonlinearity, reach: Interval, eps: float, dtype: str) -> Unit:
    """Heads for an activation on a domain, gates only or one table only, with the errors that the search saw."""
    if sigma.expression.op == "var":
        return Unit((always(1.0, 0.0),), 0.0, 0.0, 1.0)
    proof = solve(ScalarTask(sigma.expression, reach, 0.95 * eps, dtype))
    heads = tuple(head.cast(dtype) for head in folded(proof.part.heads, proof.part.bias))
    return Unit(heads, proof.approximation.bound, proof.rounding.bound, sigma.steep)
