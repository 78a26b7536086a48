"""Figure 3: which keys the queries read, for |b - a| = 0.5, 1.5 and 3 (Thm 3.4: softmax close to one-hot).

n = p = 30, d = 10, beta = 30. The claim: a narrow range saturates nearly every token, so attention sits on the first
and the last anchor; a wide one lights up the keys between. The trained model follows the public code: keys and values
are Linear maps of the tokens, but the last key channel holds k (L_k + L_0) - 2 k t with t = 1, one value channel L_k.

(softmax-universality Figure 3.)
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from headsmith.constructions.clip import smoother
from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.papers.universality.trained import split, train
from headsmith.records import Record
from headsmith.views.universality import heatmaps

PAPER = "softmax-universality"
TOKENS, FEATURES, HIDDEN, BETA, SHIFT = 30, 10, 11, 30.0, 1.0
WIDTHS = (0.5, 1.5, 3.0)
SEED = 1234

PRESETS = {
    "smoke": {"epochs": 5, "samples": 320},
    "full": {"epochs": 100, "samples": 1000},
}


class AnchoredAttention(nn.Module):
    """softmax(beta keys . queries) values, one key channel and one value channel fixed to the anchors."""

    keys: Tensor
    anchors: Tensor

    def __init__(self, width: float) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(FEATURES, HIDDEN) for _ in range(3))
        self.read = nn.Linear(HIDDEN, 1)
        anchors = torch.linspace(-width / 2, width / 2, TOKENS)
        k = torch.arange(TOKENS)
        self.register_buffer("anchors", anchors)
        self.register_buffer("keys", k * (anchors + anchors[0]) - 2 * k * SHIFT)

    def pattern(self, x: Tensor) -> Tensor:
        """(batch, queries, keys)."""
        key = torch.cat([self.k(x)[..., :-1], self.keys[:, None].expand(len(x), -1, 1)], -1)
        return torch.softmax(BETA * self.q(x) @ key.mT / HIDDEN, -1)

    def forward(self, x: Tensor) -> Tensor:
        value = torch.cat([self.v(x)[..., :-1], self.anchors[:, None].expand(len(x), -1, 1)], -1)
        return self.read(self.pattern(x) @ value)


def data(width: float, samples: int) -> tuple[Tensor, Tensor, Tensor]:
    g = torch.Generator().manual_seed(SEED)
    w = torch.randn(FEATURES, generator=g)
    x = 10 * torch.rand(samples, TOKENS, FEATURES, generator=g) - 5
    z = x @ w + SHIFT
    return x, z.clamp(-width / 2, width / 2)[..., None], z


def ends(pattern: np.ndarray) -> float:
    """The share of attention on the first and the last key."""
    return float(pattern[..., [0, -1]].sum(-1).mean())


def constructed(width: float, z: np.ndarray) -> np.ndarray:
    """The pattern (queries, keys) of Thm 3.4's head, both ends anchors, sharp as c = 20."""
    anchors = np.linspace(-width / 2, width / 2, TOKENS)
    step = anchors[1] - anchors[0]
    head = smoother(anchors, anchors, 20 / step**2)
    scores = z[:, None] * head.slopes + head.offsets
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


CLAIMS = (
    Claim(
        "constructed: the wider the range, the less attention on the first and last key",
        lambda m: all(a["ends"] > b["ends"] for a, b in pairwise(m["constructed"])),
    ),
    Claim("constructed: at |b - a| = 0.5 at least 95 % of it is there", lambda m: m["constructed"][0]["ends"] > 0.95),
    Claim("constructed: two keys carry all but 1e-3 of every query", lambda m: m["two keys"] > 1 - 1e-3),
    Claim(
        "trained: at |b - a| = 0.5 most of it is there",
        lambda m: None if m["epochs"] < 100 else m["trained"][0]["ends"] > 0.5,
    ),
    Claim(
        "trained: the wider the range, the less attention on the first and last key",
        lambda m: None if m["epochs"] < 100 else all(a["ends"] > b["ends"] for a, b in pairwise(m["trained"])),
    ),
)


def self_check() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        outcome = figure_3.run({"epochs": 1, "samples": 40}, Record(folder, {"kind": "figure-3"}))
        return all(claim.verdict(outcome.measurements) == "holds" for claim in CLAIMS[:3])


@experiment(
    f"{PAPER}/figure-3",
    CLAIMS,
    presets=PRESETS,
    self_check=self_check,
    source=PAPER,
    where="Figure 3",
    pictures={"figure-3.png": heatmaps},
)
def figure_3(settings: Mapping[str, Any], record: Record) -> Outcome:
    """Attention of the constructed head and of the trained model on the same held-out tokens."""
    found: dict[str, list[dict[str, Any]]] = {"constructed": [], "trained": []}
    rows, least = [], 1.0
    for width in WIDTHS:
        x, y, z = data(width, settings["samples"])
        held = split(x, y)
        torch.manual_seed(SEED)
        model = AnchoredAttention(width)
        score = train(model, held, settings["epochs"] * len(held[0]) // 32 + 1, SEED, record, f"width-{width}")
        test = z[len(held[0]) :].double().numpy()
        built = np.stack([constructed(width, row) for row in test])
        with torch.no_grad():
            learned = model.pattern(held[2]).double().numpy()
        for name, pattern in (("constructed", built), ("trained", learned)):
            found[name].append({"pattern": pattern[0].tolist(), "ends": ends(pattern)})
        least = min(least, float(np.sort(built, -1)[..., -2:].sum(-1).min()))
        saturated = float((np.abs(test) >= width / 2).mean())
        first, second = found["constructed"][-1]["ends"], found["trained"][-1]["ends"]
        name = f"|b - a| = {width:g}: attention on the ends"
        rows.append(Row(f"{name}, beside it the share of saturated tokens", None, first, "not stated", None, saturated))
        rows.append(Row(f"{name}, trained, beside it its held-out error", None, second, "not stated", 1, score))
    return Outcome({"epochs": settings["epochs"], "widths": list(WIDTHS), "two keys": least, **found}, rows)
