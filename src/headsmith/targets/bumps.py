"""Sequence maps the paper's way: a bump on each of g^(dn) cells, then attention picks one.

softmax-universality, Thm 3.14 and Cor 3.15; the weights are in heads/bumps.py.

The repaired network has a sup-norm theorem: with e_R the error of the sums R, L the Lipschitz constant of f in the
largest entry,

    |net - f| <= L (1 + delta) B/g + osc(f) g^(dn) exp(-beta (dn - e_R) (1/2 - 2 e_R))

(without the factor dn - e_R for the softmax reader). Rounding of the first layer is part of e_R, as a perturbation
of Range, which is 1-Lipschitz; rounding of the second is at most (4 g^(dn) + 40) u max|f|, and 4u of its scores. As
printed nothing is promised: the error is measured on random inputs and said to be measured.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headsmith.compiler.compiled import fingerprint
from headsmith.compiler.grid import evaluator
from headsmith.compiler.plan import bound_text, many
from headsmith.compiler.requests import read_method
from headsmith.functions import Expression, parse
from headsmith.functions.several import at_point
from headsmith.heads.bumps import Bumps, bump_network
from headsmith.heads.gather import variable_names
from headsmith.network import from_config
from headsmith.proof.approximation import prove
from headsmith.proof.box import BoxCertificate
from headsmith.proof.certificate import SLACK
from headsmith.proof.rounding import FORMATS, gamma, prove_rounding
from headsmith.proof.statement import Part
from headsmith.proof.steepness import steepness
from headsmith.records.shown import number
from headsmith.refusal import Refusal
from headsmith.targets.kinds import SequenceMap
from headsmith.targets.sequence import BUMPS, SequenceNetwork, SequencePlan
from headsmith.targets.sequence_request import called, formulas, lipschitz_of, read_request

LARGEST = 1024
"""Cells: the second layer compares all pairs of them."""
DELTA = 0.25
SAMPLES = 1000


@dataclass(frozen=True, repr=False)
class BumpPlan(SequencePlan):
    bumps: Bumps | None = None
    values: np.ndarray | None = None
    steep: float = math.inf

    def rows(self) -> list[tuple[str, str]]:
        assert self.bumps is not None
        rows = dict(super().rows())
        names = {"bumps": "Thm 3.14, repaired", "softmax": "Cor 3.15, repaired", "printed": "Thm 3.14 as printed"}
        b = self.bumps
        rows["method"] = f"{names[self.method]}: bumps on a grid of cells"
        rows["size"] = f"g^(dn) = {b.g}^{b.entries} = {many(b.cells, 'cell')}, {many(b.heads, 'head')} in layer 1"
        rows["bound"] = bound_text(self.approximation, self.rounding) + (
            " (measured)" if self.method == "printed" else ""
        )
        del rows["printed bumps"]
        return list(rows.items())

    def build(self) -> BumpNetwork:
        assert self.bumps is not None and self.values is not None
        built = bump_network(self.bumps, self.values, getattr(torch, self.dtype))
        if self.method != "printed":
            return BumpNetwork(built, self, self.certificate(fingerprint(built)))
        error = measured(built, self)
        measured_plan = replace(self, approximation=error, rounding=0.0)
        found = replace(
            measured_plan.certificate(fingerprint(built)),
            approximation=error,
            kind="measured",
            statement=f"the largest |network(X) - f(X)| on {SAMPLES} random X; as printed the construction "
            "promises nothing",
        )
        return BumpNetwork(built, measured_plan, found)


class BumpNetwork(SequenceNetwork):
    """The paper's network for a sequence map, repaired or as printed."""

    kind = "bumps"
    plan: BumpPlan

    def reprove(self) -> BoxCertificate:
        """The theorem once more, after checking that the stored network is the construction it speaks of."""
        plan = self.plan
        if not plan.expressions or plan.method == "printed":
            raise Refusal(
                "what was measured, or rests on code that is not stored, cannot be proved again from the file"
            )
        assert plan.bumps is not None
        values = table(plan.expressions, plan.bumps, plan.dtype)
        if fingerprint(bump_network(plan.bumps, values, self.network.dtype)) != fingerprint(self.network):
            raise Refusal("the stored network is not the bump construction: nothing can be proved of it")
        steep = steepness(plan.expressions, variable_names(plan.bumps.entries), [plan.domain] * plan.bumps.entries)
        approximation, rounding = theorem(plan.bumps, values, steep, plan.dtype)
        return replace(plan, approximation=approximation * SLACK, rounding=rounding * SLACK).certificate(
            fingerprint(self.network)
        )

    def extra_manifest(self) -> dict[str, Any]:
        plan = self.plan
        assert plan.bumps is not None
        sizes = {k: v.hex() if isinstance(v, float) else v for k, v in asdict(plan.bumps).items()}
        return {**super().extra_manifest(), "method": plan.method, "bumps": sizes}


