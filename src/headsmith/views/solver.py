"""A picture of the solver: several programs on their way to their solutions, all on the same weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from headsmith.views.style import PALETTE, figure

__all__ = ["convergence"]


def convergence(measured: Mapping[str, Any]) -> Figure:
    """Distance to the reference solution over loops, one line a program; the ring is what was certified at the end."""
    fig, axes = figure(width=7.6, height=4.6)
    axes.set_yscale("log")
    for row, colour in zip(measured["programs"], PALETTE, strict=False):
        path = [max(value, 1e-16) for value in row["path"]]
        axes.plot(range(len(path)), path, color=colour, label=row["name"], linewidth=1.4)
        axes.plot(row["loops"], row["bound"], "o", color=colour, fillstyle="none", markersize=7)
    axes.plot([], [], "o", color="#444444", fillstyle="none", markersize=7, label="certified at the end")
    axes.set_xlabel("loops of the frozen block")
    axes.set_ylabel("distance to the solution / largest coefficient")
    axes.set_title(f"One frozen machine ({measured['hash'][:12]}), six prompts: diabetes, 442 x 10", loc="left")
    axes.legend(loc="upper right", ncols=2)
    return fig
