"""Continuous maps of sequences that commute with permutations of the tokens (low-rank-memorization, Proposition 1).

    f(PX) = P f(X),   |f(X) - f(Y)| <= L |X - Y|   (2-norms of all entries)

The paper measures the error in the norm of L^p, and so does the certificate here, for p = 2: between two cells a step
is a ramp, on which no promise is kept, but ramps are thin. The map is code, so all rests on the word of the user that
it is equivariant and has this constant; both are checked on samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from flint import arb
from torch import Tensor

from headsmith.compiler.request import Request
from headsmith.compiler.target import Input, Target
from headsmith.constructions.design import Design, Short, many
from headsmith.constructions.grid_memory import MOST, GridMemory, finest
from headsmith.functions.asked import ULPS, asked
from headsmith.proof.domain import Domain
from headsmith.proof.rounding import ASSUMPTIONS
from headsmith.records.shown import exactly, number, upper
from headsmith.refusal import Refusal
from headsmith.targets.reading import check_sizes, plain_name

PAIRS = 2048  # samples on which the user's word is checked
ALIKE = 2.0**-36  # sums in another order may differ so much, against the largest value
GROWTH = 1.1  # of the number of cells, from one design to the next
AIM = 0.96  # of eps, for the cells


@dataclass(frozen=True, eq=False)
class EquivariantMap(Target):
    """X -> f(X), X (tokens, features) -> (tokens, features), for code f that commutes with permutations of the tokens.

    lipschitz: |f(X) - f(Y)| <= L |X - Y|, both the 2-norm of all entries. eps bounds (int |network - f|^2 dX)^(1/2).

    >>> mean = EquivariantMap(lambda X: X - X.mean(-2, keepdim=True), tokens=2, features=1, lipschitz=1)
    >>> net = hs.compile(mean, domain=(0, 1), eps=0.05)
    >>> net.certificate.norm, net.certificate.kind, net.certificate.bound <= 0.05
    ('L2', 'conditional', True)
    >>> X = torch.tensor([[0.25], [0.75]], dtype=torch.float64)
    >>> torch.equal(net(X).flip(0), net(X.flip(0)))
    True
    """

    kind, norm = "equivariant", "L2"
    methods = ("auto", "printed")
    f: Any
    tokens: int
    features: int
    lipschitz: float
    function: Callable[[Tensor], Tensor] | None = field(default=None, repr=False, metadata={"stored": False})

    def __post_init__(self) -> None:
        check_sizes(tokens=self.tokens, features=self.features)
        if callable(self.f):
            name = getattr(self.f, "__name__", type(self.f).__name__)
            object.__setattr__(self, "function", self.f)
            object.__setattr__(self, "f", name)
        if not isinstance(self.f, str):
            raise Refusal(f"an equivariant map is a function of one sequence (tokens, features), not {self.f!r}")
        object.__setattr__(self, "f", plain_name(self.f))
        L = self.lipschitz
        if isinstance(L, bool) or not isinstance(L, int | float) or not 0 < L < 1e60:
            raise Refusal(f"lipschitz must be a positive number L with |f(X) - f(Y)| <= L |X - Y|, not {L!r}")
        object.__setattr__(self, "lipschitz", float(L))

    def __str__(self) -> str:
        return str(self.f)

    @property
    def inputs(self) -> dict[str, Input]:
        return {"X": Input((self.tokens, self.features))}

    def claim(self) -> str:
        return f"{self.f}(X)"

    def statement(self, request: Request) -> str:
        return (
            f"(integral of |network(X) - {self.f}(X)|^2 over all {request.domain}^({self.tokens} x {self.features}))"
            f"^(1/2) <= bound, the network being given the nearest {request.dtype} to each entry, if {self.condition}"
        )

    @property
    def condition(self) -> str:
        """What a user vouches for."""
        name = self.f
        return (
            f"{name} commutes with permutations of the tokens and |{name}(X) - {name}(Y)| <= "
            f"{exactly(self.lipschitz)} |X - Y|, all norms being 2-norms of all entries"
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        return (self.condition, f"{self.f} is computed within {ULPS} ulps of float64", *ASSUMPTIONS)

    def rows(self) -> list[tuple[str, str]]:
        return [("map", f"{many(self.tokens, 'token')} of {many(self.features, 'feature')} -> the same, equivariant")]

    @property
    def known(self) -> bool:
        return self.function is not None

    def values(self, X: np.ndarray) -> np.ndarray:
        """f of a batch of sequences (..., tokens, features)."""
        if self.function is None:
            raise Refusal(f"the file does not hold the function {self.f}, so nothing can be compared with it")
        return asked(self.function, torch.from_numpy(X), self.f).numpy()

    def exact(self, *inputs: Any) -> list[Any]:
        """The values that the function returns, and the ulps that are allowed around them."""
        values = self.values(np.array(inputs)).reshape(-1).tolist()
        return [arb(y, ULPS * 2.0**-52 * abs(y)) for y in values]

    def designs(self, request: Request) -> Iterator[Design]:
        if request.method == "printed":
            raise Refusal(
                "the printed feed-forward layers cannot be built: their penalty sums over positions, which a layer "
                "that works token by token does not see (eq. 60), and their table reads no id (eq. 67); method='auto' "
                "has both repaired"
            )
        if self.function is None:
            raise Refusal(
                f"{self.f} is the name of a function: give the function itself, which takes a tensor (tokens, features)"
            )
        self._checked(request.domain)
        count, most = (
            max(2, math.ceil(self._reached(request, 1) / (AIM * request.eps))),
            min(self._most(), finest(request)),
        )
        while count <= most:
            yield GridMemory.of(self, request, count)
            count = math.ceil(GROWTH * count)
        why = f"have too many contexts of {many(self.tokens, 'token')}" if most == self._most() else "are too narrow"
        raise Short(f"more than {most} cells an axis {why}", self._reached(request, most) if most else math.inf)

    def _reached(self, request: Request, cells: int) -> float:
        """L (int |X - centre|^2)^(1/2) for so many cells an axis."""
        lo, hi = request.domain["X"]
        entries = self.tokens * self.features
        return self.lipschitz * (hi - lo) ** (entries / 2 + 1) * math.sqrt(entries / 12) / cells

    def _most(self) -> int:
        """The largest number of cells an axis whose multisets can be held."""
        count = 1
        while self.tokens * math.comb((count + 1) ** self.features + self.tokens - 1, self.tokens) <= MOST:
            count += 1
        return count

    def _checked(self, domain: Domain) -> None:
        """Refuses a map that samples show not to be equivariant, or to be steeper than its constant."""
        generator = np.random.default_rng(0)
        lo, hi = domain["X"]
        X = generator.uniform(lo, hi, (PAIRS, self.tokens, self.features))
        far = 10.0 ** generator.uniform(-3, 0, (PAIRS, 1, 1)) * (hi - lo)
        Y = np.clip(X + far * generator.uniform(-1, 1, X.shape), lo, hi)
        order = generator.permutation(self.tokens)
        x, y, permuted = (self.values(given) for given in (X, Y, X[:, order]))
        size = float(np.abs(x).max())
        if not np.abs(permuted - x[:, order]).max() <= ALIKE * size:
            raise Refusal(
                f"{self.f} is not equivariant: with its tokens in another order it gives other values, off by "
                f"{number(float(np.abs(permuted - x[:, order]).max()))}; hs.target.SequenceMap takes any map"
            )
        slopes = np.linalg.norm((x - y).reshape(PAIRS, -1), axis=1) - ALIKE * size
        steepest = float((slopes / np.linalg.norm((X - Y).reshape(PAIRS, -1), axis=1)).max())
        if steepest > self.lipschitz:
            raise Refusal(
                f"{self.f} rises with slope {number(steepest, 6)}, so {self.lipschitz:g} is no Lipschitz constant; "
                f"give at least {upper(steepest, 3)}"
            )
