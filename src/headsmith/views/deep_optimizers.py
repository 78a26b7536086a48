"""Curves of R^2 over the number of examples in the prompt, transformers and controls side by side."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from headsmith.views.style import PALETTE, figure

LINES = {
    "ReLU attention": (PALETTE[0], "-", "o"),
    "softmax attention": (PALETTE[1], "-", "s"),
    "ridge": (PALETTE[2], "-", "^"),
    "context mean": (PALETTE[6], ":", ""),
    "trained, validated": (PALETTE[3], "--", "v"),
    "trained, last epoch": (PALETTE[4], "--", ""),
    "trained, oracle": (PALETTE[5], "-.", ""),
}
LOWEST = -0.25
"""Scores below are not drawn: guesses worse than the mean by more than a quarter."""


def curves(measured: Mapping[str, Any]) -> Figure:
    """A column for each case; pooled R^2 above, within-prompt R^2 below; bands of two standard errors."""
    names = list(measured["scores"])
    fig, axes = figure(2, len(names), width=3.4, height=3.2)
    axes = np.asarray(axes).reshape(2, -1)
    for column, name in enumerate(names):
        for row, key in enumerate(("pooled", "within")):
            ax = axes[row, column]
            _panel(ax, measured, name, key)
            ax.set_title(f"{name}: {'pooled' if key == 'pooled' else 'within prompts'}", fontsize=9)
            ax.set_xlabel("examples in the prompt")
    axes[0, 0].set_ylabel("R²")
    axes[1, 0].set_ylabel("R²")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=min(7, len(labels)), frameon=False)
    return fig


def _panel(ax: Any, measured: Mapping[str, Any], name: str, key: str) -> None:
    examples = np.array(measured["examples"])
    ax.axvline(measured["length"], color="#BBBBBB", linewidth=0.8)
    ax.set_ylim(LOWEST, 1.02)
    if measured["flat"][name] > 0.5:
        ax.text(0.5, 0.5, "the targets are constant:\nno score", ha="center", va="center", transform=ax.transAxes)
    scores = measured["scores"][name]
    for who in sorted(scores, key=lambda who: [*LINES, who].index(who)):
        found = scores[who]
        color, style, marker = LINES.get(who, (PALETTE[7], "-", "x"))
        value = np.array([np.nan if v is None else v for v in found[key]])
        error = np.array([np.nan if v is None else v for v in found[f"{key}_error"]])
        ax.plot(examples, value, style, marker=marker or None, color=color, label=who, linewidth=1.4)
        ax.fill_between(examples, value - 2 * error, value + 2 * error, color=color, alpha=0.15, linewidth=0)
