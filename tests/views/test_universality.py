"""Pictures of the universality experiments: plain numbers in, the artists that show them out."""

import numpy as np
import pytest

from headsmith.views.universality import bumps, heatmaps, sequence, sweeps, truncation

KEYS = ("trained", "spread", "printed", "repaired", "mean", "regression")
PANEL = {key: [0.5, 0.25] for key in KEYS} | {"sizes": [1, 2]}
LEVELS = {"mean": 0.4, "regression": 0.3, "coarse": 1e-5, "compiled": 1e-30}
SLOPES = {f"{kind}slope {axis}": -1.0 for kind in ("", "constructed ") for axis in ("p", "width", "heads")}


@pytest.mark.parametrize(
    ("draw", "axes", "panel"),
    [(sweeps, ("p", "width", "heads"), PANEL), (sequence, ("p", "heads"), PANEL | LEVELS)],
)
def test_a_sweep_has_a_panel_per_axis_with_the_trained_line_in_its_band(draw, axes, panel):
    fig = draw({"panels": dict.fromkeys(axes, panel), **SLOPES})
    assert len(fig.axes) == len(axes)
    for ax in fig.axes:
        [line] = [line for line in ax.lines if line.get_label() == "trained"]
        assert list(line.get_ydata()) == [0.5, 0.25] and ax.collections
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_what_is_far_below_is_named_and_not_drawn():
    [ax, _] = sequence({"panels": dict.fromkeys(("p", "heads"), PANEL | LEVELS), **SLOPES}).axes
    assert ax.get_ylim()[0] == pytest.approx(0.1)
    assert [text.get_text() for text in ax.texts] == ["far below: compiled, certified to 0.1 (1e-05), to 1e-6 (1e-30)"]


def test_heat_maps_of_constructed_and_trained_attention():
    one = [{"pattern": [[0.9, 0.1]], "ends": 1.0}] * 2
    panels = [ax for ax in heatmaps({"widths": [0.5, 3.0], "constructed": one, "trained": one}).axes if ax.images]
    assert len(panels) == 4 and np.allclose(panels[0].images[0].get_array(), [[0.9], [0.1]])


def test_truncation_shows_three_curves_and_the_printed_bound():
    curves = {"printed": [0, 1], "repaired sentinels": [0, 1], "telescoping": [0, 1]}
    sweep = {"printed": [1.0, 1.0], "heads": [0.5, 0.25], "telescoping": [0.1, 0.05]}
    measured = {
        "z": [-1, 1],
        "exact": [-1, 1],
        "curves": curves,
        "sizes": {"heads": [4, 8]},
        "sweeps": sweep,
        "bounds": [0.3, 0.15],
    }
    left, right = truncation(measured).axes
    assert [line.get_label() for line in left.lines] == ["Range", *curves]
    assert list(right.lines[0].get_ydata()) == [0.3, 0.15] and right.lines[0].get_linestyle() == ":"
    assert right.get_ylim()[0] < min(sweep["telescoping"]) / 10  # the legend stands there


def test_bumps_divide_what_was_printed_by_its_cells():
    kinds = ("printed", "core", "straddling", "grid head, certified")
    cut = {"x": [0, 1], "cells": 9, "target": [0, 0]} | {kind: [0.1, 0.2] for kind in kinds[:3]}
    errors = {kind: [{"cells": 9, "error": 1.0}, {"cells": 36, "error": 0.5}] for kind in kinds}
    left, right = bumps({"cut": cut, "errors": errors}).axes
    assert [line.get_label() for line in left.lines] == ["f", "printed / cells", "core", "straddling"]
    assert [list(line.get_xdata()) for line in right.lines] == [[9, 36]] * 4
