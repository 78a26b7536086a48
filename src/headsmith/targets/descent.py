"""Gradient descent inside attention: two layers a step, as many steps as asked for.

algorithm-emulation, Cor 3.1.2 to 3.1.4.

    net(x, y, w) = w_T,   w_{t+1} = w_t - rate ((1/n) sum_i loss'(w_t . x_i, y_i) x_i + l2 w_t)

For the logistic loss tokens hold (1 - 2y) x: (sigmoid(w.x) - y) x = sigmoid(w.x~) x~, which two keys give exactly.

    method  auto      the fewest keys that are found
            gate      attend to yourself or to a null token: (2/a)(sigmoid(a z) - sigmoid(-a z)) = z + O(a^2), with
                      four heads O(a^4); exact for the logistic loss. (Universal Approximation with Softmax
                      Attention, Thm 4.2 = D.4, where the printed step lacks the factor x_i.)
            printed   the layer of Cor 3.1.2 as stated, on the printed table: it returns the mean gradient
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from flint import arb
from torch import Tensor

from headsmith.compiler.compiled import Compiled
from headsmith.compiler.request import Request
from headsmith.compiler.rules import tabulate
from headsmith.compiler.target import Input, Target
from headsmith.constructions.design import Design, many
from headsmith.constructions.gradient_step import GradientStep, gate_heads
from headsmith.constructions.printed import printed_steps
from headsmith.functions import Expression, parse, precision
from headsmith.network import Network
from headsmith.proof.domain import Domain, Finite
from headsmith.proof.residuals import Ranges, check_residuals, read_ranges, residual
from headsmith.proof.spectrum import gram, largest_eigenvalue
from headsmith.records.shown import exactly
from headsmith.refusal import Refusal
from headsmith.targets.reading import check_sizes

SLOPES = {"squared": parse("t"), "logistic": parse("sigmoid(t)"), "huber": parse("clip(t, -1, 1)")}
BEND = {"squared": 1.0, "logistic": 0.25, "huber": 1.0}  # the largest loss''
LABELS = Finite((0.0, 1.0))


@dataclass(frozen=True)
class Descent(Target):
    """w <- w - rate ((1/n) sum_i loss'(w . x_i, y_i) x_i + l2 w), `steps` times.

    algorithm-emulation, Cor 3.1.2 to 3.1.4.

    loss: "squared" (r^2/2), "logistic" (y in {0, 1}) or "huber" (delta = 1).
    net(x, y, w) takes x (batch..., n, d), y (batch..., n) and the start w (batch..., d), or 0, to the last w.

    >>> Descent("squared", features=4, samples=16, steps=40, rate=0.5).steps
    40
    """

    kind = "descent"
    methods = ("auto", "gate", "printed")
    loss: str
    features: int
    samples: int
    steps: int = 1
    rate: float = 1.0
    l2: float = 0.0

    def __post_init__(self) -> None:
        check_sizes(features=self.features, samples=self.samples, steps=self.steps)
        if not isinstance(self.loss, str) or self.loss not in SLOPES:
            raise Refusal(f"no loss is called {self.loss!r}; there are squared, logistic and huber")
        numbers = isinstance(self.rate, int | float) and isinstance(self.l2, int | float)
        if not (numbers and 0 < self.rate < math.inf and 0 <= self.l2 < math.inf):
            raise Refusal("the rate must be a positive number, and l2 must not be negative")
        if self.rate * self.l2 > 2:
            raise Refusal("rate * l2 is above 2: every step expands distances, and nothing could be promised")
        for name in ("rate", "l2"):
            object.__setattr__(self, name, float(getattr(self, name)))

    def __str__(self) -> str:
        sizes = f"{many(self.samples, 'sample')} of {many(self.features, 'feature')}"
        return f"{self.steps} x gradient, {self.loss} loss, {sizes}"

    @property
    def f(self) -> Expression:
        """loss', as a function of the residual."""
        return SLOPES[self.loss]

    @property
    def residual(self) -> str:
        """What loss' is a function of."""
        return "w.x" if self.loss == "logistic" else "w.x - y"

    @property
    def inputs(self) -> dict[str, Input]:
        n, d = self.samples, self.features
        return {"x": Input((n, d)), "y": Input((n,)), "w": Input((d,), optional=True)}

    def claim(self) -> str:
        times = f"step {self.steps} of w <- w - {exactly(self.rate)}"
        return f"{times} ((1/{self.samples}) sum_i loss'(w.x_i, y_i) x_i + {exactly(self.l2)} w)"

    def statement(self, request: Request) -> str:
        slope = f"{exactly(BEND[self.loss])} lambda_max(X'X/{self.samples}) + {exactly(self.l2)}"
        return (
            f"|network(x, y, w) - {self.claim()}| <= bound for every {request.dtype} {request.domain}, w being "
            "the start (0 if it is left out) and each iterate of the network before the last; "
            f"{self.loss} loss{' with delta = 1' * (self.loss == 'huber')}, if {exactly(self.rate)} ({slope}) <= 2"
        )

    def domain(self, given: Any, dtype: str) -> Domain:
        if self.loss != "logistic":
            return read_ranges(given, ("x", "y", "w", self.residual), dtype, str(self))
        given = {k: v for k, v in given.items() if k != "y"} if isinstance(given, Mapping) else given
        sets = read_ranges(given, ("x", "w", self.residual), dtype, str(self)).sets
        return Domain({"x": sets["x"], "y": LABELS, "w": sets["w"], self.residual: sets[self.residual]})

    def size(self, domain: Domain) -> float:
        slopes = max(self.f.bound(*domain[self.residual]), 1e-300)
        return self._growth(domain) * slopes + math.sqrt(self.features) * self.steps * domain.size("w")

    def _growth(self, domain: Domain) -> float:
        """What an error of loss' by 1 does to the last w."""
        return self.steps * self.rate * math.sqrt(self.features) * domain.size("x")

    def check(self, domain: Domain, *inputs: Any) -> None:
        """A rate that does not expand distances, for each data set."""
        n, d = self.samples, self.features
        for rows in inputs[0].detach().double().cpu().numpy().reshape(-1, n, d):
            expansion = self.rate * (largest_eigenvalue(*gram(rows, BEND[self.loss])) + self.l2)
            if expansion > 2:
                raise Refusal(
                    f"rate {self.rate:g} is too large for these data: a step would expand distances by "
                    f"{expansion - 1:.3g}, and nothing could be promised; take a rate of "
                    f"{self.rate * 2 / expansion:.3g} or less"
                )

    def sample(self, domain: Domain, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """At random; shrunk, data set by data set, until no step leaves its ranges."""
        x, y = super().sample(domain, count, generator)
        limits = 0.95 * domain.size(self.residual), 0.95 * domain.size("w")
        for _ in range(200):
            bad = self._strays(x, y, *limits)
            if not bool(bad.any()):
                break
            x = torch.where(bad[:, None, None], 0.9 * x, x)
            y = y if self.loss == "logistic" else torch.where(bad[:, None], 0.9 * y, y)
        return x, y

    def _strays(self, x: Tensor, y: Tensor, residual: float, largest: float) -> Tensor:
        """Which data sets expand distances, or leave a range on the way."""
        tokens = self.encode(x, y)
        x, y, w = tokens[..., : self.features], tokens[..., self.features], torch.zeros_like(x[:, 0])
        bad = self.rate * (BEND[self.loss] * (x**2).sum((-1, -2)) / self.samples + self.l2) > 1.99
        for _ in range(self.steps):
            z = (x @ w.unsqueeze(-1)).squeeze(-1) - y
            bad |= (z.abs().amax(-1) > residual) | (w.abs().amax(-1) > largest)
            slopes = torch.from_numpy(self.f(z.numpy()))
            w = w - self.rate * ((slopes.unsqueeze(-1) * x).mean(-2) + self.l2 * w)
        return bad

    def exact(self, x: Any, y: Any, w: Any = None) -> list[Any]:
        bits = 128 + self.steps * math.ceil(math.log2(2 * self.features + 2))  # what a step may widen the balls by
        rows = [[(1 - 2 * b) * a for a in row] for row, b in zip(x, y, strict=True)] if self.loss == "logistic" else x
        labels = [0.0] * len(y) if self.loss == "logistic" else y
        with precision(bits):
            found = [arb(a) for a in (w or [0.0] * self.features)]
            for _ in range(self.steps):
                levels = [self.f.at(residual(r, b, found), prec=bits) for r, b in zip(rows, labels, strict=True)]
                means = [sum(v * a for v, a in zip(levels, column, strict=True)) for column in zip(*rows, strict=True)]
                moves = [m / self.samples + arb(self.l2) * a for m, a in zip(means, found, strict=True)]
                found = [a - arb(self.rate) * m for a, m in zip(found, moves, strict=True)]
        return found

    def printed_keys(self, request: Request) -> float:
        ends, eps = request.domain[self.residual], request.eps / self._growth(request.domain)
        return (float(printed_steps(self.f, ends, eps)) + 1) * self.samples

    def designs(self, request: Request) -> Iterator[Design]:
        if request.method == "printed" and self.steps > 1:
            raise Refusal(
                "the printed layer returns the mean gradient, not the next w: it cannot be stacked; ask for steps=1"
            )
        ranges, growth = Ranges.of(request.domain), self._growth(request.domain)
        printed = request.method == "printed"
        growth = growth / self.rate if printed else growth  # it has no rate
        for aim in (0.9 * request.eps / growth, 0.4 * request.eps / growth):
            if request.method == "gate":
                for count in (2, 4):
                    heads = gate_heads(self.loss, ranges.residual, aim, count)
                    cast = tuple(head.cast(request.dtype) for head in heads)
                    yield GradientStep(cast, self.samples, self.steps, gates=True)
            else:
                head = tabulate(self.f, ranges, self.features, aim, request)
                yield GradientStep((head,), self.samples, self.steps, printed=printed)

    def encode(self, *inputs: Any) -> Tensor:
        """(batch..., n, 3 d + 2): token i is (x_i, y_i, w, -1, 0); labels of a logistic loss become signs of x_i."""
        x, y, *start = inputs
        w = start[0] if start and start[0] is not None else x.new_zeros(self.features)
        if self.loss == "logistic":
            x, y = (1 - 2 * y).unsqueeze(-1) * x, torch.zeros_like(y)
        batch = torch.broadcast_shapes(x.shape[:-2], y.shape[:-1], w.shape[:-1])
        x, y, w = (part.expand(*batch, self.samples, part.shape[-1]) for part in (x, y.unsqueeze(-1), w.unsqueeze(-2)))
        return torch.cat([x, y, w, -torch.ones_like(y), torch.zeros_like(x)], -1)

    def decode(self, tokens: Tensor) -> Tensor:
        d = self.features
        return tokens[..., 0, d + 1 : 2 * d + 1]

    def run(self, network: Network, tokens: Tensor, domain: Domain) -> Tensor:
        return list(self.states(network, tokens, domain))[-1]

    def states(self, network: Network, tokens: Tensor, domain: Domain) -> Iterator[Tensor]:
        """The tokens before and after each step; every residual and every w on the way is checked."""
        d = self.features
        yield tokens
        for _ in range(self.steps):
            domain.check("w", self.decode(tokens))
            check_residuals(tokens[..., :d], tokens[..., d], tokens[..., d + 1 : 2 * d + 1], domain.size(self.residual))
            tokens = network(tokens)
            yield tokens

    @classmethod
    def compiled(cls) -> type[Compiled]:
        return DescentNetwork


class DescentNetwork(Compiled):
    """net(x, y, w) is w after all steps; `path` gives every step, `unrolled` the network with a block for each."""

    def path(self, *inputs: Any, **named: Any) -> list[Tensor]:
        """w_0, ..., w_T, each within the bound."""
        target = cast(Descent, self.target)
        tokens = self.encode(*self.accept(inputs, named))
        return [target.decode(state) for state in target.states(self.network, tokens, self.plan.request.domain)]

    def unrolled(self) -> Network:
        """One network with a block of layers for each step, all of them the same numbers."""
        steps = range(cast(Descent, self.target).steps)
        layers = {f"{name}{t}": layer for t in steps for name, layer in self.network._named()}
        return Network(layers, tokens=self.network.inputs, features=self.network.features)
