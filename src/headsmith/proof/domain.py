"""The hypotheses of a certificate: which inputs it speaks of, by name.

A proof holds for the inputs that lie in named sets, intervals or finite ones, and for no others. The same object
is read from what the user asks, is used by the proof, checks every input at run time and prints itself into the
statement, so no range that a proof uses can be missing from what is claimed. Ends are printed exactly: a domain
that was rounded when shown could seem to hold a pole that it leaves out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from torch import Tensor

from headsmith.records.shown import exactly, interval
from headsmith.refusal import Refusal

Interval = tuple[float, float]

OUTERMOST = 1e60  # squares and products of a few such numbers are still floats


@dataclass(frozen=True)
class Finite:
    """A set of a few numbers.

    >>> print(Finite((0.0, 1.0)))
    {0, 1}
    """

    values: tuple[float, ...]

    def __str__(self) -> str:
        return "{" + ", ".join(map(exactly, self.values)) + "}"


@dataclass(frozen=True)
class Listed:
    """A set of things too large to print: how many there are, and the SHA-256 of their list.

    Whoever holds the list checks inputs against it.

    >>> print(Listed(3, "ab12"))
    the 3 listed of SHA-256 ab12
    """

    count: int
    sha256: str

    def __str__(self) -> str:
        return f"the {self.count} listed of SHA-256 {self.sha256}"


@dataclass(frozen=True)
class Domain:
    """Named sets: x in [-2, 2], y in {0, 1}.

    A domain of one interval unpacks into its ends.

    >>> domain = Domain({"x": (-2.0, 2.0), "w.x - y": (-5.0, 5.0)})
    >>> print(domain)
    x in [-2, 2], w.x - y in [-5, 5]
    >>> domain["x"], domain.size("w.x - y")
    ((-2.0, 2.0), 5.0)
    """

    sets: Mapping[str, Interval | Finite | Listed]
    note: str = field(default="", compare=False)  # what had to be changed in what the user asked

    def __post_init__(self) -> None:
        object.__setattr__(self, "sets", MappingProxyType(dict(self.sets)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Domain, (dict(self.sets), self.note)

    def __getitem__(self, name: str) -> Interval:
        found = self.sets[name]
        if isinstance(found, Listed):
            raise Refusal(f"{name} has no range: the certificate speaks of {found}")
        return (min(found.values), max(found.values)) if isinstance(found, Finite) else found

    def __iter__(self) -> Iterator[float]:
        [name] = self.sets
        return iter(self[name])

    def __contains__(self, name: str) -> bool:
        return name in self.sets

    def __hash__(self) -> int:
        return hash(tuple(self.sets.items()))

    def __str__(self) -> str:
        return ", ".join(f"{name} in {_set(found)}" for name, found in self.sets.items())

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, in order."""
        return tuple(self.sets)

    def box(self, names: Sequence[str]) -> tuple[Interval, ...]:
        """The intervals of these variables."""
        return tuple(self[name] for name in names)

    def size(self, name: str) -> float:
        """The largest |value| of a variable."""
        return max(map(abs, self[name]))

    def plain(self) -> Any:
        """(lo, hi) for one variable, a dict of them for several; what is listed stays what it is."""
        if any(isinstance(found, Listed) for found in self.sets.values()):
            return dict(self.sets)
        return self[self.names[0]] if len(self.sets) == 1 else {name: self[name] for name in self.sets}

    def check(self, name: str, values: Tensor) -> None:
        """Refuses the input that lies outside: nothing is claimed there, so nothing is computed."""
        if not values.numel():
            return
        found = self.sets[name]
        if isinstance(found, Listed):
            return
        if isinstance(found, Finite):
            if not bool(sum(values == v for v in found.values).all()):  # type: ignore[union-attr]
                raise Refusal(f"every {name} must be one of {found}")
            return
        low, high = (float(end) for end in values.detach().aminmax())
        if low < found[0] or high > found[1]:
            bad = low if low < found[0] else high
            what = "the input" if len(self.sets) == 1 else name
            raise Refusal(
                f"{what} {exactly(bad)} lies outside the certified domain {interval(found)}: "
                "compile again with a wider domain"
            )

    def record(self) -> dict[str, Any]:
        """JSON, every float in hexadecimal."""
        return {name: _written(found) for name, found in self.sets.items()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Domain:
        """The domain that `record` wrote."""
        return cls({name: _read(found) for name, found in record.items()})


def _written(found: Interval | Finite | Listed) -> Any:
    if isinstance(found, Listed):
        return {"listed": found.count, "sha256": found.sha256}
    return {"one of": [v.hex() for v in found.values]} if isinstance(found, Finite) else [end.hex() for end in found]


def _read(found: Any) -> Interval | Finite | Listed:
    read = float.fromhex
    if not isinstance(found, Mapping):
        return read(found[0]), read(found[1])
    return Finite(tuple(map(read, found["one of"]))) if "one of" in found else Listed(found["listed"], found["sha256"])


def _set(found: Interval | Finite | Listed) -> str:
    return interval(found) if isinstance(found, tuple) else str(found)


def read_domain(given: Any, names: Sequence[str], dtype: str, title: str) -> Domain:
    """What a user says: one pair for all variables, or a mapping by name; widened outwards to the dtype's numbers.

    >>> print(read_domain((-1, 1), ["x", "y"], "float64", "x*y"))
    x in [-1, 1], y in [-1, 1]
    """
    if given is None:
        example = "(-2, 2)" if len(names) == 1 else "{" + ", ".join(f'"{name}": (-1, 1)' for name in names) + "}"
        raise Refusal(f"{title} needs a domain, such as domain={example}")
    if not isinstance(given, Mapping):
        return Domain(dict.fromkeys(names, read_interval(given, dtype)))
    if set(given) != set(names):
        named = ", ".join(map(str, given)) or "nothing"
        raise Refusal(f"the domain names {named}, but {title} has the variables {', '.join(names)}")
    return Domain({name: read_interval(given[name], dtype) for name in names})


def read_interval(given: Any, dtype: str) -> Interval:
    """[lo, hi], widened outwards to numbers of the dtype.

    >>> read_interval((-1, 0.1), "float32")
    (-1.0, 0.10000000149011612)
    """
    try:
        lo, hi = (float(end) for end in ([] if isinstance(given, str) else given))
    except (TypeError, ValueError):
        raise Refusal(f"domain must be two numbers lo < hi, such as (-2, 2), not {given!r}") from None
    if not (math.isfinite(lo) and math.isfinite(hi)):
        raise Refusal(
            f"the domain [{lo}, {hi}] is not finite: a head is certified on a bounded interval, such as [-8, 8]"
        )
    if not lo < hi:
        raise Refusal(f"the domain {interval((lo, hi))} is empty: give lo < hi")
    if max(-lo, hi) > OUTERMOST:
        raise Refusal(
            f"the domain {interval((lo, hi))} reaches beyond {OUTERMOST:g}, where proofs overflow: scale the input"
        )
    kind = np.dtype(dtype).type
    with np.errstate(over="ignore"):
        low, high = kind(lo), kind(hi)
    low = low if float(low) <= lo else np.nextafter(low, kind(-np.inf))
    high = high if float(high) >= hi else np.nextafter(high, kind(np.inf))
    if not (np.isfinite(low) and np.isfinite(high)):
        raise Refusal(f"the domain {interval((lo, hi))} is beyond the range of {dtype}")
    return float(low), float(high)
