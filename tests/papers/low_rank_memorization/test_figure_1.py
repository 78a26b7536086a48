"""Predicates of figure 1 that can fail, one by one; the table; the self-check."""

import copy
from types import SimpleNamespace

import pytest

from headsmith.papers.low_rank_memorization import figure_1
from headsmith.papers.low_rank_memorization.figure_1 import CLAIMS, PRESETS, known, outcome
from headsmith.papers.low_rank_memorization.synthetic import made_up
from headsmith.papers.low_rank_memorization.tagging import called
from headsmith.records import Record

TEXTS = [claim.text for claim in CLAIMS]
WORDS, FASTER, RISING, PRINTED, PASSES, UNLIKE, MEAN, FULL, NONE, EASY, KEPT = TEXTS


def verdicts(m):
    return {claim.text: claim.verdict(m) for claim in CLAIMS}


def failing(m):
    return {text for text, verdict in verdicts(m).items() if verdict != "holds"}


@pytest.mark.parametrize(
    "name, part, value, claims",
    [
        (called("rank-1", 1), "all", 0.9740, {WORDS, PRINTED}),
        (called("rank-1", 1), "all", 0.9930, {PRINTED}),
        (called("rank-1", 3), "all", 0.9700, {FASTER}),
        (called("rank-1", 6), "all", 0.9700, {FASTER}),
        (called("rank-1", 1), "context", 0.9150, {PASSES, UNLIKE, MEAN, FULL}),
        (called("mean", 1), "context", 0.9700, {MEAN}),
        (called("full", 1), "context", 0.9800, {FULL}),
        (called("none", 1), "all", 0.9740, {NONE, EASY}),
        (called("none", 1), "all", 0.9860, {EASY}),
        (called("none", 1), "all", 0.9910, {KEPT}),
        (called("none", 1), "context", 0.9210, {KEPT}),
    ],
)
def test_each_claim_holds_of_good_numbers_and_fails_of_one_wrong_one(name, part, value, claims):
    m = copy.deepcopy(known(True))
    assert failing(m) == set()
    for curve in m["curves"][name][part]:
        shift = value - curve[-1]
        curve[:] = [old + shift for old in curve]
    assert failing(m) == claims


def test_a_curve_that_has_come_to_rest_is_not_rising():
    m = copy.deepcopy(known(True))
    for curve in m["curves"][called("rank-1", 1)]["all"]:
        curve[0] = curve[-1]
    assert verdicts(m)[RISING] == "fails"


@pytest.mark.parametrize("change", [{"steps": 999}, {"epochs": 19}, {"seeds": 1}])
def test_short_runs_and_single_seeds_decide_nothing_but_what_is_a_theorem(change):
    found = verdicts(known(True) | change)
    assert found.pop(KEPT) == "holds" and found[WORDS] == "too short to tell"
    still = {PRINTED, EASY} if "steps" in change else set()  # 800 epochs of this corpus have more steps than that
    assert {text for text, verdict in found.items() if verdict == "holds"} == still


def test_another_corpus_says_nothing_about_the_printed_number():
    found = verdicts(known(True) | {"sentences": 1200})
    assert found[PRINTED] == found[EASY] == "too short to tell" and found[WORDS] == "holds"


def test_few_words_that_need_context_decide_nothing_about_it():
    found = verdicts(known(True) | {"context": 99})
    assert {text for text, verdict in found.items() if verdict != "holds"} == {PASSES, UNLIKE, MEAN, FULL}


def test_rows_name_every_transformer_and_every_ceiling():
    rows = outcome(known(True)).rows
    assert rows[0].name == "rank-1 attention, 1 layer" and rows[0].printed == "0.9872 (whole corpus, 800 epochs)"
    assert rows[0].ours == "0.9860 ± 0.0001; where context is needed 0.9700 ± 0.0000" and rows[0].seeds == 2
    assert rows[-1].name == "ceiling of who sees sequence, position" and rows[-1].ours.startswith("1.000000; where")
    sorted_ = known(True)
    sorted_["curves"] = dict(sorted(sorted_["curves"].items()))
    assert outcome(sorted_).rows == rows
    assert outcome(sorted_).measurements["printed"] == [0.9872, 800]
    assert outcome(sorted_ | {"sentences": 1200}).measurements["printed"] is None


def test_presets_differ_from_the_papers_in_epochs_alone_and_smoke_in_size():
    assert PRESETS["full"]["epochs"] == 800 and PRESETS["full"]["depths"] == [1, 3, 6]
    same = {key for key in PRESETS["full"] if PRESETS["good"][key] == PRESETS["full"][key]}
    assert set(PRESETS["full"]) - same == {"epochs", "notes"}


def test_the_experiment_runs_on_the_first_sentences(tmp_path, monkeypatch):
    monkeypatch.setattr(figure_1, "conll2003", made_up)
    settings = PRESETS["smoke"] | {
        "sentences": 5, "epochs": 2, "width": 4, "hidden": 8, "depths": [1], "seeds": 2, "notes": 2, "batch": 2,
    }  # fmt: skip
    made = figure_1.figure_1.run(settings, Record(tmp_path, {"kind": "x"}))
    assert made.measurements["sentences"] == 5 and made.measurements["words"] == 15
    assert len(list((tmp_path / "lab").iterdir())) == 8  # four kinds, two seeds
    assert set(verdicts(made.measurements).values()) == {"too short to tell", "holds"}


def test_the_self_check_sees_a_rank_1_that_learns_nothing_and_a_control_that_cheats(monkeypatch):
    assert figure_1.self_check()
    fits = {"rank-1": 1.0, "none": 0.5}
    for kind, share in (("rank-1", 0.5), ("none", 0.75)):
        monkeypatch.setattr(figure_1, "_learns", lambda asked, kind=kind, share=share: (
            share if asked == kind else fits[asked], 0.5))  # fmt: skip
        assert not figure_1.self_check()


def test_the_self_check_sees_a_claim_that_cannot_fail(monkeypatch):
    monkeypatch.setattr(figure_1, "_learns", lambda kind: (1.0 if kind == "rank-1" else 0.5, 0.5))
    assert figure_1.self_check()
    monkeypatch.setattr(figure_1, "CLAIMS", (*CLAIMS, SimpleNamespace(verdict=lambda m: "holds")))
    assert not figure_1.self_check()
