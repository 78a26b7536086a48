"""Any learning rule of the form f(w . x - y) x, in one attention layer (In-Context Algorithm Emulation, Thm 3.1).

    net(x, y, w)[..., i, :] = f(w . x_i - y_i) x_i              x (batch..., n, d), y (batch..., n), w (batch..., d)

Paper (tokens are columns): column (i, j) of Linear(Z) is [2 L_j x_i; 2 L_j y_i; f(L_j) x_i; -L_j^2; C e_i], query c is
 [w; -1; 0; 1; e_c].  Here: feature j of copy (i, j) is slope_j (x_i, y_i), offset_j and level_j x_i.

With f = loss' these are the gradients of all samples (Cor 3.1.1).

    method  auto      the block layer: every sample a softmax of its own, O(n P)
            dense     one softmax over all n (P + 1) keys, C keeps the samples apart, O(n^2 P): the paper's layer
            printed   the paper's layer with its staircase table, and its C

Repaired: each query sits in the first copy of its own sample, so the layer in front is truly column-wise and every
sample may bring its own w; C is computed from the table. With w = 0 and direction s_i = (X'X/n)^-1 x_i the mean of
f(-y_i) s_i is minus the least-squares solution, in one honest layer (Cor 3.1.3, where the proof takes L).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from headsmith.compiler.compiled import Compiled, accept, fingerprint
from headsmith.compiler.plan import Plan
from headsmith.compiler.requests import read_dtype, read_eps, read_method
from headsmith.functions import Expression
from headsmith.heads.printed import printed_steps
from headsmith.network import Affine, Attention, Dense, Network, Select, from_config
from headsmith.proof.certificate import SLACK, Certificate
from headsmith.proof.rounding import FORMATS, gamma
from headsmith.proof.statement import Head
from headsmith.records.shown import number
from headsmith.refusal import Refusal
from headsmith.targets.kinds import ResidualRule
from headsmith.targets.residual import (
    Ranges,
    RuleTable,
    Short,
    as_formula,
    prove_heads,
    read_ranges,
    rule_layer,
    stored_heads,
    suppression,
    tabulate,
)

METHODS = ("auto", "dense", "printed")
LEAK = 1e-3  # share of eps that may be spent on weight that leaves the block of its query


@dataclass(frozen=True, repr=False)
class RulePlan(Plan):
    rule: ResidualRule
    ranges: Ranges
    table: RuleTable

    def build(self) -> RuleNetwork:
        n, d, kind, head = self.rule.samples, self.rule.features, getattr(torch, self.dtype), self.table.head
        if self.method == "auto":
            built = block(head, d, n, kind)
        else:
            built = dense(head, d, n, _strength(head, self.rule, self.ranges, self.eps, self.method), kind)
        sizes = f"|w.x_i - y_i| <= {number(self.ranges.residual)} and |x_i| <= {number(self.ranges.x)}"
        certificate = Certificate(
            approximation=self.approximation,
            rounding=self.rounding,
            kind="proved",
            statement=f"|net(x, y, w)_i - f(w.x_i - y_i) x_i| <= bound for {sizes}, f = {self.table.f}",
            domain=self.domain,
            dtype=self.dtype,
            weights=fingerprint(built),
        )
        return RuleNetwork(built, self, certificate)


class RuleNetwork(Compiled):
    """net(x, y, w) = f(w . x_i - y_i) x_i for every sample i; `direction` replaces the x_i behind the f."""

    kind = "rule"
    plan: RulePlan

    def encode(self, x: Tensor, y: Tensor, w: Tensor, direction: Tensor | None = None) -> Tensor:
        """(batch..., n, 3 d + 1): token i is (x_i, y_i, w, direction_i)."""
        w = w if w.dim() == x.dim() else w.unsqueeze(-2).expand_as(x)
        return torch.cat([x, y.unsqueeze(-1), w, x if direction is None else direction], -1)

    def decode(self, tokens: Tensor) -> Tensor:
        return tokens

    def forward(self, x: Any, y: Any, w: Any, direction: Any = None) -> Tensor:
        device = next(self.network.parameters()).device
        x, y, w = (accept(part, self.dtype, device) for part in (x, y, w))
        toward = None if direction is None else accept(direction, self.dtype, device)
        check_samples(x, y, self.plan.rule.samples, self.plan.rule.features)
        check_ranges({"x": x, "y": y, "w": w} | ({} if toward is None else {"x": toward}), self.plan.ranges)
        check_residual(x, y, w, self.plan.ranges)
        return self.decode(self.network(self.encode(x, y, w, toward)))

    def extra_manifest(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "f": plan.table.f.tree(),
            "features": plan.rule.features,
            "samples": plan.rule.samples,
            "ranges": {name: size.hex() for name, size in asdict(plan.ranges).items()},
            "eps": plan.eps.hex(),
            "method": plan.method,
        }


def block(head: Head, features: int, samples: int, dtype: torch.dtype) -> Network:
    """Every sample a softmax over its own copies."""
    d, width = features, 3 * features + 2
    y, minus, w, toward = d, 3 * d + 1, range(d + 1, 2 * d + 1), range(2 * d + 1, 3 * d + 1)
    bias = torch.zeros(width, dtype=dtype)
    bias[minus] = -1.0
    rule = rule_layer(
        head,
        query=Select([[*w, minus]], width),
        key=Select([[*range(d), y]], width),
        value=Select([[*toward]], width),
        output=Select([[*range(d)]], d),
        dtype=dtype,
        residual=False,
    )
    lift = Affine(Select([*range(width - 1), -1], width - 1), bias)
    names = [*(f"{name}.{k}" for name in ("x",) for k in range(d)), "y"]
    names += [f"{name}.{k}" for name in ("w", "direction") for k in range(d)]
    return Network(
        {"lift": lift, "rule": rule}, tokens=[f"sample.{i}" for i in range(samples)], features=[*names, "minus"]
    )


def dense(head: Head, features: int, samples: int, strength: float, dtype: torch.dtype) -> Network:
    """The paper's layer: n (P + 1) key tokens (i, j), one softmax over all of them, `strength` keeps samples apart.

    Token (i, j): slope_j x_i | slope_j y_i | level_j s_i | offset_j | C e_i | w | -1 | 1 | e_i; (i, 0) asks for i.
    """
    d, n, count = features, samples, head.keys
    top = 2 * d + 2 + n  # rows of the upper half, which the keys and values read
    spread = torch.zeros(n * count, top + d + 2 + n, 3 * d + 1, dtype=torch.float64)
    bias = torch.zeros(n * count, top + d + 2 + n, dtype=torch.float64)
    eye = torch.eye(d + 1, dtype=torch.float64)
    for i in range(n):
        for j in range(count):
            t = i * count + j
            spread[t, : d + 1, : d + 1] = head.slopes[j] * eye
            spread[t, d + 1 : 2 * d + 1, 2 * d + 1 :] = head.values[j] * eye[:d, :d]
            spread[t, top : top + d, d + 1 : 2 * d + 1] = eye[:d, :d]
            bias[t, 2 * d + 1], bias[t, 2 * d + 2 + i] = head.offsets[j], strength
            bias[t, top + d], bias[t, top + d + 1], bias[t, top + d + 2 + i] = -1.0, 1.0, 1.0
    width = spread.shape[1]
    sources = [i for i in range(n) for _ in range(count)]
    attend = Attention(
        query=Select([[*range(top, top + d + 2 + n)]], width),
        key=Select([[*range(d + 1), *range(2 * d + 1, top)]], width),
        value=Select([[*range(d + 1, 2 * d + 1)]], width),
        output=Select([[*range(d)]], d),
    )
    layers = {
        "linear": Affine(Dense(spread.to(dtype)), bias.to(dtype), sources),
        "attend": attend,
        "choose": Affine(Select([*range(d)], d), None, range(0, n * count, count)),
    }
    return Network(layers, tokens=[f"sample.{i}" for i in range(n)])


def printed_suppression(head: Head, features: int, ranges: Ranges, leak: float) -> float:
    """The footnote's C = 2 L_* (2 d B^2 + 2 B) + ln(1/eps0)/beta, times beta; B bounds x, w and y."""
    size = max(ranges.x, ranges.w, ranges.y)
    widest = float(abs(head.slopes).max())
    return widest * (2 * features * size**2 + 2 * size) + math.log(1 / leak)


