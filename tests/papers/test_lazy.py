"""Asking for one paper imports one paper, and listing them all imports none."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import headsmith
from headsmith.papers import contents, errata_modules, load
from headsmith.papers.errata import errata
from headsmith.papers.printed import FOLDERS
from headsmith.papers.registry import registry

HERE = Path(headsmith.__file__).parent / "papers"
LOADED = "import json, sys; print(json.dumps([m for m in sys.modules if m.startswith('headsmith') or m == 'torch']))"


def modules_after(code: str) -> set[str]:
    """The modules that are loaded once this code has run in a fresh interpreter."""
    run = subprocess.run([sys.executable, "-c", f"{code}\n{LOADED}"], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout.splitlines()[-1]))


def papers(modules: set[str]) -> set[str]:
    """The papers of which more than the contents is loaded."""
    return {name.split(".")[2] for name in modules if name.startswith("headsmith.papers.") and name.count(".") >= 3}


def test_one_experiment_imports_one_paper():
    code = "from headsmith.papers.registry import registry; registry.find('icl-linear-regression/figure-2')"
    assert papers(modules_after(code)) == {"icl"}


def test_a_list_of_all_experiments_needs_neither_a_paper_nor_torch():
    found = modules_after("from headsmith.cli import main; main(['papers'])")
    assert not papers(found) and "torch" not in found


@pytest.mark.parametrize("folder", FOLDERS.values())
def test_no_paper_imports_another(folder):
    others = [f"headsmith.papers.{other}" for other in FOLDERS.values() if other != folder]
    for file in (HERE / folder).glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not [name for name in names for other in others if name.startswith(other)], file


def test_the_contents_are_what_is_registered():
    load()
    listed = {id: (module, claim, count, presets) for id, module, claim, count, presets in contents()}
    assert set(listed) == set(registry.experiments)
    for id, entry in registry.experiments.items():
        presets = tuple(entry.presets)
        assert listed[id] == (entry.run.__module__, entry.claims[0].text, len(entry.claims), presets), id
        assert "smoke" in presets and {"full", "paper"} & set(presets)


def test_every_module_with_errata_is_listed():
    load()
    listed = {(paper, module) for paper, modules in errata_modules().items() for module in modules}
    assert {(entry.paper, entry.show.__module__) for entry in errata.entries} == listed
