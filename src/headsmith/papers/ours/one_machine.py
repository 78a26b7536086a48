"""One frozen machine, many programs: heads, estimators, linear layers and MLPs on the same weights.

(algorithm-emulation Cor 4.2.1 and Sec 4.3, as a picture.) Every program runs on the same 16 x 16 machine,
whose hash is taken before and after each; measured errors are against plain attention, plain torch or the
textbook formula.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from headsmith.machines.attention import Attention
from headsmith.machines.prompts.heads import head, kernel_regression, linear, mean, samples
from headsmith.machines.prompts.layers import Program, mlp
from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.records import Record
from headsmith.records.shown import number, upper
from headsmith.views.machines import one_machine

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {"tanh": nn.Tanh, "GELU": nn.GELU, "SiLU": nn.SiLU, "ReLU": nn.ReLU}


def programs(seed: int) -> dict[str, tuple[Program, Tensor]]:
    """Name -> program and tokens."""
    g = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=g)

    x = draw(20, 2).clamp(-1, 1)
    tokens = samples(x, torch.sin(3 * x[:, 0]) * x[:, 1], draw(6, 2).clamp(-1, 1))
    found: dict[str, tuple[Program, Tensor]] = {
        "attention head 16 x 16": (head(draw(16, 16), draw(16, 16), draw(16, 16), scale=0.25), draw(24, 16)),
        "attention head 4 x 8, biases": (
            head(draw(4, 8), draw(4, 8), draw(4, 8), biases=(draw(4), draw(4), draw(4))),
            draw(12, 8),
        ),
        "mean of the labels": (mean(), tokens),
        "kernel regression, tau = 1": (kernel_regression(1.0), tokens),
        "linear layer 16 x 16": (linear(draw(16, 16), draw(16)), draw(8, 16)),
    }
    for name, act in ACTIVATIONS.items():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            net = nn.Sequential(nn.Linear(4, 16), act(), nn.Linear(16, 16), act(), nn.Linear(16, 2)).double()
        found[f"MLP 4-16-16-2, {name}"] = (mlp(net), draw(8, 4))
    return found


def measure(seed: int) -> dict[str, Any]:
    vm = Attention(features=16, head_dim=16, tokens=32, domain=64.0, eps=1e-6)
    rows, hashes = [], {vm.weight_hash}
    for name, (program, x) in programs(seed).items():
        result, want = vm(program, x), program.reference(x)  # estimators fill one row of the machine
        error = float((result.value[..., : want.shape[-1]] - want).abs().max())
        bound = result.certificate.bound
        rows.append({"name": name, "error": error, "bound": bound, "result": f"{number(error, 2)}  ({upper(bound)})"})
        hashes.add(vm.weight_hash)
    numbers = sum(p.numel() for p in vm.network.parameters())
    return {"programs": rows, "hash": vm.weight_hash, "hashes": len(hashes), "numbers": numbers}


CLAIMS = (
    Claim("every program runs on one hash", lambda m: m["hashes"] == 1),
    Claim(
        "every measured error is below its certificate", lambda m: all(r["error"] <= r["bound"] for r in m["programs"])
    ),
    Claim("every certificate is below 1e-8", lambda m: all(r["bound"] <= 1e-8 for r in m["programs"])),
)


def self_check() -> bool:
    """Every claim is cheap enough to be decided at once."""
    measured = measure(0)
    return all(claim.verdict(measured) == "holds" for claim in CLAIMS)


@experiment(
    "ours/one-machine", CLAIMS, presets={"smoke": {"seed": 0}, "full": {"seed": 0}}, where="Cor 4.2.1",
    self_check=self_check, pictures={"one-machine.png": one_machine},
)  # fmt: skip
def run(settings: Mapping[str, Any], record: Record) -> Outcome:
    """Run every program on the one machine."""
    m = measure(settings["seed"])
    return Outcome(
        m, [Row(r["name"], None, r["error"], baseline=f"certified {upper(r['bound'])}") for r in m["programs"]]
    )
