"""Gradient descent inside attention: two layers a step, as many steps as asked for.

    net(x, y, w) = w_T,   w_{t+1} = w_t - rate ((1/n) sum_i loss'(w_t . x_i, y_i) x_i + l2 w_t)

    rule     delta_i = f(w . x_i - y_i) x_i                       copies of the token, or gates      (Thm 3.1, Thm D.4)
    average  w += -rate mean_i delta_i - rate l2 w,  delta = 0     uniform attention                  (Cor 3.1.2)

As printed, Cor 3.1.2 returns the mean gradient: w, the rate and the sign are missing, and the stack is not closed:
the next layer needs x and y again. Here the tokens carry (x, y, w, delta) through the residual stream, the same weights
serve every step, and T steps are T blocks (`unrolled`) or T loops. For the logistic loss tokens hold (1 - 2y) x:
(sigmoid(w.x) - y) x = sigmoid(w.x~) x~, which two keys give exactly.

Errors. A step that errs by e in the 2-norm adds e, because gradient descent on a convex loss does not expand distances
if rate (loss'' lambda_max(X'X/n) + l2) <= 2 (checked for every input): T e in all, and e (1 - rho^T)/(1 - rho) where it
contracts by rho (`certify`). The paper's t eps forgets sqrt(d): eps is a sup-norm (Lemma D.4).

    method  auto      the fewest keys that are found
            gate      attend to yourself or to a null token: (2/a)(sigmoid(a z) - sigmoid(-a z)) = z + O(a^2), with
                      four heads O(a^4); exact for the logistic loss. (Universal Approximation with Softmax
                      Attention, Thm 4.2 = D.4, where the printed step lacks the factor x_i.)
            printed   the layer of Cor 3.1.2 as stated, on the printed table
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headsmith.compiler.compiled import Compiled, accept, fingerprint
from headsmith.compiler.plan import Plan
from headsmith.compiler.requests import read_dtype, read_eps, read_method
from headsmith.functions import parse
from headsmith.heads.printed import printed_steps
from headsmith.network import Network, from_config
from headsmith.proof.certificate import SLACK, Certificate
from headsmith.proof.rounding import FORMATS, gamma
from headsmith.proof.spectrum import gram, largest_eigenvalue, least_eigenvalue
from headsmith.records.shown import number
from headsmith.refusal import Refusal
from headsmith.targets.gradient_step import block, gate_heads
from headsmith.targets.kinds import Descent
from headsmith.targets.residual import (
    Ranges,
    RuleTable,
    Short,
    prove_heads,
    read_ranges,
    stored_heads,
    tabulate,
)
from headsmith.targets.rule import check_ranges, check_residual, check_samples

METHODS = ("auto", "gate", "printed")
SLOPES = {"squared": parse("t"), "logistic": parse("sigmoid(t)"), "huber": parse("clip(t, -1, 1)")}
BEND = {"squared": 1.0, "logistic": 0.25, "huber": 1.0}  # the largest loss''


@dataclass(frozen=True, repr=False)
class DescentPlan(Plan):
    descent: Descent
    ranges: Ranges
    table: RuleTable

    def build(self) -> DescentNetwork:
        built = block(self.descent, self.table, getattr(torch, self.dtype), self.method)
        task, ranges = self.descent, self.ranges
        claim = "the mean gradient" if self.method == "printed" else f"step {task.steps} of gradient descent"
        certificate = Certificate(
            approximation=self.approximation,
            rounding=self.rounding,
            kind="proved",
            statement=f"|net(x, y, w) - {claim}|_inf <= bound while |w.x_i - y_i| <= {number(ranges.residual)}, "
            f"|x| <= {number(ranges.x)}, |w| <= {number(ranges.w)} and no step expands (all checked at run time)",
            domain=self.domain,
            dtype=self.dtype,
            weights=fingerprint(built),
        )
        return DescentNetwork(built, self, certificate)


class DescentNetwork(Compiled):
    """net(x, y, w) is w after all steps; `path` gives every step, `unrolled` the network with a block for each."""

    kind = "descent"
    plan: DescentPlan

    def encode(self, x: Tensor, y: Tensor, w: Tensor) -> Tensor:
        """(batch..., n, 3 d + 2): token i is (x_i, y_i, w, -1, 0); labels of a logistic loss become signs of x_i."""
        if self.plan.descent.loss == "logistic":
            x, y = (1 - 2 * y).unsqueeze(-1) * x, torch.zeros_like(y)
        everywhere = w.unsqueeze(-2).expand_as(x)
        return torch.cat([x, y.unsqueeze(-1), everywhere, -torch.ones_like(x[..., :1]), torch.zeros_like(x)], -1)

    def decode(self, tokens: Tensor) -> Tensor:
        d = self.plan.descent.features
        return tokens[..., 0, d + 1 : 2 * d + 1]

    def forward(self, x: Any, y: Any, w: Any = None) -> Tensor:
        return self.path(x, y, w)[-1]

    def path(self, x: Any, y: Any, w: Any = None) -> list[Tensor]:
        """w_0, ..., w_T; every residual on the way is checked."""
        x, y, w = self._accept(x, y, w)
        tokens, found = self.encode(x, y, w), [w]
        d = self.plan.descent.features
        for _ in range(self.plan.descent.steps):
            check_ranges({"w": found[-1]}, self.plan.ranges)
            check_residual(tokens[..., :d], tokens[..., d], found[-1], self.plan.ranges)
            tokens = self.network(tokens)
            found.append(self.decode(tokens))
        return found

    def unrolled(self) -> Network:
        """One network with a block of layers for each step, all of them the same numbers."""
        layers = {f"{name}{t}": layer for t in range(self.plan.descent.steps) for name, layer in self.network._named()}
        return Network(layers, tokens=self.network.inputs, features=self.network.features)

    def certify(self, x: Any, y: Any, w: Any = None) -> float:
        """The bound for these very data: their own |x|, and their own contraction where the loss is squared."""
        x, y, w = self._accept(x, y, w)
        if x.dim() != 2:
            raise Refusal("a certificate for given data takes one data set, x (samples, features)")
        task, table, ranges = self.plan.descent, self.plan.table, self.plan.ranges
        rows = x.double().numpy()
        reach = np.abs(rows).mean(0) * (1 + 1e-10)
        approximation, rounding = _step(task, table, ranges, float(np.sqrt((reach**2).sum())), self.plan.dtype)
        low = least_eigenvalue(*gram(rows)) if task.loss == "squared" else 0.0
        shrink = 1 - task.rate * (max(low, 0.0) + task.l2)
        return (approximation + rounding) * _sum(max(shrink, self._expansion(rows) - 1), task.steps) * SLACK

    def _accept(self, x: Any, y: Any, w: Any) -> tuple[Tensor, Tensor, Tensor]:
        task, device = self.plan.descent, next(self.network.parameters()).device
        x, y = (accept(part, self.dtype, device) for part in (x, y))
        check_samples(x, y, task.samples, task.features)
        w = torch.zeros_like(x[..., 0, :]) if w is None else accept(w, self.dtype, device)
        if task.loss == "logistic" and not bool(((y == 0) | (y == 1)).all()):
            raise Refusal("the labels of a logistic loss must be 0 or 1")
        check_ranges({"x": x, "w": w} | ({} if task.loss == "logistic" else {"y": y}), self.plan.ranges)
        for rows in x.detach().double().cpu().numpy().reshape(-1, task.samples, task.features):
            if self._expansion(rows) > 2:
                raise Refusal(
                    f"rate {task.rate:g} is too large for these data: a step would expand distances by "
                    f"{self._expansion(rows) - 1:.3g}, and nothing could be promised; take a rate of "
                    f"{task.rate * 2 / self._expansion(rows):.3g} or less"
                )
        return x, y, w

    def _expansion(self, rows: np.ndarray) -> float:
        """rate (loss'' lambda_max + l2), from above: a step contracts if this is below 2."""
        task = self.plan.descent
        return task.rate * (largest_eigenvalue(*gram(rows, BEND[task.loss])) + task.l2)

    def extra_manifest(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "descent": asdict(plan.descent) | {"rate": plan.descent.rate.hex(), "l2": plan.descent.l2.hex()},
            "ranges": {name: size.hex() for name, size in asdict(plan.ranges).items()},
            "eps": plan.eps.hex(),
            "method": plan.method,
        }


def _step(task: Descent, table: RuleTable, ranges: Ranges, reach: float, dtype: str) -> tuple[float, float]:
    """(approximation, rounding) of one step in the 2-norm; reach bounds the 2-norm of mean_i |x_i|."""
    unit = FORMATS[dtype].unit
    moved = task.rate * table.size * reach
    kept = ranges.w * math.sqrt(task.features) * (1 + task.rate * task.l2)
    rounding = (
        task.rate * table.rounding * reach + gamma(task.samples + 16, unit) * moved + gamma(6, unit) * (moved + kept)
    )
    return task.rate * table.approximation * reach, rounding


def _sum(rho: float, steps: int) -> float:
    """1 + rho + ... + rho^(steps - 1), for 0 <= rho <= 1."""
    return float(steps) if rho >= 1 else min(float(steps), (1 - max(rho, 0.0) ** steps) / (1 - rho))


def plan_descent(
    target: Descent, *, eps: Any, domain: Any, dtype: Any = "float64", method: str = "auto"
) -> DescentPlan:
    """Sizes and the promised bound of gradient descent, or a Refusal that names what can be had."""
    eps, dtype, method = read_eps(eps), read_dtype(dtype), read_method(method, METHODS)
    if domain is None:
        raise Refusal("gradient descent needs a domain, such as domain=5.0: the size of residuals and entries")
    if method == "printed" and target.steps > 1:
        raise Refusal(
            "the printed layer returns the mean gradient, not the next w: it cannot be stacked; ask for steps=1"
        )
    ranges = read_ranges(domain)
    asked = eps
    task = f"{target.steps} steps of gradient descent on the {target.loss} loss within {number(eps)} in {dtype}"
    more = " (float64 gives more)" * (dtype == "float32")
    for _ in range(20):
        plan = _attempt(target, ranges, asked, dtype, method)
        if plan is not None and asked == eps:
            return plan
        if plan is not None:
            raise Refusal(f"{task} cannot be certified; eps = {asked:g} can be had{more}")
        asked = max(10 * asked, 1e-15)
    raise Refusal(f"{task} cannot be certified, nor within {asked / 10:g}{more}: a smaller domain may help")


def _attempt(target: Descent, ranges: Ranges, eps: float, dtype: str, method: str) -> DescentPlan | None:
    f, reach = SLOPES[target.loss], math.sqrt(target.features) * ranges.x
    task = replace(target, rate=1.0, l2=0.0) if method == "printed" else target
    aim = eps / (task.steps * task.rate * reach)
    if aim < 64 * FORMATS[dtype].unit * ranges.residual:
        return None
    for share in (0.9, 0.4):
        for count in (2, 4) if method == "gate" else (1,):
            try:
                if method == "gate":
                    heads = gate_heads(target.loss, ranges.residual, share * aim, count)
                    table = prove_heads(f, heads, ranges, target.features + 2, dtype, "gate")
                else:
                    table = tabulate(f, ranges, target.features, share * aim, dtype, method)
            except Short:
                continue
            approximation, rounding = (task.steps * part * SLACK for part in _step(task, table, ranges, reach, dtype))
            if approximation + rounding <= 0.999 * eps:
                return _planned(target, table, ranges, eps, dtype, method, approximation, rounding)
    return None


def _planned(
    target: Descent,
    table: RuleTable,
    ranges: Ranges,
    eps: float,
    dtype: str,
    method: str,
    approximation: float,
    rounding: float,
) -> DescentPlan:
    interval = (-ranges.residual, ranges.residual)
    printed = eps / (target.steps * target.rate * math.sqrt(target.features) * ranges.x)
    return DescentPlan(
        target=f"{target.steps} x gradient, {target.loss} loss, {target.samples} samples of {target.features} features",
        domain=interval,
        eps=eps,
        dtype=dtype,
        method=method,
        anchors=sum(head.keys for head in table.heads) * target.samples,
        heads=len(table.heads) + 2,
        layers=2 * target.steps,
        approximation=approximation,
        rounding=rounding,
        printed_anchors=(float(printed_steps(table.f, interval, printed)) + 1) * target.samples,
        descent=target,
        ranges=ranges,
        table=table,
    )


def load_descent(manifest: dict[str, Any], tensors: dict[str, Tensor]) -> DescentNetwork:
    """The network of a file; its table is proved again from the stored numbers."""
    certificate = Certificate.from_record(manifest["certificate"])
    given, method = dict(manifest["descent"]), manifest["method"]
    task = Descent(**given | {name: float.fromhex(given[name]) for name in ("rate", "l2")})
    ranges = Ranges(**{name: float.fromhex(size) for name, size in manifest["ranges"].items()})
    built = from_config(manifest["network"], tensors)
    heads = stored_heads(built.layers["rule"])  # type: ignore[arg-type]
    table = prove_heads(SLOPES[task.loss], heads, ranges, task.features + 2, certificate.dtype, method)
    parts = (certificate.approximation, certificate.rounding)
    plan = _planned(task, table, ranges, float.fromhex(manifest["eps"]), certificate.dtype, method, *parts)
    net = DescentNetwork(built, plan, certificate)
    assert net.certificate is certificate  # raises StaleCertificate if a tensor was altered
    return net
