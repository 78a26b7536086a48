"""A few small networks of every kind, for the tests that all kinds share; each file holds a family of them."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from headsmith.compiler.compiled import Compiled

FAMILIES = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
EXAMPLES: dict[str, Callable[[], Compiled]] = {
    f"{family}: {name}": cache(build)
    for family in FAMILIES
    for name, build in import_module(f".{family}", __package__).EXAMPLES.items()
}

EACH = [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in EXAMPLES]
"""The parameters of a test of every example; one process has all tests of one example, so it is compiled once."""

FIRST = {name.split(":")[0]: name for name in reversed(EXAMPLES)}.values()
DRAWN = [
    pytest.param(name, marks=[pytest.mark.xdist_group(name), *([] if name in FIRST else [pytest.mark.slow])])
    for name in EXAMPLES
]
"""The same for what takes a second each: the first of each family, the others with the slow tests."""
