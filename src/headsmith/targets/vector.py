"""Several formulas at once: ["sin(x)", "x^2"] -> a network whose output has one more axis.

Two ways, and the smaller one is built. *Shared*: one head whose keys serve all components, each with a value of its
own in every memory token. *Side by side*: each component gets its own heads, found by the planner of single
formulas, in the same layers; the only way for components with kinks, and the better one when the components have
nothing in common.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from headsmith.compiler.compiled import Compiled, accept, fingerprint
from headsmith.compiler.plan import Plan, bound_text, size
from headsmith.compiler.program import METHODS
from headsmith.compiler.requests import read_method
from headsmith.functions import Expression, parse
from headsmith.functions.balls import ceil_float
from headsmith.heads.assemble import network
from headsmith.heads.reading import heads_of
from headsmith.network import Affine, Attention, Network, Select, from_config
from headsmith.proof.approximation import Approximation
from headsmith.proof.certificate import SLACK, Certificate, part_record
from headsmith.proof.composition import Proved, exact, propagate, prove_part
from headsmith.proof.rounding import Rounding
from headsmith.proof.statement import Head, Part
from headsmith.records.shown import number
from headsmith.refusal import Refusal
from headsmith.targets.formula import FormulaPlan, check_domain, plan_formula
from headsmith.targets.grid import GridPlan, plan_grid

Programs = tuple[tuple[Proved, ...], ...]
EMPTY = Head.table([0.0], [0.0], [0.0])
"""Stands for a head of a file until it is read from the tensors."""


@dataclass(frozen=True, repr=False)
class VectorPlan(Plan):
    """One program of proved parts for each component."""

    expressions: tuple[Expression, ...]
    programs: Programs

    def rows(self) -> list[tuple[str, str]]:
        lo, hi = self.domain
        return [
            ("domain", f"[{number(lo, 6)}, {number(hi, 6)}], {self.dtype}"),
            ("method", f"{len(self.expressions)} formulas side by side"),
            ("size", size(self.anchors, self.heads, self.layers)),
            ("bound", bound_text(self.approximation, self.rounding)),
            ("asked", f"eps = {number(self.eps)}"),
        ]

    def build(self) -> VectorNetwork:
        built = side_by_side([[p.part for p in program] for program in self.programs], getattr(torch, self.dtype))
        return VectorNetwork(built, self, certificate(self, self.programs, fingerprint(built)))


class VectorNetwork(Compiled):
    """net(x) has x's shape and one more axis, the components."""

    kind = "vector"
    plan: VectorPlan

    def encode(self, x: Tensor) -> Tensor:
        """(...) -> (..., 1 token, 1 feature)."""
        return x[..., None, None]

    def decode(self, tokens: Tensor) -> Tensor:
        return tokens[..., 0, :]

    def forward(self, x: Any) -> Tensor:
        x = accept(x, self.dtype, next(self.network.parameters()).device)
        check_domain(x, self.plan.domain)
        return self.decode(self.network(self.encode(x)))

    def certify(self, x: Any) -> Tensor:
        """|net(x) - f(x)| for these very inputs and outputs, in ball arithmetic and rounded up."""
        x = accept(x, self.dtype, torch.device("cpu"))
        out = self(x).detach().cpu().double()
        rows = zip(x.double().reshape(-1).tolist(), out.reshape(-1, out.shape[-1]).tolist(), strict=True)
        bounds = [
            [ceil_float(abs(f.at(z) - y)) for f, y in zip(self.plan.expressions, row, strict=True)] for z, row in rows
        ]
        return torch.tensor(bounds, dtype=torch.float64).reshape(out.shape)

    def reprove(self) -> Certificate:
        """The proof once more, from the stored heads."""
        plan = self.plan
        programs = tuple(
            tuple(_reproved(parts, plan))
            for parts in stored_parts(self.network, [[p.part for p in prog] for prog in plan.programs])
        )
        return certificate(plan, programs, fingerprint(self.network))

    def extra_manifest(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "formula": plan.target,
            "targets": [f.tree() for f in plan.expressions],
            "programs": [[part_record(p) | {"heads": len(p.part.heads)} for p in program] for program in plan.programs],
            "eps": plan.eps.hex(),
        }


