"""ReLU networks over sequences as two attention layers, certified (softmax-universality, Thm I.2, repaired).

    |net - f|_i <= sum_k |outer_ik| kappa/beta  +  rounding

With S = sum_j |inner_j| |x_j| + |bias| for a unit and V = |outer| S: both rows that layer 1 leaves on a token are
sums of n (d + 2) terms, off by at most gamma S and (gamma + u) V; relu is 1-Lipschitz, so they cost (gamma + u) V +
2 |outer| gamma S. The gate itself: the score t = beta s moves by 2u |t|, and t sigmoid'(t) <= 0.23; exp within 4u,
one sum, one division and one product: 16 u V in all. The sum over units adds gamma_N sum V.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headsmith.compiler.compiled import Compiled, accept, fingerprint
from headsmith.compiler.plan import Plan, bound_text, many
from headsmith.compiler.requests import read_domain, read_dtype, read_eps, read_method
from headsmith.heads.native import KAPPA, native_network
from headsmith.network import from_config
from headsmith.proof.certificate import SLACK, Certificate
from headsmith.proof.rounding import FORMATS, gamma
from headsmith.records.shown import number, upper
from headsmith.refusal import Refusal
from headsmith.targets.formula import check_domain
from headsmith.targets.kinds import ReluNetwork

Weights = tuple[np.ndarray, np.ndarray, np.ndarray]
STEEPEST = 1e12


@dataclass(frozen=True, repr=False)
class NativePlan(Plan):
    weights: Weights
    beta: float

    def rows(self) -> list[tuple[str, str]]:
        n, units, _, d = self.weights[0].shape
        lo, hi = self.domain
        return [
            ("map", f"{many(n, 'token')} of {many(d, 'feature')} -> one number each, {many(units, 'ReLU unit')}"),
            ("domain", f"entries in [{number(lo, 6)}, {number(hi, 6)}], {self.dtype}"),
            ("method", f"read, then gates of sharpness {number(self.beta)} (Thm I.2, repaired)"),
            ("size", f"{many(n * n, 'head')} and {many(units, 'gate')}, 2 layers"),
            ("bound", bound_text(self.approximation, self.rounding)),
            ("asked", f"eps = {number(self.eps)}"),
        ]

    def build(self) -> NativeNetwork:
        built = native_network(*self.weights, self.beta, getattr(torch, self.dtype))
        return NativeNetwork(built, self, certificate_of(self, self.approximation, self.rounding, fingerprint(built)))


class NativeNetwork(Compiled):
    """net(X) for X (..., tokens, features) has shape (..., tokens)."""

    kind = "relu-network"
    plan: NativePlan

    def encode(self, x: Tensor) -> Tensor:
        return x

    def decode(self, tokens: Tensor) -> Tensor:
        return tokens[..., 0]

    def forward(self, x: Any) -> Tensor:
        x = accept(x, self.dtype, next(self.network.parameters()).device)
        n, _, _, d = self.plan.weights[0].shape
        if x.shape[-2:] != (n, d):
            raise Refusal(f"X must have shape (..., {n}, {d}), tokens by features, not {tuple(x.shape)}")
        check_domain(x, self.plan.domain)
        return self.decode(self.network(self.encode(x)))

    def reprove(self) -> Certificate:
        """The bound once more, after checking that the stored network is the construction for these weights."""
        plan = self.plan
        if fingerprint(native_network(*plan.weights, plan.beta, self.network.dtype)) != fingerprint(self.network):
            raise Refusal(
                "the stored network is not the construction for the stored target: nothing can be proved of it"
            )
        approximation, rounding = bounds(plan.weights, plan.beta, max(map(abs, plan.domain)), plan.dtype)
        return certificate_of(plan, approximation * SLACK, rounding * SLACK, fingerprint(self.network))

    def extra_manifest(self) -> dict[str, Any]:
        plan = self.plan
        exact = [[list(w.shape), [x.hex() for x in w.reshape(-1).tolist()]] for w in plan.weights]
        return {"eps": plan.eps.hex(), "beta": plan.beta.hex(), "weights": exact}


def bounds(weights: Weights, beta: float, radius: float, dtype: str) -> tuple[float, float]:
    """(approximation, rounding) for |X| <= radius."""
    inner, outer, bias = weights
    n, units, _, d = inner.shape
    u = FORMATS[dtype].unit
    g = gamma(n * (d + 2), u)
    stored = [w.astype(dtype).astype(np.float64) for w in weights]
    cast = sum(float(np.abs(a - b).max()) for a, b in zip(stored, weights, strict=True))
    if cast:
        g = g + u  # numbers of the target that the dtype rounds
    S = np.abs(inner).sum((2, 3)) * radius + np.abs(bias)
    V = np.abs(outer) * S
    own = (g + u) * V + 2 * np.abs(outer) * g * S + 16 * u * V
    rounding = float((own.sum(1) + gamma(units, u) * (V + own).sum(1)).max()) + 1e-300
    approximation = KAPPA / beta * float(np.abs(outer).sum(1).max())
    return approximation * (1 + 1e-12), rounding * (1 + 1e-9)


def certificate_of(plan: NativePlan, approximation: float, rounding: float, weights: str) -> Certificate:
    lo, hi = plan.domain
    return Certificate(
        approximation=approximation,
        rounding=rounding,
        kind="proved",
        statement=f"|network(X) - f(X)| <= bound at every token, for every {plan.dtype} X with entries in "
        f"[{number(lo, 6)}, {number(hi, 6)}]",
        domain=plan.domain,
        dtype=plan.dtype,
        weights=weights,
    )


def plan_native(
    target: ReluNetwork, *, eps: Any, domain: Any, dtype: Any = "float64", method: str = "auto"
) -> NativePlan:
    """The sharpness of the gates from eps, or a refusal that names the floor of the dtype."""
    eps, dtype, _ = read_eps(eps), read_dtype(dtype), read_method(method, ("auto", "anchors", "printed"))
    if domain is None:
        raise Refusal("a network over sequences needs a domain for the entries of X, such as domain=(-1, 1)")
    domain = read_domain(domain, dtype)
    weights = read_weights(target)
    radius = max(map(abs, domain))
    _, rounding = bounds(weights, 1.0, radius, dtype)
    left = eps / SLACK - rounding
    total = float(np.abs(weights[1]).sum(1).max())
    beta = KAPPA * total / (0.95 * left) if left > 0 else np.inf
    if not beta < STEEPEST:
        raise Refusal(
            f"the network within {number(eps)} in {dtype} cannot be certified: rounding may cost {upper(rounding)}; "
            f"eps = {upper(max(2 * rounding * SLACK, 2 * KAPPA * total / STEEPEST))} can be had"
        )
    beta = float(np.dtype(dtype).type(max(beta, 1.0)))
    approximation, rounding = bounds(weights, beta, radius, dtype)
    n, units, _, d = weights[0].shape
    return NativePlan(
        target=f"ReLU network, {n} tokens, {d} features, {units} units",
        domain=domain,
        eps=eps,
        dtype=dtype,
        method="gates",
        anchors=2 * units,
        heads=n * n + units,
        layers=2,
        approximation=approximation * SLACK,
        rounding=rounding * SLACK,
        printed_anchors=np.inf,
        weights=weights,
        beta=beta,
    )


def read_weights(target: ReluNetwork) -> Weights:
    given = [target.inner, target.outer, target.bias]
    arrays = [
        None if w is None else np.asarray(w.detach().cpu() if isinstance(w, Tensor) else w, dtype=np.float64)
        for w in given
    ]
    inner, outer, bias = arrays
    assert inner is not None and outer is not None
    if inner.ndim != 4 or inner.shape[0] != inner.shape[2] or outer.shape != inner.shape[:2]:
        raise Refusal(
            f"inner must be (tokens, units, tokens, features) and outer (tokens, units), not "
            f"{inner.shape} and {outer.shape}"
        )
    bias = np.zeros_like(outer) if bias is None else bias
    if bias.shape != outer.shape or not all(np.isfinite(w).all() for w in (inner, outer, bias)):
        raise Refusal("bias must have the shape of outer, and every weight must be a finite number")
    return inner, outer, bias


def load_native(manifest: dict[str, Any], tensors: dict[str, Tensor]) -> NativeNetwork:
    certificate = Certificate.from_record(manifest["certificate"])
    built = from_config(manifest["network"], tensors)
    read = float.fromhex
    inner, outer, bias = (np.array([read(x) for x in values]).reshape(shape) for shape, values in manifest["weights"])
    n, units, _, d = inner.shape
    plan = NativePlan(
        target=f"ReLU network, {n} tokens, {d} features, {units} units",
        domain=certificate.domain,
        eps=read(manifest["eps"]),
        dtype=certificate.dtype,
        method="gates",
        anchors=2 * units,
        heads=n * n + units,
        layers=2,
        approximation=certificate.approximation,
        rounding=certificate.rounding,
        printed_anchors=np.inf,
        weights=(inner, outer, bias),
        beta=read(manifest["beta"]),
    )
    net = NativeNetwork(built, plan, certificate)
    assert net.certificate is certificate  # raises StaleCertificate if a tensor was altered
    return net
