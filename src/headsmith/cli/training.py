"""``headsmith solve --with network=16,16``: a network trained by one forward pass, beside torch autograd."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headsmith.cli.console import show, show_json, working, writable
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from headsmith.targets.training.network import TrainingNetwork
    from headsmith.targets.training.target import Training

ROWS = 1_000
"""Every token looks at every other, so that a step takes rows^2: 1000 rows take a quarter of a second and 0.6 GB."""

WORK = 1e9
"""tokens^2 steps layers: a minute or two of one core."""

HELD = 4e6
"""tokens features: 16 steps are checked together, before and behind, which is 1 GB."""

WIDEST, DEEPEST = 128, 6
SHOWN = 6
"""Lines of a table of losses."""


@dataclass(frozen=True)
class Asked:
    """What was asked of the network, beside its data."""

    hidden: tuple[int, ...]
    activation: str
    steps: int
    rate: float
    biases: bool
    seed: int
    eps: float


def hidden(given: str) -> tuple[int, ...]:
    """'16,16' -> (16, 16)."""
    parts = [part.strip() for part in given.split(",")]
    if not all(part.isdecimal() and 1 <= int(part) <= WIDEST for part in parts) or len(parts) > DEEPEST:
        raise Refusal(
            f"network takes the widths of up to {DEEPEST} hidden layers, 1 to {WIDEST} units each, such as "
            f"network=16,16, not {given!r}"
        )
    return tuple(map(int, parts))


def train(names: Sequence[str], X: np.ndarray, y: np.ndarray, target: str, asked: Asked) -> dict[str, Any]:
    """Both runs on standardised columns, and how far they are apart."""
    from headsmith.reference.autograd import descended

    inputs, labels = standardised([*names, target], X, y)
    net, start = compiled(inputs, labels, asked), time.perf_counter()
    with working(f"{asked.steps} steps on {len(y)} rows in one forward pass"):
        result = _run(net, inputs, labels, asked)
    middle = time.perf_counter()
    rows = net.task.tape.split(result.path[0])
    path, losses = descended(rows, inputs, labels, net.task.activation, asked.steps, asked.rate, asked.biases)
    stop = time.perf_counter()
    curves = {"forward pass": result.loss_curve, "autograd": losses}
    return {
        "title": f"{target} from {len(names)} columns, {len(y)} rows: {net.task}",
        "losses": {who: curve.tolist() for who, curve in curves.items()},
        "R^2": {who: 1 - 2 * float(curve[-1]) for who, curve in curves.items()},  # labels have variance 1
        "weight gaps": (result.path - path).abs().amax(-1).tolist(),
        "perturbations": result.perturbations.tolist(),
        "certified": result.certificate.bound,
        "statement": result.certificate.statement,
        "kinks": result.kinks,
        "seconds": {"forward pass": middle - start, "autograd": stop - middle},
        "blocks": net.plan.layers,
        "tokens": net.task.tape.tokens,
        "weights": [w.tolist() for w in result.weights],
        "biases": [b.tolist() for b in result.biases],
    }


def standardised(names: Sequence[str], X: np.ndarray, y: np.ndarray) -> tuple[Tensor, Tensor]:
    """Every column with mean 0 and variance 1, the target too: steps of one rate suit all of them."""
    import numpy as np
    import torch

    table = np.column_stack([X, y])
    table = table / np.maximum(np.abs(table).max(0), np.finfo(float).tiny)  # whose squares are in range
    spread = table.std(0)
    for name, one in zip(names, spread, strict=True):
        if one <= 1e-12:
            raise Refusal(f"column {name!r} is constant: leave it out, and use --biases for a constant term")
    scaled = torch.from_numpy((table - table.mean(0)) / spread)
    return scaled[:, :-1].contiguous(), scaled[:, -1:].contiguous()


def compiled(inputs: Tensor, labels: Tensor, asked: Asked) -> TrainingNetwork:
    """The transformer for these data, its domain as wide as they are."""
    from typing import cast

    import headsmith as hs
    from headsmith.targets.training.network import TrainingNetwork

    samples, width = inputs.shape
    task = hs.target.Training(
        [width, *asked.hidden, 1],
        asked.activation,
        steps=asked.steps,
        rate=asked.rate,
        biases=asked.biases,
        samples=samples,
    )
    refuse_large(task)
    domain = {"x": _reach(inputs), "y": _reach(labels)}
    return cast(TrainingNetwork, hs.compile(task, eps=asked.eps, domain=domain))


def refuse_large(task: Training) -> None:
    """What would take more than a few minutes, or more than about 1 GB."""
    tape, steps = task.tape, task.steps
    work = tape.tokens**2 * steps * tape.depth
    if work > WORK:
        raise Refusal(
            f"{steps} steps on {task.samples} rows would take many minutes, as every token looks at every other in "
            f"each of them: take up to {int(steps * WORK / work)} steps, or sample the file"
        )
    if tape.tokens * tape.width > HELD:
        raise Refusal(
            f"{tape.tokens} tokens of {tape.width} features would hold more than 1 GB: take fewer units, or sample "
            "the file"
        )


def _reach(values: Tensor) -> float:
    return max(4.0, float(values.abs().max()))


def _run(net: TrainingNetwork, inputs: Tensor, labels: Tensor, asked: Asked) -> Any:
    import headsmith as hs

    try:
        return net(hs.prompt.training(inputs, labels, inputs[0], init=asked.seed))
    except Refusal as refusal:
        if str(refusal).startswith("after step"):
            step = str(refusal).removeprefix("after ").split(",")[0]
            raise Refusal(
                f"at --rate {asked.rate:g} a weight leaves [-8, 8], for which the network is certified, by {step}: "
                f"try --rate {asked.rate / 4:.1g}"
            ) from None
        raise


def report(found: dict[str, Any], json: bool, plot: Path | None) -> None:
    """Tables or JSON, and the picture."""
    if plot is not None:
        from headsmith.views.style import save
        from headsmith.views.training import training_curves

        save(training_curves(found), plot)
    if json:
        show_json(found)
        return
    from headsmith.records.shown import number, upper
    from headsmith.views.tables import Table

    one, other = (found["losses"][who] for who in ("forward pass", "autograd"))
    steps = len(one) - 1
    at = sorted({round(k * steps / (SHOWN - 1)) for k in range(SHOWN)})
    columns = ("step", "loss, forward pass", "loss, autograd", "difference", "largest weight difference")
    gaps = found["weight gaps"]
    losses = [(t, number(one[t], 7), number(other[t], 7), number(one[t] - other[t]), number(gaps[t])) for t in at]
    seconds, score = found["seconds"], found["R^2"]
    both = [
        ("R^2 on these rows", *(number(score[who], 6) for who in score)),
        ("time", *(f"{number(seconds[who])} s" for who in seconds)),
    ]
    show(
        found["title"],
        Table("standardised columns, the same start", columns, losses),
        Table("", ("", "forward pass", "autograd"), both),
        f"proved: every step is gradient descent on a gradient perturbed by at most {upper(found['certified'])}"
        + (f", slopes taken near a kink: {found['kinks']}" if found["kinks"] else "")
        + f"; {found['blocks']} blocks, {found['tokens']} tokens",
        *([f"{plot}: both losses, and their difference"] if plot else []),
    )


def solve_network(data: Path, target: str, asked: Asked, json: bool, plot: Path | None) -> None:
    """Read, train, compare, report."""
    from headsmith.cli.solve import read_table

    if plot is not None:
        writable(plot)
    table = read_table(data, target, ROWS, "--biases")
    report(train(table.names, table.X, table.y, target, asked), json, plot)
