"""Applies each mutation to a copy of the tree, runs its tests there, and reports the survivors."""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutants.mutant import AREAS, ROOT, Mutant, mutants

KEPT = ("src", "tests", "conftest.py", "pyproject.toml", "docs", "README.md", "benchmarks")


def survives(mutant: Mutant) -> bool:
    """Whether all of its tests pass with the mutation in place."""
    return passes(mutant.tests, mutant)


def passes(tests: str, mutant: Mutant | None = None) -> bool:
    """Whether the tests pass in a copy of the tree, mutated or as it is."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        for part in KEPT:
            whole = ROOT / part
            if whole.is_dir():
                shutil.copytree(whole, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
            elif whole.exists():
                shutil.copy(whole, copy / part)
        if mutant is not None:
            (copy / mutant.file).write_text(mutant.source(), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests.split()]
        env = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(
            f"{mutant.name if mutant else 'unchanged'}: {tests} do not run\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return done.returncode == 0


def main(areas: list[str]) -> int:
    """Prints a line a mutant; the exit code is 1 if any survived, or if a test fails without any mutation."""
    wanted = mutants(areas or AREAS)
    lived = []
    with ThreadPoolExecutor(2) as pool:
        suites = sorted({mutant.tests for mutant in wanted})
        red = [suite for suite, green in zip(suites, pool.map(passes, suites), strict=True) if not green]
        if red:
            print(f"these fail without any mutation, so no mutant can be judged by them: {'; '.join(red)}")
            return 1
        for mutant, alive in zip(wanted, pool.map(survives, wanted), strict=True):
            print("survives" if alive else "dies    ", f"{mutant.file.removeprefix('src/headsmith/')}: {mutant.name}")
            sys.stdout.flush()
            lived += [mutant] if alive else []
    print(f"{len(wanted)} mutants, {len(lived)} survive")
    return bool(lived)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
