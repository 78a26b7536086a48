"""What Tables 2 and 3 have in common: one frozen model for lasso, ridge and linear regression, and a model for each.

The four models of a seed are of one shape and train for as long, so that all models of all seeds are one stack: replica
4 s + k has seed s and sees the algorithm k - 1, or for k = 0 all three in turn. (algorithm-emulation App C.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from headsmith.papers.emulation.trained import ENOUGH
from headsmith.papers.registry import Claim, Row, beyond
from headsmith.papers.repeated import means, spreads

ALGORITHMS = ("lasso", "ridge", "linear")
ROLES = ("frozen", *ALGORITHMS)
Printed = Mapping[str, Mapping[str, tuple[Any, Any]]]


def replicas(seeds: int) -> tuple[int, ...]:
    """The numbers of all replicas."""
    return tuple(range(len(ROLES) * seeds))


def role(replica: int) -> tuple[int, tuple[int, ...]]:
    """Seed of a replica, and which algorithms it sees.

    >>> role(4), role(7)
    ((1, (0, 1, 2)), (1, (2,)))
    """
    seed, kind = divmod(replica, len(ROLES))
    return seed, tuple(range(len(ALGORITHMS))) if kind == 0 else (kind - 1,)


def compared(scores: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Of the errors (replicas, algorithms): mean and spread of the frozen model and of the models for one algorithm."""
    count = len(ROLES)
    frozen = [[row[k] for row in scores[::count]] for k in range(len(ALGORITHMS))]
    own = [[row[k] for row in scores[k + 1 :: count]] for k in range(len(ALGORITHMS))]
    return {
        "algorithms": list(ALGORITHMS), "frozen": means(frozen), "frozen spread": spreads(frozen),
        "baseline": means(own), "baseline spread": spreads(own), "scores": [list(row) for row in scores],
    }  # fmt: skip


def rows(m: Mapping[str, Any], printed: Printed, beside: Sequence[str]) -> list[Row]:
    """Print and ours of both kinds of models."""
    return [
        Row(f"{kind}, {a}", "{} ± {}".format(*printed[kind][a]), f"{m[kind][i]:.4g} ± {m[f'{kind} spread'][i]:.2g}",
            "not stated", m["seeds"], beside[i])
        for kind in ("baseline", "frozen") for i, a in enumerate(ALGORITHMS)
    ]  # fmt: skip


def when_trained(text: str, holds: Any) -> Claim:
    """A claim about trained models, open while they are short of steps or of seeds."""
    return Claim(text, lambda m: None if m["steps"] < m.get("enough", ENOUGH) or m["seeds"] < 2 else holds(m))


def _no_worse(*algorithms: str) -> Any:
    """Whether the frozen model is nowhere above the model for the algorithm by more than two standard errors."""

    def holds(m: Mapping[str, Any]) -> bool:
        scale = 1 / math.sqrt(m["seeds"])
        at = [ALGORITHMS.index(a) for a in algorithms]
        values = {kind: [(m[kind][i], scale * m[f"{kind} spread"][i]) for i in at] for kind in ("frozen", "baseline")}
        return not any(beyond(a, b) for a, b in zip(values["frozen"], values["baseline"], strict=True))

    return holds


def as_well(ridge: str) -> tuple[Claim, Claim]:
    """The frozen model does as well as a model for each algorithm: where the print says so, and on ridge."""
    return (
        when_trained(
            "on lasso and linear regression one frozen model is no worse than a model for each",
            _no_worse("lasso", "linear"),
        ),
        when_trained(f"on ridge too (so the text; the printed numbers: {ridge})", _no_worse("ridge")),
    )


def picture(m: Mapping[str, Any]) -> Any:
    """Errors by algorithm."""
    return import_module("headsmith.views.machines").bars(m)
