"""``headsmith solve --with network=16,16``: a network trained by one forward pass, beside torch autograd."""

from __future__ import annotations

import math
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
    activation: str = "relu"
    loss: str = "squared"
    optimizer: str = "gd"
    decay: float = 0.0
    steps: int = 200
    rate: float = 0.05
    biases: bool = False
    seed: int = 0
    eps: float = 1e-6


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
    """Both runs on the same columns, and how far they are apart."""
    import headsmith as hs

    inputs, labels = columns([*names, target], X, y, asked.loss)
    task = task_of(inputs, asked)
    start = time.perf_counter()
    path, losses = by_autograd(task, inputs, labels, asked)
    middle = time.perf_counter()
    net = compiled(task, inputs, labels, path, asked.eps)
    begin = time.perf_counter()
    with working(f"{asked.steps} steps on {len(y)} rows in one forward pass"):
        result = net(hs.prompt.training(inputs, labels, inputs[0], init=asked.seed))
    stop = time.perf_counter()
    ends = {"forward pass": result.path[-1], "autograd": path[-1]}
    return {
        "title": f"{target} from {len(names)} columns, {len(y)} rows: {task}",
        "columns": "standardised columns" + ", the labels as they are" * task.squashed,
        "losses": {"forward pass": result.loss_curve.tolist(), "autograd": losses.tolist()},
        "share right" if task.squashed else "R^2": {who: score(task, w, inputs, labels) for who, w in ends.items()},
        "weight gaps": (result.path - path).abs().amax(-1).tolist(),
        "perturbations": result.perturbations.tolist(),
        "promise": promise(task, result.certificate.bound),
        "certified": result.certificate.bound,
        "statement": result.certificate.statement,
        "kinks": result.kinks,
        "seconds": {"forward pass": stop - begin, "autograd": middle - start},
        "blocks": net.plan.layers,
        "tokens": len(net.network.inputs),
        "weights": [w.tolist() for w in result.weights],
        "biases": [b.tolist() for b in result.biases],
    }


def columns(names: Sequence[str], X: np.ndarray, y: np.ndarray, loss: str) -> tuple[Tensor, Tensor]:
    """Every column with mean 0 and variance 1, so that steps of one rate suit all of them; not labels of 0 and 1."""
    import numpy as np
    import torch

    table = np.column_stack([X, y])
    table = table / np.maximum(np.abs(table).max(0), np.finfo(float).tiny)  # whose squares are in range
    spread = table.std(0)
    for name, one in zip(names, spread, strict=True):
        if one <= 1e-12:
            raise Refusal(f"column {name!r} is constant: leave it out, and use --biases for a constant term")
    scaled = torch.from_numpy((table - table.mean(0)) / spread)
    if loss != "logistic":
        return scaled[:, :-1].contiguous(), scaled[:, -1:].contiguous()
    if other := sorted({*y.tolist()} - {0.0, 1.0}):
        raise Refusal(
            f"--loss logistic takes labels 0 and 1, which are not standardised; {names[-1]!r} holds {other[0]:g}"
        )
    return scaled[:, :-1].contiguous(), torch.from_numpy(y)[:, None]


def task_of(inputs: Tensor, asked: Asked) -> Training:
    """The training that was asked for, unless it is too large."""
    import headsmith as hs

    samples, width = inputs.shape
    task = hs.target.Training(
        [width, *asked.hidden, 1],
        asked.activation,
        asked.loss,
        steps=asked.steps,
        rate=asked.rate,
        samples=samples,
        biases=asked.biases,
        decay=asked.decay,
        optimizer=asked.optimizer,
    )
    refuse_large(task)
    return task


