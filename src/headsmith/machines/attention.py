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
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headsmith.compiler.compiled import accept, fingerprint
from headsmith.compiler.requests import read_dtype, read_eps, read_method
from headsmith.machines import running
from headsmith.machines.bending import ACTIVATIONS, Bending, activation_head
from headsmith.machines.bounds import a_priori
from headsmith.machines.identity import Identity, lattice, printed, smooth, two_key
from headsmith.machines.layouts import printed_heads
from headsmith.machines.programs.heads import ChainProgram, HeadProgram, LinearProgram, Program, SampleProgram
from headsmith.machines.reading import Reading
from headsmith.machines.result import Result
from headsmith.network import Attention as Softmax
from headsmith.network import Network, Select
from headsmith.proof.approximation import Unprovable
from headsmith.proof.certificate import SLACK, Certificate, StaleCertificate
from headsmith.proof.rounding import FORMATS, gamma
from headsmith.records.shown import Shown, number, upper
from headsmith.refusal import Refusal

LONGEST = 1024  # steps of a printed table that is built
PRODUCTS = 1.0  # the promise for all prompts allows sum_k |theta_k x_k| + |bias| up to this many times the domain


@dataclass(frozen=True, repr=False)
class Sizes(Shown):
    """What the machine is made of, beside what the printed theorems need for the same promise."""

    features: int
    head_dim: int
    tokens: int
    domain: float
    eps: float
    dtype: str
    keys: int
    entry: float
    heads: int
    printed_41: int
    printed_42: int

    def title(self) -> str:
        return f"Attention machine: {self.head_dim} x {self.features} heads on up to {self.tokens} tokens"

    def rows(self) -> list[tuple[str, str]]:
        return [
            ("domain", f"entries of K, Q, V up to {number(self.domain)}, {self.dtype}"),
            ("asked", f"eps = {number(self.eps)}"),
            ("size", f"{self.heads} heads of {self.keys} keys and one softmax"),
            ("entries", f"K, Q, V within {upper(self.entry)}"),
            ("printed", f"{number(self.printed_41)} heads (Thm 4.1), {number(self.printed_42)} keys a head (Thm 4.2)"),
        ]


