"""Curves of R^2 over the number of examples or of blocks, transformers and controls side by side."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
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
    examples = np.array(measured["examples"])
    fig, axes = _pair_of_rows(list(measured["scores"]), "examples in the prompt")
    for (case, key), ax in axes.items():
        ax.axvline(measured["length"], color="#BBBBBB", linewidth=0.8)
        flag, scores = measured["targets"][case]["flag"], measured["scores"][case]
        if flag:
            place = (0.5, 0.5) if not scores else (0.5, 0.03)
            words = f"not asked: {flag}" if not scores else f"flagged: {flag}"
            ax.text(*place, fill(words, 26), ha="center", va="bottom", transform=ax.transAxes, fontsize=8)
        for who in sorted(scores, key=lambda who: [*LINES, who].index(who)):
            color, style, marker = LINES.get(who, (PALETTE[7], "-", "x"))
            value, error = _numbers(scores[who][key]), _numbers(scores[who][f"{key}_error"])
            ax.plot(examples, value, style, marker=marker or None, color=color, label=who, linewidth=1.4)
            ax.fill_between(examples, value - 2 * error, value + 2 * error, color=color, alpha=0.15, linewidth=0)
    return _with_legend(fig, axes)


def depths(measured: Mapping[str, Any]) -> Figure:
    """A column for each number of examples; over the blocks of a transformer, controls are level lines."""
    [case] = measured["judged"]
    scores, blocks = measured["scores"][case], measured["depths"]
    names = [f"{case}, {k} examples" for k in measured["examples"]]
    fig, axes = _pair_of_rows(names, "blocks")
    for (name, key), ax in axes.items():
        at = names.index(name)
        ax.set_xticks(blocks)
        for who, (color, style, marker) in LINES.items():
            own = [scores[one] for one in scores if one.split(",")[0] == who]
            if who in scores:
                ax.axhline(_numbers(scores[who][key])[at], linestyle=style, color=color, label=who, linewidth=1.2)
            elif own:
                value, error = (np.array([_numbers(one[part])[at] for one in own]) for part in (key, f"{key}_error"))
                ax.errorbar(blocks, value, 2 * error, color=color, marker=marker, label=who, capsize=2, linewidth=1.4)
    return _with_legend(fig, axes)


def _pair_of_rows(columns: Sequence[str], along: str) -> tuple[Figure, dict[tuple[str, str], Axes]]:
    """Axes by column and score: pooled above, within prompts below."""
    fig, axes = figure(2, len(columns), width=3.1, height=2.9)
    found = {}
    for row, key in zip(np.asarray(axes).reshape(2, -1), ("pooled", "within"), strict=True):
        row[0].set_ylabel("R², pooled" if key == "pooled" else "R², within prompts")
        for ax, name in zip(row, columns, strict=True):
            ax.set_ylim(LOWEST, 1.02)
            ax.set_title(name, fontsize=9)
            ax.set_xlabel(along)
            found[name, key] = ax
    return fig, found


def _numbers(values: Sequence[float | None]) -> Any:
    return np.array([np.nan if v is None else v for v in values])


def _with_legend(fig: Figure, axes: Mapping[Any, Axes]) -> Figure:
    handles, labels = next(iter(axes.values())).get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)), frameon=False)
    return fig
