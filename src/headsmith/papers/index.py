"""Where a statement lives: from "Thm 3.4" to the file that makes it.

Every construction cites its statement in a docstring, and that citation is the index: the package's source
is parsed (not imported) and its docstrings are searched. A citation belongs to the paper whose name is next to
it, or else to the one that the docstring, its module or its folder names, or else to the only one that is known
to have such a statement. Labels of restatements count as the label that is restated. Of the files that cite a
statement one *defines* it: the one in the room nearest to constructions/ whose docstring comes to it first.
"""

import ast
import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from headsmith.papers.printed import FOLDERS, PAPERS, RESTATED, names, papers_in
from headsmith.refusal import Refusal

KINDS = {
    "theorem": "Thm", "thm": "Thm", "corollary": "Cor", "cor": "Cor", "lemma": "Lemma", "lem": "Lemma",
    "proposition": "Prop", "prop": "Prop", "definition": "Def", "def": "Def", "algorithm": "Alg",
    "alg": "Alg", "remark": "Remark", "rem": "Remark", "equation": "Eq", "eq": "Eq", "section": "Sec",
    "sec": "Sec", "appendix": "App", "app": "App", "figure": "Fig", "fig": "Fig", "table": "Table",
    "example": "Example", "assumption": "Assumption",
}  # fmt: skip

ROOMS = (
    "constructions", "machines", "programs", "lab", "targets", "compiler", "proof", "search", "network", "functions",
    "reference", "papers", "views", "cli",
)  # fmt: skip
"""Where a theorem is made, nearest first; figures and tables are made in papers/."""

