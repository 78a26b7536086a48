"""Sequences of many lengths: read from what users have, kept flat, and given back in the shape they came in.

A sequence of token ids is a list or array (n,) of whole numbers, one of vectors an array (n, d). Several of them are a
list, or one array with an axis more if all have one length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headsmith.refusal import Refusal

MOST = 2**53  # of whole numbers


@dataclass(frozen=True, eq=False)
class Ragged:
    """Tokens one after another, (positions,) or (positions, d), and the length of each sequence.

    `form` says how to give an answer back: "one" sequence, a "tensor" of them or a "list"; `lists` whether the
    innermost were lists of Python.
    """

    flat: Tensor
    lengths: np.ndarray
    form: str
    lists: bool

    def like(self, answers: Tensor) -> Any:
        """Answers (positions, ...) in the shape of the input.

        >>> given = read_ragged([[3, 1], [4, 1, 5]], "sequences")
        >>> given.like(10 * given.flat)
        [[30, 10], [40, 10, 50]]
        """
        if self.form == "one":
            return answers.tolist() if self.lists else answers
        if self.form == "tensor":
            return answers.reshape(len(self.lengths), -1, *answers.shape[1:])
        parts = answers.split(self.lengths.tolist())
        return [part.tolist() for part in parts] if self.lists else list(parts)


def read_ragged(given: Any, name: str, axes: int | None = None) -> Ragged:
    """`axes` of one sequence: 1 for ids, 2 for vectors, None if several sequences are given and it can be seen."""
    deep = _depth(given, name)
    axes = deep - 1 if axes is None else axes
    if deep not in (axes, axes + 1) or axes not in (1, 2):
        raise Refusal(
            f"{name} are lists of whole numbers, one list for each sequence, or of arrays (tokens, features); one "
            "array with an axis more may hold sequences of one length"
        )
    lists = not _is_array(given) and not (len(given) and _is_array(given[0]))
    if deep == axes:
        one = _tensor(given, name)
        return Ragged(one, np.array([len(one)]), "one", lists)
    parts = [_tensor(part, f"{name}[{i}]") for i, part in enumerate(given)]
    for i, part in enumerate(parts):
        if part.dim() != axes or part.shape[1:] != parts[0].shape[1:]:
            raise Refusal(f"{name}[{i}] has shape {tuple(part.shape)}, the first has {tuple(parts[0].shape)}")
        if not part.numel():
            raise Refusal(f"{name}[{i}] is empty: leave it out")
    return Ragged(torch.cat(parts), np.array([*map(len, parts)]), "tensor" if _is_array(given) else "list", lists)


def _is_array(given: Any) -> bool:
    return isinstance(given, Tensor | np.ndarray)


def _depth(given: Any, name: str) -> int:
    """Axes, by first entries; what is empty, or words, is called so."""
    first, deep = given, 0
    while (isinstance(first, Sequence) and not isinstance(first, str)) or (_is_array(first) and first.ndim):
        if not len(first):
            remedy = "leave it out" if deep else "give one sequence or more"
            raise Refusal(f"there is nothing in {name}{'[0]' * deep}: {remedy}")
        first, deep = first[0], deep + 1
    if isinstance(first, str):
        raise Refusal(_unread(name, "U"))
    return deep


def _tensor(given: Any, name: str) -> Tensor:
    """An array of real numbers, with the dtype it has; whole numbers stay whole."""
    if isinstance(given, Tensor):
        if given.dtype == torch.bool or given.is_complex():
            raise Refusal(_unread(name, "b" if given.dtype == torch.bool else "c"))
        return given.detach()
    try:
        array = np.array(given)  # a copy: arrays may be read-only
    except ValueError:  # rows of several lengths
        array = np.array(None)
    if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
        raise Refusal(_unread(name, array.dtype.kind))
    return torch.from_numpy(array)


def _unread(name: str, kind: str) -> str:
    """What an array of this kind is refused with."""
    if kind in "US":
        return f"there are words in {name}: number them from 0, as `headsmith compile FILE --as conll` does for a file"
    if kind == "b":
        return f"there is True or False in {name}: give whole numbers, such as 1 and 0"
    return f"{name} must be numbers of 64 bits, a list or an array of them in which all rows have one length"


def whole(flat: Any, name: str, least: float = -np.inf) -> np.ndarray:
    """Whole numbers from `least`, as int64."""
    array = flat.cpu().numpy() if isinstance(flat, Tensor) else np.asarray(flat)
    if not (np.isfinite(array).all() and (array == np.floor(array)).all() and (array >= least).all()):
        raise Refusal(f"{name} must be whole numbers" + (f" from {least:g}" if np.isfinite(least) else ""))
    if not ((array >= -MOST) & (array <= MOST)).all():  # int64 has no room for them, float64 none for those between
        raise Refusal(f"{name} must be whole numbers up to {MOST:,}")
    found: np.ndarray = array.astype(np.int64)
    return found
