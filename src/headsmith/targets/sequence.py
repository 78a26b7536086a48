"""A continuous map of sequences, X (tokens, features) -> (tokens, features), by attention.

softmax-universality, Thm 3.14 and Cor 3.15, and a shorter way.

*auto*: one layer gathers all tokens into each of them, a bit-exact copy (every head looks at one token, so its
weight is 1), and one head on a tensor grid computes all outputs at once from values that share its keys; each token
reads its own.
*bumps*: the paper's route, repaired: a bump on each of g^(dn) cells, then attention that picks the cell
(heads/bumps.py).
*softmax*: the same with one attention layer and a softmax (Cor 3.15). *printed*: as the paper has it, whatever
comes of it.

Both pay for the grid: g^(dn) in tokens. The first needs about ten times fewer points an axis than the bumps need
for 10 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from headsmith.compiler.compiled import Compiled, accept, fingerprint
from headsmith.compiler.grid import GOAL, VARIABLES, evaluator
from headsmith.compiler.plan import Plan, bound_text, many
from headsmith.compiler.requests import read_method
from headsmith.functions import Expression
from headsmith.functions.balls import ceil_float
from headsmith.functions.several import at_point
from headsmith.heads.gather import gathered_network, variable_names
from headsmith.heads.grid import Search, TooRough, cost
from headsmith.heads.lattice import stored_head
from headsmith.network import from_config
from headsmith.proof.box import BoxCertificate, certify_box
from headsmith.proof.certificate import SLACK
from headsmith.proof.rounding import FORMATS
from headsmith.proof.tensor import TensorHead, prove_tensor
from headsmith.proof.tensor_rounding import prove_tensor_rounding
from headsmith.proof.tensor_samples import prove_tensor_samples
from headsmith.records.shown import number, upper
from headsmith.refusal import Refusal
from headsmith.targets.formula import check_domain
from headsmith.targets.grid import plan_grid
from headsmith.targets.kinds import SequenceMap
from headsmith.targets.sequence_request import Domain, called, formulas, lipschitz_of, printed_cells, read_request

BUMPS = ("bumps", "softmax", "printed")
"""Methods of targets/bumps.py."""


@dataclass(frozen=True, repr=False)
class SequencePlan(Plan):
    """`anchors` counts memory tokens; `cells` is the g^(dn) that the printed route would need for the same eps."""

    tokens: int
    features: int
    expressions: tuple[Expression, ...]
    constant: str
    cells: float
    head: TensorHead | None
    least: float = 0.0
    witness: tuple[float, ...] = ()
    proof_cells: int = 0

    def rows(self) -> list[tuple[str, str]]:
        lo, hi = self.domain
        n, d = self.tokens, self.features
        return [
            ("map", f"{many(n, 'token')} of {many(d, 'feature')} -> the same"),
            ("domain", f"entries in [{number(lo, 6)}, {number(hi, 6)}], {self.dtype}"),
            ("method", "gather all tokens, then one head on a tensor grid"),
            ("size", f"{many(self.anchors, 'memory token')}, {many(self.heads, 'head')}, {many(self.layers, 'layer')}"),
            ("bound", bound_text(self.approximation, self.rounding)),
            ("asked", f"eps = {number(self.eps)}" + (f", given {self.constant}" if self.constant else "")),
            (
                "printed bumps",
                f"g^(dn) = {number(self.cells ** (1 / (n * d)), 2)}^{n * d} = {number(self.cells, 2)} cells",
            ),
        ]

    def build(self) -> SequenceNetwork:
        assert self.head is not None
        built = gathered_network(self.head, self.tokens, self.features, getattr(torch, self.dtype))
        return SequenceNetwork(built, self, self.certificate(fingerprint(built)))

    def certificate(self, weights: str) -> BoxCertificate:
        lo, hi = self.domain
        statement = (
            f"|network(X) - f(X)| <= bound in every entry, for every {self.dtype} X ({self.tokens} x "
            f"{self.features}) with entries "
            f"in [{number(lo, 6)}, {number(hi, 6)}]"
            + (f", if {self.constant}" if self.constant else f", f = {self.target}")
        )
        found = certify_box(
            self.approximation / SLACK,
            self.rounding / SLACK,
            statement,
            [self.domain] * (self.tokens * self.features),
            self.dtype,
            weights,
            self.least,
            self.witness,
            self.proof_cells,
        )
        return replace(found, kind="conditional") if self.constant else found


class SequenceNetwork(Compiled):
    """net(X) for X (..., tokens, features) has X's shape."""

    kind = "sequence"
    plan: SequencePlan

    def encode(self, x: Tensor) -> Tensor:
        return x

    def decode(self, tokens: Tensor) -> Tensor:
        return tokens

    def forward(self, x: Any) -> Tensor:
        x = accept(x, self.dtype, next(self.network.parameters()).device)
        shape = (self.plan.tokens, self.plan.features)
        if x.shape[-2:] != shape:
            raise Refusal(f"X must have shape (..., {shape[0]}, {shape[1]}), tokens by features, not {tuple(x.shape)}")
        check_domain(x, self.plan.domain)
        return self.decode(self.network(self.encode(x)))

    def certify(self, x: Any) -> Tensor:
        """|net(X) - f(X)| for these very inputs and outputs, in ball arithmetic; for formulas."""
        if not self.plan.expressions:
            raise Refusal("the target is code, of which balls know nothing: an error at a point can only be measured")
        out = self(x).detach().cpu().double()
        names = variable_names(self.plan.tokens * self.plan.features)
        points = accept(x, self.dtype, torch.device("cpu")).double().reshape(-1, len(names)).tolist()
        bounds = [
            [ceil_float(abs(at_point(f, names, point) - y)) for f, y in zip(self.plan.expressions, row, strict=True)]
            for point, row in zip(points, out.reshape(-1, len(names)).tolist(), strict=True)
        ]
        return torch.tensor(bounds, dtype=torch.float64).reshape(out.shape)

    def reprove(self) -> BoxCertificate:
        """The proof once more, from the stored numbers; a callable is not stored, so its proof cannot be repeated."""
        plan, n = self.plan, self.plan.tokens * self.plan.features
        if not plan.expressions:
            raise Refusal("the target is code and is not stored: its certificate cannot be proved again from the file")
        head = stored_head(self.network, n)
        rebuilt = gathered_network(head, plan.tokens, plan.features, self.network.dtype)
        if fingerprint(rebuilt) != fingerprint(self.network):
            raise Refusal("the stored network is not the sequence construction: nothing can be proved of it")
        box = [plan.domain] * n
        proof = prove_tensor(head, plan.expressions, variable_names(n), box, GOAL[n] * plan.eps)
        rounding = prove_tensor_rounding(head, box, FORMATS[plan.dtype], GOAL[n] * plan.eps)
        found = plan.certificate(fingerprint(self.network))
        return certify_box(
            proof.bound,
            rounding,
            found.statement,
            box,
            plan.dtype,
            found.weights,
            proof.least,
            proof.witness,
            len(proof.cells),
        )

    def extra_manifest(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "formula": plan.target,
            "targets": [f.tree() for f in plan.expressions],
            "shape": [plan.tokens, plan.features],
            "constant": plan.constant,
            "eps": plan.eps.hex(),
            "printed_cells": plan.cells.hex(),
        }


