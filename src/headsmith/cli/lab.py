"""``headsmith lab``: train small attention layers on in-context regression and read what they learned."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class Preset(StrEnum):
    """How much training: smoke is seconds, paper is hours."""

    smoke = "smoke"
    quick = "quick"
    good = "good"
    paper = "paper"


Features = Annotated[int, typer.Option(help="Covariates per example.")]
Length = Annotated[int, typer.Option(help="Examples in a prompt.")]
Noise = Annotated[float, typer.Option(help="Variance of the noise.")]
Out = Annotated[Path, typer.Option(help="The folder for runs; the same call continues or reads back.")]


def register(app: typer.Typer) -> None:
    """Add ``lab train``, ``lab sweep`` and ``lab diagnose``."""
    group = typer.Typer(help="Train attention on in-context regression; read its mechanism.", no_args_is_help=True)
    group.command("train")(train)
    group.command("sweep")(sweep)
    group.command("diagnose")(diagnose)
    app.add_typer(group, name="lab")


def train(
    heads: Annotated[int, typer.Option(help="Attention heads.")] = 2,
    seeds: Annotated[int, typer.Option(help="Independent runs.")] = 1,
    preset: Annotated[Preset, typer.Option(help="How long to train.")] = Preset.quick,
    features: Features = 5,
    length: Length = 40,
    noise: Noise = 0.1,
    activation: Annotated[str, typer.Option(help="exp, tanh, affine[:C], square[:C] or linear.")] = "exp",
    init: Annotated[str | None, typer.Option(help="split or default; the preset's unless given.")] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    save: Annotated[Path | None, typer.Option(help="Write the first seed's model to this .safetensors file.")] = None,
    out: Out = Path("out/lab"),
) -> None:
    """Train, then check the paper's observations and show what each seed runs."""
    from rich.console import Console

    from headsmith import lab
    from headsmith.records import replaceable

    if save is not None:
        replaceable(save if save.is_dir() else save.with_suffix(".safetensors"))
    sizes = {"features": features, "length": length, "noise": noise}
    options: dict[str, Any] = {**sizes, "preset": preset.value, "seeds": seeds, "init": init, "out": out}
    if seeds > 1 and device == "cpu" and preset is not Preset.smoke:
        swept = lab.sweep([heads], [activation], **options)  # one process per core
        run = swept.runs[heads, activation]
    else:
        run = lab.train(heads, activation=activation, device=device, **options)
    console = Console(highlight=False)
    console.print(str(run.report()), markup=False)
    for seed, found in zip(run.seeds, run.diagnoses, strict=True):
        classes = " ".join(found.head_classes)
        console.print(f"seed {seed}: {found.title()}, heads {classes}, risk {found.risk:.4f}", markup=False)
    if save is not None:
        console.print(f"{run.models[0].save(save)}", markup=False)


def sweep(
    heads: Annotated[str, typer.Option(help="Numbers of heads, with commas.")] = "1,2,4",
    activation: Annotated[str, typer.Option(help="Activations, with commas.")] = "exp",
    seeds: Annotated[int, typer.Option(help="Independent runs of each setting.")] = 4,
    preset: Annotated[Preset, typer.Option(help="How long to train.")] = Preset.smoke,
    features: Features = 5,
    length: Length = 40,
    noise: Noise = 0.1,
    processes: Annotated[int | None, typer.Option(help="Processes; one per core unless given.")] = None,
    out: Out = Path("out/lab"),
) -> None:
    """Train every number of heads with every activation, over processes; one row for each."""
    from rich.console import Console

    from headsmith import lab
    from headsmith.refusal import Refusal

    try:
        counts = [int(word) for word in heads.split(",")]
    except ValueError:
        raise Refusal(f"--heads {heads}: give whole numbers with commas, for instance 1,2,4") from None
    found = lab.sweep(
        counts,
        activation.split(","),
        seeds=seeds,
        preset=preset.value,
        processes=processes,
        out=out,
        features=features,
        length=length,
        noise=noise,
    )
    Console(highlight=False).print(str(found), markup=False)


def diagnose(
    model: Annotated[Path, typer.Argument(metavar="FILE", help="A .safetensors file with W_Q, W_K, W_V and W_O.")],
    length: Length = 40,
    noise: Noise = 0.1,
) -> None:
    """Read the mechanism of a layer: heads, rate, preconditioner, nearest algorithm, risk."""
    from rich.console import Console

    from headsmith import lab

    layer = lab.load_model(model)
    task = lab.Task(layer.features, length, noise)
    Console(highlight=False).print(str(lab.diagnose(layer, task)), markup=False)
