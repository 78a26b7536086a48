"""A transformer on the tape machine beside torch's own forward of it, in turns, in one run.

An encoder of MiniLM's sizes (6 layers of 384, 12 heads, 1536 hidden numbers) with random weights, so that nothing has
to be installed; nn.TransformerEncoder in float64 on one thread. The best of several rounds counts, CPU time.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import nn

from headsmith.machines.tape.host import hosted
from headsmith.machines.tape.tape import Tape
from headsmith.views.tables import Table

TOKENS, ROUNDS, ALLOWED = (12, 60, 256), 5, 10.0


def bench_tape() -> Table:
    """Seconds of a run with the rows that are named, of its certificate, and of torch."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(384, 12, 1536, dropout=0.0, activation="gelu", batch_first=True)
        encoder = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).double().eval().requires_grad_(False)
    vm = Tape()
    program = hosted(encoder, vm.sizes, vm.norm, vm.domain, tokens=32)
    rows = []
    for tokens in TOKENS:
        x = torch.randn(tokens, 384, dtype=torch.float64, generator=torch.Generator().manual_seed(tokens))
        ours, theirs = _in_turns(lambda x=x: vm(program, x), lambda x=x: encoder(x[None]))
        result = vm(program, x)
        start = time.process_time()
        bound = result.certificate.bound
        certified = time.process_time() - start
        error = float((result.value - encoder(x[None])[0]).abs().max())
        rows.append((tokens, ours, theirs, ours / theirs, certified, error, bound))
    columns = ("tokens", "tape, s", "torch, s", f"ratio (at most {ALLOWED:g})", "certificate, s", "error", "a pass")
    return Table(f"6 layers of 384 on one frozen block, {len(program)} passes", columns, rows)


def _in_turns(*runs: Callable[[], object]) -> list[float]:
    """The least CPU seconds of each, after one round to warm up."""
    best = [float("inf")] * len(runs)
    for turn in range(ROUNDS + 1):
        for i, run in enumerate(runs):
            start = time.process_time()
            run()
            if turn:
                best[i] = min(best[i], time.process_time() - start)
    return best