def side_by_side(programs: Sequence[Sequence[Part]], dtype: torch.dtype) -> Network:
    """The programs in shared layers, their last outputs read together."""
    whole = network(list(chain(*programs)), dtype)
    places = [whole.features.index(parts[-1].output) for parts in programs]
    layers: dict[str, Any] = {name: layer for name, layer in whole.layers.items() if name != "read"}
    layers["read"] = Affine(Select(places, features=len(whole.features)))
    return Network(layers, tokens=whole.inputs, features=whole.features, variables=whole.variables)


def renamed(parts: Sequence[Part], r: int, source: str) -> list[Part]:
    """Component r keeps its input and gets variables of its own."""
    first = parts[0].input
    names = {first: source} | {part.output: f"{part.output}.{r}" for part in parts}
    return [replace(part, input=names[part.input], output=names[part.output]) for part in parts]


def stored_parts(network: Network, programs: Sequence[Sequence[Part]]) -> list[list[Part]]:
    """The parts of each program with the heads and biases that the network really holds."""
    one, levels = network.features.index("one"), {network.features[0]: 0}
    layers = {int(n[5:]): layer for n, layer in network.layers.items() if isinstance(layer, Attention)}
    for part in chain(*programs):
        levels[part.output] = max(levels.get(part.output, 0), levels[part.input] + 1)
    held = {level: iter(heads_of(layer, one)) for level, layer in layers.items()}
    lift = network.layers["lift"].bias.detach().double()  # type: ignore[union-attr, operator]
    found: dict[int, list[Part]] = {r: [] for r in range(len(programs))}
    for level in sorted(set(levels.values())):
        for r, parts in enumerate(programs):
            for part in parts:
                if levels[part.input] == level:
                    heads = tuple(next(held[level + 1]) for _ in part.heads)
                    found[r].append(replace(part, heads=heads))
    for parts in programs:
        for name in {part.output for part in parts}:
            if float(lift[network.features.index(name)]) != math.fsum(p.bias for p in parts if p.output == name):
                raise Refusal("a stored bias is not the one that the certificate speaks of")
    return [found[r] for r in range(len(programs))]


def _reproved(parts: Sequence[Part], plan: VectorPlan) -> list[Proved]:
    start = exact(plan.domain)
    proofs: list[Proved] = []
    for part in parts:
        errors = propagate(proofs, start, plan.dtype) if proofs else {}
        source = errors.get(part.input, start)
        assert part.target is not None
        places = part.target.places(*part.domain)
        kinks = (*places.kinks, *places.singularities, *places.removable)
        proofs.append(prove_part(part, plan.dtype, 1e-4 * min(plan.eps, plan.bound), kinks, source))
    return proofs


def certificate(plan: VectorPlan, programs: Programs, weights: str) -> Certificate:
    """The error of the worst component; that of every other one is at most its total."""
    errors = [propagate(program, exact(plan.domain), plan.dtype)[program[-1].part.output] for program in programs]
    worst = max(errors, key=lambda error: error.total)
    lo, hi = plan.domain
    return Certificate(
        approximation=worst.approximation * SLACK,
        rounding=worst.rounding * SLACK,
        kind="proved",
        statement=f"|network(x) - {plan.target}| <= bound in every component, for every {plan.dtype} x in "
        f"[{number(lo, 6)}, {number(hi, 6)}]",
        domain=plan.domain,
        dtype=plan.dtype,
        weights=weights,
        proof=tuple(part_record(p) for p in chain(*programs)),
    )


