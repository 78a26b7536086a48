"""Pictures of the universality experiments: sweeps with reference lines, attention heat maps, and the bumps.

Every function draws from plain lists and numbers, as a record holds them, and returns a matplotlib figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from headsmith.views.style import PALETTE, figure, loglog

__all__ = ["bumps", "heatmaps", "sequence", "sweeps", "truncation"]

AXES = {"p": "tokens p", "width": "width of the range |b - a|", "heads": "heads H"}


def sweeps(measured: Mapping[str, Any]) -> Figure:
    """Figure 2: mean squared error over p, |b - a| and H."""
    fig, axes = figure(1, 3, width=4.6, height=4.0)
    for ax, name in zip(axes, ("p", "width", "heads"), strict=True):
        panel = measured["panels"][name]
        _trained(ax, panel)
        ax.plot(panel["sizes"], panel["printed"], "v-", color=PALETTE[4], label="constructed, sharp anchors")
        ax.plot(panel["sizes"], panel["repaired"], "^-", color=PALETTE[2], label="constructed, c = 5.43")
        ax.plot(panel["sizes"], panel["mean"], ":", color=PALETTE[6], label="predict the mean")
        ax.plot(panel["sizes"], panel["regression"], "--", color=PALETTE[3], label="linear regression")
        slopes = measured[f"slope {name}"], measured[f"constructed slope {name}"]
        ax.set_title(f"slope {slopes[0]:.2f} trained, {slopes[1]:.2f} constructed", fontsize=10)
        ax.set_xlabel(AXES[name])
    axes[0].set_ylabel("mean squared error, 32 channels")
    _shared_legend(fig, axes[0])
    return fig


def sequence(measured: Mapping[str, Any]) -> Figure:
    """Figure 4: mean squared error over p and H, with everything that needs no training."""
    fig, axes = figure(1, 2, width=5.2, height=4.2)
    for ax, name in zip(axes, ("p", "heads"), strict=True):
        panel = measured["panels"][name]
        _trained(ax, panel)
        for key, color, label in (
            ("mean", PALETTE[6], "mean of each position"), ("regression", PALETTE[3], "linear regression"),
        ):  # fmt: skip
            ax.axhline(panel[key], linestyle="--", color=color, label=label)
        ax.set_ylim(bottom=panel["regression"] / 3)
        below = f"far below: compiled, certified to 0.1 ({panel['coarse']:.0e}), to 1e-6 ({panel['compiled']:.0e})"
        ax.text(0.5, 0.03, below, transform=ax.transAxes, ha="center", fontsize=9, color=PALETTE[2])
        ax.set_title(f"slope {measured[f'slope {name}']:.2f} trained")
        ax.set_xlabel(AXES[name])
    axes[0].set_ylabel("mean squared error")
    _shared_legend(fig, axes[0])
    return fig


def heatmaps(measured: Mapping[str, Any]) -> Figure:
    """Figure 3: keys down, queries across; constructed above, trained below, one column for each range."""
    widths = measured["widths"]
    fig, axes = figure(2, len(widths), width=3.6, height=3.4)
    for column, width in enumerate(widths):
        for row, kind in enumerate(("constructed", "trained")):
            ax = axes[row, column]
            ax.imshow(
                np.array(measured[kind][column]["pattern"]).T,
                aspect="auto",
                cmap="viridis",
                vmin=0,
                vmax=1,
                origin="lower",
            )
            ax.grid(False)
            share = measured[kind][column]["ends"]
            ax.set_title(f"{kind}, |b - a| = {width:g}: {100 * share:.0f} % on the ends", fontsize=9)
            ax.set_xlabel("query token")
            ax.set_ylabel("key")
    return fig


def truncation(measured: Mapping[str, Any]) -> Figure:
    """Thm 3.9 with four heads on six tokens over z, and the sup error over H."""
    fig, (left, right) = figure(1, 2, width=5.6, height=4.2)
    colors = {"printed": PALETTE[1], "repaired sentinels": PALETTE[4], "telescoping": PALETTE[2]}
    left.plot(measured["z"], measured["exact"], color=PALETTE[6], linewidth=1, label="Range")
    for name, curve in measured["curves"].items():
        left.plot(measured["z"], curve, color=colors[name], label=name, linewidth=1.4)
    left.set_xlabel("z = w . x + t")
    left.set_title("four heads on six tokens")
    left.legend(loc="upper left")
    sizes, found = measured["sizes"]["heads"], measured["sweeps"]
    right.set_xscale("log")
    right.set_yscale("log")
    right.plot(sizes, measured["bounds"], ":", color=PALETTE[6], label="printed bound")
    for key, name in (("printed", "printed"), ("heads", "repaired sentinels"), ("telescoping", "telescoping")):
        right.plot(sizes, found[key], "o-", color=colors[name], label=name)
    right.set_xticks(sizes, [f"{size:g}" for size in sizes])
    right.minorticks_off()
    right.set_xlabel("heads H")
    right.set_ylabel("sup error")
    right.set_title("Thm 3.9: printed, repaired, ours")
    right.set_ylim(bottom=min(found["telescoping"]) / 50)  # room for the legend below all lines
    right.legend(loc="lower left")
    return fig


def bumps(measured: Mapping[str, Any]) -> Figure:
    """A cut through the sequence networks, and their sup errors against the number of cells or tokens."""
    fig, (left, right) = figure(1, 2, width=6.0, height=4.0)
    cut = measured["cut"]
    left.plot(cut["x"], cut["target"], color=PALETTE[6], label="f")
    colors = dict(zip(("printed", "core", "straddling", "grid head, certified"), PALETTE, strict=False))
    for name, color in list(colors.items())[:3]:
        left.plot(
            cut["x"], cut[name], color=color, label=name + (" / cells" if name == "printed" else ""), linewidth=1.2
        )
    left.set_title(f"first output along x1, {cut['cells']} cells")
    left.set_xlabel("x1")
    left.legend()
    for name, color in colors.items():
        points = measured["errors"][name]
        loglog(right, [p["cells"] for p in points], [p["error"] for p in points], name, color=color)
    right.set_title("sup error")
    right.set_xlabel("cells of the bumps, tokens of the grid head")
    right.legend()
    return fig


def _trained(ax: Any, panel: Mapping[str, Any]) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    mean, spread = np.array(panel["trained"]), np.array(panel["spread"])
    ax.fill_between(panel["sizes"], np.maximum(mean - spread, 0.2 * mean), mean + spread, color=PALETTE[0], alpha=0.2)
    ax.plot(panel["sizes"], mean, "o-", color=PALETTE[0], label="trained")
    ax.set_xticks(panel["sizes"], [f"{size:g}" for size in panel["sizes"]])
    ax.minorticks_off()


def _shared_legend(fig: Figure, ax: Any) -> None:
    handles, labels = ax.get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
