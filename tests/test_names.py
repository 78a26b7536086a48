"""One meaning per name: a class lives once in the package, and a module's name says one thing."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import headsmith

PACKAGE = Path(headsmith.__file__).parent

TWICE = {"Attention": {"machines", "network"}}
"""The layer and the machine made of it: both are named after the thing itself."""

APART = "proof/checker"
"""The independent checker imports nothing of ours: it has its own word for everything, and the words are ours."""

STAGES = ("functions", "search", "constructions", "compiler", "targets", "machines", "proof", "doors", "views", "cli")
"""One subject may have a file of its name at each of these stages, but within a stage a name is used once."""


def modules(root: Path) -> list[Path]:
    """Every file but those of the checker."""
    return [p for p in sorted(root.rglob("*.py")) if not p.relative_to(root).as_posix().startswith(APART)]


@cache
def classes(root: Path) -> dict[str, list[str]]:
    """Class name -> the files that define it, wherever they do."""
    found = defaultdict(list)
    for path in modules(root):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(path.relative_to(root).as_posix())
    return found


def doubles(root: Path) -> dict[str, list[str]]:
    """Classes that live more than once and may not."""
    return {
        name: files
        for name, files in classes(root).items()
        if len(files) > 1 and {file.split("/")[0] for file in files} != TWICE.get(name)
    }


def test_a_class_name_has_one_meaning():
    assert doubles(PACKAGE) == {}


def test_what_may_live_twice_does():
    assert all(len(classes(PACKAGE)[name]) == 2 for name in TWICE)


def test_no_module_is_called_a_grid():
    """Copies lie on a grid, and so do keys and pictures: which grid is meant must be in the name."""
    assert not [path for path in modules(PACKAGE) if path.stem in ("grid", "grids")]


def test_a_module_name_is_used_once_in_a_room_of_one_stage():
    found = defaultdict(list)
    for path in modules(PACKAGE):
        room = path.relative_to(PACKAGE).parts[0]
        if room in STAGES and path.name != "__init__.py":
            found[room, path.stem].append(path)
    assert not [paths for paths in found.values() if len(paths) > 1]


def test_a_double_is_seen(tmp_path):
    for room in ("lab", "proof", "network", "machines"):
        (tmp_path / room).mkdir()
    (tmp_path / "lab" / "a.py").write_text("class Activation: ...\nclass Run: ...\n")
    (tmp_path / "proof" / "b.py").write_text("def f():\n    class Activation: ...\n")
    for room in ("network", "machines"):
        (tmp_path / room / "attention.py").write_text("class Attention: ...\n")
    assert doubles(tmp_path) == {"Activation": ["lab/a.py", "proof/b.py"]}
    classes.cache_clear()
    (tmp_path / "lab" / "c.py").write_text("class Attention: ...\n")
    assert set(doubles(tmp_path)) == {"Activation", "Attention"}