class Attention:
    """vm(program, X) runs a prompt; every number that is not in the prompt is frozen and hashed.

    domain: the largest |entry| of K, scale Q and V. eps bounds every entry of the output, for every prompt in it.
    method: "auto" (a smooth lattice), "two-key" (A tanh(z/A)) or "printed" (the staircase of Thm 4.2).

    >>> vm = Attention(features=4, head_dim=4, tokens=12, domain=2.0, eps=1e-3)
    >>> vm.sizes.heads, vm.sizes.keys, vm.certificate.bound <= 1e-3
    (12, 9, True)
    """

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
        for name, value in (("features", features), ("head_dim", head_dim), ("tokens", tokens)):
            if not (isinstance(value, int) and value > 0):
                raise Refusal(f"{name} must be a positive whole number, not {value!r}")
        if not (isinstance(domain, int | float) and 0 < domain < math.inf):
            raise Refusal(f"domain must be a positive number, the largest |entry| of K, Q and V, not {domain!r}")
        self.features, self.head_dim, self.tokens = features, head_dim, tokens
        self.domain, self.eps, self.dtype_name = float(domain), read_eps(eps), read_dtype(dtype)
        self.method = read_method(method, ("auto", "two-key", "printed"))
        self.rows = 3 * head_dim
        self.terms = features + 5  # roundings of a score: the dot product, the key, the cast and the scale of a weight
        self.table = self._plan()
        self.network = self._build(self.table)
        self._proved = self.weight_hash

    @property
    def weight_hash(self) -> str:
        """SHA-256 of the wiring and of every number that is not in the prompt, worked out anew each time."""
        return fingerprint(self.network)

    def proved_hash(self) -> str:
        """The hash that the proofs speak of; raises StaleCertificate where a weight was changed since."""
        if self.weight_hash != self._proved:
            raise StaleCertificate("a weight of the machine was changed after the proof: build the machine again")
        return self._proved

    @property
    def dtype(self) -> torch.dtype:
        return getattr(torch, self.dtype_name)

    def _promise(self, table: Identity) -> tuple[float, float]:
        """(approximation, rounding) for all prompts in the domain."""
        fmt = FORMATS[self.dtype_name]
        room = (self.domain, self.head_dim, self.tokens, fmt)
        exact = a_priori(table.proof.bound, *room)[0]
        slip = gamma(self.terms, fmt.unit) * PRODUCTS * self.domain  # summed first, then read off the table
        entry = table.proof.bound + table.rounding(2, self.domain) + slip
        moved, softmax = a_priori(entry, *room)
        return exact * SLACK, (moved - exact + softmax) * SLACK

    def _plan(self) -> Identity:
        """The shortest table whose promise meets eps."""
        if self.method == "printed":
            return self._printed()
        make = smooth if self.method == "auto" else two_key
        gain = a_priori(1e-9, self.domain, self.head_dim, self.tokens, FORMATS[self.dtype_name])[0] / 1e-9
        aim = 0.9 * self.eps / gain
        for _ in range(12):
            try:
                table = make(self.domain, aim, self.dtype_name)
            except (Refusal, Unprovable):
                break
            approximation, rounding = self._promise(table)
            if approximation + rounding <= self.eps:
                return table
            spare = self.eps - rounding
            aim *= min(0.8, 0.9 * spare / approximation) if spare > 0 else 0.1
        reached = 1.1 * self._floor()
        raise Refusal(
            f"an attention machine with {self.head_dim} x {self.features} heads on |entries| <= {self.domain:g} cannot "
            f"promise {self.eps:.2g} in {self.dtype_name}, for rounding: eps = {upper(reached)} can be had"
            f"{' with method=auto' * (self.method != 'auto')}, or a smaller domain"
        )

    def _floor(self) -> float:
        """The least promise that rounding allows, over lattices finer and finer."""
        promises = []
        for fineness in range(10, 46, 3):
            try:
                promises.append(sum(self._promise(smooth(self.domain, 2.0**-fineness * self.domain, self.dtype_name))))
            except Refusal:
                break
        return min(promises)

    def _printed(self) -> Identity:
        """The lattice of the printed rule, nearest key takes all; refused where it would be too long to build."""
        steps, beta = printed(self.domain, _printed_entry(self))
        if steps > LONGEST:
            raise Refusal(
                f"the printed rule asks for {steps + 1:,} keys a head; tables of up to {LONGEST + 1:,} are built: "
                f"ask for eps = {upper(1.01 * self.eps * steps / LONGEST)} or more, or use method='auto'"
            )
        return lattice(self.domain, steps, beta, self.domain, self.dtype_name)

    def _build(self, table: Identity) -> Network:
        rows, flags = self.rows, len(ACTIVATIONS)
        k, q, v = (list(range(i * self.head_dim, (i + 1) * self.head_dim)) for i in range(3))
        layers = {
            "read": Reading(
                torch.tensor(table.head.slopes),
                torch.tensor(table.head.offsets),
                torch.tensor(table.head.values),
                rows=rows,
                features=self.features,
                carried=flags,
                grouped=True,
            ),
            "bend": Bending(
                {name: activation_head(name, self.dtype_name) for name in ACTIVATIONS},
                rows=rows,
                first=2 * self.head_dim,
            ),
            "attend": Softmax(
                query=Select([q], rows),
                key=Select([k], rows),
                value=Select([v], rows),
                output=Select.writing([list(range(self.head_dim))], self.head_dim),
            ),
        }
        names = [f"{part}.{i}" for part in "KQV" for i in range(self.head_dim)]
        data = [f"token.{i}" for i in range(self.tokens)]
        network = Network(layers, tokens=[f"W_{name}" for name in names] + data, features=names)
        return network.to(self.dtype)

    @property
    def sizes(self) -> Sizes:
        return Sizes(
            self.features, self.head_dim, self.tokens, self.domain, self.eps, self.dtype_name,
            keys=self.table.steps + 1,
            entry=self.table.proof.bound,
            heads=self.rows,
            printed_41=self.rows * printed_heads(max(3, self.tokens), self.domain, _printed_entry(self)),
            printed_42=math.ceil(4 * self.domain / _printed_entry(self)),
        )  # fmt: skip

    @property
    def certificate(self) -> Certificate:
        """The promise for every prompt in the domain."""
        approximation, rounding = self._promise(self.table)
        return Certificate(
            approximation,
            rounding,
            "proved",
            f"|machine - V softmax(K^T Q)| <= bound in every entry, for every prompt of up to {self.tokens} tokens "
            f"with |K|, |Q|, |V| <= {number(self.domain)} and sum |theta_k x_k| + |bias| <= "
            f"{number(PRODUCTS * self.domain)}",
            (-self.domain, self.domain),
            self.dtype_name,
            self.proved_hash(),
        )

    def encode(self, program: HeadProgram, x: Tensor) -> Tensor:
        """The prompt: (..., 3 head_dim + n tokens, features + 1 + flags)."""
        width = self.features + 1 + len(ACTIVATIONS)
        flag = self.features + 1 + ACTIVATIONS.index(program.activation)
        batch = torch.broadcast_shapes(program.weights[0].shape[:-2], x.shape[:-2])
        prompt = torch.zeros(*batch, self.rows + x.shape[-2], width, dtype=self.dtype)
        for part, (weight, bias) in enumerate(zip(program.weights, program.biases, strict=True)):
            first = part * self.head_dim
            where = slice(first, first + program.head_dim)
            prompt[..., where, : program.features] = weight.to(self.dtype)
            prompt[..., where, self.features] = bias.to(self.dtype)
        prompt[..., self.rows :, : x.shape[-1]] = x
        prompt[..., self.rows :, self.features] = 1.0
        prompt[..., self.rows :, flag] = 1.0
        return prompt

    def accept(self, X: Any) -> Tensor:
        """X (..., n, features) in the machine's dtype, or a refusal that says what does not fit."""
        x = accept(X, self.dtype, torch.device("cpu"))
        if x.dim() < 2 or x.shape[-1] > self.features or not 0 < x.shape[-2] <= self.tokens:
            raise Refusal(
                f"this machine reads X of shape (..., 1 to {self.tokens} tokens, up to {self.features} features), "
                f"not {tuple(x.shape)}"
            )
        return x

    def __call__(self, program: Program, X: Any = None) -> Result:
        """Run a program on the tokens X, (..., tokens, features)."""
        if X is None:
            raise Refusal(f"a program needs tokens to run on: vm(program, X) with X (tokens, {self.features} features)")
        if isinstance(program, LinearProgram):
            return running.run_chain(self, (program,), X)
        if isinstance(program, ChainProgram):
            return running.run_chain(self, program.stages, X)
        if not isinstance(program, HeadProgram | SampleProgram):
            raise Refusal(
                f"a program comes from hs.prompt (head, linear, mlp, mean, ...), not {type(program).__name__}"
            )
        x = self.accept(X)
        return running.run_head(self, program.on(x, self.head_dim), x)

    def value(self, program: HeadProgram, X: Any) -> Tensor:
        """The output alone, its range checked, its error not worked out."""
        x = self.accept(X)
        running.check(self, program, x)
        return self.network(self.encode(program, x))[..., : program.head_dim]

    def explain(self, program: Program, X: Any, query: int = 0) -> running.Explanation:
        """Which key each entry of K, Q and V read for one token, how firmly, and how far from the end of the range."""
        if isinstance(program, LinearProgram | ChainProgram):
            raise Refusal("explain shows a head; give the program of one head")
        x = self.accept(X)
        return running.explain(self, program.on(x, self.head_dim), x, query)

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

    def __repr__(self) -> str:
        return f"{self.sizes}\n  weights      {self.weight_hash[:16]}"


def _printed_entry(vm: Attention) -> float:
    """The error of K, Q, V that the printed proof of Thm 4.1 asks for: half of eps directly, half through softmax."""
    share = vm.eps / (2 * vm.tokens * vm.domain)
    return min(vm.eps / 2, -math.log1p(-min(share / 2, 0.5)) / (vm.head_dim * (2 * vm.domain + 1)))