_LABEL = r"\(?(?:[A-Z](?:\.\d+)*|\d+(?:\.\d+)*[a-z]?)\)?(?![\w])"
_CALLED = {name.lower(): paper for paper in PAPERS for name in names(paper)}
_PAPER = "|".join(re.escape(name) for name in sorted(_CALLED, key=len, reverse=True))
_KIND = "|".join(KINDS)
_CITATION = re.compile(
    rf"(?:\b(?P<paper>{_PAPER})(?:,|:)?\s+)?\b(?P<kind>{_KIND})(?:s?\b\.?\s+|(?=\d))(?P<first>{_LABEL})"
    rf"(?P<more>(?:(?:\s*,\s*|\s+and\s+|\s+to\s+|/){_LABEL})*)"
    rf"(?:(?=\s+(?:of\s+|\()(?P<after>{_PAPER})\b(?!(?:,|:)?\s+(?:{_KIND}))))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, order=True)
class Place:
    """A statement, its paper ('' where none is known), and the file and object whose docstring cites it.

    `depth` is 0 for the docstring of a module, `position` the character at which the citation stands in it.
    """

    statement: str
    paper: str
    file: str
    object: str
    line: int
    depth: int = 0
    position: int = 0
    defines: bool = False


def citations(text: str) -> Iterator[tuple[str, str, int]]:
    """(paper or '', statement, position) for each statement cited in a text.

    >>> list(citations("Theorem 3.4 and, by deep-optimizers Lemmas F.1, F.2,"))
    [('', 'Thm 3.4', 0), ('deep-optimizers', 'Lemma F.1', 20), ('deep-optimizers', 'Lemma F.2', 20)]
    """
    for match in _CITATION.finditer(" ".join(text.split())):
        kind = KINDS[match["kind"].lower()]
        for label in _labels_of(match["first"] + match["more"]):
            if match["kind"][0].islower() and not any(c.isdigit() for c in label):
                continue  # "a table A user sees" is prose
            named = (match["paper"] or match["after"] or "").lower()
            yield _CALLED.get(named, ""), f"{kind} {label}", match.start()


def _labels_of(text: str) -> list[str]:
    """The labels of a list, panels counted with their figure: '4a, 4b and 16 to 18' names 4, 16, 17, 18."""
    found: list[str] = []
    for to, written in re.findall(rf"(to\s+)?({_LABEL})", text):
        label = re.sub(r"(?<=\d)[a-z]$", "", written.strip("()"))
        head, last = re.fullmatch(r"(.*?)(\d*)", label).groups()  # type: ignore[union-attr]
        if to and found[-1].startswith(head) and found[-1][len(head) :].isdigit():
            found += [f"{head}{k}" for k in range(int(found[-1][len(head) :]) + 1, int(last))]
        found.append(label)
    return list(dict.fromkeys(found))


def index(root: Path | None = None) -> list[Place]:
    """Every statement cited by a docstring under ``root`` (this package), sorted; one place of each defines it."""
    root = root or Path(__file__).parents[1]
    places = [place for file in sorted(root.rglob("*.py")) for place in _cited(file, root)]
    known: dict[str, set[str]] = {}
    for place in places:
        known.setdefault(place.statement, set()).update({place.paper} - {""})
    owned = [_owned(place, known[place.statement]) for place in places]
    once = [group[0] for group in _groups(owned, "statement", "paper", "file", "object")]
    ours = [place for place in once if place.paper or not known[place.statement]]
    first = {group[0] for group in _groups(ours, "statement", "paper")}
    return sorted(replace(place, defines=place in first) for place in once)


def where(text: str, root: Path | None = None) -> list[Place]:
    """The places that hold a statement, the one that defines it first: ``where("Thm 3.4")``, ``where("icl thm4.2")``.

    >>> where("Thm 99.9")
    Traceback (most recent call last):
    ...
    headsmith.refusal.Refusal: no file cites Thm 99.9; ...
    """
    asked = [(paper, name) for paper, name, _ in citations(text)]
    if not asked:
        raise Refusal(f"{text!r} is not the name of a statement; ask for one like 'Thm 3.4' or 'Lemma F.1'")
    spoken = papers_in(text)
    if len(spoken) == 1:
        asked = [(next(iter(spoken)), name) for _, name in asked]
    places = index(root)
    found = [p for p in places if any(_answers(p, *one) for one in asked)]
    found = found or [replace(p, defines=False) for p in places if p.paper == "" and p.statement in _labels(asked)]
    if found:
        return sorted(found, key=lambda p: (p.statement, p.paper, not p.defines, p.file, p.line))
    paper, name = asked[0]
    wanted = f"{paper} {name}".strip()
    known = sorted({p.statement for p in places})
    near = difflib.get_close_matches(name, known, n=4, cutoff=0.6)
    raise Refusal(f"no file cites {wanted}; " + (f"the nearest are {', '.join(near)}" if near else "none is near"))


def _labels(asked: list[tuple[str, str]]) -> set[str]:
    """The labels asked for, and those that they restate."""
    return {label for paper, name in asked for label in (name, RESTATED.get(paper, {}).get(name, name))}


def _answers(place: Place, paper: str, name: str) -> bool:
    """A restated label asks for the statement that it restates; without a paper, any that has the label."""
    if paper not in ("", place.paper):
        return False
    return place.statement in (name, RESTATED.get(place.paper, {}).get(name))


def _cited(file: Path, root: Path) -> Iterator[Place]:
    """The citations in one file, each with the paper that is named nearest."""
    path = file.relative_to(root)
    if path.parts[:1] == ("papers",) and len(path.parts) == 2:
        return  # the machinery of this folder: what it cites are examples
    module = ast.parse(file.read_text(encoding="utf-8"))
    default = _only(papers_in(" ".join((ast.get_docstring(module) or "").split()))) or _paper_of_folder(path)
    for node, name in _named(module, ""):
        doc = " ".join((ast.get_docstring(node) or "").split())
        for paper, statement, position in citations(doc):
            line, depth = getattr(node, "lineno", 1), 0 if node is module else 1
            yield Place(
                statement, paper or _only(papers_in(doc)) or default, path.as_posix(), name, line, depth, position
            )


def _owned(place: Place, known: set[str]) -> Place:
    """The place under the label of its first statement, with the only paper that has it if none is named."""
    paper = place.paper or _only(known)
    return replace(place, paper=paper, statement=RESTATED.get(paper, {}).get(place.statement, place.statement))


def _groups(places: Iterable[Place], *keys: str) -> list[list[Place]]:
    """Places that agree in these fields, each group with the nearest to a definition first."""
    groups: dict[tuple[str, ...], list[Place]] = {}
    for place in sorted(places, key=_nearness):
        groups.setdefault(tuple(getattr(place, key) for key in keys), []).append(place)
    return list(groups.values())


def _nearness(place: Place) -> tuple[int, int, int, Place]:
    """How far a citation is from a definition: by room, by object, by its position in the docstring."""
    room = place.file.split("/")[0]
    rank = 2 * ROOMS.index(room) if room in ROOMS else 2 * len(ROOMS)
    rank += place.file.endswith(("/printed.py", "/__init__.py"))  # the twin, as printed; a list of contents
    if place.statement.startswith(("Fig", "Table")):
        rank = place.file.endswith("/__init__.py") - 2 if room == "papers" else rank
    return rank, place.depth, place.position, place


def _paper_of_folder(path: Path) -> str:
    own = [paper for paper, folder in FOLDERS.items() if paper in PAPERS and path.parts[:2] == ("papers", folder)]
    return _only(own)


def _only(papers: Iterable[str]) -> str:
    """The one paper of a collection, or ''."""
    found = list(papers)
    return found[0] if len(found) == 1 else ""


_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _named(node: _Documented, prefix: str) -> Iterator[tuple[_Documented, str]]:
    yield node, prefix or "module"
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _named(child, f"{prefix}.{child.name}".lstrip("."))
