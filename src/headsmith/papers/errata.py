"""Errata that run: what was printed beside what works, both measured.

A claim that a paper is wrong deserves the same proof as any other claim. Each erratum is a function that
carries out the printed construction and its repair and says whether the first really fails and the second
really works; one command runs them all into one table.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headsmith.papers.printed import paper_title
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

    >>> errata = Errata()
    >>> @errata.erratum("softmax-universality", "E1", printed="a+b", repair="a-b", where="heads/gate.py")
    ... def sign():
    ...     return 0.5, 1e-9, True, True
    >>> [finding.confirmed for finding in errata.run()]
    [True]
    """

    def __init__(self) -> None:
        self.entries: list[Erratum] = []

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
        if paper is not None:
            paper_title(paper)
        chosen = [entry for entry in self.entries if paper in (None, entry.paper)]
        if not chosen:
            raise Refusal(f"no erratum is registered{f' for {paper}' if paper else ''}")
        return [entry.run() for entry in chosen]


def errata_table(findings: list[Finding]) -> Table:
    """Two rows per erratum: what was printed and what it measures, the repair and what that measures."""
    columns = ("erratum", "", "what it says", "what it gives", "verdict")
    rows: list[tuple[Any, ...]] = []
    for f in findings:
        e = f.erratum
        verdict = "confirmed" if f.confirmed else "not confirmed"
        rows.append((f"{e.paper}\n{e.item}", "printed", e.printed, f.printed_measurement, verdict))
        rows.append((e.where, "repaired", e.repair, f.repaired_measurement, ""))
    return Table("Errata", columns, rows)


errata = Errata()
"""The errata of this package; ``headsmith.papers.load()`` fills it."""

erratum = errata.erratum


def run_errata(paper: str | None = None) -> list[Finding]:
    """``errata.run`` after loading the package's errata."""
    from headsmith.papers import load

    load()
    return errata.run(paper)
