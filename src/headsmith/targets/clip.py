"""Truncated linear models: n tokens, each with its own w_i and t_i, and one attention layer that truncates them all.

    net(x)[..., i] = Range_[low, high](w_i . x_i + t_i)              x (batch..., n, d) -> (batch..., n)

    method   auto     two gates: attend to yourself or to a null token, any eps            (App. H, App. I, layer 3)
             table    one head of constant values on searched keys                         (Thm 3.4, better)
             heads    H heads whose keys are the n tokens themselves, telescoping           (Thm 3.9, repaired)
             printed  Cor G.6's anchors, or with heads=H the sentinels of Thm 3.9, which fail

An affine layer writes z_i = w_i . x_i + t_i, since the map A of softmax-universality depends on the position too; after
it, every token is a scalar head. Range is 1-Lipschitz, so the rounding of z adds to the heads' error and nothing else
does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from flint import arb
from torch import Tensor

from headsmith.compiler.compiled import Compiled, accept, fingerprint
from headsmith.compiler.plan import Plan
from headsmith.compiler.program import forge
from headsmith.compiler.requests import read_domain, read_dtype, read_eps, read_method
from headsmith.compiler.scalar import Short
from headsmith.functions import Expression, precision
from headsmith.functions.balls import ceil_float
from headsmith.heads import clip as rules
from headsmith.heads.reading import heads_of
from headsmith.heads.search import search
from headsmith.heads.table import Unreached
from headsmith.network import Network, from_config
from headsmith.proof.approximation import Unprovable
from headsmith.proof.certificate import SLACK, Certificate
from headsmith.proof.composition import exact, prove_part
from headsmith.proof.statement import Head, Part
from headsmith.records.shown import number, upper
from headsmith.refusal import Refusal
from headsmith.targets.clip_network import Preactivation, on_memory, on_tokens, range_of
from headsmith.targets.formula import check_domain
from headsmith.targets.kinds import Clip

METHODS = ("auto", "table", "heads", "printed")
LARGEST = 4096  # printed anchors that are built; the plan knows the number beyond
Interval = tuple[float, float]


@dataclass(frozen=True, repr=False)
class ClipPlan(Plan):
    """`on_tokens` says whether the tokens themselves are the keys; `part` is None where it is too large to build."""

    clip: Clip
    part: Part | None
    on_tokens: bool

    def rows(self) -> list[tuple[str, str]]:
        rows = super().rows()
        if self.bound > self.eps:
            rows.append(("note", "the printed construction misses eps; method='heads' repairs it"))
        return rows

    def build(self) -> ClipNetwork:
        """The network, its certificate bound to the numbers it holds."""
        if self.part is None:
            raise Refusal(
                f"the printed rule asks for {self.anchors:,} anchors; heads of up to {LARGEST:,} are built: "
                f"ask for eps = {float(upper(self.eps * self.anchors / (LARGEST - 1))):g}, or use method='auto'"
            )
        dtype = getattr(torch, self.dtype)
        built = (on_tokens if self.on_tokens else on_memory)(self.clip, self.part, dtype)
        return ClipNetwork(built, self, _certificate(self, fingerprint(built)))


def _certificate(plan: ClipPlan, weights: str) -> Certificate:
    n, d = plan.clip.W.shape
    lo, hi = plan.domain
    return Certificate(
        plan.approximation,
        plan.rounding,
        "proved",
        f"|network(x)_i - Range_[{plan.clip.low:g}, {plan.clip.high:g}](w_i . x_i + t_i)| <= bound for {n} tokens "
        f"and every {plan.dtype} x in [{number(lo, 6)}, {number(hi, 6)}]^({n} x {d})",
        plan.domain,
        plan.dtype,
        weights,
    )


class ClipNetwork(Compiled):
    """net(x) within net.certificate.bound of the truncated linear models, token by token."""

    kind = "clip"
    plan: ClipPlan

    def encode(self, x: Tensor) -> Tensor:
        """x (batch..., tokens, features) is the prompt itself."""
        return x

    def decode(self, tokens: Tensor) -> Tensor:
        return tokens[..., 0]

    def forward(self, x: Any) -> Tensor:
        x = accept(x, self.dtype, next(self.network.parameters()).device)
        shape = self.plan.clip.W.shape
        if x.shape[-2:] != shape:
            raise Refusal(
                f"the input must have shape (batch..., {shape[0]} tokens, {shape[1]} features), not {tuple(x.shape)}"
            )
        check_domain(x, self.plan.domain)
        return self.decode(self.network(self.encode(x)))

    def certify(self, x: Any) -> Tensor:
        """|net(x) - target(x)| for these very inputs and outputs, in ball arithmetic and rounded up."""
        x = accept(x, self.dtype, torch.device("cpu"))
        y = self(x).detach().cpu().double()
        clip, n = self.plan.clip, len(self.plan.clip.t)
        low, high = arb(clip.low), arb(clip.high)
        errors = []
        points = x.double().reshape(-1, clip.W.shape[1]).tolist()
        with precision(128):
            for k, (point, out) in enumerate(zip(points, y.reshape(-1).tolist(), strict=True)):
                pairs = zip(clip.W[k % n].tolist(), point, strict=True)
                z = sum((arb(w) * v for w, v in pairs), arb(float(clip.t[k % n])))
                errors.append(ceil_float(abs(z.max(low).min(high) - out)))
        return torch.tensor(errors, dtype=torch.float64).reshape(y.shape)

    def reprove(self) -> Certificate:
        """The certificate, proved again from the numbers that the network holds now."""
        plan = self.plan
        z, part = stored(self.network, plan.clip, plan.domain, plan.dtype, plan.on_tokens)
        approximation, rounding = _proved(part, z, plan.eps, plan.dtype)
        again = replace(plan, approximation=approximation, rounding=rounding, part=part)
        return _certificate(again, fingerprint(self.network))

    def extra_manifest(self) -> dict[str, Any]:
        plan, clip = self.plan, self.plan.clip
        return {
            "eps": plan.eps.hex(),
            "method": plan.method,
            "printed_anchors": plan.printed_anchors.hex(),
            "on_tokens": plan.on_tokens,
            "W": [[w.hex() for w in row] for row in clip.W.tolist()],
            "t": [v.hex() for v in clip.t.tolist()],
            "range": [clip.low.hex(), clip.high.hex()],
        }


def plan_clip(
    target: Clip, *, eps: Any, domain: Any, dtype: Any = "float64", method: str = "auto", heads: int | None = None
) -> ClipPlan:
    """The plan for n truncated linear models; `heads` asks for that many heads with the tokens as keys."""
    eps, dtype, method = read_eps(eps), read_dtype(dtype), read_method(method, METHODS)
    if domain is None:
        raise Refusal("truncated linear models need a domain for the features of x, such as domain=(-3, 3)")
    heads = target.heads if heads is None else heads
    planner = _Planner(target, eps, read_domain(domain, dtype), dtype, method, heads)
    try:
        return planner.plan()
    except Short as short:
        raise _refusal(planner, short) from None


def _refusal(planner: _Planner, short: Short) -> Refusal:
    """What was asked, why it cannot be had, and an eps that was just tried and can."""
    asked = f"{planner.clip} within {number(planner.eps)} in {planner.dtype} cannot be certified: {short.reason}"
    best = 1.1 * short.best if math.isfinite(short.best) else 3 * planner.eps
    for _ in range(8):
        best = float(upper(best))
        try:
            replace(planner, eps=best).plan()
        except Short as again:
            best = max(1.3 * best, 1.1 * again.best if math.isfinite(again.best) else 3 * best)
        else:
            other = ", less with dtype='float64'" if planner.dtype == "float32" else ""
            return Refusal(f"{asked}; eps = {best:g} can be had{other}")
    return Refusal(f"{asked}; use method='auto'")


@dataclass(frozen=True)
class _Planner:
    clip: Clip
    eps: float
    domain: Interval
    dtype: str
    method: str
    heads: int | None

    @cached_property
    def stored(self) -> tuple[np.ndarray, np.ndarray]:
        W, t = (v.astype(self.dtype).astype(np.float64) for v in (self.clip.W, self.clip.t))
        return W, t

    @cached_property
    def z(self) -> Preactivation:
        return Preactivation.of(self.clip, *self.stored, self.domain, self.dtype)

    @property
    def room(self) -> float:
        """What is left of eps for the heads."""
        left = self.eps / SLACK - self.z.approximation - self.z.rounding
        if left <= 0:
            cost = self.z.approximation + self.z.rounding
            raise Short(f"w . x + t alone costs {cost:.1e}", 2 * SLACK * cost)
        return left * (1 - 1e-9)

    @property
    def expression(self) -> Expression:
        return range_of(self.clip.low, self.clip.high)

    def plan(self) -> ClipPlan:
        n, (low, high) = len(self.clip.t), (self.clip.low, self.clip.high)
        several = self.heads is not None or self.method == "heads"
        if several and n < 3:
            raise Refusal(f"{n} tokens are too few keys for a head; pad the prompt to 3, or leave `heads` out")
        if self.method == "printed" and several:
            count = self._count()
            return self._made(rules.sentinels(low, high, n, count, self.eps), 0.0, True, "printed")
        if self.method == "printed":
            p = rules.printed_size(low, high, self.eps, n)
            if p > LARGEST:
                sizes = (p, 1, 1, self.eps, 0.0, float(p))
                return ClipPlan(
                    repr(self.clip), self.domain, self.eps, self.dtype, "printed", *sizes, self.clip, None, False
                )  # fmt: skip
            return self._made([rules.printed(low, high, p, self.eps)], 0.0, False, "printed")
        if several:
            return self._telescoped()
        program = forge(self.expression, self.z.reach, self.room, self.dtype, self.method)
        [part] = program.parts
        return self._made(part.heads, part.bias, False, program.method)

    def _count(self) -> int:
        if self.heads is None:
            return rules.telescope_size(self.clip.low, self.clip.high, len(self.clip.t), self.room)
        if not (isinstance(self.heads, int) and self.heads >= 1):
            raise Refusal(f"heads must be a whole number from 1, not {self.heads!r}")
        return self.heads

    def _telescoped(self) -> ClipPlan:
        """Uniform anchors where they are enough for these heads, else searched keys, the same in every head."""
        low, high, n, count = self.clip.low, self.clip.high, len(self.clip.t), self._count()
        least = rules.telescope_size(low, high, n, self.room)
        if least <= count <= LARGEST // n:
            plan = self._made(rules.telescope(low, high, n, count), 0.0, True, "telescoping heads")
            if plan.bound <= self.eps:
                return plan
        width = (high - low) / count
        piece, edges = range_of(0.0, width), np.linspace(low, high, count + 1)
        reach = self.z.reach[0] - high, self.z.reach[1] - low
        try:
            table = search(piece, *reach, 0.7 * self.room / count, kinks=(0.0, width), dtype=self.dtype)
        except Unreached as failure:
            raise Short(failure.reason, failure.best.total * count if failure.best else math.inf) from None
        if len(table) > n:
            raise Refusal(
                f"{count} heads of {n} keys do not reach {number(self.eps)}; "
                f"heads={least} do, and so do gates (method='auto')"
            )
        heads = [
            Head.table(table.slopes, table.offsets - table.slopes * left, table.values + (low if h == 0 else 0.0))
            for h, left in enumerate(edges[:-1])
        ]
        plan = self._made(heads, 0.0, True, "telescoping tables")
        if plan.bound > self.eps:
            raise Short(f"the proof gives {plan.bound:.1e}", plan.bound)
        return plan

    def _made(self, heads: Any, bias: float, on_tokens: bool, method: str) -> ClipPlan:
        cast = tuple(head.cast(self.dtype) for head in heads)
        part = Part("x", "out", self.expression, self.z.reach, cast, bias)
        try:
            approximation, rounding = _proved(part, self.z, self.eps, self.dtype)
        except Unprovable as reason:
            raise Short(str(reason)) from None
        n, low, high = len(self.clip.t), self.clip.low, self.clip.high
        printed = (
            rules.sentinel_size(low, high, n, self.eps) * n if on_tokens else rules.printed_size(low, high, self.eps, n)
        )
        return ClipPlan(
            repr(self.clip), self.domain, self.eps, self.dtype, method, part.keys, len(cast), 1,
            approximation, rounding, float(printed), self.clip, part, on_tokens,
        )  # fmt: skip


def _proved(part: Part, z: Preactivation, eps: float, dtype: str) -> tuple[float, float]:
    """(approximation, rounding) of the whole network; Range is 1-Lipschitz, so what z errs is added."""
    kinks = part.target.places(*part.domain).kinks  # type: ignore[union-attr]
    floor = 1e-3 * eps if part.keys < 200 else 0.1 * eps
    proof = prove_part(part, dtype, floor, kinks, exact(z.reach))
    total = [
        math.nextafter((own + extra) * SLACK, math.inf)
        for own, extra in ((proof.approximation.bound, z.approximation), (proof.rounding.bound, z.rounding))
    ]
    return total[0], total[1]


def stored(network: Network, clip: Clip, domain: Interval, dtype: str, on_tokens: bool) -> tuple[Preactivation, Part]:
    """The models and heads that the network holds, as a statement to be proved."""
    models, lift, level = (network.layers[name] for name in ("models", "lift", "level1"))
    W, t = (v.detach().double().numpy() for v in (models.map.weight[:, 0], models.bias[:, 0]))  # type: ignore[union-attr,index]
    z = Preactivation.of(clip, W, t, domain, dtype)
    heads = heads_of(level, 1, slice(3, 3 + len(t)) if on_tokens else None)  # type: ignore[arg-type]
    bias = 0.0 if on_tokens else float(lift.bias[2])  # type: ignore[index,arg-type]
    return z, Part("x", "out", range_of(clip.low, clip.high), z.reach, tuple(heads), bias)


def load_clip(manifest: dict[str, Any], tensors: dict[str, Tensor]) -> ClipNetwork:
    """The network of a file, with the certificate that was proved for it."""
    certificate, read = Certificate.from_record(manifest["certificate"]), float.fromhex
    built = from_config(manifest["network"], tensors)
    low, high = map(read, manifest["range"])
    clip = Clip([[read(w) for w in row] for row in manifest["W"]], [read(v) for v in manifest["t"]], low, high)
    _, part = stored(built, clip, certificate.domain, certificate.dtype, manifest["on_tokens"])
    plan = ClipPlan(
        repr(clip), certificate.domain, read(manifest["eps"]), certificate.dtype, manifest["method"],
        part.keys, len(part.heads), 1, certificate.approximation, certificate.rounding,
        read(manifest["printed_anchors"]), clip, part, manifest["on_tokens"],
    )  # fmt: skip
    net = ClipNetwork(built, plan, certificate)
    assert net.certificate is certificate  # raises StaleCertificate if a tensor was altered
    return net
