"""Figure 3: which keys the queries read, for |b - a| = 0.5, 1.5 and 3 (Thm 3.4: softmax close to one-hot).

n = p = 30, d = 10, beta = 30. The claim: a narrow range saturates nearly every token, so attention sits on the first
and the last anchor; a wide one lights up the keys between. The trained model follows the public code: keys and values
are Linear maps of the tokens, but the last key channel holds k (L_k + L_0) - 2 k t with t = 1, one value channel L_k.
The paper shows one seed; here are ten, and a head that looks everywhere alike has 2/30 of its attention on the ends.

(softmax-universality Figure 3.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from headsmith.lab.train.stacked import Repeated, squared
from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.papers.repeated import Fits, Study, means, spreads
from headsmith.papers.universality.trained import held_out, split
from headsmith.records import Record

PAPER = "softmax-universality"
TOKENS, FEATURES, HIDDEN, BETA, SHIFT = 30, 10, 11, 30.0, 1.0
WIDTHS = (0.5, 1.5, 3.0)
FIRST = 1234
EPOCHS = 100
UNIFORM = 2 / TOKENS
"""What a head that looks everywhere alike has on the two ends."""

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {"steps": 40, "samples": 320, "seeds": 2},
    "full": {"steps": EPOCHS * 25, "samples": 1000, "seeds": 10},
}
DRY = {"steps": 6, "samples": 40, "seeds": 2}


class AnchoredAttention(nn.Module):
    """softmax(beta keys . queries) values, one key channel and one value channel fixed to the anchors.

    Asked for the pattern instead, it answers (batch, queries, keys).
    """

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


@cache
def data(width: float, samples: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """x, y = Range(z) and z = w . x + 1 with one w for all tokens."""
    g = torch.Generator().manual_seed(seed)
    w = torch.randn(FEATURES, generator=g)
    x = 10 * torch.rand(samples, TOKENS, FEATURES, generator=g) - 5
    z = x @ w + SHIFT
    return x, z.clamp(-width / 2, width / 2)[..., None], z


def look(pattern: Tensor) -> list[float]:
    """The share of attention on the first and last key, and on the two keys that get most."""
    return [float(pattern[..., [0, -1]].sum(-1).mean()), float(pattern.topk(2).values.sum(-1).mean())]


def _seeds(settings: Mapping[str, Any]) -> list[int]:
    return list(range(FIRST, FIRST + settings["seeds"]))


def lessons(settings: Mapping[str, Any]) -> dict[str, Repeated]:
    """One training for each width."""
    return {f"|b - a| = {width:g}": _lesson(width, settings) for width in WIDTHS}


def _lesson(width: float, settings: Mapping[str, Any]) -> Repeated:
    samples, seeds = settings["samples"], _seeds(settings)

    def parts(seed: int) -> tuple[Tensor, ...]:
        return split(*data(width, samples, seed)[:2])

    return Repeated(
        {"figure": 3, "width": width, "samples": samples}, tuple(seeds), lambda _: AnchoredAttention(width),
        lambda seed: parts(seed)[:2], squared, settings["steps"], compiled=False,
        score=lambda stack: held_out(stack, [parts(seed)[2:] for seed in seeds]),
    )  # fmt: skip


def measured(settings: Mapping[str, Any], fits: Fits) -> dict[str, Any]:
    """Where the trained heads look on held-out samples, and how often a token is saturated."""
    trained, saturated = [], []
    for width, fit in zip(WIDTHS, fits.values(), strict=True):
        patterns, beyond = [], []
        for i, seed in enumerate(_seeds(settings)):
            x, _, z = data(width, settings["samples"], seed)
            cut = len(x) * 4 // 5
            model: Any = fit.model.part(i)  # type: ignore[operator]
            with torch.no_grad():
                patterns.append(model.pattern(x[cut:]))
            beyond.append(float((z[cut:].abs() >= width / 2).float().mean()))
        trained.append(seen(patterns) | {"errors": fit.scores[-1]})
        saturated.append(sum(beyond) / len(beyond))
    return {"steps": settings["steps"], "seeds": settings["seeds"], "widths": list(WIDTHS), "trained": trained,
            "saturated": saturated}  # fmt: skip


def seen(patterns: Sequence[Tensor]) -> dict[str, Any]:
    """Of the patterns of each seed: the first sample's, and the shares with their spread."""
    ends, two = zip(*map(look, patterns), strict=True)
    [mean], [spread], [top] = means([ends]), spreads([ends]), means([two])
    return {"pattern": patterns[0][0].tolist(), "ends": mean, "spread": spread, "two keys": top}


