"""Table 1 and Figure 2: more trained heads emulate softmax attention better (algorithm-emulation Sec 5.2).

X ~ 2 N - 1, 24 features, 20 tokens; W_K, W_Q (48 x 24) and W_V (24 x 24) ~ N(0, 1), drawn once for each seed; 50 000
samples, 50 epochs. Models with H heads are trained to give K, Q and V; one softmax head, which needs no training, forms
the output. The scores have a spread of about 830, so that the target is almost an argmax. The constructed machine has
3 x 48 heads and is given the weights in its prompt: a reference line, not a competitor of equal size.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from headsmith.lab.train.stacked import Repeated, Stack
from headsmith.papers.emulation.trained import ENOUGH, TOKENS, Multihead
from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.papers.repeated import Fits, Study, means, spreads, steepness
from headsmith.records import Record

PAPER = "algorithm-emulation"
PRINTED = {
    1: (3.469, 0.381), 2: (2.802, 0.413), 4: (1.222, 0.603), 6: (1.012, 0.204), 8: (0.793, 0.127), 12: (0.686, 0.171),
}  # fmt: skip
"""Mean and standard deviation of ten seeds."""
D, HIDDEN = 24, 48
SIZES = (HIDDEN, HIDDEN, D)
TESTED = 10**6
"""Test tokens of seed s are drawn with seed 10^6 + s."""

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {"heads": [1, 4, 12], "steps": 120, "samples": 2000, "seeds": 2, "tests": 200},
    "full": {"heads": list(PRINTED), "steps": 78_125, "samples": 50_000, "seeds": 10, "tests": 2000},
}
DRY = {"heads": [1, 4], "steps": 6, "samples": 64, "seeds": 2, "tests": 8}


def weights(seed: int) -> list[Tensor]:
    """W_K, W_Q (48 x 24) and W_V (24 x 24) of a seed."""
    g = torch.Generator().manual_seed(seed)
    return [torch.randn(size, D, dtype=torch.float64, generator=g) for size in SIZES]


def tokens(seed: int, samples: int) -> Tensor:
    """X ~ 2 N - 1, the same for the same seed."""
    return 2 * torch.randn(samples, TOKENS, D, generator=torch.Generator().manual_seed(seed)) - 1


def emulated(k: Tensor, q: Tensor, v: Tensor) -> Tensor:
    """V softmax(K^T Q), in float64."""
    return torch.softmax(q.double() @ k.double().mT, -1) @ v.double()


def exact(seed: int, x: Tensor) -> Tensor:
    """The output of the head of a seed."""
    return emulated(*(x.double() @ w.mT for w in weights(seed)))


class Parts(nn.Module):
    """K, Q and V by a model each; forward gives them and, for the error, what they should be."""

    def __init__(self, heads: int, target: list[Tensor]) -> None:
        super().__init__()
        self.models = nn.ModuleList(Multihead(TOKENS, D, HIDDEN, heads, size) for size in SIZES)
        for i, w in enumerate(target):
            self.register_buffer(f"target{i}", w.float())

    def forward(self, x: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        right = tuple(x @ self.get_buffer(f"target{i}").mT for i in range(len(SIZES)))
        return tuple(model(x) for model in self.models), right


def _error(model: Any, batch: tuple[Tensor, ...]) -> Tensor:
    guesses, right = model(*batch)
    return torch.stack([(a - b).square().mean() for a, b in zip(guesses, right, strict=True)]).sum()


def lessons(settings: Mapping[str, Any]) -> dict[str, Repeated]:
    """One training for each number of heads."""
    return {called(heads): _lesson(heads, settings) for heads in settings["heads"]}


def called(heads: int) -> str:
    """What a model is called."""
    return f"{heads} head{'s' * (heads > 1)}"


def _lesson(heads: int, settings: Mapping[str, Any]) -> Repeated:
    seeds, samples = range(settings["seeds"]), settings["samples"]

    def score(stack: Stack) -> list[float]:
        x = torch.stack([tokens(TESTED + seed, settings["tests"]) for seed in seeds])
        device = stack.values[0].device
        with torch.no_grad():
            outputs = stack.each(lambda model, own: emulated(*model(*own)[0]), (x.to(device),)).cpu()
        return [float((a - exact(seed, own)).square().mean()) for seed, a, own in zip(seeds, outputs, x, strict=True)]

    return Repeated(
        {"table": 1, "heads": heads, "samples": samples, "tests": settings["tests"]}, tuple(seeds),
        lambda seed: Parts(heads, weights(seed)), lambda seed: (tokens(seed, samples),), _error, settings["steps"],
        score=score,
    )  # fmt: skip


def measured(settings: Mapping[str, Any], fits: Fits) -> dict[str, Any]:
    """Errors of every seed on fresh tokens; of who answers 0, and of who attends to all tokens alike."""
    scores = [fits[called(heads)].scores[-1] for heads in settings["heads"]]
    zero, uniform = [], []
    for seed in range(settings["seeds"]):
        x = tokens(TESTED + seed, settings["tests"])
        right, value = exact(seed, x), x.double() @ weights(seed)[2].mT
        zero.append(float(right.square().mean()))
        uniform.append(float((value.mean(-2, keepdim=True) - right).square().mean()))
    m = {key: settings[key] for key in ("heads", "steps", "seeds")} | {"scores": scores}
    m |= {"trained": means(scores), "spread": spreads(scores), "slope": steepness(settings["heads"], means(scores))}
    return m | {"predict zero": means([zero])[0], "uniform attention": means([uniform])[0]}


def constructed(samples: int, seeds: int) -> float:
    """Mean squared error of the machine, on the test tokens of each seed."""
    from headsmith.machines.attention import Attention
    from headsmith.machines.prompts.heads import head

    vm, errors = Attention(D, HIDDEN, TOKENS, 90.0, 1.0), []
    for seed in range(seeds):
        k, q, v = weights(seed)
        x = tokens(TESTED + seed, samples).double()
        output = vm.value(head(k, q, nn.functional.pad(v, (0, 0, 0, HIDDEN - D))), x)[..., :D]
        errors.append(float((output - exact(seed, x)).square().mean()))
    return sum(errors) / seeds


def outcome(m: dict[str, Any], settings: Mapping[str, Any]) -> Outcome:
    """Each number of heads with its print, and the constructed machine beside."""
    m |= {"printed": [PRINTED[heads][0] for heads in m["heads"]], "constructed": constructed(8, m["seeds"])}
    beside = f"zero {m['predict zero']:.4g}, uniform attention {m['uniform attention']:.4g}"
    rows = [
        Row(called(heads), "{} ± {}".format(*PRINTED[heads]), f"{mean:.4g} ± {spread:.2g}", "not stated", m["seeds"],
            beside)
        for heads, mean, spread in zip(m["heads"], m["trained"], m["spread"], strict=True)
    ]  # fmt: skip
    steep = steepness(m["heads"], m["printed"])
    rows.append(Row("slope in H", f"{steep:.2f}", f"{m['slope']:.2f}", CLAIMS[2].verdict(m), m["seeds"]))
    return Outcome(m, [*rows, Row("constructed", None, m["constructed"], CLAIMS[3].verdict(m), m["seeds"])])


def _when_trained(text: str, holds: Any) -> Claim:
    return Claim(text, lambda m: None if m["steps"] < ENOUGH else holds(m))


CLAIMS = (
    _when_trained(
        "each larger number of heads has a smaller mean error",
        lambda m: all(a > b for a, b in pairwise(m["trained"])),
    ),
    _when_trained(
        "the most heads are five times as good as one (printed: 5.06 times)",
        lambda m: m["trained"][0] >= 5 * m["trained"][-1],
    ),
    _when_trained("the error falls like O(1/H): slope at most -0.7", lambda m: m["slope"] <= -0.7),
    Claim("the constructed machine is within 1e-12", lambda m: m["constructed"] <= 1e-12),
)


def picture(m: Mapping[str, Any]) -> Any:
    """Error over heads, printed, trained and constructed."""
    return import_module("headsmith.views.machines").heads(m)


STUDY = Study(PRESETS, DRY, lessons, measured, outcome)


def self_check() -> bool:
    """The machine runs the head of seed 0."""
    return constructed(1, 1) <= 1e-12


@experiment(
    f"{PAPER}/table-1", CLAIMS, presets=PRESETS, self_check=self_check, source=PAPER, where="Table 1, Figure 2",
    pictures={"figure-2.png": picture},
)  # fmt: skip
def run(settings: Mapping[str, Any], record: Record) -> Outcome:
    """Train for each number of heads, all seeds at once; set the constructed machine beside it."""
    return STUDY.here(settings, record)
