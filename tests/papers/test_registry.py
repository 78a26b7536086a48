import math

import pytest

from headsmith.papers.registry import Claim, Outcome, Registry, Row, beyond
from headsmith.refusal import Refusal
from headsmith.views.style import figure, loglog


def draw(measurements):
    fig, axes = figure(width=2, height=1.5)
    loglog(axes, measurements["eps"], measurements["keys"])
    return fig


@pytest.fixture
def toy():
    """A registry with one experiment that can be interrupted and counts how often it computes."""
    registry = Registry()
    registry.computed = []
    registry.interrupt_at = None

    few = Claim("at most four keys", lambda m: max(m["keys"]) <= 4 if len(m["keys"]) > 1 else None)
    fast = Claim("keys do not grow", lambda m: m["keys"][0] == m["keys"][-1])

    @registry.experiment(
        "ours/toy",
        claim=[few, fast, Claim("any width")],
        presets={"smoke": {"eps": [0.1]}, "full": {"eps": [0.1, 0.01]}},
        self_check=lambda: True,
        source="softmax-universality",
        where="Thm 3.4",
        pictures={"keys.png": draw},
    )
    def toy(settings, record):
        keys = []
        for eps in settings["eps"]:
            if eps == registry.interrupt_at:
                raise KeyboardInterrupt
            keys.append(record.once(f"eps-{eps}", lambda eps=eps: registry.computed.append(eps) or round(1 / eps)))
        rows = [Row(f"eps {eps}", 10**6, n, "holds", seeds=3) for eps, n in zip(settings["eps"], keys, strict=True)]
        return Outcome({"eps": settings["eps"], "keys": keys}, rows)

    return registry


def test_the_verdicts_are_the_predicates(toy, tmp_path):
    full = toy.run("ours/toy", "full", tmp_path)
    assert list(full.verdicts.values()) == ["fails", "fails", "not stated"]
    smoke = toy.run("ours/toy", "smoke", tmp_path)
    assert list(smoke.verdicts.values()) == ["too short to tell", "holds", "not stated"]


def test_the_folder_holds_result_table_and_picture(toy, tmp_path):
    result = toy.run("ours/toy", "full", tmp_path)
    names = {path.name for path in result.folder.iterdir()}
    assert {"config.json", "result.json", "table.md", "keys.png", "done"} <= names
    table = (result.folder / "table.md").read_text(encoding="utf-8")
    assert "Universal Approximation with Softmax Attention, Thm 3.4" in table
    assert "| eps 0.01 | 1 000 000 | 100 | holds | 3 |" in table
    assert "baseline" not in table
    assert "| at most four keys | fails |" in table
    assert (result.folder / "keys.png").read_bytes().startswith(b"\x89PNG")


def test_a_finished_run_is_read_back(toy, tmp_path):
    first = toy.run("ours/toy", "full", tmp_path)
    second = toy.run("ours/toy", "full", tmp_path)
    assert toy.computed == [0.1, 0.01]
    assert (first.fresh, second.fresh) == (True, False)
    assert first.rows == second.rows and first.measurements == second.measurements


def test_an_interrupted_run_continues(toy, tmp_path):
    toy.interrupt_at = 0.01
    with pytest.raises(KeyboardInterrupt):
        toy.run("ours/toy", "full", tmp_path)
    [folder] = tmp_path.iterdir()
    assert not (folder / "done").exists() and not (folder / "result.json").exists()
    toy.interrupt_at = None
    assert toy.run("ours/toy", "full", tmp_path).folder == folder
    assert toy.computed == [0.1, 0.01]


def test_unknown_ids_and_presets_are_refused_with_neighbours(toy, tmp_path):
    with pytest.raises(Refusal, match=r"no experiment 'our/toys'; did you mean ours/toy\?"):
        toy.run("our/toys", "smoke", tmp_path)
    with pytest.raises(Refusal, match="it has smoke, full"):
        toy.run("ours/toy", "huge", tmp_path)
    with pytest.raises(Refusal, match="none is registered"):
        Registry().find("x")
    assert list(tmp_path.iterdir()) == []


def test_an_id_is_taken_once_and_a_source_must_be_a_paper(toy):
    with pytest.raises(ValueError, match="twice"):
        toy.experiment("ours/toy", "again", presets={}, self_check=lambda: True)
    with pytest.raises(Refusal, match="no paper 'unknown'"):
        toy.experiment("a/b", "c", presets={}, self_check=lambda: True, source="unknown")


def test_a_figure_in_parts_is_answered_with_its_parts():
    registry = Registry()
    registry.experiments = dict.fromkeys(["p/figure-1a", "p/figure-1b", "p/figure-10", "p/figure-21"])
    with pytest.raises(Refusal, match=r"did you mean p/figure-1a or p/figure-1b\?$"):
        registry.find("p/figure-1")


def test_beyond_means_two_standard_errors():
    assert beyond((0.5, 0.03), (0.39, 0.04)) and not beyond((0.5, 0.03), (0.41, 0.04))
    assert not beyond((math.nan, 0.0), (0.1, 0.0))
