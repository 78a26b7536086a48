"""``headsmith tape``: run a list of prompts on one frozen block, or look at it.

PROGRAM is a file that `program.save` wrote, or `minilm`: a whole transformer, 45 instructions.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headsmith.cli.console import Properties, show, show_json, working
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.machines.tape.program import TapeProgram

SHOWN = 8  # numbers of the value that a table shows
Program = Annotated[str, typer.Argument(metavar="PROGRAM", help="A file that program.save wrote, or minilm.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def register(app: typer.Typer) -> None:
    """Add ``tape run`` and ``tape listing``."""
    group = typer.Typer(help="Run a list of prompts on one frozen block, or look at it.", no_args_is_help=True)
    group.command("run")(run)
    group.command("listing")(listing)
    app.add_typer(group, name="tape")


def run(
    program: Program,
    text: Annotated[str | None, typer.Option(help="The text that a language model reads.")] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Tokens for other programs: one a line, numbers alone.")
    ] = None,
    prove: Annotated[
        bool, typer.Option("--prove", help="Enclose the exact answer for this very input, and prove the distance.")
    ] = False,
    json: Json = False,
) -> None:
    """Run a tape program; --prove adds a theorem about this answer."""
    from headsmith.machines.tape.tape import Tape

    X = _tokens(text, csv)
    tape = _program(program)
    _refuse_input(tape, X)  # before a block is built for it
    tape.enter(X)
    with working("building the block"):
        D, S, H = tape.sizes.slot, tape.sizes.slots, tape.sizes.heads
        vm = Tape(slot=D, slots=S, heads=H, domain=tape.domain, norm=tape.norm)
    with working(f"running {len(tape)} instructions"):
        result = vm(tape, X)
    with working("bounding every pass"):
        certificate = result.certificate
    proved = None
    if prove:
        with working("enclosing the exact answer"):
            proved = result.prove()
    if json:
        bounds = {"pass": certificate.bound, "proved": None if proved is None else proved.bound}
        told = {"program": tape.source.name, "passes": result.passes, "seconds": result.seconds, "bounds": bounds}
        show_json({**told, "hash": vm.weight_hash, "value": result.value.tolist()})
        return
    show(_report(tape, vm, result, certificate, proved))
    if proved is not None:
        show(proved.statement)


def _report(tape: TapeProgram, vm: Any, result: Any, certificate: Any, proved: Any) -> Properties:
    from headsmith.records.shown import number, upper

    flat = result.value.reshape(-1).tolist()
    value = ", ".join(number(v, 6) for v in flat[:SHOWN]) + (
        f", ... ({len(flat)} numbers)" if len(flat) > SHOWN else ""
    )
    rows = [
        ("value", value),
        ("passes", f"{result.passes} in {number(result.seconds)} s"),
        ("a pass", f"within {upper(certificate.bound)} of its instruction, certified"),
        *([] if proved is None else [("proved", f"within {upper(proved.bound)} of the exact answer for this input")]),
        ("block", f"{vm.sizes}, hash {vm.weight_hash[:16]}"),
    ]
    return Properties(tape.source.name, rows)


def listing(program: Program) -> None:
    """Show the instructions of a tape program: what each reads and writes, its activation, its view, its size."""
    show(str(_program(program).listing()))


def _program(name: str) -> TapeProgram:
    """The program of a file, or MiniLM for the block that it was measured on."""
    from headsmith.machines.tape.program import TapeProgram

    if name == "minilm":
        from headsmith.machines.prompts.sentence import minilm
        from headsmith.machines.tape.instruction import Sizes
        from headsmith.machines.tape.lowering import lower

        with working("reading the weights of MiniLM"):
            return lower(minilm(), Sizes(slot=384, slots=7, heads=12))
    from headsmith.compiler.files import load

    with working(f"reading {name}"):
        found = load(name)
    if not isinstance(found, TapeProgram):
        raise Refusal(f"{name} holds no tape program: program.save in Python writes one")
    return found


def _tokens(text: str | None, csv: Path | None) -> Any:
    """What the program runs on: a text, the lines of a table, or nothing where it carries its data."""
    from headsmith.cli.inputs import read_rows

    if text is not None and csv is not None:
        raise Refusal("give --text or --csv, not both")
    if text is not None and not text.strip():
        raise Refusal("the text is empty: give words after --text")
    return text if csv is None else read_rows(csv)


def _refuse_input(tape: TapeProgram, X: Any) -> None:
    """Refuses, in the words of the command line, what the program cannot be given."""
    name, reads = tape.source.name, hasattr(tape.source, "tokens")
    if tape.start is not None and X is not None:
        raise Refusal(f"{name} carries its own data: leave out --text and --csv")
    if tape.start is None and X is None and reads:
        raise Refusal(f'{name} reads a text: give --text "..."')
    if tape.start is None and (X is None or isinstance(X, str)) and not reads:
        raise Refusal(f"{name} reads tokens of {tape.features} numbers: give --csv FILE, a token a line")
