import pytest

from headsmith.papers import contents
from headsmith.papers.icl import frame
from headsmith.papers.icl.frame import PAPER, TOY
from headsmith.papers.registry import Claim, Outcome, registry
from headsmith.records import Record

NAMES = [id.split("/")[1] for id, *_ in contents() if id.startswith(PAPER)]


def test_every_figure_and_table_has_a_name():
    figures = {1: "ab", 3: "abc", 4: "ab"}
    expected = {f"figure-{n}{letter}" for n in range(1, 24) for letter in figures.get(n, [""])}
    assert expected | {"table-1", "table-2"} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_states_claims_and_presets(name):
    entry = registry.find(f"{PAPER}/{name}")
    assert set(entry.presets) == {"smoke", "good", "paper"}
    assert all(claim.predicate is not None for claim in entry.claims)
    assert entry.where and entry.pictures and entry.run.__doc__


@pytest.mark.parametrize(
    ("measured", "sound"),
    [({"a": 1.0, "b": 1.0}, True), ({"a": 9.0, "b": 1.0}, False), ({"a": 1.0, "b": 0.0}, False)],
)
def test_a_self_check_asks_for_the_verdict_that_is_known(monkeypatch, measured, sound):
    """A claim that should hold must hold, and one that theory refutes must fail."""
    holds, refuted = Claim("a is small", lambda m: m["a"] < 2), Claim("b is small", lambda m: m["b"] < 0.5)
    monkeypatch.setattr(registry, "experiments", {})
    entry = frame.item("toy", [holds, refuted], where="", fails=[refuted])(lambda settings, record: Outcome(measured))
    assert entry.self_check() is sound


def test_a_run_too_short_to_tell_is_no_success(monkeypatch):
    waits = Claim("later", lambda m: None)
    monkeypatch.setattr(registry, "experiments", {})
    assert not frame.item("toy", [waits], where="")(lambda settings, record: Outcome({})).self_check()


def test_trained_runs_lie_beside_the_experiments_and_are_shared(tmp_path):
    record = Record(tmp_path / "figure", {"kind": "toy"})
    settings = {"preset": "smoke", "seeds": 1, "steps": 20, "batch": 8}
    first = frame.trained(settings, record, 1)
    assert first.folders[0].parent == record.folder.parent / "lab"
    assert frame.trained(settings, record, 1).folders == first.folders


def test_numbers_and_curves_of_a_run():
    run = frame.trained(TOY, None, 2)
    m, curve = frame.head_numbers(run), frame.curve(run)
    assert m["classes"] == ["+", "-"] and m["stuck"] == 0 and m["gamma_all"][0] == pytest.approx(0.13, abs=2e-3)
    assert len(curve["steps"]) == len(curve["omega"]) == len(curve["mu"]) and curve["omega"][-1] == m["omega"]
    assert frame.mean([1.0, 3.0]) == 2 and frame.near(1.0, 1.1, 0.2) and not frame.near(1.0, 1.3, 0.2)
