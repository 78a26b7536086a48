"""n truncated linear models: an affine layer writes z_i = w_i . x_i + t_i, then heads return Range_[a,b](z_i).

    KeysOnMemory   every token is a scalar head: its keys are constants, or itself and a null token     (Thm 3.4)
    KeysOnTokens   the n tokens are the keys of every head, read off their positions                    (Thm 3.9)

What is stored are the keys of each head; the models are the target's own numbers, cast. Range is 1-Lipschitz, so

    |network - target| <= sup |heads - Range| + |W stored - W| |x| + |t stored - t| + rounding of z and of the heads,

where the supremum is over every z that floating point may write.

Heads of constant values score their anchors by -(beta/2)(z - L_k)^2, so with c = beta dL^2 they are Gaussian smoothers
on a uniform grid. The papers send c to infinity, a staircase with error dL/2 (dL as printed, since b itself is no
anchor); c = 5.43 with both ends as anchors errs by 0.0615 dL, for every number of anchors. Where the tokens are the
keys, each printed head holds n - 2 anchors between two sentinels of value 0, and the network returns 0 outside [a, b].
Ours telescope instead: Range_[a,b] = a + sum_h (Range_[l_h,r_h] - l_h), one interval for each head.

(softmax-universality Thm 3.4, Cor G.6, Thm 3.9, repaired where need be.)
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch

from headsmith.constructions.assemble import assemble
from headsmith.constructions.design import Design, Tally
from headsmith.constructions.reading import heads_of
from headsmith.functions import Expression, parse
from headsmith.network import Affine, Attention, Dense, Network, Select
from headsmith.proof.certificate import Bound
from headsmith.proof.composition import Error, exact, prove_part
from headsmith.proof.domain import Interval
from headsmith.proof.rounding import INFLATE, gamma
from headsmith.proof.statement import Head, Part
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.compiler.request import Request

SHARPNESS = 5.43  # c = beta dL^2 with the least error, 0.0615 dL
WORST = 0.064  # of dL, at that sharpness, with room for the proof
Layers = tuple[dict[str, Any], Sequence[str]]


@dataclass(frozen=True, eq=False)
class Truncation(Design):
    """bias + sum of heads(z), the same for every token."""

    held: tuple[Head, ...]
    bias: float = 0.0

    @classmethod
    def cast(cls, heads: Iterable[Head], dtype: str) -> Self:
        """These heads, in the dtype they will be stored in."""
        return cls(tuple(head.cast(dtype) for head in heads))

    @property
    def tally(self) -> Tally:
        return Tally(sum(head.keys for head in self.held), len(self.held), layers=1)

    def part(self, target: Any, reach: Interval) -> Part:
        """What is to be proved of the heads."""
        return Part("z", "out", range_of(target.low, target.high), reach, self.held, self.bias)


class Models(Truncation):
    """z = W x + t in the weights."""

    def prove(self, target: Any, request: Request) -> Bound:
        z = preactivation(target, request)
        own = prove_part(self.part(target, z.reach), request.dtype, exact(z.reach))
        return Bound(
            math.nextafter(own.approximation.bound + z.approximation, math.inf),
            math.nextafter(own.rounding.bound + z.rounding, math.inf),
            cells=len(own.approximation.edges) - 1,
        )

    def network(self, target: Any, dtype: str) -> Network:
        weight, shift = (torch.tensor(v).to(getattr(torch, dtype)) for v in (target.W, target.t))
        models = Affine(Dense(weight[:, None, :]), shift[:, None])
        layers, features = self.truncate(target, dtype)
        count = range(len(shift))
        variables: dict[str, Any] = {f"z.{i}": ("models", i, slice(0, 1)) for i in count}
        names = [f"token.{i}" for i in count]
        return Network({"models": models, **layers}, tokens=names, features=features, variables=variables)

    @abstractmethod
    def truncate(self, target: Any, dtype: str) -> Layers:
        """The layers from z to Range(z), and the names of their features."""


class KeysOnMemory(Models):
    """Thm 3.4: the scalar network of the heads, at every token."""

    name, serves = "clip on memory", "clip"

    def method(self, target: Any) -> str:
        """As printed: even steps from `low`, but no anchor at `high`."""
        values = self.held[0].values
        steps = np.linspace(target.low, target.high, len(values) + 1)[:-1]
        if len(values) > 1 and np.allclose(values, steps):
            return "printed"
        return "gate" if any(head.attends_to_itself for head in self.held) else "table"

    def truncate(self, target: Any, dtype: str) -> Layers:
        whole = assemble([self.part(target, (0.0, 1.0))], getattr(torch, dtype))
        return dict(whole.layers), whole.features

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> KeysOnMemory:
        layers: Any = network.layers
        return cls(tuple(heads_of(layers["level1"], one=1)), float(layers["lift"].bias[2]))


class KeysOnTokens(Models):
    """Thm 3.9: A(X) = [z; 1; 0; I_n], and head h reads key k off the position of token k."""

    name, serves = "clip on tokens", "clip"

    @property
    def promises(self) -> bool:
        """The printed sentinels, which carry 0, lose the truncation."""
        return any(head.values[0] != 0 or head.values[-1] != 0 for head in self.held)

    def method(self, target: Any) -> str:
        steps = np.diff(self.held[0].values)
        form = "telescoping heads" if np.allclose(steps, steps[:1]) else "telescoping tables"
        return form if self.promises else "printed"

    def truncate(self, target: Any, dtype: str) -> Layers:
        kind, n, count, used = getattr(torch, dtype), len(target.t), len(self.held), self.held[0].keys
        width = 3 + n
        embed = torch.zeros(n, width, dtype=kind)
        embed[:, 1], embed[:, 3:] = 1.0, torch.eye(n)
        key, value = torch.zeros(count, 2, width, dtype=kind), torch.zeros(count, 1, width, dtype=kind)
        for h, head in enumerate(self.held):
            key[h, :, 3 : 3 + used] = torch.tensor(np.stack([head.slopes, head.offsets])).to(kind)
            value[h, 0, 3 : 3 + used] = torch.tensor(head.values).to(kind)
        seen: Any = "all" if used == n else (torch.arange(n) < used).expand(n, n)
        query, write = Select([[0, 1]] * count, width), Select.writing([[2]] * count, width)
        layers = {
            "lift": Affine(Select([0] + [-1] * (width - 1), features=1), embed, range(n)),
            "level1": Attention(query, Dense(key), Dense(value), write, visible=seen, residual=True),
            "read": Affine(Select([2], features=width)),
        }
        return layers, ["z", "one", "out", *(f"position.{i}" for i in range(n))]

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> KeysOnTokens:
        layer: Any = network.layers["level1"]
        return cls(tuple(heads_of(layer, 1, slice(3, 3 + len(target.t)))))


def preactivation(target: Any, request: Request) -> Error:
    """z = W x + t as it is stored and run: weights that the dtype had to round, rounding, and where it lies.

    All sums are of non-negative terms and inflated, the reach is rounded outwards.
    """
    with np.errstate(over="ignore"):
        W, t = (v.astype(request.dtype).astype(np.float64) for v in (target.W, target.t))
    size, d, fmt = request.domain.size("x"), W.shape[1], request.format
    whole = float((np.abs(W).sum(1) * size + np.abs(t)).max())
    if not whole < float(np.finfo(request.dtype).max) / 4:
        raise Refusal(f"{target} reaches {whole:.1e} for {request.domain}, beyond the range of {request.dtype}")
    rounding = (gamma(d + 2, fmt.unit) * whole + 2 * (d + 1) * fmt.tiny) * INFLATE
    shift = float((np.abs(W - target.W).sum(1) * size + np.abs(t - target.t)).max()) * INFLATE
    ends = np.stack([W * end for end in request.domain["x"]])
    noise = gamma(d + 3, 2.0**-53) * whole + rounding
    low, high = float((ends.min(0).sum(1) + t).min()) - noise, float((ends.max(0).sum(1) + t).max()) + noise
    return Error(shift, rounding, (math.nextafter(low, -math.inf), math.nextafter(high, math.inf)))


def range_of(low: float, high: float) -> Expression:
    """clip(x, low, high), the ends written out exactly."""
    return parse(f"clip(x, {Decimal(low):f}, {Decimal(high):f})")


def smoother(anchors: np.ndarray, values: np.ndarray, beta: float) -> Head:
    """score_k = -(beta/2)(z - L_k)^2 up to a common term, centred in the middle of the anchors.

    >>> import numpy as np
    >>> float(smoother(np.array([0.0, 1.0]), np.array([0.0, 1.0]), 5.43)(np.array(0.5)))
    0.5
    """
    middle = (anchors[0] + anchors[-1]) / 2
    slopes = beta * (anchors - middle)
    return Head.table(slopes, -slopes * middle - beta / 2 * (anchors - middle) ** 2, values)


def uniform(low: float, high: float, keys: int) -> Head:
    """Anchors at both ends and evenly between: error 0.0615 (high - low)/(keys - 1)."""
    anchors = np.linspace(low, high, keys)
    return smoother(anchors, anchors, SHARPNESS * ((keys - 1) / (high - low)) ** 2)


def staircase(low: float, high: float, p: int, sharp: float) -> Head:
    """Thm 3.4: L_k = a + k (b - a)/p, k = 0..p-1, beta = 2 sharp/dL^2; b is no anchor."""
    anchors = low + (high - low) / p * np.arange(p)
    return smoother(anchors, anchors, 2 * (p / (high - low)) ** 2 * sharp)


def printed(low: float, high: float, p: int, eps: float) -> Head:
    """Thm 3.4 with the sharpness of Cor G.6."""
    return staircase(low, high, p, math.log(max(p - 2, 2)) + math.log(2 * max(abs(low), abs(high)) / eps))


def printed_size(low: float, high: float, eps: float, tokens: int = 1) -> int:
    """p = max(n + 1, ceil(2 (b - a)/eps)) of Cor G.6."""
    return max(tokens + 1, math.ceil(2 * (high - low) / eps * (1 - 1e-12)))


def telescope(low: float, high: float, keys: int, heads: int) -> list[Head]:
    """H heads of `keys` uniform anchors each.

    >>> len(telescope(-1, 2, keys=10, heads=4))
    4
    """
    return telescoped(low, high, heads, uniform(0.0, (high - low) / heads, keys))


def telescoped(low: float, high: float, heads: int, piece: Head) -> list[Head]:
    """Head h returns Range_[l_h, r_h](z) - l_h, which is Range_[0, r_h - l_h] moved to l_h; the first adds `low`."""
    edges = np.linspace(low, high, heads + 1)[:-1]
    moved = [Head.table(piece.slopes, piece.offsets - piece.slopes * left, piece.values) for left in edges]
    return [Head.table(moved[0].slopes, moved[0].offsets, piece.values + low), *moved[1:]]


def telescope_error(low: float, high: float, keys: int, heads: int) -> float:
    """0.064 (b - a)/((n - 1) H), with uniform anchors on n tokens."""
    return WORST * (high - low) / ((keys - 1) * heads)


def telescope_size(low: float, high: float, keys: int, eps: float) -> int:
    """H = ceil(0.064 (b - a)/((n - 1) eps))."""
    return max(1, math.ceil(telescope_error(low, high, keys, 1) / eps))


def sentinels(low: float, high: float, tokens: int, heads: int, eps: float, c: float | None = None) -> list[Head]:
    """Thm 3.9: head h holds k = (h-1)(n-2) - 1, ..., h(n-2), the first and the last with value 0.

    The scale beta' is not printed; beta' dL = ln(8 M (n-1)/eps) is the least that selects.
    """
    step = (high - low) / (heads * (tokens - 2))
    sharp = 2 * math.log(8 * max(abs(low), abs(high)) * (tokens - 1) / eps) if c is None else c
    found = []
    for h in range(heads):
        anchors = low + step * np.arange(h * (tokens - 2) - 1, (h + 1) * (tokens - 2) + 1)
        values = anchors.copy()
        values[[0, -1]] = 0.0
        found.append(smoother(anchors, values, sharp / step**2))
    return found


def sentinel_size(low: float, high: float, tokens: int, eps: float) -> int:
    """H = ceil(2 (b - a)/(eps (n - 2))): what the printed bound asks for."""
    return max(1, math.ceil(2 * (high - low) / (eps * (tokens - 2)) * (1 - 1e-12)))
