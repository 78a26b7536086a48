"""ReLU networks over sequences from anchors, certified (softmax-universality, Thm F.2; weights in heads/anchored.py).

The printed bound (G.64) multiplies the first layer's error by the size of the second layer's keys and diverges. Range
is 1-Lipschitz, so the error of a unit is that of its own head plus that of its input, and

    |net - f|_i <= sum_k |outer_ik| (e_2 + n e_1)  +  rounding

with e_1 and e_2 the proved errors of the two heads as functions of one variable, identity and Range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headsmith.compiler.compiled import fingerprint
from headsmith.compiler.plan import bound_text, many
from headsmith.compiler.requests import read_domain, read_dtype, read_eps, read_method
from headsmith.functions import parse
from headsmith.heads.anchored import IDENTITY, PADDING, RANGE, SHARP, anchored_head, anchored_network, anchors_for
from headsmith.network import Network, from_config
from headsmith.proof.approximation import prove
from headsmith.proof.certificate import SLACK, Certificate
from headsmith.proof.rounding import FORMATS, gamma, prove_rounding
from headsmith.proof.statement import Head, Part
from headsmith.records.shown import number, upper
from headsmith.refusal import Refusal
from headsmith.targets.kinds import ReluNetwork
from headsmith.targets.native import NativeNetwork, NativePlan, Weights, certificate_of, read_weights

METHODS = ("anchors", "printed")
LARGEST = 1000
INNER = 21
"""Anchors of the identity, padding apart."""


@dataclass(frozen=True, repr=False)
class AnchoredPlan(NativePlan):
    """`sizes` are the anchors of each layer, `reach` the largest |input| of each."""

    sizes: tuple[int, int]
    reach: tuple[float, float]

    def rows(self) -> list[tuple[str, str]]:
        rows = dict(super().rows())
        n, units, *_ = self.weights[0].shape
        word = "sharp anchors, as printed" if self.method == "printed" else "anchors, repaired"
        rows["method"] = f"identity, then Range, from {word} (Thm F.2)"
        rows["size"] = f"2 x {many(n * units, 'head')} with {self.sizes[0]} and {self.sizes[1]} anchors, 2 layers"
        rows["bound"] = bound_text(self.approximation, self.rounding)
        return list(rows.items())

    def heads_of(self) -> tuple[Head, Head]:
        """The two tables, as stored."""
        sharp = self.method == "printed"
        (p, q), (r, b) = self.sizes, self.reach
        identity = anchored_head(-r, r, p, SHARP if sharp else IDENTITY, 0 if sharp else PADDING)
        ramp = anchored_head(0.0, b, q, SHARP if sharp else RANGE)
        return identity.cast(self.dtype), ramp.cast(self.dtype)

    def network(self) -> Network:
        return anchored_network(*self.weights, *self.heads_of(), getattr(torch, self.dtype))

    def bounds(self) -> tuple[float, float]:
        """(approximation, rounding), proved for the stored tables."""
        inner, outer, bias = self.weights
        n, units, _, d = inner.shape
        fmt, radius = FORMATS[self.dtype], max(map(abs, self.domain))
        identity, ramp = self.heads_of()
        goal = 1e-3 * self.eps / (float(np.abs(outer).sum(1).max()) * n + 1e-300)
        first = Part("x", "s", parse("x"), (-self.reach[0], self.reach[0]), (identity,))
        second = Part("x", "y", parse("relu(x)"), (-self.reach[1], self.reach[1]), (ramp,))
        e1, e2 = prove(first, goal).bound, prove(second, goal, (0.0,)).bound
        r1, r2 = (prove_rounding(part, fmt, goal).bound for part in (first, second))
        size = float((np.abs(inner).sum(3) * radius + np.abs(bias)[..., None] / n).max())
        slip = gamma(d + 4, fmt.unit) * size + r1
        spread = np.abs(outer).sum(1).max()
        approximation = spread * (e2 + n * e1)
        sums = gamma(n + 1, fmt.unit) * n * (size + e1 + slip)
        largest = float((np.abs(inner).sum((2, 3)) * radius + np.abs(bias)).max())
        if largest + n * (e1 + slip) + sums > self.reach[1] or size + slip > self.reach[0]:
            return math.inf, math.inf  # an input would leave the range that the tables were proved on
        rounding = spread * (r2 + n * slip + sums) + gamma(n * units + 2, fmt.unit) * spread * self.reach[1]
        return float(approximation) * (1 + 1e-12), float(rounding) * (1 + 1e-9)

    def build(self) -> AnchoredNetwork:
        built = self.network()
        return AnchoredNetwork(built, self, certificate_of(self, self.approximation, self.rounding, fingerprint(built)))


class AnchoredNetwork(NativeNetwork):
    """net(X) for X (..., tokens, features) has shape (..., tokens)."""

    kind = "relu-anchors"
    plan: AnchoredPlan

    def reprove(self) -> Certificate:
        """The bound once more, after checking that the stored network is the construction for these weights."""
        if fingerprint(self.plan.network()) != fingerprint(self.network):
            raise Refusal(
                "the stored network is not the construction for the stored target: nothing can be proved of it"
            )
        approximation, rounding = self.plan.bounds()
        return certificate_of(self.plan, approximation * SLACK, rounding * SLACK, fingerprint(self.network))

    def extra_manifest(self) -> dict[str, Any]:
        plan = self.plan
        more = {"method": plan.method, "sizes": list(plan.sizes), "reach": [r.hex() for r in plan.reach]}
        return {**super().extra_manifest(), **more}


def plan_anchored(
    target: ReluNetwork, *, eps: Any, domain: Any, dtype: Any = "float64", method: str = "anchors"
) -> AnchoredPlan:
    """Numbers of anchors from eps, or a refusal that says how many it would take."""
    eps, dtype, method = read_eps(eps), read_dtype(dtype), read_method(method, METHODS)
    if domain is None:
        raise Refusal("a network over sequences needs a domain for the entries of X, such as domain=(-1, 1)")
    domain = read_domain(domain, dtype)
    weights = read_weights(target)
    inner, outer, bias = weights
    n = len(inner)
    radius, spread = max(map(abs, domain)), float(np.abs(outer).sum(1).max())
    r = 1.001 * float((np.abs(inner).sum(3) * radius + np.abs(bias)[..., None] / n).max()) + 1e-300
    b = 1.01 * float((np.abs(inner).sum((2, 3)) * radius + np.abs(bias)).max())
    sharp = method == "printed"
    share = 0.9 * eps / (spread + 1e-300) / (2.0 if sharp else 1.0)
    b += 2 * min(share, 1e300) if sharp else eps
    sizes = (anchors_for(share / n, 2 * r, True) if sharp else INNER, anchors_for(share, b, sharp))
    if max(sizes) > LARGEST:
        raise Refusal(
            f"{max(sizes)} anchors would be needed within {number(eps)}, more than {LARGEST}: method='auto' needs "
            f"two keys a unit, and eps = {number(eps * max(sizes) / LARGEST * 1.01, 2)} can be had with anchors"
        )
    plan = _plan(weights, domain, eps, dtype, method, sizes, (r, b), (0.0, 0.0))
    approximation, rounding = plan.bounds()
    if (approximation + rounding) * SLACK > eps:
        raise Refusal(
            f"anchors within {number(eps)} in {dtype} cannot be certified: the bound is "
            f"{upper(approximation + rounding)}; method='auto' uses gates"
        )
    return _plan(weights, domain, eps, dtype, method, sizes, (r, b), (approximation * SLACK, rounding * SLACK))


def _plan(
    weights: Weights,
    domain: tuple[float, float],
    eps: float,
    dtype: str,
    method: str,
    sizes: tuple[int, int],
    reach: tuple[float, float],
    bounds: tuple[float, float],
) -> AnchoredPlan:
    n, units, _, d = weights[0].shape
    return AnchoredPlan(
        target=f"ReLU network, {n} tokens, {d} features, {units} units",
        domain=domain,
        eps=eps,
        dtype=dtype,
        method=method,
        anchors=n * units * sum(sizes),
        heads=2 * n * units,
        layers=2,
        approximation=bounds[0],
        rounding=bounds[1],
        printed_anchors=np.inf,
        weights=weights,
        beta=0.0,
        sizes=sizes,
        reach=reach,
    )


def load_anchored(manifest: dict[str, Any], tensors: dict[str, Tensor]) -> AnchoredNetwork:
    certificate = Certificate.from_record(manifest["certificate"])
    read = float.fromhex
    inner, outer, bias = (np.array([read(x) for x in values]).reshape(shape) for shape, values in manifest["weights"])
    plan = _plan(
        (inner, outer, bias),
        certificate.domain,
        read(manifest["eps"]),
        certificate.dtype,
        read_method(manifest["method"], METHODS),
        (int(manifest["sizes"][0]), int(manifest["sizes"][1])),
        (read(manifest["reach"][0]), read(manifest["reach"][1])),
        (certificate.approximation, certificate.rounding),
    )
    net = AnchoredNetwork(from_config(manifest["network"], tensors), plan, certificate)
    assert net.certificate is certificate  # raises StaleCertificate if a tensor was altered
    return net
