"""A trained multi-layer perceptron as softmax attention only: no feed-forward layer is left.

    net = compile(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)), domain=(-3, 3), eps=1e-6)

Every hidden unit becomes a head, every matrix is applied as heads write (heads/units.py). The weights are those of the
trained network, bit for bit; what is approximated are the activations, and how far that can move an output is proved
for the whole box of inputs (proof/stack.py). Tolerances go where they buy most: a layer of c units whose errors are
multiplied by S on their way to the output gets eps_l proportional to c/S, which needs the fewest keys in all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from headsmith.compiler.compiled import Compiled, accept, fingerprint
from headsmith.compiler.plan import Plan
from headsmith.compiler.program import CHEAP
from headsmith.compiler.requests import read_domain, read_dtype, read_eps, read_method
from headsmith.compiler.scalar import Short, Task, solve
from headsmith.functions import lipschitz, precision
from headsmith.functions.balls import ceil_float
from headsmith.heads.exact import exact_terms
from headsmith.heads.gate import hinges
from headsmith.heads.reading import heads_of
from headsmith.heads.units import always, folded, stack_network, width
from headsmith.network import from_config
from headsmith.proof.certificate import SLACK, Certificate
from headsmith.proof.rounding import FORMATS
from headsmith.proof.stack import Activation, Carried, Linear, Unit, carry, sensitivities
from headsmith.proof.statement import Head
from headsmith.records.shown import number, upper
from headsmith.refusal import Refusal
from headsmith.targets.activations import of_formula
from headsmith.targets.formula import check_domain
from headsmith.targets.perceptron import IDENTITY, Stack, checked, read_mlp, read_stack, write_mlp

Domain = tuple[float, float]

__all__ = ["MLPNetwork", "MLPPlan", "Stack", "load_mlp", "plan_mlp", "read_mlp", "write_mlp"]


@dataclass(frozen=True, repr=False)
class MLPPlan(Plan):
    stack: Stack
    carried: Carried | None

    def build(self) -> MLPNetwork:
        """The network, its certificate bound to the numbers it holds."""
        if self.carried is None:  # the plan of a file, which keeps no heads
            return _planned(self.stack, self.eps, self.domain, self.dtype).build()
        built = stack_network(self.stack.linears, [u.heads for u in self.carried.units], getattr(torch, self.dtype))
        return MLPNetwork(built, self, _certificate(self, fingerprint(built)))


def _certificate(plan: MLPPlan, weights: str) -> Certificate:
    into, *_, out = plan.stack.widths
    lo, hi = plan.domain
    assert plan.carried is not None
    steps = zip(plan.stack.activations, plan.carried.domains, plan.carried.units, strict=True)
    return Certificate(
        plan.approximation,
        plan.rounding,
        "proved",
        f"|network(x) - mlp(x)| <= bound in each of {out} outputs for every {plan.dtype} x in "
        f"[{number(lo, 6)}, {number(hi, 6)}]^{into}, the mlp with SHA-256 {plan.stack.hash()[:16]} in exact arithmetic",
        plan.domain,
        plan.dtype,
        weights,
        proof=tuple(
            {"activation": a.formula, "domain": [end.hex() for end in domain], "floor": unit.floor.hex()}
            for a, domain, unit in steps
        ),
    )


class MLPNetwork(Compiled):
    """net(x) within net.certificate.bound of the perceptron, x (batch..., features) -> (batch..., outputs)."""

    kind = "mlp"
    plan: MLPPlan

    def encode(self, x: Tensor) -> Tensor:
        """One token that holds the whole input."""
        return x[..., None, :]

    def decode(self, tokens: Tensor) -> Tensor:
        return tokens[..., 0, :]

    def forward(self, x: Any) -> Tensor:
        x = accept(x, self.dtype, next(self.network.parameters()).device)
        into = self.plan.stack.widths[0]
        if x.shape[-1:] != (into,):
            raise Refusal(f"the input must have shape (batch..., {into}), not {tuple(x.shape)}")
        check_domain(x, self.plan.domain)
        return self.decode(self.network(self.encode(x)))

    def certify(self, x: Any) -> Tensor:
        """|net(x) - mlp(x)| for these very inputs and outputs, in ball arithmetic, rounded up: no model of rounding."""
        x = accept(x, self.dtype, torch.device("cpu"))
        y = self(x).detach().cpu().double()
        with precision(96):
            rows = self.plan.stack.balls(x.double().reshape(-1, x.shape[-1]).numpy())
            pairs = zip(rows, y.reshape(len(rows), -1).tolist(), strict=True)
            errors = [[ceil_float(abs(a - b)) for a, b in zip(row, out, strict=True)] for row, out in pairs]
        return torch.tensor(errors, dtype=torch.float64).reshape(y.shape) + self._apart()

    def _apart(self) -> float:
        """How far the code of the activations can move an output of the perceptron from its formula."""
        stack, steps = self.plan.stack, self._certificate.proof
        costs = sensitivities(stack.linears, [1.13] * len(stack.activations))
        gaps = [a.apart(float.fromhex(s["domain"][1])) for a, s in zip(stack.activations, steps, strict=True)]
        return math.fsum(gap * cost for gap, cost in zip(gaps, costs, strict=True)) * (1 + 1e-9)

    def reprove(self) -> Certificate:
        """The certificate, proved again from the numbers that the network holds now."""
        plan = self.plan
        stack, heads = stored(self.network, plan.stack.widths, plan.stack.activations)
        if stack.hash() != plan.stack.hash():
            raise Refusal("the stored weights are not those of the perceptron that the certificate names")
        floors = [float.fromhex(step["floor"]) for step in self._certificate.proof]

        def again(layer: int, domain: Domain) -> Unit:
            return _proved(stack.activations[layer], heads[layer], domain, plan.dtype, floors[layer])

        carried = carry(stack.linears, stack.activations, plan.domain, FORMATS[plan.dtype], again)
        fresh = MLPPlan(**{**plan.__dict__, **_bounds(carried), "carried": carried})
        return _certificate(fresh, fingerprint(self.network))

    def extra_manifest(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "eps": plan.eps.hex(),
            "method": plan.method,
            "printed_anchors": plan.printed_anchors.hex(),
            "widths": plan.stack.widths,
            "activations": [a.formula for a in plan.stack.activations],
            "mlp": plan.stack.hash(),
        }


def plan_mlp(
    model: nn.Module | Stack, *, eps: Any, domain: Any, dtype: Any = "float64", method: str = "auto"
) -> MLPPlan:
    """The plan for a perceptron, or a Refusal that names what can be had."""
    eps, dtype = read_eps(eps), read_dtype(dtype)
    read_method(method, ("auto",))
    stack = model if isinstance(model, Stack) else read_stack(model)
    if domain is None:
        raise Refusal(f"an {stack} needs a domain for its inputs, such as domain=(-3, 3)")
    domain = read_domain(domain, dtype)
    for linear in stack.linears:
        for v in (linear.weight, linear.bias):
            if not np.array_equal(v.astype(dtype).astype(np.float64), v):
                raise Refusal(
                    f"{dtype} cannot hold the weights as they are: call .float() on the network, or use dtype='float64'"
                )
    try:
        return _planned(stack, eps, domain, dtype)
    except Short as short:
        raise _refusal(stack, eps, domain, dtype, short) from None


def _refusal(stack: Stack, eps: float, domain: Domain, dtype: str, short: Short) -> Refusal:
    """What was asked, why it cannot be had, and an eps that was just tried and can."""
    asked = f"{stack} within {number(eps)} in {dtype} cannot be certified: {short.reason}"
    best = 1.5 * short.best if math.isfinite(short.best) else max(10 * eps, 1e-15)
    for _ in range(24):
        best = float(upper(best))
        try:
            _planned(stack, best, domain, dtype)
        except Short:
            best *= 4
        else:
            return Refusal(
                f"{asked}; eps = {best:g} can be had" + (", less with dtype='float64'" if dtype == "float32" else "")
            )
    return Refusal(f"{asked}; nor can eps = {best / 4:.1g}")


def _planned(stack: Stack, eps: float, domain: Domain, dtype: str) -> MLPPlan:
    """Share out eps, find heads layer by layer, and tighten while the proof asks for it."""
    slopes = [1.13 if a.bottom is not None else 1.0 for a in stack.activations]
    costs = sensitivities(stack.linears, slopes)
    units = stack.widths[1:-1]
    shares = [n * (CHEAP if _cheap(a) else 1.0) for n, a in zip(units, stack.activations, strict=True)]
    aim = 0.9 * eps
    best, reason = math.inf, ""
    for _ in range(4):
        goals = [aim * share / (max(cost, 1e-300) * sum(shares)) for share, cost in zip(shares, costs, strict=True)]

        def choose(layer: int, reach: Domain, goals: Sequence[float] = goals) -> Unit:
            return _found(stack.activations[layer], reach, goals[layer], dtype)

        carried = carry(stack.linears, stack.activations, domain, FORMATS[dtype], choose)
        bound = _bounds(carried)
        total = math.nextafter(bound["approximation"] + bound["rounding"], math.inf)
        if total <= eps:
            heads = [len(u.heads) * n for u, n in zip(carried.units, units, strict=True)]
            keys = [sum(h.keys for h in u.heads) * n for u, n in zip(carried.units, units, strict=True)]
            return MLPPlan(
                str(stack), domain, eps, dtype, "attention only", sum(keys), sum(heads), len(stack.linears),
                **bound, printed_anchors=_printed(stack, carried, eps), stack=stack, carried=carried,
            )  # fmt: skip
        best = min(best, total)
        reason = f"the proof gives {total:.1e}, of which rounding in {dtype} {bound['rounding']:.1e}"
        spare = eps - bound["rounding"]
        if spare <= 0.05 * eps:
            break
        aim *= min(0.8, 0.9 * spare / max(bound["approximation"], 1e-300))
    raise Short(reason, best)


def _bounds(carried: Carried) -> dict[str, float]:
    return {
        name: math.nextafter(float(getattr(carried, name).max()) * SLACK, math.inf)
        for name in ("approximation", "rounding")
    }


def _printed(stack: Stack, carried: Carried, eps: float) -> float:
    """Anchors of the papers' rule for the same units: 2 (b - a)/eps_l for each."""
    costs = sensitivities(stack.linears, [1.0] * len(stack.activations))
    total = 0.0
    for n, cost, (lo, hi) in zip(stack.widths[1:-1], costs, carried.domains, strict=True):
        total += n * math.ceil(2 * (hi - lo) * max(cost, 1e-300) * len(costs) / eps)
    return total


