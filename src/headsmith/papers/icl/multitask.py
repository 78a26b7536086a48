"""Several responses at once: figures 16 to 19 and table 2."""

from __future__ import annotations

from typing import Any

import torch

from headsmith.lab import tasks
from headsmith.papers.icl.frame import PRESETS, Settings, head_numbers, item, mean, trained
from headsmith.papers.registry import Claim, Outcome, Row
from headsmith.records import Record
from headsmith.reference import risks

SUPPORTS = ((0, 1, 2, 3), (2, 3, 4, 5))
TASK = tasks.multi_task(SUPPORTS, features=6, length=40, noise=0.1)
LONGER = {
    "smoke": {**PRESETS["smoke"], "steps": 4000, "rate": 5e-3, "batch": 256},
    "good": {**PRESETS["good"], "rate": 5e-3},
    "paper": PRESETS["paper"],
}
TABLE_2 = (  # omega on {1,2}, {5,6}, {3,4}; mu of both responses
    ((-0.0316, -0.0689, -0.0893), (-3.9911, -7.0742)),
    ((0.0779, 0.0, 0.0870), (6.9204, 2.3371)),
    ((-0.0837, 0.0927, 0.0152), (-2.8739, 4.7399)),
)


def _measure(settings: Settings, record: Record, heads: int) -> dict[str, Any]:
    run = trained(settings, record, heads, task=TASK, init="split")
    m = head_numbers(run)
    rates = torch.stack([d.rates() for d in run.diagnoses])
    on = torch.zeros(2, 6, dtype=torch.bool)
    for n, support in enumerate(SUPPORTS):
        on[n, list(support)] = True
    m |= {
        "rates": rates[0].tolist(),
        "on_support": rates[:, on].mean().item(),
        "off_support": rates[:, ~on].abs().max().item(),
        "overlap": rates[:, :, 2:4].mean().item(),
        "sides": torch.cat([rates[:, 0, :2], rates[:, 1, 4:]]).mean().item(),
        "matrices": {"trained E": rates[0].tolist()},
        "diagonals": run.kq[-1, 0][..., :6, :6].diagonal(dim1=-2, dim2=-1).tolist(),
    }
    return m


def _targets(shared: bool) -> tuple[torch.Tensor, float]:
    rates = risks.multi_task_rates(SUPPORTS, 6, 40, 0.1, shared)
    return rates, mean(risks.multi_task(SUPPORTS, 6, 40, 0.1, rates))


MODE_1 = Claim(
    "one smoother with larger weights on the overlap",
    lambda m: (
        None
        if m["steps"] < 1000
        else max(m["off_diagonal_all"]) < 0.01 and 1.05 < m["overlap_weight"] / m["side_weight"] < 1.6
    ),
)


@item("figure-16", [MODE_1], where="Figure 16, mode I", presets=LONGER, pictures={"heads.png": "heads"})
def figure_16(settings: Settings, record: Record) -> Outcome:
    """One head for two responses."""
    m = _measure(settings, record, 1)
    weights = torch.tensor(m["diagonals"][0]).abs()
    m |= {"overlap_weight": weights[2:4].mean().item(), "side_weight": weights[[0, 1, 4, 5]].mean().item()}
    rows = [
        Row("omega on the overlap", 0.50, m["overlap_weight"], MODE_1.verdict(m), len(m["seeds"])),
        Row("omega beside it", 0.42, m["side_weight"], MODE_1.verdict(m), len(m["seeds"])),
        Row(
            "risk, beside it the best shared pair's",
            None,
            mean(m["risk_all"]),
            "not stated",
            len(m["seeds"]),
            _targets(True)[1],
        ),
    ]
    return Outcome(m, rows)


MODE_2 = Claim(
    "one pair shared by both responses: rates 0.90 on the overlap and 0.82 beside it (closed form), within 0.03",
    lambda m: None if m["steps"] < 1000 else abs(m["overlap"] - 0.901) < 0.03 and abs(m["sides"] - 0.820) < 0.03,
)


