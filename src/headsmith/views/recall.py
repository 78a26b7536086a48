"""A memory in one picture: the ids that its head gives, in order, and how far they are apart.

Each point is the gap between two neighbours along the sorted ids, in the colour of the label on its right. What
rounding may move two ids by, and the smallest gap that was proved between different labels, are lines.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from headsmith.records.shown import lower, upper
from headsmith.views.style import PALETTE, figure

POINTS = 20_000  # that are drawn: of more, an even share


def memory_picture(net: Any) -> Figure:
    """The gaps of the sorted context ids, and the labels along them.

    >>> net = hs.compile(hs.target.Recall([[3, 1, 4], [1, 5]], [[0, 1, 2], [7, 8]]))
    >>> [axes.get_title() for axes in memory_picture(net).axes]
    ['gaps between neighbouring context ids', 'the label along the sorted ids']
    """
    plan, design = net.plan, net.plan.design
    found = design.seen(plan.target, plan.request).enclosed(design.head.output, design.head.read, plan.request.format)
    order = np.argsort(found.ids, kind="stable")
    ids, codes, labels = found.ids[order], plan.target.codes[order], plan.target.levels[order, 0]
    [apart] = np.nonzero(np.diff(ids))
    shown = apart[:: -(-len(apart) // POINTS) or 1]
    fig, axes = figure(1, 2, width=5.2, height=3.8)
    left, right = axes
    colours = np.array(PALETTE)[codes % len(PALETTE)]
    left.scatter(ids[shown + 1], np.diff(ids)[shown], c=colours[shown + 1], s=6, linewidths=0)
    left.axhline(2 * found.radius.max(), color=PALETTE[1], label=f"rounding: {upper(2 * found.radius.max())}")
    gap = net.certificate.min_gap
    if gap < np.inf:
        left.axhline(gap, color="black", linestyle=":", label=f"proved, different labels: {lower(gap)}")
    left.set(yscale="log", xlabel="context id", ylabel="gap to the next one")
    left.set_title("gaps between neighbouring context ids")
    left.legend()
    step = -(-len(labels) // POINTS)
    right.scatter(np.arange(0, len(labels), step), labels[::step], c=colours[::step], s=6, linewidths=0)
    right.set(
        xlabel="place among the sorted ids", ylabel="label" + " (the first number)" * (plan.target.labels.ndim > 1)
    )
    right.set_title("the label along the sorted ids")
    fig.suptitle(str(net.target), x=0.01, ha="left")
    return fig
