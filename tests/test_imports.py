"""The package map, enforced: a folder imports only from those above it, and the lower ones stay light."""

import ast
import sys
from pathlib import Path

import pytest

import headsmith

PACKAGE = Path(headsmith.__file__).parent
ORDER = (
    "refusal", "records", "functions", "reference", "network", "proof", "search", "constructions", "compiler",
    "targets", "machines", "doors", "lab", "views", "papers", "cli",
)  # fmt: skip
LIGHT = ("records", "network", "lab")
MODULES = sorted(PACKAGE.rglob("*.py"))
STDLIB = sys.stdlib_module_names


def name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def folder(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def source(module: str) -> Path | None:
    """The file of one of our modules."""
    root, *rest = module.split(".")
    base = PACKAGE.joinpath(*rest)
    files = (base.with_suffix(".py"), base / "__init__.py") if rest else (base / "__init__.py",)
    return next((f for f in files if root == "headsmith" and f.exists()), None)


def imports(path: Path, *, top_level: bool = False) -> list[tuple[str, int]]:
    """(absolute module name, line) of each import; with top_level only what importing the module runs."""
    found = []

    def visit(node: ast.AST) -> None:
        if top_level and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for child in node.orelse:
                visit(child)
            return
        if isinstance(node, ast.Import):
            found.extend((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = ("headsmith", *path.relative_to(PACKAGE).parent.parts)
                base = ".".join([*package[: len(package) - node.level + 1], *([base] if base else [])])
            if base == "headsmith":
                found.extend((f"headsmith.{alias.name}", node.lineno) for alias in node.names)
            else:
                found.append((base, node.lineno))
                submodules = [f"{base}.{alias.name}" for alias in node.names]
                found.extend((module, node.lineno) for module in submodules if source(module))
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return found


def needs(path: Path) -> set[tuple[str, str]]:
    """(our module, foreign package) for everything that importing this module imports in its turn."""
    found, seen, waiting = set(), set(), [path]
    while waiting:
        here = waiting.pop()
        if here in seen:
            continue
        seen.add(here)
        for module, _ in imports(here, top_level=True):
            parts = module.split(".")
            if parts[0] != "headsmith":
                found.add((name(here), parts[0]))
            prefixes = [source(".".join(parts[: k + 1])) for k in range(len(parts))]
            waiting += [file for file in prefixes if file]
    return found


def too_low(path: Path) -> list[str]:
    """Imports of this module that reach down the list."""
    here = folder(path)
    faults = []
    for module, line in imports(path):
        root, _, rest = module.partition(".")
        there = rest.partition(".")[0]
        ranked = root == "headsmith" and there in ORDER and here in ORDER
        if ranked and ORDER.index(there) > ORDER.index(here):
            faults.append(f"{name(path)}:{line} imports {module}")
    return faults


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_folder_imports_only_from_those_above_it(path):
    assert too_low(path) == []


def test_every_folder_has_its_place_in_the_order():
    assert {folder(path) for path in MODULES} - {"__init__", "demo"} <= set(ORDER)


@pytest.mark.parametrize("path", [p for p in MODULES if folder(p) in LIGHT], ids=name)
def test_light_folders_need_torch_and_numpy_alone(path):
    assert {package for _, package in needs(path)} <= {"torch", "numpy"} | STDLIB, needs(path)


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_nothing_is_evaluated_or_unpickled(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    assert not calls & {"eval", "exec", "compile_command", "__import__"}
    assert not {m for m, _ in imports(path) if m.split(".")[0] in ("pickle", "dill", "cloudpickle", "marshal")}


CHECKER = "headsmith.proof.checker"


@pytest.mark.parametrize("path", [p for p in MODULES if name(p).startswith("proof/checker/")], ids=name)
def test_the_checker_stands_alone(path):
    """It would be no second opinion if it shared a line with what it checks."""
    ours = {module for module, _ in imports(path) if module.startswith("headsmith")}
    foreign = {module.split(".")[0] for module, _ in imports(path)} - STDLIB - {"headsmith"}
    assert foreign <= {"safetensors", "flint"}
    assert all(module == CHECKER or module.startswith(f"{CHECKER}.") for module in ours), ours


def test_the_checker_has_files():
    assert sum(name(path).startswith("proof/checker/") for path in MODULES) > 5


def test_the_rules_see_a_fault(tmp_path, monkeypatch):
    """The tests above can fail: a module that breaks them is noticed."""
    bad = tmp_path / "records" / "bad.py"
    bad.parent.mkdir()
    bad.write_text("import scipy\nfrom ..cli import main\ndef f():\n    from headsmith import papers\n")
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    assert too_low(bad) == [
        "records/bad.py:2 imports headsmith.cli",
        "records/bad.py:4 imports headsmith.papers",
    ]
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "__init__.py").write_text("import rich\n")
    assert needs(bad) == {("records/bad.py", "scipy"), ("cli/__init__.py", "rich")}


MIRRORED = ("records", "functions", "network", "reference", "search", "doors", "lab", "views", "papers", "cli")
"""Rooms whose every file has its tests; of the whole package it is nine files in ten."""
SHARE = 0.9


def unmirrored(paths: list[Path], tests: Path) -> list[str]:
    """Modules without a test file of their name in the same place."""
    twins = {path: tests / path.relative_to(PACKAGE).parent / f"test_{path.name}" for path in paths}
    return [name(path) for path, twin in twins.items() if path.name != "__init__.py" and not twin.exists()]


@pytest.mark.parametrize("room", MIRRORED)
def test_a_finished_room_is_mirrored_file_by_file(room):
    assert unmirrored([path for path in MODULES if folder(path) == room], Path(__file__).parent) == []


def test_the_test_tree_mirrors_the_package():
    paths = [path for path in MODULES if path.name != "__init__.py"]
    missing = unmirrored(paths, Path(__file__).parent)
    assert len(missing) <= (1 - SHARE) * len(paths), missing


def test_a_missing_mirror_is_seen(tmp_path):
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference" / "test_risks.py").touch()
    paths = [PACKAGE / "reference" / f"{file}.py" for file in ("__init__", "risks", "solvers")]
    assert unmirrored(paths, tmp_path) == ["reference/solvers.py"]
