"""Wrong tags over epochs of training, one curve for each transformer, with what cannot be had as level lines."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from headsmith.views.style import PALETTE, figure

COLOURS = {
    "rank-1 attention": PALETTE[0],
    "mean pooling": PALETTE[2],
    "no attention": PALETTE[6],
    "full-rank attention": PALETTE[1],
}
STYLES = ("-", "--", ":")
"""Of the depths, in their order."""
TITLES = {"all": "all words", "context": "words that need context"}
LINES = ("nothing", "word", "word, position", "multiset, word")
"""The ceilings that are drawn."""


def curves(measured: Mapping[str, Any]) -> Figure:
    """Shares of wrong tags, means over the seeds with a band of two standard errors; the last panel has the legend."""
    fig, axes = figure(1, 2, width=5.2, height=4.6)
    for ax, part in zip(axes, TITLES, strict=True):
        count = measured["words" if part == "all" else "context"]
        least = 0.5 / max(1, count)  # where no tag is wrong
        for name, found in measured["curves"].items():
            _line(ax, name, measured, np.array(found[part]), least)
        levels = {name: 1 - measured["ceilings"][part][name] for name in LINES}
        _levels(ax, {name: level for name, level in levels.items() if level > least}, max(measured["at"]))
        ax.set(yscale="log", xlabel="epochs", title=f"{TITLES[part]} ({count:,})".replace(",", " "))
        ax.set_ylim(0.8 * least, 1.0)
        ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=None))
    axes[0].set_ylabel("wrong tags")
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return fig


def _line(ax: Axes, name: str, measured: Mapping[str, Any], right: Any, least: float) -> None:
    """The curve of one transformer; right (seeds, notes)."""
    kind, _, depth = name.partition(", ")
    style = STYLES[measured["depths"].index(int(depth.split()[0])) % len(STYLES)]
    wrong = 1 - right
    middle = wrong.mean(0)
    spread = 2 * wrong.std(0, ddof=1) / np.sqrt(len(wrong)) if len(wrong) > 1 else 0 * middle
    ax.plot(measured["at"], middle.clip(least), color=COLOURS[kind], linestyle=style, label=name, linewidth=1.5)
    low, high = (middle - spread).clip(least), (middle + spread).clip(least)
    ax.fill_between(measured["at"], low, high, color=COLOURS[kind], alpha=0.15, linewidth=0)


def _levels(ax: Axes, levels: Mapping[str, float], right: float) -> None:
    """Level lines with their names, those of one height together."""
    heights: dict[float, list[str]] = {}
    for name, level in levels.items():
        heights.setdefault(round(level, 6), []).append(name)
    for level, names in heights.items():
        ax.axhline(level, color="#777777", linewidth=0.9, linestyle=(0, (1, 1)))
        ax.annotate(
            _seen(names),
            (right, level),
            xytext=(0, 2),
            textcoords="offset points",
            ha="right",
            fontsize=8,
            color="#444444",
        )


def _seen(names: Sequence[str]) -> str:
    return "; ".join(f"who sees {name}" for name in names)
