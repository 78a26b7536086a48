"""Any compiled network in one picture, as far as its target allows.

A formula of one variable is drawn over its domain (`views.scalar`). Every other kind shows where its heads look for one
input, and the errors of random inputs, in ball arithmetic, against the proved bound: the promise one can check by eye.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headsmith.records.shown import upper
from headsmith.views.measurement import curves, errors, scalar
from headsmith.views.scalar import picture as scalar_picture
from headsmith.views.style import PALETTE, figure

SHOWN = 200  # random inputs
PANELS = 2  # attention patterns that fit beside the errors
ROWS = 64  # queries or heads of one pattern


def picture(net: Any) -> Figure:
    """A matplotlib figure of a compiled network.

    >>> net = hs.compile("x*y", domain=(-1, 1), eps=1e-3)
    >>> [axes.get_title() for axes in picture(net).axes][:2]
    ['error of 200 random inputs', 'grid: attention of each head']
    """
    if scalar(net) is not None:
        return scalar_picture(curves(net))
    count = SHOWN if net.target.known else 1
    generator = torch.Generator().manual_seed(0)
    one = [x[0].to(net.dtype) for x in net.target.sample(net.certificate.domain, count, generator)]
    found = patterns(net, one)
    fig, axes = figure(1, 1 + len(found), width=5.2, height=3.8)
    panels = np.atleast_1d(axes)
    if net.target.known:
        _errors(panels[0], errors(net, SHOWN)[1].numpy(), net.certificate.bound)
    else:
        panels[0].set_title("the target is code: its error cannot be drawn")
    for axis, (name, weights) in zip(panels[1:], found, strict=True):
        shown = axis.imshow(weights, aspect="auto", cmap="magma", vmin=0.0, interpolation="nearest")
        axis.set_title(f"{name}: attention of each head")
        axis.set_xlabel("key")
        axis.set_ylabel("head and query")
        axis.set_xticks(_few(weights.shape[1]))
        axis.set_yticks(_few(weights.shape[0]))
        axis.grid(False)
        fig.colorbar(shown, ax=axis, shrink=0.8)
    fig.suptitle(str(net.target), x=0.01, ha="left")
    return fig


def patterns(net: Any, one: list[Any]) -> list[tuple[str, np.ndarray]]:
    """(layer, weights (heads x queries, keys)) of the last layers whose heads attend to anything."""
    trace = net.network.trace(net.encode(*one))
    found = []
    for i, name in enumerate(net.network.layers):
        pattern = trace.get(f"blocks.{i}.attn.hook_pattern")
        if pattern is not None and pattern.shape[-1] > 1:
            found.append((name, pattern.reshape(-1, pattern.shape[-1])[:ROWS].double().numpy()))
    return found[-PANELS:]


def _few(count: int) -> range:
    """At most eight of the numbers 0 .. count - 1, for the ticks of an axis."""
    return range(0, count, -(-count // 8))


def _errors(axes: Axes, found: np.ndarray, bound: float) -> None:
    """Sorted errors under the line that was proved."""
    axes.plot(np.sort(found), np.linspace(0, 1, len(found)), color=PALETTE[0])
    axes.axvline(bound, color=PALETTE[1], label=f"proved: {upper(bound)}")
    axes.set_xlabel("largest error of an output")
    axes.set_ylabel("share of the inputs")
    axes.set_xlim(left=0)
    axes.set_title(f"error of {len(found)} random inputs")
    axes.legend()
