"""A data set as a memory: sequences -> labels, token by token (low-rank-memorization, Corollaries 1 and 2).

    net(sequences) = labels        for exactly these sequences

A softmax mean sees no order and no common factor of multiplicities, so without positions the label of a token is a
function of the token and of that multiset (Lemma M); what asks for more is refused before anything is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from flint import arb
from torch import Tensor

from headsmith.compiler.compiled import Compiled
from headsmith.compiler.request import Request
from headsmith.compiler.target import Input, Target
from headsmith.constructions.design import Design, many
from headsmith.constructions.memory import RankOneMemory
from headsmith.network import Network
from headsmith.proof.context_ids import LONGEST
from headsmith.proof.domain import Domain, Listed
from headsmith.proof.printed_scale import PrintedScale, power
from headsmith.refusal import Refusal
from headsmith.search.context_keys import Collision, collision, row_codes, span, visible
from headsmith.targets.ragged import read_ragged, whole
from headsmith.targets.reading import read_numbers

MOST_IDS = 10_000_000  # rows of a table of embeddings
FEW_WORDS = 1000  # from which the printed scale is worked out: more make it worse
SHOWN = 8  # tokens of a sequence that a sentence shows


@dataclass(frozen=True, eq=False)
class Recall(Target):
    """sequences -> labels, recalled by one softmax head of rank 1 and one ReLU layer.

    sequences  a list of lists of token ids (whole numbers from 0), or of arrays (tokens, features); or one array
    labels     a whole number for each token, or a vector of them, in the same lists
    positions  whether the network knows where a token stands; without them it sees sets, with multiplicities
    mask       None, or "causal": a token sees those up to its own, so beginnings of sequences are recalled, too
    embedding  (ids, features): the user's own embeddings of ids, where they are not to be chosen
    lengths    only where sequences and labels are given one after another, as files hold them

    >>> net = hs.compile(Recall([[3, 1, 4], [1, 5]], [[0, 1, 2], [7, 8]]))
    >>> net([[3, 1, 4], [1, 5]]), net.certificate.exact
    ([[0, 1, 2], [7, 8]], True)
    """

    kind = "recall"
    faultless = True
    methods = ("auto", "printed")
    sequences: Any
    labels: Any
    positions: bool = False
    mask: str | None = None
    embedding: Any = None
    lengths: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.positions, bool):
            raise Refusal(f"positions are True or False, not {self.positions!r}")
        if self.mask not in (None, "causal"):
            raise Refusal(f"mask is None or 'causal', not {self.mask!r}: sequences may have any length without one")
        read = self._flat() if self.lengths is not None else self._ragged()
        flat, labels, lengths = read
        by_id = flat.ndim == 1
        tokens = whole(flat, "token ids", 0) if by_id else read_numbers(flat, "sequences", 2) + 0.0
        if by_id and tokens.max() >= MOST_IDS:
            raise Refusal(f"the token id {tokens.max()} is above {MOST_IDS:,}: number the words from 0")
        for name, array in (("sequences", tokens), ("labels", whole(labels, "labels")), ("lengths", lengths)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        self._read_embedding()

    def _ragged(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(tokens, labels, lengths) of lists."""
        tokens, labels = read_ragged(self.sequences, "sequences"), read_ragged(self.labels, "labels")
        for i, (n, m) in enumerate(zip(tokens.lengths, labels.lengths, strict=False)):
            if n != m:
                raise Refusal(f"sequence {i} has {many(n, 'token')} and {many(m, 'label')}")
        if len(tokens.lengths) != len(labels.lengths):
            raise Refusal(f"{len(tokens.lengths)} sequences have labels for {len(labels.lengths)}")
        return tokens.flat.cpu().numpy(), labels.flat.cpu().numpy(), tokens.lengths

    def _flat(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        lengths = whole(self.lengths, "lengths", 1)
        tokens, labels = (np.asarray(x.cpu() if isinstance(x, Tensor) else x) for x in (self.sequences, self.labels))
        fits = lengths.ndim == 1 and len(lengths) and tokens.ndim in (1, 2) and labels.ndim in (1, 2)
        if not fits or not labels.size or not len(tokens) == len(labels) == lengths.sum():
            raise Refusal("lengths must add up to the number of tokens, and to that of labels")
        return tokens, labels, lengths

    def _read_embedding(self) -> None:
        if self.embedding is None:
            return
        if not self.by_id:
            raise Refusal("embedding= is for token ids, and the sequences hold vectors")
        table = read_numbers(self.embedding, "embedding", 2)
        if len(table) <= self.tokens.max() or table.shape[1] < self.levels.shape[1]:
            raise Refusal(
                f"the embedding has shape {table.shape}: it needs a row for each id up to {self.tokens.max()}, and as "
                f"many features as labels have, {self.levels.shape[1]}"
            )
        object.__setattr__(self, "embedding", table)

    def __str__(self) -> str:
        size = f"{many(len(self.lengths), 'sequence')}, {many(len(self.tokens), 'token')}"
        seen = ", causal mask" if self.causal else ""
        return f"recall of {size}{', with positions' if self.positions else ''}{seen}"

    # the data

    @property
    def tokens(self) -> np.ndarray:
        """Ids (positions,) or vectors (positions, features), one after another."""
        found: np.ndarray = self.sequences
        return found

    @property
    def by_id(self) -> bool:
        """Whether tokens are ids."""
        return self.tokens.ndim == 1

    @property
    def causal(self) -> bool:
        """Whether a token sees only those up to its own."""
        return self.mask == "causal"

    @cached_property
    def vectors(self) -> np.ndarray:
        """The vectors, none where tokens are ids."""
        return np.zeros((0, 1)) if self.by_id else self.tokens

    @cached_property
    def words(self) -> np.ndarray:
        """The number of each token: its id, or that of its vector."""
        return self.tokens if self.by_id else row_codes(self.tokens)[1]

    @cached_property
    def levels(self) -> np.ndarray:
        """(positions, coordinates): labels as numbers."""
        return self.labels.reshape(len(self.tokens), -1).astype(np.float64)

    @cached_property
    def codes(self) -> np.ndarray:
        """A number for each kind of label, in the order of labels where they are numbers."""
        rows = self.levels
        return np.unique(rows, return_inverse=True)[1].reshape(-1) if rows.shape[1] == 1 else row_codes(rows)[1]

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence."""
        return int(self.lengths.max())

    @cached_property
    def at(self) -> np.ndarray:
        """The place of each position in its sequence."""
        starts = np.cumsum(self.lengths) - self.lengths
        return np.arange(len(self.tokens)) - np.repeat(starts, self.lengths)

    @cached_property
    def known_words(self) -> dict[Any, int]:
        """Token -> its number."""
        tokens = map(bytes, self.tokens.astype(np.float64)) if not self.by_id else self.tokens.tolist()
        return dict(zip(tokens, self.words.tolist(), strict=True))

    @cached_property
    def beginnings(self) -> dict[bytes, int]:
        """Sequence (with a causal mask also each beginning of one) -> the position where it starts."""
        found: dict[bytes, int] = {}
        words, start = self.words.astype(np.int64), 0
        for n in self.lengths.tolist():
            for stop in range(start + 1, start + n + 1) if self.causal else (start + n,):
                found.setdefault(words[start:stop].tobytes(), start)
            start += n
        return found

    def starts(self, flat: np.ndarray, lengths: np.ndarray) -> list[int | None]:
        """Where each of these sequences stands among ours, None for one that does not."""
        known, tokens = self.known_words, flat.astype(np.float64) + 0.0
        listed = map(bytes, tokens) if not self.by_id else tokens.tolist()
        words = np.array([known.get(token, -1) for token in listed], dtype=np.int64)
        ends = np.cumsum(lengths)
        spans = zip((ends - lengths).tolist(), ends.tolist(), strict=True)
        return [self.beginnings.get(words[start:stop].tobytes()) for start, stop in spans]

    def named(self, position: int) -> str:
        """A token, as a sentence names it: token 4 of [3, 1, 4] (sequence 0)."""
        start, stop = span(position, self.lengths)
        sequence = int(np.searchsorted(np.cumsum(self.lengths), position, side="right"))
        word = self._shown(self.words[position : position + 1])[1:-1]
        return f"{word} at place {position - start} of {self._shown(self.words[start:stop])} (sequence {sequence})"

    def _shown(self, words: np.ndarray) -> str:
        """[3, 1, 4] of ids, [x0, x1] of vectors; the first few."""
        names = [str(word) if self.by_id else f"x{word}" for word in words[:SHOWN].tolist()]
        return f"[{', '.join([*names, '...'] if len(words) > SHOWN else names)}]"

    # what it is

    @property
    def inputs(self) -> dict[str, Input]:
        return {"sequences": Input((self.longest,) if self.by_id else (self.longest, self.tokens.shape[1]))}

    def claim(self) -> str:
        return "labels"

    def statement(self, request: Request) -> str:
        sees = "the tokens up to it" if self.causal else "all tokens"
        return (
            f"network(sequences) = labels, after rounding to whole numbers, for every token of {request.dtype} "
            f"{request.domain}, which is that of {', '.join(sorted(self.record()[1]))}"
            f"{', and every beginning of one' * self.causal}, in any batch: {self}; a token sees {sees} of its sequence"
        )

    def hash(self) -> str:
        return self._sha256

    @cached_property
    def _sha256(self) -> str:
        return super().hash()

    def domain(self, given: Any, dtype: str) -> Domain:
        if given is not None:
            raise Refusal(f"{self} takes no domain: it holds for these sequences")
        return Domain({"sequences": Listed(len(self.lengths), self.hash())})

    def plain(self, domain: Domain) -> Any:
        return None

    def rows(self) -> list[tuple[str, str]]:
        labels = int(self.codes.max()) + 1
        kinds = len(np.unique(self.words))
        return [
            ("data", f"up to {many(self.longest, 'token')} a sequence, {many(kinds, 'word')}, {many(labels, 'label')}")
        ]

    # what it equals

    def exact(self, *inputs: Any) -> Any:
        """The labels of one of the sequences."""
        flat = np.array(inputs[0])
        [start] = self.starts(flat, np.array([len(flat)]))
        if start is None:
            raise Refusal("this sequence is none of those that the target lists")
        rows = [[arb(y) for y in row] for row in self.levels[start : start + len(flat)].tolist()]
        return [y for row in rows for y in row] if self.labels.ndim == 1 else rows

    def sample(self, domain: Domain, count: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Sequences of one length, as one tensor."""
        ends = np.cumsum(self.lengths)
        length = int(self.lengths[int(torch.randint(len(ends), (1,), generator=generator))])
        [alike] = np.nonzero(self.lengths == length)
        chosen = alike[torch.randint(len(alike), (count,), generator=generator).numpy()]
        rows = (ends - self.lengths)[chosen][:, None] + np.arange(length)
        return (torch.from_numpy(self.tokens[rows].astype(np.float64)),)

    # how it is built and run

    def designs(self, request: Request) -> Iterator[Design]:
        self._check_numbers(request)
        found = collision(self.words, self.lengths, self.codes, self.positions, self.causal)
        if found is not None:
            raise Refusal(self._collided(found))
        if request.method == "printed":
            raise Refusal(self._printed(request.dtype))
        yield RankOneMemory.of(self, request)

    def _check_numbers(self, request: Request) -> None:
        """Ids and vectors must be numbers of the dtype; labels fit into the vectors, and sequences into the proof."""
        if self.longest > LONGEST:
            raise Refusal(f"a sequence has {self.longest} tokens, and ids are proved up to {LONGEST}: cut it")
        numbers = self.tokens.astype(np.float64)
        if not np.array_equal(numbers.astype(request.dtype).astype(np.float64), numbers):
            raise Refusal(
                f"the sequences hold numbers that {request.dtype} does not: round them, or take dtype='float64'"
            )
        if not self.by_id and self.tokens.shape[1] < self.levels.shape[1]:
            raise Refusal(
                f"labels of {self.levels.shape[1]} numbers cannot be written into vectors of {self.tokens.shape[1]}"
            )

    def _printed(self, dtype: str) -> str:
        """Why the paper's own scale is not built: what it promises, for tokens as they come or one-hot ids."""
        instead = "method='auto' draws a scale and proves the gaps that it leaves"
        kinds = np.unique(self.words)[:FEW_WORDS]
        try:
            if self.by_id and self.embedding is None:
                printed = PrintedScale(self.longest, len(kinds), len(kinds), 0.999, 1.001, 1.414)
            else:
                rows = self.embedding[kinds] if self.by_id else row_codes(self.tokens)[0][:FEW_WORDS]
                printed = replace(PrintedScale.of([rows]), n=self.longest)
        except Refusal as refusal:
            return f"Theorem 2 as printed says nothing of {self}: {refusal}; {instead}"
        promised = f"promises ids of {self} to be {power(printed.log10_gap)} apart (Eq 8)"
        return f"the printed scale (Eq 29) {promised}, which no {dtype} holds: {instead}"

    def _collided(self, found: Collision) -> str:
        """Why two tokens get one id, and what helps."""
        first, second = (self.named(p) for p in (found.first, found.second))
        one, other = (self.labels[p].tolist() for p in (found.first, found.second))
        if found.reason == "contradiction":
            return f"the labels contradict each other: {first} is {one}, {second} is {other}; drop one of them"
        pair = (found.first, found.second)
        seen = (self._shown(visible(p, self.words, self.lengths, self.causal)) for p in pair)
        why = "a softmax mean sees no order" if found.reason == "order" else "all tokens are repeated as often"
        return (
            f"{' and '.join(seen)} cannot be told apart without positions, since {why}: {first} is labelled {one}, "
            f"{second} is labelled {other}; give positions=True"
        )

    def encode(self, *inputs: Tensor) -> Tensor:
        """Ids (..., tokens) -> (..., tokens, 1); vectors are tokens."""
        return inputs[0].unsqueeze(-1) if self.by_id else inputs[0]

    def run(self, network: Network, tokens: Tensor, domain: Domain) -> Tensor:
        """NaN marks the places behind the end of a shorter sequence: nobody sees them."""
        padding = tokens.isnan().any(-1)
        return network(tokens.nan_to_num(0.0), padding) if bool(padding.any()) else network(tokens)

    def decode(self, tokens: Tensor) -> Tensor:
        """Levels, rounded to whole numbers; one for each token where labels are numbers."""
        return tokens.round().squeeze(-1) if self.labels.ndim == 1 else tokens.round()

    @classmethod
    def compiled(cls) -> type[Compiled]:
        from headsmith.targets.memory import Memory

        return Memory
