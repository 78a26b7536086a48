"""A function given as code: any callable of one tensor, with a constant that the user vouches for.

    compile(torch.erf, domain=(-3, 3), eps=1e-3, lipschitz=1.13)
    compile(torch.erf, domain=(-3, 3), eps=1e-6, derivative_bounds=(1.13, 0.97))       cheaper, so smaller eps

What the function does between samples cannot be seen, so the certificate is conditional on the constant, and says so.
A file holds its name, not the function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from flint import arb
from torch import Tensor

from headsmith.compiler.request import Request
from headsmith.compiler.target import Input, Target
from headsmith.constructions.design import Design, Short
from headsmith.constructions.sampled import SampledHead
from headsmith.proof.conditional import CALLABLE_ULPS, asked_twice
from headsmith.proof.domain import Domain
from headsmith.proof.rounding import ASSUMPTIONS
from headsmith.proof.statement import Head
from headsmith.refusal import Refusal
from headsmith.search.question import Question
from headsmith.search.search import search
from headsmith.search.table import Unreached
from headsmith.targets.reading import plain_name

AIMS = (0.85, 0.65, 0.5)  # shares of eps that the search is asked for, until the proof agrees


@dataclass(frozen=True, eq=False)
class Code(Target):
    """f(x) for code f with |f'| <= lipschitz, or |f'| <= L1 and |f''| <= L2; net(x) has x's shape.

    >>> net = hs.compile(torch.sin, domain=(-1, 1), eps=1e-2, derivative_bounds=(1, 1))
    >>> net.certificate.kind, abs(float(net(0.5)) - 0.479425538604203) < 1e-2
    ('conditional', True)
    """

    kind = "callable"
    methods = ("auto", "table")
    options: ClassVar[tuple[str, ...]] = ("lipschitz", "derivative_bounds")
    name: str
    lipschitz: float | None = None
    derivative_bounds: tuple[float, ...] | None = None
    function: Callable[[Tensor], Tensor] | None = field(default=None, metadata={"stored": False})

    def __post_init__(self) -> None:
        if self.name != "<lambda>":
            object.__setattr__(self, "name", plain_name(self.name))
        for option in self.options:
            given = getattr(self, option)
            if given is None:
                continue
            values = tuple(given) if isinstance(given, list | tuple) else (given,)
            most = 1 if option == "lipschitz" else 2
            if not 0 < len(values) <= most or not all(isinstance(c, int | float) and 0 <= c < math.inf for c in values):
                raise Refusal(f"the constants of {self.name} must be finite and not negative, not {given}")
            object.__setattr__(self, option, float(given) if most == 1 else tuple(map(float, values)))

    def __str__(self) -> str:
        return self.name

    @property
    def constants(self) -> tuple[float, float | None]:
        """(L1, L2): the bounds of |f'| and, if it was given, of |f''|."""
        given = self.derivative_bounds or (self.lipschitz,)
        if given[0] is None:
            raise Refusal(
                f"{self.name} is code, so what it does between samples is unknown: give lipschitz=L with |f'| <= L, "
                "or derivative_bounds=(L1, L2)"
            )
        return given[0], given[1] if len(given) == 2 else None

    @property
    def condition(self) -> str:
        """|f'| <= 1.13 and |f''| <= 0.97."""
        slope, curvature = self.constants
        return f"|f'| <= {slope!r}" + ("" if curvature is None else f" and |f''| <= {curvature!r}")

    @property
    def inputs(self) -> dict[str, Input]:
        return {"x": Input()}

    def claim(self) -> str:
        return f"{self.name}(x)"

    def statement(self, request: Request) -> str:
        return f"{super().statement(request)}, if {self.condition} there"

    @property
    def assumptions(self) -> tuple[str, ...]:
        return (self.condition, f"the function is computed within {CALLABLE_ULPS} ulps of float64", *ASSUMPTIONS)

    @property
    def known(self) -> bool:
        return self.function is not None

    def size(self, domain: Domain) -> float:
        return float(np.abs(self.values(np.linspace(*domain["x"], 257))).max())

    def exact(self, x: float) -> arb:
        """The value that the function returns, and the ulps that are allowed around it."""
        value = float(self.values(np.array([x]))[0])
        return arb(value, CALLABLE_ULPS * 2.0**-52 * abs(value))

    def values(self, z: np.ndarray) -> np.ndarray:
        """The function at these points; refused where it is none."""
        if self.function is None:
            raise Refusal(f"the file does not hold the function {self.name}, so nothing can be compared with it")
        return asked_twice(self.function, z, self.name)

    def encode(self, *inputs: Tensor) -> Tensor:
        """(...) -> (..., 1 token, 1 feature)."""
        return inputs[0][..., None, None]

    def decode(self, tokens: Tensor) -> Tensor:
        return tokens[..., 0, 0]

    def printed_keys(self, request: Request) -> float:
        """2 L (hi - lo)/eps + 1 anchors."""
        lo, hi = request.domain["x"]
        return max(1, math.ceil(2 * self.constants[0] * (hi - lo) / request.eps)) + 1.0

    def designs(self, request: Request) -> Iterator[Design]:
        _ = self.constants, self.size(request.domain)  # refused before a search, not after it
        for aim in AIMS:
            try:
                found = search(Question(self.values, *request.domain["x"], aim * request.eps, dtype=request.dtype))
            except Unreached as failure:
                raise Short(f"the search for keys fails: {failure.reason}", 1.2 * failure.near) from None
            yield SampledHead(Head.table(found.slopes, found.offsets, found.values).cast(request.dtype))
