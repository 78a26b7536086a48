"""From settings to numbers: the transformers of figure 1 and their controls, and how many tags each gets right.

The paper prints curves for 1, 3 and 6 layers, batches of 32 and no layer norm. It does not say how wide tokens and
feed-forward layers are, which optimiser trains at which rate, whether words are cut into pieces or positions given.
Chosen here: whole words, learned positions, Adam at one rate for all epochs, gradients clipped at 1, padding neither
seen nor counted. The measurements are plain numbers: claims, table and picture read nothing else.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from headsmith.doors.labelled import Labelled
from headsmith.lab.train.rank_one import RankOneShape
from headsmith.lab.train.taggers import Corpus, Tagger, right
from headsmith.lab.train.training import Fit
from headsmith.papers.low_rank_memorization.ceilings import ambiguous, ceilings

__all__ = ["ATTENTIONS", "PARTS", "called", "mean", "measure", "scorer", "taggers"]

Settings = Mapping[str, Any]
Scoring = Callable[[nn.Module], list[float]]
ATTENTIONS = {
    "rank-1": "rank-1 attention", "mean": "mean pooling", "none": "no attention", "full": "full-rank attention",
}  # fmt: skip
PARTS = ("all", "context")
"""Which words are counted: all, or those whose word and position carry more than one tag."""


def called(kind: str, blocks: int) -> str:
    """What a transformer is called.

    >>> called("rank-1", 3)
    'rank-1 attention, 3 layers'
    """
    return f"{ATTENTIONS[kind]}, {blocks} layer{'s' * (blocks > 1)}"


def taggers(settings: Settings, data: Labelled) -> dict[str, list[Tagger]]:
    """By name, one for each seed: rank 1 at every depth first, then the controls at theirs."""
    corpus = Corpus.of(data.sequences, data.labels)
    depths = {kind: settings["depths" if kind == "rank-1" else "controls"] for kind in ATTENTIONS}
    made = {key: settings[key] for key in ("epochs", "rate", "batch")}
    return {
        called(kind, blocks): [
            Tagger(RankOneShape(blocks, settings["width"], settings["hidden"], kind), corpus, seed=seed, **made)
            for seed in range(settings["seeds"])
        ]
        for kind in ATTENTIONS
        for blocks in depths[kind]
    }


def scorer(corpus: Corpus, data: Labelled) -> Scoring:
    """The share of right tags of a model, for each of PARTS."""
    needed = torch.zeros_like(corpus.there)
    for row, flags in zip(needed, ambiguous(data), strict=True):
        row[: len(flags)] = torch.tensor(flags)
    masks = [corpus.there, needed]

    def score(model: nn.Module) -> list[float]:
        found = right(model, corpus)
        return [_share(found, mask) for mask in masks]

    return score


def _share(found: Tensor, among: Tensor) -> float:
    return int((found & among).sum()) / max(1, int(among.sum()))


def measure(settings: Settings, data: Labelled, train: Callable[[Tagger, Scoring], Fit]) -> dict[str, Any]:
    """The measurements; `train(tagger, score)` trains, continues or reads back."""
    named, needed = taggers(settings, data), ambiguous(data)
    some = next(iter(named.values()))[0]
    score, curves, parameters = scorer(some.corpus, data), {}, {}
    for name, seeds in named.items():
        fits = [train(tagger, score) for tagger in seeds]
        curves[name] = {part: [[share[i] for share in fit.scores] for fit in fits] for i, part in enumerate(PARTS)}
        curves[name]["loss"] = [fit.losses for fit in fits]
        parameters[name] = sum(p.numel() for p in fits[0].model.parameters())
    return {
        "sentences": len(data.sequences), "words": data.tokens, "context": sum(map(sum, needed)),
        "types": int(some.corpus.words.max()) + 1, "epochs": settings["epochs"], "steps": some.steps,
        "seeds": settings["seeds"], "depths": list(settings["depths"]), "controls": list(settings["controls"]),
        "at": [step * some.batch / len(data.sequences) for step in fits[0].steps], "curves": curves,
        "parameters": parameters, "ceilings": {"all": ceilings(data), "context": ceilings(data, needed)},
    }  # fmt: skip


def mean(values: list[float]) -> tuple[float, float]:
    """(mean over seeds, its standard error).

    >>> mean([0.75, 0.75, 0.75])
    (0.75, 0.0)
    """
    if len(values) < 2:
        return values[0], math.nan
    return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))
