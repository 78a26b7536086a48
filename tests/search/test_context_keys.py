"""Keys against their definition, written with Counter and Fraction; collisions and their reasons."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headsmith.search.context_keys import Collision, collision, context_keys, span, visible

SEQUENCES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), min_size=1, max_size=8)


def flat(sequences):
    return np.array([t for s in sequences for t in s]), np.array([len(s) for s in sequences])


def definition(sequences, positions, causal):
    for s in sequences:
        for k, token in enumerate(s):
            seen = s[: k + 1] if causal else s
            if positions:
                yield tuple(seen), k
            else:
                yield frozenset((t, Fraction(c, len(seen))) for t, c in Counter(seen).items()), token


@given(SEQUENCES, st.booleans(), st.booleans())
def test_keys_are_equal_where_the_definition_says_so(sequences, positions, causal):
    wanted: dict = {}
    numbers = [wanted.setdefault(key, len(wanted)) for key in definition(sequences, positions, causal)]
    assert context_keys(*flat(sequences), positions, causal).tolist() == numbers


@pytest.mark.parametrize(
    ("sequences", "labels", "causal", "found"),
    [
        ([[0, 1], [0, 1]], [1, 2, 1, 3], False, Collision(1, 3, "contradiction")),
        ([[0, 1], [1, 0]], [1, 2, 2, 3], False, Collision(0, 3, "order")),
        ([[0, 1, 0]], [1, 2, 3], False, Collision(0, 2, "order")),
        ([[0, 1], [0, 1, 0, 1]], [1, 2, 1, 2, 1, 3], False, Collision(1, 5, "multiplicity")),
        ([[0, 0]], [1, 2], True, Collision(0, 1, "multiplicity")),
        ([[0, 1], [0, 1, 1]], [1, 2, 3, 4, 4], False, None),
    ],
)
def test_a_collision_names_its_pair_and_reason(sequences, labels, causal, found):
    assert collision(*flat(sequences), np.array(labels), causal=causal) == found


def test_every_coordinate_of_a_label_counts():
    tokens, lengths = flat([[0, 1], [0, 1]])
    assert collision(tokens, lengths, np.array([[1, 1], [2, 2], [1, 1], [2, 3]])) == Collision(1, 3, "contradiction")


def test_positions_resolve_what_only_order_hides():
    tokens, lengths = flat([[0, 1], [1, 0]])
    assert collision(tokens, lengths, np.array([1, 2, 2, 3]), positions=True) is None


def test_a_position_sees_its_own_sequence():
    tokens, lengths = flat([[5, 6], [7, 8, 9]])
    assert span(3, lengths) == (2, 5)
    assert visible(3, tokens, lengths).tolist() == [7, 8, 9]
    assert visible(3, tokens, lengths, causal=True).tolist() == [7, 8]
