"""Truncated linear models whose weights are in the prompt: one frozen network for every w and t.

    net(x, w, t)[..., i] = Range_[low, high](w . x_i + t_i)

The prompt's tokens are (x_i, w, t_i). An affine layer writes one token for each anchor k next to them, with slope_k w
in it, so that the score of anchor k at token i is slope_k (w . x_i + t_i) + offset_k: a query (x_i, t_i, 1) meets a key
(slope_k w, slope_k, offset_k), and the anchors' values are constants. As printed, t enters the keys of the first token
with the factor -1 instead of -2, which halves it, and the t of every other token is lost.

(softmax-universality Thm D.1 = Thm G.25, repaired.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from flint import arb
from torch import Tensor

from headsmith.compiler.compiled import Compiled, accept, fingerprint
from headsmith.compiler.plan import Plan
from headsmith.compiler.requests import read_domain, read_dtype, read_eps, read_method
from headsmith.compiler.scalar import Short, Task, solve
from headsmith.functions import precision
from headsmith.functions.balls import ceil_float
from headsmith.heads.clip import printed, printed_size
from headsmith.network import Affine, Attention, Network, Select, Sparse, from_config
from headsmith.proof.approximation import Unprovable, prove
from headsmith.proof.certificate import SLACK, Certificate
from headsmith.proof.rounding import FORMATS, prove_rounding
from headsmith.proof.statement import Head, Part
from headsmith.records.shown import number, upper
from headsmith.refusal import Refusal
from headsmith.targets.clip import LARGEST
from headsmith.targets.clip_network import range_of
from headsmith.targets.formula import check_domain
from headsmith.targets.kinds import PromptClip

METHODS = ("auto", "table", "printed")


def reach(target: PromptClip, domain: tuple[float, float]) -> float:
    """|w . x_i + t_i| is at most this, and so is the sum of its terms' absolute values."""
    return math.nextafter(
        target.features * target.weight * max(map(abs, domain)) * (1 + 1e-12) + target.shift, math.inf
    )


@dataclass(frozen=True, repr=False)
class PromptClipPlan(Plan):
    clip: PromptClip
    head: Head

    def build(self) -> PromptClipNetwork:
        built = assemble(self.clip, self.head, getattr(torch, self.dtype), literal=self.method == "printed")
        return PromptClipNetwork(built, self, _certificate(self, fingerprint(built)))


def _certificate(plan: PromptClipPlan, weights: str) -> Certificate:
    clip, (lo, hi) = plan.clip, plan.domain
    return Certificate(
        plan.approximation,
        plan.rounding,
        "proved",
        f"|network(x, w, t)_i - Range_[{clip.low:g}, {clip.high:g}](w . x_i + t_i)| <= bound for every {plan.dtype} x "
        f"in [{number(lo, 6)}, {number(hi, 6)}], |w| <= {clip.weight:g}, |t| <= {clip.shift:g}",
        plan.domain,
        plan.dtype,
        weights,
    )


