"""A truncated linear model whose keys are written by the prompt (softmax-universality Thm D.1 = Thm G.25, repaired).

The prompt's tokens are (x_i, w, t_i). An affine layer writes one token for each anchor k next to them, with slope_k w
in it, so that the score of anchor k at token i is slope_k (w . x_i + t_i) + offset_k: a query (x_i, t_i, 1) meets a key
(slope_k w, slope_k, offset_k), and the anchors' values are constants. The gains v_i of the theorem, w_i = w v_i entry
by entry, multiply x_i in the affine layer.

As printed, t enters the keys of the first token with the factor -1 instead of -2, which halves it, and the t of every
other token is lost: a query (x_i, 0, 1) meets (slope_k w, 0, offset_k + slope_k t_0/2).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from headsmith.constructions.clip import Truncation
from headsmith.network import Affine, Attention, Network, Select, Sparse
from headsmith.proof.approximation import prove
from headsmith.proof.certificate import Bound
from headsmith.proof.composition import resolution
from headsmith.proof.domain import Domain
from headsmith.proof.rounding import INFLATE, prove_rounding
from headsmith.proof.statement import Head

if TYPE_CHECKING:
    from headsmith.compiler.request import Request


class PromptKeys(Truncation):
    """One head of constant values."""

    name, serves = "keys in the prompt", "prompt-clip"
    printed: ClassVar[bool] = False

    @property
    def promises(self) -> bool:
        return not self.printed

    def method(self, target: Any) -> str:
        return "printed" if self.printed else "table"

    def prove(self, target: Any, request: Request) -> Bound:
        """The head on every w . x + t; a score is a dot product of d + 2 terms, and slope_k w is rounded once more.

        Gains are rounded to the format, and so is their product with x.

        Range is 1-Lipschitz, so to read t_0/2 for t_i costs up to 3/2 of the shift. Scores that move by at most m move
        a weighted mean by at most m/2 of the spread of the values; they move where a key, x or t is flushed to zero.
        """
        domain, d, size = request.domain, target.features, reach(target, request.domain)
        own = 0 if target.gains is None else 2
        part, kinks = self.part(target, (-size, size)), (target.low, target.high)
        floor = resolution(part, kinks)
        proof = prove(part, floor, kinks)
        rounding = prove_rounding(part, request.format, 2 * floor, terms=d + 3 + own, reach=size).bound
        [head] = self.held
        steepest = float(np.abs(head.slopes).max())
        moved = request.format.tiny * (
            d * (target.stretch[1] * domain.size("x") + steepest * domain.size("w")) + steepest
        )
        flushed = 0.51 * moved * float(np.ptp(head.values))
        lost = min(1.5 * domain.size("t"), target.high - target.low) if self.printed else 0.0
        return Bound(
            math.nextafter(proof.bound + lost, math.inf),
            math.nextafter(rounding + flushed, math.inf),
            cells=len(proof.edges) - 1,
        )

    def network(self, target: Any, dtype: str) -> Network:
        """embed: prompt tokens and, from token 0, one token for each anchor; then one head over the anchors."""
        n, d, p, kind = target.tokens, target.features, self.tally.keys, getattr(torch, dtype)
        width = 2 * d + 5  # x, t, one | slope w, slope, offset, value
        T, ONE, KEY, SLOPE, OFFSET, VALUE = d, d + 1, d + 2, 2 * d + 2, 2 * d + 3, 2 * d + 4
        [head] = self.held
        slopes, offsets, values = map(torch.tensor, (head.slopes, head.offsets, head.values))
        index = torch.zeros(n + p, width, 1, dtype=torch.long)
        scale, bias = torch.zeros(n + p, width, dtype=torch.float64), torch.zeros(n + p, width, dtype=torch.float64)
        index[:, :d, 0], index[:, KEY:SLOPE, 0] = torch.arange(d), torch.arange(d, 2 * d)
        index[:, [T, OFFSET]] = 2 * d
        scale[:n, :d] = 1.0 if target.gains is None else torch.tensor(target.gains)
        bias[:n, ONE] = 1.0
        scale[n:, KEY:SLOPE], bias[n:, OFFSET], bias[n:, VALUE] = slopes[:, None], offsets, values
        if self.printed:
            scale[n:, OFFSET] = slopes / 2
        else:
            scale[:n, T], bias[n:, SLOPE] = 1.0, slopes
        embed = Sparse(index, scale[..., None].to(kind), 2 * d + 1)
        maps = Select([[*range(d + 2)]], width), Select([[*range(KEY, VALUE)]], width), Select([[VALUE]], width)
        seen = (torch.arange(n + p) >= n).expand(n + p, n + p)
        layers = {
            "embed": Affine(embed, bias.to(kind), [*range(n), *[0] * p]),
            "range": Attention(*maps, Select.writing([[0]], 1), visible=seen),
            "read": Affine(Select([0], features=1), None, range(n)),
        }
        names = [*(f"x.{j}" for j in range(d)), "t", "one", *(f"key.{j}" for j in range(d)), "slope", "offset", "value"]
        return Network(layers, tokens=[f"token.{i}" for i in range(n)], features=names)

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> PromptKeys:
        embed: Any = network.layers["embed"]
        n, d = target.tokens, target.features
        slopes = embed.map.coefficient.detach().double()[n:, d + 2, 0]
        offsets, values = embed.bias.detach().double()[n:, -2:].T
        return cls((Head.table(slopes, offsets, values),))


class PrintedPromptKeys(PromptKeys):
    """Thm G.25 as printed, which loses the shifts."""

    name, serves = "keys in the prompt, as printed", "prompt-clip"
    printed = True


def reach(target: Any, domain: Domain) -> float:
    """|w . x_i + t_i| is at most this, and so is the sum of its terms' absolute values."""
    size = target.stretch[0] * domain.size("w") * domain.size("x") * INFLATE + domain.size("t")
    return math.nextafter(size, math.inf)