def plan_vector(
    target: Sequence[str | Expression], *, eps: Any, domain: Any, dtype: Any = "float64", method: str = "auto"
) -> GridPlan | VectorPlan:
    """The smaller of the two ways, or the refusal of the last one tried."""
    if not target:
        raise Refusal("an empty list of formulas has nothing to compute: give at least one, such as ['sin(x)', 'x^2']")
    if not all(isinstance(t, str | Expression) for t in target):
        raise Refusal("a list of targets holds formulas only, such as ['sin(x)', 'x^2']")
    expressions = [parse(t) if isinstance(t, str) else t for t in target]
    names = sorted({name for f in expressions for name in f.variables})
    if len(names) == 1 and isinstance(domain, Mapping) and set(domain) == set(names):
        domain = domain[names[0]]
    if len(names) > 1 or isinstance(domain, Mapping):
        return plan_grid(expressions, eps=eps, domain=domain, dtype=dtype, method=method)
    read_method(method, METHODS)
    shared: GridPlan | None = None
    if method == "auto" and names:
        try:
            shared = plan_grid(expressions, eps=eps, domain=domain, dtype=dtype)
        except Refusal:
            shared = None
    try:
        separate = plan_side_by_side(expressions, eps=eps, domain=domain, dtype=dtype, method=method)
    except Refusal:
        if shared is None:
            raise
        return shared
    return shared if shared is not None and shared.anchors <= separate.anchors else separate


def plan_side_by_side(
    expressions: Sequence[Expression], *, eps: Any, domain: Any, dtype: Any, method: str
) -> VectorPlan:
    """One program a component, each within eps."""
    plans = [plan_formula(f, eps=eps, domain=domain, dtype=dtype, method=method) for f in expressions]
    source = next((plan.program.parts[0].input for plan in plans if plan.program and plan.expression.variables), "x")
    programs = tuple(_program(plan, r, source) for r, plan in enumerate(plans))
    worst = max(plans, key=lambda plan: plan.bound)
    return VectorPlan(
        target="[" + ", ".join(map(str, expressions)) + "]",
        domain=plans[0].domain,
        eps=plans[0].eps,
        dtype=plans[0].dtype,
        method="side by side",
        anchors=sum(plan.anchors for plan in plans),
        heads=sum(plan.heads for plan in plans),
        layers=max(plan.layers for plan in plans),
        approximation=worst.approximation,
        rounding=worst.rounding,
        printed_anchors=sum(plan.printed_anchors for plan in plans),
        expressions=tuple(expressions),
        programs=programs,
    )


def _program(plan: FormulaPlan, r: int, source: str) -> tuple[Proved, ...]:
    if plan.program is None:
        raise Refusal(f"{plan.target} by this method needs {plan.anchors} keys: too many to build beside others")
    proofs = plan.program.proofs
    parts = renamed([proof.part for proof in proofs], r, source)
    return tuple(replace(proof, part=part) for proof, part in zip(proofs, parts, strict=True))


def load_vector(manifest: dict[str, Any], tensors: dict[str, Tensor]) -> VectorNetwork:
    """The network of a file; its heads are read from its tensors, the rest of the proof's statement from the
    manifest.
    """
    found = Certificate.from_record(manifest["certificate"])
    built = from_config(manifest["network"], tensors)
    eps, read = float.fromhex(manifest["eps"]), float.fromhex
    programs = []
    for program in manifest["programs"]:
        parts = [
            Part(
                p["input"],
                p["output"],
                None if p["target"] is None else Expression.from_tree(p["target"]),
                (read(p["domain"][0]), read(p["domain"][1])),
                (EMPTY,) * p["heads"],
                read(p["bias"]),
            )
            for p in program
        ]
        programs.append(parts)
    plan = VectorPlan(
        target=manifest["formula"],
        domain=found.domain,
        eps=eps,
        dtype=found.dtype,
        method="side by side",
        anchors=sum(sum(layer.key_counts()) for layer in built.layers.values() if isinstance(layer, Attention)),
        heads=sum(layer.heads for layer in built.layers.values() if isinstance(layer, Attention)),
        layers=sum(isinstance(layer, Attention) for layer in built.layers.values()),
        approximation=found.approximation,
        rounding=found.rounding,
        printed_anchors=math.nan,
        expressions=tuple(Expression.from_tree(tree) for tree in manifest["targets"]),
        programs=tuple(tuple(_unproved(part) for part in parts) for parts in stored_parts(built, programs)),
    )
    net = VectorNetwork(built, plan, found)
    assert net.certificate is found  # raises StaleCertificate if a tensor was altered
    return net


def _unproved(part: Part) -> Proved:
    """A part of a file before anything is proved of it again."""
    return Proved(part, Approximation(math.inf, 0.0, math.nan, (), part.domain), Rounding(math.inf, ()), 0.0)
