"""Multi-head attention as the constructions use it: structured maps, constant memory, explicit arithmetic.

Paper (Def 2.1, tokens are columns):  Attn(X) = sum_h W_V X softmax((W_K X)^T (W_Q X)) W_O, no 1/sqrt(d_h).
Here:  out = (x +) sum_h output_h( weights(scale * query_h(x) . key_h(y)) value_h(y) ),  y = data tokens, then
memory. (The papers' W_O mixes tokens and is its own layer, `TokenMix`; `output` writes a head's value into
the features.)

*Memory* is what makes a scalar head fast. Its anchors are the same for every input, so they are kept once,
never copied along the batch: a head with P anchors on N inputs is one (N, d_h) x (d_h, P) product, one
softmax and one (N, P) x (P, d_v) product. The path is product, torch.softmax, product and nothing else,
because the rounding theorem is about exactly these steps; with scale 1 a score is one d_h-term dot product.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from headsmith.network.affine import Affine
from headsmith.network.layer import SILENT, Layer, Tap, size
from headsmith.network.maps import Dense, Map, frozen, heads_last
from headsmith.network.visibility import WEIGHTS, bands, hide, in_band, join, over_batch, weigh
from headsmith.refusal import Refusal


class Attention(Layer):
    """out = (x +) sum_h output_h(pattern_h value_h); every map has a heads axis.

    visible        "all", "causal" (j <= i), "strict" (j < i), "self", "none", a list of these (one per
                   head), or a boolean table ((heads,) queries, keys): which data tokens a query sees
    memory         constant extra tokens, (M, features) for all heads or (heads, M, features)
    memory_mask    (heads, M) bool, False = this head lacks that memory token
    weights        "softmax", "relu" (over the number of visible keys), "hardmax" (uniform over maximisers)

    sigmoid(x) from two memory tokens, features (x, one, slope, value), written over x:

    >>> from headsmith.network import Select
    >>> head = Attention(
    ...     query=Select([[0]], 4), key=Select([[2]], 4), value=Select([[3]], 4),
    ...     output=Select.writing([[0]], 4), visible="none",
    ...     memory=[[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    >>> head(torch.zeros(1, 4, dtype=torch.float64))
    tensor([[0.5000, 0.0000, 0.0000, 0.0000]], dtype=torch.float64)
    """

    kind = "attention"
    band: Tensor
    table: Tensor
    keep: Tensor

    def __init__(
        self,
        query: Map,
        key: Map,
        value: Map,
        output: Map,
        *,
        visible: str | Sequence[str] | Tensor = "all",
        memory: Tensor | Sequence[Any] | None = None,
        memory_mask: Tensor | Sequence[Any] | None = None,
        weights: str = "softmax",
        scale: float = 1.0,
        residual: bool = False,
    ) -> None:
        super().__init__()
        self.query, self.key, self.value, self.output = query, key, value, output
        self.memory, self.weights, self.scale, self.residual = frozen(memory), weights, float(scale), residual
        if query.heads is None or {key.heads, value.heads, output.heads} != {query.heads}:
            raise Refusal("the four maps of an attention layer must have a heads axis of the same length.")
        self.heads = query.heads
        self._check_maps()
        self.memory_mask = self._register_mask(memory_mask)
        self.visible = self._register_visible(visible)
        self._sighted = min(self._memory_counts()) > 0
        if self.reach == "none" and self.memory is None:
            raise Refusal("an attention layer that sees no data token needs memory.")

    def _check_maps(self) -> None:
        if len({self.query.features, self.key.features, self.value.features}) != 1:
            raise Refusal("query, key and value must read the same features.")
        if self.query.rows != self.key.rows:
            raise Refusal(f"queries of {self.query.rows} numbers cannot meet keys of {self.key.rows}.")
        if self.value.rows != self.output.features:
            raise Refusal(f"the output map reads {self.output.features} numbers, a value has {self.value.rows}.")
        if self.residual and self.output.rows != self.query.features:
            raise Refusal(f"residual attention must write the {self.query.features} features that it reads.")
        if self.weights not in WEIGHTS:
            raise Refusal(f"no attention weights are called {self.weights!r}; there are {', '.join(WEIGHTS)}.")
        if not math.isfinite(self.scale):
            raise Refusal(f"the scale of an attention layer must be a number, not {self.scale}.")
        if self.memory is not None and (
            self.memory.dim() not in (2, 3)
            or self.memory.shape[-1] != self.key.features
            or (self.memory.dim() == 3 and len(self.memory) != self.heads)
        ):
            raise Refusal(
                f"memory must have shape (tokens, {self.width_in}) or "
                f"({self.heads}, tokens, {self.width_in}), not {tuple(self.memory.shape)}."
            )

    def _register_mask(self, mask: Tensor | Sequence[Any] | None) -> tuple[tuple[int, ...], ...] | None:
        if mask is None:
            return None
        keep = torch.as_tensor(mask).to("cpu", torch.bool)
        if keep.shape != (self.heads, self.memory_tokens):
            raise Refusal(f"the memory mask must have shape ({self.heads}, {self.memory_tokens}).")
        self.register_buffer("keep", keep.unsqueeze(1), persistent=False)
        return tuple(tuple(row) for row in keep.int().tolist())

    def _register_visible(self, visible: str | Sequence[str] | Tensor) -> str | tuple[str, ...] | Tensor:
        """Fixes `reach`, how data tokens are met: not at all, each itself, in a band or by a table."""
        if isinstance(visible, Tensor):
            table = visible.detach().to("cpu", torch.bool)
            table = table.unsqueeze(0) if table.dim() == 2 else table
            if table.dim() != 3 or table.shape[0] not in (1, self.heads) or table.shape[1] != table.shape[2]:
                raise Refusal("a visibility table is square, (queries, keys) or (heads, queries, keys).")
            self.register_buffer("table", table, persistent=False)
            self.reach = "table"
            return table
        patterns = (visible,) if isinstance(visible, str) else tuple(visible)
        if len(patterns) not in (1, self.heads):
            raise Refusal(f"{len(patterns)} visibility patterns for {self.heads} heads: give one, or one per head.")
        self.register_buffer("band", bands(patterns), persistent=False)
        kinds = set(patterns)
        self.reach = "none" if kinds == {"none"} else "self" if kinds <= {"none", "self"} else "band"
        self._uniform = kinds in ({"self"}, {"all"})
        return patterns[0] if len(kinds) == 1 else patterns

    @property
    def hook_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """What a tap can read here; keys and values only of the kinds this layer has."""
        data = ("k", "v") if self.reach != "none" else ()
        memory = ("memory_k", "memory_v") if self.memory is not None else ()
        inner = ("q", *data, *memory, "attn_scores", "pattern", "z", "result")
        return (*(f"attn.hook_{name}" for name in inner), "hook_attn_out")

    @property
    def memory_tokens(self) -> int:
        """Stored tokens that each head may see."""
        return 0 if self.memory is None else self.memory.shape[-2]

    @property
    def width_in(self) -> int:
        """Features that the queries read."""
        return self.query.features

    @property
    def width_out(self) -> int:
        """Features that the output writes."""
        return self.output.rows

    def forward(self, x: Tensor, padding: Tensor | None = None, tap: Tap = SILENT) -> Tensor:
        """(x +) sum_h output_h(sum_j pattern_hij value_hj),  j over data tokens, then memory tokens."""
        query = tap("attn.hook_q", self.query(x), -2)
        if self.scale != 1.0:
            query = query * self.scale
        near = self.reach == "self"
        scores, values = [], []
        if self.reach != "none":
            key = tap("attn.hook_k", self.key(x), -2)
            values.append(tap("attn.hook_v", self.value(x), -2))
            scores.append(_dot(query, key).unsqueeze(-1) if near else query @ key.mT)
        if self.memory is not None:
            per_head = self.memory.dim() == 3
            key = (self.key.each if per_head else self.key)(self.memory)
            value = (self.value.each if per_head else self.value)(self.memory)
            key, recalled = tap("attn.hook_memory_k", key, -2), tap("attn.hook_memory_v", value, -2)
            if self.memory_tokens == 1:
                scores.append(_dot(query, _broadcast(key, query)).unsqueeze(-1))
            else:
                scores.append((query.flatten(1, -2) @ key.mT).reshape(*query.shape[:-1], key.shape[-2]))
        visible = self._visibility(x, padding)
        score = hide(scores[0] if len(scores) == 1 else torch.cat(scores, -1), visible, self._sighted)
        score = tap("attn.hook_attn_scores", score, -3)
        pattern = weigh(score, visible, self.weights, self._sighted)
        pattern = tap("attn.hook_pattern", pattern, -3)
        seen = score.shape[-1] - self.memory_tokens
        parts = []
        if values:
            weight = pattern[..., :seen]
            parts.append(weight * values[0] if near else weight @ values[0])
        if self.memory is not None:
            weight = pattern[..., seen:]
            if self.memory_tokens == 1:
                parts.append(weight * _broadcast(recalled, weight))
            else:
                parts.append((weight.flatten(1, -2) @ recalled).reshape(*query.shape[:-1], self.value.rows))
        head = tap("attn.hook_z", parts[0] if len(parts) == 1 else parts[0] + parts[1], -2)
        return self._write(x, head, tap)

    def _visibility(self, x: Tensor, padding: Tensor | None) -> Tensor | None:
        """Who sees what, shaped like (heads, batch..., queries, [data keys, memory keys]); None = all."""
        tokens, batch = x.shape[-2], x.dim() - 2
        keys = {"none": 0, "self": 1}.get(self.reach, tokens)
        data = None
        if self.reach == "table":
            data = over_batch(self.table, batch)
        elif self.reach == "self" and not self._uniform:
            data = over_batch(self.band[0] <= 0, batch)
        elif self.reach == "band" and not self._uniform:
            data = over_batch(in_band(self.band, tokens), batch)
        if padding is not None and keys:
            shown = ~padding.unsqueeze(-1 if self.reach == "self" else -2).unsqueeze(0)
            data = shown if data is None else data & shown
        memory = None if self.memory_mask is None else over_batch(self.keep, batch)
        return join(data, memory, (keys, self.memory_tokens))

    def _write(self, x: Tensor, head: Tensor, tap: Tap) -> Tensor:
        """(heads, batch..., tokens, d_v) into the features, onto x where the layer is residual."""
        if not (tap.wants("attn.hook_result") or tap.wants("hook_attn_out")):
            return self.output.onto(x if self.residual else None, heads_last(head))
        result = self.output.each(head)
        patched = tap("attn.hook_result", result, -2)
        out = self.output.onto(None, heads_last(head)) if patched is result else patched.sum(0)
        out = tap("hook_attn_out", out)
        return x + out if self.residual else out

    def dense(self, tokens: int) -> list[Layer]:
        """Memory becomes tokens: append them, attend with a table in which they ask nothing, drop them."""
        maps = [m.between(None, None) for m in (self.query, self.key, self.value, self.output)]
        table = torch.zeros(self.heads, tokens, tokens, dtype=torch.bool)
        table[:] = self.table.cpu() if self.reach == "table" else in_band(self.band.cpu(), tokens)
        if self.memory is None:
            return [self._like(maps, visible=table, memory=None)]
        stored = self.memory.reshape(-1, self.width_in)
        count, total = self.memory_tokens, tokens + len(stored)
        full = torch.zeros(self.heads, total, total, dtype=torch.bool)
        full[:, :tokens, :tokens] = table
        keep = torch.ones(self.heads, count) if self.memory_mask is None else torch.tensor(self.memory_mask)
        for h in range(self.heads):
            start = tokens + (h * count if self.memory.dim() == 3 else 0)
            full[h, :tokens, start : start + count] = keep[h].bool()
        identity = torch.eye(self.width_in).to(stored)
        bias = torch.cat([stored.new_zeros(tokens, self.width_in), stored])
        append = Affine(Dense(identity), bias, [*range(tokens), *[-1] * len(stored)])
        drop = Affine(Dense(torch.eye(self.width_out).to(stored)), None, range(tokens))
        return [append, self._like(maps, visible=full, memory=None), drop]

    def rotated(self, before: Tensor | None, after: Tensor | None) -> Attention:
        """Q before, K before, V before, after^T O; the memory as m before, so that scores stay what they were."""
        maps = [m.between(before, None) for m in (self.query, self.key, self.value)]
        maps.append(self.output.between(None, after))
        memory = self.memory if self.memory is None or before is None else self.memory.to(before) @ before
        return self._like(maps, visible=self.visible, memory=memory, memory_mask=self.memory_mask)

    def after(self, A: Tensor) -> Attention:
        """Attn o A for a token-wise linear A (features, fewer or more): W_K A, W_Q A, W_V A.

        algorithm-emulation Lemma D.3, which says it of any linear A: one that mixes tokens (X R) is not meant, an
        attention that follows it may be none.
        """
        if self.memory is not None or self.residual:
            raise Refusal("the tokens of a memory and of a residual stream are read before A, not after it.")
        return self.rotated(A, None)

    def _like(self, maps: list[Any], **options: Any) -> Attention:
        return Attention(*maps, weights=self.weights, scale=self.scale, residual=self.residual, **options)

    def _memory_counts(self) -> list[int]:
        """Memory tokens of each head."""
        if self.memory_mask is None:
            return [self.memory_tokens] * self.heads
        return [sum(row) for row in self.memory_mask]

    def key_counts(self) -> list[int]:
        """Keys of each head that do not come from other data tokens: its memory, and itself where it sees only that."""
        patterns = (self.visible,) if isinstance(self.visible, str) else self.visible
        own = [0] * self.heads if isinstance(patterns, Tensor) else [int(p == "self") for p in patterns]
        own = own * self.heads if len(own) == 1 else own
        return [memory + self_ for memory, self_ in zip(self._memory_counts(), own, strict=True)]

    def memory_names(self) -> list[str]:
        """anchor.j for memory shared by all heads, else head.h.anchor.j, without the places a head lacks."""
        if self.memory is not None and self.memory.dim() == 2:
            return [f"anchor.{j}" for j in range(self.memory_tokens)]
        mask = self.memory_mask or ((1,) * self.memory_tokens,) * self.heads
        return [f"head.{h}.anchor.{j}" for h, row in enumerate(mask) for j, kept in enumerate(row) if kept]

    def flops(self, tokens: int, width: int) -> int:
        """Maps on data tokens, scores, weights (4 operations a key), weighted sum, output, residual."""
        reads = 2 if self.reach != "none" else 0
        maps = self.query.flops() + (self.key.flops() + self.value.flops()) * (reads > 0) + self.output.flops()
        keys = {"none": 0, "self": self.heads}.get(self.reach, self.heads * tokens) + sum(self._memory_counts())
        each = 2 * self.query.rows + 4 + 2 * self.value.rows + (self.scale != 1.0)
        return tokens * (maps + keys * each + (self.heads * self.value.rows if self.residual else 0))

    def dense_parameters(self, tokens: int, width: int) -> int:
        """Four full matrices a head, and the memory."""
        maps = (self.query, self.key, self.value, self.output)
        return self.heads * sum(m.rows * m.features for m in maps) + size(self.memory)

    def unusual(self) -> str | None:
        """The first of: other weights than softmax, no residual, memory of single heads, a mask of its own."""
        if self.weights != "softmax":
            return f"{self.weights} attention weights"
        if not self.residual:
            return "attention without residual"
        if self.memory is not None and (self.memory.dim() == 3 or self.memory_mask is not None):
            return "memory tokens of single heads"
        if self.visible not in ("all", "causal") if isinstance(self.visible, str) else True:
            return "a visibility that is neither all nor causal"
        return None

    def config(self) -> dict[str, Any]:
        """Options and maps; of the memory only its shape."""
        visible: Any = self.visible
        if isinstance(visible, Tensor):
            visible = visible.int().tolist()
        mask = None if self.memory_mask is None else [list(row) for row in self.memory_mask]
        return {
            "kind": self.kind,
            "weights": self.weights,
            "scale": self.scale.hex(),
            "visible": list(visible) if isinstance(visible, tuple) else visible,
            "residual": self.residual,
            "memory": None if self.memory is None else list(self.memory.shape),
            "memory_mask": mask,
            **{part: getattr(self, part).config() for part in ("query", "key", "value", "output")},
        }

    def summary(self) -> str:
        """2 heads of 1, softmax, sees self, 7 memory, residual."""
        visible = self.visible if isinstance(self.visible, str) else "table" if self.reach == "table" else "mixed"
        memory = f", {len(self.memory_names())} memory" if self.memory is not None else ""
        tail = ", residual" if self.residual else ""
        plural = "s" if self.heads > 1 else ""
        return f"{self.heads} head{plural} of {self.query.rows}, {self.weights}, sees {visible}{memory}{tail}"


def _dot(query: Tensor, key: Tensor) -> Tensor:
    """sum_i query_i key_i token by token, left to right: short vectors, so slices beat a batched product."""
    if query.shape[-1] > 4:
        return torch.einsum("...i,...i->...", query, key)
    total = query[..., 0] * key[..., 0]
    for i in range(1, query.shape[-1]):
        total = total + query[..., i] * key[..., i]
    return total


def _broadcast(one: Tensor, like: Tensor) -> Tensor:
    """(heads, 1, rows), one memory token, stretched over the batch and tokens of (heads, batch..., tokens, rows)."""
    return one.reshape(len(one), *[1] * (like.dim() - 2), one.shape[-1])
