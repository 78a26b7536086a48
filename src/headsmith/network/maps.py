"""Linear maps on the feature axis, stored as what they are.

The matrices of a constructed network are mostly zeros and ones: a query that copies two features, a value
that reads one column. Written out densely they hide the construction, cost memory, and turn an exact copy
into a rounded sum. So a map is one of three kinds, and `dense()` gives the textbook matrix of each:

    Select(index, features)               y[r] = x[index[r]], index -1 gives 0        no arithmetic, bit exact
    Sparse(index, coefficient, features)  y[r] = sum_i coefficient[r, i] x[index[r, i]] summed left to right
    Dense(weight)                         y = weight x

A leading heads axis, index (heads, rows), coefficient (heads, rows, terms) or weight (heads, rows, features),
makes one map per head. Three ways to use a map, for x (..., tokens, features):

    map(x)          (..., tokens, rows), or (heads, ..., tokens, rows): every head reads the same x
    map.each(x)     x is (heads, ..., features): head h reads slab h only
    map.onto(b, x)  b + sum over heads of map_h(x_h), x (..., heads*features): how heads write into one stream
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from headsmith.refusal import Refusal

Indices = Sequence[Any] | Tensor
AT_ONCE = 2**17  # products of a sparse map that are held side by side: up to so many, calls cost more than numbers


def frozen(value: Tensor | Sequence[Any] | None) -> nn.Parameter | None:
    """Constructed numbers: a parameter that is not trained unless `requires_grad_(True)` says so."""
    if value is None:
        return None
    tensor = value if isinstance(value, Tensor) else torch.tensor(value, dtype=torch.float64)
    return nn.Parameter(tensor.detach().clone(), requires_grad=False)


def heads_first(y: Tensor, heads: int) -> Tensor:
    """(..., tokens, heads*rows) -> (heads, ..., tokens, rows), a view."""
    return y.unflatten(-1, (heads, -1)).movedim(-2, 0)


def heads_last(z: Tensor) -> Tensor:
    """(heads, ..., tokens, rows) -> (..., tokens, heads*rows), a view for one head."""
    return z[0] if z.shape[0] == 1 else z.movedim(0, -2).flatten(-2)


class Map(nn.Module, ABC):
    """A linear map x -> W x on the last axis; `heads` is None for one map, else how many there are."""

    kind: str
    features: int
    rows: int
    heads: int | None

    def forward(self, x: Tensor) -> Tensor:
        """W x, or (heads, ..., tokens, rows) with W_h x for each head."""
        y = self.flat(x)
        return y if self.heads is None else heads_first(y, self.heads)

    @abstractmethod
    def flat(self, x: Tensor) -> Tensor:
        """All rows of all heads in one axis: (..., features) -> (..., heads*rows)."""

    @abstractmethod
    def each(self, x: Tensor) -> Tensor:
        """W_h x_h: head h has an input of its own, (heads, ..., features) -> (heads, ..., rows)."""

    @abstractmethod
    def dense(self) -> Tensor:
        """The textbook matrix, (rows, features) or (heads, rows, features)."""

    def onto(self, base: Tensor | None, x: Tensor) -> Tensor:
        """base + sum_h W_h x_h for x (..., heads*features), the heads side by side: how an output is written."""
        weight = self.dense()
        matrix = weight.mT if self.heads is None else weight.mT.flatten(0, 1)
        rows = x.reshape(-1, x.shape[-1]) @ matrix  # one product: heads-first values are no contiguous batch
        y = rows.reshape(*x.shape[:-1], matrix.shape[-1])
        return y if base is None else base + y

    def between(self, before: Tensor | None, after: Tensor | None) -> Dense:
        """after^T W before: the same map once its input is written as x before, its output as y after."""
        weight = self.dense() if before is None else self.dense().to(before) @ before
        return Dense(weight if after is None else after.mT @ weight.to(after))

    @abstractmethod
    def flops(self) -> int:
        """Multiplications and additions for one token."""

    @abstractmethod
    def config(self) -> dict[str, Any]:
        """JSON: the kind, and sizes or indices; coefficients are tensors."""

    def extra_repr(self) -> str:
        """2 x 4 -> 1: heads, features and rows."""
        many = "" if self.heads is None else f"{self.heads} x "
        return f"{many}{self.features} -> {self.rows}"


class Select(Map):
    """y[r] = x[index[r]], or 0 where index[r] = -1: a bit-exact copy.

    >>> Select([0, -1, 0], features=2)(torch.tensor([5.0, 7.0]))
    tensor([5., 0., 5.])
    """

    kind = "select"
    index: Tensor
    source: Tensor
    gap: Tensor
    wrote: Tensor
    read: Tensor

    def __init__(self, index: Indices, features: int) -> None:
        super().__init__()
        table = _index(index, features, least=-1, dims=(1, 2))
        self.features, self.rows = features, table.shape[-1]
        self.heads = table.shape[0] if table.dim() == 2 else None
        flat = table.flatten()
        written = (flat >= 0).nonzero().flatten()
        target, origin = written % self.rows, flat[written] + written // self.rows * features
        for name, value in {
            "index": table, "source": flat.clamp(min=0), "gap": flat < 0, "wrote": target, "read": origin
        }.items():  # fmt: skip
            self.register_buffer(name, value, persistent=False)
        self._gaps = bool((flat < 0).any())
        self._run = None if self._gaps else _run(flat)
        self._write = (_run(target), _run(origin))

    @classmethod
    def writing(cls, targets: Sequence[Sequence[int]], rows: int) -> Select:
        """Head h puts its i-th value into row targets[h][i]: an attention output, as it is meant.

        >>> Select.writing([[3], [2]], rows=4).index.tolist()
        [[-1, -1, -1, 0], [-1, -1, 0, -1]]
        """
        index = [[-1] * rows for _ in targets]
        for head, places in zip(index, targets, strict=True):
            for i, place in enumerate(places):
                if not 0 <= place < rows or head[place] >= 0:
                    raise Refusal(f"a head cannot write to row {place}: rows are 0..{rows - 1}, each once a head.")
                head[place] = i
        return cls(index, features=max(map(len, targets)))

    def flat(self, x: Tensor) -> Tensor:
        """A slice where the indices count up by ones, else a gather with zeros in the gaps."""
        if self._run is not None:
            return x.narrow(-1, *self._run)
        y = x.index_select(-1, self.source)
        return y.masked_fill(self.gap, 0) if self._gaps else y

    def each(self, x: Tensor) -> Tensor:
        """x_h[index[h]], with zeros in the gaps."""
        y = x.gather(-1, _per_head(self.index.clamp(min=0), x))
        return y.masked_fill(_per_head(self.index < 0, x), 0) if self._gaps else y

    def onto(self, base: Tensor | None, x: Tensor) -> Tensor:
        """base with x added at the rows that are written: the others keep their bits."""
        shape = (*x.shape[:-1], self.rows)
        out = x.new_zeros(shape) if base is None else base.expand(shape).clone()
        write, read = self._write
        if write is None or read is None:
            return out.index_add_(-1, self.wrote, x.index_select(-1, self.read))
        out.narrow(-1, *write).add_(x.narrow(-1, *read))
        return out

    def dense(self) -> Tensor:
        """A one in each row, at the column it copies."""
        columns = torch.arange(self.features, device=self.index.device)
        return (self.index.unsqueeze(-1) == columns).to(torch.float64)

    def flops(self) -> int:
        """None: numbers are copied."""
        return 0

    def config(self) -> dict[str, Any]:
        """Features and indices."""
        return {"kind": self.kind, "features": self.features, "index": self.index.tolist()}


class Sparse(Map):
    """y[r] = sum_i coefficient[r, i] x[index[r, i]]: a few terms a row, added left to right.

    >>> Sparse([[0, 1]], [[3.0, -1.0]], features=2)(torch.tensor([5.0, 1.0], dtype=torch.float64))
    tensor([14.], dtype=torch.float64)
    """

    kind = "sparse"
    index: Tensor
    source: Tensor

    def __init__(self, index: Indices, coefficient: Tensor | Sequence[Any], features: int) -> None:
        super().__init__()
        table = _index(index, features, least=0, dims=(2, 3))
        self.features, self.rows, self.terms = features, table.shape[-2], table.shape[-1]
        self.heads = table.shape[0] if table.dim() == 3 else None
        self.coefficient = _parameter(coefficient)
        if self.coefficient.shape != table.shape:
            raise Refusal(
                f"a sparse map with index {tuple(table.shape)} needs coefficients of that shape, "
                f"not {tuple(self.coefficient.shape)}."
            )
        self.register_buffer("index", table, persistent=False)
        self.register_buffer("source", table.flatten(0, -2).T.contiguous(), persistent=False)

    def flat(self, x: Tensor) -> Tensor:
        """The terms of each row, added left to right; an exported network does not ask how large its batch is."""
        coefficient = self.coefficient.flatten(0, -2).T
        if self.terms == 1:
            return x.index_select(-1, self.source[0]) * coefficient[0]
        if not torch.compiler.is_compiling() and x.numel() * self.source.numel() <= AT_ONCE * self.features:
            y, *rest = (
                x.index_select(-1, self.source.flatten()).unflatten(-1, coefficient.shape) * coefficient
            ).unbind(-2)
            return sum(rest, y)
        y = x.index_select(-1, self.source[0]) * coefficient[0]
        for i in range(1, self.terms):
            y = y + x.index_select(-1, self.source[i]) * coefficient[i]
        return y

    def each(self, x: Tensor) -> Tensor:
        """The same sums, head h on x_h."""
        y = x.gather(-1, _per_head(self.index[..., 0], x)) * _per_head(self.coefficient[..., 0], x)
        for i in range(1, self.terms):
            y = y + x.gather(-1, _per_head(self.index[..., i], x)) * _per_head(self.coefficient[..., i], x)
        return y

    def dense(self) -> Tensor:
        """Coefficients at their columns, those of one column added."""
        zero = self.coefficient.new_zeros(*self.index.shape[:-1], self.features)
        return zero.scatter_add(-1, self.index, self.coefficient)

    def flops(self) -> int:
        """Of k terms a row: k products and k - 1 sums."""
        return (2 * self.terms - 1) * self.rows * (self.heads or 1)

    def config(self) -> dict[str, Any]:
        """Features and indices."""
        return {"kind": self.kind, "features": self.features, "index": self.index.tolist()}


class Dense(Map):
    """y = weight x, weight (rows, features) or (heads, rows, features).

    >>> Dense([[1.0, 2.0]])(torch.tensor([5.0, 1.0], dtype=torch.float64))
    tensor([7.], dtype=torch.float64)
    """

    kind = "dense"

    def __init__(self, weight: Tensor | Sequence[Any]) -> None:
        super().__init__()
        self.weight = _parameter(weight)
        if self.weight.dim() not in (2, 3):
            raise Refusal(f"a dense map needs 2 or 3 axes, (heads,) rows, features; got {self.weight.dim()}.")
        self.rows, self.features = self.weight.shape[-2:]
        self.heads = self.weight.shape[0] if self.weight.dim() == 3 else None

    def flat(self, x: Tensor) -> Tensor:
        """x W^T, all heads in one product."""
        return x @ self.weight.flatten(0, -2).T

    def each(self, x: Tensor) -> Tensor:
        """x_h W_h^T, a batch of products."""
        y = x.reshape(x.shape[0], -1, self.features) @ self.weight.mT
        return y.reshape(*x.shape[:-1], self.rows)

    def dense(self) -> Tensor:
        """The matrix itself."""
        return self.weight

    def flops(self) -> int:
        """Of n features a row: n products and n - 1 sums."""
        return (2 * self.features - 1) * self.rows * (self.heads or 1)

    def config(self) -> dict[str, Any]:
        """The shape."""
        return {"kind": self.kind, "shape": list(self.weight.shape)}


def _parameter(value: Tensor | Sequence[Any]) -> nn.Parameter:
    return cast(nn.Parameter, frozen(value))


def _index(index: Indices, features: int, least: int, dims: tuple[int, int]) -> Tensor:
    """The integer table of a map: rectangular, of the right depth, every entry in [least, features)."""
    try:
        table = torch.as_tensor(index).detach().cpu()
    except (TypeError, ValueError) as error:
        raise Refusal(f"the index of a map must be a rectangular list of integers ({error}).") from None
    if table.dim() not in dims or table.numel() == 0 or table.is_floating_point() or table.dtype == torch.bool:
        raise Refusal(f"the index of a map must be a table of integers with {dims[0]} axes, or {dims[1]} with heads.")
    if int(table.min()) < least or int(table.max()) >= features:
        raise Refusal(f"the index of a map must lie in {least}..{features - 1}, the features it can read.")
    return table.to(torch.long, copy=True)


def _run(flat: Tensor) -> tuple[int, int] | None:
    """(start, length) if flat counts up by ones, so that a slice can stand for it."""
    if len(flat) == 0 or not torch.equal(flat, torch.arange(len(flat)) + flat[0]):
        return None
    return int(flat[0]), len(flat)


def _per_head(table: Tensor, x: Tensor) -> Tensor:
    """(heads, rows) stretched over the middle axes of x (heads, ..., features)."""
    rows = table.shape[-1]
    return table.reshape(len(table), *[1] * (x.dim() - 2), rows).expand(*x.shape[:-1], rows)
