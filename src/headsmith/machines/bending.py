"""The layer that bends: the activation of a neuron, chosen by the prompt among frozen gates.

If a token already carries its own z, its keys may be a_r z + b_r and its values v_r + l_r z, all linear in
the token, and

    f(z) = sum_r p_r(z) (v_r + l_r z).

tanh (values -1, 1) and SiLU (attend to yourself or to nothing) are exact with two keys, ReLU is within
0.2785/beta with two, GELU is a table of 41 keys for the normal distribution function, which saturates, so
that any range will do. The identity attends to itself. Each function is one head; a null key with value 0 and
score C (1 - 2 flag) switches it off, exactly, where the prompt's flag is 0, and vanishes, exactly, where it
is 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
import torch
from scipy.special import ndtr
from torch import Tensor, nn

from headsmith.functions import lipschitz, parse
from headsmith.machines.lattices import Numbers, numbers_of
from headsmith.network import Affine, Attention, Dense, Layer
from headsmith.network.files import LAYERS, Config, Shelf, integer
from headsmith.network.layer import SILENT, Tap
from headsmith.network.maps import frozen
from headsmith.proof.approximation import prove
from headsmith.proof.rounding import FORMATS, prove_rounding
from headsmith.proof.statement import Head, Part
from headsmith.refusal import Refusal

FORMULAS = {"identity": "x", "tanh": "tanh(x)", "silu": "silu(x)", "relu": "relu(x)", "gelu": "gelu(x)"}
ACTIVATIONS = tuple(FORMULAS)
SWITCH = 2.0**100  # larger than any score of an active key, so that exp underflows to an exact zero
SHARP = {"float64": 2.0**40, "float32": 2.0**12}


@cache
def activation_head(name: str, dtype: str) -> Head:
    """The keys of one activation.

    >>> activation_head("silu", "float64").slopes
    array([0., 1.])
    """
    if name == "gelu":
        return _gelu().cast(dtype)
    slopes, values, lines = {
        "identity": ([0.0], [0.0], [1.0]),
        "tanh": ([-1.0, 1.0], [-1.0, 1.0], [0.0, 0.0]),
        "silu": ([0.0, 1.0], [0.0, 0.0], [0.0, 1.0]),
        "relu": ([0.0, SHARP[dtype]], [0.0, 0.0], [0.0, 1.0]),
    }[name]
    return Head(*(np.array(v) for v in (slopes, np.zeros(len(slopes)).tolist(), values, lines)))


def _gelu() -> Head:
    """z Phi(z): 41 anchors on [-8, 8], sharpness kappa = 0.2, values c_r z with c from least squares."""
    anchors = np.linspace(-8.0, 8.0, 41)
    beta = 0.2 / (anchors[1] - anchors[0]) ** 2
    slopes, offsets = 2 * beta * anchors, -beta * anchors**2
    z = np.concatenate([np.linspace(-12, 12, 1201), np.geomspace(12, 40, 40), -np.geomspace(12, 40, 40)])
    scores = z[:, None] * slopes + offsets
    p = np.exp(scores - scores.max(1, keepdims=True))
    p *= z[:, None] / p.sum(1, keepdims=True)
    inner, *_ = np.linalg.lstsq(p[:, 1:-1], z * ndtr(z) - p[:, -1], rcond=1e-15)
    lines = np.concatenate([[0.0], inner, [1.0]])
    return Head(slopes, offsets, np.zeros_like(lines), lines)


def activation_error(head: Head, name: str, radius: float, dtype: str) -> tuple[float, float, float]:
    """(approximation, rounding, slope): |executed - f| on |z| <= radius, and the Lipschitz constant of f there."""
    return _proved(numbers_of(head), name, radius, dtype)


@lru_cache(maxsize=256)
def _proved(numbers: Numbers, name: str, radius: float, dtype: str) -> tuple[float, float, float]:
    head = Head(*map(np.array, numbers))
    if not np.abs(head.slopes).max() * radius + np.abs(head.offsets).max() <= SWITCH / 2:  # NaN compares with nothing
        return math.inf, math.inf, math.inf  # no null key would silence it
    if name == "identity":
        copies = head.keys == 1 and head.values[0] == 0.0 and head.lines[0] == 1.0
        return (0.0, 0.0, 1.0) if copies else (math.inf, math.inf, 1.0)
    target = parse(FORMULAS[name])
    part = Part("x", "out", target, (-radius, radius), (head,))
    kinks = (0.0,) if name == "relu" else ()
    floor = 2.0**-50 if dtype == "float64" else 2.0**-21
    rounding = prove_rounding(part, FORMATS[dtype], floor * radius).bound
    return prove(part, floor, kinks).bound, rounding, lipschitz(target, -radius, radius)


class Bending(Layer):
    """(tokens, rows + flags) -> (tokens, rows): rows from `first` on are bent by the activation whose flag is 1.

    >>> layer = Bending({"relu": activation_head("relu", "float64")}, rows=1, first=0)
    >>> layer(torch.tensor([[3.0, 1.0], [-3.0, 1.0], [3.0, 0.0]], dtype=torch.float64)).tolist()
    [[3.0], [0.0], [0.0]]
    """

    kind = "bending"

    def __init__(self, heads: Mapping[str, Head | Tensor], *, rows: int, first: int) -> None:
        super().__init__()
        self.names, self.rows, self.first = tuple(heads), rows, first
        self.tables = nn.ParameterList([frozen(_columns(head)) for head in heads.values()])

    @property
    def heads(self) -> dict[str, Head]:
        """The frozen numbers, one head an activation."""
        columns = [table.detach().cpu().double().numpy().copy() for table in self.tables]
        return {name: Head(*table) for name, table in zip(self.names, columns, strict=True)}

    @property
    def width_in(self) -> int:
        """The rows, then the flags of the activations."""
        return self.rows + len(self.names)

    @property
    def width_out(self) -> int:
        """The rows."""
        return self.rows

    def forward(self, x: Tensor, padding: Tensor | None = None, tap: Tap = SILENT) -> Tensor:
        """sum over activations of sum_r p_r (v_r + l_r z), p with a null key that all flags but one switch on."""
        flat, z = x[..., : self.first], x[..., self.first : self.rows].unsqueeze(-1)
        bent = torch.zeros_like(z[..., 0])
        for k, table in enumerate(self.tables):
            slopes, offsets, values, lines = table
            flag = x[..., self.rows + k, None, None]
            null = (SWITCH * (1 - 2 * flag)).expand(z.shape)
            pattern = torch.softmax(torch.cat([z * slopes + offsets, null], -1), -1)[..., :-1]
            bent = bent + (pattern * (z * lines + values)).sum(-1)
        return torch.cat([flat, bent], -1)

    def dense(self, tokens: int) -> list[Layer]:
        """Copy every token over the keys of the longest table, and once more for the null key; attend; drop the copies.

        Copy r of a token holds, for each activation and each feature to bend, its score and its value.
        """
        flat, width, bent = self.first, self.width_in, self.rows - self.first
        longest = max(t.shape[1] for t in self.tables)
        copies, heads = longest + 1, len(self.names) * bent + flat
        first = self.tables[0]
        maps, bias = first.new_zeros(copies, 2 * heads + 1, width), first.new_zeros(copies, 2 * heads + 1)
        sees = torch.zeros(heads, copies, dtype=torch.bool)
        bias[:, 2 * heads] = 1.0
        for k, table in enumerate(self.tables):
            count = table.shape[1]
            for f in range(bent):
                head, place = k * bent + f, self.first + f
                slopes, offsets, values, lines = table
                maps[:count, head, place], bias[:count, head] = slopes, offsets
                maps[:count, heads + head, place], bias[:count, heads + head] = lines, values
                maps[longest, head, self.rows + k], bias[longest, head] = -2 * SWITCH, SWITCH
                sees[head, :count] = sees[head, longest] = True
        for f in range(flat):  # what is not bent attends to its own first copy
            maps[0, 2 * heads - flat + f, f] = 1.0
            sees[heads - flat + f, 0] = True
        query, key, value = (first.new_zeros(heads, 1, 2 * heads + 1) for _ in range(3))
        query[:, 0, 2 * heads] = 1.0
        for head in range(heads):
            key[head, 0, head] = value[head, 0, heads + head] = 1.0
        write = first.new_zeros(heads, self.rows, 1)
        for head in range(heads):
            own = head - (heads - flat)
            write[head, own if own >= 0 else self.first + head % bent, 0] = 1.0
        owner = torch.arange(tokens).repeat_interleave(copies)
        visible = (owner[:, None] == owner) & sees.repeat(1, tokens).unsqueeze(1)
        return [
            Affine(Dense(maps.repeat(tokens, 1, 1)), bias.repeat(tokens, 1), owner.tolist()),
            Attention(Dense(query), Dense(key), Dense(value), Dense(write), visible=visible),
            Affine(Dense(torch.eye(self.rows).to(first)), None, range(0, tokens * copies, copies)),
        ]

    def rotated(self, before: Tensor | None, after: Tensor | None) -> Layer:
        """Refused: an activation belongs to its feature."""
        raise Refusal("an activation bends single features: it has no other basis.")

    def flops(self, tokens: int, width: int) -> int:
        """Ten operations a key, five for the null key and the sum."""
        return tokens * (self.rows - self.first) * sum(10 * t.shape[1] + 5 for t in self.tables)

    def dense_parameters(self, tokens: int, width: int) -> int:
        """The numbers of the tables."""
        return sum(t.numel() for t in self.tables)

    def unusual(self) -> str:
        """A stock transformer does not copy its tokens."""
        return "tokens that are copied over the keys of a gate"

    def config(self) -> dict[str, Any]:
        """Sizes and names; the tables are tensors (4, keys): slopes, offsets, values, lines."""
        keys: Sequence[int] = [t.shape[1] for t in self.tables]
        return {
            "kind": self.kind,
            "rows": self.rows,
            "first": self.first,
            "names": list(self.names),
            "keys": list(keys),
        }

    def summary(self) -> str:
        """4 features by identity, tanh, silu, relu, gelu."""
        return f"{self.rows - self.first} features by {', '.join(self.names)}"


def _columns(head: Head | Tensor) -> Tensor:
    if isinstance(head, Tensor):
        return head
    return torch.tensor(np.stack([head.slopes, head.offsets, head.values, head.lines]))


def _bending(config: Config, name: str, shelf: Shelf) -> Layer:
    heads = {
        activation: shelf.take(f"{name}.tables.{k}", [4, integer(keys)])
        for k, (activation, keys) in enumerate(zip(config["names"], config["keys"], strict=True))
    }
    return Bending(heads, rows=integer(config["rows"]), first=integer(config["first"]))


LAYERS[Bending.kind] = _bending
