"""Training inside the forward pass against the same training by autograd, and a batch of prompts against one."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from torch import Tensor

import headsmith as hs
from headsmith.records.shown import number
from headsmith.views.tables import Table

WIDTHS, SAMPLES, STEPS, RATE = (5, 8, 8, 2), 50, 100, 0.05  # N = 3, K = 8, d = 5, n = 50, L = 100
PROMPTS = 64


def data(*batch: int) -> tuple[Tensor, Tensor, Tensor]:
    """X, Y and a query, standard normal."""
    g = torch.Generator().manual_seed(0)
    sizes = (SAMPLES, WIDTHS[0]), (SAMPLES, WIDTHS[-1]), (WIDTHS[0],)
    X, Y, query = (torch.randn(*batch, *size, generator=g, dtype=torch.float64).clamp(-4, 4) for size in sizes)
    return X, Y, query


def autograd(start: list[Tensor], X: Tensor, Y: Tensor) -> list[Tensor]:
    """The same steps as anyone would write them."""
    W = start
    for _ in range(STEPS):
        W = [w.detach().requires_grad_() for w in W]
        f = torch.relu(torch.relu(X @ W[0].T) @ W[1].T) @ W[2].T
        slopes = torch.autograd.grad(0.5 * (f - Y).square().sum(-1).mean(), W)
        W = [w - RATE * g for w, g in zip(W, slopes, strict=True)]
    return [w.detach() for w in W]


def seconds(runs: dict[str, Callable[[], Any]], times: int = 7) -> dict[str, float]:
    """The median of each, taken in turns, so that they share what else the machine does."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(times):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            found[name].append(time.perf_counter() - start)
    return {name: median(values) for name, values in found.items()}


def bench_training_forward() -> Table:
    """The forward pass of the compact ReLU block, checks and certificate included, against autograd in the same run."""
    target = hs.target.Training(list(WIDTHS), steps=STEPS, rate=RATE, samples=SAMPLES)
    net, soft = (hs.compile(target, eps=1e-6, method=method) for method in ("auto", "softmax"))
    one, many = data(), data(PROMPTS)
    r, s = (each(hs.prompt.training(*one)) for each in (net, soft))
    W = autograd(r.initial, *one[:2])
    pair = {
        "forward": lambda: net(hs.prompt.training(*one)),
        "softmax": lambda: soft(hs.prompt.training(*one)),
        "autograd": lambda: autograd(r.initial, *one[:2]),
    }
    alone, shared, usual = seconds(pair).values()
    [beside] = seconds({"batch": lambda: net(hs.prompt.training(*many))}, 1).values()
    gap, other = (max(float((a - b).abs().max()) for a, b in zip(W, each.weights, strict=True)) for each in (r, s))
    rows = [
        ("autograd", usual, 1.0, ""),
        ("forward pass", alone, alone / usual, number(gap)),
        ("by softmax attention alone", shared, shared / usual, number(other)),
        (f"a prompt of a batch of {PROMPTS}", beside / PROMPTS, beside / PROMPTS / usual, ""),
    ]
    return Table(f"{STEPS} steps of a 5-8-8-2 ReLU network", ("", "seconds", "of autograd", "weights differ by"), rows)