def outcome(m: dict[str, Any], settings: Mapping[str, Any]) -> Outcome:
    """Beside the trained heads that of Thm 3.4, on the same held-out tokens."""
    pattern = import_module("headsmith.papers.universality.constructed").anchored_pattern
    m["constructed"], rows = [], []
    for width, trained, saturated in zip(WIDTHS, m["trained"], m["saturated"], strict=True):
        built = [pattern(width, *_held(width, settings, seed)) for seed in _seeds(settings)]
        found = seen(built) | {"least two keys": min(float(p.topk(2).values.sum(-1).min()) for p in built)}
        m["constructed"].append(found)
        for kind, one in (("constructed", found), ("trained", trained)):
            shown = f"{one['ends']:.3f} ± {one['spread']:.3f}, on two keys {one['two keys']:.3f}"
            beside = f"uniform {UNIFORM:.3f}, saturated tokens {saturated:.3f}"
            rows.append(Row(f"|b - a| = {width:g}: attention on the ends, {kind}", None, shown, "not stated",
                            m["seeds"], beside))  # fmt: skip
        [error] = means([trained["errors"]])
        rows.append(Row(f"|b - a| = {width:g}: trained, held-out error", None, error, "not stated", m["seeds"]))
    return Outcome(m, rows)


def _held(width: float, settings: Mapping[str, Any], seed: int) -> tuple[Tensor, Tensor]:
    """The models w and the held-out tokens of a seed."""
    x = data(width, settings["samples"], seed)[0]
    w = torch.randn(FEATURES, generator=torch.Generator().manual_seed(seed))
    return w, x[len(x) * 4 // 5 :]


def _falls(found: Sequence[Mapping[str, Any]], margin: float) -> bool:
    return all(a["ends"] > b["ends"] + margin for a, b in pairwise(found))


def _when_trained(text: str, holds: Any) -> Claim:
    return Claim(text, lambda m: None if m["steps"] < EPOCHS * 25 else holds(m["trained"]))


CLAIMS = (
    Claim(
        "constructed: the wider the range, the less attention on the first and last key",
        lambda m: _falls(m["constructed"], 0.0),
    ),
    Claim("constructed: at |b - a| = 0.5 at least 95 % of it is there", lambda m: m["constructed"][0]["ends"] > 0.95),
    Claim(
        "constructed: two keys carry all but 1e-3 of every query",
        lambda m: min(found["least two keys"] for found in m["constructed"]) > 1 - 1e-3,
    ),
    _when_trained("trained: at |b - a| = 0.5 most of it is there", lambda found: found[0]["ends"] > 0.5),
    _when_trained(
        "trained: each wider range has less of it there, by more than uniform attention has (2/30)",
        lambda found: _falls(found, UNIFORM),
    ),
    _when_trained(
        "trained: attention is close to one-hot: two keys carry at least 90 % of it, at every width",
        lambda found: all(one["two keys"] >= 0.9 for one in found),
    ),
)


def picture(m: Mapping[str, Any]) -> Any:
    """Keys down, queries across."""
    return import_module("headsmith.views.universality").heatmaps(m)


STUDY = Study(PRESETS, DRY, lessons, measured, outcome)


def self_check() -> bool:
    """The verdicts on the constructed head are the known ones; nothing is trained."""
    blank = {"pattern": [[0.0]], "ends": 0.0, "spread": 0.0, "two keys": 0.0, "errors": [0.0]}
    m = {"steps": 0, "seeds": 1, "trained": [blank] * 3, "saturated": [0.0] * 3}
    made = outcome(m, {"samples": 40, "seeds": 1})
    return all(claim.verdict(made.measurements) == "holds" for claim in CLAIMS[:3])


@experiment(
    f"{PAPER}/figure-3", CLAIMS, presets=PRESETS, self_check=self_check, source=PAPER, where="Figure 3",
    pictures={"figure-3.png": picture},
)  # fmt: skip
def figure_3(settings: Mapping[str, Any], record: Record) -> Outcome:
    """Attention of the constructed head and of the trained models on the same held-out tokens."""
    return STUDY.here(settings, record)
