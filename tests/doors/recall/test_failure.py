"""hs.recall.explain_failure: each reason, its pair and its remedy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headsmith as hs
from headsmith.doors.recall.failure import explain_failure
from headsmith.refusal import Refusal

X, Y = "x", "y"


def test_proportional_multisets_are_named():
    found = hs.recall.explain_failure([[X, Y], [X, Y, X, Y]], [[1, 2], [1, 2, 1, 3]])
    assert found and found.reason == "multiplicity"
    assert (found.first.sequence, found.first.place, found.first.label) == (0, 1, 2)
    assert (found.second.sequence, found.second.place, found.second.label) == (1, 3, 3)
    assert found.second.context == (X, Y, X, Y) and (found.wrong, found.left) == (1, 0)
    assert not explain_failure([[X, Y], [X, Y, X, Y]], [[1, 2], [1, 2, 1, 3]], positions=True)


def test_order_is_named():
    found = explain_failure(["ab", "ba"], ["PQ", "PQ"])
    assert found.reason == "order" and "positions=True" in str(found)
    assert not explain_failure(["ab", "ba"], ["PQ", "PQ"], positions=True)


def test_a_repeated_token_with_two_labels_is_a_matter_of_order():
    found = explain_failure(["aa"], ["PQ"])
    assert found.reason == "order" and (found.first.place, found.second.place) == (0, 1)


@pytest.mark.parametrize("positions", [False, True])
def test_contradictions_are_named(positions):
    found = explain_failure(["ab", "ab"], ["PQ", "PP"], positions=positions)
    assert found.reason == "contradiction" and found.left == 1
    assert "relabel" in str(found) and str(found).startswith("no function can do it")


def test_what_positions_leave_wrong_is_counted():
    found = explain_failure(["ab", "ba", "cd", "cd"], ["PQ", "PQ", "PP", "PQ"])
    assert found.reason == "order" and (found.wrong, found.left) == (3, 1)


def test_under_a_causal_mask_a_beginning_must_decide():
    assert not explain_failure(["ab", "ac"], ["PQ", "QQ"])
    found = explain_failure(["ab", "ac"], ["PQ", "QQ"], mask="causal")
    assert found.reason == "contradiction" and found.first.context == ("a",)
    assert explain_failure(["a", "aa"], ["P", "PQ"], mask="causal").reason == "multiplicity"


def test_nothing_stands_in_the_way_but_precision():
    found = explain_failure([[k, -k - 1] for k in range(5000)], [[k % 2, 0] for k in range(5000)])
    assert not found and found.ids == 10_000
    assert found.dtypes == ("float64",) and "nothing stands in the way" in str(found)


SHORT = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=3), min_size=1, max_size=4
)


@given(SHORT, st.booleans(), st.sampled_from([None, "causal"]))
def test_it_says_what_compiling_says(data, positions, mask):
    sequences, labels = ([[pair[k] for pair in row] for row in data] for k in range(2))
    why = explain_failure(sequences, labels, positions, mask)
    try:
        net = hs.compile(hs.target.Recall(sequences, labels, positions=positions, mask=mask))
    except Refusal as refusal:
        assert why and ("contradict" in str(refusal)) == (why.reason == "contradiction")
    else:
        assert not why and net(sequences) == labels


def test_long_contexts_are_cut():
    found = explain_failure([list(range(30)), list(range(30))], [[0] * 30, [0] * 29 + [1]])
    assert "11, ...]: 1" in str(found)


def test_masks_have_names():
    with pytest.raises(Refusal, match="the masks are None and 'causal'"):
        explain_failure(["a"], ["P"], mask="all")
