"""Pictures of the lab: heat maps of heads, training curves, risks over lengths, landscapes and flows.

Every function draws from plain lists and numbers, as a record holds them, and returns a matplotlib figure;
saving is `headsmith.views.style.save`.  Reference values (theory, the paper's numbers) are dashed everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headsmith.views.style import PALETTE, figure

__all__ = [
    "bars",
    "comparison",
    "curves",
    "diagram",
    "film",
    "heads",
    "histograms",
    "landscape",
    "lines",
    "matrices",
    "phase_plane",
    "risks",
]


def _image(axes: Axes, values: Any, title: str, limit: float | None = None) -> Any:
    array = np.atleast_2d(np.asarray(values, dtype=float))
    bound = limit or float(np.nanmax(np.abs(array))) or 1.0
    shown = axes.imshow(array, cmap="RdBu_r", vmin=-bound, vmax=bound, aspect="equal")
    axes.set_facecolor("#CCCCCC")
    axes.set_title(title, fontsize=10)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    return shown


def _seen(kq: Any, responses: int) -> np.ndarray:
    """KQ without the columns that meet the query's zero responses: they reach nothing, and are drawn grey."""
    array = np.array(kq, dtype=float)
    array[..., -responses:] = np.nan
    return array


def _order(label: str) -> tuple[float, str]:
    """Sort labels by the number in them: records keep keys in alphabetical order."""
    found = re.search(r"\d+(\.\d+)?", label)
    return (float(found.group()) if found else 0.0, label)


def heads(measured: Mapping[str, Any]) -> Figure:
    """One column per head: KQ above, the read-out rows of OV below; `kq` (H, D, D), `ov` (H, N, D), `omega`,
    `mu`.
    """
    ov = np.array(measured["ov"], dtype=float)
    kq = _seen(measured["kq"], ov.shape[1])
    fig, axes = figure(2, len(kq), width=2.6, height=2.2)
    axes = np.asarray(axes).reshape(2, len(kq))
    top, low = float(np.nanmax(np.abs(kq))), float(np.abs(ov).max())
    for h in range(len(kq)):
        shown = _image(axes[0, h], kq[h], f"KQ, head {h + 1}: ω = {measured['omega'][h]:.3f}", top)
        read = _image(axes[1, h], ov[h], f"OV, head {h + 1}: μ = {np.ravel(measured['mu'][h])[0]:.2f}", low)
    fig.colorbar(shown, ax=axes[0, :].tolist(), shrink=0.8)
    fig.colorbar(read, ax=axes[1, :].tolist(), shrink=0.8)
    return fig


def film(measured: Mapping[str, Any]) -> Figure:
    """KQ of every head (rows) at a few steps (columns): `frames` (F, H, D, D), `frame_steps`."""
    frames = _seen(measured["frames"], 1)
    fig, axes = figure(frames.shape[1], frames.shape[0], width=1.6, height=1.6)
    axes = np.asarray(axes).reshape(frames.shape[1], frames.shape[0])
    for f, step in enumerate(measured["frame_steps"]):
        for h in range(frames.shape[1]):
            _image(axes[h, f], frames[f, h], f"step {step:,}" if h == 0 else "")
    return fig


def curves(measured: Mapping[str, Any]) -> Figure:
    """omega and mu of every head over training: `steps`, `omega` (S, H), `mu` (S, H) under `curves`, by
    label.
    """
    fig, (left, right) = figure(1, 2, width=5.0, height=3.4)
    styles = ("-", "--", ":", "-.")
    for line, (label, curve) in enumerate(measured["curves"].items()):
        steps = np.asarray(curve["steps"], dtype=float) + 1
        for axes, name in ((left, "omega"), (right, "mu")):
            values = np.asarray(curve[name], dtype=float)
            for h in range(values.shape[1]):
                tag = f"{label}, head {h + 1}" if len(measured["curves"]) == 1 else label if h == 0 else None
                axes.plot(steps, values[:, h], styles[line % 4], color=PALETTE[h % len(PALETTE)], label=tag)
    for axes, title in ((left, "ω: how sharply a head attends"), (right, "μ: what a head is worth")):
        axes.set_xscale("log")
        axes.set_xlabel("step")
        axes.set_title(title)
        for value in measured.get("reference", {}).get(title[0], ()):
            axes.axhline(value, color="#888888", linestyle="--", linewidth=1)
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return fig