def plan_rule(target: ResidualRule, *, eps: Any, domain: Any, dtype: Any = "float64", method: str = "auto") -> RulePlan:
    """Sizes and the promised bound of a rule, or a Refusal that names what can be had."""
    f, eps, dtype, method = as_formula(target.f), read_eps(eps), read_dtype(dtype), read_method(method, METHODS)
    if domain is None:
        raise Refusal("a rule needs a domain, such as domain=5.0: the size of residuals and entries")
    ranges = read_ranges(domain)
    asked = eps
    for _ in range(20):
        plan = _attempt(target, f, ranges, asked, dtype, method)
        if plan is not None and asked == eps:
            return plan
        if plan is not None:
            raise Refusal(f"({f}) x within {number(eps)} in {dtype} cannot be certified; eps = {asked:g} can be had")
        asked = max(10 * asked, 1e-15)
    raise Refusal(f"({f}) x within {number(eps)} in {dtype} cannot be certified, nor within {asked / 10:g}")


def _attempt(
    target: ResidualRule, f: Expression, ranges: Ranges, eps: float, dtype: str, method: str
) -> RulePlan | None:
    """A plan within eps; None if the table or its rounding stands in the way."""
    if eps < 64 * FORMATS[dtype].unit * ranges.x:
        return None
    for share in (0.95, 0.5, 0.1):
        try:
            table = tabulate(f, ranges, target.features, share * eps / ranges.x, dtype, method)
        except Short:
            return None
        plan = _planned(target, f, table, ranges, eps, dtype, method)
        if plan.bound <= eps:
            return plan
    return None


def _planned(
    target: ResidualRule, f: Expression, table: RuleTable, ranges: Ranges, eps: float, dtype: str, method: str
) -> RulePlan:
    """Error of the product: that of f times |x|, one rounding; in the dense layer also leak and softmax."""
    unit, d, n, size = FORMATS[dtype].unit, target.features, target.samples, ranges.x
    approximation = table.approximation * size
    rounding = (table.rounding + gamma(3, unit) * table.size) * size
    if method != "auto":
        most = float(abs(table.head.values).max()) * size
        strength = _strength(table.head, target, ranges, eps, method)
        leak = math.exp(suppression(table.head, ranges.residual, n, 1.0) - strength)
        approximation = table.proof.approximation.bound * SLACK * size + 2 * leak * most
        slopes, offsets = float(abs(table.head.slopes).max()), float(abs(table.head.offsets).max())
        slip = gamma(d + 5, unit) * (slopes * (d * ranges.w * ranges.x + ranges.y) + offsets + strength)
        slip += unit * 2 * (strength + slopes * ranges.residual + offsets)  # the maximum is subtracted
        rounding = (math.expm1(2 * slip) + gamma(2 * n * table.head.keys + 12, unit)) * 2 * most
    return RulePlan(
        target=f"({f}) x, {n} samples of {d} features",
        domain=(-ranges.residual, ranges.residual),
        eps=eps,
        dtype=dtype,
        method=method,
        anchors=table.head.keys * n,
        heads=1,
        layers=1,
        approximation=approximation * SLACK,
        rounding=rounding * SLACK,
        printed_anchors=(float(printed_steps(f, (-ranges.residual, ranges.residual), eps / size)) + 1) * n,
        rule=target,
        ranges=ranges,
        table=table,
    )


def _strength(head: Head, rule: ResidualRule, ranges: Ranges, eps: float, method: str) -> float:
    """C: weight LEAK eps / max|value| may leave the block of its query."""
    leak = LEAK * eps / (float(abs(head.values).max()) * ranges.x)
    if method == "printed":
        return printed_suppression(head, rule.features, ranges, leak)
    return suppression(head, ranges.residual, rule.samples, leak)


def check_samples(x: Tensor, y: Tensor, samples: int, features: int) -> None:
    if x.shape[-2:] != (samples, features) or y.shape != x.shape[:-1]:
        raise Refusal(
            f"the network takes x (batch..., {samples}, {features}) and y (batch..., {samples}), not "
            f"{tuple(x.shape)} and {tuple(y.shape)}"
        )


def check_ranges(parts: dict[str, Tensor], ranges: Ranges) -> None:
    """Every entry inside the range that the certificate speaks of, or the largest one by name."""
    for name, part in parts.items():
        worst = float(part.detach().abs().max())
        if worst > getattr(ranges, name):
            raise Refusal(
                f"{name} has an entry of size {worst:.6g}, beyond the domain {getattr(ranges, name):g}: compile with a "
                "larger domain, or scale the data"
            )


def check_residual(x: Tensor, y: Tensor, w: Tensor, ranges: Ranges) -> None:
    """|w . x_i - y_i| inside the range of the table, or the sample that is not."""
    w = w if w.dim() == x.dim() else w.unsqueeze(-2)
    size = ((x * w).sum(-1) - y).detach().abs()
    if float(size.max()) > ranges.residual:
        sample = int(size.argmax()) % size.shape[-1]
        raise Refusal(
            f"sample {sample} has a residual of size {float(size.max()):.6g}, beyond the domain {ranges.residual:g}: "
            "compile with a larger domain"
        )


def load_rule(manifest: dict[str, Any], tensors: dict[str, Tensor]) -> RuleNetwork:
    """The rule of a file; its table is proved again from the stored numbers."""
    certificate = Certificate.from_record(manifest["certificate"])
    ranges = Ranges(**{name: float.fromhex(size) for name, size in manifest["ranges"].items()})
    f, eps, method = Expression.from_tree(manifest["f"]), float.fromhex(manifest["eps"]), manifest["method"]
    rule = ResidualRule(f, manifest["features"], manifest["samples"])
    built = from_config(manifest["network"], tensors)
    head = _stored(built, rule) if method != "auto" else stored_heads(built.layers["rule"])[0]  # type: ignore[arg-type]
    table = prove_heads(f, [head], ranges, rule.features, certificate.dtype, method)
    net = RuleNetwork(built, _planned(rule, f, table, ranges, eps, certificate.dtype, method), certificate)
    assert net.certificate is certificate  # raises StaleCertificate if a tensor was altered
    return net


def _stored(network: Network, rule: ResidualRule) -> Head:
    """The table that the copies of the first sample hold, in the layout of `dense`."""
    linear, d = network.layers["linear"], rule.features
    assert isinstance(linear, Affine) and isinstance(linear.map, Dense) and linear.bias is not None
    count = len(linear.bias) // rule.samples
    weight, bias = linear.map.weight[:count].double().numpy(), linear.bias[:count].double().numpy()
    return Head.table(weight[:, 0, 0], bias[:, 2 * d + 1], weight[:, d + 1, 2 * d + 1])
