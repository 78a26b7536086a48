"""A formula of several variables, or several formulas that share their keys: one head on a tensor grid.

The keys are a product of one-dimensional keys, so the softmax factorises and one head with P Q tokens is as
accurate in each variable as a scalar head with P, or Q, keys. What is promised has been proved when the plan is
returned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
from torch import Tensor

from headsmith.compiler.compiled import Compiled, accept, fingerprint
from headsmith.compiler.grid import (
    GOAL,
    VARIABLES,
    Box,
    forge_grid,
    printed_cells,
    read_box,
    refusal,
    refuse_edges,
    too_many,
)
from headsmith.compiler.plan import Plan, bound_text, many
from headsmith.compiler.requests import read_dtype, read_eps, read_method
from headsmith.compiler.scalar import Short
from headsmith.functions import Expression, parse
from headsmith.functions.balls import ceil_float
from headsmith.functions.several import at_point
from headsmith.heads.lattice import grid_network, stored_head
from headsmith.network import from_config
from headsmith.proof.box import BoxCertificate, box_text, certify_box
from headsmith.proof.certificate import SLACK
from headsmith.proof.rounding import FORMATS
from headsmith.proof.tensor import TensorHead, TensorProof, prove_tensor
from headsmith.proof.tensor_rounding import prove_tensor_rounding
from headsmith.records.shown import Shown, number, upper
from headsmith.refusal import Refusal
from headsmith.targets.formula import check_domain


@dataclass(frozen=True, repr=False)
class GridPlan(Plan):
    """`domain` maps each variable to its interval; `head` holds the numbers, `proof` what was proved of them."""

    expressions: tuple[Expression, ...]
    names: tuple[str, ...]
    vector: bool
    head: TensorHead | None
    proof: TensorProof | None

    @property
    def box(self) -> Box:
        return tuple(self.domain[name] for name in self.names)

    def rows(self) -> list[tuple[str, str]]:
        shape = " x ".join(str(len(axis)) for axis in self.head.axes) if self.head else str(self.anchors)
        return [
            ("domain", f"{box_text(self.names, self.box)}, {self.dtype}"),
            ("method", "one head on a tensor grid" + (", components share its keys" if self.vector else "")),
            ("size", f"{shape} = {many(self.anchors, 'memory token')}"),
            ("bound", bound_text(self.approximation, self.rounding)),
            ("asked", f"eps = {number(self.eps)}"),
            ("printed bumps", f"{number(self.printed_anchors, 2)} cells (Lemma 3.11)"),
        ]

    def build(self) -> GridNetwork:
        assert self.head is not None and self.proof is not None
        built = grid_network(self.head, self.names, getattr(torch, self.dtype))
        return GridNetwork(built, self, self._certificate(self.proof, self.rounding / SLACK, fingerprint(built)))

    def _certificate(self, proof: TensorProof, rounding: float, weights: str) -> BoxCertificate:
        variables = ", ".join(self.names)
        statement = (
            f"|network({variables}) - ({self.target})| <= bound for every {self.dtype} {box_text(self.names, self.box)}"
        )
        return certify_box(
            proof.bound,
            rounding,
            statement,
            self.box,
            self.dtype,
            weights,
            proof.least,
            proof.witness,
            len(proof.cells),
        )


@dataclass(frozen=True, repr=False)
class GridExplanation(Shown):
    """One point: the tokens (their place on each axis, weight, first value), the largest weight first."""

    formula: str
    point: dict[str, float]
    value: Any
    error: float
    tokens: tuple[tuple[tuple[int, ...], float, float], ...]

    def title(self) -> str:
        at = ", ".join(f"{name} = {x:.6g}" for name, x in self.point.items())
        return f"{self.formula} at {at}: {self.value}, off by at most {upper(self.error)}"

    def rows(self) -> list[tuple[str, str]]:
        shown = [
            (f"token {place}", f"{number(weight)} x {number(value, 4)}") for place, weight, value in self.tokens[:6]
        ]
        return [*shown, ("other tokens", number(sum(weight for _, weight, _ in self.tokens[6:]), 2))]


class GridNetwork(Compiled):
    """net(x, y), or net(x=..., y=...), within the certificate's bound of the formula; variables in sorted order.

    Inputs broadcast together; the result has their common shape, with one more axis for a vector of formulas.
    """

    kind = "grid"
    plan: GridPlan

    def encode(self, *point: Tensor) -> Tensor:  # type: ignore[override]
        """(...), (...) -> (..., 1 token, variables)."""
        return torch.stack(torch.broadcast_tensors(*point), -1).unsqueeze(-2)

    def decode(self, tokens: Tensor) -> Tensor:
        return tokens[..., 0, :] if self.plan.vector else tokens[..., 0, 0]

    def inputs(self, point: Sequence[Any], named: Mapping[str, Any]) -> list[Tensor]:
        """The variables in order, promoted exactly and checked against the box."""
        names = self.plan.names
        if (named and (point or set(named) != set(names))) or (not named and len(point) != len(names)):
            raise Refusal(f"the network is called as net({', '.join(names)}), in this order or by name")
        values = [named[name] for name in names] if named else list(point)
        device = next(self.network.parameters()).device
        accepted = [accept(value, self.dtype, device) for value in values]
        for value, interval in zip(accepted, self.plan.box, strict=True):
            check_domain(value, interval)
        try:
            torch.broadcast_shapes(*(value.shape for value in accepted))
        except RuntimeError:
            shapes = ", ".join(str(tuple(value.shape)) for value in accepted)
            raise Refusal(f"the inputs have shapes {shapes}, which do not broadcast together") from None
        return accepted

    def forward(self, *point: Any, **named: Any) -> Tensor:
        return self.decode(self.network(self.encode(*self.inputs(point, named))))

    def certify(self, *point: Any, **named: Any) -> Tensor:
        """|net - f| for these very inputs and outputs, in ball arithmetic and rounded up: no model of rounding."""
        inputs = torch.broadcast_tensors(*self.inputs(point, named))
        out = self(*inputs).detach().double()
        rows = out.reshape(-1, len(self.plan.expressions)).tolist()
        points = torch.stack([x.reshape(-1) for x in inputs], -1).double().tolist()
        bounds = [
            [
                ceil_float(abs(at_point(f, self.plan.names, x) - y))
                for f, y in zip(self.plan.expressions, row, strict=True)
            ]
            for x, row in zip(points, rows, strict=True)
        ]
        return torch.tensor(bounds, dtype=torch.float64).reshape(out.shape)

    def explain(self, *point: float, **named: float) -> GridExplanation:
        """Which tokens of the grid the head reads at a point, and what they contribute."""
        inputs = self.inputs(point, named)
        value = self(*inputs)
        pattern = self.network.trace(self.encode(*inputs))["blocks.1.attn.hook_pattern"].reshape(-1)
        head = stored_head(self.network, len(self.plan.names))
        places = list(product(*(range(len(axis)) for axis in head.axes)))
        rows = zip(places, pattern.tolist(), head.values.reshape(len(places), -1)[:, 0].tolist(), strict=True)
        return GridExplanation(
            self.plan.target,
            dict(zip(self.plan.names, (float(x) for x in inputs), strict=True)),
            value.tolist(),
            float(self.certify(*inputs).max()),
            tuple(sorted(rows, key=lambda row: -row[1])),
        )

    def reprove(self) -> BoxCertificate:
        """The proof once more, from nothing but the stored numbers and the formulas."""
        plan, head = self.plan, stored_head(self.network, len(self.plan.names))
        proof = prove_tensor(head, plan.expressions, plan.names, plan.box, GOAL[len(plan.names)] * plan.eps)
        rounding = prove_tensor_rounding(head, plan.box, FORMATS[plan.dtype], GOAL[len(plan.names)] * plan.eps)
        return plan._certificate(proof, rounding, fingerprint(self.network))

    def extra_manifest(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "formula": plan.target,
            "targets": [f.tree() for f in plan.expressions],
            "variables": list(plan.names),
            "vector": plan.vector,
            "eps": plan.eps.hex(),
            "printed_anchors": plan.printed_anchors.hex(),
        }


def plan_grid(
    target: Sequence[str | Expression] | str | Expression,
    *,
    eps: Any,
    domain: Any,
    dtype: Any = "float64",
    method: str = "auto",
    names: Sequence[str] | None = None,
) -> GridPlan:
    """The plan for one or several formulas of up to four variables, or a Refusal that names what can be had."""
    vector = not isinstance(target, str | Expression)
    texts = [target] if isinstance(target, str | Expression) else list(target)
    expressions = tuple(parse(t) if isinstance(t, str) else t for t in texts)
    eps, dtype, _ = read_eps(eps), read_dtype(dtype), read_method(method, ("auto",))
    title = "[" + ", ".join(map(str, expressions)) + "]" if vector else str(expressions[0])
    if names is None:
        names = sorted(
            {name for f in expressions for name in f.variables}
            | (set(domain) if isinstance(domain, Mapping) else set())
        )
    box = read_box(domain, names, dtype, title)
    if len(names) > VARIABLES:
        raise too_many(title, expressions, names, box, eps)
    refuse_edges(expressions, names, box, title)
    try:
        head, proof, rounding = forge_grid(expressions, tuple(names), box, eps, dtype)
    except Short as short:
        raise refusal(title, expressions, tuple(names), box, eps, dtype, short) from None
    return GridPlan(
        target=title,
        domain=dict(zip(names, box, strict=True)),
        eps=eps,
        dtype=dtype,
        method="grid",
        anchors=head.tokens,
        heads=1,
        layers=1,
        approximation=proof.bound * SLACK,
        rounding=rounding * SLACK,
        printed_anchors=printed_cells(expressions, names, box, eps),
        expressions=expressions,
        names=tuple(names),
        vector=vector,
        head=head,
        proof=proof,
    )


def load_grid(manifest: dict[str, Any], tensors: dict[str, Tensor]) -> GridNetwork:
    """The network of a file, with the certificate that was proved for it."""
    certificate = BoxCertificate.from_record(manifest["certificate"])
    built = from_config(manifest["network"], tensors)
    names = tuple(manifest["variables"])
    plan = GridPlan(
        target=manifest["formula"],
        domain=dict(zip(names, certificate.domain, strict=True)),
        eps=float.fromhex(manifest["eps"]),
        dtype=certificate.dtype,
        method="grid",
        anchors=built.layers["grid"].memory_tokens,  # type: ignore[arg-type]
        heads=1,
        layers=1,
        approximation=certificate.approximation,
        rounding=certificate.rounding,
        printed_anchors=float.fromhex(manifest["printed_anchors"]),
        expressions=tuple(Expression.from_tree(tree) for tree in manifest["targets"]),
        names=names,
        vector=bool(manifest["vector"]),
        head=None,
        proof=None,
    )
    net = GridNetwork(built, plan, certificate)
    assert net.certificate is certificate  # raises StaleCertificate if a tensor was altered
    return net
