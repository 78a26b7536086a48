"""The list of mutants does not rot: each is about text that stands once in its file, and names tests that exist."""

import ast
import sys

import pytest

from .mutants.mutant import AREAS, ROOT, Mutant, mutants

sys.path.insert(0, str(ROOT))


@pytest.mark.parametrize("mutant", mutants(AREAS), ids=lambda m: m.name)
def test_a_mutant_is_still_about_the_code(mutant):
    ast.parse(mutant.source())
    assert mutant.source() != (ROOT / mutant.file).read_text(encoding="utf-8")
    for named in mutant.tests.split():
        path, _, name = named.partition("::")
        assert (ROOT / path).exists() and f"def {name}" in (ROOT / path).read_text(encoding="utf-8"), named


def test_a_mutant_whose_text_is_gone_is_noticed():
    with pytest.raises(ValueError, match="0 times"):
        Mutant("gone", "src/headsmith/__init__.py", "no such text", "", "tests/test_mutants.py").source()
