"""Any learning rule of the form f(w . x - y) x, in one attention layer (In-Context Algorithm Emulation, Thm 3.1).

    net(x, y, w)[..., i, :] = f(w . x_i - y_i) x_i              x (batch..., n, d), y (batch..., n), w (batch..., d)

With f = loss' these are the gradients of all samples (Cor 3.1.1). With w = 0 and direction s_i = (X'X/n)^-1 x_i the
mean of f(-y_i) s_i is minus the least-squares solution, in one honest layer (Cor 3.1.3, where the proof takes L).

    method  auto      every sample a softmax of its own, O(n P)
            dense     the paper's layer: one softmax over all n (P + 1) keys, O(n^2 P)
            printed   the paper's layer with its staircase table, and its C
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headsmith.compiler.request import Request
from headsmith.compiler.rules import tabulate
from headsmith.compiler.target import Input, Target, as_expression
from headsmith.constructions.design import Design, many
from headsmith.constructions.printed import printed_steps
from headsmith.constructions.rule import Rule, printed_suppression, suppression
from headsmith.functions import Expression
from headsmith.functions.misbehaviour import refuse_misbehaviour
from headsmith.functions.several import at_point
from headsmith.proof.domain import Domain
from headsmith.proof.residuals import Ranges, check_residuals, read_ranges, residual
from headsmith.refusal import Refusal
from headsmith.targets.reading import check_sizes

LEAK = 1e-3  # share of eps that may be spent on weight that leaves the block of its query
RESIDUAL = "w.x - y"


@dataclass(frozen=True)
class ResidualRule(Target):
    """f(w . x_i - y_i) x_i for n samples, f a formula of one variable (In-Context Algorithm Emulation, Thm 3.1).

    net(x, y, w) takes x (batch..., n, d), y (batch..., n) and w (batch..., d), or a w for each, to (batch..., n, d).
    net(x, y, w, direction=s) puts s_i (batch..., n, d) in the place of the x_i behind the f.

    >>> print(ResidualRule("tanh(t)", features=4, samples=16))
    (tanh(t)) x, 16 samples of 4 features
    """

    kind = "rule"
    methods = ("auto", "dense", "printed")
    f: Any
    features: int
    samples: int

    def __post_init__(self) -> None:
        check_sizes(features=self.features, samples=self.samples)
        f = as_expression(self.f)
        if not isinstance(f, Expression) or len(f.variables) > 1:
            raise Refusal(f"the rule f must be a formula of one variable, such as 'tanh(t)', not {self.f}")
        object.__setattr__(self, "f", f)

    def __str__(self) -> str:
        return f"({self.f}) x, {many(self.samples, 'sample')} of {many(self.features, 'feature')}"

    @property
    def inputs(self) -> dict[str, Input]:
        n, d = self.samples, self.features
        return {"x": Input((n, d)), "y": Input((n,)), "w": Input((n, d)), "direction": Input((n, d), optional=True)}

    def claim(self) -> str:
        return "f(w.x_i - y_i) x_i"

    def statement(self, request: Request) -> str:
        direction = "with a direction s in the set of x, s_i stands for the last x_i"
        return f"{super().statement(request)}; f = {self.f}; {direction}"

    def domain(self, given: Any, dtype: str) -> Domain:
        return read_ranges(given, ("x", "y", "w", RESIDUAL), dtype, str(self))

    def size(self, domain: Domain) -> float:
        return max(self.f.bound(*domain[RESIDUAL]), 1e-300) * domain.size("x")

    def arrange(self, *inputs: Any) -> Sequence[Any]:
        """One w for all samples, written out for each."""
        x, y, w, *rest = inputs
        if w.dim() < x.dim():
            w = w.expand(self.features) if w.dim() == 0 else w
            w = w.unsqueeze(-2).expand(*[1] * (x.dim() - 1 - w.dim()), *w.shape[:-1], self.samples, w.shape[-1])
        return x, y, w, *rest

    def check(self, domain: Domain, *inputs: Any) -> None:
        x, y, w, *direction = inputs
        if direction and direction[0] is not None:
            domain.check("x", direction[0])
        check_residuals(x, y, w, domain.size(RESIDUAL))

    def sample(self, domain: Domain, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """At random; w and y are made smaller, sample by sample, until the residuals are in their range."""
        x, y, w = super().sample(domain, count, generator)
        limit = domain.size(RESIDUAL)
        y = y * min(1.0, limit / domain.size("y"))
        w = w[..., :1, :]
        steps = (x * w).sum(-1)
        room = ((limit + y * steps.sign()) / steps.abs().clamp(min=1e-300)).amin(-1, keepdim=True)
        return x, y, (w * (0.99 * room).clamp(max=1.0).unsqueeze(-1)).expand_as(x)

    def exact(self, x: Any, y: Any, w: Any, direction: Any = None) -> list[Any]:
        names = self.f.variables or ("t",)
        levels = [at_point(self.f, names, [residual(*each)]) for each in zip(x, y, w, strict=True)]
        return [[level * v for v in row] for level, row in zip(levels, direction or x, strict=True)]

    def printed_keys(self, request: Request) -> float:
        ends, eps = request.domain[RESIDUAL], request.eps / request.domain.size("x")
        return (float(printed_steps(self.f, ends, eps)) + 1) * self.samples

    def designs(self, request: Request) -> Iterator[Design]:
        ranges = Ranges.of(request.domain)
        refuse_misbehaviour(self.f, request.domain[RESIDUAL])
        for share in (0.95, 0.5, 0.1):
            head = tabulate(self.f, ranges, self.features, share * request.eps / ranges.x, request)
            leak = LEAK * request.eps / (max(float(abs(head.values).max()), 1e-300) * ranges.x)
            if request.method == "auto":
                yield Rule(head, self.samples)
            elif request.method == "dense":
                other = ranges.products(self.features)
                yield Rule(head, self.samples, suppression(head, ranges.residual, other, self.samples, leak))
            else:
                yield Rule(head, self.samples, printed_suppression(head, self.features, ranges, leak), printed=True)

    def encode(self, *inputs: Tensor) -> Tensor:
        """(batch..., n, 3 d + 1): token i is (x_i, y_i, w_i, direction_i)."""
        x, y, w, *toward = self.arrange(*inputs)
        toward = toward[0] if toward and toward[0] is not None else x
        batch = torch.broadcast_shapes(*(part.shape[:-2] for part in (x, w, toward)), y.shape[:-1])
        parts = [part.expand(*batch, *part.shape[-2:]) for part in (x, y.unsqueeze(-1), w, toward)]
        return torch.cat(parts, -1)
