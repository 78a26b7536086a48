"""One step of gradient descent as two layers on tokens (x, y, w, -1, delta).

algorithm-emulation Cor 3.1.2, with copies of the token; softmax-universality Thm 4.2, with gates.

    rule      delta_i += f(w . x_i - y_i) x_i                 copies of the token, or gates: itself or a null token
    average   w += -rate mean(delta) - rate l2 w,  delta = 0      uniform attention, and a head that sees itself only

As printed, algorithm-emulation Cor 3.1.2 returns the mean gradient: w, the rate and the sign are missing, and the next
layer needs x and y again. Here the tokens carry all of it through the residual stream, and the same weights serve
every step.

A step that errs by e in the 2-norm adds e, because gradient descent on a convex loss does not expand distances if
rate (loss'' lambda_max(X'X/n) + l2) <= 2: T e after T steps. The paper's t eps forgets sqrt(d): eps is a sup-norm
(algorithm-emulation Lemma D.4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from headsmith.constructions.design import Design, Tally
from headsmith.constructions.rule import copied_head, copies, sample_names, table_method
from headsmith.network import Attention, Dense, Layer, Network, Select, Sparse
from headsmith.proof.certificate import Bound
from headsmith.proof.composition import Error
from headsmith.proof.residuals import Ranges, largest, prove_table
from headsmith.proof.rounding import INFLATE, Format, gamma, summed
from headsmith.proof.statement import Head
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.compiler.request import Request


@dataclass(frozen=True, eq=False)
class GradientStep(Design):
    """A table of loss', in copies or as gates, and the step; `printed` leaves out w, the rate and the sign."""

    name, serves = "gradient step", "descent"
    table: tuple[Head, ...]
    samples: int
    steps: int
    gates: bool = False
    printed: bool = False

    @property
    def tally(self) -> Tally:
        return Tally(sum(head.keys for head in self.table) * self.samples, len(self.table) + 2, 2 * self.steps)

    @property
    def promises(self) -> bool:
        return not self.printed

    def method(self, target: Any) -> str:
        return "printed" if self.printed else "gate" if self.gates else table_method(target.f, self.table[0])

    def network(self, target: Any, dtype: str) -> Network:
        d, width, kind = target.features, 3 * target.features + 2, getattr(torch, dtype)
        x, y, w, minus = range(d), d, range(d + 1, 2 * d + 1), 2 * d + 1
        write = Select.writing([[*range(2 * d + 2, width)]] * len(self.table), width)
        if self.gates:
            rule: Layer = _gates(self.table, [*w, minus], [*x, y], write, width, kind)
        else:
            rule = copies(self.table, [[[*w, minus]], [[*x, y]], [[*x]]], width, write, kind)
        mean, own = (1.0, -1.0) if self.printed else (-target.rate, -target.rate * target.l2)
        names = [*(f"x.{k}" for k in x), "y", *(f"w.{k}" for k in x), "minus", *(f"delta.{k}" for k in x)]
        layers = {"rule": rule, "average": _average(d, mean, own, kind)}
        return Network(layers, tokens=sample_names(self.samples), features=names)

    def prove(self, target: Any, request: Request) -> Bound:
        """`steps` times the error of one; of the printed layer, what it lacks on top."""
        ranges, fmt, d = Ranges.of(request.domain), request.format, target.features
        table = prove_table(target.f, self.table, ranges.residuals(d, fmt, 1 if self.gates else 0), request.dtype)
        values = sum(float(abs(head.values).max()) for head in self.table) if self.gates else largest(table)
        rate, l2 = (1.0, 1.0) if self.printed else (target.rate, target.l2)
        one = step_error(table, values, ranges, d, self.samples, rate, l2, fmt)
        lost = ranges.w * (1 + target.rate * target.l2) + (1 + target.rate) * largest(table) * ranges.x
        missing = lost if self.printed else 0.0
        return Bound((self.steps * one.approximation + missing) * INFLATE, self.steps * one.rounding * INFLATE)

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> GradientStep:
        rule: Any = network.layers["rule"]
        gates = isinstance(rule, Attention)
        table = _gate_heads(rule) if gates else (copied_head(rule),)
        return cls(table, target.samples, target.steps, gates, request.method == "printed")


