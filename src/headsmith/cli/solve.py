"""``headsmith solve``: one frozen machine, several regressions, each a prompt; its answers beside a solver's.

``--with network=16,16`` is not one of them: it trains a network in one forward pass (`cli.training`).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headsmith.cli.console import show, show_json, working
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    import numpy as np

    from headsmith.cli.training import Asked
    from headsmith.machines.prompts.regression import Regression

ROWS = 20_000
PENALTIES = {
    "ols": (0, 0),
    "ridge": (1, 1),
    "lasso": (1, 1),
    "elastic_net": (2, 2),
    "logistic": (0, 1),
    "huber": (1, 1),
}


def register(app: typer.Typer) -> None:
    """Add ``solve``."""
    app.command("solve")(solve)


def solve(
    data: Annotated[Path, typer.Argument(metavar="CSV", help="A table with a header line; every column a number.")],
    target: Annotated[str, typer.Option(metavar="COLUMN", help="The column to predict from all others.")],
    programs: Annotated[
        str,
        typer.Option(
            "--with",
            metavar="LIST",
            help="Such as ols,ridge=0.1,lasso=0.05 or elastic_net=0.1:0.2,huber=1.5; logistic for a target of 0 and 1; "
            "or network=16,16 alone: hidden layers trained in one forward pass, beside torch autograd.",
        ),
    ] = "ols",
    eps: Annotated[
        str,
        typer.Option(
            metavar="E",
            help="Largest error, relative to the largest coefficient; of a network: "
            "largest perturbation of a gradient.",
        ),
    ] = "1e-6",
    intercept: Annotated[bool, typer.Option("--intercept", help="Fit a constant as well.")] = False,
    activation: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Of a network: relu (the default), leaky, hard tanh, identity, tanh, sigmoid, silu, softplus, gelu.",
        ),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Of a network: squared (the default), 'huber(1.5)', or logistic for a target of 0 and 1.",
        ),
    ] = None,
    optimizer: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of a network: gd (the default), momentum, adam.")
    ] = None,
    decay: Annotated[str | None, typer.Option(metavar="D", help="Of a network: weight decay, 0.")] = None,
    steps: Annotated[int | None, typer.Option(metavar="N", help="Of a network: how often it is moved, 200.")] = None,
    rate: Annotated[str | None, typer.Option(metavar="R", help="Of a network: the learning rate, 0.05.")] = None,
    biases: Annotated[bool, typer.Option("--biases", help="Of a network: every unit has a bias.")] = False,
    seed: Annotated[int | None, typer.Option(metavar="K", help="Of a network: where its weights start, 0.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Of a network: a PNG of the losses.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Solve regressions on one frozen attention machine, or train a network in one forward pass; the prompt says."""
    options = {
        "activation": activation,
        "loss": loss,
        "optimizer": optimizer,
        "decay": decay,
        "steps": steps,
        "rate": rate,
        "biases": biases or None,
        "seed": seed,
    }
    if programs.strip().startswith("network"):
        from headsmith.cli.training import solve_network

        solve_network(data, target, read_asked(programs, options, eps, intercept), json, plot)
        return
    refuse_without_network(**options, plot=plot)
    solve_regressions(data, target, programs, eps, intercept, json)


def solve_regressions(data: Path, target: str, programs: str, eps: str, intercept: bool, json: bool) -> None:
    """One machine, every program once, its answers beside a solver's."""
    from headsmith.compiler.plan import many
    from headsmith.machines import Solver

    table = read_table(data, target)
    prompts = [prompt(word, table, intercept) for word in words(programs)]
    solver = Solver(features=len(table.names) + intercept, samples=len(table.y), eps=float_of(eps))
    before = solver.weight_hash
    asked = many(len(prompts), "prompt")
    with working(f"{asked} on one machine"):
        answers = [(program, solver(program), program.problem.minimiser()) for program in prompts]
    unchanged = solver.weight_hash == before
    names = [*table.names, *(["(constant)"] if intercept else [])]
    if json:
        show_json(
            {
                "weights": before,
                "unchanged": unchanged,
                "programs": [_record(program, result, reference, names) for program, result, reference in answers],
            }
        )
        return
    from headsmith.records.shown import number, upper
    from headsmith.views.tables import Table

    tables = []
    for program, result, reference in answers:
        pairs = list(zip(_coefficients(result), reference.tolist(), strict=True))
        rows = [(name, number(a, 7), number(b, 7), number(a - b)) for name, (a, b) in zip(names, pairs, strict=True)]
        title = f"{program.name}: certified within {upper(result.certificate.bound)} after {result.loops} loops"
        tables.append(Table(title, ("feature", "machine", "reference", "difference"), rows))
    count = sum(p.numel() for p in solver.network.parameters())
    show(
        f"{target} from {len(table.names)} columns, {len(table.y)} rows: {asked}, one frozen machine",
        *tables,
        f"weights {before[:16]}… {'before, between and after' if unchanged else 'CHANGED'}: {count} frozen numbers",
    )


