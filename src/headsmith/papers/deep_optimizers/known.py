"""Scores that are known without training: on linear targets ridge is right, and the context mean knows nothing.

The self-checks of the figures give them to learners of their choice and see whether the claims tell them apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from headsmith.lab.train.networks import ReluNetworks
from headsmith.papers.deep_optimizers import measured
from headsmith.papers.deep_optimizers.controls import closed_form, test_prompts
from headsmith.papers.deep_optimizers.frame import ATTENTIONS, PRESETS

__all__ = ["TOY", "linear_scores", "trains"]

TOY = PRESETS["smoke"] | {"steps": 2, "blocks": 1, "heads": 1, "tokens": 4, "width": 4, "batch": 2}
LINEAR = ReluNetworks(1, 2, 1)

Scores = dict[str, list[float | None]]


def linear_scores(examples: Sequence[int]) -> tuple[Scores, Scores]:
    """The scores of ridge and of the context mean on linear targets, at these numbers of examples."""
    test = test_prompts(LINEAR, 200, max(examples) + 1, 0, "cpu")
    tables: dict[str, Scores] = {"ridge": {}, "context mean": {}}
    for k in examples:
        for who, guess in closed_form(test, k, 1).items():
            for key, number in measured.scored(guess, test, k, 1).items():
                tables[who].setdefault(key, []).append(number)
    return tables["ridge"], tables["context mean"]


def trains() -> bool:
    """Whether a tiny transformer of either attention trains to finite losses."""
    fits = measured.train_all([measured.learner(TOY, kind, 3) for kind in ATTENTIONS], None)
    return all(done and bool(torch.isfinite(torch.tensor(fit.losses)).all()) for fit, done in fits)
