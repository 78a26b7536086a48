"""``headsmith run``, ``certify``, ``show`` and ``explain``: what can be done with a compiled file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headsmith.cli.console import Properties, load_scalar, show, show_json, working, writable
from headsmith.refusal import Refusal

EACH = 2000  # inputs up to which every value gets an error bound of its own
OTHERS = {".pdf", ".svg", ".eps", ".ps", ".jpg", ".jpeg", ".gif", ".webp", ".tif", ".tiff", ".bmp"}  # no PNG

File = Annotated[Path, typer.Argument(metavar="FILE", help="A file that compile wrote.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def register(app: typer.Typer) -> None:
    """Add ``run``, ``certify``, ``show`` and ``explain``."""
    app.command("run")(run)
    app.command("certify")(certify)
    app.command("show")(show_file)
    app.command("explain")(explain)


def run(
    file: File,
    x: Annotated[list[str] | None, typer.Argument(metavar="X...", help="Inputs; without any, stdin is read.")] = None,
    csv: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Read inputs from the first column, or the one named like the variable."),
    ] = None,
    json: Json = False,
) -> None:
    """Run a network; each value comes with its certified error."""
    import torch

    from headsmith.cli.inputs import numbers, read_inputs, written
    from headsmith.records.shown import upper
    from headsmith.views.tables import Table

    net = load_scalar(file)
    title, [name] = str(net.target), net.target.arguments
    dtype, bound, kind = net.plan.dtype, net.certificate.bound, net.certificate.kind
    inputs = numbers(read_inputs(x or [], csv, name), net.plan.domain, dtype)
    tensor = torch.tensor(inputs, dtype=net.dtype)
    with torch.no_grad():
        values = net(tensor).double().tolist()
    each = net.target.known and len(inputs) <= EACH
    errors = _largest(net.certify(tensor)).tolist() if each else [bound] * len(inputs)
    if json:
        names = ("x", "value", "error")
        results = [dict(zip(names, row, strict=True)) for row in zip(inputs, values, errors, strict=True)]
        show_json({"formula": title, "dtype": dtype, "kind": kind, "bound": bound, "results": results})
        return
    several = getattr(net.target, "formulas", ()) if isinstance(values[0], list) else (title,)
    columns = (name, *map(str, several), "error at most")
    rows = [
        (written(a, dtype), *(written(v, dtype) for v in (b if isinstance(b, list) else [b])), upper(e))
        for a, b, e in zip(inputs, values, errors, strict=True)
    ]
    if len(rows) > EACH:
        print("\n".join("\t".join(row) for row in [columns, *rows]))
        return
    word = "certified" if kind == "proved" else kind
    note = f"{word}: within {upper(bound)} on the whole domain" + (", and as shown at these inputs" if each else "")
    show(Table("", columns, rows), note)


def _largest(errors: Any) -> Any:
    """The largest error of each input's outputs."""
    return errors if errors.dim() == 1 else errors.amax(-1)


def certify(file: File, json: Json = False) -> None:
    """Prove a file again and print the sentence; exit 0 proved, 1 altered or false, 2 cannot be repeated."""
    from dataclasses import asdict

    from headsmith.compiler.files import certify as prove_again
    from headsmith.records.shown import upper

    with working(f"proving {file} again"):
        verdict = prove_again(file)
    if json:
        show_json({"file": str(file), **asdict(verdict)})
    elif verdict.status == 0 and verdict.bound is not None:
        show(f"{file}: proved, error at most {upper(verdict.bound)} ({verdict.reason})", verdict.statement)
    else:
        said = ("", "not proved", "cannot be repeated")[verdict.status]
        why = verdict.reason.removeprefix(f"{file}: ")
        show(f"{file}: {said}: {'it' + why.removeprefix(str(file)) if why.startswith(f'{file} ') else why}")
    raise typer.Exit(verdict.status)


def show_file(
    file: File,
    out: Annotated[Path | None, typer.Option(metavar="PNG", help="Draw a picture instead of printing tables.")] = None,
) -> None:
    """Show a network: its plan, certificate and cost, or a picture."""
    if out is None:
        from dataclasses import asdict

        from headsmith.compiler.files import load

        net = load(file)
        if hasattr(net, "listing"):
            show(str(net.listing()))
            return
        cost = [(name.replace("_", " "), value) for name, value in asdict(net.network.cost()).items()]
        show(getattr(net, "plan", net), net.certificate, Properties("Cost", cost))
        return
    from headsmith.compiler.files import load
    from headsmith.views.style import save

    if out.suffix.lower() in OTHERS:
        raise Refusal(f"{out} would hold a PNG picture: give it a name that ends in .png")
    writable(out)
    net = load(file)
    with working(f"drawing {file}"):
        save(net.plot(), out)
    drawn = "its ids and their labels" if getattr(net, "kind", "") == "recall" else "its error and its attention"
    show(f"{out}: {net.target}, {drawn}")


def explain(file: File, x: Annotated[str, typer.Argument(metavar="X", help="One input.")]) -> None:
    """Say which keys each head reads at one input, and what they add."""
    from headsmith.cli.inputs import Given, numbers
    from headsmith.views.tables import Table

    net = load_scalar(file)
    [value] = numbers([Given(x, "")], net.plan.domain, net.plan.dtype)
    told = net.explain(value)
    rows: list[tuple[Any, ...]] = []
    for reading in told.readings:
        wires = f"layer {reading.layer} head {reading.head}: {reading.input} to {reading.output}"
        rows += [(wires if i == 0 else "", *key, key[1] * key[2]) for i, key in enumerate(reading.keys[:8])]
        rest = reading.keys[8:]
        if rest:
            rows.append(("", f"{len(rest)} more", sum(k[1] for k in rest), None, sum(k[1] * k[2] for k in rest)))
        rows.append(("", "sum", None, None, reading.result))
    show(Table("", ("head", "key", "weight", "value", "weight x value"), rows), told.title())