class PromptClipNetwork(Compiled):
    """net(x, w, t) within net.certificate.bound of Range(w . x_i + t_i), for every w and t inside their bounds."""

    kind = "prompt-clip"
    plan: PromptClipPlan

    def encode(self, x: Tensor, w: Tensor, t: Tensor) -> Tensor:  # type: ignore[override]
        """Tokens (x_i, w, t_i)."""
        return torch.cat([x, w[..., None, :].expand_as(x), t[..., None]], -1)

    def decode(self, tokens: Tensor) -> Tensor:
        return tokens[..., 0]

    def forward(self, x: Any, w: Any, t: Any) -> Tensor:
        clip, device = self.plan.clip, next(self.network.parameters()).device
        x, w, t = (accept(v, self.dtype, device) for v in (x, w, t))
        n, d = clip.tokens, clip.features
        if x.shape[-2:] != (n, d) or w.shape[-1:] != (d,) or t.shape[-1:] != (n,):
            raise Refusal(f"the prompt needs x (batch..., {n}, {d}), w (batch..., {d}) and t (batch..., {n})")
        check_domain(x, self.plan.domain)
        check_domain(w, (-clip.weight, clip.weight))
        check_domain(t, (-clip.shift, clip.shift))
        return self.decode(self.network(self.encode(x, w, t)))

    def certify(self, x: Any, w: Any, t: Any) -> Tensor:
        """|net(x, w, t) - target| for this very prompt, in ball arithmetic and rounded up."""
        y = self(x, w, t).detach().cpu().double()
        clip = self.plan.clip
        x, w, t = (torch.as_tensor(v, dtype=torch.float64) for v in (x, w, t))
        d = clip.features
        points, weights = x.reshape(-1, d), w[..., None, :].expand_as(x).reshape(-1, d)
        rows = zip(*(v.tolist() for v in (points, weights, t.reshape(-1), y.reshape(-1))), strict=True)
        with precision(128):
            errors = []
            for point, weight, shift, out in rows:
                z = sum((arb(a) * b for a, b in zip(weight, point, strict=True)), arb(shift))
                errors.append(ceil_float(abs(z.max(arb(clip.low)).min(arb(clip.high)) - out)))
        return torch.tensor(errors, dtype=torch.float64).reshape(y.shape)

    def reprove(self) -> Certificate:
        """The certificate, proved again from the numbers that the network holds now."""
        literal = self.plan.method == "printed"
        head = read_head(self.network, self.plan.clip, literal)
        approximation, rounding = _proved(
            self.plan.clip, head, self.plan.domain, self.plan.eps, self.plan.dtype, literal
        )
        again = PromptClipPlan(
            **{**self.plan.__dict__, "approximation": approximation, "rounding": rounding, "head": head}
        )
        return _certificate(again, fingerprint(self.network))

    def extra_manifest(self) -> dict[str, Any]:
        clip = self.plan.clip
        return {
            "eps": self.plan.eps.hex(),
            "method": self.plan.method,
            "printed_anchors": self.plan.printed_anchors.hex(),
            "tokens": clip.tokens,
            "features": clip.features,
            "bounds": [float(v).hex() for v in (clip.low, clip.high, clip.weight, clip.shift)],
        }


def plan_prompt_clip(
    target: PromptClip, *, eps: Any, domain: Any, dtype: Any = "float64", method: str = "auto"
) -> PromptClipPlan:
    """One head of constant values; its keys are written by the prompt."""
    eps, dtype, method = read_eps(eps), read_dtype(dtype), read_method(method, METHODS)
    if domain is None:
        raise Refusal("a clip in the prompt needs a domain for the features of x, such as domain=(-3, 3)")
    domain = read_domain(domain, dtype)
    low, high, size = target.low, target.high, reach(target, domain)
    p = printed_size(low, high, eps, target.tokens)

    def made(head: Head, method: str, approximation: float, rounding: float) -> PromptClipPlan:
        return PromptClipPlan(
            repr(target), domain, eps, dtype, method, head.keys, 1, 1, approximation, rounding, float(p), target, head
        )  # fmt: skip

    if method == "printed":
        if p > LARGEST:
            raise Refusal(
                f"the printed rule asks for {p:,} anchors; heads of up to {LARGEST:,} are built: use method='auto'"
            )
        head = printed(low, high, p, eps).cast(dtype)
        return made(head, "printed", *_proved(target, head, domain, eps, dtype, literal=True))
    best = math.inf
    for share in (0.9, 0.5, 0.3, 0.15):  # a smaller share leaves more of eps to the rounding of long scores
        try:
            proof, _ = solve(Task(range_of(low, high), (-size, size), share * eps, dtype, may_bias=False), "table")
        except Short:
            break
        [head] = proof.part.heads
        approximation, rounding = _proved(target, head, domain, eps, dtype)
        if approximation + rounding <= eps:
            return made(head, "table", approximation, rounding)
        best = min(best, approximation + rounding)
    other = ", less with dtype='float64'" if dtype == "float32" else ""
    tail = f"eps = {upper(1.2 * best)} can be had{other}" if math.isfinite(best) else "try a larger eps"
    raise Refusal(f"{target} within {number(eps)} in {dtype} cannot be certified; {tail}")


def _proved(
    target: PromptClip, head: Head, domain: tuple[float, float], eps: float, dtype: str, literal: bool = False
) -> tuple[float, float]:
    """Scores are dot products of d + 2 terms, and slope_k w is rounded once more.

    The printed map reads t_0/2 where t_i should stand, which costs up to 3/2 of the shift, Range being 1-Lipschitz.
    """
    size = reach(target, domain)
    part = Part("x", "out", range_of(target.low, target.high), (-size, size), (head,))
    kinks = (target.low, target.high)
    try:
        lost = min(1.5 * target.shift, target.high - target.low) if literal else 0.0
        approximation = prove(part, 1e-2 * eps, kinks).bound + lost
    except Unprovable as reason:
        raise Refusal(f"the stored head cannot be proved: {reason}") from None
    rounding = prove_rounding(part, FORMATS[dtype], 2e-3 * eps, terms=target.features + 3, reach=size).bound
    return math.nextafter(approximation * SLACK, math.inf), math.nextafter(rounding * SLACK, math.inf)


