"""Pictures of functions of several variables: tokens against eps, and one head over its square.

Every function draws from plain lists and numbers, as a record holds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from headsmith.views.style import PALETTE, figure, loglog

__all__ = ["head", "sizes"]


def sizes(measured: Mapping[str, Any]) -> Figure:
    """Tokens against certified eps, one line a function: ours solid, the notes' unoptimised grid dotted."""
    fig, ax = figure(1, 1, width=8.6, height=4.4)
    for color, (name, points) in zip(PALETTE, _by_formula(measured).items(), strict=False):
        loglog(ax, [p["eps"] for p in points], [p["tokens"] for p in points], name, color=color)
        known = [p for p in points if p["prototype"]]
        loglog(
            ax,
            [p["eps"] for p in known],
            [p["prototype"] for p in known],
            color=color,
            linestyle=":",
            marker="",
        )
    ax.plot([], [], color="#888888", linestyle=":", label="evenly spaced keys, sampled error")
    ax.invert_xaxis()
    ax.set_xlabel("certified eps on the unit square or cube")
    ax.set_ylabel("tokens of one head")
    ax.set_title("One head, keys optimised for all slices of each axis")
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def head(measured: Mapping[str, Any]) -> Figure:
    """One head over its square: the function, the error in its proved band, and where each token attends most."""
    shown = measured["picture"]
    fig, axes = figure(1, 3, width=4.3, height=3.7)
    (lo, hi), bound = shown["interval"], shown["bound"]
    extent = (lo, hi, lo, hi)
    values, error = np.array(shown["values"]), np.array(shown["error"])
    first = axes[0].imshow(values.T, origin="lower", extent=extent, cmap="viridis")
    axes[0].set_title(shown["formula"])
    fig.colorbar(first, ax=axes[0], shrink=0.8)
    second = axes[1].imshow(error.T, origin="lower", extent=extent, cmap="RdBu_r", vmin=-bound, vmax=bound)
    axes[1].set_title("error")
    bar = fig.colorbar(second, ax=axes[1], shrink=0.8, ticks=[-bound, 0, bound])
    bar.ax.set_yticklabels([f"-{bound:.1e}", "0", f"{bound:.1e}\nproved"])
    weights = np.array(shown["weights"])
    third = axes[2].imshow(weights.T, origin="lower", cmap="magma")
    x, y = shown["at"]
    axes[2].set_title(f"attention at x = {x:g}, y = {y:g}")
    axes[2].set_xlabel("key of x")
    axes[2].set_ylabel("key of y")
    fig.colorbar(third, ax=axes[2], shrink=0.8)
    for ax in axes:
        ax.grid(False)
    for ax in axes[:2]:
        ax.set_xlabel("x")
        ax.set_ylabel("y")
    return fig


def _by_formula(measured: Mapping[str, Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for point in measured["points"]:
        if point["tokens"] is not None:
            found.setdefault(point["formula"], []).append(point)
    return found
