"""What fails as printed around truncated linear models, measured, and its repair, measured beside it."""

from __future__ import annotations

import math

import numpy as np
import torch

from headsmith.compiler.compiled import Compiled
from headsmith.constructions import clip as rules
from headsmith.doors.compile import compile
from headsmith.papers.errata import Evidence, erratum
from headsmith.papers.universality.staircases import repaired_sentinels
from headsmith.proof.statement import Head
from headsmith.reference.scalar_head import attend
from headsmith.targets.prompt_clip import PromptClip
from headsmith.targets.routed_clip import RoutedClip

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
    "Thm 3.4, general G",
    printed="error max(|a|, |b|) eps_0 + (b - a)/p for any G: at a tie half is written into each row",
    repair="at least a margin away from the borders between rows, proved",
    where="constructions/routed.py",
)
def ties_between_rows() -> Evidence:
    """[-1, 1], p = 40 anchors in two rows by turns, eps_0 = 1e-3: the promise is 0.051."""
    p, eps = 40, 1e-3
    head = rules.staircase(-1, 1, p, math.log((p - 2) / eps))
    z = np.linspace(-1, 1, 40_001)
    weights = attend(z, head.slopes, head.offsets)
    out = np.stack([weights[:, row::2] @ head.values[row::2] for row in (0, 1)], 1)
    nearest = np.abs(z[:, None] - head.values).argmin(1) % 2
    truth = np.stack([np.where(nearest == row, z, 0.0) for row in (0, 1)], 1)
    before, promised = float(np.abs(out - truth).max()), eps + 2 / p
    routed = RoutedClip([[1.0]], [0.0], edges=[-0.5, 0.0, 0.5], into=[0, 1, 0, 1], margin=0.1)
    net = compile(routed, domain=(-1, 1), eps=0.05)
    [x] = net.target.sample(net.certificate.domain, 2000, torch.Generator().manual_seed(0))
    after = float(net.certify(x).max())
    return before, after, before > 0.45 > promised, after <= net.certificate.bound <= promised
