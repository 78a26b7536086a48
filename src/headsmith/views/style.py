"""One look for every picture: quiet axes, eight colours that colour-blind readers can tell apart, 150 dpi.

Figures are made without pyplot, so there is no window system, no global state and nothing to close; the style
holds for these figures alone and leaves the user's own settings untouched.
"""

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from headsmith.records import write_output
from headsmith.records.authorship import MARK

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C00")
"""Okabe and Ito's colours, the yellow darkened to be readable on white."""

STYLE: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#444444",
    "axes.grid": True,
    "axes.labelsize": 11,
    "axes.prop_cycle": cycler(color=PALETTE),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "figure.constrained_layout.use": True,
    "figure.dpi": 150,
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "savefig.dpi": 150,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
}


def figure(rows: int = 1, columns: int = 1, *, width: float = 6.4, height: float = 4.0) -> tuple[Figure, Any]:
    """A figure in our style, ``width`` by ``height`` inches a panel, with its axes (an array of several).

    >>> fig, axes = figure(1, 2)
    >>> axes.shape
    (2,)
    """
    with matplotlib.rc_context(STYLE):
        fig = Figure(figsize=(width * columns, height * rows))
        FigureCanvasAgg(fig)
        return fig, fig.subplots(rows, columns)


def save(fig: Figure, path: str | os.PathLike[str], colours: int | None = None) -> Path:
    """Write the figure as a PNG, whole or not at all, over nothing but a picture of ours; equal figures, equal bytes.

    With so many `colours` (at most 256) a picture of lines takes a third of the bytes.

    >>> save(figure()[0], "out/empty.png")
    PosixPath('out/empty.png')
    """
    buffer = io.BytesIO()
    with matplotlib.rc_context(STYLE):
        fig.savefig(buffer, format="png", dpi=STYLE["savefig.dpi"], metadata={"Software": MARK})
    if colours is not None:
        marked = PngInfo()
        marked.add_text("Software", MARK)
        few, buffer = Image.open(buffer).convert("RGB").quantize(colours), io.BytesIO()
        few.save(buffer, "png", pnginfo=marked, optimize=True)
    return write_output(path, buffer.getvalue())


def loglog(axes: Axes, x: Sequence[float], y: Sequence[float], label: str = "", **line: Any) -> None:
    """Draw y against x on two logarithmic axes, with markers; points that have no logarithm are left out.

    >>> loglog(figure()[1], [1e-2, 1e-4], [5, 9], "keys")
    """
    kept = [(a, b) for a, b in zip(x, y, strict=True) if a > 0 and b > 0]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.plot([a for a, _ in kept], [b for _, b in kept], **({"marker": "o", "label": label or None} | line))
