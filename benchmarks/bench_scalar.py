"""Compiled heads against plain torch: the same matmul, softmax, matmul, on the same inputs, in the same run."""

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from headsmith.doors.compile import compile
from headsmith.proof.checker import check
from headsmith.records.shown import number
from headsmith.views.tables import Table

REQUESTS = (
    ("sin(3*x)", (-2, 2)),
    ("1/(1+25*x^2)", (-1, 1)),
    ("exp(-x^2)*cos(4*x)", (-3, 3)),
    ("x^2", (-2, 2)),
    ("softplus(x)", (-6, 6)),
    ("gelu(x)", (-5, 5)),
    ("1/(1+1000*x^2)", (-1, 1)),
    ("sqrt(x)", (0, 1)),
    ("tanh(x)", (-4, 4)),
    ("relu(x)", (-1, 1)),
    ("abs(sin(3*x))+x^2", (-1, 1)),
)


def best(work: Callable[[], object], repeats: int = 5) -> float:
    """The least seconds of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def bench_forward() -> Table:
    """10^6 inputs through the network, and through torch.softmax(x keys + offsets) @ values with the same numbers."""
    rows = []
    for formula, domain, dtype in (
        ("sin(3*x)", (-2, 2), "float64"),
        ("sin(3*x)", (-2, 2), "float32"),
        ("sqrt(x)", (0, 1), "float64"),
    ):
        net = compile(formula, domain=domain, eps=1e-6 if dtype == "float64" else 1e-4, dtype=dtype)
        generator = torch.Generator().manual_seed(0)
        x = domain[0] + (domain[1] - domain[0]) * torch.rand(10**6, dtype=net.dtype, generator=generator)
        trace = net.network.trace(net.encode(x[:1]))
        keys = trace["blocks.1.attn.hook_memory_k"][:, 0, :].T.contiguous()
        values = trace["blocks.1.attn.hook_memory_v"][:, 0, :].contiguous()
        query = torch.stack([x, torch.ones_like(x)], -1)

        def plain(query: torch.Tensor = query, keys: torch.Tensor = keys, values: torch.Tensor = values):
            return torch.softmax(query @ keys, -1) @ values

        with torch.no_grad():
            ours, theirs = best(lambda net=net, x=x: net(x)), best(plain)
        rows.append((formula, dtype, net.plan.anchors, ours, theirs, f"{theirs / ours:.2f}"))
    columns = ("formula", "dtype", "keys", "compiled, s", "plain torch, s", "speed / plain")
    return Table("Forward pass on 10^6 inputs", columns, rows)


def bench_compile() -> Table:
    """Seconds to compile (with proof) and to prove the saved file again, at eps = 1e-6."""
    rows = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "net.safetensors"
        for formula, domain in REQUESTS:
            start = time.process_time()
            net = compile(formula, domain=domain, eps=1e-6)
            compiled = time.process_time() - start
            net.save(path)
            start = time.process_time()
            verdict = check(path)
            proved = "proved" if verdict.status == 0 else verdict.reason
            seconds = time.process_time() - start
            rows.append((formula, net.plan.anchors, number(net.certificate.bound), compiled, seconds, proved))
    columns = ("formula", "keys", "bound", "compile, CPU s", "certify, CPU s", "checker")
    return Table("Compile and certify at eps = 1e-6", columns, rows)
