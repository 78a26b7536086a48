"""A formula of several variables: one head on a tensor grid of keys.

    features:   x, y, one, out | slope_x, slope_y, offset, value
    data token: x, y, 1,   0   | 0 ...                               memory token (i, j): 0 ... | a_i, a'_j, b_i + b'_j, V_ij

The score of a memory token is a dot product of three terms, and the softmax is the product of two one-dimensional ones.
Components of a vector share the keys: each is one more value in every memory token.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headsmith.compiler.compiled import Compiled, accept, fingerprint
from headsmith.compiler.plan import Plan, bound_text, many
from headsmith.compiler.requests import read_domain, read_dtype, read_eps, read_method
from headsmith.compiler.scalar import Short
from headsmith.functions import Expression, Unresolved, parse
from headsmith.functions.balls import ceil_float
from headsmith.functions.expression import JUMPS
from headsmith.heads.grid import Search, TooRough, cost
from headsmith.network import Affine, Attention, Network, Select, from_config
from headsmith.proof.approximation import Unprovable
from headsmith.proof.box import BoxCertificate, box_text, certify_box
from headsmith.proof.certificate import SLACK
from headsmith.proof.rounding import FORMATS
from headsmith.proof.tensor import Axis, TensorHead, TensorProof, prove_tensor
from headsmith.proof.tensor_rounding import prove_tensor_rounding
from headsmith.records.shown import number, upper
from headsmith.refusal import Refusal
from headsmith.targets.formula import check_domain

Box = tuple[tuple[float, float], ...]

VARIABLES = 4
KINKS = ("abs", "relu", "min", "max", "clip")
GOAL = {1: 0.01, 2: 0.01, 3: 0.02, 4: 0.05}
"""What the proof may add to the true error, as a share of eps."""
AIMS = (0.8, 0.55, 0.3, 0.1)
"""Sampled errors to look for, as shares of eps; with up to three variables 0.95 comes first."""


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
            proof.bound, rounding, statement, self.box, self.dtype, weights, proof.least, proof.witness, len(proof.cells)
        )


class GridNetwork(Compiled):
    """net(x, y), or net(x=..., y=...), within the certificate's bound of the formula; the variables are in sorted order.

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
            [ceil_float(abs(at_point(f, self.plan.names, x) - y)) for f, y in zip(self.plan.expressions, row, strict=True)]
            for x, row in zip(points, rows, strict=True)
        ]
        return torch.tensor(bounds, dtype=torch.float64).reshape(out.shape)

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


def at_point(f: Expression, names: Sequence[str], point: Sequence[float]) -> Any:
    """A ball around f at a point given in the order of `names`."""
    values = {name: x for name, x in zip(names, point, strict=True) if name in f.variables}
    return f.at(**values) if values else f.at()


def grid_network(head: TensorHead, names: Sequence[str], dtype: torch.dtype) -> Network:
    """Lift, one attention layer that reads the memory tokens, read."""
    dims, components = len(names), head.components
    outputs = ["out"] if components == 1 else [f"out.{r}" for r in range(components)]
    values = [name.replace("out", "value") for name in outputs]
    features = [*names, "one", *outputs, *(f"slope_{name}" for name in names), "offset", *values]
    width, first = len(features), dims + 1 + components
    memory = torch.zeros(head.tokens, width, dtype=torch.float64)
    memory[:, first:] = torch.from_numpy(memory_rows(head))
    bias = torch.zeros(width, dtype=dtype)
    bias[dims] = 1.0
    key = [*range(first, first + dims + 1)]
    read = [*range(first + dims + 1, width)]
    written = [*range(dims + 1, first)]
    layers = {
        "lift": Affine(Select([*range(dims), *[-1] * (width - dims)], features=dims), bias),
        "grid": Attention(
            Select([[*range(dims + 1)]], width),
            Select([key], width),
            Select([read], width),
            Select.writing([written], width),
            visible="none",
            memory=memory.to(dtype),
            residual=True,
        ),
        "read": Affine(Select(written, features=width)),
    }
    variables: dict[str, Any] = {name: ("lift", 0, slice(i, i + 1)) for i, name in enumerate(names)}
    variables |= {name: ("grid", 0, slice(dims + 1 + i, dims + 2 + i)) for i, name in enumerate(outputs)}
    return Network(layers, tokens=["input"], features=features, variables=variables)


