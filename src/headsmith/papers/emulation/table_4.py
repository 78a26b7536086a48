"""Table 4 and Figure 5: the emulator of Thm 4.2 gets better faster than its theory says (algorithm-emulation App C.3).

X ~ U(-1, 1), W ~ N(0, 1), n = 12, beta = 2, four samples, mean squared error between emulator and head for P
= 20 .. 80. The interval, the precision and the sharpness of the target are not stated. Half-width 20, a
target of sharpness 1 and float32 fit the five printed means to 0.15 orders of magnitude (scanned, not
confirmed; Table 4 says d = 4, the caption of Figure 5 d = 24, which fits worse), and +-d B^2, the interval of
the proof, does not fit at all.

The theory promises an error of h per entry. What is seen is the alias of a smooth lattice, of size
(2 pi h/kappa) exp(-pi^2/kappa) with kappa = beta h^2: super-exponential in P, down to the floor of float32.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

import torch

from headsmith.constructions.identity import alias
from headsmith.machines.lattices import best_lattice
from headsmith.machines.layouts import FeatureRows
from headsmith.machines.prompts.heads import HeadProgram, head
from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.papers.repeated import means, spreads
from headsmith.records import Record
from headsmith.views.machines import drop

SPREAD = {20: 2.393e-1, 30: 1.451e-2, 40: 8.538e-5, 60: 1.994e-9, 80: 1.620e-14}
"""The printed standard deviations of four samples."""
PRINTED = {20: 4.002e-1, 30: 2.442e-2, 40: 5.852e-4, 60: 5.770e-9, 80: 5.037e-14}
N, D, HALF, BETA = 12, 4, 20.0, 2.0
DTYPES = {"float32": torch.float32, "float64": torch.float64}


def _draw(seed: int) -> tuple[HeadProgram, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    k, q, v = (torch.randn(N, D, dtype=torch.float64, generator=g) for _ in range(3))
    x = 2 * torch.rand(N, D, dtype=torch.float64, generator=g) - 1
    return head(k, q, v), x


def _squared(layout: FeatureRows, program: HeadProgram, x: torch.Tensor) -> float:
    return float((layout(program, x).double() - program.reference(x)).square().mean())


def _entries(layout: FeatureRows, program: HeadProgram, x: torch.Tensor) -> float:
    """Root mean square error of K, Q and V."""
    network = layout.network
    read = network.layers["read"](network.layers["unstack"](layout.encode(program, x)))
    exact = torch.cat([x @ w.mT for w in program.weights], -1)
    return float((read.double() - exact).square().mean().sqrt())


def _proof_interval(program: HeadProgram, x: torch.Tensor) -> float:
    """d B^2 with B the largest entry of X and the weights: the interval of the proof."""
    most = max(float(x.abs().max()), *(float(w.abs().max()) for w in program.weights))
    return x.shape[-1] * most**2


@cache
def _ours(steps: int) -> FeatureRows:
    """Our lattice with as many steps, on the same range."""
    _, h, kappa = best_lattice(HALF, steps)
    return FeatureRows(D, N, h * steps / 2, steps, kappa / (h * h))


def squared_error(half: float | None, steps: int, dtype: torch.dtype, samples: int) -> float:
    """Mean squared error of the emulator over the samples."""
    [mean] = means([squared_errors(half, steps, dtype, samples)])
    return mean


def squared_errors(half: float | None, steps: int, dtype: torch.dtype, samples: int) -> list[float]:
    """Mean squared error of the emulator on each sample; half-width None takes the interval of the proof."""
    found = []
    for seed in range(samples):
        program, x = _draw(seed)
        reach = _proof_interval(program, x) if half is None else half
        found.append(_squared(FeatureRows(D, N, reach, steps, BETA, dtype=dtype), program, x))
    return found


def measure(samples: int) -> dict[str, Any]:
    """Means over the samples, for every P."""
    draws = [_draw(seed) for seed in range(samples)]
    found: dict[str, Any] = {"P": list(PRINTED), "printed": list(PRINTED.values()), "samples": samples}
    for name, dtype in DTYPES.items():
        errors = [squared_errors(HALF, p, dtype, samples) for p in PRINTED]
        found[name], found[f"{name} spread"] = means(errors), spreads(errors)
    found["proof interval"] = [squared_error(None, p, torch.float64, samples) for p in PRINTED]
    found["entries"] = [
        math.fsum(_entries(FeatureRows(D, N, HALF, p, BETA), *draw) for draw in draws) / samples for p in PRINTED
    ]
    steps = [2 * HALF / p for p in PRINTED]
    found["alias"] = [h * alias(BETA * h * h) / math.sqrt(2) for h in steps]
    found["ours"] = [math.fsum(_squared(_ours(p), *draw) for draw in draws) / samples for p in PRINTED]
    return found


def _drops(m: Mapping[str, Any]) -> bool:
    """The printed precision ends below 1e-12, and in float64 the decades lost with each step of P only grow."""
    points = list(zip(m["P"], map(math.log10, m["float64"]), strict=True))
    slopes = [(a - b) / (q - p) for (p, a), (q, b) in pairwise(points)]
    return m["float32"][-1] < 1e-12 and all(a < b for a, b in pairwise(slopes))


def _fits(m: Mapping[str, Any]) -> bool:
    distance = [math.log10(a / b) for a, b in zip(m["float32"], m["printed"], strict=True)]
    return math.sqrt(math.fsum(x * x for x in distance) / len(distance)) < 0.5


def _alias_explains(m: Mapping[str, Any]) -> bool:
    return all(0.95 < a / b < 1.05 for a, b in zip(m["entries"][2:], m["alias"][2:], strict=True))


CLAIMS = (
    Claim("the error falls super-exponentially, to about 1e-13 at P = 80", _drops),
    Claim("half-width 20 and float32 reproduce the five printed means (0.5 orders of magnitude, rms)", _fits),
    Claim("the alias formula predicts the error of K, Q, V within 5 % from P = 40 on", _alias_explains),
    Claim("float64 goes on falling where float32 stops", lambda m: m["float64"][-1] < 0.1 * m["float32"][-1]),
    Claim(
        "the interval of the proof cannot be the one used", lambda m: m["proof interval"][-1] > 1e6 * m["printed"][-1]
    ),
    Claim("our lattice is better at P = 20 than the printed one at P = 60", lambda m: m["ours"][0] < m["printed"][3]),
)


def self_check() -> bool:
    layout, draw = FeatureRows(D, N, HALF, 40, BETA), _draw(0)
    h = 2 * HALF / 40
    return (
        0.5 < _entries(layout, *draw) / (h * alias(BETA * h * h) / math.sqrt(2)) < 2 and _squared(layout, *draw) < 1e-2
    )


@experiment(
    "algorithm-emulation/table-4",
    CLAIMS,
    presets={"smoke": {"samples": 4}, "full": {"samples": 24}},
    source="algorithm-emulation",
    where="Table 4, Figure 5",
    self_check=self_check,
    pictures={"figure-5.png": drop},
)
def run(settings: Mapping[str, Any], record: Record) -> Outcome:
    """The printed setting as inferred, in float32 and float64, and our machine with as many keys beside it."""
    m = record.once("measured", lambda: measure(settings["samples"]))
    near = [abs(math.log10(a / b)) < 1 for a, b in zip(m["float32"], m["printed"], strict=True)]
    columns = (m["P"], m["float32"], m["float32 spread"], near, m["ours"])
    rows = [
        Row(f"P = {p}", f"{PRINTED[p]:.3e} ± {SPREAD[p]:.1e}", f"{found:.3e} ± {spread:.1e}",
            "holds" if close else "fails", m["samples"], f"our lattice {ours:.1e}")
        for p, found, spread, close, ours in zip(*columns, strict=True)
    ]  # fmt: skip
    return Outcome(m, rows)