def theorem(bumps: Bumps, values: np.ndarray, steep: float, dtype: str) -> tuple[float, float]:
    """(approximation, rounding) of a straddling network; infinite when the sums are not sharp enough to tell cells
    apart.
    """
    fmt, n = FORMATS[dtype], bumps.entries
    head = bumps.range_head().cast(dtype)
    slope, bias = bumps.ramp()
    reach = slope * 2 * bumps.g + bias
    part = Part("z", "r", parse("clip(z, 0, 1)"), (-reach, reach), (head,))
    own = prove(part, 1e-4, (0.0, 1.0)).bound + prove_rounding(part, fmt, 1e-4).bound
    terms = slope * bumps.g / bumps.half * (abs(bumps.mid) + bumps.half) * 2 + bias
    shift = gamma(bumps.tokens + 6, fmt.unit) * terms
    e = 2 * n * (own + shift) + gamma(2 * n + 2, fmt.unit) * (2 * n + 1)
    gap, weight = 0.5 - 2 * e, (n - e if bumps.reader == "attention" else 1.0)
    largest = bumps.beta * (2 * n + e) * (2 * n + e if bumps.reader == "attention" else 1.0)
    spread, size = float(np.ptp(values.reshape(len(values), -1), axis=0).max()), float(np.abs(values).max())
    if gap <= 0 or weight <= 0:
        return math.inf, 0.0
    leak = bumps.cells * math.exp(-bumps.beta * weight * gap + 8 * fmt.unit * largest)
    approximation = steep * (1 + bumps.delta) * bumps.half / bumps.g + spread * leak
    return approximation * (1 + 1e-12), (4 * bumps.cells + 40) * fmt.unit * size


def table(expressions: tuple[Expression, ...], bumps: Bumps, dtype: str) -> np.ndarray:
    """f at the centres in balls, rounded to the dtype: (cells, tokens, features)."""
    names = variable_names(bumps.entries)
    centres = bumps.centres().reshape(bumps.cells, -1).tolist()
    values = np.array([[float(at_point(f, names, centre).mid()) for f in expressions] for centre in centres])
    return values.reshape(-1, bumps.tokens, bumps.features).astype(dtype).astype(np.float64)


def measured(network: Any, plan: BumpPlan) -> float:
    """The largest error on random inputs."""
    generator = torch.Generator().manual_seed(0)
    lo, hi = plan.domain
    X = lo + (hi - lo) * torch.rand(SAMPLES, plan.tokens, plan.features, generator=generator, dtype=torch.float64)
    X = X.to(getattr(torch, plan.dtype))
    points = X.double().reshape(SAMPLES, -1).numpy().T
    truth = evaluator(plan.expressions, variable_names(len(points)))(*points).T.reshape(X.shape)
    outputs = torch.cat([network(part) for part in X.split(100)]).double().numpy()
    return float(np.abs(outputs - truth).max())


