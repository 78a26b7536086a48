"""Linear and ridge regression inside attention, for all data that are curved enough: no inverse, no eigenvalue.

algorithm-emulation, Cor 3.1.3 and 3.1.4.

    net(x, y) = argmin_w 1/(2n) sum_i (w . x_i - y_i)^2 + l2/2 |w|^2

    method  auto      one step of gradient descent, its weights the same every time, as often as the domain asks for
            printed   one such step, as stated: "a single-layer softmax attention emulates linear regression"
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from flint import arb, arb_mat
from torch import Tensor

from headsmith.compiler.request import Request
from headsmith.compiler.rules import tabulate
from headsmith.compiler.target import Input, Target
from headsmith.constructions.design import Design, Short, many
from headsmith.constructions.least_squares import Convergence, Pace
from headsmith.functions import Expression, precision
from headsmith.proof.domain import Domain
from headsmith.proof.residuals import read_ranges
from headsmith.proof.spectrum import gram, least_eigenvalue
from headsmith.records.shown import exactly, number
from headsmith.refusal import Refusal
from headsmith.targets.descent import SLOPES, Descent
from headsmith.targets.reading import check_sizes

MOST = 100_000  # steps that are taken
TRIES = 100


@dataclass(frozen=True)
class LeastSquares(Target):
    """The minimiser of 1/(2n) |Xw - y|^2 + l2/2 |w|^2, for all data with lambda_min(X'X/n) + l2 >= curvature.

    algorithm-emulation, Cor 3.1.3 and 3.1.4. With `padded` data the penalty is in the prompt and the weights know none.

    >>> net = hs.compile(LeastSquares(features=1, samples=3, curvature=0.5), domain={"x": 1.0, "y": 1.0}, eps=1e-6)
    >>> net([[1.0], [-1.0], [0.5]], [0.5, -0.5, 0.25]).round(decimals=5)
    tensor([0.5000], dtype=torch.float64)
    """

    kind = "least squares"
    methods = ("auto", "printed")
    features: int
    samples: int
    curvature: float
    l2: float = 0.0

    def __post_init__(self) -> None:
        check_sizes(features=self.features, samples=self.samples)
        sizes = (self.curvature, self.l2)
        if any(isinstance(v, bool) or not isinstance(v, int | float) or not 0 <= v < math.inf for v in sizes):
            raise Refusal("curvature must be a positive number, and l2 must not be negative")
        if not self.curvature > 0:
            raise Refusal("without curvature the minimiser is not unique: give the least eigenvalue of X'X/n + l2")
        for name, value in zip(("curvature", "l2"), sizes, strict=True):
            object.__setattr__(self, name, float(value))

    def __str__(self) -> str:
        sizes = f"{many(self.samples, 'sample')} of {many(self.features, 'feature')}"
        return f"least squares, {sizes}, curvature {exactly(self.curvature)}, l2 = {exactly(self.l2)}"

    @property
    def f(self) -> Expression:
        """The slope of r^2/2."""
        return SLOPES["squared"]

    @cached_property
    def descent(self) -> Descent:
        """The tokens of a step; its rate is the design's."""
        return self.step(1e-6)

    def step(self, rate: float) -> Descent:
        """One step with this rate."""
        return Descent("squared", self.features, self.samples, 1, rate, self.l2)

    def pace(self, request: Request) -> Pace:
        """How fast the data of this domain are solved."""
        x, y = request.domain.size("x"), request.domain.size("y")
        return Pace(self.features, self.samples, x, y, self.curvature, self.l2)

    @property
    def inputs(self) -> dict[str, Input]:
        return {"x": Input((self.samples, self.features)), "y": Input((self.samples,))}

    def claim(self) -> str:
        return f"argmin_w 1/{2 * self.samples} sum_i (w.x_i - y_i)^2 + {exactly(self.l2)}/2 |w|^2"

    @property
    def condition(self) -> str:
        """What is asked of x beside its range."""
        return f"lambda_min(X'X/{self.samples}) + {exactly(self.l2)} >= {exactly(self.curvature)}"

    def statement(self, request: Request) -> str:
        return f"{super().statement(request)} with {self.condition}"

    def domain(self, given: Any, dtype: str) -> Domain:
        found = read_ranges(given, ("x", "y"), dtype, str(self))
        if self.curvature > found.size("x") ** 2 + self.l2:
            raise Refusal(
                f"no data have {self.condition} for {found}: the mean of its eigenvalues is at most "
                f"{number(found.size('x') ** 2 + self.l2)}"
            )
        return found

    def size(self, domain: Domain) -> float:
        return domain.size("y") / math.sqrt(self.curvature)

    def check(self, domain: Domain, *inputs: Any) -> None:
        """The curvature of each data set, proved."""
        for rows in inputs[0].detach().double().cpu().numpy().reshape(-1, self.samples, self.features):
            found = least_eigenvalue(*gram(rows)) + self.l2
            if not found * (1 - 1e-15) >= self.curvature:
                raise Refusal(
                    f"these data have a curvature of {number(max(found, 0.0), 4)}, promised was "
                    f"{exactly(self.curvature)}: compile with less, or add a penalty"
                )

    def padded(self, X: Any, y: Any, lam: float = 0.0) -> tuple[Tensor, Tensor]:
        """Data and penalty as samples: rows sqrt(n lam) e_k with the label 0, then rows of zeros.

        What the network solves for them is the ridge regression 1/(2n) |Xw - y|^2 + lam/2 |w|^2: lambda is in the
        prompt.

        >>> LeastSquares(1, 3, 0.5).padded([[1.0]], [2.0], 4.0)[0]
        tensor([[1.],
                [2.],
                [0.]], dtype=torch.float64)
        """
        rows, labels = torch.as_tensor(X, dtype=torch.float64), torch.as_tensor(y, dtype=torch.float64)
        used = len(rows) + (self.features if lam else 0)
        if rows.shape[1:] != (self.features,) or labels.shape != rows.shape[:1] or used > self.samples or not lam >= 0:
            raise Refusal(
                f"these {self.samples} samples hold X (n, {self.features}), y (n,), and {self.features} more for a "
                f"penalty that is not negative"
            )
        x, values = rows.new_zeros(self.samples, self.features), rows.new_zeros(self.samples)
        x[: len(rows)], values[: len(rows)] = rows, labels
        if lam:
            x[len(rows) : used] = math.sqrt(len(rows) * lam) * torch.eye(self.features, dtype=torch.float64)
        return x, values

    def sample(self, domain: Domain, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """At random; drawn towards the corners, data set by data set, until they are curved enough."""
        x, y = super().sample(domain, count, generator)
        for share in torch.linspace(0, 1, TRIES).tolist():
            least = torch.linalg.eigvalsh(x.mT @ x / self.samples)[..., 0] + self.l2
            flat = least < self.curvature * (1 + 1e-9)
            if not bool(flat.any()):
                return x, y
            again = super().sample(domain, count, generator)[0]
            corner = domain.size("x") * again.sign()
            x = torch.where(flat[:, None, None], (1 - share) * again + share * corner, x)
        raise Refusal(f"no data at random have {self.condition}")

    def exact(self, x: Any, y: Any) -> list[Any]:
        d, n = self.features, self.samples
        with precision(256):
            X, labels = arb_mat(x), arb_mat([[b] for b in y])
            penalty = arb_mat([[arb(self.l2) * n if i == j else arb(0) for j in range(d)] for i in range(d)])
            return [row[0] for row in (X.transpose() * X + penalty).solve(X.transpose() * labels).tolist()]

    def designs(self, request: Request) -> Iterator[Design]:
        pace, printed = self.pace(request), request.method == "printed"
        rate = pace.rate(request.dtype)
        steps = 1 if printed else pace.steps(rate, request.eps)
        if steps > MOST:
            raise Short(f"the condition number {number(pace.steepest / self.curvature)} takes {steps} steps")
        aim = request.eps / (pace.kept(rate, steps) * rate * math.sqrt(self.features) * pace.inputs)
        for share in (0.4, 0.2):
            head = tabulate(self.f, pace.ranges(request.eps), self.features, share * aim, request)
            yield Convergence(head, self.samples, rate, steps, printed)

    def encode(self, *inputs: Any) -> Tensor:
        """(batch..., n, 3 d + 2): token i is (x_i, y_i, 0, -1, 0)."""
        return self.descent.encode(*inputs)

    def decode(self, tokens: Tensor) -> Tensor:
        return self.descent.decode(tokens)
