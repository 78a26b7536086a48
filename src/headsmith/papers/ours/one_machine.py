"""One frozen block, sixteen programs: heads, MLPs, norms, regressions, a learning rule, encoders and all of MiniLM.

(algorithm-emulation Sec 4, which holds heads only; `docs/one-machine.md`.) Every program is a tape, a list of prompts
for the same block, whose hash is taken before the first and behind each. Errors are against the same computation by
plain torch in float64; what is proved is proved against the exact real number, in balls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import torch
from torch import Tensor, nn

from headsmith.machines import prompts as prompt
from headsmith.machines.tape.program import TapeProgram
from headsmith.machines.tape.tape import Tape
from headsmith.machines.tape.tape_result import TapeResult
from headsmith.papers.ours.six_regressions import diabetes
from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.records import Record, progress
from headsmith.records.shown import number, upper
from headsmith.views.one_machine import one_machine

TEXT = "One frozen block reads every program from its prompt."
LONG = " ".join([TEXT] * 6)
FLOORS = {"rows": 2e-12, "steps": 1e-12, "norm": 1e-9, "encoder": 1e-9, "text": 2e-11}
"""What the errors of a sort of program may be at most."""
WATCHED = 100
"""Passes of a program that are compared with their instructions, from the first on."""

FULL: dict[str, Any] = {
    "block": {"slot": 384, "slots": 7, "heads": 12}, "small heads": [(8, 16), (32, 24)], "wide head": (48, 48),
    "tokens": 24, "mlp": (20, 64, 64, 5), "rows": 100, "norm": (48, 600), "encoder": (48, 4, 96),
    "samples": 442, "steps": 200, "rule": (16, 2, 100), "texts": [TEXT, LONG],
}  # fmt: skip
SMALL: dict[str, Any] = {
    "block": {"slot": 24, "slots": 7, "heads": 2, "norm": (2.0**-4, 2.0**4)}, "small heads": [(4, 8), (8, 6)],
    "wide head": (20, 12), "tokens": 6, "mlp": (5, 8, 8, 2), "rows": 7, "norm": (8, 20), "encoder": (8, 2, 16),
    "samples": 12, "steps": 5, "rule": (4, 1, 5), "texts": [],
}  # fmt: skip


@dataclass(frozen=True)
class Job:
    """A program of some sort, the tokens it runs on, and what plain torch makes of them."""

    name: str
    sort: str
    program: Any
    x: Any = None
    want: Callable[[], Tensor] | None = None


def cases(settings: Mapping[str, Any], seed: int) -> list[Job]:
    """All programs, from the smallest to the largest."""
    return [*_heads(settings, seed), *_regressions(settings, seed), *_encoders(settings, seed), *_texts(settings)]


def _heads(settings: Mapping[str, Any], seed: int) -> list[Job]:
    draw = _drawing(seed)
    (rows, features), (more, wider) = settings["small heads"]
    tokens, size, (width, ratio) = settings["tokens"], settings["wide head"], settings["norm"]
    uneven = draw(tokens, width) * torch.linspace(1, ratio, tokens, dtype=torch.float64).sqrt()[:, None] / 8
    x = draw(settings["rows"], settings["mlp"][0])
    return [
        Job(f"attention head {rows} x {features}", "rows", _head(draw, rows, features), draw(tokens, features)),
        Job(f"causal head {more} x {wider}", "rows", _head(draw, more, wider, causal=True), draw(tokens, wider)),
        Job(f"wide head {size[0]} x {size[1]}", "rows", _head(draw, *size), draw(tokens, size[1])),
        _torch(f"MLP {'-'.join(map(str, settings['mlp']))}, GELU", "rows", _mlp(settings["mlp"], seed), x),
        Job(f"layer norm of {width}, variances 1 : {ratio}", "norm", prompt.norm(draw(width), draw(width)), uneven),
    ]


def _head(draw: Callable[..., Tensor], rows: int, features: int, causal: bool = False) -> Any:
    k, q, v = (draw(rows, features) / features**0.5 for _ in range(3))
    return prompt.head(k, q, v, scale=rows**-0.5, causal=causal)


def _mlp(widths: tuple[int, ...], seed: int) -> nn.Sequential:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = [nn.Linear(a, b) for a, b in pairwise(widths)]
        return nn.Sequential(*[part for layer in layers for part in (layer, nn.GELU())][:-1]).double().eval()


def _torch(name: str, sort: str, module: nn.Module, x: Tensor) -> Job:
    """The case of a torch module, which is its own reference."""

    def want() -> Tensor:
        with torch.no_grad():
            answer: Tensor = module(x)
            return answer

    return Job(name, sort, module, x, want)


def _regressions(settings: Mapping[str, Any], seed: int) -> list[Job]:
    X, y = (part[: settings["samples"]] for part in diabetes())
    y, steps = y / y.std(), settings["steps"]
    draw, (samples, features, turns) = _drawing(seed + 1), settings["rule"]
    inputs = draw(samples, features)
    answers = inputs @ draw(features) + 0.1 * draw(samples)
    found = {
        "OLS": prompt.descent(X, y, steps=steps),
        "ridge": prompt.descent(X, y, l2=0.1, steps=steps),
        "lasso": prompt.descent(X, y, l1=0.02, steps=steps),
        "elastic net": prompt.descent(X, y, l1=0.01, l2=0.01, steps=steps),
        "logistic regression": prompt.descent(X, (y > 0).astype(float), "logistic", steps=steps),
        "Huber regression": prompt.descent(X, y, "huber", delta=0.5, steps=steps),
        "rule tanh, data in tokens": prompt.rule("tanh(t)", inputs, answers, rate=0.1, steps=turns, eps=1e-12),
    }
    return [Job(name, "steps", program) for name, program in found.items()]


def _encoders(settings: Mapping[str, Any], seed: int) -> list[Job]:
    width, heads, hidden = settings["encoder"]
    x, found = _drawing(seed + 2)(settings["tokens"], width), []
    for first, activation in ((False, "relu"), (True, "gelu")):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            layer = nn.TransformerEncoderLayer(
                width, heads, hidden, dropout=0.0, activation=activation, batch_first=True, norm_first=first
            )
            encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).double().eval()
        name = f"encoder, 2 layers of {width}, {'pre' if first else 'post'}-norm"
        found.append(_torch(name, "encoder", encoder, x))
    return found


def _texts(settings: Mapping[str, Any]) -> list[Job]:
    if not settings["texts"]:
        return []
    program = prompt.minilm()
    return [Job(f"MiniLM, {len(program.tokens(text))} tokens", "text", program, text) for text in settings["texts"]]


def _drawing(seed: int) -> Callable[..., Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return lambda *shape: torch.randn(*shape, dtype=torch.float64, generator=generator)


def measure(settings: Mapping[str, Any], seed: int = 0) -> dict[str, Any]:
    """Every program on one block: its error, what its passes are certified and found to be off by, what is proved."""
    vm, rows = Tape(**settings["block"]), []
    hashes = {vm.weight_hash}
    for case in progress(cases(settings, seed), "programs"):
        sample = None if isinstance(case.x, str) else case.x
        tape = vm.host(case.program, sample=sample)
        result = vm(tape, case.x)
        rows.append(_row(case, tape, result) | {"strays": _strays(vm, tape, result)})
        hashes.add(vm.weight_hash)
    return {"programs": rows, "hash": vm.weight_hash, "hashes": len(hashes), "numbers": vm.numbers}


def _row(case: Job, tape: TapeProgram, result: TapeResult) -> dict[str, Any]:
    source = case.program.tokens(case.x) if isinstance(case.x, str) else case.x
    want = case.want() if case.want is not None else case.program.reference(source)
    return {
        "name": case.name, "sort": case.sort, "passes": result.passes, "prompt": tape.numbers,
        "error": float((result.value - want).abs().max()), "bound": result.certificate.bound,
        "proved": result.prove().bound, "seconds": result.seconds,
        "kinds": [instruction.kind for instruction in tape.written],
        "loop": [len(tape.instructions), len(tape.loop), tape.times],
        "zeros": bool(torch.equal(result.value == 0, want == 0)),
    }  # fmt: skip


def _strays(vm: Tape, tape: TapeProgram, result: TapeResult) -> float:
    """The largest share of its bound that a pass was seen to be off by."""
    worst = 0.0
    passes = vm.running.passes(tape, result.entered, result.way)
    for done, bound in zip(islice(passes, WATCHED), result.bounds, strict=False):
        off = float((done.after - done.instruction.reference(done.before, tape.sizes)).abs().max())
        worst = max(worst, off / bound.with_slack().total) if off else worst
    return worst


CLAIMS = (
    Claim("every program runs on one hash", lambda m: m["hashes"] == 1),
    Claim(
        "no error is above the floor of its sort of program",
        lambda m: all(r["error"] <= FLOORS[r["sort"]] for r in m["programs"]),
    ),
    Claim(
        "no pass is seen further from its instruction than is certified",
        lambda m: all(r["strays"] <= 1 for r in m["programs"]),
    ),
    Claim(
        "every result is proved end to end, within the floor of its sort of program",
        lambda m: all(r["proved"] <= FLOORS[r["sort"]] for r in m["programs"]),
    ),
    Claim(
        "coefficients are exactly zero where the reference's are",
        lambda m: all(r["zeros"] for r in m["programs"] if r["sort"] == "steps"),
    ),
)


def self_check() -> bool:
    """Every claim, decided on a small block."""
    measured = measure(SMALL)
    return all(claim.verdict(measured) == "holds" for claim in CLAIMS)


@experiment(
    "ours/one-machine", CLAIMS, presets={"smoke": FULL | {"texts": [TEXT]}, "full": FULL}, where="Sec 4",
    self_check=self_check, pictures={"one-machine.png": one_machine},
)  # fmt: skip
def run(settings: Mapping[str, Any], record: Record) -> Outcome:
    """Run every program on the one block."""
    m = measure(settings)
    return Outcome(m, [Row(_named(r), None, r["error"], baseline=_promised(r)) for r in m["programs"]])


def _named(r: Mapping[str, Any]) -> str:
    return f"{r['name']}: {r['passes']} pass{'es' * (r['passes'] > 1)}, {number(r['seconds'], 2)} s"


def _promised(r: Mapping[str, Any]) -> str:
    return f"{upper(r['proved'])} proved, {upper(r['bound'])} a pass certified"
