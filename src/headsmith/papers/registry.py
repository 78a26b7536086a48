"""Experiments: a claim first, then a run, then a verdict that nobody can argue with.

A claim is a predicate on measurements, written down in code before anything is measured. The run fills a
record; the verdict is what the predicate says of it: it holds, it fails, the run was too short to tell, or
the paper did not state it. The table sets the printed number beside ours, with seeds and the trivial
baseline, and every picture is drawn from the record alone.
"""

from __future__ import annotations

import difflib
import inspect
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headsmith.papers import contents
from headsmith.papers.printed import paper_title, short_name
from headsmith.records import atomic_write, sha256
from headsmith.refusal import Refusal
from headsmith.views.tables import Table

if TYPE_CHECKING:
    from headsmith.records import Record

Verdict = Literal["holds", "fails", "too short to tell", "not stated"]
Measurements = Mapping[str, Any]


@dataclass(frozen=True)
class Claim:
    """What is claimed, and the predicate that decides it: True, False, or None when it is too early to tell.

    >>> Claim("at most 11 keys", lambda m: m["keys"] <= 11).verdict({"keys": 8})
    'holds'
    """

    text: str
    predicate: Callable[[Measurements], bool | None] | None = None

    def verdict(self, measurements: Measurements) -> Verdict:
        """holds, fails, or too short to tell: what the predicate says of these measurements."""
        if self.predicate is None:
            return "not stated"
        answer = self.predicate(measurements)
        return "too short to tell" if answer is None else "holds" if answer else "fails"


def beyond(a: tuple[float, float], b: tuple[float, float]) -> bool:
    """Whether a value is above another by more than two standard errors; each is (value, standard error).

    >>> beyond((0.5, 0.03), (0.39, 0.04)), beyond((0.5, 0.03), (0.41, 0.04))
    (True, False)
    """
    return a[0] - b[0] > 2 * math.hypot(a[1], b[1])


@dataclass(frozen=True)
class Row:
    """One line of an experiment's table: the printed number beside ours.

    >>> Row("sin(3*x)", printed=1_000_000, ours=8, verdict="holds")
    Row(name='sin(3*x)', printed=1000000, ours=8, verdict='holds', seeds=None, baseline=None)
    """

    name: str
    printed: Any
    ours: Any
    verdict: Verdict = "not stated"
    seeds: int | None = None
    baseline: Any = None


@dataclass(frozen=True)
class Outcome:
    """What an experiment's function returns: measurements for the claims and pictures, rows for the table."""

    measurements: dict[str, Any]
    rows: Sequence[Row] = ()


@dataclass(frozen=True)
class Experiment:
    """A registered experiment: claims, settings by preset, and the function ``run(settings, record)``."""

    id: str
    claims: tuple[Claim, ...]
    presets: Mapping[str, Mapping[str, Any]]
    source: str
    where: str
    run: Callable[[Mapping[str, Any], Record], Outcome]
    self_check: Callable[[], bool]
    pictures: Mapping[str, Callable[[Measurements], Any]] = field(default_factory=dict)

    def settings(self, preset: str) -> Mapping[str, Any]:
        """The settings of a preset; full is that of the paper, where it has one."""
        if preset == "full" and "paper" in self.presets:
            preset = "paper"  # the sizes of the paper
        if preset not in self.presets:
            raise Refusal(f"{self.id} has no preset {preset!r}; it has {', '.join(self.presets)}")
        return self.presets[preset]


@dataclass(frozen=True)
class ExperimentResult:
    """A finished experiment: its folder, the verdict on each claim, the rows, and the measurements."""

    id: str
    preset: str
    folder: Path
    verdicts: Mapping[str, Verdict]
    rows: tuple[Row, ...]
    measurements: Measurements
    seconds: float
    fresh: bool

    def table(self) -> Table:
        """The rows as the table that ``table.md`` holds."""
        columns = ("", "printed", "ours", "verdict", "seeds", "baseline")
        rows = [(r.name, r.printed, r.ours, r.verdict, r.seeds, r.baseline) for r in self.rows]
        kept = [k for k in range(6) if k < 4 or any(row[k] is not None for row in rows)]
        title = f"{self.id} ({self.preset})"
        return Table(title, [columns[k] for k in kept], [[row[k] for k in kept] for row in rows])

    def claims(self) -> Table:
        """Each claim with its verdict."""
        return Table("", ("claim", "verdict"), list(self.verdicts.items()))


@dataclass(frozen=True)
class Listing:
    """One line of a table of contents: an experiment that need not be imported yet."""

    id: str
    module: str
    claim: str
    claims: int
    presets: tuple[str, ...]

    @property
    def source(self) -> str:
        """The paper: the first part of the id."""
        return self.id.partition("/")[0]

    @property
    def item(self) -> str:
        """The table or figure: the second part of the id."""
        return self.id.partition("/")[2]


