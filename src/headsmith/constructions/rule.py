"""f(w . x - y) x in one attention layer (In-Context Algorithm Emulation, Thm 3.1).

A rule needs the *product* f(z) v of a function and a vector, and attention multiplies only by what its values hold. So
every key of a table carries level_j v, and f is a table proper: constants at the keys.

Paper (tokens are columns): column (i, j) of Linear(Z) is [2 L_j x_i; 2 L_j y_i; f(L_j) x_i; -L_j^2; C e_i], query c is
 [w; -1; 0; 1; e_c].  Here: feature j of copy (i, j) is slope_j (x_i, y_i), offset_j and level_j v_i, where v_i is x_i
or a direction s_i. Without C, every sample is a softmax over its own copies: O(n P) instead of O(n^2 P).

Repaired: each query sits in the first copy of its own sample, so the layer in front is truly column-wise and every
sample may bring its own w; C is computed from the table. (Thm 3.1 prints two values of C; the smaller fails.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from headsmith.constructions.design import Altered, Design, Tally
from headsmith.constructions.exact import exact_terms
from headsmith.constructions.printed import is_printed
from headsmith.functions import Expression
from headsmith.network import Affine, Attention, Copies, Dense, Network, Select
from headsmith.proof.certificate import Bound
from headsmith.proof.residuals import Ranges, multiplied, prove_table
from headsmith.proof.rounding import EXP_ERROR, INFLATE, Format, gamma
from headsmith.proof.statement import Head, Part

if TYPE_CHECKING:
    from headsmith.compiler.request import Request

Rows = Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class Rule(Design):
    """A table for all samples; `strength` is C, or None where every sample is a softmax of its own."""

    name, serves = "rule", "rule"
    head: Head
    samples: int
    strength: float | None = None
    printed: bool = False

    @property
    def tally(self) -> Tally:
        return Tally(self.head.keys * self.samples, heads=1, layers=1)

    def method(self, target: Any) -> str:
        if self.strength is not None:
            return "printed" if self.printed else "dense"
        return table_method(target.f, self.head)

    def network(self, target: Any, dtype: str) -> Network:
        if self.strength is not None:
            return dense(self.head, target.features, self.samples, self.strength, getattr(torch, dtype))
        return block(self.head, target.features, self.samples, getattr(torch, dtype))

    def prove(self, target: Any, request: Request) -> Bound:
        ranges, fmt, d = Ranges.of(request.domain), request.format, target.features
        table = prove_table(target.f, [self.head], ranges.residuals(d, fmt), request.dtype)
        if self.strength is None:
            return multiplied(table, ranges.x, fmt)
        most = float(abs(self.head.values).max()) * ranges.x
        leak = leaked(self.head, ranges, d, self.samples, self.strength)
        slip = score_slip(self.head, ranges, d, self.strength, fmt)
        rounding = dense_rounding(self.samples * self.head.keys, slip, fmt) * most
        return Bound((table.approximation * ranges.x + 2 * leak * most) * INFLATE, rounding * INFLATE)

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> Rule:
        if "rule" in network.layers:
            return cls(copied_head(network.layers["rule"]), target.samples)
        linear: Any = network.layers["linear"]
        d, count = target.features, len(linear.bias) // target.samples
        weight, bias = (part.detach()[:count].double().numpy() for part in (linear.map.weight, linear.bias))
        head = Head.table(weight[:, 0, 0], bias[:, 2 * d + 1], weight[:, d + 1, 2 * d + 1])
        reach = Ranges.of(request.domain).residuals(d, request.format).widened()
        printed = request.method == "printed"
        if printed and not is_printed(Part("z", "f", target.f, reach, (head,))):
            raise Altered("the stored table is not the staircase of the paper")
        return cls(head, target.samples, float(bias[0, 2 * d + 2]), printed)


def exact_head(f: Expression) -> Head | None:
    """The two keys that are f, if it is a softmax already: tanh, sigmoid, shifted and scaled."""
    terms = exact_terms(f)
    if terms.rest or terms.slope or len(terms.heads) != 1 or terms.heads[0].lines.any():
        return None
    [two] = terms.heads
    return Head.table(two.slopes, two.offsets, two.values + terms.bias)


def table_method(f: Expression, head: Head) -> str:
    """How a table was made."""
    return "exact" if exact_head(f) is not None and head.keys == 2 else "table"


def block(head: Head, features: int, samples: int, dtype: torch.dtype) -> Network:
    """Every sample a softmax over its own copies."""
    d, width = features, 3 * features + 2
    x, y, w, toward = (range(k, k + size) for k, size in ((0, d), (d, 1), (d + 1, d), (2 * d + 1, d)))
    bias = torch.zeros(width, dtype=dtype)
    bias[-1] = -1.0
    write = Select([[*range(d)]], d)
    layers = {
        "lift": Affine(Select([*range(width - 1), -1], width - 1), bias),
        "rule": copies([head], [[[*w, width - 1]], [[*x, *y]], [[*toward]]], width, write, dtype, residual=False),
    }
    names = [*(f"x.{k}" for k in range(d)), "y", *(f"{v}.{k}" for v in ("w", "direction") for k in range(d)), "minus"]
    return Network(layers, tokens=sample_names(samples), features=names)


def copies(
    heads: Sequence[Head], reads: Sequence[Rows], width: int, write: Select, dtype: torch.dtype, residual: bool = True
) -> Copies:
    """f(query . key) value for each head, f its table; query, key and value read these features, head by head."""
    query, key, value = (Select(rows, width) for rows in reads)
    parts = (np.stack([getattr(head, name) for head in heads]) for name in ("slopes", "offsets", "values"))
    slopes, offsets, levels = (torch.tensor(part, dtype=dtype) for part in parts)
    return Copies(query, key, value, write, slopes, offsets, levels, residual)


def copied_head(layer: Any) -> Head:
    """The table that a layer of copies holds."""
    return Head.table(*(part.detach()[0].double().numpy() for part in (layer.slopes, layer.offsets, layer.levels)))


def sample_names(samples: int) -> list[str]:
    """sample.0, sample.1, ..."""
    return [f"sample.{i}" for i in range(samples)]


def dense(head: Head, features: int, samples: int, strength: float, dtype: torch.dtype) -> Network:
    """The paper's layer: n (P + 1) key tokens (i, j), one softmax over all of them, `strength` keeps samples apart.

    Token (i, j): slope_j x_i | slope_j y_i | level_j v_i | offset_j | C e_i | w | -1 | 1 | e_i; (i, 0) asks for i.
    """
    d, n, count = features, samples, head.keys
    top = 2 * d + 2 + n  # rows of the upper half, which the keys and values read
    width = top + d + 2 + n
    spread = torch.zeros(n, count, width, 3 * d + 1, dtype=torch.float64)
    bias = torch.zeros(n, count, width, dtype=torch.float64)
    slopes, offsets, values = (torch.tensor(part)[:, None, None] for part in (head.slopes, head.offsets, head.values))
    eye = torch.eye(d + 1, dtype=torch.float64)
    spread[:, :, : d + 1, : d + 1] = slopes * eye
    spread[:, :, d + 1 : 2 * d + 1, 2 * d + 1 :] = values * eye[:d, :d]
    spread[:, :, top : top + d, d + 1 : 2 * d + 1] = eye[:d, :d]
    bias[:, :, 2 * d + 1], bias[:, :, top + d], bias[:, :, top + d + 1] = offsets[:, 0, 0], -1.0, 1.0
    for i in range(n):
        bias[i, :, 2 * d + 2 + i], bias[i, :, top + d + 2 + i] = strength, 1.0
    attend = Attention(
        query=Select([[*range(top, width)]], width),
        key=Select([[*range(d + 1), *range(2 * d + 1, top)]], width),
        value=Select([[*range(d + 1, 2 * d + 1)]], width),
        output=Select([[*range(d)]], d),
    )
    sources = [i for i in range(n) for _ in range(count)]
    layers = {
        "linear": Affine(Dense(spread.flatten(0, 1).to(dtype)), bias.flatten(0, 1).to(dtype), sources),
        "attend": attend,
        "choose": Affine(Select([*range(d)], d), None, range(0, n * count, count)),
    }
    return Network(layers, tokens=sample_names(n))


def suppression(head: Head, own: float, other: float, samples: int, leak: float) -> float:
    """C so that, in one softmax over all samples, at most `leak` of the weight leaves the block of the query.

    With top(z) = max_j a_j z + b_j, a key of another block outscores the best of the own one by at most the largest
    top on |z| <= other less the smallest on |z| <= own: `own` bounds a sample's own residual, `other` that of a w with
    the x and y of another sample.
    """
    z = np.linspace(-own, own, 2001)
    best = (np.outer(z, head.slopes) + head.offsets).max(1)
    room = float(np.abs(head.slopes).max()) * (z[1] - z[0]) / 2  # top is Lipschitz: its minimum lies this little lower
    most = float((np.abs(head.slopes) * other + head.offsets).max())  # top is convex: largest at an end
    return most - float(best.min()) + room + math.log(max(samples - 1, 1) * head.keys / leak)


def printed_suppression(head: Head, features: int, ranges: Ranges, leak: float) -> float:
    """The footnote's C = 2 L_* (2 d B^2 + 2 B) + ln(1/eps0)/beta, times beta; B bounds x, w and y."""
    size = max(ranges.x, ranges.w, ranges.y)
    return float(abs(head.slopes).max()) * (2 * features * size**2 + 2 * size) + math.log(1 / leak)


def leaked(head: Head, ranges: Ranges, features: int, samples: int, strength: float) -> float:
    """The most weight that leaves the block of its query, for this C."""
    needed = suppression(head, ranges.residual, ranges.products(features), samples, 1.0)
    return math.exp(min(0.0, needed - strength)) if samples > 1 else 0.0


def score_slip(head: Head, ranges: Ranges, features: int, strength: float, fmt: Format) -> float:
    """How far a computed score can be from a_j (w . x - y) + b_j + C, and then its distance from the best one.

    A key is rounded, its products are, and there are `features` + 2 additions; the largest score is subtracted.
    """
    size = float((np.abs(head.slopes) * ranges.products(features) + np.abs(head.offsets)).max()) + strength
    return (gamma(features + 4, fmt.unit) + 2 * fmt.unit) * size * INFLATE


def dense_rounding(keys: int, slip: float, fmt: Format) -> float:
    """Of sum p_j v_j for |v_j| <= 1: weights off by a factor of exp(2 slip), products, and sums of all keys."""
    weights = math.expm1(2 * slip)
    return weights + (1 + weights) * gamma(2 * keys + 2 * EXP_ERROR + 4, fmt.unit) + 4 * keys * fmt.tiny
