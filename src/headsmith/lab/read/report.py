"""The paper's four observations as a checklist: number, threshold, verdict.

O1 patterns (KQ a multiple of the identity, OV reading only the response, matching signs), O2 equal sizes and
zero sum, O3 the risk of debiased gradient descent, O4 the course of training.  Thresholds are those that a
model of the preset `quick` meets with room; `smoke` runs are judged three times more leniently.  Every number
is the worst over the seeds.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from headsmith.lab.read.compare import length_risks
from headsmith.lab.train.runs import Run
from headsmith.records.shown import Shown, number
from headsmith.reference import risks

__all__ = ["Check", "Report", "report"]


@dataclass(frozen=True)
class Check:
    """One line: what is observed, the measured number, what it should be, and whether it is."""

    observation: str
    name: str
    value: float
    threshold: str
    passed: bool


@dataclass(frozen=True, repr=False)
class Report(Shown):
    """The checklist of a run; `passed` when every line is."""

    heading: str
    checks: tuple[Check, ...]
    remarks: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every check holds."""
        return all(check.passed for check in self.checks)

    def title(self) -> str:
        return f"{self.heading}: {sum(c.passed for c in self.checks)} of {len(self.checks)} hold"

    def rows(self) -> list[tuple[str, str]]:
        lines = [
            (
                f"{'✓' if c.passed else '✗'} {c.observation}  {c.name}",
                f"{number(c.value, 4):>10}   {c.threshold}",
            )
            for c in self.checks
        ]
        return [*lines, *(("remark", text) for text in self.remarks)]


def report(run: Run) -> Report:
    """Check O1 to O4 on a run of any number of heads; the worst seed counts."""
    found = run.diagnoses
    slack = 3.0 if run.recipe.steps < 5_000 else 1.0
    several = run.heads > 1
    checks: list[Check] = []

    def below(observation: str, name: str, values: list[float], limit: float) -> None:
        worst = max(values)
        checks.append(Check(observation, name, worst, f"< {number(limit)}", worst < limit))

    diagonal_covariance = run.task.covariance is None
    if diagonal_covariance:
        below(
            "O1",
            "KQ off the diagonal",
            [d.off_diagonal for d in found],
            2e-3 * slack * (1 + 9 * (run.heads > 2)),
        )
    below("O1", "KQ reading responses", [d.label_leak for d in found], 0.03 * slack * (1 + 2 * (run.heads > 2)))
    below("O1", "OV reading covariates", [d.value_leak for d in found], 0.03 * slack * (1 + 2 * (run.heads > 2)))
    matched = sum(d.sign_match for d in found) / len(found)
    if run.task.responses == 1:
        checks.append(Check("O1", "signs of omega and mu agree", matched, "= 1", matched == 1))
    if several:
        below("O2", "|sum mu| / sum |mu|", [d.zero_sum for d in found], 2e-3 * slack)
    if several and run.task.responses == 1 and diagonal_covariance:
        below(
            "O2",
            "spread of |omega|",
            [d.homogeneity for d in found],
            0.03 * slack * (1 + 3 * (run.heads > 2)),
        )
    _risk_checks(run, checks, slack)
    _course_checks(run, checks)
    stuck = [seed for seed, d in zip(run.seeds, found, strict=True) if d.plateau]
    remarks = [f"seeds {stuck}: heads aligned, on the single-head plateau"] if stuck else []
    dummies = sum(c == "0" for d in found for c in d.head_classes)
    if dummies:
        remarks.append(f"{dummies} of {run.heads * len(found)} heads are dummies")
    return Report(repr(run), tuple(checks), tuple(remarks))


def _risk_checks(run: Run, checks: list[Check], slack: float) -> None:
    """O3: the risk of the best debiased step, improving with length; a single head is worse."""
    task, found = run.task, run.diagnoses
    if not task.solved:
        return
    best = next(iter(found[0].baselines.values()))
    worst = max(d.risk for d in found) / best
    if run.heads > 1 and run.activation.kind == "exp":
        limit = 1 + 0.02 * slack
        checks.append(Check("O3", "risk / debiased descent", worst, f"< {number(limit)}", worst < limit))
        if task.covariance is None and task.responses == 1:
            off = max(
                (abs(d.effective_rate - risks.debiased_rate(task.features, task.length, task.noise))) for d in found
            )
            limit = 0.02 * slack
            checks.append(Check("O3", "effective rate - eta*", off, f"< {number(limit)}", off < limit))
    elif run.heads == 1:
        least = min(d.risk for d in found) / best
        checks.append(Check("O3", "one head: risk / debiased descent", least, "> 1.2", least > 1.2))
    if run.activation.kind != "linear" and task.responses == 1:
        short, long = length_risks(run.models[0], task, [task.length, 2 * task.length], prompts=4000)
        checks.append(Check("O3", "risk at twice the length / at the length", long / short, "< 1", long < short))


def _course_checks(run: Run, checks: list[Check]) -> None:
    """O4: |omega| rises, then falls; the total weight of the positive heads keeps rising after the peak."""
    if run.heads < 2 or run.task.responses > 1 or run.activation.kind != "exp":
        return
    omega, mu = run.omega().abs(), run.mu()
    size = (omega * mu.abs()).sum(-1) / mu.abs().sum(-1)
    falls = float((size.max(0).values / size[-1]).min())
    checks.append(Check("O4", "|omega| at its peak / at the end", falls, "> 1.05", falls > 1.05))
    positive = torch.where(run.omega() > 0, mu, 0).sum(-1)
    late = positive[len(positive) // 4 :]
    drop = float(((late.cummax(0).values - late) / late[-1].abs().clamp_min(1e-9)).max())
    checks.append(Check("O4", "largest fall of the positive weight", drop, "< 0.1", drop < 0.1))