def memory_rows(head: TensorHead) -> np.ndarray:
    """(tokens, slopes + offset + values); the offsets add up exactly, or the head is not what was proved."""
    shape = tuple(len(axis) for axis in head.axes)
    grids = np.meshgrid(*(axis.slopes for axis in head.axes), indexing="ij")
    offset = np.zeros(shape)
    exact = np.zeros(shape, dtype=object)
    for part in np.meshgrid(*(axis.offsets for axis in head.axes), indexing="ij"):
        offset = offset + part
        exact = exact + np.vectorize(Fraction, otypes=[object])(part)
    assert all(Fraction(x) == y for x, y in zip(offset.flat, exact.flat, strict=True))
    columns = [*(g.reshape(-1) for g in grids), offset.reshape(-1)]
    return np.concatenate([np.stack(columns, -1), head.values.reshape(-1, head.components)], -1)


def stored_head(network: Network, dims: int, layer: str = "grid") -> TensorHead:
    """The head in the memory of a layer, refused unless its keys are a product of axes, exactly."""
    memory = network.layers[layer].memory.detach().cpu().double().numpy()  # type: ignore[union-attr, operator]
    used = network.layers[layer].key.index[0].tolist()  # type: ignore[union-attr, index]
    slopes, offset = memory[:, used[:dims]], memory[:, used[dims]]
    values = memory[:, network.layers[layer].value.index[0].tolist()]  # type: ignore[union-attr, index]
    shape, inner = [], len(memory)
    for k in range(dims):
        change = np.flatnonzero(slopes[:, k] != slopes[0, k])
        block = int(change[0]) if len(change) else inner
        shape.append(inner // block)
        inner = block
    if math.prod(shape) != len(memory):
        raise Refusal("the memory tokens are not a grid: nothing can be proved of them")
    slopes, offset = slopes.reshape(*shape, dims), offset.reshape(shape)
    axes = []
    for k in range(dims):
        line = tuple(slice(None) if i == k else 0 for i in range(dims))
        own = offset[line] - (offset[(0,) * dims] if k else 0.0)
        axes.append(Axis(slopes[(*line, k)], own))
    head = TensorHead(tuple(axes), values.reshape(*shape, -1))
    try:
        same = np.array_equal(memory_rows(head), np.concatenate([slopes.reshape(-1, dims), offset.reshape(-1, 1), values], -1))
    except AssertionError:
        same = False
    if not same:
        raise Refusal("the keys are not an exact product of one-dimensional keys: nothing can be proved of them")
    return head


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
    texts = list(target) if vector else [target]  # type: ignore[arg-type, list-item]
    expressions = tuple(parse(t) if isinstance(t, str) else t for t in texts)
    eps, dtype, _ = read_eps(eps), read_dtype(dtype), read_method(method, ("auto",))
    title = "[" + ", ".join(map(str, expressions)) + "]" if vector else str(expressions[0])
    if names is None:
        names = sorted({name for f in expressions for name in f.variables})
    box = read_box(domain, names, dtype, title)
    if len(names) > VARIABLES:
        raise too_many(title, expressions, names, box, eps)
    refuse_edges(expressions, names, box, title)
    try:
        head, proof, rounding = forge_grid(expressions, tuple(names), box, eps, dtype)
    except Short as short:
        raise _refusal(title, expressions, tuple(names), box, eps, dtype, short) from None
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


def forge_grid(
    expressions: tuple[Expression, ...], names: tuple[str, ...], box: Box, eps: float, dtype: str
) -> tuple[TensorHead, TensorProof, float]:
    """The smallest head found whose proved error meets eps."""
    goal = GOAL[len(names)] * eps
    try:
        search = Search(evaluator(expressions, names), box, eps, dtype)
    except TooRough as rough:
        raise Short(str(rough), rough.error) from None
    best, reason, seen = math.inf, "", -1
    for aim in AIMS if len(names) == VARIABLES else (0.95, *AIMS):
        head = search.find(aim * eps)
        if head is None:
            break
        if head.tokens == seen:
            continue
        seen = head.tokens
        rounding = prove_tensor_rounding(head, box, FORMATS[dtype], goal)
        if rounding > eps:
            best, reason = min(best, rounding), f"rounding in {dtype} alone may cost {upper(rounding)}"
            continue
        try:
            proof = prove_tensor(head, expressions, names, box, goal)
        except (Unprovable, Unresolved) as error:
            raise Short(f"{error}; the error measured is {search.error(head):.1e}", search.error(head)) from None
        total = (proof.bound + rounding) * SLACK
        if total <= eps:
            return head, proof, rounding
        best, reason = min(best, total), f"the smallest bound found is {upper(min(best, total))}"
    if not reason:
        head = search.best()
        best = search.error(head)
        reason = f"a grid of {head.tokens} tokens leaves an error of {best:.1e}"
    raise Short(reason, best)


def evaluator(expressions: Sequence[Expression], names: Sequence[str]) -> Any:
    """(components, ...) in float64."""

    def f(*points: np.ndarray) -> np.ndarray:
        shape = np.broadcast_shapes(*(p.shape for p in points))
        by_name = dict(zip(names, points, strict=True))
        with np.errstate(all="ignore"):
            values = [
                np.broadcast_to(g(**{n: by_name[n] for n in g.variables}) if g.variables else float(g.at()), shape)
                for g in expressions
            ]
        return np.stack(values)

    return f


def read_box(domain: Any, names: Sequence[str], dtype: str, title: str) -> Box:
    """One interval a variable: a mapping by name, or one pair for all of them."""
    if domain is None:
        example = ", ".join(f'"{name}": (-1, 1)' for name in names)
        raise Refusal(f"{title} needs a domain, such as domain={{{example}}}")
    if not isinstance(domain, Mapping):
        return (read_domain(domain, dtype),) * len(names)
    if set(domain) != set(names):
        raise Refusal(f"the domain names {', '.join(map(str, domain))}, but {title} has the variables {', '.join(names)}")
    return tuple(read_domain(domain[name], dtype) for name in names)


def refuse_edges(expressions: Sequence[Expression], names: Sequence[str], box: Box, title: str) -> None:
    """Jumps have no continuous approximation, kinks across a box no small grid: both are named."""
    points = np.meshgrid(*(np.linspace(lo, hi, 9) for lo, hi in box), indexing="ij")
    for node in {node for f in expressions for node in f.order if node.variables}:
        if node.op in JUMPS:
            raise Refusal(f"{title} jumps where {node} does: no continuous head comes within half the jump; compile the pieces")
        if node.op in KINKS:
            first, second = (node.children[0], *node.children[1:2]) if node.op in ("min", "max", "clip") else (node.children[0], None)
            gap = evaluator([first], names)(*points)
            gap = gap if second is None else gap - evaluator([second], names)(*points)
            if gap.min() < 0 < gap.max():
                raise Refusal(
                    f"{title} has the kink of {node} inside the box: a grid of smooth weights follows it only to first order; "
                    "as a torch nn.Sequential of Linear and ReLU it is compiled with gates"
                )


def printed_cells(expressions: Sequence[Expression], names: Sequence[str], box: Box, eps: float) -> float:
    """g^N with omega_f(B/g) <= eps/2 (Lemma 3.11), the slopes of f taken from samples."""
    nodes = [np.linspace(lo, hi, 9) for lo, hi in box]
    grid = evaluator(expressions, names)(*np.meshgrid(*nodes, indexing="ij"))
    rise = sum(float(np.abs(np.diff(grid, axis=k + 1)).max()) * 8 for k in range(len(box)))
    return float(max(1, math.ceil(rise / eps))) ** len(box)


def too_many(title: str, expressions: Sequence[Expression], names: Sequence[str], box: Box, eps: float) -> Refusal:
    """More variables than a grid is good for: what it would cost, and what there is instead."""
    try:
        tokens = f"about {cost(evaluator(expressions, names), box, eps):,} tokens".replace(",", " ")
    except TooRough as rough:
        tokens = f"more tokens than can be counted ({rough})"
    return Refusal(
        f"{title} has {len(names)} variables: a grid would take {tokens} for eps = {number(eps)}, and is proved for at most "
        f"{VARIABLES} variables; write it as a sum of formulas of fewer variables, or as a torch nn.Sequential"
    )


def _refusal(
    title: str, expressions: tuple[Expression, ...], names: tuple[str, ...], box: Box, eps: float, dtype: str, short: Short
) -> Refusal:
    """What was asked, why it cannot be had, and an eps that was just tried and can."""
    if short.best == math.inf and "finite" in short.reason:
        raise Refusal(f"{title} is not finite everywhere for {box_text(names, box)}: choose a box that leaves the pole out")
    asked = f"{title} within {number(eps)} in {dtype} for {box_text(names, box)} cannot be certified: {short.reason}"
    reachable = max(2 * eps, 2 * short.best if math.isfinite(short.best) else 0.0)
    for _ in range(4):
        reachable = float(upper(reachable))
        try:
            forge_grid(expressions, names, box, reachable, dtype)
        except Short:
            reachable *= 5
        else:
            return Refusal(f"{asked}; eps = {reachable:g} can be had")
    return Refusal(f"{asked}; nor can eps = {reachable / 5:.1g}: a grid wants a smooth function on a smaller box")


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