def _cheap(activation: Activation) -> bool:
    """Whether the number of keys does not depend on eps: exact heads and gates."""
    e = activation.expression
    return not exact_terms(e).rest or hinges(e, -9.0, 9.0, e.places(-9.0, 9.0).kinks) is not None


def _found(activation: Activation, reach: Domain, eps: float, dtype: str) -> Unit:
    """Heads for an activation on a domain, gates only or one table only."""
    if activation.formula == IDENTITY:
        return _proved(activation, (always(1.0, 0.0),), reach, dtype, 2.0**-60 * max(map(abs, reach)))
    proof, method = solve(Task(activation.expression, reach, 0.95 * eps, dtype))
    floor = 2.0**-60 * max(map(abs, reach)) if method == "exact" else 1e-3 * eps
    return _proved(activation, folded(proof.part.heads, proof.part.bias), reach, dtype, floor)


def _proved(activation: Activation, heads: Sequence[Head], domain: Domain, dtype: str, floor: float) -> Unit:
    """The proof of these heads, as they are stored, on this domain."""
    proof = Task(activation.expression, domain, 1.0, dtype).prove(heads, 0.0, max(floor, 1e-18))
    slope = 1.0 if activation.formula == IDENTITY else lipschitz(activation.expression, *domain)
    return Unit(proof.part.heads, proof.approximation.bound, proof.rounding.bound, slope, floor)