def risks(measured: Mapping[str, Any]) -> Figure:
    """Risk over prompt length, one line per predictor: `lengths`, `risks` {name: values}; names with * are
    dashed.
    """
    fig, axes = figure()
    for i, (name, values) in enumerate(measured["risks"].items()):
        style = "--" if name.endswith("*") else "-"
        axes.plot(
            measured["lengths"], values, style, color=PALETTE[i % len(PALETTE)], marker="o", label=name.rstrip("*")
        )
    axes.set_yscale("log")
    axes.set_xlabel("examples in the prompt")
    axes.set_ylabel("risk")
    if "trained_length" in measured:
        axes.axvline(measured["trained_length"], color="#888888", linestyle=":", label="length of training")
    axes.legend(ncols=2)
    return fig


def comparison(found: Any) -> Figure:
    """The risks of a `Comparison` over its lengths."""
    return risks({"lengths": list(found.lengths), "risks": found.risks, "trained_length": found.task.length})


def landscape(measured: Mapping[str, Any]) -> Figure:
    """exact - approximate, exact and approximate loss over (omega, mu): grids `omega`, `mu`, values (mu,
    omega).
    """
    fig, axes = figure(1, 3, width=4.2, height=3.6)
    names = (("difference", "exact − approximate"), ("exact", "exact loss"), ("approximate", "approximate loss"))
    for ax, (name, title) in zip(axes, names, strict=True):
        values = np.asarray(measured[name], dtype=float)
        levels = np.linspace(0.0, 0.2, 15) if name == "difference" else np.geomspace(0.21, 1.2, 20)
        filled = ax.contourf(
            measured["omega"], measured["mu"], np.clip(values, levels[0], levels[-1]), levels, cmap="viridis"
        )
        ax.plot(measured["omega"], measured["valley"], "w--", linewidth=1)
        ax.set_ylim(min(measured["mu"]), max(measured["mu"]))
        ax.set_title(title)
        ax.set_xlabel("ω")
        ax.set_ylabel("μ")
        fig.colorbar(filled, ax=ax)
    return fig


def phase_plane(measured: Mapping[str, Any]) -> Figure:
    """Paths in the (|omega|, |mu|) plane by label, with the valley: `paths` {label: (omega, mu)}, `valley`
    (omega, mu).
    """
    fig, axes = figure()
    for label, (omega, mu) in measured["paths"].items():
        axes.plot(omega, mu, label=label)
    axes.plot(*measured["valley"], "k--", linewidth=1, label="valley S*")
    axes.set_xlabel("|ω|")
    axes.set_ylabel("|μ|")
    axes.legend()
    return fig


