"""A memory in one picture: how far apart the ids are that its head gives, in order, and which label stands where.

Each point is the gap from one id to the next. Lines are the smallest gap that was proved between different labels, and
how much rounding may move two ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headsmith.constructions.design import many
from headsmith.proof.context_ids import Enclosed
from headsmith.records.shown import lower, upper
from headsmith.views.style import PALETTE, figure

POINTS, SMALLEST = 1500, 200  # gaps that are drawn: an even share, and the smallest of all
FEW = 100  # points up to which each is drawn large
LABELS = 20_000  # that are drawn: of more, an even share


def memory_picture(net: Any) -> Figure:
    """The gaps of the sorted context ids, and the labels along them.

    >>> net = hs.compile(hs.target.Recall([[3, 1, 4], [1, 5]], [[0, 1, 2], [7, 8]]))
    >>> [axes.get_title() for axes in memory_picture(net).axes]
    ['5 context ids of 5 tokens, in order', 'the label along the sorted ids']
    """
    found, target = _ids(net), net.plan.target
    order = np.argsort(found.ids, kind="stable")
    ids = int((np.diff(found.ids[order]) > 0).sum()) + 1
    fig, (left, right) = figure(1, 2, width=5.2, height=4.2)
    _draw(left, {"ids": ids, "tokens": len(order), "gaps": id_gaps(net)})
    step = -(-len(order) // LABELS)
    labels = target.levels[order, 0][::step]
    right.scatter(np.arange(0, len(order), step), labels, color=PALETTE[0], s=_size(len(labels)), linewidths=0)
    several = " (the first number)" * (target.labels.ndim > 1)
    right.set(xlabel="place among the sorted ids", ylabel="label" + several)
    right.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    right.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    right.set_title("the label along the sorted ids")
    fig.suptitle(str(net.target), x=0.01, ha="left")
    fig.legend(loc="outside lower center", ncols=2, frameon=False)
    return fig


def sorted_gaps(measured: Mapping[str, Any]) -> Figure:
    """The first half of that picture, of what an experiment has written down: ids, tokens and `id_gaps`.

    >>> gaps = {"place": [0, 1], "gap": [1e-3, 2e-2], "changes": [True, False], "range": 1.0, "rounding": 1e-9}
    >>> figure = sorted_gaps({"ids": 3, "tokens": 3, "gaps": {**gaps, "proved": 9e-4}})
    >>> figure.axes[0].get_title()
    '3 context ids of 3 tokens, in order'
    """
    fig, axis = figure(width=7.0, height=4.0)
    _draw(axis, measured)
    fig.legend(loc="outside lower center", ncols=2, frameon=False)
    return fig


def id_gaps(net: Any) -> dict[str, Any]:
    """Gaps along the sorted ids: an even share and the smallest; the one that is proved; what rounding may do.

    >>> net = hs.compile(hs.target.Recall([[3, 1, 4], [1, 5]], [[0, 1, 2], [7, 8]]))
    >>> found = id_gaps(net)
    >>> found["place"], found["changes"], min(found["gap"]) >= found["proved"] > found["rounding"]
    ([0, 1, 2, 3], [True, True, True, True], True)
    """
    found = _ids(net)
    order = np.argsort(found.ids, kind="stable")
    ids, codes = found.ids[order], net.plan.target.codes[order]
    steps, changed = np.diff(ids), np.diff(codes) != 0
    apart = np.flatnonzero(steps > 0)
    shown = np.union1d(apart[:: max(1, len(apart) // POINTS)], apart[np.argsort(steps[apart])[:SMALLEST]])
    return {
        "place": shown.tolist(),
        "gap": steps[shown].tolist(),
        "changes": changed[shown].tolist(),
        "range": float(ids[-1] - ids[0]),
        "rounding": float(2 * found.radius.max()),
        "proved": net.certificate.min_gap,
    }


def _ids(net: Any) -> Enclosed:
    """Of every token of the data, with what rounding may do to them."""
    plan, head = net.plan, net.plan.design.head
    found: Enclosed = plan.design.seen(plan.target, plan.request).enclosed(head.output, head.read, plan.request.format)
    return found


def _draw(axis: Axes, measured: Mapping[str, Any]) -> None:
    gaps = measured["gaps"]
    place, gap = np.asarray(gaps["place"]), np.asarray(gaps["gap"])
    changes = np.asarray(gaps["changes"], dtype=bool)
    for chosen, colour, label in (
        (~changes, "#999999", "the same label on both sides"),
        (changes, PALETTE[0], "another label"),
    ):
        if chosen.any():
            axis.scatter(place[chosen], gap[chosen], s=_size(len(place)), linewidths=0, color=colour, label=label)
    if gaps["proved"] < np.inf:
        axis.axhline(gaps["proved"], color=PALETTE[1], label=f"proved where labels differ: {lower(gaps['proved'])}")
    axis.axhline(gaps["rounding"], color="black", linestyle=":", label=f"rounding: {upper(gaps['rounding'])}")
    axis.set(yscale="log", xlabel="place among the sorted ids", ylabel="gap to the next id")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axis.set_title(f"{many(measured['ids'], 'context id')} of {many(measured['tokens'], 'token')}, in order")


def _size(points: int) -> int:
    """Of a point: a few must be seen, many must not hide each other."""
    return 5 if points > FEW else 24
