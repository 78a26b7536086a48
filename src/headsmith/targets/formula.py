"""Formulas: "sin(3*x)", several of them, or of several variables -> softmax attention that computes them, with a proof.

One variable: heads that are exact, gates, searched tables, and compositions where kinks sit inside curved functions
(`compiler.program`). Several formulas of one variable share the keys of one head, or stand side by side; the smaller
way is built. Several variables: one head on a tensor grid (`compiler.several`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headsmith.compiler.program import METHODS, forge
from headsmith.compiler.request import Request
from headsmith.compiler.several import VARIABLES, grid_heads, printed_cells, too_many
from headsmith.compiler.target import Input, Target, as_expression
from headsmith.constructions.design import Design, Short
from headsmith.constructions.heads import ScalarHeads
from headsmith.constructions.printed import LARGEST, TooLarge, printed_steps
from headsmith.constructions.tensor_grid import Grid
from headsmith.functions import Expression
from headsmith.functions.misbehaviour import defined_ends, refuse_misbehaviour, refuse_overflow
from headsmith.functions.several import at_point, evaluator
from headsmith.proof.domain import Domain, read_domain
from headsmith.refusal import Refusal


@dataclass(frozen=True, eq=False)
class Formula(Target):
    """f(x), f(x, y), or several at once (`vector`, one more axis in the output).

    net(x) has x's shape; net(x, y), or net(x=..., y=...), the common shape of the inputs, variables in sorted order.
    """

    kind = "formula"
    formulas: tuple[Expression, ...]
    variables: tuple[str, ...]
    vector: bool = False

    def __post_init__(self) -> None:
        used = {name for f in self.formulas for name in f.variables}
        if list(self.variables) != sorted(used | set(self.variables)) or not self.variables:
            raise Refusal(f"{self} has the variables {', '.join(sorted(used))}, not {', '.join(self.variables)}")
        for name in self.variables:
            Expression.variable(name)  # refuses what is no name: a sentence could be hidden in it
        if type(self.variables) is not tuple or type(self.vector) is not bool:
            raise Refusal("a formula has a tuple of variables, and is a vector or not")

    @classmethod
    def read(cls, given: Any, domain: Any) -> Formula:
        """A formula or a list of them; a domain by name may have variables that none of them uses."""
        vector = isinstance(given, list | tuple)
        texts = list(given) if vector else [given]
        if not texts:
            raise Refusal("an empty list of formulas has nothing to compute: give at least one, such as ['sin(x)']")
        if not all(isinstance(t, str | Expression) for t in texts):
            raise Refusal("a list of targets holds formulas only, such as ['sin(x)', 'x^2']")
        formulas = tuple(map(as_expression, texts))
        used = {name for f in formulas for name in f.variables}
        named = set(map(str, domain)) if isinstance(domain, Mapping) else set()
        return cls(formulas, tuple(sorted(used | (named if used <= named else set()))) or ("x",), vector)

    @property
    def methods(self) -> tuple[str, ...]:  # type: ignore[override]
        """By which methods it can be had."""
        return METHODS if len(self.variables) == 1 else ("auto",)

    def __str__(self) -> str:
        return "[" + ", ".join(map(str, self.formulas)) + "]" if self.vector else str(self.formulas[0])

    @property
    def inputs(self) -> dict[str, Input]:
        return {name: Input() for name in self.variables}

    def claim(self) -> str:
        return str(self) if self.vector else f"({self})"

    def statement(self, request: Request) -> str:
        return super().statement(request) + (", in every component" if self.vector else "")

    def domain(self, given: Any, dtype: str) -> Domain:
        """Widened outwards to the dtype; an end where a formula has no value is moved inwards, and that is said."""
        found = read_domain(given, self.variables, dtype, str(self))
        if len(self.variables) > 1:
            return found
        [name] = self.variables
        (lo, hi), note = found[name], ""
        for f in self.formulas:
            (lo, hi), moved = defined_ends(f, (lo, hi), dtype)
            note = note or moved
        return Domain({name: (lo, hi)}, note)

    def size(self, domain: Domain) -> float:
        points = np.meshgrid(*(np.linspace(*domain[name], 9 if self.variables[1:] else 257) for name in self.variables))
        return max(float(np.abs(evaluator(self.formulas, self.variables)(*points)).max()), 1e-300)

    def exact(self, *inputs: float) -> list[Any]:
        return [at_point(f, self.variables, inputs) for f in self.formulas]

    def encode(self, *inputs: Tensor) -> Tensor:
        """(...), (...) -> (..., 1 token, variables)."""
        try:
            return torch.stack(torch.broadcast_tensors(*inputs), -1).unsqueeze(-2)
        except RuntimeError:
            shapes = ", ".join(str(tuple(x.shape)) for x in inputs)
            raise Refusal(f"the inputs have shapes {shapes}, which do not broadcast together") from None

    def decode(self, tokens: Tensor) -> Tensor:
        return tokens[..., 0, :] if self.vector else tokens[..., 0, 0]

    def printed_keys(self, request: Request) -> float:
        """2 Lip (hi - lo) / eps + 1 anchors a formula; for several variables the cells of Lemma 3.11."""
        if len(self.variables) > 1:
            f = evaluator(self.formulas, self.variables)
            return printed_cells(f, request.domain.box(self.variables), request.eps)
        ends = request.domain[self.variables[0]]
        return sum(float(printed_steps(f, ends, request.eps)) + 1 for f in self.formulas)

    def designs(self, request: Request) -> Iterator[Design]:
        if len(self.variables) > 1:
            return self._grids(request)
        ends = request.domain[self.variables[0]]
        for f in self.formulas:
            refuse_misbehaviour(f, ends)
            refuse_overflow(f, ends, request.dtype)
        if request.method == "printed" and (keys := self.printed_keys(request)) > LARGEST:
            return iter([TooLarge(keys, request.eps)])
        if self.vector and request.method == "auto":
            return self._shared_or_apart(request)
        return iter([self._apart(request)])

    def _apart(self, request: Request) -> ScalarHeads:
        """A program of its own for each formula."""
        ends = request.domain[self.variables[0]]
        return ScalarHeads(tuple(forge(f, ends, request.eps, request.dtype, request.method) for f in self.formulas))

    def _shared_or_apart(self, request: Request) -> Iterator[Design]:
        """The smallest head that all components share, or one program each: whichever has fewer keys comes first."""
        try:
            shared = next(self._grids(request), None)
        except (Short, Refusal):
            shared = None
        try:
            apart = self._apart(request)
        except Short:
            if shared is None:
                raise
            return self._grids(request)
        if shared is None or apart.tally.keys < shared.tally.keys:
            return iter([apart])
        return _then(self._grids(request), apart)

    def _grids(self, request: Request) -> Iterator[Design]:
        names, box = self.variables, request.domain.box(self.variables)
        if len(names) > VARIABLES:
            instead = "write it as a sum of formulas of fewer variables, or as a torch nn.Sequential"
            raise too_many(str(self), evaluator(self.formulas, names), box, request.eps, instead)
        return map(Grid, grid_heads(str(self), self.formulas, names, box, request))


def _then(first: Iterator[Design], last: Design) -> Iterator[Design]:
    """The designs of the first, as far as they go, then the last one."""
    with suppress(Short, Refusal):
        yield from first
    yield last
