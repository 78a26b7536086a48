"""A formula of one variable: "sin(3*x)" -> softmax attention that computes it, with a proof.

The planner's order: exact -> gate -> analytic -> composition where kinks sit inside curved functions -> table -> gates
for the kinks and a table for the rest -> refusal. What is promised has been proved when the plan is returned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headsmith.compiler.compiled import Compiled, accept, fingerprint
from headsmith.compiler.plan import Plan
from headsmith.compiler.program import METHODS, Program, forge
from headsmith.compiler.requests import read_domain, read_dtype, read_eps, read_method
from headsmith.compiler.scalar import Short
from headsmith.functions import Expression, Unresolved, parse
from headsmith.functions.balls import ceil_float
from headsmith.heads.assemble import network
from headsmith.heads.printed import LARGEST, printed_steps
from headsmith.network import Attention, from_config
from headsmith.proof.certificate import SLACK, Certificate, certify
from headsmith.records.shown import number, upper
from headsmith.refusal import Refusal
from headsmith.targets.explanation import Explanation, explain

Domain = tuple[float, float]


@dataclass(frozen=True, repr=False)
class FormulaPlan(Plan):
    expression: Expression
    program: Program | None

    def build(self) -> FormulaNetwork:
        """The network, its certificate bound to the numbers it holds."""
        program = self.program or forge(self.expression, self.domain, self.eps, self.dtype, self.method)
        built = network(program.parts, getattr(torch, self.dtype))
        certificate = certify(program.proofs, program.error, self.target, self.domain, self.dtype, fingerprint(built))
        return FormulaNetwork(built, self, certificate)


class ScalarNetwork(Compiled):
    """net(x) has x's shape: one token with one number for each input."""

    def encode(self, x: Tensor) -> Tensor:
        """(...) -> (..., 1 token, 1 feature)."""
        return x[..., None, None]

    def decode(self, tokens: Tensor) -> Tensor:
        return tokens[..., 0, 0]

    def forward(self, x: Any) -> Tensor:
        x = accept(x, self.dtype, next(self.network.parameters()).device)
        check_domain(x, self.plan.domain)
        return self.decode(self.network(self.encode(x)))


class FormulaNetwork(ScalarNetwork):
    """net(x) within net.certificate.bound of the formula, for every x inside the domain."""

    kind = "formula"
    plan: FormulaPlan

    @property
    def expression(self) -> Expression:
        return self.plan.expression

    def certify(self, x: Any) -> Tensor:
        """|net(x) - f(x)| for these very inputs and outputs, in balls and rounded up: no model of rounding."""
        x = accept(x, self.dtype, torch.device("cpu"))
        y = self(x).detach().cpu().double().reshape(-1)
        points = zip(x.double().reshape(-1).tolist(), y.tolist(), strict=True)
        bounds = [ceil_float(abs(self.expression.at(z) - value)) for z, value in points]
        return torch.tensor(bounds, dtype=torch.float64).reshape(x.shape)

    def explain(self, x: float) -> Explanation:
        """Which keys each head reads at x, and what they contribute."""
        return explain(self, float(x))

    def extra_manifest(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "formula": plan.target,
            "target": plan.expression.tree(),
            "eps": plan.eps.hex(),
            "method": plan.method,
            "printed_anchors": plan.printed_anchors.hex(),
        }


def check_domain(x: Tensor, domain: Domain) -> None:
    """Outside of the domain nothing is claimed, so nothing is computed."""
    if not x.numel():
        return
    low, high = (float(end) for end in x.detach().aminmax())
    if low < domain[0] or high > domain[1]:
        bad = low if low < domain[0] else high
        raise Refusal(
            f"the input {bad:.17g} lies outside the certified domain [{domain[0]:.17g}, {domain[1]:.17g}]: "
            "compile again with a wider domain"
        )


def plan_formula(
    target: str | Expression, *, eps: Any, domain: Any, dtype: Any = "float64", method: str = "auto"
) -> FormulaPlan:
    """The plan for a formula of one variable, or a Refusal that names what can be had."""
    expression = parse(target) if isinstance(target, str) else target
    eps, dtype, method = read_eps(eps), read_dtype(dtype), read_method(method, METHODS)
    if domain is None:
        raise Refusal(f"{expression} needs a domain, such as domain=(-2, 2)")
    domain = read_domain(domain, dtype)
    if len(expression.variables) > 1:
        raise Refusal(
            f"{expression} has the variables {', '.join(expression.variables)}: formulas of one variable are compiled"
        )
    refuse_misbehaviour(expression, domain)
    refuse_overflow(expression, domain, dtype)
    steps = float(printed_steps(expression, domain, eps))
    if method == "printed" and steps + 1 > LARGEST:
        return FormulaPlan(
            str(expression),
            domain,
            eps,
            dtype,
            method,
            int(steps) + 1,
            1,
            1,
            math.nextafter(eps, 0),
            0.0,
            steps + 1,
            expression,
            None,
        )
    try:
        program = forge(expression, domain, eps, dtype, method)
    except Short as short:
        raise _refusal(expression, domain, eps, dtype, method, short) from None
    return FormulaPlan(
        target=str(expression),
        domain=domain,
        eps=eps,
        dtype=dtype,
        method=program.method,
        anchors=program.keys,
        heads=program.heads,
        layers=len({part.input for part in program.parts}),
        approximation=program.error.approximation * SLACK,
        rounding=program.error.rounding * SLACK,
        printed_anchors=steps + 1,
        expression=expression,
        program=program,
    )


