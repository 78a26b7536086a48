"""What fails as printed around truncated linear models, measured, and its repair, measured beside it."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from headsmith.compiler.compiled import Compiled
from headsmith.constructions import clip as rules
from headsmith.constructions.gate import gate
from headsmith.doors.compile import compile
from headsmith.papers.errata import Evidence, erratum
from headsmith.papers.universality.staircases import printed_rule, repaired_sentinels
from headsmith.proof.rounding import FORMATS, head_rounding
from headsmith.proof.statement import Head
from headsmith.targets.prompt_clip import PromptClip

PAPER = "softmax-universality"


def _sup(heads: list[Head], low: float, high: float, beyond: float = 1.0) -> float:
    z = np.linspace(low - beyond, high + beyond, 20_001)
    return float(np.abs(sum(head(z) for head in heads) - np.clip(z, low, high)).max())


@erratum(
    PAPER,
    "Thm 3.9, sentinels (E1)",
    printed="the outermost sentinels carry 0",
    repair="they carry a and b; or telescope",
    where="constructions/clip.py",
)
def zero_sentinels() -> Evidence:
    """[a, b] = [-1, 2]: the printed heads return 0 outside, an error of max(|a|, |b|) for every H."""
    before = min(_sup(rules.sentinels(-1, 2, 6, H, 1e-3), -1, 2) for H in (4, 16))
    after = _sup(repaired_sentinels(-1, 2, 6, 16, 1e-3), -1, 2)
    return before, after, before > 1.99, after < 3 / (4 * 16)


@erratum(
    PAPER,
    "Thm 3.9, size",
    printed="H = 2 (b - a)/(eps (n - 2)) heads",
    repair="telescoping, c = 5.43: 0.064 (b - a)/(eps (n - 1))",
    where="constructions/clip.py",
)
def too_many_heads() -> Evidence:
    before = rules.sentinel_size(-1, 2, 10, 1e-3)
    after = rules.telescope_size(-1, 2, 10, 1e-3)
    return before, after, before >= 750, after <= 27 and _sup(rules.telescope(-1, 2, 10, after), -1, 2) < 1e-3


@erratum(
    PAPER,
    "Def 3.3, the end b",
    printed="L_k = a + k (b - a)/p, k < p: b is no anchor, error dL",
    repair="both ends are anchors: 0.0615 dL",
    where="constructions/clip.py",
)
def missing_end() -> Evidence:
    p = 32
    before, after = _sup([printed_rule(-1, 1, p)], -1, 1) * p / 2, _sup([rules.uniform(-1, 1, p)], -1, 1) * p / 2
    return before, after, before > 0.99, after < 0.066


@erratum(
    PAPER,
    "Thm G.25, -kt (E5)",
    printed="-1 on k t halves the bias, and only the first token's t is read",
    repair="-2, and t_i in the query",
    where="constructions/prompt_keys.py",
)
def half_of_t() -> Evidence:
    clip, g = PromptClip(4, 2), torch.Generator().manual_seed(0)
    x, w = (2 * torch.rand(200, *shape, dtype=torch.float64, generator=g) - 1 for shape in ((4, 2), (2,)))
    t = 2 * torch.rand(200, 4, dtype=torch.float64, generator=g) - 1
    exact = ((x * w[:, None]).sum(-1) + t).clamp(-1, 1)

    def error(net: Compiled) -> float:
        return float((net(x, w, t) - exact).abs().max())

    printed = [compile(clip, eps=eps, domain=(-1, 1), method="printed") for eps in (0.5, 0.25)]
    before = min(map(error, printed))
    after = error(compile(clip, eps=1e-2, domain=(-1, 1)))
    return before, after, before > 0.9, after < 1e-2


@erratum(
    PAPER,
    "(G.66), the gradient (E4)",
    printed="dl/dw_r as a function of w.x and y alone",
    repair="x_r in the value: two gate heads",
    where="constructions/gate.py",
)
def lost_factor() -> Evidence:
    """Squared loss, d = 3: the best function of (w.x, y) leaves much of the variance; 2/alpha (gate - gate) none."""
    g = np.random.default_rng(0)
    x, w = g.uniform(-1, 1, (200_000, 3)), np.array([0.6, -0.5, 0.4])
    s = x @ w
    y = s + 0.5 * g.normal(size=len(s))
    truth = (s - y) * x[:, 0]
    cells = np.digitize(s, np.linspace(-1.5, 1.5, 60)) * 100 + np.digitize(y, np.linspace(-2.5, 2.5, 60))
    sums, counts = np.bincount(cells, truth), np.bincount(cells)
    before = float(((truth - (sums / np.maximum(counts, 1))[cells]) ** 2).sum() / (truth**2).sum())
    alpha, r = 1e-3, (s - y)[:1000]
    unit = gate((alpha, 0.0), (0.0, 1.0)), gate((-alpha, 0.0), (0.0, 1.0))  # sigmoid(+-alpha r), value 1
    ours = 2 / alpha * (unit[0](r) - unit[1](r)) * x[:1000, 0]
    after = float(((truth[:1000] - ours) ** 2).sum() / (truth[:1000] ** 2).sum())
    return before, after, before > 0.15, after < 1e-8


@erratum(
    PAPER,
    "Thm 3.4, case ii (B2)",
    printed="needs dL <= M eps_0 / 2, which Cor G.6's own sizes violate",
    repair="a mixture of two neighbours is within dL/2",
    where="constructions/clip.py",
)
def corollary_sizes() -> Evidence:
    """Cor G.6 has eps_0 = eps/(2 M), dL = eps/2; the proof wants dL <= eps/4. The corollary is true all the same."""
    eps = 0.1
    p = rules.printed_size(-1, 1, eps)
    before = (2 / p) / (eps / 4)
    after = _sup([rules.printed(-1, 1, p, eps)], -1, 1) / eps
    return before, after, before > 1, after <= 1


@erratum(
    PAPER,
    "(G.55), Lipschitz (B4)",
    printed="softmax_beta moves by at most the change of its scores",
    repair="by tanh(beta range/4): slope beta/2 in the 1-norm",
    where="proof/stack.py",
)
def softmax_slope() -> Evidence:
    beta, step = 40.0, 1e-3
    scores = torch.tensor([[0.0, 0.0], [step, -step]], dtype=torch.float64)
    p = torch.softmax(beta * scores, -1)
    moved = float((p[1] - p[0]).abs().max())
    bound = math.tanh(beta * 2 * step / 4)
    return moved / step, moved / bound, moved > step, moved <= bound * (1 + 1e-9)


@erratum(
    PAPER,
    "Thm 3.9, shapes (B8)",
    printed="any n: n - 2 anchors a head",
    repair="n >= 3, else pad; telescoping heads need n >= 2",
    where="constructions/clip.py",
)
def two_tokens() -> Evidence:
    """With n = 2 tokens a head has no anchor between its sentinels; two telescoping anchors work."""
    before = 2 - 2
    after = _sup(rules.telescope(-1, 1, 2, 8), -1, 1)
    return before, after, before < 1, after < 0.0625 * 2 / 8


@erratum(
    PAPER,
    "float32 (N3)",
    printed="scores of size c p^2/4 whose neighbours differ by c",
    repair="telescoping heads only see c (n - 1)^2/4",
    where="constructions/clip.py",
)
def cancellation() -> Evidence:
    """p = 4096 keys in one head against 64 heads of 65: proved rounding in float32, in units of dL."""
    fmt, p = FORMATS["float32"], 4096
    one = rules.uniform(-1, 1, p + 1).cast("float32")
    many = [h.cast("float32") for h in rules.telescope(-1, 1, 65, 64)]
    before = head_rounding(one, 0.9371, 0.0, fmt) * p / 2
    after = max(head_rounding(h, 0.9371, 0.0, fmt) for h in many) * p / 2
    return before, after, before > 1, after < before / 3


@erratum(
    PAPER,
    "sharpness (N4)",
    printed="beta = 2 p^2 ln(p(p-2))/(b-a)^2: slope c/4 where two anchors tie",
    repair="c = 5.43: slope 1.4",
    where="constructions/clip.py",
)
def steep() -> Evidence:
    """The largest slope of a head that approximates a function of slope 1, p = 200."""
    z = np.linspace(-0.02, 0.02, 4001)
    slopes = [float(np.diff(h(z)).max() / (z[1] - z[0])) for h in (printed_rule(-1, 1, 200), rules.uniform(-1, 1, 200))]
    return slopes[0], slopes[1], slopes[0] > 4, slopes[1] < 1.5


@erratum(
    PAPER,
    "App I, layer 3 (N5)",
    printed="beta must be kept small against overflow",
    repair="gates saturate: beta = 1e9 is harmless",
    where="constructions/gate.py",
)
def saturating_gates() -> Evidence:
    """exp(beta s) by itself overflows; softmax over yourself and a null token, its maximum subtracted, does not."""
    beta, z = 1e9, np.linspace(-10, 10, 4001)
    with np.errstate(over="ignore", invalid="ignore"):
        naive = z * np.exp(beta * z) / (np.exp(beta * z) + 1)
    before = float(np.isnan(naive).mean())
    after = float(np.abs(gate((beta, 0.0), (1.0, 0.0))(z) - np.maximum(z, 0)).max())
    return before, after, before > 0.4, after <= 0.2785 / beta


@erratum(
    PAPER,
    "App H, any activation",
    printed="ReLU by anchors on a bounded set: O(1/p)",
    repair="gates: SiLU exactly, ReLU at any eps",
    where="targets/perceptron.py",
)
def gates_for_units() -> Evidence:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)).eval()
    net = compile(model, eps=1e-6, domain=(-1, 1))
    x = torch.rand(200, 3, dtype=torch.float64) * 2 - 1
    with torch.no_grad():
        after = float((net(x) - model.double()(x)).abs().max())
    p = rules.printed_size(0.0, 2.0, 1e-6)
    return p, after, p > 1e6, after <= net.certificate.bound and net.plan.anchors == 16
