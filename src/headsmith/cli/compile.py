"""``headsmith compile`` and ``headsmith plan``: from a formula, or a labelled file, to a network with a proof."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headsmith.cli.console import Properties, show, show_json, working, writable
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.compiler.compiled import Compiled
    from headsmith.views.measurement import Measured

Formula = Annotated[
    str,
    typer.Argument(metavar="FORMULA", help="Such as 'sin(3*x)' or '-x^2 + abs(x)'; or an MLP in a .safetensors file."),
]
Subject = Annotated[
    str,
    typer.Argument(metavar="FORMULA", help="Such as 'sin(3*x)'; an MLP in a .safetensors file; a labelled file, --as."),
]
Form = Annotated[str | None, typer.Option("--as", metavar="FORM", help="Recall a labelled file: conll, csv or jsonl.")]
Activation = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of an MLP whose file does not name its layers: relu, gelu, ...")
]
Domain = Annotated[tuple[str, str], typer.Option(metavar="LO HI", help="The interval of each input.")]
Eps = Annotated[str, typer.Option(metavar="E", help="The largest error you accept.")]
Dtype = Annotated[str, typer.Option(metavar="DTYPE", help="float64 or float32.")]
Method = Annotated[str, typer.Option(metavar="METHOD", help="auto, printed, table or composition.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


class Missing(typer.BadParameter):
    """An option that only some uses of a command need."""

    def format_message(self) -> str:
        """The sentence alone."""
        return self.message


def register(app: typer.Typer) -> None:
    """Add ``compile`` and ``plan``."""
    app.command("compile")(compile_formula)
    app.command("plan")(plan)


def compile_formula(
    formula: Subject,
    domain: Annotated[tuple[str, str] | None, typer.Option(metavar="LO HI", help="The interval of each input.")] = None,
    eps: Annotated[str | None, typer.Option(metavar="E", help="The largest error you accept.")] = None,
    dtype: Dtype = "float64",
    method: Method = "auto",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the network to this file.")] = None,
    activation: Activation = None,
    form: Form = None,
    json: Json = False,
) -> None:
    """Compile a formula, a saved MLP or a labelled file into attention heads with a certificate."""
    if form is not None:
        from headsmith.cli.tagging import compile_labelled

        if domain is not None or eps is not None or activation is not None:
            raise Refusal("a labelled file is recalled exactly: --domain, --eps and --activation have no meaning here")
        return compile_labelled(Path(formula), form, dtype, method, out, json)
    for name, value in (("--domain", domain), ("--eps", eps)):
        if value is None:
            labelled = ", or '--as conll' (csv, jsonl) where a file holds labels" if Path(formula).is_file() else ""
            raise Missing(f"Missing option '{name}', which a formula needs{labelled}.")
    _compile(formula, domain, eps, dtype, method, out, activation, json)


def _compile(
    formula: str,
    domain: tuple[str, str] | None,
    eps: str | None,
    dtype: str,
    method: str,
    out: Path | None,
    activation: str | None,
    json: bool,
) -> None:
    import time

    from headsmith.doors.compile import compile
    from headsmith.views.measurement import measure, scalar

    if out is not None:
        writable(out)
    with working(f"compiling {formula}"):
        start = time.perf_counter()
        net = compile(target_of(formula, activation), domain=domain, eps=eps, dtype=dtype, method=method)
        seconds = time.perf_counter() - start
        measured = measure(net) if scalar(net) else None
    if out is not None:
        net.save(out)
    if json:
        show_json(compiled_record(net, measured, seconds, out))
    elif measured is not None:
        show(compiled_table(net, measured, seconds, out), certified(net))
    else:
        show(net.plan, certified(net), *([] if out is None else [f"written to {out}"]))


def plan(
    formula: Formula,
    domain: Domain,
    eps: Eps,
    dtype: Dtype = "float64",
    method: Method = "auto",
    activation: Activation = None,
    json: Json = False,
) -> None:
    """Show the size and the bound that compile would give."""
    from headsmith.doors.compile import plan as make_plan

    with working(f"planning {formula}"):
        made = make_plan(target_of(formula, activation), domain=domain, eps=eps, dtype=dtype, method=method)
    if json:
        show_json(
            {
                "formula": str(made.target),
                "domain": made.domain,
                "eps": made.eps,
                "dtype": made.dtype,
                "method": made.method,
                "keys": made.anchors,
                "heads": made.heads,
                "layers": made.layers,
                "bound": made.bound,
                "approximation": made.approximation,
                "rounding": made.rounding,
                "printed_keys": _count(made.printed_anchors),
            }
        )
    else:
        show(made)


def target_of(text: str, activation: str | None = None) -> Any:
    """A formula, or the perceptron of a safetensors file."""
    if not text.endswith(".safetensors"):
        if activation is not None:
            raise Refusal(f"--activation is for an MLP in a .safetensors file, and {text!r} is a formula")
        return text
    from headsmith.doors.mlp import NoActivation, read_mlp

    try:
        return read_mlp(text, activation)
    except NoActivation:
        typer.echo(f"{text} does not say which activation it has: relu is assumed, --activation changes it", err=True)
        return read_mlp(text, "relu")


def compiled_table(net: Compiled, measured: Measured, seconds: float, out: Path | None = None) -> Properties:
    """What was made, beside what the papers' printed rule would make of the same request."""
    from headsmith.records.shown import interval, number, upper
    from headsmith.views.tables import cell

    made, certificate, cost = net.plan, net.certificate, net.network.cost()
    size = made.printed_anchors
    printed = "no finite size" if size == float("inf") else int(size) if size < 1e9 else number(size, 2)
    rows: list[tuple[str, Any, Any]] = [
        ("domain", f"{interval(made.domain)} in {made.dtype}", None),
        ("method", made.method, "staircase"),
        ("keys", made.anchors, printed),
        ("heads", cost.heads, 1),
        ("parameters", cost.parameters, None),
        ("certified bound", upper(certificate.bound, 3), number(made.eps)),
        ("= approximation", upper(certificate.approximation, 3), None),
        ("+ rounding", upper(certificate.rounding, 3), None),
        ("measured error", f"{number(measured.error)}, the largest on {cell(measured.points)} points", None),
        ("time", f"{seconds:.2f} s", None),
    ]
    if made.request.domain.note:
        rows.append(("note", made.request.domain.note, None))
    if out is not None:
        rows.append(("file", str(out), None))
    return Properties(str(made.target), rows, ("", "headsmith", "printed rule"))


def certified(net: Compiled) -> str:
    """The promise in one line."""
    from headsmith.records.shown import upper

    return f"{net.certificate.kind}: {net.certificate.statement}, bound = {upper(net.certificate.bound)}"


def compiled_record(net: Compiled, measured: Measured | None, seconds: float, out: Path | None) -> dict[str, Any]:
    """The same as JSON."""
    made, certificate, cost = net.plan, net.certificate, net.network.cost()
    return {
        "formula": str(made.target),
        "domain": made.domain,
        "eps": made.eps,
        "dtype": made.dtype,
        "method": made.method,
        "keys": made.anchors,
        "heads": cost.heads,
        "layers": made.layers,
        "parameters": cost.parameters,
        "kind": certificate.kind,
        "bound": certificate.bound,
        "approximation": certificate.approximation,
        "rounding": certificate.rounding,
        "measured": measured.error if measured else None,
        "measured_at": measured.at if measured else None,
        "measured_points": measured.points if measured else None,
        "printed_keys": _count(made.printed_anchors),
        "seconds": seconds,
        "file": None if out is None else str(out),
    }


def _count(keys: float) -> int | float:
    """A number of keys as an integer, where it is one."""
    return int(keys) if keys < 2**53 else keys