def refuse_misbehaviour(f: Expression, domain: Domain) -> None:
    """Jumps, poles and places without a value, by name."""
    lo, hi = domain
    try:
        places = f.places(lo, hi)
    except Unresolved as reason:
        raise Refusal(f"{f} could not be understood on {interval(domain)}: {reason}") from None
    if places.undefined:
        a, b = places.undefined[0]
        raise Refusal(f"{f} has no value on [{number(a, 6)}, {number(b, 6)}]: choose a domain that leaves it out")
    if places.poles:
        raise Refusal(
            f"{f} has a pole at {number(places.poles[0], 6)}, inside {interval(domain)}: "
            "choose a domain that leaves it out"
        )
    if places.jumps:
        at, size = max(places.jumps, key=lambda jump: abs(jump[1]))
        raise Refusal(
            f"{f} jumps by {number(abs(size))} at {number(at, 6)}: no continuous head comes within "
            f"{number(abs(size) / 2)} there; compile the pieces on either side of it"
        )


def refuse_overflow(f: Expression, domain: Domain, dtype: str) -> None:
    """Values that the dtype cannot hold, with room for the sums that make them."""
    largest, most = float(np.nanmax(np.abs(f(np.linspace(*domain, 257))))), float(np.finfo(dtype).max) / 1024
    if not largest < most:
        raise Refusal(
            f"{f} reaches {number(largest)} on {interval(domain)}, beyond the range of {dtype}: choose a smaller domain"
        )


def interval(domain: Domain) -> str:
    """[lo, hi], with as many digits as tell the ends apart."""
    short = [number(end, 6) for end in domain]
    return f"[{short[0]}, {short[1]}]" if short[0] != short[1] else f"[{domain[0]!r}, {domain[1]!r}]"


def _refusal(f: Expression, domain: Domain, eps: float, dtype: str, method: str, short: Short) -> Refusal:
    """What was asked, why it cannot be had, and an eps that was just tried and can."""
    asked = f"{f} within {number(eps)} in {dtype} on {interval(domain)} cannot be certified: {short.reason}"
    scale = max(float(np.abs(f(np.linspace(*domain, 257))).max()), 1e-300)
    floor = 8 * float(np.finfo(dtype).eps) * scale
    tried = max(2 * eps, floor, 1.05 * short.best if math.isfinite(short.best) else 0.0)
    for factor in (2, 2, 3, 4, 10, 100):
        tried = float(upper(tried))
        if tried >= 0.5 * scale:
            break
        if _can(f, domain, tried, dtype, method):
            return Refusal(f"{asked}; eps = {tried:g} can be had" + _other(dtype, method))
        tried *= factor
    flat = float(upper(1.01 * scale))  # a constant is always within that
    can = f"; eps = {flat:g} can be had" if _can(f, domain, flat, dtype, method) else ""
    return Refusal(asked + can + _other(dtype, method))


def _can(f: Expression, domain: Domain, eps: float, dtype: str, method: str) -> bool:
    try:
        forge(f, domain, eps, dtype, method)
    except Short:
        return False
    return True


def _other(dtype: str, method: str) -> str:
    if dtype == "float32":
        return ", and less with dtype='float64'"
    return ", and perhaps less with method='auto'" if method != "auto" else ""


def load_formula(manifest: dict[str, Any], tensors: dict[str, Tensor]) -> FormulaNetwork:
    """The network of a file, with the certificate that was proved for it."""
    certificate = Certificate.from_record(manifest["certificate"])
    built = from_config(manifest["network"], tensors)
    expression = Expression.from_tree(manifest["target"])
    attention = [layer for layer in built.layers.values() if isinstance(layer, Attention)]
    plan = FormulaPlan(
        target=manifest["formula"],
        domain=certificate.domain,
        eps=float.fromhex(manifest["eps"]),
        dtype=certificate.dtype,
        method=manifest["method"],
        anchors=sum(sum(layer.key_counts()) for layer in attention),
        heads=sum(layer.heads for layer in attention),
        layers=len(attention),
        approximation=certificate.approximation,
        rounding=certificate.rounding,
        printed_anchors=float.fromhex(manifest["printed_anchors"]),
        expression=expression,
        program=None,
    )
    return FormulaNetwork(built, plan, certificate).verified()
