"""Errata that run: what was printed beside what works, both measured.

A claim that a paper is wrong deserves the same proof as any other claim. Each erratum is a function that
carries out the printed construction and its repair and says whether the first really fails and the second
really works; one command runs them all into one table.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from headsmith.papers import errata_modules
from headsmith.papers.printed import paper_title, short_name
from headsmith.refusal import Refusal
from headsmith.views.tables import Table

Evidence = tuple[Any, Any, bool, bool]
"""(printed measurement, repaired measurement, whether the printed one fails, whether the repair works)"""


@dataclass(frozen=True)
class Erratum:
    """One statement that does not work as printed, its repair, and the function that shows both."""

    paper: str
    item: str
    printed: str
    repair: str
    where: str
    show: Callable[[], Evidence]

    def run(self) -> "Finding":
        """Carry out both versions; an error in either is a finding too, and never a confirmation."""
        start = time.perf_counter()
        try:
            before, after, fails, works = self.show()
        except Exception as error:
            before, after, fails, works = f"{type(error).__name__}: {error}", None, False, False
        return Finding(self, before, after, bool(fails), bool(works), time.perf_counter() - start)


@dataclass(frozen=True)
class Finding:
    """What running an erratum showed."""

    erratum: Erratum
    printed_measurement: Any
    repaired_measurement: Any
    printed_fails: bool
    repaired_works: bool
    seconds: float

    @property
    def confirmed(self) -> bool:
        """The printed version fails and the repaired one works."""
        return self.printed_fails and self.repaired_works


class Errata:
    """A collection of errata; the package has one, a test makes its own.

    `modules` names, for each paper, the modules that register its errata: imported when the paper is asked for.

    >>> errata = Errata()
    >>> @errata.erratum("softmax-universality", "E1", printed="a+b", repair="a-b", where="constructions/gate.py")
    ... def sign():
    ...     return 0.5, 1e-9, True, True
    >>> [finding.confirmed for finding in errata.run()]
    [True]
    """

    def __init__(self, modules: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self.entries: list[Erratum] = []
        self.modules = modules or {}

    def erratum(
        self, paper: str, item: str, *, printed: str, repair: str, where: str
    ) -> Callable[[Callable[[], Evidence]], Erratum]:
        """Register a function that returns ``Evidence`` for item ``item`` of a paper."""
        paper_title(paper)
        if any((entry.paper, entry.item) == (paper, item) for entry in self.entries):
            raise ValueError(f"the erratum {item} of {paper} is registered twice")

        def register(show: Callable[[], Evidence]) -> Erratum:
            entry = Erratum(paper, item, printed, repair, where, show)
            self.entries.append(entry)
            return entry

        return register

    def run(self, paper: str | None = None) -> list[Finding]:
        """Run all errata, or those of one paper, in the order of their registration."""
        paper = None if paper is None else short_name(paper)
        for name in [paper] if paper else self.modules:
            for module in self.modules.get(name, ()):
                import_module(module)
        chosen = [entry for entry in self.entries if paper in (None, entry.paper)]
        if not chosen:
            raise Refusal(f"no erratum is registered{f' for {paper}' if paper else ''}")
        return [entry.run() for entry in chosen]


def errata_tables(findings: list[Finding]) -> list[Table]:
    """A table per paper, two rows per erratum: the printed statement and its measurement, the repair and its own."""
    columns = ("erratum", "", "what it says", "what it gives", "verdict")
    tables = []
    for paper in dict.fromkeys(f.erratum.paper for f in findings):
        rows: list[tuple[Any, ...]] = []
        for f in findings:
            e = f.erratum
            verdict = "confirmed" if f.confirmed else "not confirmed"
            if e.paper == paper:
                rows.append((e.item, "printed", e.printed, f.printed_measurement, verdict))
                rows.append((e.where, "repaired", e.repair, f.repaired_measurement, ""))
        tables.append(Table(f"Errata of {paper}", columns, rows))
    return tables


errata = Errata(errata_modules())
"""The errata of this package."""

erratum = errata.erratum


def run_errata(paper: str | None = None) -> list[Finding]:
    """Run the errata of this package, or those of one paper.

    >>> run_errata("softmax-universality")[0].confirmed     # doctest: +SKIP
    """
    return errata.run(paper)