@item("figure-17", [MODE_2], where="Figure 17, mode II", presets=LONGER, pictures={"heads.png": "heads"})
def figure_17(settings: Settings, record: Record) -> Outcome:
    """Two heads for two responses."""
    m = _measure(settings, record, 2)
    target, known = _targets(True)
    rows = [
        Row(
            "rate on the overlap, beside it the closed form",
            None,
            m["overlap"],
            MODE_2.verdict(m),
            len(m["seeds"]),
            target[0, 2].item(),
        ),
        Row("rate beside it", None, m["sides"], MODE_2.verdict(m), len(m["seeds"]), target[0, 0].item()),
        Row(
            "ratio of omega on and beside the overlap",
            0.13 / 0.12,
            m["overlap"] / m["sides"],
            MODE_2.verdict(m),
            len(m["seeds"]),
            1.099,
        ),
        Row("risk, beside it the closed form", None, mean(m["risk_all"]), "not stated", len(m["seeds"]), known),
    ]
    return Outcome(m, rows)


OWN = Claim(
    "each response gets its own step: rates 0.90 on its support (closed form), below 0.06 off it",
    lambda m: None if m["steps"] < 1000 else abs(m["on_support"] - 0.901) < 0.02 and m["off_support"] < 0.06,
)


def _own_rows(m: dict[str, Any]) -> list[Row]:
    target, known = _targets(False)
    seeds = len(m["seeds"])
    return [
        Row(
            "rate on the support, beside it the closed form",
            1.0,
            m["on_support"],
            OWN.verdict(m),
            seeds,
            target[0, 0].item(),
        ),
        Row("largest rate off the support", 0.0, m["off_support"], OWN.verdict(m), seeds, 0.0),
        Row("risk, beside it the closed form", None, mean(m["risk_all"]), "not stated", seeds, known),
    ]


@item("figure-18", [OWN], where="Figure 18, mode III", presets=LONGER, pictures={"heads.png": "heads"})
def figure_18(settings: Settings, record: Record) -> Outcome:
    """Four heads for two responses: one pair each."""
    m = _measure(settings, record, 4)
    return Outcome(m, _own_rows(m))


@item(
    "figure-19",
    [OWN],
    where="Figure 19, mode IV",
    presets=LONGER,
    pictures={"heads.png": "heads", "rates.png": "matrices"},
)
def figure_19(settings: Settings, record: Record) -> Outcome:
    """Three heads for two responses: superposition, every head serves both."""
    m = _measure(settings, record, 3)
    m["matrices"]["closed form"] = _targets(False)[0].tolist()
    return Outcome(m, _own_rows(m))


SUMS = Claim(
    "the printed parameters add up: 0.90 to 0.93 on the support, below 0.01 off it",
    lambda m: all(0.90 <= v <= 0.93 for v in m["printed_on"]) and max(map(abs, m["printed_off"])) < 0.01,
)


@item("table-2", [SUMS, OWN], where="Table 2, (A.5), (A.6)", presets=LONGER, pictures={"rates.png": "matrices"})
def table_2(settings: Settings, record: Record) -> Outcome:
    """The rates sum_h mu_hn omega_hj of the printed three heads, and of ours."""
    omega, mu = (torch.tensor([row[i] for row in TABLE_2], dtype=torch.float64) for i in (0, 1))
    printed = mu.T @ omega  # (2, 3): {1,2}, {5,6}, {3,4}
    m = _measure(settings, record, 3) | {
        "printed_on": [*printed[0, [0, 2]].tolist(), *printed[1, [1, 2]].tolist()],
        "printed_off": [printed[0, 1].item(), printed[1, 0].item()],
    }
    m["matrices"]["printed (on {1,2}, {3,4}, {5,6})"] = printed[:, [0, 2, 1]].tolist()
    rows = [
        Row("rates on the support from the printed parameters", "about 1", m["printed_on"], SUMS.verdict(m)),
        Row("rates off it", "about 0", m["printed_off"], SUMS.verdict(m)),
        Row("sums of the printed mu", 0, mu.sum(0).tolist(), SUMS.verdict(m)),
        *_own_rows(m),
    ]
    return Outcome(m, rows)