def plan_bumps(
    target: SequenceMap, *, eps: Any, domain: Any, dtype: Any = "float64", method: str = "bumps"
) -> BumpPlan:
    """Sizes from eps by the theorem, or a refusal that states g^(dn)."""
    eps, domain, dtype = read_request(target, eps, domain, dtype)
    read_method(method, BUMPS)
    lo, hi = domain
    n, half = target.tokens * target.features, (hi - lo) / 2
    expressions: tuple[Expression, ...] = () if callable(target.f) else formulas(target)
    if method == "printed" and not expressions:
        raise Refusal("the printed construction is measured against formulas: give formulas, or another method")
    steep = lipschitz_of(target) if not expressions else steepness(expressions, variable_names(n), [domain] * n)
    g = max(2, math.ceil(steep * (1 + DELTA) * half / (0.9 * eps))) if steep < math.inf else math.inf
    if not g**n <= LARGEST:
        fits = int(LARGEST ** (1 / n))
        raise Refusal(
            f"bumps within {number(eps)} need g^(dn) = {g}^{n} cells and as many memory tokens: at "
            f"most {LARGEST} fit, which is "
            f"eps = {number(1.01 * steep * (1 + DELTA) * half / (0.9 * fits), 2)}; method='auto' needs far fewer"
        )
    sizes = dict(tokens=target.tokens, features=target.features, g=int(g), mid=(lo + hi) / 2, half=half)
    reader = "softmax" if method == "softmax" else "attention"
    if method == "printed":
        bumps = Bumps(**sizes, delta=0.1, beta=30.0, ramps="printed", average=False)  # type: ignore[arg-type]
    else:
        bumps = Bumps(**sizes, delta=DELTA, beta=1.0, anchors=1 + 4 * n, reader=reader)  # type: ignore[arg-type]
    if expressions:
        values = table(expressions, bumps, dtype)
    else:
        values = called(target)(*bumps.centres().reshape(bumps.cells, -1).T).T.reshape(
            -1, target.tokens, target.features
        )
        values = values.astype(dtype).astype(np.float64)
    approximation, rounding = 0.0, 0.0
    if method != "printed":
        needed = math.log(bumps.cells * (float(np.ptp(values)) + 1e-300) / (0.02 * eps) + 2)
        bumps = replace(bumps, beta=needed / (0.4 * (0.9 * n if reader == "attention" else 1.0)))
        approximation, rounding = theorem(bumps, values, steep, dtype)
    if (approximation + rounding) * SLACK > eps:
        raise Refusal(
            f"bumps within {number(eps)} in {dtype} cannot be certified: the theorem gives "
            f"{approximation + rounding:.2g}; a larger eps can be had"
        )
    return BumpPlan(
        target=getattr(target.f, "__name__", "f") if not expressions else "[" + ", ".join(map(str, expressions)) + "]",
        domain=domain,
        eps=eps,
        dtype=dtype,
        method=method,
        anchors=bumps.anchors,
        heads=bumps.heads + 1,
        layers=2,
        approximation=approximation * SLACK,
        rounding=rounding * SLACK,
        printed_anchors=float(bumps.cells),
        tokens=target.tokens,
        features=target.features,
        expressions=expressions,
        constant="" if expressions else f"|f(X) - f(Y)| <= {steep:g} max|X - Y|",
        cells=float(bumps.cells),
        head=None,
        bumps=bumps,
        values=values,
        steep=steep,
    )


def load_bumps(manifest: dict[str, Any], tensors: dict[str, Tensor]) -> BumpNetwork:
    certificate = BoxCertificate.from_record(manifest["certificate"])
    built = from_config(manifest["network"], tensors)
    floats = {"mid", "half", "delta", "beta"}
    sizes: dict[str, Any] = {k: float.fromhex(v) if k in floats else v for k, v in manifest["bumps"].items()}
    bumps = Bumps(**sizes)
    plan = BumpPlan(
        target=manifest["formula"],
        domain=certificate.domain[0],
        eps=float.fromhex(manifest["eps"]),
        dtype=certificate.dtype,
        method=manifest["method"],
        anchors=bumps.anchors,
        heads=bumps.heads + 1,
        layers=2,
        approximation=certificate.approximation,
        rounding=certificate.rounding,
        printed_anchors=float(bumps.cells),
        tokens=bumps.tokens,
        features=bumps.features,
        expressions=tuple(Expression.from_tree(tree) for tree in manifest["targets"]),
        constant=manifest["constant"],
        cells=float(bumps.cells),
        head=None,
        bumps=bumps,
    )
    net = BumpNetwork(built, plan, certificate)
    assert net.certificate is certificate  # raises StaleCertificate if a tensor was altered
    return net
