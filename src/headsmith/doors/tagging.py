"""From a labelled file to a network that recalls it: words and labels numbered, contradictions settled, all checked.

What contradicts itself no function recalls, so the more frequent label of a context is taken and the rest are counted:
the network is exact on what was settled, and its accuracy on the file is the ceiling.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headsmith.doors.compile import compile
from headsmith.doors.labelled import Labelled
from headsmith.doors.recall.ceilings import Ceiling, ceiling, joined
from headsmith.doors.recall.reading import Numbered, numbered
from headsmith.records import atomic_write
from headsmith.records.shown import Shown, lower, number
from headsmith.refusal import Refusal
from headsmith.search.context_keys import context_keys
from headsmith.targets.recall import Recall

WORDS = ".words.json"  # beside the network: its numbers mean these words
SHOWN = 12  # words of a sequence that a refusal names


@dataclass(frozen=True, repr=False)
class Tagging(Shown):
    """A network that recalls a labelled file, what its numbers stand for, and which tokens contradict others.

    >>> from headsmith.doors.labelled import Labelled
    >>> made = tag(Labelled([["a", "light"], ["light", "it"]], [["D", "N"], ["V", "P"]]))
    >>> made.recall(["light", "it"]), made.accuracy
    (['V', 'P'], 1.0)
    """

    net: Any
    data: Numbered
    settled: np.ndarray
    ids: int
    right: int

    @property
    def contradictions(self) -> np.ndarray:
        """Tokens whose label is not the one that was settled."""
        return np.flatnonzero(self.settled != self.data.labels)

    @property
    def accuracy(self) -> float:
        """Of the network, run on every token of the file."""
        return self.right / len(self.data.tokens)

    @property
    def alone(self) -> Ceiling:
        """What the word and its position allow: no attention is needed for that."""
        return ceiling("word, position", joined(self.data.tokens, self.data.places), self.data.labels)

    def recall(self, words: list[Hashable]) -> list[Hashable]:
        """The labels of one sequence of the file."""
        known = {word: k for k, word in enumerate(self.data.words)}
        return [self.data.classes[k] for k in self.net([known.get(word, len(known)) for word in words])]

    def title(self) -> str:
        return str(self.net.target)

    def rows(self) -> list[tuple[str, str]]:
        net, wrong = self.net, len(self.contradictions)
        total = len(self.data.tokens)
        contrary = f"; {wrong} contradict others, such as {self._named(self.contradictions[0])}" if wrong else ""
        return [
            ("words", f"{len(self.data.words)}, {len(self.data.classes)} labels"),
            ("ids", f"{self.ids} to tell apart"),
            ("smallest gap", f"{lower(net.certificate.min_gap)} between ids with different labels ({net.plan.dtype})"),
            ("size", net.plan.design.size()),
            *net.plan.design.rows(net.target),
            ("accuracy", f"{number(self.accuracy, 6)}: {self.right} of {total} tokens, run one by one{contrary}"),
            ("without attention", f"{number(self.alone.accuracy, 6)} is the best of word and position"),
        ]

    def record(self) -> dict[str, Any]:
        """The same as numbers."""
        net = self.net
        return {
            "sequences": len(self.data.lengths),
            "tokens": len(self.data.tokens),
            "words": len(self.data.words),
            "labels": len(self.data.classes),
            "ids": self.ids,
            "min_gap": net.certificate.min_gap,
            "exact": net.certificate.exact,
            "width": net.plan.design.steps.units,
            "parameters": net.network.cost().parameters,
            "right": self.right,
            "accuracy": self.accuracy,
            "contradictions": len(self.contradictions),
            "without_attention": self.alone.accuracy,
        }

    def save(self, path: Path) -> list[Path]:
        """The network, and beside it a file that says which word and which label each number is."""
        words = path.with_name(path.name.removesuffix(".safetensors") + WORDS)
        self.net.save(path)
        content = {"words": self.data.words, "labels": self.data.classes}
        atomic_write(words, json.dumps(content, ensure_ascii=False).encode())
        return [path, words]

    def _named(self, at: int) -> str:
        sequence = int(self.data.sequence_of[at])
        place, word = int(self.data.places[at]), self.data.words[self.data.tokens[at]]
        told, taken = (self.data.classes[codes[at]] for codes in (self.data.labels, self.settled))
        return f"{word} at place {place} of sequence {sequence}, labelled {told} and elsewhere {taken}"


def tag(data: Labelled, dtype: str = "float64", method: str = "auto", features: int | None = None) -> Tagging:
    """One softmax head of rank 1 and one ReLU layer that give every token of the file its label, with positions.

    features   None: embeddings of words are chosen with the network; else they are Gaussian, of this width, seed 0
    """
    read = numbered(data.sequences, data.labels)
    keys = context_keys(read.tokens, read.lengths, positions=True)
    settled = settle(keys, read.labels)
    table = None if features is None else np.random.default_rng(0).normal(size=(len(read.words), features))
    target = Recall(read.tokens, settled, positions=True, lengths=read.lengths, embedding=table)
    try:
        net = compile(target, dtype=dtype, method=method)
    except Refusal as refusal:
        raise Refusal(f"{refusal}{_spelled(str(refusal), data)}") from None
    ends = np.cumsum(read.lengths)
    found = np.concatenate(net(np.split(read.tokens, ends[:-1])))
    return Tagging(net, read, settled, len(np.unique(keys)), int((found == read.labels).sum()))


def _spelled(sentence: str, data: Labelled) -> str:
    """The sequences that a sentence names by their numbers, in words."""
    found = dict.fromkeys(map(int, re.findall(r"\(sequence (\d+)\)", sentence)))
    return "".join(f"; sequence {k} is {' '.join(data.sequences[k][:SHOWN])}" for k in found)


def settle(keys: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The most frequent label of each key, at each token that has it; of equally frequent ones the first.

    >>> settle(np.array([0, 1, 0, 0]), np.array([5, 6, 7, 7])).tolist()
    [7, 6, 7, 7]
    """
    pairs, first, counts = np.unique(np.stack([keys, labels], 1), axis=0, return_index=True, return_counts=True)
    order = np.lexsort((first, -counts, pairs[:, 0]))
    _, best = np.unique(pairs[order, 0], return_index=True)
    chosen: np.ndarray = pairs[order[best], 1]
    return chosen[np.unique(keys, return_inverse=True)[1].reshape(-1)]
