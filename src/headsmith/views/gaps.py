"""Gaps between neighbouring context ids along their order, beside what rounding may do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from headsmith.records.shown import lower, upper
from headsmith.views.style import PALETTE, figure

__all__ = ["sorted_gaps"]


def sorted_gaps(measured: Mapping[str, Any]) -> Figure:
    """Each point is the gap from one id to the next; lines are the smallest proved one and twice the rounding.

    >>> gaps = {"place": [0, 1], "gap": [1e-3, 2e-2], "changes": [True, False], "range": 1.0, "rounding": 1e-9}
    >>> figure = sorted_gaps({"ids": 3, "tokens": 3, "gaps": {**gaps, "proved": 9e-4}})
    >>> figure.axes[0].get_title()
    '3 context ids of 3 tokens, in order'
    """
    gaps = measured["gaps"]
    fig, axis = figure(width=7.0, height=4.0)
    place, gap, changes = (np.asarray(gaps[name]) for name in ("place", "gap", "changes"))
    for chosen, colour, label in (
        (~changes, "#BBBBBB", "the same label on both sides"),
        (changes, PALETTE[0], "another label"),
    ):
        axis.scatter(place[chosen], gap[chosen], s=5, linewidths=0, color=colour, label=label)
    axis.axhline(gaps["proved"], color=PALETTE[1], label=f"proved of all that differ: {lower(gaps['proved'])}")
    axis.axhline(gaps["rounding"], color="black", linestyle=":", label=f"rounding: {upper(gaps['rounding'])}")
    axis.set(yscale="log", xlabel="place among the sorted ids", ylabel="gap to the next id")
    axis.set_title(f"{measured['ids']} context ids of {measured['tokens']} tokens, in order")
    fig.legend(loc="outside lower center", ncols=2, frameon=False)
    return fig
