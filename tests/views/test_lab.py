"""Pictures of the lab: plain numbers in, the artists that show them out."""

from types import SimpleNamespace

import numpy as np
import pytest

from headsmith.views import lab

CURVE = {"steps": [0, 9, 99], "omega": [[0.1, -0.1], [0.5, -0.5], [0.2, -0.2]], "mu": [[0, 0], [1, -1], [3, -3]]}


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_heads_show_kq_and_ov_with_the_unread_column_grey():
    kq = np.diag([0.5, 0.5, 9.0])[None].repeat(2, 0)
    fig = lab.heads({"kq": kq.tolist(), "ov": [[[0, 0, 3.0]]] * 2, "omega": [0.5, 0.5], "mu": [3.0, 3.0]})
    images = [ax.images[0].get_array() for ax in fig.axes[:4]]
    assert np.isnan(np.ma.filled(images[0], np.nan)[:, -1]).all()  # 9.0 meets the query's zero response
    assert images[0][0, 0] == 0.5 and images[2][0, 2] == 3.0
    assert [ax.get_title() for ax in fig.axes[:2]] == ["KQ, head 1: ω = 0.500", "KQ, head 2: ω = 0.500"]


def test_a_film_has_a_row_per_head_and_a_column_per_frame():
    frames = np.ones((3, 2, 4, 4))
    fig = lab.film({"frames": frames.tolist(), "frame_steps": [0, 10, 1000]})
    assert len(fig.axes) == 6
    assert [ax.get_title() for ax in fig.axes][:3] == ["step 0", "step 10", "step 1,000"]


def test_curves_hold_every_head_and_the_dashed_references():
    left, right = lab.curves({"curves": {"two heads": CURVE}, "reference": {"ω": [0.13], "μ": [3.5, -3.5]}}).axes
    assert [line.get_ydata()[-1] for line in left.lines[:2]] == [0.2, -0.2]
    assert left.lines[0].get_xdata()[0] == 1  # steps start at 1 on a logarithmic axis
    assert [line.get_linestyle() for line in right.lines] == ["-", "-", "--", "--"]
    [legend] = left.figure.legends  # below both panels: inside, it would hide a line
    assert [text.get_text() for text in legend.get_texts()] == ["two heads, head 1", "two heads, head 2"]
    assert left.get_legend() is None


def test_risks_dash_what_has_a_star_and_mark_the_length_of_training():
    [axes] = lab.risks(
        {"lengths": [20, 40], "risks": {"ours": [0.3, 0.2], "theory*": [0.31, 0.21]}, "trained_length": 40}
    ).axes
    assert [line.get_linestyle() for line in axes.lines] == ["-", "--", ":"]
    assert labels(axes) == ["ours", "theory", "length of training"]
    assert axes.get_yscale() == "log" and list(axes.lines[1].get_ydata()) == [0.31, 0.21]


def test_a_comparison_is_drawn_from_its_own_numbers():
    found = SimpleNamespace(lengths=(20, 40), risks={"ridge": [0.2, 0.1]}, task=SimpleNamespace(length=40))
    [axes] = lab.comparison(found).axes
    assert list(axes.lines[0].get_xdata()) == [20, 40] and list(axes.lines[1].get_xdata()) == [40, 40]


def test_a_landscape_has_three_panels_and_the_valley_in_each():
    grid = [[0.3, 0.4], [0.5, 0.6]]
    measured = {"omega": [0.1, 0.2], "mu": [1.0, 2.0], "valley": [1.5, 1.2]}
    fig = lab.landscape(measured | dict.fromkeys(("difference", "exact", "approximate"), grid))
    panels = fig.axes[:3]
    assert [ax.get_title() for ax in panels] == ["exact − approximate", "exact loss", "approximate loss"]
    assert all(list(ax.lines[0].get_ydata()) == [1.5, 1.2] for ax in panels)


def test_paths_in_the_phase_plane_and_the_valley():
    [axes] = lab.phase_plane({"paths": {"training": ([0.1, 0.2], [1, 2])}, "valley": ([0.1, 0.5], [3, 1])}).axes
    assert labels(axes) == ["training", "valley S*"] and list(axes.lines[0].get_ydata()) == [1, 2]


@pytest.mark.parametrize(("count", "drawn"), [(1, 1), (4, 6)])
def test_lines_fill_rows_of_three_and_hide_the_rest(count, drawn):
    panel = {"x": [1, 2], "lines": {"ρ": [1, 2], "law*": [2, 1]}, "xlabel": "time", "log": "xy"}
    fig = lab.lines({"panels": {f"panel {i}": panel for i in range(count)}})
    assert len(fig.axes) == drawn and sum(ax.axison for ax in fig.axes) == count
    first = fig.axes[0]
    assert (first.get_xscale(), first.get_yscale()) == ("log", "log") and labels(first) == ["ρ", "law"]


def test_matrices_share_one_scale_and_carry_their_numbers():
    fig = lab.matrices({"matrices": {"a": [[1.0, 0.0], [0.0, 1.0]], "b": [[4.0]]}})
    a, b = fig.axes[:2]
    assert a.images[0].get_clim() == b.images[0].get_clim() == (-4.0, 4.0)
    assert [text.get_text() for text in a.texts] == ["1.00", "0.00", "0.00", "1.00"]


def test_histograms_are_sorted_by_the_number_in_their_label():
    fig = lab.histograms({"panels": {"d = 5": {"L = 160": [0.1], "L = 40": [0.2, 0.3]}}})
    assert labels(fig.axes[0]) == ["L = 40", "L = 160"]


def test_bars_have_their_targets():
    fig = lab.bars({"bars": {"rate": {"exp": 0.88, "tanh": 0.2}}, "targets": {"rate": {"exp": 0.9}}})
    [axes] = fig.axes
    assert [bar.get_height() for bar in axes.patches] == [0.88, 0.2]
    [target] = axes.collections
    assert target.get_segments()[0][0][1] == 0.9


def test_values_that_are_alike_are_points_and_no_bars_without_a_ground():
    [axes] = lab.bars({"bars": {"rate": {"exp": 0.88, "tanh": 0.9}}}).axes
    assert not axes.patches and list(axes.lines[0].get_ydata()) == [0.88, 0.9] and axes.get_ylim()[0] > 0.8


def test_of_several_runs_each_line_style_is_named():
    fig = lab.curves({"curves": {"exp": CURVE, "tanh": CURVE}})
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["exp", "tanh"]


def test_the_diagram_shows_what_reaches_the_answer():
    fig = lab.diagram({"features": 3})
    full, _, kept, _ = [ax.images[0].get_array() for ax in fig.axes]
    assert full[:, 3].sum() == 0 and full[:, :3].all()
    assert np.array_equal(kept, np.diag([1, 1, 1, 0]))
