"""The picture of one run of a tape: a bar for each pass, as high as what the pass can be off by."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from headsmith.views.one_machine import KINDS
from headsmith.views.style import figure

__all__ = ["tape_run"]

NAMED = 48  # passes up to which each is called by its name
LEAST = 1e-18
"""What is drawn of a pass that is exact."""


def tape_run(title: str, names: Sequence[str], kinds: Sequence[str], bounds: Sequence[float]) -> Figure:
    """`bounds` of the passes on a logarithmic axis, coloured by what they do; the first passes have their names."""
    fig, axes = figure(width=min(12.0, 3.0 + 0.22 * len(names)), height=4.4)
    heights = [max(bound, LEAST) for bound in bounds]
    axes.bar(range(len(names)), heights, 0.82, color=[KINDS[kind] for kind in kinds])
    axes.set_yscale("log")
    axes.set_ylim(min(heights) / 10, max(heights) * 3)
    axes.set_xlim(-0.7, len(names) - 0.3)
    if len(names) <= NAMED:
        axes.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    else:
        axes.set_xlabel("pass")
    axes.set_ylabel("error of the pass at most")
    axes.set_title(title, loc="left", fontsize=10)
    axes.grid(False, axis="x")
    used = {kind: Patch(color=colour, label=kind) for kind, colour in KINDS.items() if kind in kinds}
    place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "handlelength": 1.0, "frameon": False}
    axes.legend(handles=list(used.values()), **place)
    return fig
