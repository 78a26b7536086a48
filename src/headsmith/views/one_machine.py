"""The picture of one machine: tapes as rows of coloured cells, one frozen block, errors beside what is promised.

A cell is a pass; what a loop repeats is framed. Everything is drawn from plain lists and numbers, as a record holds
them, into a matplotlib figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Patch, Rectangle

from headsmith.views.style import PALETTE, figure

__all__ = ["one_machine"]

KINDS = {"rows": "#B9C0CA", "activation": PALETTE[4], "attention": PALETTE[0], "norm": PALETTE[2]}
"""Colours of what a pass does; rows are linear maps."""
WIDE, HIGH = 0.82, 0.56
"""Of a cell, where the next one begins 1 further to the right."""
GREY = "#777777"
LEAST = 2e-17
"""What is drawn of an error of 0."""
TITLE: dict[str, Any] = {"fontsize": 10.5, "style": "italic", "color": "#555555"}
Rows = Sequence[Mapping[str, Any]]


def one_machine(measured: Mapping[str, Any]) -> Figure:
    """Each program as its tape, and how far its result is off; one hash above them all."""
    rows: Rows = measured["programs"]
    fig, (tapes, errors) = figure(1, 2, width=6.0, height=0.33 * len(rows) + 1.7)
    tapes.get_gridspec().set_width_ratios([1.5, 1])
    for axes in (tapes, errors):
        axes.set_ylim(len(rows) - 0.3, -0.7)
        axes.tick_params(axis="y", length=0)
    _tapes(tapes, rows)
    _errors(errors, rows)
    fig.suptitle(
        f"{len(rows)} programs on one frozen block: {measured['numbers']} numbers, hash {measured['hash'][:12]}",
        x=0.008, ha="left", fontsize=13, weight="bold",
    )  # fmt: skip
    return fig


def _tapes(axes: Axes, rows: Rows) -> None:
    """A row of cells for each program, its passes counted behind them."""
    column = max(len(row["kinds"]) for row in rows) + 8
    for y, row in enumerate(rows):
        for x, kind in enumerate(row["kinds"]):
            axes.add_patch(Rectangle((x, y - HIGH / 2), WIDE, HIGH, color=KINDS[kind], linewidth=0))
        first, count, times = row["loop"]
        end = len(row["kinds"])
        if times:
            frame = (first - 0.22, y - HIGH / 2 - 0.11)
            axes.add_patch(
                FancyBboxPatch(
                    frame, count + 0.26, HIGH + 0.22, boxstyle="round,pad=0,rounding_size=0.12", fill=False,
                    edgecolor="#444444", linewidth=0.9,
                )
            )  # fmt: skip
        passes = f"{times} times: {row['passes']} passes" if times else ""
        axes.text(end + 0.35, y, passes, va="center", fontsize=8.5, color="#555555")
        axes.text(column, y, f"{row['prompt']:,}".replace(",", " "), ha="right", va="center", fontsize=8.5)
    axes.set_xlim(-0.4, column)
    axes.set_yticks(range(len(rows)), [row["name"] for row in rows])
    axes.set_xticks([])
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.grid(False)
    axes.set_title("a program is a list of prompts, each cell a pass", loc="left", **TITLE)
    axes.set_title("numbers in the prompts", loc="right", **TITLE)
    handles = [Patch(color=colour, label=kind) for kind, colour in KINDS.items()]
    axes.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(-0.01, -0.01), ncols=4, handlelength=1.0, frameon=False
    )


def _errors(axes: Axes, rows: Rows) -> None:
    """Measured errors, what is certified of a pass, what is proved of a whole run."""
    axes.set_xscale("log")
    for y, row in enumerate(rows):
        error = max(row["error"], LEAST)
        axes.plot([error, row["bound"]], [y, y], color="#DDDDDD", linewidth=1.2, zorder=1)
        axes.plot(row["bound"], y, "|", color=GREY, markersize=9, markeredgewidth=1.6)
        axes.plot(row["proved"], y, "o", color="white", markeredgecolor=PALETTE[2], markersize=9, markeredgewidth=1.6)
        axes.plot(error, y, ".", color=PALETTE[1], markersize=8)
    axes.set_yticks(range(len(rows)), [""] * len(rows))
    axes.spines["left"].set_visible(False)
    axes.set_title("its largest error", loc="left", **TITLE)
    marks: list[dict[str, Any]] = [
        {"label": "measured", "marker": ".", "color": PALETTE[1]},
        {"label": "proved end to end", "marker": "o", "color": "white", "markeredgecolor": PALETTE[2]},
        {"label": "certified a pass", "marker": "|", "color": GREY},
    ]
    handles = [Line2D([], [], linestyle="", markersize=8, markeredgewidth=1.6, **mark) for mark in marks]
    place: dict[str, Any] = {"loc": "upper right", "bbox_to_anchor": (1.02, -0.05), "ncols": 3}
    axes.legend(handles=handles, handletextpad=0.1, columnspacing=1.2, frameon=False, **place)
