"""Where a statement lives: from "Thm 3.4" to the file that makes it.

Every construction cites its statement in a docstring, and that citation is the index: the package's source
is parsed (not imported) and its docstrings are searched. A citation belongs to the paper whose short name
is next to it, or else to the one that the docstring or its module names.
"""

import ast
import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headsmith.papers.printed import PAPERS
from headsmith.refusal import Refusal

KINDS = {
    "theorem": "Thm", "thm": "Thm", "corollary": "Cor", "cor": "Cor", "lemma": "Lemma", "lem": "Lemma",
    "proposition": "Prop", "prop": "Prop", "definition": "Def", "def": "Def", "algorithm": "Alg",
    "alg": "Alg", "remark": "Remark", "rem": "Remark", "equation": "Eq", "eq": "Eq", "section": "Sec",
    "sec": "Sec", "appendix": "App", "app": "App", "figure": "Fig", "fig": "Fig", "table": "Table",
    "example": "Example", "assumption": "Assumption",
}  # fmt: skip

_LABEL = r"\(?(?:[A-Z](?:\.\d+)*|\d+(?:\.\d+)*)\)?(?![\w])"
_PAPER = "|".join(map(re.escape, PAPERS))
_CITATION = re.compile(
    rf"(?:\b(?P<paper>{_PAPER}),?\s+)?\b(?P<kind>{'|'.join(KINDS)})s?\b\.?\s+(?P<first>{_LABEL})"
    rf"(?P<more>(?:(?:\s*,\s*|\s+and\s+|/){_LABEL})*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, order=True)
class Place:
    """A statement, its paper ('' where none is named), and the file and object whose docstring cites it."""

    statement: str
    paper: str
    file: str
    object: str
    line: int


def citations(text: str) -> Iterator[tuple[str, str]]:
    """(paper or '', statement) for each statement cited in a text.

    >>> list(citations("Theorem 3.4 and, by deep-optimizers Lemmas F.1, F.2,"))
    [('', 'Thm 3.4'), ('deep-optimizers', 'Lemma F.1'), ('deep-optimizers', 'Lemma F.2')]
    """
    for match in _CITATION.finditer(text):
        kind = KINDS[match["kind"].lower()]
        for label in re.findall(_LABEL, match["first"] + match["more"]):
            if match["kind"][0].islower() and not any(c.isdigit() for c in label):
                continue  # "a table A user sees" is prose
            yield (match["paper"] or "").lower(), f"{kind} {label.strip('()')}"


def index(root: Path | None = None) -> list[Place]:
    """Every statement cited by a docstring under ``root`` (this package), sorted."""
    root = root or Path(__file__).parents[1]
    places = set()
    for file in sorted(root.rglob("*.py")):
        if file.parts[-2:] == ("papers", "index.py"):
            continue
        module = ast.parse(file.read_text(encoding="utf-8"))
        default = _paper_of(ast.get_docstring(module) or "")
        for node, name in _named(module, ""):
            doc = ast.get_docstring(node) or ""
            for paper, statement in citations(doc):
                line = getattr(node, "lineno", 1)
                paper = paper or _paper_of(doc) or default
                places.add(Place(statement, paper, file.relative_to(root).as_posix(), name, line))
    return sorted(places)


def where(text: str, root: Path | None = None) -> list[Place]:
    """The places that hold a statement: ``where("Thm 3.4")``, ``where("softmax-universality Thm 3.4")``.

    >>> where("Thm 99.9")
    Traceback (most recent call last):
    ...
    headsmith.refusal.Refusal: no file cites Thm 99.9; ...
    """
    asked = list(citations(text))
    if not asked:
        raise Refusal(f"{text!r} is not the name of a statement; ask for one like 'Thm 3.4' or 'Lemma F.1'")
    places = index(root)
    found = [p for p in places for paper, name in asked if p.statement == name and paper in ("", p.paper)]
    if found:
        return found
    paper, name = asked[0]
    wanted = f"{paper} {name}".strip()
    known = sorted({p.statement for p in places})
    near = difflib.get_close_matches(name, known, n=4, cutoff=0.6)
    raise Refusal(f"no file cites {wanted}; " + (f"the nearest are {', '.join(near)}" if near else "none is near"))


def _paper_of(doc: str) -> str:
    named = {paper for paper in PAPERS if paper in doc}
    return named.pop() if len(named) == 1 else ""


_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _named(node: _Documented, prefix: str) -> Iterator[tuple[_Documented, str]]:
    yield node, prefix or "module"
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _named(child, f"{prefix}.{child.name}".lstrip("."))
