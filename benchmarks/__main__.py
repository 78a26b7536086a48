"""Run the functions ``bench_*`` of the files ``benchmarks/bench_*.py`` and print their rows.

A benchmark returns a ``headsmith.views.tables.Table``; it does its own timing, since what is compared with
what belongs in one run. ``python -m benchmarks forward`` runs only those whose name contains ``forward``.
"""

import importlib
import sys
import time
from pathlib import Path

import torch
from rich.console import Console


def main(only: list[str]) -> int:
    torch.set_num_threads(1)
    console = Console()
    ran = 0
    for path in sorted(Path(__file__).parent.glob("bench_*.py")):
        module = importlib.import_module(f"benchmarks.{path.stem}")
        for name, bench in vars(module).items():
            wanted = not only or any(part in name for part in only)
            if name.startswith("bench_") and callable(bench) and wanted:
                start = time.perf_counter()
                console.print(bench().rich())
                console.print(f"{path.stem}.{name}: {time.perf_counter() - start:.1f} s\n", style="dim")
                ran += 1
    if not ran:
        console.print(f"no benchmark matches {' '.join(only)}" if only else "there is no benchmark")
    return 0 if ran else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