def assemble(clip: PromptClip, head: Head, dtype: torch.dtype, literal: bool = False) -> Network:
    """embed: prompt tokens and, from token 0, one token for each anchor; then one head over the anchors.

    `literal` is the printed map: t_0 in every key at half its weight, and no t in the query.
    """
    n, d, p = clip.tokens, clip.features, head.keys
    width = 2 * d + 5  # x, t, one | slope w, slope, offset, value
    T, ONE, KEY, SLOPE, OFFSET, VALUE = d, d + 1, d + 2, 2 * d + 2, 2 * d + 3, 2 * d + 4
    index = torch.zeros(n + p, width, 1, dtype=torch.long)
    scale, bias = torch.zeros(n + p, width, 1, dtype=torch.float64), torch.zeros(n + p, width, dtype=torch.float64)
    index[:, :d, 0] = torch.arange(d)
    index[:, KEY : KEY + d, 0] = torch.arange(d, 2 * d)
    index[:, [T, OFFSET], 0] = 2 * d
    scale[:n, :d], bias[:n, ONE] = 1.0, 1.0
    slopes, offsets, values = (torch.tensor(v) for v in (head.slopes, head.offsets, head.values))
    scale[n:, KEY : KEY + d, 0] = slopes[:, None]
    bias[n:, OFFSET], bias[n:, VALUE] = offsets, values
    if literal:
        scale[n:, OFFSET, 0] = slopes / 2
    else:
        scale[:n, T], bias[n:, SLOPE] = 1.0, slopes
    seen = (torch.arange(n + p) >= n).expand(n + p, n + p)
    layers = {
        "embed": Affine(Sparse(index, scale.to(dtype), 2 * d + 1), bias.to(dtype), [*range(n), *[0] * p]),
        "range": Attention(
            Select([[*range(d + 2)]], width), Select([[*range(KEY, VALUE)]], width), Select([[VALUE]], width),
            Select.writing([[0]], 1), visible=seen,
        ),
        "read": Affine(Select([0], features=1), None, range(n)),
    }  # fmt: skip
    names = [*(f"x.{j}" for j in range(d)), "t", "one", *(f"key.{j}" for j in range(d)), "slope", "offset", "value"]
    return Network(layers, tokens=[f"token.{i}" for i in range(n)], features=names)


def read_head(network: Network, clip: PromptClip, literal: bool = False) -> Head:
    """The table that the stored anchors hold; refused if the prompt enters a key in any other way."""
    embed: Any = network.layers["embed"]
    n, d = clip.tokens, clip.features
    scale, bias = embed.map.coefficient.detach().double(), embed.bias.detach().double()
    head = Head.table(scale[n:, d + 2, 0], bias[n:, -2], bias[n:, -1])
    again: Any = assemble(clip, head, embed.bias.dtype, literal).layers["embed"]
    if not (torch.equal(again.map.coefficient, embed.map.coefficient) and torch.equal(again.bias, embed.bias)):
        raise Refusal("the stored prompt map is not the one that the proof is about")
    return head


def load_prompt_clip(manifest: dict[str, Any], tensors: dict[str, Tensor]) -> PromptClipNetwork:
    """The network of a file, with the certificate that was proved for it."""
    certificate, read = Certificate.from_record(manifest["certificate"]), float.fromhex
    built = from_config(manifest["network"], tensors)
    clip = PromptClip(manifest["tokens"], manifest["features"], *map(read, manifest["bounds"]))
    head = read_head(built, clip, manifest["method"] == "printed")
    plan = PromptClipPlan(
        repr(clip), certificate.domain, read(manifest["eps"]), certificate.dtype, manifest["method"], head.keys, 1, 1,
        certificate.approximation, certificate.rounding, read(manifest["printed_anchors"]), clip, head,
    )  # fmt: skip
    net = PromptClipNetwork(built, plan, certificate)
    assert net.certificate is certificate  # raises StaleCertificate if a tensor was altered
    return net
