"""A function given as code: any callable of one tensor, with a constant that the user vouches for.

    compile(torch.erf, domain=(-3, 3), eps=1e-3, lipschitz=1.13)
    compile(torch.erf, domain=(-3, 3), eps=1e-6, derivative_bounds=(1.13, 0.97))       cheaper, so smaller eps

What the function does between samples cannot be seen, so the certificate is conditional on the constant, and says so.
The function itself is not stored in files.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headsmith.compiler.compiled import fingerprint
from headsmith.compiler.plan import Plan
from headsmith.compiler.requests import read_domain, read_dtype, read_eps, read_method
from headsmith.heads.assemble import network
from headsmith.heads.search import search
from headsmith.heads.table import Unreached
from headsmith.network import from_config
from headsmith.proof.approximation import Unprovable
from headsmith.proof.certificate import Certificate
from headsmith.proof.conditional import CALLABLE_ULPS, prove_from_samples
from headsmith.proof.rounding import ASSUMPTIONS, FORMATS, prove_rounding
from headsmith.proof.statement import Head, Part
from headsmith.records.shown import number
from headsmith.refusal import Refusal
from headsmith.targets.formula import ScalarNetwork


@dataclass(frozen=True, repr=False)
class CallablePlan(Plan):
    part: Part | None
    constant: str

    def build(self) -> CallableNetwork:
        assert self.part is not None
        built = network([self.part], getattr(torch, self.dtype))
        lo, hi = self.domain
        certificate = Certificate(
            approximation=self.approximation,
            rounding=self.rounding,
            kind="conditional",
            statement=f"|network(x) - {self.target}(x)| <= bound for every {self.dtype} x in "
            f"[{number(lo, 6)}, {number(hi, 6)}], if {self.constant} there",
            domain=self.domain,
            dtype=self.dtype,
            weights=fingerprint(built),
            assumptions=(
                self.constant,
                f"the function is computed within {CALLABLE_ULPS} ulps of float64",
                *ASSUMPTIONS,
            ),
        )
        return CallableNetwork(built, self, certificate)


class CallableNetwork(ScalarNetwork):
    """net(x) within net.certificate.bound of the function, if the constant is right."""

    kind = "callable"
    plan: CallablePlan

    def extra_manifest(self) -> dict[str, Any]:
        plan = self.plan
        return {"formula": plan.target, "eps": plan.eps.hex(), "method": plan.method, "constant": plan.constant}


def plan_callable(
    target: Callable[[Tensor], Tensor],
    *,
    eps: Any,
    domain: Any,
    dtype: Any = "float64",
    method: str = "auto",
    lipschitz: float | None = None,
    derivative_bounds: tuple[float, float] | None = None,
) -> CallablePlan:
    """The plan for a callable; its constant is checked against samples and refused when they contradict it."""
    eps, dtype, method = read_eps(eps), read_dtype(dtype), read_method(method, ("auto", "table"))
    name = getattr(target, "__name__", type(target).__name__)
    if domain is None:
        raise Refusal(f"{name} needs a domain, such as domain=(-3, 3)")
    domain = read_domain(domain, dtype)
    slope, curvature = _constants(name, lipschitz, derivative_bounds)
    f = _vectorised(target, name)
    aim = 0.85 * eps
    for _ in range(3):
        try:
            found = search(f, domain[0], domain[1], aim, dtype=dtype)
        except Unreached as failure:
            asked = f"{name} within {eps:g} on [{domain[0]:g}, {domain[1]:g}]"
            raise Refusal(f"{asked}: {failure.reason}; try a larger eps") from None
        head = Head.table(found.slopes, found.offsets, found.values).cast(dtype)
        part = Part("x", "out", None, domain, (head,))
        try:
            approximation = prove_from_samples(part, f, eps, slope, curvature)
        except Unprovable as reason:
            raise Refusal(f"{name} within {eps:g}: {reason}; try a larger eps") from None
        rounding = prove_rounding(part, FORMATS[dtype], 2e-3 * eps).bound
        if approximation + rounding <= eps:
            break
        aim *= 0.8 * min(1.0, max(0.1, (eps - rounding) / approximation))
    else:
        raise Refusal(
            f"{name} within {eps:g} in {dtype}: the bound found is {approximation + rounding:.2g}; "
            f"try eps = {4 * (approximation + rounding):.1g}"
        )
    constant = f"|f'| <= {slope:g}" + ("" if curvature is None else f" and |f''| <= {curvature:g}")
    printed = max(1, math.ceil(2 * slope * (domain[1] - domain[0]) / eps)) + 1.0
    return CallablePlan(
        name, domain, eps, dtype, "analytic", len(found), 1, 1, approximation, rounding, printed, part, constant
    )


def load_callable(manifest: dict[str, Any], tensors: dict[str, Tensor]) -> CallableNetwork:
    certificate = Certificate.from_record(manifest["certificate"])
    built = from_config(manifest["network"], tensors)
    keys = sum(built.layers["level1"].key_counts())  # type: ignore[operator]
    plan = CallablePlan(
        manifest["formula"],
        certificate.domain,
        float.fromhex(manifest["eps"]),
        certificate.dtype,
        manifest["method"],
        keys,
        1,
        1,
        certificate.approximation,
        certificate.rounding,
        math.inf,
        None,
        manifest["constant"],
    )
    return CallableNetwork(built, plan, certificate).verified()


def _constants(
    name: str, lipschitz: float | None, derivative_bounds: tuple[float, float] | None
) -> tuple[float, float | None]:
    given = (lipschitz,) if derivative_bounds is None else tuple(derivative_bounds)
    if given == (None,):
        raise Refusal(
            f"{name} is code, so what it does between samples is unknown: give lipschitz=L with |f'| <= L, "
            "or derivative_bounds=(L1, L2)"
        )
    if len(given) > 2 or not all(isinstance(c, int | float) and 0 <= c < math.inf for c in given):
        raise Refusal(f"the constants of {name} must be finite and not negative, not {given}")
    return float(given[0]), (float(given[1]) if len(given) == 2 else None)  # type: ignore[arg-type]


def _vectorised(target: Callable[[Tensor], Tensor], name: str) -> Callable[[np.ndarray], np.ndarray]:
    def f(z: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            y = target(torch.from_numpy(np.ascontiguousarray(z, dtype=np.float64)))
        if not isinstance(y, Tensor) or y.shape != z.shape:
            raise Refusal(f"{name} must map a tensor to a tensor of the same shape")
        values = y.double().numpy()
        if not np.isfinite(values).all():
            raise Refusal(f"{name} is not finite at {float(z[~np.isfinite(values)][0]):g}: choose another domain")
        return values

    return f
