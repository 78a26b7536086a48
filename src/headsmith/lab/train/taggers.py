"""Learning to tag the words of a corpus: epochs over its sentences, and how many tags are right.

    loss = mean of -log p(tag) over the words of a batch;   an epoch asks every sentence once, in an order of its own

The orders of all epochs are drawn before the first step and depend on the seed alone; a step reads its batch off them.
So a run that was killed goes on with the very sentences it would have seen, on a GPU as well, where a captured step
cannot ask whether an epoch is over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from headsmith.lab.train.rank_one import RankOneShape, RankOneTransformer
from headsmith.records import sha256
from headsmith.refusal import Refusal

__all__ = ["Corpus", "Tagger", "right"]

ABSENT = -1
"""The tag of what is no word: the end of a row, behind a sentence that is shorter."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """Sentences as rows: ids of `words` (S, n) and of `tags` (S, n), behind a sentence 0 and ABSENT."""

    words: Tensor
    tags: Tensor

    @classmethod
    def of(cls, words: Sequence[Sequence[str]], tags: Sequence[Sequence[str]]) -> Corpus:
        """The corpus of these sentences; ids in alphabetical order.

        >>> Corpus.of([["a", "rose"], ["rose"]], [["D", "N"], ["N"]]).tags.tolist()
        [[0, 1], [1, -1]]
        """
        if not words or [*map(len, words)] != [*map(len, tags)] or not all(map(len, words)):
            raise Refusal("a corpus needs sentences of at least one word, and as many tags as words in each")
        return cls(_ids(words, 0), _ids(tags, ABSENT))

    @property
    def there(self) -> Tensor:
        """Where there is a word, (S, n)."""
        return self.tags != ABSENT

    def digest(self) -> str:
        """The hash of the ids."""
        return sha256(self.words.numpy().tobytes() + self.tags.numpy().tobytes())


def _ids(rows: Sequence[Sequence[str]], behind: int) -> Tensor:
    numbers = {value: i for i, value in enumerate(sorted({value for row in rows for value in row}))}
    longest = max(map(len, rows))
    return torch.tensor([[numbers[value] for value in row] + [behind] * (longest - len(row)) for row in rows])


@dataclass(frozen=True, eq=False)
class Tagger:
    """A transformer, the corpus it is to tag, and for how many epochs it trains.

    >>> corpus = Corpus.of([["a", "rose"], ["rose"]], [["D", "N"], ["N"]])
    >>> tagger = Tagger(RankOneShape(width=8, hidden=8), corpus, epochs=60, rate=1e-2)
    >>> from headsmith.lab.train.learners import learn
    >>> fit, _ = learn(tagger)
    >>> right(fit.model, corpus).tolist()
    [[True, True], [True, False]]
    """

    schedule: ClassVar[str] = "constant"
    clip: ClassVar[float | None] = 1.0
    compiled: ClassVar[bool] = True
    shape: RankOneShape
    corpus: Corpus
    epochs: int
    rate: float = 1e-3
    batch: int = 32
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.epochs, self.batch) < 1 or not self.rate > 0:
            raise Refusal(
                f"training needs epochs >= 1, batch >= 1 and rate > 0; got {self.epochs}, {self.batch} and {self.rate}"
            )

    @property
    def steps(self) -> int:
        """Batches of all epochs; one may hold the end of an epoch and the beginning of the next."""
        return math.ceil(self.epochs * len(self.corpus.words) / self.batch)

    def settings(self) -> dict[str, Any]:
        """What names the folder of its run: of the corpus its hash."""
        own = {key: getattr(self, key) for key in ("epochs", "rate", "batch", "seed")}
        return {"kind": "tagger", **own, **self.shape._asdict(), "corpus": self.corpus.digest()}

    def build(self) -> RankOneTransformer:
        """The module before training; its weights depend on the seed alone."""
        words, tags = self.corpus.words, self.corpus.tags
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return RankOneTransformer(self.shape, int(words.max()) + 1, words.shape[1], int(tags.max()) + 1)

    def draw(self, device: str) -> Callable[[torch.Generator, Tensor], tuple[Tensor, Tensor]]:
        """Words and tags of a step; on a CPU without what is behind the longest sentence of the batch."""
        words, tags, order = self.corpus.words.to(device), self.corpus.tags.to(device), self._order().to(device)
        within = torch.arange(self.batch, device=device)

        def batch(_: torch.Generator, step: Tensor) -> tuple[Tensor, Tensor]:
            chosen = order[(step * self.batch + within) % len(order)]
            asked, said = words[chosen], tags[chosen]
            return _trimmed(asked, said) if device == "cpu" else (asked, said)

        return batch

    def _order(self) -> Tensor:
        """The sentences in the order in which they are asked, epoch after epoch."""
        generator, count = torch.Generator().manual_seed(self.seed), len(self.corpus.words)
        every = [torch.randperm(count, generator=generator) for _ in range(self.epochs)]
        return torch.cat(every)

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        """Cross-entropy of the words of a batch of `draw`."""
        words, tags = batch
        return cross_entropy(model(words, tags != ABSENT).flatten(0, 1), tags.flatten(), ignore_index=ABSENT)


def _trimmed(words: Tensor, tags: Tensor) -> tuple[Tensor, Tensor]:
    longest = int((tags != ABSENT).sum(1).max())
    return words[:, :longest], tags[:, :longest]


@torch.no_grad()
def right(model: nn.Module, corpus: Corpus, chunk: int = 512) -> Tensor:
    """Which words of the corpus get their tag, (S, n); False behind the sentences."""
    device = next(model.parameters()).device
    order = corpus.there.sum(1).argsort()
    found = torch.zeros_like(corpus.there)
    for rows in order.split(chunk):
        words, tags = (part.to(device) for part in _trimmed(corpus.words[rows], corpus.tags[rows]))
        found[rows, : words.shape[1]] = (model(words, tags != ABSENT).argmax(-1) == tags).cpu()
    return found
