"""Ceilings against counting by hand, and against each other."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headsmith as hs
from headsmith.doors.recall.ceilings import ceilings
from headsmith.refusal import Refusal

DATA = st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("XY")), min_size=1, max_size=6), min_size=1)


def counted(keys, labels):
    """The same ceiling by dictionaries."""
    by_key = defaultdict(Counter)
    for key, label in zip(keys, labels, strict=True):
        by_key[key][label] += 1
    return sum(max(c.values()) for c in by_key.values()), len(by_key)


@given(DATA)
def test_ceilings_are_counted_right(data):
    sequences, labels = ([[pair[k] for pair in row] for row in data] for k in range(2))
    flat = [label for row in labels for label in row]
    found = ceilings(sequences, labels)
    keys = {
        "nothing": lambda s, k: 0,
        "word": lambda s, k: s[k],
        "word, position": lambda s, k: (s[k], k),
        "word, length": lambda s, k: (s[k], len(s)),
        "word, position, length": lambda s, k: (s[k], k, len(s)),
        "sequence, position": lambda s, k: (tuple(s), k),
    }
    for name, key in keys.items():
        expected = counted([key(s, k) for s in sequences for k in range(len(s))], flat)
        assert (found[name].right, found[name].ids) == expected, name


@given(DATA)
def test_more_information_allows_more(data):
    sequences, labels = ([[pair[k] for pair in row] for row in data] for k in range(2))
    found = ceilings(sequences, labels)
    chain = ("nothing", "word", "word, position", "word, position, length", "sequence, position")
    reached = [found[name].right for name in chain]
    assert reached == sorted(reached)
    assert found["word"].right <= found["multiset, word"].right <= found["multiset, word, position"].right


def test_multisets_forget_order_and_common_factors():
    found = ceilings(["ab", "ba", "abab"], ["XY", "XX", "XYXY"])
    assert found["multiset, word"].ids == 2
    assert found["multiset, word"].wrong == 1 and found["sequence, position"].wrong == 0


def test_a_causal_mask_hides_what_comes():
    data = ["ab", "ac"], ["XY", "YY"]
    assert ceilings(*data)["sequence, position"].wrong == 0
    causal = ceilings(*data, mask="causal")
    assert causal["sequence, position"].wrong == causal["multiset, word"].wrong == 1
    with pytest.raises(Refusal, match="no ceiling 'word, length'"):
        causal["word, length"]


def test_a_ceiling_is_the_best_of_many_functions():
    draw = np.random.default_rng(0)
    sequences = [draw.integers(0, 4, 5) for _ in range(30)]
    labels = [draw.integers(0, 3, 5) for _ in range(30)]
    best = ceilings(sequences, labels)["word"].right
    for _ in range(200):
        f = draw.integers(0, 3, 4)
        assert sum(int((f[s] == y).sum()) for s, y in zip(sequences, labels, strict=True)) <= best


def test_it_shows_itself_and_is_public():
    text = str(hs.recall.ceilings(["ab", "ba"], ["XY", "XY"]))
    assert "word                      0.500000   2 wrong, 2 ids" in text
    with pytest.raises(Refusal, match="the masks are None and 'causal'"):
        ceilings(["a"], ["X"], mask="full")