def plan_sequence(target: SequenceMap, *, eps: Any, domain: Any, dtype: Any = "float64", method: str = "auto") -> Plan:
    """The plan, or a refusal that states g^(dn)."""
    eps, domain, dtype = read_request(target, eps, domain, dtype)
    read_method(method, ("auto", *BUMPS))
    n, d = target.tokens, target.features
    if callable(target.f):
        return _plan_callable(target, eps, domain, dtype)
    expressions, names = formulas(target), variable_names(n * d)
    cells = printed_cells(evaluator(expressions, names), n * d, domain, eps)
    if n * d > VARIABLES:
        raise _too_large(evaluator(expressions, names), n * d, domain, eps, cells)
    grid = plan_grid(expressions, eps=eps, domain=domain, dtype=dtype, names=names)
    assert grid.head is not None and grid.proof is not None
    return _plan(
        target, grid.target, eps, domain, dtype, grid.head, expressions, "", cells, grid.approximation, grid.rounding,
        least=grid.proof.least, witness=grid.proof.witness, proof_cells=len(grid.proof.cells),
    )  # fmt: skip


def _plan(
    target: SequenceMap, title: str, eps: float, domain: Domain, dtype: str, head: TensorHead, expressions:
    Sequence[Expression],
    constant: str, cells: float, approximation: float, rounding: float, **proof: Any,
) -> SequencePlan:  # fmt: skip
    return SequencePlan(
        target=title,
        domain=domain,
        eps=eps,
        dtype=dtype,
        method="grid",
        anchors=head.tokens,
        heads=target.tokens + 1,
        layers=2,
        approximation=approximation,
        rounding=rounding,
        printed_anchors=cells,
        tokens=target.tokens,
        features=target.features,
        expressions=tuple(expressions),
        constant=constant,
        cells=cells,
        head=head,
        **proof,
    )


