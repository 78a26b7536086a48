"""The attention machine: one frozen network that runs any attention head from a prompt.

Built before it sees a head: its weights depend on sizes and a range only. The prompt holds 3 head_dim program
tokens, the rows of W_K, W_Q and W_V with their biases, and the data tokens (x, 1). Three layers:

    read     K, Q, V = theta . x + bias, each entry by a head that takes its weights from one program token
    bend     V through an activation that the prompt names; the identity for a plain head
    attend   V softmax(K^T Q): the softmax of the machine is the softmax of the program

(algorithm-emulation Thm 4.1 and Thm 4.2, repaired: their weights lie in every token or in rows of features;
here one token holds one row, each number once. Cor 4.2.1: a library of algorithms is a library of prompts.) A
linear layer needs the first two layers only (Sec 4.3), so MLPs run on the very same weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headsmith.compiler.request import read_dtype, read_eps, read_method
from headsmith.machines.bending import ACTIVATIONS, SHARP, Bending, activation_error, activation_head
from headsmith.machines.bounds import a_posteriori, a_priori
from headsmith.machines.lattices import HeadSizes, Lattice, printed_entry, printed_table, proved, shortest
from headsmith.machines.layouts import printed_heads
from headsmith.machines.machine import Machine, positive, whole
from headsmith.machines.prompts.heads import HeadProgram, LinearProgram, SampleProgram
from headsmith.machines.prompts.layers import ChainProgram, Program, Stage
from headsmith.machines.reading import Reading
from headsmith.machines.result import Result
from headsmith.machines.seen import HeadSeen, see
from headsmith.network import Attention as Softmax
from headsmith.network import Network, Select
from headsmith.proof.certificate import Bound
from headsmith.proof.domain import Domain
from headsmith.proof.rounding import FORMATS, INFLATE, gamma
from headsmith.proof.statement import Head
from headsmith.records.shown import exactly, number, upper
from headsmith.refusal import Refusal

PRODUCTS = 1.0  # the promise for all prompts allows sum_k |theta_k x_k| + |bias| up to this many times the domain
PARTS = ("K", "Q", "V")
MARGIN = 1e-3  # by how much activations are proved beyond the domain
UNIT = 2.0**-53  # of the float64 in which ranges are checked


class Attention(Machine):
    """vm(program, X) runs a prompt; every number that is not in the prompt is frozen and hashed.

    domain: the largest |entry| of K, scale Q and V. eps bounds every entry of the output, for every prompt in it.
    method: "auto" (a smooth lattice), "two-key" (A tanh(z/A)) or "printed" (the staircase of Thm 4.2).

    >>> vm = Attention(features=4, head_dim=4, tokens=12, domain=2.0, eps=1e-3)
    >>> vm.sizes.heads, vm.sizes.keys, vm.certificate.bound <= 1e-3
    (12, 9, True)
    """

    kind = "attention"
    features: int
    head_dim: int
    tokens: int
    domain: float

    def __init__(
        self,
        features: int,
        head_dim: int,
        tokens: int,
        domain: float,
        eps: float,
        *,
        dtype: Any = "float64",
        method: str = "auto",
    ) -> None:
        self._size(features=features, head_dim=head_dim, tokens=tokens, domain=domain, dtype=dtype)
        self.asked = read_eps(eps)
        head = self._search(self.asked, read_method(method, ("auto", "two-key", "printed")))
        self._freeze({"read": head, **{name: activation_head(name, self.dtype_name) for name in ACTIVATIONS}})

    def _size(self, *, features: int, head_dim: int, tokens: int, domain: float, dtype: Any) -> None:
        self.features, self.head_dim, self.tokens = (
            whole(name, value) for name, value in (("features", features), ("head_dim", head_dim), ("tokens", tokens))
        )
        self.domain = positive("domain, the largest |entry| of K, Q and V,", domain)
        self.dtype_name, self.asked = read_dtype(dtype), 0.0
        self.heads = 3 * head_dim
        self.reads = self.heads + tokens, features + 1 + len(ACTIVATIONS)
        self.terms = features + 5  # roundings of a score: the dot product, the key, the cast and the scale of a weight
        # what is executed may leave the domain by the rounding of a dot product: the table is proved that far
        self.reach = self.domain * (1 + 2 * PRODUCTS * gamma(self.terms, FORMATS[self.dtype_name].unit))
        self.parameters = {
            "features": features, "head_dim": head_dim, "tokens": tokens,
            "domain": self.domain, "dtype": self.dtype_name,
        }  # fmt: skip

    # the promise for all prompts

    def _search(self, eps: float, method: str) -> Head:
        """The shortest table whose promise meets eps."""
        if method == "printed":
            entry = printed_entry(eps, self.domain, self.head_dim, self.tokens)
            return printed_table(self.reach, self.dtype_name, eps, entry)
        gain = a_priori(1e-9, self.domain, self.head_dim, self.tokens, FORMATS[self.dtype_name])[0] / 1e-9
        asked = (
            f"an attention machine with {self.head_dim} x {self.features} heads on |entries| <= {exactly(self.domain)}"
        )
        return shortest(method, self.reach, self.dtype_name, eps, gain, self._promised, asked)

    def _promised(self, head: Head) -> Bound:
        """The promise for all prompts in the domain, with this table."""
        table, fmt = proved(head, self.reach, self.dtype_name), FORMATS[self.dtype_name]
        room = (self.domain, self.head_dim, self.tokens, fmt)
        exact = a_priori(table.approximation, *room)[0]
        slip = gamma(self.terms, fmt.unit) * PRODUCTS * self.domain  # summed first, then read off the table
        moved, softmax = a_priori(table.total + slip, *room)
        return Bound(exact, moved - exact + softmax)

    def prove(self) -> Bound:
        """The promise for every head; activations that were changed, or that no flag would silence, are refused."""
        for name in ACTIVATIONS:
            if not self._bend(name)[0] <= 1 / SHARP[self.dtype_name]:
                raise Refusal(f"the machine does not hold {name} on |entries| <= {exactly(self.domain)}")
        return self._promised(self.tables["read"])

    @property
    def statement(self) -> str:
        """|machine - V softmax(K^T Q)| <= bound, and for which heads."""
        return (
            f"|machine - V softmax(K^T Q)| <= bound in every entry, for every {self.dtype_name} prompt of up to "
            f"{self.tokens} tokens and {self.head_dim} x {self.features} heads with {self.hypotheses}"
        )

    @property
    def hypotheses(self) -> Domain:
        """Entries of K, Q and V within the domain, and so the sums of their products."""
        ends = (-self.domain, self.domain)
        return Domain({**dict.fromkeys(PARTS, ends), "sum |theta_k x_k| + |bias|": (0.0, PRODUCTS * self.domain)})

    @property
    def _inside(self) -> Domain:
        return Domain(dict.fromkeys(PARTS, (-self.domain, self.domain)))

    @property
    def eps(self) -> float:
        """What was asked; of a machine from a file, what it promises."""
        return self.asked or self.certificate.bound

    @property
    def table(self) -> Head:
        """The table that reads."""
        return self.tables["read"]

    @property
    def sizes(self) -> HeadSizes:
        """Keys and heads, and what the printed theorems need for the same promise."""
        eps = self.eps
        entry = printed_entry(eps, self.domain, self.head_dim, self.tokens)
        return HeadSizes(
            self.features, self.head_dim, self.tokens, self.domain, eps, self.dtype_name,
            keys=self.table.keys,
            entry=self._entry.approximation,
            heads=self.heads,
            printed_41=self.heads * printed_heads(max(3, self.tokens), self.domain, entry),
            printed_42=math.ceil(4 * self.domain / entry),
        )  # fmt: skip

    # the network, and back

    def _build(self) -> Network:
        k, q, v = (list(range(i * self.head_dim, (i + 1) * self.head_dim)) for i in range(3))
        table = self.table
        layers = {
            "read": Reading(
                torch.tensor(table.slopes),
                torch.tensor(table.offsets),
                torch.tensor(table.values),
                rows=self.heads,
                features=self.features,
                carried=len(ACTIVATIONS),
                grouped=True,
            ),
            "bend": Bending({n: self.tables[n] for n in ACTIVATIONS}, rows=self.heads, first=2 * self.head_dim),
            "attend": Softmax(
                query=Select([q], self.heads),
                key=Select([k], self.heads),
                value=Select([v], self.heads),
                output=Select.writing([list(range(self.head_dim))], self.head_dim),
            ),
        }
        names = [f"{part}.{i}" for part in PARTS for i in range(self.head_dim)]
        data = [f"token.{i}" for i in range(self.tokens)]
        network = Network(layers, tokens=[f"W_{name}" for name in names] + data, features=names)
        return network.to(self.dtype)

    def _stored(self, network: Network) -> dict[str, Head]:
        read, bend = network.layers["read"], network.layers["bend"]
        if not (isinstance(read, Reading) and isinstance(bend, Bending)):
            raise Refusal("an attention machine reads, bends and attends")
        return {"read": read.table, **bend.heads}

    # running a prompt

    def encode(self, program: HeadProgram, x: Tensor) -> Tensor:
        """The prompt: (..., 3 head_dim + n tokens, features + 1 + flags)."""
        width = self.features + 1 + len(ACTIVATIONS)
        flag = self.features + 1 + ACTIVATIONS.index(program.activation)
        batch = np.broadcast_shapes(program.weights[0].shape[:-2], x.shape[:-2])
        prompt = torch.zeros(*batch, self.heads + x.shape[-2], width, dtype=self.dtype)
        for part, (weight, bias) in enumerate(zip(program.weights, program.biases, strict=True)):
            first = part * self.head_dim
            where = slice(first, first + program.head_dim)
            prompt[..., where, : program.features] = weight.to(self.dtype)
            prompt[..., where, self.features] = bias.to(self.dtype)
        prompt[..., self.heads :, : x.shape[-1]] = x
        prompt[..., self.heads :, self.features] = 1.0
        prompt[..., self.heads :, flag] = 1.0
        return prompt

    def accept(self, X: Any) -> Tensor:
        """X (..., n, features) in the machine's dtype, or a refusal that says what does not fit."""
        x = self.read(X)
        if x.dim() < 2 or x.shape[-1] > self.features or not 0 < x.shape[-2] <= self.tokens:
            raise Refusal(
                f"this machine reads X of shape (..., 1 to {self.tokens} tokens, up to {self.features} features), "
                f"not {tuple(x.shape)}"
            )
        return x

    def __call__(self, program: Program, X: Any = None) -> Result:
        """Run a program on the tokens X, (..., tokens, features)."""
        self.proved_hash()
        if X is None:
            raise Refusal(f"a program needs tokens to run on: vm(program, X) with X (tokens, {self.features} features)")
        if isinstance(program, LinearProgram):
            return self._chain((program,), X)
        if isinstance(program, ChainProgram):
            return self._chain(self._linear_stages(program), X)
        if not isinstance(program, HeadProgram | SampleProgram):
            if isinstance(program, Stage):
                raise Refusal(
                    f"an attention machine runs heads and linear layers; a {program.name} needs hs.machine.Tape"
                )
            raise Refusal(
                f"a program comes from hs.prompt (head, linear, mlp, mean, ...), not {type(program).__name__}"
            )
        x = self.accept(X)
        return self._head(program.on(x, self.head_dim), x)

    def value(self, program: HeadProgram, X: Any) -> Tensor:
        """The output alone, its range checked, its error not worked out."""
        self.proved_hash()
        x = self.accept(X)
        self.check(program, x)
        return self.network(self.encode(program, x))[..., : program.head_dim]

    def explain(self, program: Program, X: Any, query: int = 0) -> HeadSeen:
        """Which key each entry of K, Q and V read for one token, how firmly, and how far from the end of the range."""
        self.proved_hash()
        if not isinstance(program, HeadProgram | SampleProgram):
            raise Refusal("explain shows a head; give the program of one head")
        x = self.accept(X)
        return see(self, program.on(x, self.head_dim), x, query)

    def check(self, program: HeadProgram, x: Tensor) -> list[float]:
        """The largest sum of |theta_k x_k| + |bias| in K, Q and V; refuses an entry that leaves the domain, by name."""
        if program.causal:
            raise Refusal("an attention machine lets every token see all tokens: a causal head runs on hs.machine.Tape")
        if program.features != x.shape[-1] or program.head_dim > self.head_dim:
            raise Refusal(
                f"a program of shape ({program.head_dim}, {program.features}) does not fit {x.shape[-1]} features "
                f"on a machine with heads of up to {self.head_dim}"
            )
        return read_in_range(program, x, self.domain, self.reach, self.terms, FORMATS[self.dtype_name].unit)

    # what one run costs

    @cached_property
    def _entry(self) -> Lattice:
        return proved(self.tables["read"], self.reach, self.dtype_name)

    def _bend(self, name: str) -> tuple[float, float, float]:
        return activation_error(self.tables[name], name, self.domain * (1 + MARGIN), self.dtype_name)

    def entry_errors(self, sizes: list[float]) -> list[tuple[float, float]]:
        """(approximation, rounding) of an entry of K, Q and V: summed first, then read off the table."""
        slip = gamma(self.terms, FORMATS[self.dtype_name].unit)
        return [(self._entry.approximation, self._entry.rounding + slip * size) for size in sizes]

    def bend_error(self, activation: str, entry: float) -> tuple[float, float, float]:
        """(approximation, rounding, slope) of an activation on what was read, which may leave the domain by `entry`."""
        approximation, rounding, slope = self._bend(activation)
        if activation != "identity" and entry > MARGIN * self.domain:
            return math.inf, math.inf, slope
        return approximation, rounding, slope

    def head_error(self, program: HeadProgram, bent: Tensor, sizes: list[float]) -> Bound:
        """The error of the output, from what was read: the rule of `bounds`, without and with rounding."""
        k, q, v = bent.split(self.head_dim, -1)
        v = v[..., : program.head_dim]
        entries = self.entry_errors(sizes)
        extra = self.bend_error(program.activation, sum(entries[2]))
        exact = [a for a, _ in entries]
        exact[2] = exact[2] * extra[2] + extra[0]
        both = [a + r for a, r in entries]
        both[2] = both[2] * extra[2] + extra[0] + extra[1]
        approximation = float(a_posteriori(k, q, v, (exact[0], exact[1], exact[2]), self.dtype_name)[0].max())
        moved, rounding = a_posteriori(k, q, v, (both[0], both[1], both[2]), self.dtype_name)
        return Bound(approximation, float((moved + rounding).max()) - approximation)

    def _head(self, program: HeadProgram, x: Tensor) -> Result:
        """The head of the prompt, on tokens x."""
        sizes = self.check(program, x)
        bent = self.network.layers["bend"](self.network.layers["read"](self.encode(program, x)))
        value = self.network.layers["attend"](bent)[..., : program.head_dim]
        statement = f"|machine - {program.name}| <= bound in every entry, for this prompt"
        return Result(
            program.name, value, self.certified(self.head_error(program, bent, sizes), statement, self._inside)
        )

    # linear layers and chains of them

    @staticmethod
    def _linear_stages(program: ChainProgram) -> tuple[LinearProgram, ...]:
        for stage in program.stages:
            if not isinstance(stage, LinearProgram):
                raise Refusal(
                    f"an attention machine runs one head, or a chain of linear programs; a chain with a {stage.name} "
                    "runs on hs.machine.Tape"
                )
        return program.stages

    def _chain(self, stages: tuple[LinearProgram, ...], X: Any) -> Result:
        """Linear programs one after another, token by token."""
        given = torch.as_tensor(X)
        x = self.accept(given.reshape(-1, 1, given.shape[-1]) if given.dim() else given).squeeze(-2)
        error = torch.zeros(*x.shape, 2, dtype=torch.float64)
        for stage in stages:
            x, error = self._stage(stage, x, error)
        name = "mlp" if len(stages) > 1 else stages[0].name
        statement = f"|machine - {name}| <= bound in every entry, for these inputs"
        bound = Bound(*error.amax((0, 1)).tolist())
        return Result(name, x.reshape(*given.shape[:-1], -1), self.certified(bound, statement, self._inside))

    def _stage(self, stage: LinearProgram, x: Tensor, error: Tensor) -> tuple[Tensor, Tensor]:
        """f(Theta x + b) for x (N, features), and its error: e <- eps_f + L_f (|Theta| e + e_read)."""
        if stage.weight.shape[1] != x.shape[-1]:
            raise Refusal(f"the layer reads {stage.weight.shape[1]} features, but {x.shape[-1]} arrive")
        if x.shape[-1] > self.features:
            raise Refusal(
                f"the layer reads {x.shape[-1]} features; this machine holds {self.features}: build a wider one"
            )
        value, size = self.linear(stage, x)
        read = torch.tensor(self.entry_errors([size])[0], dtype=torch.float64)
        approximation, rounding, slope = self.bend_error(stage.activation, float(read.sum()))
        before = torch.einsum("rk,nkc->nrc", stage.weight.abs(), error)
        after = (slope * (before + read) + torch.tensor([approximation, rounding], dtype=torch.float64)) * INFLATE
        return value, after

    def linear(self, stage: LinearProgram, x: Tensor) -> tuple[Tensor, float]:
        """The rows of Theta through the first two layers, and the largest sum of |theta_k x_k| + |bias|.

        Bent rows go where V goes, head_dim at a time; plain ones take the places of K, Q and V.
        """
        plain, size, values = stage.activation == "identity", 0.0, []
        step = self.heads if plain else self.head_dim
        tokens = max(1, 2**22 // (self.heads * self.table.keys))
        for first in range(0, len(stage.weight), step):
            weight, bias = stage.weight[first : first + step], stage.bias[first : first + step]
            rows = torch.zeros(self.heads, x.shape[-1] + 1, dtype=torch.float64)
            place = slice(0, len(weight)) if plain else slice(2 * self.head_dim, 2 * self.head_dim + len(weight))
            rows[place] = torch.cat([weight, bias[:, None]], -1)
            k, q, v = rows.split(self.head_dim)
            program = HeadProgram(
                stage.name, (k[:, :-1], q[:, :-1], v[:, :-1]), (k[:, -1], q[:, -1], v[:, -1]), stage.activation
            )
            size = max(size, *self.check(program, x))
            read = [self.network.layers["read"](self.encode(program, part)) for part in x.split(tokens)]
            values.append(self.network.layers["bend"](torch.cat(read))[..., place])
        return torch.cat(values, -1), size

    @classmethod
    def for_library(
        cls, programs: Iterable[HeadProgram], tokens: int, inputs: float, eps: float, *, dtype: Any = "float64"
    ) -> Attention:
        """One machine for a library of heads: the largest sizes, and the range that |x| <= inputs gives.

        (algorithm-emulation Cor 4.2.1, repaired: the sum over heads belongs inside the softmax layer.)
        """
        library = list(programs)
        if not library:
            raise Refusal("a library needs at least one program")
        reach = max(
            float((w.abs().sum(-1) * inputs + b.abs()).max())
            for p in library
            for w, b in zip(p.weights, p.biases, strict=True)
        )
        sizes = max(p.features for p in library), max(p.head_dim for p in library)
        return cls(*sizes, tokens, max(reach, 1e-9) * (1 + 1e-12), eps, dtype=dtype)

    def title(self) -> str:
        return f"Attention machine: {self.head_dim} x {self.features} heads on up to {self.tokens} tokens"

    def rows(self) -> list[tuple[str, str]]:
        rows = [row for row in self.sizes.rows() if self.asked or row[0] != "asked"]
        return [
            *rows,
            ("promise", f"error at most {upper(self.certificate.bound)}"),
            ("weights", self.weight_hash[:16]),
        ]


def read_in_range(program: HeadProgram, x: Tensor, domain: float, reach: float, terms: int, unit: float) -> list[float]:
    """The largest sum of |theta_k x_k| + |bias| in K, Q and V; refuses an entry that leaves the domain, by name.

    What is executed, off by `terms` roundings of this unit, must not leave `reach`.
    """
    wide, sizes = x.double(), []
    for name, weight, bias in zip(PARTS, program.weights, program.biases, strict=True):
        size = wide.abs() @ weight.abs().mT + bias.abs().unsqueeze(-2)
        z = (wide @ weight.mT + bias.unsqueeze(-2)).abs() + gamma(terms, UNIT) * size
        executed = (z + gamma(terms, unit) * size).max()
        if not (float(z.max()) <= domain and float(executed) <= reach):
            place, most = torch.unravel_index(z.argmax(), z.shape), max(float(z.max()), float(executed))
            raise Refusal(
                f"{name}[{int(place[-1])}] of token {int(place[-2])} has size {most:.4g}, beyond the machine's "
                f"domain {domain:g}: build it with domain={number(most * 1.01)} or more, or scale the program"
            )
        sizes.append(float(size.max()) * INFLATE)
    return sizes
