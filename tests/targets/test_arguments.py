"""Arguments of targets that make no sense are refused in a sentence, whatever their type."""

import pytest

import headsmith as hs
from headsmith.refusal import Refusal


@pytest.mark.parametrize(
    "make",
    [
        lambda: hs.target.Clip([[1.0]], [0.0], low="a"),
        lambda: hs.target.Clip([[1.0]], [0.0], low=None),
        lambda: hs.target.PromptClip(tokens=1, features=1, weight="1"),
        lambda: hs.target.Descent([], 2, 2),
        lambda: hs.target.SequenceMap([1, 2], 2, 1),
    ],
)
def test_arguments_of_other_types(make):
    with pytest.raises(Refusal):
        make()
