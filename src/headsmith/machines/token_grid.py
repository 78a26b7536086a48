"""A machine whose program lies in every token, with H heads a row and the tokens as their keys: proved for every H.

algorithm-emulation Thm 4.1, repaired; the layout is `layouts.EveryToken`. Column j of the prompt is (x_j; j w; w; e_j);
head h of H covers n - 2 points of the grid between two sentinels, and its key

    2 beta (j w) + 2 beta c w,  -beta k (L_k + L_0),     k = j + c,  c = h (n - 2) - 1

scores the query (x; 1). Together the heads are one function of z = theta . x, a staircase for H > 1: how far it is from
z is proved in balls on the stored numbers, and how errors of K, Q and V reach the output is the rule of `bounds`.

Remark 4.1 (permutation equivariance): each query reads keys that no x enters, and the second layer is attention, so
exchanged columns of X are exchanged columns of the output, up to the order in which the second layer adds.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from headsmith.functions import parse
from headsmith.machines.attention import PARTS, read_in_range
from headsmith.machines.bounds import a_posteriori, a_priori, softmax_rounding
from headsmith.machines.lattices import Lattice
from headsmith.machines.layouts import EveryToken
from headsmith.machines.machine import Machine, positive, whole
from headsmith.machines.prompts.heads import HeadProgram
from headsmith.machines.result import Result
from headsmith.network import Attention as Softmax
from headsmith.network import Dense, Network
from headsmith.proof.approximation import prove
from headsmith.proof.certificate import Bound
from headsmith.proof.composition import resolution
from headsmith.proof.domain import Domain
from headsmith.proof.rounding import FORMATS, INFLATE, gamma
from headsmith.proof.statement import Head, Part
from headsmith.records.shown import upper
from headsmith.refusal import Refusal

UNIT = 2.0**-53
MOST = 400  # keys of all heads of a row that are proved in some seconds


class TokenGrid(Machine):
    """vm(program, X) on exactly `tokens` tokens; domain is the largest |entry| of K, scale Q and V.

    heads: H of Thm 4.1, how many share a row. With one the grid is smooth, with more a staircase of H (n - 2) steps.

    >>> vm = TokenGrid(features=2, head_dim=1, tokens=8, domain=1.0, heads=1)
    >>> result = vm(hs.prompt.head([[1.0, 0.0]], [[0.0, 1.0]], [[0.5, 0.5]]), torch.full((8, 2), 0.5))
    >>> bool((result.value - 0.5).abs().max() <= result.certificate.bound <= 1e-4)
    True
    """

    kind = "token grid"
    features: int
    head_dim: int
    tokens: int
    domain: float
    heads: int

    def __init__(self, features: int, head_dim: int, tokens: int, domain: float, heads: int = 1) -> None:
        self._size(features=features, head_dim=head_dim, tokens=tokens, domain=domain, heads=heads)
        self._freeze(self._stored(self._build()))

    def _size(self, *, features: int, head_dim: int, tokens: int, domain: float, heads: int) -> None:
        self.features, self.head_dim = whole("features", features), whole("head_dim", head_dim)
        self.tokens, self.heads = whole("tokens", tokens), whole("heads", heads)
        self.domain = positive("domain, the largest |entry| of K, Q and V,", domain)
        if heads * tokens > MOST:
            raise Refusal(
                f"{heads} heads on {tokens} tokens are {heads * tokens} keys a row, more than the {MOST} that are "
                f"proved: take {MOST // tokens or 1} heads or fewer"
            )
        self.terms = features + 8  # roundings of a score: j w, its products, their sum and the stored factors
        self.reach = self.domain * (1 + 2 * gamma(self.terms, UNIT))
        layout = self._layout()
        self.reads = tokens, layout.width
        self.parameters = {
            "features": features, "head_dim": head_dim, "tokens": tokens, "domain": self.domain, "heads": heads,
        }  # fmt: skip

    def _layout(self) -> EveryToken:
        return EveryToken(self.features, self.head_dim, self.tokens, self.reach, self.heads)

    def _build(self) -> Network:
        return self._layout().network

    def _stored(self, network: Network) -> dict[str, Head]:
        """The heads that serve the first row: those of the others are the same."""
        read = network.layers["read"]
        if not (isinstance(read, Softmax) and isinstance(read.key, Dense) and isinstance(read.value, Dense)):
            raise Refusal("a token grid reads by textbook matrices")
        d, rows = self.features, 3 * self.head_dim
        key, value = read.key.weight.detach(), read.value.weight.detach()
        places, steps = slice(d + 2 * rows * d, None), np.arange(self.tokens)
        found = {}
        for h in range(self.heads):
            step, shift = float(key[h, 0, d]), float(key[h, 0, d + rows * d])
            columns = key[h, d, places].numpy(), value[h, 0, places].numpy()
            found[f"head.{h}"] = Head.table(step * steps + shift, *columns)
        return found

    # what is proved

    @cached_property
    def entry(self) -> Lattice:
        """|what the heads of a row return - z| for |z| <= domain, without and with the rounding of sums up to it."""
        heads = tuple(self.tables.values())
        part = Part("z", "out", parse("z"), (-self.reach, self.reach), heads)
        return Lattice(prove(part, 32 * resolution(part, ())).bound, self._rounding(self.domain))

    def _rounding(self, size: float) -> float:
        """Of all heads of a row, where sum |theta_k x_k| is at most `size`."""
        total = most = 0.0
        for head in self.tables.values():
            products = (np.abs(head.slopes) + 2 * np.abs(head.slopes[1] - head.slopes[0])).max() * size  # |j| + |c|
            score, large = float(products + np.abs(head.offsets).max()), float(np.abs(head.values).max())
            total += softmax_rounding(
                score * INFLATE, float(np.ptp(head.values)), large, self.terms, self.tokens, FORMATS["float64"]
            )
            most += large
        return (total + gamma(self.heads + 1, UNIT) * most) * INFLATE

    def prove(self) -> Bound:
        """The promise for every head whose entries and sums stay within the domain."""
        room = (self.domain, self.head_dim, self.tokens, FORMATS["float64"])
        exact = a_priori(self.entry.approximation, *room)[0]
        moved, softmax = a_priori(self.entry.total, *room)
        return Bound(exact, moved - exact + softmax)

    @property
    def hypotheses(self) -> Domain:
        """Entries of K, Q and V, and the sums behind them."""
        ends = (-self.domain, self.domain)
        return Domain({**dict.fromkeys(PARTS, ends), "sum |theta_k x_k|": (0.0, self.domain)})

    @property
    def statement(self) -> str:
        """|machine - V softmax(K^T Q)| <= bound, and for which heads."""
        return (
            f"|machine - V softmax(K^T Q)| <= bound in every entry, for every float64 prompt of {self.tokens} tokens "
            f"and every {self.head_dim} x {self.features} head with {self.hypotheses}"
        )

    # running a prompt

    def __call__(self, program: HeadProgram, X: Any) -> Result:
        """Run a head of exactly these sizes, without biases, on X (tokens, features)."""
        self.proved_hash()
        if not isinstance(program, HeadProgram) or any(bool(b.any()) for b in program.biases):
            raise Refusal("Thm 4.1 runs heads without biases: hs.prompt.head(W_K, W_Q, W_V, scale)")
        x, layout = self.read(X), self._layout()
        tokens = layout.encode(program, x)
        sizes = read_in_range(program, x, self.domain, self.reach, self.terms, UNIT)
        read = self.network.layers["read"](tokens)
        value = self.network.layers["attend"](read)
        entries = [(self.entry.approximation, self._rounding(size)) for size in sizes]
        k, q, v = read.split(self.head_dim, -1)
        exact = [a for a, _ in entries]
        both = [a + r for a, r in entries]
        approximation = float(a_posteriori(k, q, v, (exact[0], exact[1], exact[2]), "float64")[0].max())
        moved, rounding = a_posteriori(k, q, v, (both[0], both[1], both[2]), "float64")
        bound = Bound(approximation, float((moved + rounding).max()) - approximation)
        statement = f"|machine - {program.name}| <= bound in every entry, for this prompt"
        within = Domain(dict.fromkeys(PARTS, (-self.domain, self.domain)))
        return Result(program.name, value, self.certified(bound, statement, within))

    def title(self) -> str:
        heads = f"{self.heads} {'head' if self.heads == 1 else 'heads'} a row"
        return f"Token grid (Thm 4.1): {self.head_dim} x {self.features} heads on {self.tokens} tokens, {heads}"

    def rows(self) -> list[tuple[str, str]]:
        return [
            ("domain", f"{self.hypotheses}, float64"),
            ("size", f"{3 * self.head_dim * self.heads} heads of {self.tokens} keys and one softmax"),
            ("entries", f"K, Q, V within {upper(self.entry.total)}"),
            ("promise", f"error at most {upper(self.certificate.bound)}"),
            ("weights", self.weight_hash[:16]),
        ]
