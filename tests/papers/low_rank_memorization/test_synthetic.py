"""The made-up corpus asks for context, and for no more than a mean over the sentence."""

from headsmith.papers.low_rank_memorization.ceilings import PLACED, ambiguous, ceilings
from headsmith.papers.low_rank_memorization.synthetic import made_up


def test_half_of_one_word_needs_context():
    data = made_up()
    needed = ambiguous(data)
    asked = {words[k] for words, flags in zip(data.sequences, needed, strict=True) for k in range(3) if flags[k]}
    assert asked == {"mi"} and sum(map(sum, needed)) == 12
    assert ceilings(data, needed)[PLACED] == 0.5 and ceilings(data, needed)["multiset, word"] == 1.0
