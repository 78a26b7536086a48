"""The experiments: claims that can fail, and small data on which they hold."""

import pytest

from headsmith.doors.labelled import Labelled
from headsmith.papers.low_rank_memorization import memorised
from headsmith.papers.low_rank_memorization.cmudict import KNOWN, spelled
from headsmith.papers.registry import registry

GOOD = {"right": 8, "possible": 8, "tokens": 10, "exact": True, "ranks": [1, 1, 1, 1], "data": "CoNLL-2003"}


@pytest.mark.parametrize(
    ("claim", "change"),
    [(0, {"right": 7}), (1, {"exact": False}), (2, {"ranks": [1, 1, 1, 2]})],
)
def test_the_claims_can_fail(claim, change):
    assert memorised.CLAIMS[claim].verdict(GOOD) == "holds"
    assert memorised.CLAIMS[claim].verdict(GOOD | change) == "fails"


def test_the_paper_is_compared_on_its_own_data_alone():
    assert memorised.ABOVE.verdict(GOOD) == "fails"
    assert memorised.ABOVE.verdict(GOOD | {"right": 10}) == "holds"
    assert memorised.ABOVE.verdict(GOOD | {"data": "ours"}) == "too short to tell"


def test_gaussian_embeddings_must_be_as_good():
    assert memorised.GAUSSIAN.verdict(GOOD | {"gaussian": GOOD}) == "holds"
    assert memorised.GAUSSIAN.verdict(GOOD | {"gaussian": GOOD | {"right": 7}}) == "fails"


def test_contradictions_are_the_only_losses():
    m = memorised.measured(Labelled([["a", "b"]] * 3, [["X", "Y"], ["X", "Z"], ["X", "Z"]]))
    assert m["possible"] == m["right"] == 5 and m["tokens"] == 6 and m["exact"]


def test_gaps_are_those_of_the_certificate():
    gaps = memorised.measured(spelled(KNOWN))["gaps"]
    assert gaps["proved"] <= min(g for g, c in zip(gaps["gap"], gaps["changes"], strict=True) if c)
    assert 0 < gaps["rounding"] < gaps["proved"] and sum(gaps["gap"]) == pytest.approx(gaps["range"])


def test_the_self_check_holds_and_can_fail(monkeypatch):
    assert memorised.self_check()
    ranks = memorised.ranks
    monkeypatch.setattr(memorised, "ranks", lambda made: [*ranks(made)[:3], 2])
    assert not memorised.self_check()


def test_float32_keeps_some_words_and_names_the_obstacle(monkeypatch):
    monkeypatch.setattr(memorised, "FIRST", 2)
    assert memorised.narrow(KNOWN) == {"words": 6, "refused": None, "refusal": None}
    tag = memorised.tag

    def few(data, dtype):
        if len(data.sequences) > 3:
            raise memorised.Refusal("too near")
        return tag(data, dtype)

    monkeypatch.setattr(memorised, "tag", few)
    assert memorised.narrow(KNOWN) == {"words": 2, "refused": 4, "refusal": "too near"}
    assert memorised.NARROW.verdict({"float32": {"words": 2}, "words of all": 6}) == "holds"
    assert memorised.NARROW.verdict({"float32": {"words": 6}, "words of all": 6}) == "fails"


def test_a_smoke_run_leaves_a_table_and_a_picture(tmp_path):
    result = registry.run("low-rank-memorization/conll", "smoke", tmp_path)
    assert [*result.verdicts.values()] == ["holds"] * 4 + ["too short to tell"]
    assert (result.folder / "gaps.png").exists()
    assert "Gaussian" in (result.folder / "table.md").read_text()


def test_words_are_memorised_with_a_dictionary_of_six(tmp_path, monkeypatch):
    monkeypatch.setattr(memorised, "stresses", lambda: KNOWN)
    result = registry.run("low-rank-memorization/stress", "full", tmp_path)
    assert [*result.verdicts.values()] == ["holds"] * 3 + ["fails"]  # float32 keeps all six


@pytest.mark.slow
def test_the_corpus_is_memorised(tmp_path):
    """203 619 of 203 621 tokens; needs the corpus, or a way to it."""
    try:
        result = registry.run("low-rank-memorization/conll", "full", tmp_path)
    except memorised.Refusal as refusal:
        pytest.skip(str(refusal))
    assert {*result.verdicts.values()} == {"holds"}
    assert (result.measurements["right"], result.measurements["ids"]) == (203_619, 197_521)
