"""Pictures of the machines: errors over table sizes, trained beside constructed.

Every function draws from plain lists and numbers, as a record holds them, and returns a matplotlib figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from headsmith.views.style import PALETTE, figure

__all__ = ["bars", "drop", "heads"]

DECADES = 100  # times the least error, above which bars stand on a logarithmic axis


def drop(measured: Mapping[str, Any]) -> Figure:
    """algorithm-emulation Table 4: mean squared error over P, printed, reproduced, and our lattice."""
    fig, axes = figure(width=7.2, height=4.4)
    p = measured["P"]
    axes.set_yscale("log")
    axes.plot(p, measured["proof interval"], "v:", color=PALETTE[6], label="interval of the proof, float64")
    axes.plot(p, measured["printed"], "o--", color=PALETTE[1], label="printed")
    axes.plot(p, measured["float32"], "s-", color=PALETTE[0], label="half-width 20, float32")
    axes.plot(p, measured["float64"], "d-", color=PALETTE[5], label="half-width 20, float64")
    axes.plot(p, measured["ours"], "^-", color=PALETTE[2], label="our lattice, as many keys")
    axes.set_xlabel("grid steps P")
    axes.set_ylabel("mean squared error")
    axes.set_title("Emulating an attention head: error over table size (Thm 4.2)", loc="left")
    axes.legend(loc="center left", bbox_to_anchor=(0.0, 0.42), frameon=False)
    return fig


def heads(measured: Mapping[str, Any]) -> Figure:
    """algorithm-emulation Table 1: mean squared error over the number of trained heads, with the constructed line."""
    fig, axes = figure(width=7.2, height=4.2)
    axes.set_yscale("log")
    axes.plot(measured["heads"], measured["printed"], "o--", color=PALETTE[1], label="printed, trained")
    low, high = ([m + k * s for m, s in zip(measured["trained"], measured["spread"], strict=True)] for k in (-1, 1))
    low = [max(value, 0.2 * mean) for value, mean in zip(low, measured["trained"], strict=True)]  # the axis has no 0
    axes.fill_between(measured["heads"], low, high, color=PALETTE[0], alpha=0.2)
    axes.plot(measured["heads"], measured["trained"], "s-", color=PALETTE[0], label="ours, trained")
    axes.axhline(measured["predict zero"], color=PALETTE[6], linestyle=":", label="predict zero")
    axes.axhline(measured["constructed"], color=PALETTE[2], label="constructed")
    axes.set_xlabel("heads")
    axes.set_ylabel("mean squared error")
    axes.set_title("Emulating softmax attention: trained and constructed", loc="left")
    axes.legend(loc="center right", frameon=False)
    return fig


def bars(measured: Mapping[str, Any]) -> Figure:
    """algorithm-emulation Tables 2 and 3: one frozen model, a model for each algorithm, and a machine beside them.

    "constructed" is a head that is given the weights, "machine" one that finds them.
    """
    fig, axes = figure(width=7.2, height=4.2)
    names: Sequence[str] = measured["algorithms"]
    colours = {
        "predict zero": "#999999", "baseline": PALETTE[1], "frozen": PALETTE[0], "constructed": PALETTE[2],
        "machine": PALETTE[2],
    }  # fmt: skip
    kinds = [kind for kind in colours if kind in measured]
    width = 0.8 / len(kinds)
    for k, kind in enumerate(kinds):
        places = [i + (k - (len(kinds) - 1) / 2) * width for i in range(len(names))]
        axes.bar(places, measured[kind], width, color=colours[kind], label=kind)
    errors = [value for kind in kinds for value in measured[kind]]
    if max(errors) > DECADES * min(errors):
        axes.set_yscale("log")
    axes.set_xticks(range(len(names)), list(names))
    axes.set_ylabel("mean squared error")
    axes.set_title(measured["title"], loc="left")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=len(kinds), frameon=False)
    axes.grid(False, axis="x")
    return fig
