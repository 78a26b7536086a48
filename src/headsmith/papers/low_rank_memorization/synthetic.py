"""Made-up sentences in which one tag is decided by another word: a small corpus for checks. No language, no data.

"mi" is a VERB where "ka" stands in the sentence and a NOUN where "ko" does; where they stand says nothing. Word and
position are right of all but half of the "mi", a mean over the sentence can be right of all.
"""

from __future__ import annotations

from itertools import permutations

from headsmith.doors.labelled import Labelled

__all__ = ["made_up"]

OTHERS = {"ka": "PART", "ko": "PART", "lo": "NAME"}


def made_up() -> Labelled:
    """The twelve orders of "mi", "lo" and one of "ka" and "ko".

    >>> made_up().sequences[0], made_up().labels[0]
    (['mi', 'lo', 'ka'], ['VERB', 'NAME', 'PART'])
    """
    sentences = [list(order) for part in ("ka", "ko") for order in permutations(("mi", "lo", part))]
    said = [OTHERS | {"mi": "VERB" if "ka" in words else "NOUN"} for words in sentences]
    return Labelled(sentences, [[one[word] for word in words] for words, one in zip(sentences, said, strict=True)])
