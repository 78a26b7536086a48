"""Whether any hardmax layer tells sequences apart: a proof that none does, or heads that do (low-rank-memorization).

Theorem 1 as printed is about a pair that averaging separates; here the question is put to the user's own data.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from math import gcd
from typing import Any

import numpy as np
import torch

from headsmith.network.attention import Attention
from headsmith.network.maps import Dense
from headsmith.proof.hardmax import Hulls, Point, hard_mean, mean, points
from headsmith.records.shown import Shown, number
from headsmith.refusal import Refusal
from headsmith.search.hull import mixture, setting_apart


@dataclass(frozen=True, repr=False)
class HardHead(Shown):
    """One hardmax head that tells two sequences apart: scores direction . token, for the query `token` of both.

    exact        how far the two outputs are apart in exact arithmetic, in their largest coordinate
    difference   how far they were when the head was run in float64: where rounding splits a tie, anything
    """

    pair: tuple[int, int]
    direction: tuple[float, ...]
    token: tuple[float, ...]
    exact: float
    difference: float

    def title(self) -> str:
        return f"a hardmax head that tells sequence {self.pair[0]} from sequence {self.pair[1]}"

    def rows(self) -> list[tuple[str, str]]:
        zero = not any(self.direction)
        return [
            ("scores", "0: the mean of all tokens" if zero else f"token . {_vector(self.direction)}"),
            ("outputs", f"{number(self.exact)} apart at {_vector(self.token)}; {number(self.difference)} when run"),
        ]


@dataclass(frozen=True, repr=False)
class HardmaxReport(Shown):
    """Whether one hardmax layer can tell these sequences apart, at tokens that they share.

    impossible   True: proved that none can, for the `pair`; False: the `heads` can; None: neither was found
    pair         the two sequences in question, or None
    proof        what proves it, in exact fractions; `proof.holds()` repeats it
    first_ties   whether it is also proved where the first of several maximisers wins instead of their mean
    heads        for each pair with one mean a head that tells them apart, and one that averages for all others
    """

    impossible: bool | None
    pair: tuple[int, int] | None = None
    proof: Hulls | None = None
    heads: tuple[HardHead, ...] = ()

    def __bool__(self) -> bool:
        return self.impossible is True

    @property
    def first_ties(self) -> bool:
        return self.proof is not None and self.proof.holds_for_first_ties()

    def title(self) -> str:
        if self.impossible:
            return "impossible for hardmax attention: proved in exact arithmetic"
        if self.impossible is None:
            return "undecided: no proof and no head was found"
        return (
            "hardmax attention can" if self.heads else "there is nothing to tell apart: one context, or no common token"
        )

    def rows(self) -> list[tuple[str, str]]:
        if self.pair is None:
            return [(f"{h.pair[0]}, {h.pair[1]}", ": ".join(text for _, text in h.rows())) for h in self.heads[:8]]
        found = [("sequences", f"{self.pair[0]} and {self.pair[1]}")]
        if self.proof is None:
            return found
        both = ", ".join(_vector(x) for x in dict.fromkeys(self.proof.first) if x in self.proof.second)
        ties = "of the mean of all maximisers" + (", and of the first" if self.first_ties else "; not of the first")
        return [
            *found,
            ("claim", f"at {both} one layer gives both the same output, with any weights and any number of heads"),
            (
                "because",
                f"means agree, and all else lies inside the hull of {', '.join(map(_vector, self.proof.shared))}",
            ),
            ("ties", ties),
            ("softmax", "one head with almost any weights tells them apart"),
        ]


def hardmax_impossible(sequences: Sequence[Any]) -> HardmaxReport:
    """Whether no hardmax attention layer, with any number of heads, tells these sequences apart; or heads that do.

    sequences   each (n, d) token vectors, or n numbers: tokens on a line. Order plays no part, and neither do sequences
                whose multisets are proportional: those no softmax head tells apart either (`explain_failure`)

    >>> hardmax_impossible([[1, 2, 5, 6], [1, 3, 4, 6]])
    impossible for hardmax attention: proved in exact arithmetic
      sequences  0 and 1
      claim      at 1, 6 one layer gives both the same output, with any weights and any number of heads
      because    means agree, and all else lies inside the hull of 1, 6
      ties       of the mean of all maximisers, and of the first
      softmax    one head with almost any weights tells them apart
    >>> hardmax_impossible([[1, 2, 4], [1, 3, 4]])            # the pair printed in the paper
    hardmax attention can
      0, 1  0: the mean of all tokens: 0.333 apart at 1; 0.333 when run
    """
    arrays = read_vectors(sequences)
    given = [points(array) for array in arrays]
    heads, undecided = [], None
    averaged = _averaged(arrays, given)
    for i, j in _with_one_mean(given):
        proof = _proof(given[i], given[j])
        if proof is not None:
            return HardmaxReport(True, (i, j), proof)
        direction = setting_apart(given[i], given[j])
        if direction is None:
            undecided = undecided or (i, j)
        else:
            heads.append(_run((i, j), direction, arrays, given))
    if undecided:
        return HardmaxReport(None, undecided, None, tuple(heads))
    return HardmaxReport(False, None, None, (*averaged, *heads))


def read_vectors(sequences: Sequence[Any]) -> list[np.ndarray]:
    """(n, d) arrays of one width, of numbers or of vectors.

    >>> read_vectors([[1, 2], [3]])[0].shape
    (2, 1)
    """
    try:
        arrays = [np.array(sequence, dtype=np.float64) + 0.0 for sequence in sequences]
    except (TypeError, ValueError):
        raise Refusal(
            "hardmax attention compares vectors: give numbers or rows of numbers, embeddings of words"
        ) from None
    arrays = [array[:, None] if array.ndim == 1 else array for array in arrays]
    if len(arrays) < 2 or any(array.ndim != 2 or not array.size or not np.isfinite(array).all() for array in arrays):
        raise Refusal(
            "give two or more sequences, each of at least one token: finite numbers, or vectors of one length"
        )
    if len({array.shape[1] for array in arrays}) > 1:
        raise Refusal("the tokens must have one width, and these have " + _listed({a.shape[1] for a in arrays}))
    return arrays


def _listed(sizes: Iterable[int]) -> str:
    return " and ".join(map(str, sorted(sizes)))


def different(given: Sequence[tuple[Point, ...]]) -> list[int]:
    """One sequence of each multiset, up to a factor of all multiplicities.

    >>> different([points(np.array([[1.0], [2.0]])), points(np.array([[2.0], [1.0], [1.0], [2.0]]))])
    [0]
    """
    seen: dict[frozenset[tuple[Point, int]], int] = {}
    for k, sequence in enumerate(given):
        counts = Counter(sequence)
        common = gcd(*counts.values())
        seen.setdefault(frozenset((x, count // common) for x, count in counts.items()), k)
    return list(seen.values())


def _with_one_mean(given: Sequence[tuple[Point, ...]]) -> Iterator[tuple[int, int]]:
    """Pairs that averaging does not tell apart, and that share a token at which they ought to be."""
    groups = defaultdict(list)
    for k in different(given):
        groups[mean(given[k])].append(k)
    for group in groups.values():
        for i, j in combinations(group, 2):
            both = {*given[i]} & {*given[j]}
            if both and not any(map(any, both)):
                raise Refusal(f"sequences {i} and {j} share the zero vector alone, whose scores are 0: move the tokens")
            if both:
                yield i, j


def _averaged(arrays: list[np.ndarray], given: list[tuple[Point, ...]]) -> list[HardHead]:
    """The head whose scores are 0, run on the first pair that it tells apart."""
    zero = (Fraction(0),) * arrays[0].shape[1]
    for i, j in pairwise(different(given)):
        if mean(given[i]) != mean(given[j]) and {*given[i]} & {*given[j]}:
            return [_run((i, j), zero, arrays, given)]
    return []


def _proof(first: tuple[Point, ...], second: tuple[Point, ...]) -> Hulls | None:
    """A proof from the tokens shared in one ratio, for each ratio there is; or from the two ends of a line."""
    a, b = Counter(first), Counter(second)
    both, every = [x for x in a if x in b], list({*a, *b})
    ratios = Counter(Fraction(a[x], b[x]) for x in both)
    choices = [[x for x in both if Fraction(a[x], b[x]) == ratio] for ratio, _ in ratios.most_common()]
    choices.append([x for x in (min(every), max(every)) if x in a and x in b])
    for shared in filter(None, choices):
        mixtures = {x: mixture(x, shared) for x in every if x not in shared}
        inside = {x: weights for x, weights in mixtures.items() if weights is not None}
        proof = Hulls(first, second, tuple(shared), inside)
        if proof.holds():
            return proof
    return None


def _run(pair: tuple[int, int], direction: Point, arrays: list[np.ndarray], given: list[tuple[Point, ...]]) -> HardHead:
    """The head as a network: W_K = direction, W_Q makes 1 of the shared token, and the value is the token itself."""
    i, j = pair
    shared = [x for x in given[i] if x in given[j]]
    token = next((x for x in shared if any(x)), shared[0])
    x = np.array([float(c) for c in token])
    size = float(x @ x)
    query = (x / size if size else x)[None, None]
    identity = np.eye(len(x))[None]
    maps = (query, np.array([[[float(g) for g in direction]]]), identity, identity)
    head = Attention(*(Dense(torch.from_numpy(m).double()) for m in maps), weights="hardmax")
    outputs = [head(torch.from_numpy(arrays[k]))[given[k].index(token)] for k in pair]
    difference = float((outputs[0] - outputs[1]).abs().max())
    exact = max(abs(float(p - q)) for p, q in zip(*(hard_mean(direction, given[k]) for k in pair), strict=True))
    return HardHead(pair, tuple(map(float, direction)), tuple(map(float, token)), exact, difference)


def _vector(x: Iterable[Any]) -> str:
    shown = [number(float(c), 6) for c in x]
    return shown[0] if len(shown) == 1 else f"({', '.join(shown)})"
