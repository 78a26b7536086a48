"""Table 1 and Figure 2: more trained heads emulate softmax attention better (algorithm-emulation Sec 5.2).

X ~ 2 N - 1, 24 features, 20 tokens; W_K, W_Q (48 x 24) and W_V (24 x 24) ~ N(0, 1), drawn once for each seed.
Models with H heads are trained to give K, Q and V; one softmax head forms the output. The scores have a
spread of about 830, so that the target is almost an argmax. The constructed machine has 3 x 48 heads and is
given the weights in its prompt: a reference line, not a competitor of equal size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from headsmith.lab.train.training import fit
from headsmith.machines.attention import Attention
from headsmith.machines.prompts.heads import HeadProgram, head
from headsmith.papers.emulation.trained import SHORT, Multihead
from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.records import Record
from headsmith.views.machines import heads as draw

PRINTED = {1: 3.469, 2: 2.802, 4: 1.222, 6: 1.012, 8: 0.793, 12: 0.686}
D, N, HIDDEN = 24, 20, 48


class Parts(nn.Module):
    """K, Q and V by a model each, then V softmax(K^T Q)."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        sizes = (HIDDEN, HIDDEN, D)
        self.models = nn.ModuleList(Multihead(N, D, HIDDEN, heads, size) for size in sizes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        k, q, v = (model(x) for model in self.models)
        return k, q, v


def _program(seed: int) -> HeadProgram:
    g = torch.Generator().manual_seed(seed)
    k, q = (torch.randn(HIDDEN, D, dtype=torch.float64, generator=g) for _ in range(2))
    v = torch.zeros(HIDDEN, D, dtype=torch.float64)
    v[:D] = torch.randn(D, D, dtype=torch.float64, generator=g)
    return head(k, q, v)


def _tokens(g: torch.Generator, batch: int) -> Tensor:
    return 2 * torch.randn(batch, N, D, generator=g) - 1


def _parts(program: HeadProgram, x: Tensor) -> list[Tensor]:
    k, q, v = (x @ w.to(x.dtype).mT for w in program.weights)
    return [k, q, v[..., :D]]


def trained(heads: int, seed: int, steps: int, record: Record) -> float:
    """Mean squared error of the output, on fresh tokens."""
    program = _program(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Parts(heads)

    def loss(parts: nn.Module, x: Tensor) -> Tensor:
        exact = _parts(program, x)
        return torch.stack([(a - b).square().mean() for a, b in zip(parts(x), exact, strict=True)]).sum()

    fit(
        model, lambda g: _tokens(g, 32), steps=steps, rate=1e-3, schedule="constant", loss=loss, seed=seed,
        record=record, name=f"heads-{heads}-{seed}",
    )  # fmt: skip
    x = _tokens(torch.Generator().manual_seed(10**6), 256)
    with torch.no_grad():
        k, q, v = model(x)
        output = torch.softmax((q @ k.mT).double(), -1) @ v.double()
    return float((output - program.reference(x.double())[..., :D]).square().mean())


def constructed(samples: int) -> tuple[float, float]:
    """(mean squared error of the machine, of predicting zero)."""
    vm, program = Attention(D, HIDDEN, N, 90.0, 1.0), _program(0)
    x = _tokens(torch.Generator().manual_seed(10**6), samples).double()
    exact = program.reference(x)[..., :D]
    return float((vm.value(program, x)[..., :D] - exact).square().mean()), float(exact.square().mean())


def _falls(m: Mapping[str, Any]) -> bool | None:
    if m["steps"] < SHORT:
        return None
    return m["trained"][-1] < 0.5 * m["trained"][0]


CLAIMS = (
    Claim("trained models get better with more heads (twelve are twice as good as one)", _falls),
    Claim("the constructed machine is within 1e-12", lambda m: m["constructed"] <= 1e-12),
)


def self_check() -> bool:
    return constructed(1)[0] <= 1e-12


@experiment(
    "algorithm-emulation/table-1",
    CLAIMS,
    presets={
        "smoke": {"heads": [1, 4, 12], "steps": 120, "seeds": 1},
        "full": {"heads": list(PRINTED), "steps": 78_000, "seeds": 10},
    },
    source="algorithm-emulation",
    where="Table 1, Figure 2",
    self_check=self_check,
    pictures={"figure-2.png": draw},
)
def run(settings: Mapping[str, Any], record: Record) -> Outcome:
    """Train for each number of heads and seed; set the constructed machine beside it."""
    steps, seeds = settings["steps"], settings["seeds"]
    errors = {
        h: [record.once(f"error-{h}-{s}", partial(trained, h, s, steps, record)) for s in range(seeds)]
        for h in settings["heads"]
    }
    machine, zero = constructed(8)
    means = [math.fsum(errors[h]) / seeds for h in settings["heads"]]
    m = {
        "heads": settings["heads"], "printed": [PRINTED[h] for h in settings["heads"]], "trained": means,
        "constructed": machine, "predict zero": zero, "steps": steps, "seeds": seeds,
    }  # fmt: skip
    rows = [
        Row(f"{h} head{'s' * (h > 1)}", PRINTED[h], e, "not stated", seeds, zero)
        for h, e in zip(settings["heads"], means, strict=True)
    ]
    return Outcome(m, [*rows, Row("constructed", None, machine, CLAIMS[1].verdict(m), None, zero)])
