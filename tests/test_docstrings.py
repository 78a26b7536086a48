"""What can be read without the author: public names say what they are for, and functions fit on a screen."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import headsmith

PACKAGE = Path(headsmith.__file__).parent
WRITTEN = ("records", "functions", "reference", "network", "proof", "lab", "views", "cli")
"""Rooms where each on its own keeps the share of the whole."""
SHARE = 0.85
LENGTH = 25  # lines, the 90th percentile

Function = ast.FunctionDef | ast.AsyncFunctionDef


def public(node: ast.Module | ast.ClassDef) -> Iterator[Function | ast.ClassDef]:
    """Functions, classes and methods without a leading underscore; an overload is said once, by what it overloads."""
    for child in node.body:
        if not isinstance(child, Function | ast.ClassDef) or child.name.startswith("_"):
            continue
        if any(ast.unparse(mark).endswith(("overload", ".setter")) for mark in child.decorator_list):
            continue
        yield child
        if isinstance(child, ast.ClassDef):
            yield from public(child)


def silent(folder: Path) -> tuple[list[str], int]:
    """(file:line name of what has no docstring, how many public names there are)."""
    missing, count = [], 0
    for path in sorted(folder.rglob("*.py")):
        for node in public(ast.parse(path.read_text(encoding="utf-8"))):
            count += 1
            if not ast.get_docstring(node):
                missing.append(f"{path.relative_to(folder)}:{node.lineno} {node.name}")
    return missing, count


def lengths(folder: Path) -> list[int]:
    """Lines of every function, shortest first."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in folder.rglob("*.py"))
    nodes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, Function))
    return sorted(int(node.end_lineno or node.lineno) - node.lineno + 1 for node in nodes)


@pytest.mark.parametrize("room", WRITTEN)
def test_public_names_of_a_room_say_what_they_are(room):
    missing, count = silent(PACKAGE / room)
    assert len(missing) <= (1 - SHARE) * count, "\n".join(missing)


def test_public_names_say_what_they_are():
    missing, count = silent(PACKAGE)
    assert len(missing) <= (1 - SHARE) * count, "\n".join(missing)


def test_nine_functions_in_ten_are_read_without_scrolling():
    found = lengths(PACKAGE)
    assert found[len(found) * 9 // 10] <= LENGTH


def test_the_counts_see_a_fault(tmp_path):
    (tmp_path / "bad.py").write_text(
        'class A:\n    """Said."""\n    def told(self):\n        """So."""\n'
        "    def mute(self): ...\n    def _own(self): ...\n"
        "@overload\ndef f(x): ...\ndef f(x):\n    def inner():\n        return x\n    return inner\n"
    )
    assert silent(tmp_path) == (["bad.py:5 mute", "bad.py:9 f"], 4)
    assert lengths(tmp_path) == [1, 1, 1, 2, 2, 4]
