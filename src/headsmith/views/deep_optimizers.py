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
    """A column for each case; pooled R^2 above, within-prompt R^2 below; bars of two standard errors."""
    examples, cases = measured["examples"], measured["cases"]
    fig, axes = _pair_of_rows(cases, "examples in the prompt")
    for key in ("pooled", "within"):
        floor = _floor(measured, key)
        for case in cases:
            ax, scores = axes[case, key], measured["scores"][case]
            ax.set_ylim(floor, 1.02)
            ax.axvline(measured["length"], color="#BBBBBB", linewidth=0.8)
            for who in sorted(scores, key=lambda who: [*LINES, who].index(who)):
                _line(ax, who, examples, _numbers(scores[who][key]), _numbers(scores[who][f"{key}_error"]))
            low = [who for who in scores if np.mean(_numbers(scores[who][key]) >= floor) < 0.5]
            flag = measured["targets"][case]["flag"] if key == "pooled" else ""
            _note(ax, flag, f"mostly below: {', '.join(low)}" if low else "" if scores else "not asked")
    return _with_legend(fig, axes)


def depths(measured: Mapping[str, Any]) -> Figure:
    """A column for each number of examples; over the blocks of a transformer, controls are level lines."""
    [case], blocks = measured["judged"], measured["depths"]
    names = [f"{case}, {k} examples" for k in measured["examples"]]
    fig, axes = _pair_of_rows(names, "blocks")
    for key in ("pooled", "within"):
        value, error = (
            {who: _numbers(found[part]) for who, found in measured["scores"][case].items()}
            for part in (key, f"{key}_error")
        )
        for at, name in enumerate(names):
            ax = axes[name, key]
            ax.set_ylim(_floor(measured, key), 1.02)
            ax.set_xticks(blocks)
            for who in LINES:
                if who in value:
                    _line(ax, who, blocks, np.full(len(blocks), value[who][at]), None)
                    continue
                own = [next((one for one in value if one.startswith(f"{who}, {b} block")), "") for b in blocks]
                if all(own):
                    _line(ax, who, blocks, *(np.array([part[one][at] for one in own]) for part in (value, error)))
    return _with_legend(fig, axes)


def _line(ax: Axes, who: str, x: Sequence[int], value: Any, error: Any) -> None:
    """One learner; controls that are level have no markers and no bars."""
    color, style, marker = LINES.get(who, (PALETTE[7], "-", "x"))
    marker = "" if error is None else marker
    bars = None if error is None else 2 * error
    ax.errorbar(
        x,
        value,
        bars,
        color=color,
        linestyle=style,
        marker=marker,
        markersize=4,
        linewidth=1.3,
        elinewidth=0.8,
        label=who,
    )


def _floor(measured: Mapping[str, Any], key: str) -> float:
    """Where the axis begins: below all scores that are not flagged, in steps of 0.1, and not below LOWEST."""
    sound = [case for case in measured["cases"] if not measured["targets"][case]["flag"]]
    values = [_numbers(one[key]) for case in sound for one in measured["scores"][case].values()]
    least = min((float(np.nanmin(v)) for v in values), default=LOWEST)
    return max(LOWEST, np.floor(10 * least - 0.2) / 10)


def _note(ax: Axes, *notes: str) -> None:
    """Words under the title, where they hide no curve."""
    if words := "; ".join(note for note in notes if note):
        ax.set_title(f"{ax.get_title()}\n{fill(f'({words})', 31)}", fontsize=8)


def _pair_of_rows(columns: Sequence[str], along: str) -> tuple[Figure, dict[tuple[str, str], Axes]]:
    """Axes by column and score: pooled above, within prompts below."""
    fig, axes = figure(2, len(columns), width=max(2.3, 7.0 / len(columns)), height=2.6)
    found = {}
    for row, key in zip(np.asarray(axes).reshape(2, -1), ("pooled", "within"), strict=True):
        row[0].set_ylabel("R², pooled" if key == "pooled" else "R², within prompts")
        for ax, name in zip(row, columns, strict=True):
            ax.set_title(name, fontsize=9)
            ax.set_xlabel(along, fontsize=9)
            found[name, key] = ax
    return fig, found


def _numbers(values: Sequence[float | None]) -> Any:
    return np.array([np.nan if v is None else v for v in values])


def _with_legend(fig: Figure, axes: Mapping[Any, Axes]) -> Figure:
    handles, labels = next(iter(axes.values())).get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)), frameon=False)
    return fig
