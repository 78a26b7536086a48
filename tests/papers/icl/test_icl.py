import pytest

import headsmith.papers.icl  # noqa: F401
from headsmith.papers.errata import errata
from headsmith.papers.icl.frame import PAPER
from headsmith.papers.registry import registry

EXPERIMENTS = [e for e in registry.experiments.values() if e.id.startswith(PAPER)]
NAMES = {e.id.split("/")[1] for e in EXPERIMENTS}
CHEAP = {
    "figure-1b",
    "figure-2",
    "figure-5",
    "figure-6",
    "figure-7",
    "figure-12",
    "figure-19",
    "figure-20",
    "figure-22",
    "table-2",
}


def test_every_figure_and_table_has_a_name():
    figures = {1: "ab", 3: "abc", 4: "ab"}
    expected = {f"figure-{n}{letter}" for n in range(1, 24) for letter in figures.get(n, [""])}
    assert expected | {"table-1", "table-2"} == NAMES


@pytest.mark.parametrize("entry", EXPERIMENTS, ids=lambda e: e.id.split("/")[1])
def test_an_experiment_states_claims_and_presets(entry):
    assert set(entry.presets) == {"smoke", "good", "paper"}
    assert all(claim.predicate is not None for claim in entry.claims)
    assert entry.where and entry.pictures and entry.run.__doc__


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(e, id=e.id.split("/")[1], marks=[] if e.id.split("/")[1] in CHEAP else pytest.mark.slow)
        for e in EXPERIMENTS
    ],
)
def test_an_experiments_machinery_works(entry):
    assert entry.self_check()


@pytest.mark.parametrize("entry", [e for e in errata.entries if e.paper == PAPER], ids=lambda e: e.item)
def test_an_erratum_is_confirmed(entry):
    finding = entry.run()
    assert finding.confirmed, (finding.printed_measurement, finding.repaired_measurement)


@pytest.mark.slow
def test_figure_4b_holds(tmp_path):
    result = registry.run(f"{PAPER}/figure-4b", "smoke", tmp_path)
    assert set(result.verdicts.values()) == {"holds"}
    assert (result.folder / "risks.png").exists() and (result.folder / "table.md").exists()


def test_the_printed_law_fails_and_the_corrected_one_holds(tmp_path):
    result = registry.run(f"{PAPER}/figure-22", "smoke", tmp_path)
    assert list(result.verdicts.values()) == ["holds", "holds", "fails"]
