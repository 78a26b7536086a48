"""Continuous maps of sequences, X (tokens, features) -> (tokens, features), by attention.

softmax-universality, Thm 3.14 and Cor 3.15, and a shorter way.

*auto*: one layer gathers all tokens into each of them, a bit-exact copy, and one head on a tensor grid computes all
outputs at once from values that share its keys; each token reads its own (constructions/gather.py).
*bumps*: the paper's route, repaired: a bump on each of g^(dn) cells, then attention that picks the cell
(constructions/bumps.py). *softmax*: the same with one attention layer and a softmax (Cor 3.15). *printed*: as the
paper has it, whatever comes of it.

Both pay for the grid: g^(dn) in tokens. The first needs about ten times fewer points an axis than the bumps need
for 10 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from flint import arb
from torch import Tensor

from headsmith.compiler.request import Request
from headsmith.compiler.several import VARIABLES, grid_heads, printed_cells, too_many
from headsmith.compiler.target import Input, Target, as_expression
from headsmith.constructions.bumps import METHODS as BUMPS
from headsmith.constructions.bumps import bumps_for, finest
from headsmith.constructions.design import Design, Short, many
from headsmith.constructions.gather import Gathered, variable_names
from headsmith.functions import Expression
from headsmith.functions.asked import ULPS, asked
from headsmith.functions.misbehaviour import PIECES
from headsmith.functions.several import at_point, evaluator
from headsmith.proof.domain import Domain, Interval
from headsmith.proof.rounding import ASSUMPTIONS
from headsmith.records.shown import exactly, upper
from headsmith.refusal import Refusal
from headsmith.search.tensor_grid import Search, TooRough
from headsmith.targets.reading import check_sizes, plain_name

AIMS = (0.3, 0.15)
"""Sampled errors to look for where f is code, as shares of eps: the rest is for what happens between samples."""


@dataclass(frozen=True, eq=False)
class SequenceMap(Target):
    """X -> f(X), X (tokens, features) -> (tokens, features): a continuous map of whole sequences.

    softmax-universality, Thm 3.14; with scalar=True X -> one number, by one formula (Lemmas 3.12 and 3.13).

    f is a formula for each output number, in the variables x1, x2, ... that count the inputs token by token, or a
    callable on one sequence (tokens, features), which needs `lipschitz`: |f(X) - f(Y)| <= L max|X - Y| entrywise.

    >>> both = SequenceMap(["x1*x2", "x1 + x2"], tokens=2, features=1)
    >>> hs.compile(both, domain=(-1, 1), eps=1e-6)([[0.5], [-0.25]]).round(decimals=5)
    tensor([[-0.1250],
            [ 0.2500]], dtype=torch.float64)
    """

    kind = "sequence"
    methods = ("auto", *BUMPS)

    f: Any
    tokens: int
    features: int
    lipschitz: float | None = None
    scalar: bool = False
    function: Any = field(default=None, repr=False, metadata={"stored": False})

    def __post_init__(self) -> None:
        check_sizes(tokens=self.tokens, features=self.features)
        if not isinstance(self.scalar, bool) or (self.scalar and callable(self.f)):
            raise Refusal("a scalar map is one formula, scalar=True; code maps a sequence to a sequence")
        if callable(self.f):
            name = getattr(self.f, "__name__", type(self.f).__name__)
            object.__setattr__(self, "function", self.f)
            object.__setattr__(self, "f", plain_name(name))
        if self.code and (self.function, self.lipschitz) != (None, None):  # a word alone is a formula out of its list
            L = self.lipschitz
            if isinstance(L, bool) or not isinstance(L, int | float) or not 0 < L < math.inf:
                raise Refusal(
                    "the map is code, so what it does between samples is unknown: give lipschitz=L with "
                    "|f(X) - f(Y)| <= L max|X - Y|"
                )
            object.__setattr__(self, "lipschitz", float(L))
        else:
            object.__setattr__(self, "f", self._formulas())
            object.__setattr__(self, "lipschitz", None)

    @property
    def code(self) -> bool:
        """Whether f is a function, of which files hold the name alone."""
        return isinstance(self.f, str) and self.f == plain_name(self.f)

    def _formulas(self) -> tuple[Any, ...]:
        """One expression for each output number, token by token."""
        count = 1 if self.scalar else self.tokens * self.features
        if not isinstance(self.f, list | tuple):
            raise Refusal(
                f"a sequence map is a list of {many(count, 'formula')}, or a callable with lipschitz=, not {self.f!r}"
            )
        given = [g for row in self.f for g in (row if isinstance(row, list | tuple) else [row])]
        if len(given) != count:
            if self.scalar:
                raise Refusal(f"a scalar map is one formula, not {len(given)}")
            raise Refusal(
                f"{many(self.tokens, 'token')} of {many(self.features, 'feature')} need {many(count, 'formula')}, not "
                f"{len(given)}"
            )
        found = tuple(map(as_expression, given))
        if not all(isinstance(f, Expression) for f in found):
            raise Refusal("a sequence map is a list of formulas as text, such as ['x1*x2', 'x1 + x2']")
        allowed = set(self.variables)
        for f in found:
            if not set(f.variables) <= allowed:
                raise Refusal(f"{f} may use the variables {', '.join(self.variables)}: the inputs, token by token")
        return found

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """x1, x2, ...: the entries of X, token by token."""
        return variable_names(self.tokens * self.features)

    @property
    def shape(self) -> tuple[int, int]:
        """Of the output as tokens."""
        return (1, 1) if self.scalar else (self.tokens, self.features)

    @property
    def known(self) -> bool:
        return not self.code or self.function is not None

    def box(self, domain: Domain) -> tuple[Interval, ...]:
        """The interval of each entry of X."""
        return (domain["X"],) * len(self.variables)

    def __str__(self) -> str:
        return self.f if self.code else "[" + ", ".join(map(str, self.f)) + "]"

    @property
    def inputs(self) -> dict[str, Input]:
        return {"X": Input((self.tokens, self.features))}

    def claim(self) -> str:
        return "f(X)"

    def rows(self) -> list[tuple[str, str]]:
        to = "one number" if self.scalar else "the same"
        return [("map", f"{many(self.tokens, 'token')} of {many(self.features, 'feature')} -> {to}")]

    def statement(self, request: Request) -> str:
        inputs = f"{request.dtype} {request.domain}^({self.tokens} x {self.features}), f = {self}"
        return f"|network(X) - f(X)| <= bound in every entry, for every {inputs}" + (
            f", if {self.condition}" if self.code else ""
        )

    @property
    def condition(self) -> str:
        """What a user vouches for."""
        return f"|f(X) - f(Y)| <= {exactly(self.lipschitz or math.nan)} max|X - Y|"

    @property
    def assumptions(self) -> tuple[str, ...]:
        return (f"f is computed within {ULPS} ulps of float64", *ASSUMPTIONS) if self.code else ASSUMPTIONS

    def size(self, domain: Domain) -> float:
        nodes = [np.linspace(*ends, 9 if len(self.variables) <= VARIABLES else 2) for ends in self.box(domain)]
        return max(float(np.abs(self.evaluate(*np.meshgrid(*nodes))).max()), 1e-300)

    def exact(self, *inputs: Any) -> list[Any]:
        """f in balls; of code the values that it returns, and the ulps that are allowed around them."""
        point = [x for row in inputs[0] for x in row]
        if not self.code:
            return [at_point(f, self.variables, point) for f in self.f]
        values = self.evaluate(*np.array(point)).tolist()
        return [arb(y, ULPS * 2.0**-52 * abs(y)) for y in values]

    def evaluate(self, *points: np.ndarray) -> np.ndarray:
        """f in float64, (components, ...), for one array for each entry of X."""
        if not self.code:
            return evaluator(self.f, self.variables)(*points)
        if self.function is None:
            raise Refusal(f"the file does not hold the function {self.f}, so nothing can be compared with it")
        X = np.stack(np.broadcast_arrays(*points), -1).astype(np.float64)
        y = asked(self.function, torch.from_numpy(X.reshape(-1, self.tokens, self.features)), self.f)
        return np.moveaxis(y.numpy().reshape(X.shape), -1, 0)

    def decode(self, tokens: Tensor) -> Tensor:
        return tokens[..., 0, 0] if self.scalar else tokens

    def printed_keys(self, request: Request) -> float:
        """g^(dn) cells."""
        if not self.known:
            return math.inf
        return printed_cells(self.evaluate, self.box(request.domain), request.eps)

    def designs(self, request: Request) -> Iterator[Design]:
        box = self.box(request.domain)
        if request.method != "auto":
            return bumps_for(self, request)
        if len(box) > VARIABLES:
            instead = "a map that is a network (nn.Sequential, hs.target.ReluNetwork) has no such limit"
            raise too_many(str(self), self.evaluate, box, request.eps, instead)
        if self.code:
            return self._sampled(request)
        heads = grid_heads(str(self), self.f, self.variables, box, request, self._instead(request))
        return (Gathered(head, self.tokens) for head in heads)

    def _instead(self, request: Request) -> str:
        """What follows a kink: cells."""
        least = max(request.eps, finest(self, request.domain))
        return f"method='bumps' has eps = {upper(least)}" if least < math.inf else PIECES

    def _sampled(self, request: Request) -> Iterator[Design]:
        for aim in AIMS:
            try:
                search = Search(self.evaluate, self.box(request.domain), 2 * aim * request.eps, request.dtype)
            except TooRough as rough:
                raise Short(str(rough), rough.error) from None
            head = search.find(aim * request.eps)
            if head is None:
                best = search.best()
                raise Short(f"a grid of {best.tokens} tokens leaves {search.error(best):.1e}", search.error(best))
            yield Gathered(head, self.tokens)
