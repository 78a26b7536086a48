from dataclasses import replace

import numpy as np
import pytest

from headsmith.views.measurement import Curves, HeadCurves
from headsmith.views.scalar import MANY, picture


def record(keys, heads):
    x = np.linspace(-1, 1, 50)
    weights = np.random.default_rng(0).dirichlet(np.ones(keys), 50)
    names = ("itself", "null") if keys == 2 else tuple(f"key {j}" for j in range(keys))
    panels = tuple(HeadCurves(f"level1 head {h}", "x", "out", names, weights) for h in range(heads))
    return Curves("sin(x)", (-1, 1), "float64", 1e-6, keys * heads, x, np.sin(x), 1e-7 * np.cos(9 * x), panels)


@pytest.mark.parametrize(("keys", "heads"), [(2, 1), (7, 4), (MANY + 5, 1), (3, 7)])
def test_values_error_and_one_panel_per_head(keys, heads):
    fig = picture(record(keys, heads))
    values, error, *attention = fig.axes
    assert len(attention) == heads
    assert "sin(x)" in values.get_title(loc="left") and f"{keys * heads} keys" in values.get_title(loc="left")
    assert error.get_ylim()[0] < -1e-6 and error.get_ylim()[1] > 1e-6
    assert {line.get_label() for line in values.lines} == {"formula", "network"}


def test_the_keys_of_a_gate_are_named():
    *_, panel = picture(record(2, 1)).axes
    assert [text.get_text() for text in panel.texts] == ["itself", "null"]


def test_a_name_stands_inside_its_share_or_nowhere():
    curves = record(2, 1)
    weights = np.stack([np.linspace(0.05, 0.0, 50), np.linspace(0.95, 1.0, 50)], 1)
    panel = HeadCurves("level1 head 0", "x", "out", ("key 0", "key 1"), weights)
    *_, axes = picture(replace(curves, heads=(panel,))).axes
    assert [text.get_text() for text in axes.texts] == ["key 1"]
    [x, _] = axes.texts[0].get_position()
    assert -0.9 < x < 0.9