def step_error(
    table: Error, values: float, ranges: Ranges, d: int, n: int, rate: float, l2: float, fmt: Format
) -> Bound:
    """Of one step, in the 2-norm; `values` bounds the numbers that x is multiplied by.

    mean |x_i| is at most `reach` long. Of delta, the mean and rate: five products and casts, and two sums of n terms,
    that of the weights and that of the samples. Of l2 w: two of the coefficient, one product. Then two additions.
    """
    u, reach = fmt.unit, math.sqrt(d) * ranges.x
    kept, moved = math.sqrt(d) * ranges.w, rate * largest(table) * reach
    shrunk = rate * l2 * kept
    product = u * rate * values * reach
    mean = (gamma(4, u) + 2 * summed(n, u)) * moved
    rounding = rate * table.rounding * reach + product + mean + gamma(3, u) * shrunk
    added = u * (moved + shrunk) + u * (kept + moved + shrunk)
    tiny = math.sqrt(d) * (2 * n + 8) * max(1.0, rate) * fmt.tiny
    slack = INFLATE + gamma(2 * n + 12, u)  # pays for roundings of roundings
    return Bound(rate * table.approximation * reach * INFLATE, (rounding + added + tiny) * slack)


def _average(d: int, mean: float, own: float, dtype: torch.dtype) -> Attention:
    """w += mean * average(delta) by uniform attention; w += own * w and delta = 0 by a head that sees itself only."""
    width = 3 * d + 2
    w, delta = range(d + 1, 2 * d + 1), range(2 * d + 2, width)
    output = torch.zeros(2, width, 2 * d, dtype=torch.float64)
    for k in range(d):
        output[0, w[k], k], output[1, w[k], d + k], output[1, delta[k], k] = mean, own, -1.0
    return Attention(
        query=Select([[-1], [-1]], width),
        key=Select([[-1], [-1]], width),
        value=Select([[*delta, *[-1] * d], [*delta, *w]], width),
        output=Dense(output.to(dtype)),
        visible=["all", "self"],
        residual=True,
    )


def _gates(
    heads: tuple[Head, ...], asks: list[int], keys: list[int], write: Select, width: int, dtype: torch.dtype
) -> Attention:
    """value sigmoid(slope query . key) x for each head: attend to yourself, or to a null token."""
    slopes = [[[float(head.slopes[0])]] * len(keys) for head in heads]
    values = [[[float(head.values[0])]] * (len(keys) - 1) for head in heads]
    return Attention(
        query=Select([asks] * len(heads), width),
        key=Sparse([[[k] for k in keys]] * len(heads), torch.tensor(slopes, dtype=dtype), width),
        value=Sparse([[[k] for k in keys[:-1]]] * len(heads), torch.tensor(values, dtype=dtype), width),
        output=write,
        visible="self",
        memory=torch.zeros(1, width, dtype=dtype),
        residual=True,
    )


def _gate_heads(rule: Any) -> tuple[Head, ...]:
    """The gates that the layer holds, each against a null key."""
    slopes, values = (part.coefficient.detach().double()[:, 0, 0].tolist() for part in (rule.key, rule.value))
    return tuple(Head.table([a, 0.0], [0.0, 0.0], [v, 0.0]) for a, v in zip(slopes, values, strict=True))


def gate_heads(loss: str, residual: float, eps: float, count: int) -> tuple[Head, ...]:
    """Heads value sigmoid(slope z) that sum to loss': one for the logistic loss, 2 or 4 for the squared one.

    (2/a)(sigmoid(a z) - sigmoid(-a z)) = z - a^2 z^3/12 + ...; Richardson's 4/3 and -1/3 with a/2 and a remove it.
    """
    if loss == "logistic":
        return (Head.table([1.0, 0.0], [0.0, 0.0], [1.0, 0.0]),)
    if loss == "huber":
        raise Refusal("the Huber loss has no gate heads: its slope is no sum of sigmoids; use method='auto'")
    a = math.sqrt(12 * eps / residual**3) if count == 2 else (480 * eps / residual**5) ** 0.25
    pairs = [(a, 1.0)] if count == 2 else [(a / 2, 4 / 3), (a, -1 / 3)]
    return tuple(
        Head.table([sign * slope, 0.0], [0.0, 0.0], [sign * share * 2 / slope, 0.0])
        for slope, share in pairs
        for sign in (1.0, -1.0)
    )