def lines(measured: Mapping[str, Any]) -> Figure:
    """Panels of lines: `panels` {title: {"x", "lines" {label: y}, "log" "x"/"y"/"xy"/"", "xlabel"}}."""
    panels = measured["panels"]
    columns = min(3, len(panels))
    fig, axes = figure(-(-len(panels) // columns), columns, width=4.4, height=3.2)
    for ax in np.ravel(axes)[len(panels) :]:
        ax.set_axis_off()
    for ax, (title, panel) in zip(np.ravel(axes), panels.items(), strict=False):
        for label, values in panel["lines"].items():
            ax.plot(panel["x"], values, "--" if label.endswith("*") else "-", label=label.rstrip("*"))
        if "x" in panel.get("log", ""):
            ax.set_xscale("log")
        if "y" in panel.get("log", ""):
            ax.set_yscale("log")
        ax.set_title(title)
        ax.set_xlabel(panel["xlabel"])
        if len(panel["lines"]) > 1:
            ax.legend()
    return fig


def matrices(measured: Mapping[str, Any]) -> Figure:
    """Matrices side by side on one colour scale: `matrices` {title: rows}."""
    shown = measured["matrices"]
    fig, axes = figure(1, len(shown), width=2.8, height=2.6)
    limit = max(float(np.abs(values).max()) for values in shown.values())
    for ax, (title, values) in zip(np.atleast_1d(axes), shown.items(), strict=True):
        image = _image(ax, values, title, limit)
        for (i, j), value in np.ndenumerate(np.atleast_2d(np.asarray(values, dtype=float))):
            colour = "white" if abs(value) > 0.6 * limit else "black"
            ax.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=6, color=colour)
    fig.colorbar(image, ax=np.atleast_1d(axes).tolist(), shrink=0.8)
    return fig


def histograms(measured: Mapping[str, Any]) -> Figure:
    """Histograms in panels: `panels` {title: {label: samples}}."""
    panels = measured["panels"]
    fig, axes = figure(1, len(panels), width=4.2, height=3.2)
    for ax, (title, groups) in zip(np.atleast_1d(axes), panels.items(), strict=True):
        for label, samples in sorted(groups.items(), key=lambda pair: _order(pair[0])):
            ax.hist(samples, bins=np.linspace(0, 1, 60).tolist(), alpha=0.55, density=True, label=label)
        ax.set_title(title)
        ax.set_xlabel("‖p‖²")
        ax.legend()
    return fig


def bars(measured: Mapping[str, Any]) -> Figure:
    """Grouped bars with a dashed target each: `bars` {group: {label: value}}, `targets` {group: {label: value}}.

    Values that are nearly alike are points on an axis of their own: a bar has to stand on zero.
    """
    groups: Mapping[str, Mapping[str, float]] = measured["bars"]
    fig, axes = figure(1, len(groups), width=4.0, height=3.0)
    for ax, (title, values) in zip(np.atleast_1d(axes), groups.items(), strict=True):
        places: Sequence[int] = range(len(values))
        alike = min(values.values()) > 0.8 * max(values.values())
        if alike:
            ax.plot(places, list(values.values()), "o", color=PALETTE[0])
            ax.set_ylim(0.97 * min(values.values()), 1.02 * max(values.values()))
        else:
            ax.bar(places, list(values.values()), color=PALETTE[0])
        for place, label in enumerate(values):
            target = measured.get("targets", {}).get(title, {}).get(label)
            if target is not None:
                ax.hlines(target, place - 0.45, place + 0.45, color=PALETTE[1], linestyle="--")
        ax.set_xticks(list(places), list(values), rotation=30, fontsize=8)
        ax.set_title(title)
    return fig


def diagram(measured: Mapping[str, Any]) -> Figure:
    """Which entries of KQ and OV reach the answer, and what training leaves of them (icl figure 2)."""
    d = int(measured["features"])
    fig, axes = figure(1, 4, width=2.7, height=2.9)
    full_kq = np.ones((d + 1, d + 1))
    full_kq[:, d] = 0
    full_ov = np.zeros((d + 1, d + 1))
    full_ov[d] = 1
    small_kq, small_ov = np.diag([1.0] * d + [0.0]), np.zeros((d + 1, d + 1))
    small_ov[d, d] = 1
    titles = (
        "KQ: entries that\nreach the answer",
        "OV: entries that\nreach the answer",
        "KQ after training:\nω I",
        "OV after training:\nμ",
    )
    for ax, values, title in zip(axes, (full_kq, full_ov, small_kq, small_ov), titles, strict=True):
        _image(ax, values, title, 1.5)
    return fig