def read_asked(programs: str, options: dict[str, Any], eps: str, intercept: bool) -> Asked:
    """What is asked of a network; an option that is None was not given."""
    from headsmith.cli.training import Asked, hidden

    if intercept:
        raise Refusal("--intercept is for regressions; a network takes --biases")
    name, _, widths = programs.strip().partition("=")
    if name.strip() != "network":
        raise Refusal(
            f"no program is called {name.strip()!r}; there are {', '.join(PENALTIES)}, and network=16,16 alone"
        )
    given = {name: value for name, value in options.items() if value is not None}
    given |= {name: float_of(given[name]) for name in ("rate", "decay") if name in given}
    return Asked(hidden(widths), eps=float_of(eps), **given)


def refuse_without_network(**options: Any) -> None:
    """Options of networks mean nothing to regressions."""
    for name, value in options.items():
        if value is not None:
            raise Refusal(f"--{name} is for networks, such as --with network=16,16")


def _coefficients(result: Any) -> list[float]:
    return [*result.weights.tolist(), *([] if result.intercept is None else [float(result.intercept)])]


def _record(program: Regression, result: Any, reference: np.ndarray, names: list[str]) -> dict[str, Any]:
    found = _coefficients(result)
    return {
        "program": program.name,
        "coefficients": dict(zip(names, found, strict=True)),
        "reference": dict(zip(names, reference.tolist(), strict=True)),
        "certified": result.certificate.bound,
        "loops": result.loops,
    }


@dataclass(frozen=True)
class Data:
    """The columns of a table but one, and that one."""

    names: list[str]
    X: np.ndarray
    y: np.ndarray


def read_table(path: Path, target: str, rows: int | None = None, constant: str = "--intercept") -> Data:
    """The numbers of a CSV file; what is wrong with it is said by column and line."""
    import numpy as np

    with path.open(newline="", encoding="utf-8-sig") as file:
        try:
            lines = [line for line in csv.reader(file) if line]
        except (csv.Error, UnicodeDecodeError) as error:
            raise Refusal(f"{path} is not a CSV file: {error}") from None
    if len(lines) < 2:
        raise Refusal(f"{path} holds no data: a header line and at least one row are needed")
    names = [name.strip() for name in lines[0]]
    if len(set(names)) < len(names):
        raise Refusal(f"{path} names the column {next(n for n in names if names.count(n) > 1)!r} twice")
    if target not in names:
        raise Refusal(f"{path} has no column {target!r}; there are {', '.join(names)}")
    if len(names) < 2:
        raise Refusal(f"{path} has no column but {target!r}, so there is nothing to predict it from")
    most = ROWS if rows is None else rows
    if len(lines) - 1 > most:
        why = "" if rows is None else " by a network, each of whose tokens looks at every other"
        raise Refusal(f"{path} has {len(lines) - 1} rows; up to {most} are taken{why}: sample the file")
    values = np.array([[_cell(path, names, k, line) for k in range(len(names))] for line in enumerate(lines[1:], 2)])
    at = names.index(target)
    X, rest = np.delete(values, at, 1), [name for name in names if name != target]
    for name, column in zip(rest, X.T, strict=True):
        if len(column) > 1 and (column == column[0]).all():
            raise Refusal(f"column {name!r} is constant: leave it out, and use {constant} for a constant term")
    return Data(rest, X, values[:, at])


def _cell(path: Path, names: list[str], k: int, line: tuple[int, list[str]]) -> float:
    place, cells = line
    if len(cells) != len(names):
        raise Refusal(f"line {place} of {path} has {len(cells)} values, the header {len(names)}")
    text = cells[k].strip()
    try:
        value = float(text)
    except ValueError:
        what = "no value" if not text else f"{text!r}, which is not a number,"
        raise Refusal(f"column {names[k]!r} has {what} in line {place} of {path}") from None
    if not math.isfinite(value):
        raise Refusal(f"column {names[k]!r} has {text} in line {place} of {path}: fill in or drop missing values")
    return value


def words(programs: str) -> list[tuple[str, list[float]]]:
    """'ols,ridge=0.1' -> [('ols', []), ('ridge', [0.1])]."""
    found = []
    for word in filter(None, (part.strip() for part in programs.split(","))):
        name, _, given = word.partition("=")
        name = name.replace("-", "_")
        if name not in PENALTIES:
            raise Refusal(f"no program is called {name!r}; there are {', '.join(PENALTIES)}")
        values = [float_of(part) for part in given.split(":")] if given else []
        least, most = PENALTIES[name]
        if not least <= len(values) <= most:
            takes = {"ols": "no number", "elastic_net": "two numbers, as in elastic_net=0.1:0.2"}
            raise Refusal(f"{name} takes {takes.get(name, f'one number, as in {name}=0.1')}")
        found.append((name, values))
    if not found:
        raise Refusal("--with needs at least one program, such as ols")
    return found


def prompt(word: tuple[str, list[float]], data: Data, intercept: bool) -> Regression:
    """The prompt of one program on these data."""
    from headsmith.machines import prompts

    build: Callable[..., Regression] = getattr(prompts, word[0])
    return build(data.X, data.y, *word[1], intercept=intercept)


def float_of(text: str) -> float:
    """A number that was typed; words are refused."""
    try:
        return float(text)
    except ValueError:
        raise Refusal(f"{text!r} is not a number") from None
