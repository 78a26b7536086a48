"""Ceilings by hand, and that they are ceilings: no rule of the same key does better."""

from itertools import pairwise

import pytest

import headsmith as hs
from headsmith.doors.labelled import Labelled
from headsmith.papers.low_rank_memorization.ceilings import KEYS, PLACED, WORD, ambiguous, ceiling, ceilings
from headsmith.papers.low_rank_memorization.conll import conll2003, small
from headsmith.papers.low_rank_memorization.synthetic import made_up
from headsmith.refusal import Refusal

DATA = Labelled(
    [["may", "go"], ["go", "may"], ["may", "go"], ["go", "go", "may"]],
    [["NAME", "VERB"], ["VERB", "VERB"], ["VERB", "NAME"], ["VERB", "VERB", "VERB"]],
)


def test_ceilings_by_hand():
    """may: NAME, VERB, VERB, VERB; go: VERB, VERB, NAME, VERB, VERB; the first and third sentence contradict."""
    found = ceilings(DATA)
    assert found["nothing"] == found[WORD] == 7 / 9
    assert found[PLACED] == 7 / 9  # may at 0: NAME, VERB; go at 1: VERB, NAME, VERB
    assert found["word, position, length"] == found["sequence, position"] == 7 / 9
    assert found["multiset, word"] == 7 / 9 and found["word, length"] == 7 / 9


def test_where_context_is_needed_is_a_matter_of_word_and_position():
    needed = ambiguous(DATA)
    assert needed == [[True, True], [False, False], [True, True], [False, True, False]]
    assert ceiling(DATA, KEYS[PLACED], needed) == pytest.approx(3 / 5)


def test_who_sees_more_has_a_higher_ceiling():
    for data in (DATA, made_up()):
        found = ceilings(data)
        chain = ("nothing", WORD, PLACED, "word, position, length", "multiset, word, position", "sequence, position")
        assert all(found[a] <= found[b] for a, b in pairwise(chain))


def test_nothing_to_be_right_of_is_all_right():
    assert ceiling(DATA, KEYS[WORD], [[False] * 3] * 4) == 1.0


@pytest.mark.parametrize("data", [DATA, made_up(), small()], ids=["by hand", "made up", "small"])
def test_the_ceilings_are_those_of_recall(data):
    theirs = hs.recall.ceilings(data.sequences, data.labels)
    assert ceilings(data) == {name: theirs[name].accuracy for name in KEYS}
    assert len(theirs.items) == len(KEYS)


@pytest.mark.slow
def test_where_context_is_needed_in_the_real_corpus():
    """Skipped where it cannot be fetched."""
    try:
        train = conll2003()
    except Refusal as refusal:
        pytest.skip(str(refusal))
    needed = ambiguous(train)
    assert sum(map(sum, needed)) == 25_667
    assert ceiling(train, KEYS[PLACED], needed) == pytest.approx(0.924222, abs=1e-6)
