"""Any compiled network in one picture, as far as its target allows.

A formula of one variable is drawn over its domain (`views.scalar`), a memory by its ids (`views.recall`). Every other
kind shows where its heads look for one input, and the errors of random inputs, in ball arithmetic, against the proved
bound: the promise one can check by eye.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headsmith.records.shown import upper
from headsmith.targets.recall import Recall
from headsmith.views.explanation import attending, key_names
from headsmith.views.measurement import curves, errors, scalar
from headsmith.views.recall import memory_picture
from headsmith.views.scalar import picture as scalar_picture
from headsmith.views.style import PALETTE, figure

SHOWN, LEAST = 200, 4  # random inputs, and how few if each takes long
PANELS = 2  # attention patterns that fit beside the errors
ROWS = 64  # queries or heads of one pattern
NAMED = 12  # rows or keys up to which each bears its name
FAR = 100  # errors so many times below the bound are drawn by their order of magnitude
WORDS = {"proved": "proved", "conditional": "bound, if your constant holds"}


@dataclass(frozen=True)
class Pattern:
    """The attention of one layer: a row for each head and token that is read, a column for each key."""

    layer: str
    rows: list[str]
    keys: list[str]
    weights: np.ndarray


def picture(net: Any) -> Figure:
    """A matplotlib figure of a compiled network.

    >>> net = hs.compile("x*y", domain=(-1, 1), eps=1e-3)
    >>> [axes.get_title() for axes in picture(net).axes][:2]
    ['error of 200 random inputs', 'attention of layer grid']
    """
    if scalar(net) is not None:
        return scalar_picture(curves(net))
    if isinstance(net.target, Recall):
        return memory_picture(net)
    count = max(LEAST, int(SHOWN / net.target.effort)) if net.target.known else 1
    generator = torch.Generator().manual_seed(0)
    one = [x[0].to(net.dtype) for x in net.target.sample(net.certificate.domain, count, generator)]
    found = patterns(net, one)
    fig, axes = figure(1, 1 + len(found), width=5.2, height=3.8)
    panels = np.atleast_1d(axes)
    if net.target.known:
        _errors(panels[0], errors(net, count)[1].numpy(), *_line(net))
    else:
        panels[0].set_title("the target is code: its error cannot be drawn")
    for axis, pattern in zip(panels[1:], found, strict=True):
        shown = axis.imshow(pattern.weights, aspect="auto", cmap="magma", vmin=0.0, interpolation="nearest")
        axis.set_title(f"attention of layer {pattern.layer}")
        axis.set_xlabel("key")
        _name(axis.set_xticks, pattern.keys, rotation=0 if sum(map(len, pattern.keys)) < 40 else 30)
        _name(axis.set_yticks, pattern.rows)
        axis.set_ylabel("" if len(pattern.rows) <= NAMED else "head and token")
        axis.grid(False)
        fig.colorbar(shown, ax=axis, shrink=0.8)
    fig.suptitle(str(net.target), x=0.01, ha="left")
    return fig


def patterns(net: Any, one: list[Any]) -> list[Pattern]:
    """The last layers whose heads attend to more than one key."""
    tokens = net.encode(*one)
    trace = net.network.trace(tokens)
    found = []
    for i, layer, names, asked in attending(net.network, tokens.shape[-2]):
        pattern = trace[f"blocks.{i}.attn.hook_pattern"]
        if pattern.shape[-1] > 1:
            several = len(asked) > 1
            rows = [f"head {h}" + f", {names[q]}" * several for h in range(len(pattern)) for q in asked]
            weights = pattern[:, asked].reshape(-1, pattern.shape[-1]).double().numpy()
            keys = key_names(layer, names)
            found.append(Pattern(list(net.network.layers)[i], rows[:ROWS], keys, weights[:ROWS]))
    return found[-PANELS:]


def _name(ticks: Callable[..., Any], names: list[str], **text: Any) -> None:
    """Names along an axis; of many, eight numbers."""
    if len(names) <= NAMED:
        ticks(range(len(names)), names, **text)
    else:
        ticks(_few(len(names)))


def _few(count: int) -> range:
    """At most eight of the numbers 0 .. count - 1, for the ticks of an axis."""
    return range(0, count, -(-count // 8))


def _line(net: Any) -> tuple[float, str, str]:
    """What errors are compared with, what it is, and of what: a bound in L2 speaks of the mean square over the box."""
    certificate, word = net.certificate, WORDS[net.certificate.kind]
    if certificate.norm == "sup":
        return certificate.bound, word, "largest error of an output"
    [(name, given)] = net.target.inputs.items()
    low, high = certificate.domain[name]
    volume = (high - low) ** math.prod(given.shape)
    return certificate.bound / math.sqrt(volume), f"root mean square,\n{word}", "2-norm of the error of all outputs"


def _errors(axes: Axes, found: np.ndarray, bound: float, word: str, what: str) -> None:
    """Sorted errors beside the line that was proved."""
    seen = np.sort(found)
    if 0 < seen[-1] * FAR < bound:
        axes.set_xscale("log")
        seen = np.maximum(seen, seen[seen > 0][0] / 10)
    else:
        axes.set_xlim(0, 1.05 * max(bound, seen[-1]))
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.ticklabel_format(axis="x", style="sci", scilimits=(-2, 3), useMathText=True)
    axes.plot(seen, np.linspace(0, 1, len(seen)), color=PALETTE[0])
    axes.axvline(bound, color=PALETTE[1], label=f"{word}: {upper(bound)}")
    axes.set_xlabel(what)
    axes.set_ylabel("share of the inputs")
    axes.set_title(f"error of {len(found)} random inputs")
    axes.legend()
