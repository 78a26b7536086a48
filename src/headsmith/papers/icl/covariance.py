"""Correlated covariates: figures 12 and 15."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from headsmith.lab import tasks
from headsmith.papers.icl.frame import PRESETS, Settings, item, mean, settled, trained
from headsmith.papers.registry import Claim, Outcome, Row
from headsmith.records import Record
from headsmith.reference import risks

TASK = tasks.correlated(0.5, features=5, length=40, noise=0.1)
LONGER = {**PRESETS, "smoke": {**PRESETS["smoke"], "steps": 4000, "batch": 256}}


def _gap(a: Tensor, b: Tensor) -> float:
    """Relative Frobenius distance of a from b."""
    return float((a - b).norm() / b.norm())


def _cosine(a: Tensor, b: Tensor) -> float:
    return float((a * b).sum() / (a.norm() * b.norm()))


def _targets() -> dict[str, Tensor]:
    sigma = TASK.sigma
    return {
        "derived optimum": risks.preconditioner(sigma, 40, 0.1),
        "(5.6)": risks.preconditioner(sigma, 40, 0.1, debiased=False),
        "inverse covariance": torch.linalg.inv(sigma),
    }


WITHIN = Claim(
    "the effective preconditioner is within 2 % of the derived optimum (Sigma + (tr Sigma + d noise)/L I)^-1",
    lambda m: None if m["steps"] < 1000 else m["gaps"]["derived optimum"] < 0.02,
)
NEAREST = Claim(
    "it is nearer to that than to (5.6) and to the inverse covariance",
    lambda m: None if m["steps"] < 1000 else min(m["gaps"], key=m["gaps"].__getitem__) == "derived optimum",
)


@item("figure-12", [WITHIN, NEAREST], where="Figure 12, (5.6)", presets=LONGER, pictures={"matrices.png": "matrices"})
def figure_12(settings: Settings, record: Record) -> Outcome:
    """The effective preconditioner of two trained heads under Sigma_ij = 0.5^|i-j|, beside three candidates."""
    run = trained(settings, record, 2, task=TASK)
    kept = [d for d in run.diagnoses if not d.plateau] or run.diagnoses
    found = [d.preconditioner for d in kept]
    targets = _targets()
    gaps = {name: mean([_gap(p, t) for p in found]) for name, t in targets.items()}
    known = {name: risks.preconditioned_gd(TASK.sigma, 40, 0.1, t) for name, t in targets.items()}
    m = {
        "steps": int(run.steps[-1]),
        "gaps": gaps,
        "risk": mean([d.risk for d in kept]),
        "matrices": {"trained Σ μ KQ": found[0].tolist(), **{k: t.tolist() for k, t in targets.items()}},
    }
    rows = [
        Row(
            f"relative distance to the {k}", "proportional" if k == "(5.6)" else None, g, NEAREST.verdict(m), len(found)
        )
        for k, g in gaps.items()
    ]
    rows += [
        Row(
            "risk, trained; beside it the derived optimum's",
            None,
            m["risk"],
            "not stated",
            len(found),
            known["derived optimum"],
        )
    ]
    rows += [Row(f"risk of the step with {k}", None, v) for k, v in known.items()]
    return Outcome(m, rows)


PROPORTIONAL = Claim(
    "the inverse of the effective preconditioner has cosine above 0.99 with the derived matrix and with Sigma",
    lambda m: None if m["steps"] < 1000 else min(m["cosines"].values()) > 0.99,
)


@item("figure-15", [PROPORTIONAL], where="Figure 15", presets=LONGER, pictures={"matrices.png": "matrices"})
def figure_15(settings: Settings, record: Record) -> Outcome:
    """The inverse of the effective preconditioner beside Sigma and the two derived matrices."""
    run = trained(settings, record, 2, task=TASK)
    inverse = torch.linalg.inv(run.diagnoses[settled(run)].preconditioner)
    targets = {name: torch.linalg.inv(t) for name, t in _targets().items()}
    m: dict[str, Any] = {
        "steps": int(run.steps[-1]),
        "cosines": {name: _cosine(inverse, t) for name, t in targets.items()},
        "matrices": {"trained, inverse": inverse.tolist(), **{k: t.tolist() for k, t in targets.items()}},
    }
    m["matrices"]["covariance"] = m["matrices"].pop("inverse covariance")
    rows = [
        Row(f"cosine with the inverse of: {k}", "proportional", c, PROPORTIONAL.verdict(m), 1)
        for k, c in m["cosines"].items()
    ]
    return Outcome(m, rows)
