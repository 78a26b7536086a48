"""The two prompt layouts of the paper, as printed and repaired (algorithm-emulation Thms 4.1 and 4.2).

    Thm 4.1 (D.5)  all weights in every token: column j of the prompt is (x_j; j w; w; e_j), w = vec of W_K, W_Q, W_V.
                   The n tokens are the grid: head h of H covers n - 2 of its points with the keys 2 beta k theta.
    Thm 4.2 (D.6)  weights as rows of features: column j is (x_j; k_j; q_j; v_j), so that head_dim = tokens.
                   One head for each row, its grid of P + 1 points in replicated columns.

The heads of Thm 4.1 are those of Thm D.1: truncated linear maps whose weights are in the prompt.

As printed, Thm 4.1 shifts its keys twice (the map A already multiplies the third block by c_h, and so does
W_K), or picks the weights of the next row where E is printed with the offset d ceil(h/H), and returns 0 at
the right end of its range; Thm 4.2 uses one sharpness for its grid and for the softmax of the program. The
repairs are one line each. Repaired Thm 4.1 also has a better grid on the same tokens: one head a row, H = 1,
a wide smooth lattice. `attention` is the layout to use.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from headsmith.constructions.identity import lattice
from headsmith.machines.lattices import Lattice, best_lattice, proved
from headsmith.machines.prompts.heads import HeadProgram
from headsmith.machines.reading import Reading
from headsmith.network import Affine, Attention, Dense, Layer, Network, Select
from headsmith.refusal import Refusal

FAULTS = ("double shift", "offset", "ends")


def _attend(head_dim: int, scale: float = 1.0) -> Attention:
    """Layer 2: V softmax(K^T Q) on tokens (K; Q; V)."""
    k, q, v = ([list(range(i * head_dim, (i + 1) * head_dim))] for i in range(3))
    width = 3 * head_dim
    write = Select.writing([list(range(head_dim))], head_dim)
    return Attention(Select(q, width), Select(k, width), Select(v, width), write, scale=scale)


@dataclass(frozen=True, eq=False)
class EveryToken:
    """Thm 4.1: H heads for each row of W_K, W_Q, W_V, their keys the n tokens, range [-radius, radius].

    faults: which errors of the print to keep. Without any, H = 1 is a wide smooth lattice on the tokens.

    >>> EveryToken(features=3, head_dim=2, tokens=8, radius=1.0, heads=12).network.layers["read"].heads
    72
    """

    features: int
    head_dim: int
    tokens: int
    radius: float
    heads: int = 1
    faults: tuple[str, ...] = ()
    sharpness: float = 30.0

    def __post_init__(self) -> None:
        if self.tokens < 3:
            raise Refusal(f"Thm 4.1 lays its grid over the tokens and needs at least 3 of them, not {self.tokens}")
        unknown = set(self.faults) - set(FAULTS)
        if unknown:
            raise Refusal(f"the print has no fault {unknown.pop()!r}; it has {', '.join(FAULTS)}")

    @property
    def wide(self) -> bool:
        """Whether everything that is read lies side by side in one token."""
        return self.heads == 1 and not self.faults

    @property
    def width(self) -> int:
        """Features of a token: the data, six a row that is read, a position."""
        return self.features * (1 + 6 * self.head_dim) + self.tokens

    def grid(self) -> tuple[float, float, float]:
        """(L_0, h, beta): anchors L_k = L_0 + k h, score -(beta/h)(z - L_k)^2."""
        slots = self.heads * (self.tokens - 2)
        if self.wide:
            _, h, kappa = best_lattice(self.radius, self.tokens - 1)
            return h - h * (self.tokens - 1) / 2, h, kappa / h
        h = 2 * self.radius / (slots if "ends" in self.faults else slots - 1)
        return -self.radius, h, self.sharpness / h

    def entry(self) -> Lattice:
        """The proved error of K, Q, V for the wide lattice."""
        _, h, beta = self.grid()
        return proved(lattice(self.tokens - 1, h, beta * h), self.radius, "float64")

    @property
    def network(self) -> Network:
        """Read, bend, attend: the frozen transformer of this layout."""
        d, rows = self.features, 3 * self.head_dim
        total, (low, h, beta) = rows * self.heads, self.grid()
        key = torch.zeros(total, d + 1, self.width, dtype=torch.float64)
        query, value = torch.zeros_like(key), torch.zeros(total, 1, self.width, dtype=torch.float64)
        first, second, places = d, d + rows * d, d + 2 * rows * d
        eye = torch.eye(d, dtype=torch.float64)
        for head in range(total):
            row, local = divmod(head, self.heads)
            c = local * (self.tokens - 2) - 1
            block = row * d + (d if "offset" in self.faults else 0)
            k = torch.arange(c, c + self.tokens, dtype=torch.float64)
            anchors = low + k * h
            if block < rows * d:
                key[head, :d, first + block : first + block + d] = 2 * beta * eye
                key[head, :d, second + block : second + block + d] = 2 * beta * c * eye
                if "double shift" in self.faults:  # A hands j w + c w to the third block, W_K multiplies it by c again
                    key[head, :d, first + block : first + block + d] += 2 * beta * c * eye
                    key[head, :d, second + block : second + block + d] += 2 * beta * c * (c - 1) * eye
            key[head, d, places:] = -beta * k * (anchors + low)
            query[head, :d, :d], query[head, d, places:] = eye, 1.0
            value[head, 0, places:] = self._values(anchors, local)
        write = Select.writing([[head // self.heads] for head in range(total)], rows)
        layers: dict[str, Layer] = {
            "read": Attention(Dense(query), Dense(key), Dense(value), write),
            "attend": _attend(self.head_dim),
        }
        return Network(layers, tokens=[f"token.{i}" for i in range(self.tokens)])

    def _values(self, anchors: Tensor, local: int) -> Tensor:
        if self.wide:
            return anchors
        values = anchors.clone()
        values[0] = values[-1] = 0.0
        if "ends" not in self.faults:
            if local == 0:
                values[0] = anchors[1]
            if local == self.heads - 1:
                values[-1] = anchors[-2]
        return values

    def encode(self, program: HeadProgram, x: Tensor) -> Tensor:
        """(x; j w; w; e_j) for token j: (n, d + 6 d head_dim + n)."""
        if x.shape != (self.tokens, self.features) or program.weights[0].shape != (self.head_dim, self.features):
            raise Refusal(f"this layout runs ({self.head_dim}, {self.features}) heads on exactly {self.tokens} tokens")
        flat = torch.cat([w.reshape(-1) for w in program.weights])
        steps = torch.arange(self.tokens, dtype=torch.float64)[:, None]
        return torch.cat([x.double(), steps * flat, flat.expand(self.tokens, -1), torch.eye(self.tokens).double()], -1)

    def read(self, program: HeadProgram, x: Tensor) -> Tensor:
        """K, Q, V as the first layer gives them: (n, 3 head_dim)."""
        return self.network.layers["read"](self.encode(program, x))

    def __call__(self, program: HeadProgram, x: Tensor) -> Tensor:
        return self.network(self.encode(program, x))


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """Thm 4.2: token j carries (x_j; k_j; q_j; v_j); the grid has P = steps and half-width `reach`, sharpness `beta`.

    `scale` is the sharpness of the program's own softmax; the print uses one beta for both.
    """

    features: int
    tokens: int
    reach: float
    steps: int
    beta: float
    scale: float = 1.0
    dtype: torch.dtype = torch.float64

    @property
    def network(self) -> Network:
        """Read, bend, attend, with every number in a token of its own."""
        d, n = self.features, self.tokens
        # 3 n program tokens (k_j, 0), (q_j, 0), (v_j, 0), then n data tokens (x_j, 1); each reads one input token
        index = [[*range(d * part, d * part + d), -1] for part in (1, 2, 3, 0) for _ in range(n)]
        bias = torch.zeros(4 * n, d + 1, dtype=torch.float64)
        bias[3 * n :, d] = 1.0
        anchors = torch.linspace(-self.reach, self.reach, self.steps + 1, dtype=torch.float64)
        layers: dict[str, Layer] = {
            "unstack": Affine(Select(index, 4 * d), bias, list(range(n)) * 4),
            "read": Reading(2 * self.beta * anchors, -self.beta * anchors**2, anchors, rows=3 * n, features=d),
            "attend": _attend(n, self.scale),
        }
        return Network(layers, tokens=[f"token.{i}" for i in range(n)]).to(self.dtype)

    def encode(self, program: HeadProgram, x: Tensor) -> Tensor:
        """[X; W_K^T; W_Q^T; W_V^T], tokens as rows: (..., n, 4 d); heads smaller than n are padded with zero rows."""
        if x.shape[-2:] != (self.tokens, self.features) or program.head_dim > self.tokens:
            raise Refusal(
                f"this layout runs heads of up to {self.tokens} x {self.features} on exactly {self.tokens} tokens"
            )
        pad = (0, 0, 0, self.tokens - program.head_dim)
        rows = [torch.nn.functional.pad(w, pad) for w in program.weights]
        return torch.cat([x.double(), *rows], -1).to(self.dtype)

    def __call__(self, program: HeadProgram, x: Tensor) -> Tensor:
        return self.network(self.encode(program, x))[..., : program.head_dim]


def printed_heads(tokens: int, radius: float, entry: float) -> int:
    """H of Thm 4.1: ceil(2 (b - a) / ((n - 2) eps0)).

    >>> printed_heads(12, 2.0, 1e-3)
    800
    """
    return math.ceil(4 * radius / ((tokens - 2) * entry))
