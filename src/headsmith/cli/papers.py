"""``headsmith papers`` and ``headsmith errata``: the papers' claims, run and judged."""

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add ``papers`` (list, run, where) and ``errata``."""
    group = typer.Typer(help="The papers' experiments: list them, run them, find a statement's code.")
    group.callback(invoke_without_command=True)(overview)
    group.command("list")(list_experiments)
    group.command("run")(run)
    group.command("where")(where)
    app.add_typer(group, name="papers")
    app.command("errata")(errata)


def overview(context: typer.Context) -> None:
    """The papers' experiments: list them, run them, find a statement's code."""
    if context.invoked_subcommand is None:
        list_experiments()


def list_experiments() -> None:
    """List the papers and the experiments."""
    from rich.console import Console

    from headsmith.papers.printed import PAPERS
    from headsmith.papers.registry import registry
    from headsmith.views.tables import Table

    console = Console()
    console.print(Table("Papers", ("id", "title"), list(PAPERS.items())).rich())
    listed = registry.listed()
    for source in dict.fromkeys(listing.source for listing in listed):
        rows = [(e.item, e.claim + _more(e.claims - 1), list(e.presets)) for e in listed if e.source == source]
        console.print(Table(f"headsmith papers run {source}/...", ("item", "claim", "presets"), rows).rich())


def _more(count: int) -> str:
    return f" (and {count} more)" if count else ""


def run(
    id: Annotated[str, typer.Argument(metavar="ID", help="An experiment, as 'headsmith papers' lists it.")],
    preset: Annotated[str, typer.Option(help="How much of it to run: smoke, full, ...")] = "smoke",
    out: Annotated[Path, typer.Option(help="The folder for results.")] = Path("out"),
) -> None:
    """Run an experiment, or continue one that was interrupted."""
    from rich.console import Console

    from headsmith.papers.registry import run_experiment

    result = run_experiment(id, preset, out)
    console = Console()
    console.print(result.table().rich())
    console.print(result.claims().rich())
    took = f"{result.seconds:.1f} s" if result.fresh else "finished earlier, read back"
    console.print(f"{result.folder} ({took})", highlight=False, soft_wrap=True)


def where(
    statement: Annotated[str, typer.Argument(metavar="STATEMENT", help="Such as 'Thm 3.4' or 'emulation Thm 3.1'.")],
) -> None:
    """Name the file that defines a statement of a paper, and those that use it."""
    from headsmith.cli.console import show
    from headsmith.papers.index import where as find

    found = find(statement)
    for label in dict.fromkeys((p.statement, p.paper) for p in found):
        places = [p for p in found if (p.statement, p.paper) == label]
        rows = []
        for file in dict.fromkeys(p.file for p in places):
            own = [p for p in places if p.file == file]
            says = "defines" if any(p.defines for p in own) else "uses"
            rows.append((says, f"headsmith/{file}:{own[0].line}", ", ".join(p.object for p in own)))
        wide = max(len(file) for _, file, _ in rows)
        lines = (f"  {says:<7}  {file:<{wide}}  {objects}" for says, file, objects in rows)
        show(", ".join(filter(None, label)), *lines)  # unbroken: a file's name is there to be copied


def errata(
    paper: Annotated[str | None, typer.Argument(metavar="PAPER", help="Only this paper's.")] = None,
) -> None:
    """Run every printed statement that fails beside its repair; exit 1 if one of them is not confirmed."""
    from rich.console import Console

    from headsmith.papers.errata import errata_tables, run_errata

    findings = run_errata(paper)
    for table in errata_tables(findings):
        Console().print(table.rich())
    if not all(finding.confirmed for finding in findings):
        raise typer.Exit(1)
