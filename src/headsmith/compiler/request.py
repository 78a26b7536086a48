"""What was asked, read once: tolerance, domain, dtype and method, each refused in one sentence if it makes no sense."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headsmith.proof.domain import Domain
from headsmith.proof.rounding import FORMATS, Format
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.compiler.target import Target


@dataclass(frozen=True)
class Request:
    """|network - target| <= eps for every input in the domain, in this dtype, by this method.

    eps is 0 where the claim is exact and no eps was asked for.
    """

    eps: float
    domain: Domain
    dtype: str = "float64"
    method: str = "auto"

    @classmethod
    def read(cls, target: Target, eps: Any, domain: Any, dtype: Any, method: Any) -> Request:
        """What a user asks of a target."""
        name = read_dtype(dtype)
        asked = 0.0 if eps is None and target.faultless else read_eps(eps)
        return cls(asked, target.domain(domain, name), name, read_method(method, target.methods))

    @property
    def format(self) -> Format:
        """The floating-point format of the network."""
        return FORMATS[self.dtype]

    def record(self) -> dict[str, Any]:
        """JSON, every float in hexadecimal."""
        return {"eps": self.eps.hex(), "domain": self.domain.record(), "dtype": self.dtype, "method": self.method}

    @classmethod
    def from_record(cls, target: Target, record: Mapping[str, Any]) -> Request:
        """The request that `record` wrote, as strict as a user's; its domain must be one that the target reads."""
        stored = Domain.from_record(record["domain"])
        dtype = read_dtype(record["dtype"])
        domain = target.domain(target.plain(stored), dtype)  # in the target's order, which JSON does not keep
        if domain != stored:
            raise Refusal(f"{stored} is no domain of {target}")
        eps = float.fromhex(record["eps"])
        asked = 0.0 if eps == 0 and target.faultless else read_eps(eps)
        return cls(asked, domain, dtype, read_method(record["method"], target.methods))


def read_eps(eps: Any) -> float:
    """A tolerance: positive and finite."""
    if eps is None:
        raise Refusal("eps is missing: say how far the network may be from the target, such as eps=1e-6")
    try:
        value = math.nan if isinstance(eps, bool) else float(eps)
    except (TypeError, ValueError):
        raise Refusal(f"eps must be a positive number such as 1e-6, not {eps!r}") from None
    if not (0 < value < math.inf):
        raise Refusal(f"eps must be a positive number such as 1e-6, not {eps!r}")
    return value


def read_dtype(dtype: Any) -> str:
    """'float64' or 'float32', also given as torch or numpy dtypes."""
    name = dtype.__name__ if isinstance(dtype, type) else str(dtype).removeprefix("torch.")
    if name not in FORMATS:
        raise Refusal(f"dtype must be float64 or float32 (what the rounding theorem covers), not {name!r}")
    return name


def read_method(method: Any, known: Sequence[str]) -> str:
    """One of the methods that a target knows."""
    if method not in known:
        raise Refusal(f"no method is called {method!r}; there are {', '.join(known)}")
    return method
