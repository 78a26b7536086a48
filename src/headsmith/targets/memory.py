"""The network of `hs.target.Recall`: sequences of many lengths in, their labels out, in the same shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from headsmith.compiler.compiled import Compiled
from headsmith.network.inputs import accept
from headsmith.proof.context_ids import alike
from headsmith.refusal import Refusal
from headsmith.targets.ragged import Ragged, read_ragged, whole
from headsmith.targets.recall import Recall


class Memory(Compiled):
    """net(sequences): one sequence, a list of them, or one tensor; labels come back in the same shape.

    Lists give lists of whole numbers, arrays give tensors. A sequence that is none of those of the certificate is
    refused, unless strict=False asks what the network makes of it.

    >>> net = hs.compile(hs.target.Recall([[3, 1, 4], [1, 5]], [[0, 1, 2], [7, 8]]))
    >>> net([1, 5]), net(torch.tensor([[3, 1, 4]]))
    ([7, 8], tensor([[0, 1, 2]]))
    """

    @property
    def data(self) -> Recall:
        """The target, as what it is."""
        return cast(Recall, self.target)

    def forward(self, *inputs: Any, strict: bool = True, **named: Any) -> Any:
        """The labels of these sequences."""
        given = self.read(inputs, named, strict)
        return given.like(self._recalled(given).long())

    def _recalled(self, given: Ragged) -> Tensor:
        """(positions, ...): sequences of one length run together, so that nothing is padded."""
        plan, domain, answers = self.plan, self._certificate.domain, None
        for rows in alike(given.lengths):
            index = torch.from_numpy(rows).to(given.flat.device)
            out = self.decode(plan.design.run(plan.target, self.network, self.encode(given.flat[index]), domain))
            if answers is None:
                answers = out.new_empty(len(given.flat), *out.shape[2:])
            answers[index] = out
        return cast(Tensor, answers)

    def read(self, given: Sequence[Any], named: Mapping[str, Any], strict: bool = True) -> Ragged:
        """The sequences, promoted exactly; refused where one is none of the certificate's."""
        data, named = self.data, dict(named)
        values = [*given, *(named.pop(name) for name in ("sequences",) if not given and name in named)]
        if len(values) != 1 or named or values[0] is None:
            raise Refusal("the network is called as net(sequences)")
        found = read_ragged(values[0], "sequences", 1 if data.by_id else 2)
        device = next(self.network.parameters()).device
        narrow = found.flat.to(self.dtype)
        held = found.lists and torch.equal(narrow.double(), found.flat.double())  # of Python, which has one float
        flat = accept(narrow if held else found.flat, self.dtype, device)
        if data.by_id:
            ids = whole(flat.detach(), "token ids", 0)
            table = cast(Any, self.network.layers["embed"]).table
            if ids.max() >= len(table):
                raise Refusal(f"the token id {ids.max()} has no embedding: ids go up to {len(table) - 1}")
        elif flat.shape[1] != data.tokens.shape[1]:
            raise Refusal(f"the vectors must have {data.tokens.shape[1]} features, not {flat.shape[1]}")
        self._check_known(flat, found.lengths, strict)
        return Ragged(flat, found.lengths, found.form, found.lists)

    def _check_known(self, flat: Tensor, lengths: np.ndarray, strict: bool) -> None:
        data = self.data
        if data.positions and lengths.max() > data.longest:
            raise Refusal(f"the network knows {data.longest} places, and a sequence has {lengths.max()} tokens")
        if not strict:
            return
        starts = data.starts(flat.detach().cpu().double().numpy(), lengths)
        if None in starts:
            raise Refusal(
                f"sequence {starts.index(None)} is none of the {len(data.lengths)} that the certificate speaks of: "
                "strict=False runs the network all the same, and promises nothing"
            )

    def accept(self, given: Sequence[Any], named: Mapping[str, Any]) -> list[Tensor]:
        """One tensor; NaN fills up the shorter sequences of a batch."""
        found = self.read(given, named)
        if found.form == "one":
            return [found.flat]
        longest, parts = int(found.lengths.max()), found.flat.split(found.lengths.tolist())
        rows = [torch.cat([part, part.new_full((longest - len(part), *part.shape[1:]), torch.nan)]) for part in parts]
        return [torch.stack(rows)]

    def certify(self, *inputs: Any, **named: Any) -> Any:
        """|net(sequences) - labels| of each token, in the shape of the sequences: there is no rounding in it."""
        given, data = self.read(inputs, named), self.data
        starts = data.starts(given.flat.detach().cpu().double().numpy(), given.lengths)
        known = zip(cast(list[int], starts), given.lengths.tolist(), strict=True)
        labels = np.concatenate([data.labels[start : start + n] for start, n in known])
        errors = (self._recalled(given).detach().cpu().double() - torch.from_numpy(labels)).abs()
        return given.like(errors)