def by_autograd(task: Training, inputs: Tensor, labels: Tensor, asked: Asked) -> tuple[Tensor, Tensor]:
    """(path, losses), if all weights stay where the network is certified."""
    from headsmith.reference.autograd import descended

    rule = (task.biases, task.value, task.decay, task.optimized)
    rows = task.start(asked.seed)
    path, losses = descended(rows, inputs, labels, task.activation, task.steps, task.rate, *rule)
    most = task.ranges["w"]
    away = (~(path.abs() <= most)).any(-1).nonzero()
    if len(away):
        raise Refusal(
            f"at --rate {asked.rate:g} a weight leaves [-{most:g}, {most:g}], for which the network is certified, "
            f"by step {int(away[0])}: try --rate {asked.rate / 4:.1g}"
        )
    return path, losses


def compiled(task: Training, inputs: Tensor, labels: Tensor, path: Tensor, eps: float) -> TrainingNetwork:
    """The transformer for these data, its domain as wide as they are."""
    from typing import cast

    import headsmith as hs
    from headsmith.targets.training.network import TrainingNetwork

    sizes = {"x": float(inputs.abs().max()), "y": float(labels.abs().max())}
    if task.optimizer == "adam":
        sizes["v"] = 2.0 ** math.ceil(math.log2(steepest(task, inputs, labels, path)))
    domain = {name: max(size, task.ranges[name]) for name, size in sizes.items()}
    return cast(TrainingNetwork, hs.compile(task, eps=eps, domain=domain))


def steepest(task: Training, inputs: Tensor, labels: Tensor, path: Tensor) -> float:
    """The largest square of a gradient on the path, which no v^ is beyond, with room for another rounding."""
    from headsmith.reference.autograd import gradient

    largest = 1.0
    for w in path:
        slopes = gradient(task.matrices.split(w), inputs, labels, task.activation, task.biases, task.value)[1]
        largest = max(largest, float((task.matrices.flat(slopes) + task.decay * w).square().max()))
    return 1.01 * largest


def promise(task: Training, bound: float) -> str:
    """What every step is."""
    from headsmith.records.shown import upper
    from headsmith.targets.training.claims import title

    if task.optimizer == "gd":
        return f"gradient descent on a gradient perturbed by at most {upper(bound)}"
    return f"within the rate times {upper(bound)} of {title(task.optimized)}, from the moments that the tokens hold"


def score(task: Training, w: Tensor, inputs: Tensor, labels: Tensor) -> float:
    """1 - |f - y|^2 / n, as the labels have variance 1; of classes how many of them lie on the side of f."""
    from headsmith.reference.autograd import outputs

    f = outputs(task.matrices.split(w), inputs, task.activation, task.biases)
    if task.squashed:
        return float(((f > 0) == (labels > 0)).double().mean())
    return 1 - float((f - labels).square().mean())


def refuse_large(task: Training) -> None:
    """What would take more than a few minutes, or more than about 1 GB."""
    from headsmith.constructions.training.compact import tape_of

    tape, steps = tape_of(task), task.steps
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


def report(found: dict[str, Any], json: bool, plot: Path | None) -> None:
    """Tables or JSON, and the picture."""
    if plot is not None:
        from headsmith.views.style import save
        from headsmith.views.training import training_curves

        save(training_curves(found), plot)
    if json:
        show_json(found)
        return
    from headsmith.records.shown import number
    from headsmith.views.tables import Table

    one, other = (found["losses"][who] for who in ("forward pass", "autograd"))
    steps = len(one) - 1
    at = sorted({round(k * steps / (SHOWN - 1)) for k in range(SHOWN)})
    heads = ("step", "loss, forward pass", "loss, autograd", "difference", "largest weight difference")
    gaps = found["weight gaps"]
    losses = [(t, number(one[t], 7), number(other[t], 7), number(one[t] - other[t]), number(gaps[t])) for t in at]
    seconds, measure = found["seconds"], "R^2" if "R^2" in found else "share right"
    both = [
        (f"{measure} on these rows", *(number(value, 6) for value in found[measure].values())),
        ("time", *(f"{number(seconds[who])} s" for who in seconds)),
    ]
    show(
        found["title"],
        Table(f"{found['columns']}, the same start", heads, losses),
        Table("", ("", "forward pass", "autograd"), both),
        f"proved: every step is {found['promise']}"
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