def stored(
    network: Any, widths: Sequence[int], activations: Sequence[Activation]
) -> tuple[Stack, list[tuple[Head, ...]]]:
    """The matrices and heads that the network holds, refused unless it is wired as such a perceptron."""
    first = network.layers["linear1"].value.weight.detach().double().numpy()[0]
    linears, heads = [Linear(first[: widths[1], : widths[0]], first[: widths[1], -1])], []
    for l, (units, out) in enumerate(pairwise(widths[1:]), 1):
        layer: Any = network.layers[f"units{l}"]
        own = heads_of(layer, width(units) - 1)[:-1]
        column = layer.output.weight.detach().double().numpy()[:, :, 0]
        linears.append(Linear(column[:units, :out].T, column[-1, :out]))
        heads.append(tuple(own[::units]))
    stack = checked([Linear(*map(np.ascontiguousarray, (v.weight, v.bias))) for v in linears], list(activations))
    if fingerprint(stack_network(stack.linears, heads, network.dtype)) != fingerprint(network):
        raise Refusal("the stored network is not wired as a perceptron of equal units, so nothing is proved about it")
    return stack, heads


def load_mlp(manifest: dict[str, Any], tensors: dict[str, Tensor]) -> MLPNetwork:
    """The network of a file, with the certificate that was proved for it."""
    certificate, read = Certificate.from_record(manifest["certificate"]), float.fromhex
    built = from_config(manifest["network"], tensors)
    stack, heads = stored(built, manifest["widths"], [of_formula(f) for f in manifest["activations"]])
    if stack.hash() != manifest["mlp"]:
        raise Refusal("the stored weights are not those of the perceptron that the file names")
    counts = [(len(own), sum(h.keys for h in own)) for own in heads]
    plan = MLPPlan(
        str(stack), certificate.domain, read(manifest["eps"]), certificate.dtype, manifest["method"],
        sum(k * n for (_, k), n in zip(counts, stack.widths[1:], strict=False)),
        sum(h * n for (h, _), n in zip(counts, stack.widths[1:], strict=False)),
        len(stack.linears), certificate.approximation, certificate.rounding,
        read(manifest["printed_anchors"]), stack, None,
    )  # fmt: skip
    net = MLPNetwork(built, plan, certificate)
    assert net.certificate is certificate  # raises StaleCertificate if a tensor was altered
    return net
