"""Wrong tags over epochs of training, one curve for each transformer, with what cannot be had as level lines."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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
LINES = ("nothing", "word", "word, position", "multiset, word", "multiset, word, position")
"""The ceilings that are drawn."""


def curves(measured: Mapping[str, Any]) -> Figure:
    """Shares of wrong tags, means over the seeds with a band of two standard errors; levels are named at the right."""
    fig, axes = figure(1, 2, width=5.6, height=4.6)
    names = sorted(measured["curves"], key=lambda name: ([*COLOURS].index(name.split(", ")[0]), _depth(name)))
    for ax, part in zip(axes, TITLES, strict=True):
        count = measured["words" if part == "all" else "context"]
        least = 0.5 / max(1, count)  # where no tag is wrong
        for name in names:
            _line(ax, name, measured, np.array(measured["curves"][name][part]), least)
        ax.set(yscale="log", ylim=(0.8 * least, 1.0), xlabel="epochs")
        ax.set_title(f"{TITLES[part]} ({count:,})".replace(",", " "))
        _levels(ax, _lines(measured, part, least), least)
        ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
    axes[0].set_ylabel("wrong tags")
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return fig


def _depth(name: str) -> int:
    """The layers of a transformer that is called "kind, n layers"."""
    return int(name.split(", ")[1].split()[0])


def _line(ax: Axes, name: str, measured: Mapping[str, Any], right: Any, least: float) -> None:
    """The curve of one transformer; right (seeds, notes)."""
    kind, style = name.split(", ")[0], STYLES[measured["depths"].index(_depth(name)) % len(STYLES)]
    wrong = 1 - right
    middle = wrong.mean(0)
    spread = 2 * wrong.std(0, ddof=1) / np.sqrt(len(wrong)) if len(wrong) > 1 else 0 * middle
    ax.plot(measured["at"], middle.clip(least), color=COLOURS[kind], linestyle=style, label=name, linewidth=1.5)
    low, high = (middle - spread).clip(least), (middle + spread).clip(least)
    ax.fill_between(measured["at"], low, high, color=COLOURS[kind], alpha=0.15, linewidth=0)


def _lines(measured: Mapping[str, Any], part: str, least: float) -> dict[float, str]:
    """Level -> what it is; ceilings of one height together, and none where no tag need be wrong."""
    heights: dict[float, list[str]] = {}
    for name in LINES:
        heights.setdefault(round(1 - measured["ceilings"][part][name], 6), []).append(name)
    lines = {level: "sees " + " or ".join(names) for level, names in heights.items() if level > least}
    if part == "all" and measured.get("printed"):
        share, epochs = measured["printed"]
        lines[1 - share] = f"printed ({epochs} epochs)"
    return lines


def _levels(ax: Axes, lines: Mapping[float, str], least: float) -> None:
    """Level lines, named at their right end; a name that would lie on another goes below it."""
    apart, above = least**0.05, 1.0  # a line of text takes a twentieth of the height
    for level, text in sorted(lines.items(), reverse=True):
        ax.axhline(level, color="#777777", linewidth=0.9, linestyle=(0, (1, 1)))
        above = min(level, above * apart)
        ax.text(1.01, above, text, transform=ax.get_yaxis_transform(), va="center", fontsize=8, color="#444444")