class Registry:
    """A set of experiments by id; the package has one, a test makes its own.

    What is listed under `contents` is imported when it is asked for.
    """

    def __init__(self, contents: Iterable[Listing] = ()) -> None:
        self.experiments: dict[str, Experiment] = {}
        self.contents = {listing.id: listing for listing in contents}

    def listed(self) -> list[Listing]:
        """Every experiment, imported or not."""
        found = dict(self.contents)
        for id, e in self.experiments.items():
            found.setdefault(id, Listing(id, e.run.__module__, e.claims[0].text, len(e.claims), tuple(e.presets)))
        return list(found.values())

    def experiment(
        self,
        id: str,
        claim: str | Claim | Sequence[Claim],
        *,
        presets: Mapping[str, Mapping[str, Any]],
        self_check: Callable[[], bool],
        source: str = "ours",
        where: str = "",
        pictures: Mapping[str, Callable[[Measurements], Any]] | None = None,
    ) -> Callable[[Callable[[Mapping[str, Any], Record], Outcome]], Experiment]:
        """Register ``run(settings, record) -> Outcome`` as the experiment ``paper/item``.

        ``pictures`` maps a file name to a function that draws a figure from the measurements read back from
        disk; ``self_check`` answers in at most two seconds whether the experiment's machinery works.
        """
        paper_title(source)
        claims = (Claim(claim),) if isinstance(claim, str) else (claim,) if isinstance(claim, Claim) else claim
        if id in self.experiments:
            raise ValueError(f"the experiment {id!r} is registered twice")

        def register(run: Callable[[Mapping[str, Any], Record], Outcome]) -> Experiment:
            entry = Experiment(id, tuple(claims), presets, source, where, run, self_check, dict(pictures or {}))
            self.experiments[id] = entry
            return entry

        return register

    def find(self, id: str) -> Experiment:
        """The experiment of that id, or a refusal that names its nearest neighbours."""
        paper, _, item = id.partition("/")
        with suppress(Refusal):
            id = f"{short_name(paper)}/{item}" if item else id
        if id not in self.experiments and id in self.contents:
            import_module(self.contents[id].module)
        if id in self.experiments:
            return self.experiments[id]
        known = list(dict.fromkeys([*self.contents, *self.experiments]))
        parts = [name for name in known if name.startswith(id) and not name[len(id) : len(id) + 1].isdigit()]
        near = parts or difflib.get_close_matches(id, known, n=3, cutoff=0.3) or known
        hint = f"did you mean {' or '.join(near)}?" if near else "none is registered"
        raise Refusal(f"there is no experiment {id!r}; {hint}")

    def run(self, id: str, preset: str, out: str | Path) -> ExperimentResult:
        """Run, continue or read back an experiment: a folder with result.json, table.md and pictures."""
        from headsmith.records import Record

        entry = self.find(id)
        settings = entry.settings(preset)
        source = inspect.getsourcefile(entry.run)
        code = sha256(Path(source).read_bytes()) if source and Path(source).exists() else ""
        record = Record(out, {"kind": entry.id, "preset": preset, "settings": settings, "code": code})
        fresh = not record.finished
        if fresh:
            start = time.perf_counter()
            outcome = entry.run(settings, record)
            record.save(
                "result",
                {
                    "id": entry.id,
                    "preset": preset,
                    "settings": settings,
                    "source": entry.source,
                    "where": entry.where,
                    "claims": [[claim.text, claim.verdict(outcome.measurements)] for claim in entry.claims],
                    "rows": [asdict(row) for row in outcome.rows],
                    "measurements": outcome.measurements,
                    "seconds": time.perf_counter() - start,
                },
            )
        result = read_result(record, fresh)
        if fresh:
            atomic_write(record.path("table.md"), _report(entry, result))
            _draw(entry, result)
            record.mark_done()
        return result


def read_result(record: Record, fresh: bool = False) -> ExperimentResult:
    """The result that lies in a run's folder."""
    saved = record.load("result")
    return ExperimentResult(
        id=saved["id"],
        preset=saved["preset"],
        folder=record.folder,
        verdicts=dict(saved["claims"]),
        rows=tuple(Row(**row) for row in saved["rows"]),
        measurements=saved["measurements"],
        seconds=saved["seconds"],
        fresh=fresh,
    )


def _report(entry: Experiment, result: ExperimentResult) -> str:
    where = ", ".join(part for part in (paper_title(entry.source), entry.where) if part)
    pictures = [f"![{name}]({name})" for name in entry.pictures]
    return "\n\n".join([where, result.table().markdown(), result.claims().markdown(), *pictures]) + "\n"


def _draw(entry: Experiment, result: ExperimentResult) -> None:
    if entry.pictures:
        from headsmith.views.style import save

        for name, draw in entry.pictures.items():
            save(draw(result.measurements), result.folder / name)


registry = Registry(Listing(*line) for line in contents())
"""The experiments of this package."""

experiment = registry.experiment


def run_experiment(id: str, preset: str, out: str | Path) -> ExperimentResult:
    """Run, continue or read back an experiment of this package.

    >>> run_experiment("ours/anchors", "smoke", "out").verdicts     # doctest: +SKIP
    """
    return registry.run(id, preset, out)
