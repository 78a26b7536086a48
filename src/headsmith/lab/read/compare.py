"""Trained, constructed and theoretical solutions of one task, on the same prompts.

Two predictors are compared by what they answer, never by their parameters: different weights run the same
algorithm. Squared errors on common prompts differ far less than each of them scatters, and the risk of the
debiased step is known exactly, so risks are measured as differences from it: a few thousand prompts do what a
million would have to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from headsmith.lab.read.diagnose import as_model, named_predictors, risks_preconditioner
from headsmith.lab.train.models import AttentionModel
from headsmith.lab.train.tasks import Prompts, Task
from headsmith.network import Network
from headsmith.records.shown import Shown, number
from headsmith.reference import regression, risks
from headsmith.refusal import Refusal

__all__ = ["Comparison", "compare", "length_risks"]

Answer = Callable[[Prompts], Tensor]


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Risk of each contender at each length, with standard errors, and the mean squared distances between
    them.

    `risks[name][i]` belongs to `lengths[i]`; `distances[a][b]` is E(a - b)^2 / E b^2 at the task's own
    length.
    """

    task: Task
    lengths: tuple[int, ...]
    risks: dict[str, list[float]]
    errors: dict[str, list[float]]
    distances: dict[str, dict[str, float]]

    def title(self) -> str:
        grid = ", ".join(map(str, self.lengths))
        return f"risk on common prompts, lengths {grid}; last: distance to {self.names[0]}"

    @property
    def names(self) -> list[str]:
        """The models that are compared, in order."""
        return list(self.risks)

    def picture(self, path: str | Path) -> Path:
        """The risks over the lengths as a PNG, drawn by `views.lab`, which is loaded when a picture is asked for."""
        figure = import_module("headsmith.views.lab").comparison(self)
        return import_module("headsmith.views.style").save(figure, path)

    def rows(self) -> list[tuple[str, str]]:
        first = self.names[0]
        return [
            (
                name,
                "  ".join(f"{number(v, 4):>7}" for v in values) + f"   {number(self.distances[name][first])}",
            )
            for name, values in self.risks.items()
        ]


def compare(
    *contenders: Any,
    task: Task | None = None,
    lengths: Sequence[int] | None = None,
    prompts: int = 4_000,
    seed: int = 999,
) -> Comparison:
    """Compare runs, models, networks, names of predictors and functions (X, y, x) -> guess on the same
    prompts.

    >>> compare(run, construct("debiased_gd"), "debiased_gd", "ridge").risks     # doctest: +SKIP
    """
    if task is None:
        task = next((c.task for c in contenders if hasattr(c, "task")), None) or Task()
    if prompts < 2:
        raise Refusal(f"prompts={prompts}: risks are means over at least 2 prompts")
    named = _named(contenders, task)
    grid = tuple(lengths or (task.length // 2, task.length, 2 * task.length))
    risk: dict[str, list[float]] = {name: [] for name in named}
    error: dict[str, list[float]] = {name: [] for name in named}
    with torch.no_grad():
        for length in grid:
            drawn = task.draw(
                prompts,
                length=length,
                generator=torch.Generator().manual_seed(seed + length),
                dtype=torch.float64,
            )
            control, known = _control(drawn, task, length)
            for name, answer in named.items():
                squares = (answer(drawn) - drawn.target).square().mean(-1) - control
                risk[name].append(known + float(squares.mean()))
                error[name].append(float(squares.std() / prompts**0.5))
        drawn = task.draw(prompts, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        answers = {name: answer(drawn) for name, answer in named.items()}
    distances = {
        a: {b: float((answers[a] - answers[b]).square().mean() / answers[b].square().mean()) for b in named}
        for a in named
    }
    return Comparison(task, grid, risk, error, distances)


def _control(drawn: Prompts, task: Task, length: int) -> tuple[Tensor, float]:
    """Squared errors (B,) of the best debiased step on these prompts, and their exact mean, to be added back."""
    if not task.solved:
        return torch.zeros(len(drawn.target), dtype=torch.float64), 0.0
    squares, known = [], []
    for n in range(task.responses):
        step = risks_preconditioner(task, n)
        guess = regression.debiased_gd(*drawn.regression(n), 1.0, step)
        squares.append((guess - drawn.target[:, n]).square())
        known.append(risks.descent(step, task.sigma, task.prior(n), length, task.noise))
    return torch.stack(squares).mean(0), sum(known) / len(known)


def length_risks(model: Any, task: Task, lengths: Sequence[int], prompts: int = 20_000, seed: int = 0) -> list[float]:
    """The risk of one contender at each length, on fresh prompts."""
    found = compare(model, task=task, lengths=lengths, prompts=prompts, seed=seed)
    return next(iter(found.risks.values()))


def _named(contenders: Sequence[Any], task: Task) -> dict[str, Answer]:
    named: dict[str, Answer] = {}
    for contender in contenders:
        label, answer = _answer(contender, task)
        while label in named:
            label += "'"
        named[label] = answer
    if not named:
        raise Refusal("compare needs at least one run, model, network, predictor name or function")
    return named


def _answer(contender: Any, task: Task) -> tuple[str, Answer]:
    """A label and a function from prompts to answers (B, N)."""
    if isinstance(contender, str):
        known = named_predictors(task) | {
            "zero": lambda X, y, x, n: regression.zero(X, y, x),
            "ols": lambda X, y, x, n: regression.ols(X, y, x),
            "debiased_gd": lambda X, y, x, n: regression.debiased_gd(X, y, x, 1.0, risks_preconditioner(task, n)),
        }
        if contender not in known:
            raise Refusal(f"no predictor is called {contender!r}; there are {', '.join(sorted(known))}")
        f = known[contender]
        return contender, lambda p: torch.stack([f(*p.regression(n), n) for n in range(task.responses)], -1)
    if isinstance(contender, Network):
        return "constructed", lambda p: network_answer(contender, p)
    if hasattr(contender, "models"):
        model = contender.models[0].double()
        return f"trained, {contender.heads} heads", lambda p: model(p)
    if isinstance(contender, AttentionModel | nn.Module | dict):
        layer = as_model(contender, task.responses).double()
        return "model", lambda p: layer(p)
    if callable(contender):
        label = getattr(contender, "__name__", "function").strip("<>")
        return label, lambda p: contender(*p.regression()).unsqueeze(-1)
    raise Refusal(f"{contender!r} cannot answer prompts; give a run, a model, a network, a name or a function")


def network_answer(network: Network, prompts: Prompts) -> Tensor:
    """The answers (B, N) of a constructed network: its input is the L examples and the query with zero
    responses.
    """
    d = prompts.query.shape[-1]
    n = prompts.tokens.shape[-2] - d
    query = torch.cat([prompts.query, prompts.query.new_zeros(*prompts.query.shape[:-1], n)], -1)
    tokens = torch.cat([prompts.tokens.transpose(-1, -2), query.unsqueeze(-2)], -2)
    return network(tokens)[..., -1, d:]