def _plan_callable(target: SequenceMap, eps: float, domain: Domain, dtype: str) -> SequencePlan:
    count, L = target.tokens * target.features, lipschitz_of(target)
    f = called(target)
    cells = float(max(1, math.ceil(L * (domain[1] - domain[0]) / eps))) ** count
    if count > VARIABLES:
        raise _too_large(f, count, domain, eps, cells)
    title = getattr(target.f, "__name__", type(target.f).__name__)
    box = [domain] * count
    best = math.inf
    for aim in (0.3, 0.15):
        try:
            head = Search(f, box, 2 * aim * eps, dtype).find(aim * eps)
        except TooRough as rough:
            raise Refusal(f"{title} within {eps:g}: {rough}; try a larger eps") from None
        if head is None:
            break
        approximation = prove_tensor_samples(head, f, L, box, eps)
        rounding = prove_tensor_rounding(head, box, FORMATS[dtype], 0.01 * eps)
        best = min(best, (approximation + rounding) * SLACK)
        if best <= eps:
            constant = f"|f(X) - f(Y)| <= {L:g} max|X - Y|"
            return _plan(
                target, title, eps, domain, dtype, head, (), constant, cells, approximation * SLACK, rounding * SLACK
            )
    raise Refusal(f"{title} within {eps:g}: the bound found is {upper(best)}; try eps = {upper(2 * min(best, 1.0))}")


def _too_large(f: Any, count: int, domain: Domain, eps: float, cells: float) -> Refusal:
    try:
        tokens = f"about {number(float(cost(f, [domain] * count, eps)), 2)} tokens"
    except TooRough as rough:
        tokens = f"more tokens than can be counted ({rough})"
    return Refusal(
        f"{count} input numbers are too many for a grid: the printed bumps need g^(dn) = "
        f"{number(cells, 2)} cells, ours {tokens}, and "
        f"a proof goes up to {VARIABLES} variables; a map that is a network (nn.Sequential, "
        "hs.target.ReluNetwork) has no such limit"
    )


def load_sequence(manifest: dict[str, Any], tensors: dict[str, Tensor]) -> SequenceNetwork:
    certificate = BoxCertificate.from_record(manifest["certificate"])
    built = from_config(manifest["network"], tensors)
    tokens, features = manifest["shape"]
    layer = built.layers["grid"]
    plan = SequencePlan(
        target=manifest["formula"],
        domain=certificate.domain[0],
        eps=float.fromhex(manifest["eps"]),
        dtype=certificate.dtype,
        method="grid",
        anchors=layer.memory_tokens,  # type: ignore[arg-type]
        heads=tokens + 1,
        layers=2,
        approximation=certificate.approximation,
        rounding=certificate.rounding,
        printed_anchors=float.fromhex(manifest["printed_cells"]),
        tokens=tokens,
        features=features,
        expressions=tuple(Expression.from_tree(tree) for tree in manifest["targets"]),
        constant=manifest["constant"],
        cells=float.fromhex(manifest["printed_cells"]),
        head=None,
        least=certificate.least,
        witness=certificate.witness,
    )
    net = SequenceNetwork(built, plan, certificate)
    assert net.certificate is certificate  # raises StaleCertificate if a tensor was altered
    return net
