"""``headsmith demo``: the whole tour in under a minute, with everything it makes left in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headsmith.cli.console import show, working

if TYPE_CHECKING:
    from headsmith.views.tables import Table

TOUR = (
    ("sin(3*x)", (-2, 2), 1e-6, "float64", "sin3x"),
    ("abs(x)", (-1, 1), 1e-5, "float32", "abs"),
    ("abs(sin(3*x)) + x^2", (-1, 1), 1e-6, "float64", "composed"),
)
"""A smooth function, a gate in single precision, and heads that read what other heads wrote."""


def register(app: typer.Typer) -> None:
    """Add ``demo`` (the tour) and ``demo minilm``."""
    group = typer.Typer(help="Take a tour, or run a real transformer from prompts.")
    group.callback(invoke_without_command=True)(demo)
    group.command("minilm")(minilm)
    app.add_typer(group, name="demo")


def minilm(
    text: Annotated[
        str, typer.Option(help="The sentence to embed.")
    ] = "One frozen machine runs every head of this model.",
    prove: Annotated[
        bool, typer.Option("--prove", help="Enclose the exact embedding of this text, and prove the distance.")
    ] = False,
) -> None:
    """Embed a sentence with MiniLM: 72 attention heads on one frozen machine, and the whole model on another."""
    from headsmith.machines import minilm as model

    with working("running MiniLM from prompts"):
        report = model.demo(text, prove)
    show(report)


def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder for what it makes.")] = Path("out"),
) -> None:
    """Take a tour: compile, run, prove again, be refused, check the papers."""
    import time

    if context.invoked_subcommand is not None:
        return

    start = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)
    made = _compile_and_draw(out)
    _refuse()
    _errata()
    made.append(_count_keys(out))
    show(_summary(made), f"{len(made)} results in {out}/, {time.perf_counter() - start:.0f} s")


def _chapter(text: str) -> None:
    from rich.console import Console
    from rich.rule import Rule

    Console().print(Rule(text, align="left", style="cyan"))


def _compile_and_draw(out: Path) -> list[tuple[str, str]]:
    """Compile, save, load, run, prove again and draw each formula of the tour."""
    import time

    import torch

    from headsmith.cli.compile import certified, compiled_table
    from headsmith.compiler.files import certify, load
    from headsmith.doors.compile import compile
    from headsmith.views.measurement import measure
    from headsmith.views.style import save

    made = []
    for formula, domain, eps, dtype, name in TOUR:
        asked = f"--domain {domain[0]} {domain[1]} --eps {eps:g}"
        _chapter(f'headsmith compile "{formula}" {asked}{" --dtype float32" * (dtype == "float32")}')
        file, drawn = out / f"{name}.safetensors", out / f"{name}.png"
        with working(f"compiling {formula}"):
            start = time.perf_counter()
            net: Any = compile(formula, domain=domain, eps=eps, dtype=dtype)
            seconds = time.perf_counter() - start
            net.save(file)
        show(compiled_table(net, measure(net), seconds, file), certified(net))
        again: Any = load(file)
        x = torch.tensor([0.5, -0.25], dtype=again.dtype)
        values = ", ".join(f"f({a:g}) = {b:.9g}" for a, b in zip(x.tolist(), again(x).tolist(), strict=True))
        with working("proving it again, drawing it"):
            verdict = certify(file)
            save(again.plot(), drawn)
        show(f"run from the file: {values}", f"certify: {verdict.reason}", "")
        made += [(str(file), f"{formula}, certified"), (str(drawn), "its values, error and attention")]
    return made


def _refuse() -> None:
    from headsmith.doors.compile import plan
    from headsmith.refusal import Refusal

    _chapter("what cannot be had is refused, with what can")
    for formula, eps, dtype in (("sin(3*x)", 1e-12, "float32"), ("step(x)", 1e-3, "float64")):
        try:
            with working(f"planning {formula}"):
                plan(formula, domain=(-2, 2), eps=eps, dtype=dtype)
        except Refusal as refusal:
            show(f"  {refusal}", "")


def _errata() -> None:
    from headsmith.papers.errata import errata
    from headsmith.views.tables import Table

    _chapter("headsmith errata: statements as printed, and repaired")
    with working("running what was printed"):
        from headsmith.papers.emulation import errata_rules as emulation
        from headsmith.papers.universality import errata_heads as universality

        chosen = {universality.__name__, emulation.__name__}
        entries = [entry for entry in errata.entries if entry.show.__module__ in chosen]
        findings = [entry.run() for entry in entries]
    rows = [
        (f.erratum.item, f.printed_measurement, f.repaired_measurement, "confirmed" if f.confirmed else "not confirmed")
        for f in findings
    ]
    show(Table("", ("statement", "as printed", "repaired", "verdict"), rows))


def _count_keys(out: Path) -> tuple[str, str]:
    from headsmith.papers.registry import run_experiment

    _chapter("headsmith papers run ours/anchors: keys against certified eps")
    with working("counting keys"):
        result = run_experiment("ours/anchors", "smoke", out)
    show(result.table(), result.claims())
    return str(result.folder / "keys.png"), "keys against eps, beside the printed rule and Chebyshev"


def _summary(made: list[tuple[str, str]]) -> Table:
    from headsmith.views.tables import Table

    return Table("What was made", ("file", "what it is"), made)
