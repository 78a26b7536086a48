"""A picture of training: the losses of two runs of the same steps, and how far they are apart."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from headsmith.views.style import PALETTE, figure

__all__ = ["training_curves"]


def training_curves(measured: Mapping[str, Any]) -> Figure:
    """Losses over steps, the forward pass and autograd; below, their differences and the certified perturbation."""
    fig, (above, below) = figure(2, 1, width=7.2, height=2.9)
    forward, autograd = (np.asarray(measured["losses"][who]) for who in ("forward pass", "autograd"))
    steps = np.arange(len(forward))
    above.plot(steps, forward, color=PALETTE[0], label="forward pass of the transformer", linewidth=3.2, alpha=0.55)
    above.plot(steps, autograd, color=PALETTE[1], label="torch autograd", linestyle="--", linewidth=1.4)
    lines = [
        (steps[1:], measured["perturbations"], "certified: error of a step, over the rate", PALETTE[6], "-"),
        (steps, measured["weight gaps"], "largest difference of a weight", PALETTE[3], "-"),
        (steps, np.abs(forward - autograd), "difference of the losses", PALETTE[2], "."),
    ]
    for x, values, label, colour, mark in lines:
        kept = np.asarray(values, dtype=float)
        shown = np.where(kept > 0, kept, np.nan)
        below.plot(x, shown, mark, color=colour, label=label, linewidth=1.2, markersize=3)
    above.set_title(fill(measured["title"], 90), fontsize=9)
    above.set_ylabel("loss")
    below.set_ylabel("apart (0 is left out)")
    below.set_xlabel("step")
    for ax, logarithmic in ((above, forward.min() > 0), (below, True)):
        ax.margins(y=0.15)
        if logarithmic:
            ax.set_yscale("log")
    above.legend(loc="upper right")
    fig.legend(*below.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig
