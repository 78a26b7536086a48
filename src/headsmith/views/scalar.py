"""A network of one variable in one picture: what it computes, how wrong it is, and which keys it reads.

The error is drawn against the proved bound, so that the eye can check the promise; below it each head has a
panel of its own, where a vertical cut shows how its attention is shared among the keys at that input.
"""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headsmith.records.shown import upper
from headsmith.views.measurement import Curves, HeadCurves
from headsmith.views.style import PALETTE, STYLE

MANY = 48  # keys above which a head is drawn as a heat map, of this many rows
ACROSS = 3  # heads in one row of panels
ROOM = 0.15  # share of the attention below which a name does not fit


def picture(curves: Curves) -> Figure:
    """Target and network, the error in its band, and the attention of every head.

    >>> save(picture(curves(net)), "sin3x.png")      # doctest: +SKIP
    """
    heads = len(curves.heads)
    across = 2 if heads == 4 else min(ACROSS, heads)
    down = -(-heads // across)
    with matplotlib.rc_context(STYLE):
        fig = Figure(figsize=(max(7.6, 4.0 * across), 4.6 + 2.1 * down))
        FigureCanvasAgg(fig)
        grid = fig.add_gridspec(2 + down, across, height_ratios=[1.35, 0.9, *([1.0] * down)])
        _values(fig.add_subplot(grid[0, :]), curves)
        _error(fig.add_subplot(grid[1, :]), curves)
        for i, head in enumerate(curves.heads):
            axes = fig.add_subplot(grid[2 + i // across, i % across])
            _attention(axes, curves.x, head)
            if i % across == 0:
                axes.set_ylabel("key" if len(head.keys) > MANY else "attention")
            if i + across >= heads:
                axes.set_xlabel("input")
        return fig


def _values(axes: Axes, curves: Curves) -> None:
    heads = len(curves.heads)
    axes.set_title(
        f"{curves.formula}   in {curves.dtype}: {curves.keys} keys, {heads} head{'s' * (heads > 1)}, "
        f"error at most {upper(curves.bound)}"
    )
    axes.plot(curves.x, curves.target, color="#BBBBBB", linewidth=5, solid_capstyle="round", label="formula")
    axes.plot(curves.x, curves.target + curves.error, color=PALETTE[0], label="network")
    axes.legend(loc="best")
    axes.set_ylabel("value")
    _span(axes, curves)


def _error(axes: Axes, curves: Curves) -> None:
    bound = curves.bound
    axes.axhspan(-bound, bound, color=PALETTE[2], alpha=0.12, linewidth=0)
    for edge in (-bound, bound):
        axes.axhline(edge, color=PALETTE[2], linewidth=1.2)
    axes.plot(curves.x, curves.error, color=PALETTE[1], linewidth=1.2)
    axes.set_ylim(-1.5 * bound, 1.5 * bound)
    axes.set_ylabel("error")
    axes.ticklabel_format(axis="y", style="sci", scilimits=(0, 0), useMathText=True)
    axes.text(
        0.995,
        0.97,
        "certified bound",
        transform=axes.transAxes,
        ha="right",
        va="top",
        color=PALETTE[2],
        fontsize=9,
    )
    _span(axes, curves)


def _attention(axes: Axes, x: np.ndarray, head: HeadCurves) -> None:
    """Stacked shares where keys can be told apart, a heat map (key against input) where they are many."""
    n = len(head.keys)
    axes.set_title(f"{head.name}: {head.input} → {head.output}, {n} key{'s' * (n != 1)}", fontsize=10)
    axes.grid(False)
    axes.set_xlim(x[0], x[-1])
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    if n > MANY:
        rows = [rows.max(1) for rows in np.array_split(head.weights, MANY, axis=1)]
        even = [np.interp(np.linspace(x[0], x[-1], 4 * MANY), x, row) for row in rows]
        axes.imshow(even, aspect="auto", origin="lower", cmap="Blues", extent=(x[0], x[-1], -0.5, n - 0.5))
        return
    axes.stackplot(x, head.weights.T, colors=_colours(n), edgecolor="white", linewidth=0.4)
    axes.set_ylim(0, 1)
    if n <= 2:
        _name_keys(axes, x, head)


def _name_keys(axes: Axes, x: np.ndarray, head: HeadCurves) -> None:
    """The names of one or two keys, written where each holds the most, if there is room for it."""
    inner = np.flatnonzero(np.abs(x - (x[0] + x[-1]) / 2) <= 0.44 * (x[-1] - x[0]))  # away from the edges
    for j, name in enumerate(head.keys):
        share = head.weights[inner, j]
        if share.max() < ROOM:
            continue
        most = inner[share >= 0.98 * share.max()]
        at = int(most[len(most) // 2])
        height = head.weights[at, :j].sum() + head.weights[at, j] / 2
        axes.text(x[at], height, name, ha="center", va="center", color="white", fontsize=9)


def _colours(n: int) -> Any:
    if n <= 2:
        return [PALETTE[0], PALETTE[1]][:n]
    return matplotlib.colormaps["viridis"](np.linspace(0.05, 0.95, n))


def _span(axes: Axes, curves: Curves) -> None:
    axes.set_xlim(*curves.domain)
