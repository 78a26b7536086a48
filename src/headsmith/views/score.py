"""A picture of learnt scores: beside the exact ones, with the samples that they draw, and R^2 over steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headsmith.views.style import PALETTE, figure

__all__ = ["score_networks"]


def score_networks(measured: Mapping[str, Any]) -> Figure:
    """One row for the line, one for the plane."""
    fig, axes = figure(2, 3, width=4.0, height=3.2)
    for (name, case), row in zip(measured["cases"].items(), axes, strict=True):
        flat = len(case["field"]["x"][0]) == 1
        (_curves if flat else _arrows)(row[0], case["field"])
        (_histograms if flat else _scatter)(row[1], case)
        _learning(row[2], case)
        row[0].set_title(f"{name}: score", fontsize=10)
        row[1].set_title(f"{name}: samples", fontsize=10)
        row[2].set_title(f"{name}: training in the forward pass", fontsize=10)
    return fig


def _curves(ax: Axes, field: Mapping[str, Any]) -> None:
    x = np.asarray(field["x"])[:, 0]
    for k, (t, learnt, exact) in enumerate(zip(field["times"], field["learnt"], field["exact"], strict=True)):
        ax.plot(x, np.asarray(exact)[:, 0], color=PALETTE[k], alpha=0.4, linewidth=3)
        ax.plot(x, np.asarray(learnt)[:, 0], "--", color=PALETTE[k], linewidth=1.3, label=f"t = {t:g}")
    ax.plot([], [], color="#888888", linewidth=3, alpha=0.5, label="exact")
    ax.set_xlabel("x")
    ax.legend()


def _arrows(ax: Axes, field: Mapping[str, Any]) -> None:
    x, learnt, exact = (np.asarray(values) for values in (field["x"], field["learnt"][0], field["exact"][0]))
    side = round(len(x) ** 0.5)
    grid = x.reshape(side, side, 2)
    ax.contour(grid[..., 0], grid[..., 1], np.reshape(field["density"], (side, side)), colors="#AAAAAA", linewidths=0.8)
    for values, colour, label in ((exact, PALETTE[0], "exact"), (learnt, PALETTE[1], "learnt")):
        ax.quiver(*x.T, *values.T, color=colour, alpha=0.7, angles="xy", scale=60, width=0.005, label=label)
    ax.set_aspect("equal")
    ax.legend(loc="upper right")


def _histograms(ax: Axes, case: Mapping[str, Any]) -> None:
    bins = np.linspace(-3.5, 3.5, 36).tolist()
    mixture, learnt, gaussian = (
        np.asarray(case["samples"][who])[:, 0] for who in ("mixture", "network", "one Gaussian")
    )
    ax.hist(mixture, bins, density=True, color="#CCCCCC", label="mixture")
    for values, colour, label in ((learnt, PALETTE[1], "learnt score"), (gaussian, PALETTE[2], "one Gaussian")):
        ax.hist(values, bins, density=True, histtype="step", color=colour, label=label, linewidth=1.4)
    ax.set_xlabel("x")
    ax.legend()


def _scatter(ax: Axes, case: Mapping[str, Any]) -> None:
    for who, colour, label in (("mixture", "#AAAAAA", "mixture"), ("network", PALETTE[1], "learnt score")):
        ax.plot(*np.asarray(case["samples"][who]).T, ".", color=colour, markersize=2.5, label=label)
    ax.set_aspect("equal")
    ax.legend(loc="upper left", markerscale=3)


def _learning(ax: Axes, case: Mapping[str, Any]) -> None:
    drawn = [(k, v) for k, v in zip(case["steps"], case["R^2 over steps"], strict=True) if k > 0]
    ax.plot(*zip(*drawn, strict=True), "o-", color=PALETTE[1], label="network")
    for who, colour in (("linear least squares", PALETTE[3]), ("one Gaussian", PALETTE[2])):
        ax.axhline(case["R^2"][who], color=colour, linestyle="--", linewidth=1.2, label=who)
    ax.set_xscale("log")
    ax.set_ylim(max(0.0, min(v for _, v in drawn) - 0.05), 1.01)
    ax.set_xlabel("steps")
    ax.set_ylabel("test R²")
    ax.legend(loc="lower right")
