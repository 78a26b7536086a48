"""What is proved: a sum of scalar heads against a function of one variable.

Every network that Headsmith builds for a formula is a *program*: a list of parts, each a few heads that read one
variable and add into another. The proof knows nothing of tensors or layers; it sees the numbers of each head, as the
exact binary fractions that the module holds, and the expression they are meant to equal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from headsmith.functions import Expression

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Head:
    """phi(z) = sum_j p_j(z) (values_j + lines_j z),   p = softmax(slopes_j z + offsets_j).

    A table has lines = 0. A gate has one key, itself, whose value is linear in z, and a null key of zeros.

    >>> import numpy as np
    >>> sigmoid = Head.table([0.0, 1.0], [0.0, 0.0], [0.0, 1.0])
    >>> float(sigmoid(np.array(0.0)))
    0.5
    """

    slopes: Floats
    offsets: Floats
    values: Floats
    lines: Floats

    @classmethod
    def table(cls, slopes, offsets, values) -> Head:
        """A head of constant values, whose keys do not read the input's value."""
        slopes, offsets, values = (np.asarray(v, dtype=np.float64) for v in (slopes, offsets, values))
        return cls(slopes, offsets, values, np.zeros_like(values))

    @property
    def keys(self) -> int:
        """Keys of the softmax."""
        return len(self.slopes)

    @property
    def attends_to_itself(self) -> bool:
        """Whether the first key is the token itself (its value may depend on z)."""
        return bool(self.lines[0] != 0)

    def __call__(self, z: Floats) -> Floats:
        """Plain float64 evaluation, for planning; the network is what runs."""
        z = np.asarray(z, dtype=np.float64)[..., None]
        scores = z * self.slopes + self.offsets
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return (weights * (self.values + self.lines * z)).sum(-1) / weights.sum(-1)

    def cast(self, dtype: str) -> Head:
        """The nearest head whose numbers are of this dtype; -0.0 becomes 0.0, so that it reads back as it was."""
        return replace(
            self, **{n: getattr(self, n).astype(dtype).astype(np.float64) + 0.0 for n in self.__dataclass_fields__}
        )


@dataclass(frozen=True, eq=False)
class Part:
    """output += bias + sum of heads(input), meant to equal target(input) for input in domain."""

    input: str
    output: str
    target: Expression | None
    domain: tuple[float, float]
    heads: tuple[Head, ...]
    bias: float = 0.0

    @property
    def keys(self) -> int:
        """Keys of all its heads."""
        return sum(head.keys for head in self.heads)

    def __call__(self, z: Floats) -> Floats:
        return self.bias + sum((head(z) for head in self.heads), np.zeros(np.shape(z)))
