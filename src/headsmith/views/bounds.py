"""A picture of bounds: of gradients made of sums of ReLUs over their knots, and of paths over steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headsmith.views.style import PALETTE, figure

__all__ = ["gradient_bounds"]

LINES = {
    "measured": (PALETTE[6], "-"),
    "a posteriori": (PALETTE[0], "-"),
    "norms of layers": (PALETTE[2], "-"),
    "printed form mended": (PALETTE[4], "-"),
    "as printed": (PALETTE[1], "--"),
}

HIGHEST = 1e8
"""What is above says nothing any more; lines leave the picture."""


def gradient_bounds(measured: Mapping[str, Any]) -> Figure:
    """One panel for each activation, three layers deep, and one for the path."""
    names = list(dict.fromkeys(c["activation"] for c in measured["cases"]))
    fig, axes = figure(1, len(names) + 1, width=4.2, height=3.6)
    for name, ax in zip(names, axes, strict=False):
        _gradients(ax, [c for c in measured["cases"] if c["activation"] == name and c["depth"] == 3])
        ax.set_title(f"{name}, N = 3: gradient off by", fontsize=10)
    _paths(axes[-1], measured)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return fig


def _gradients(ax: Axes, cases: list[Mapping[str, Any]]) -> None:
    knots = [c["knots"] for c in cases]
    for name, (colour, line) in LINES.items():
        values = np.asarray([c[name] for c in cases], dtype=float)
        kept = np.where(np.isfinite(values), values, np.nan)
        ax.plot(knots, kept, f"o{line}", color=colour, label=name, linewidth=1.4, markersize=4)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("knots of a sum")


def _paths(ax: Axes, measured: Mapping[str, Any]) -> None:
    path, steps = measured["path"], measured["steps"]
    told = {"eps seen": (PALETTE[5], "seen"), "eps certified": (PALETTE[0], "certified")}
    ax.plot(steps, path["gaps"], "o-", color=PALETTE[6], label="measured", linewidth=1.4, markersize=4)
    for label, (colour, who) in told.items():
        ax.plot(steps, path["told"][who], "o-", color=colour, label=label, linewidth=1.4, markersize=4)
    ax.plot(steps, path["told"]["printed"], "o--", color=PALETTE[1], label="as printed", linewidth=1.4, markersize=4)
    ax.axhline(path["moved"], color="#888888", linestyle=":", label="moved in all")
    ax.set_yscale("log")
    ax.set_ylim(top=HIGHEST)
    ax.set_xlabel("steps of gradient descent")
    ax.set_title("tanh, N = 3, 65 knots: paths apart", fontsize=10)
    ax.legend(fontsize=8)
