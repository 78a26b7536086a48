"""A column for each case or size, and words where there is no score."""

import pytest

from headsmith.views.deep_optimizers import curves, depths

LINE = {"pooled": [0.5, 0.9], "pooled_error": [0.1, 0.1], "within": [0.1, 0.2], "within_error": [0.1, 0.1]}


def labels(ax):
    return ax.get_legend_handles_labels()[1]


def drawn(ax, who):
    """The line of a learner."""
    found = next(c for c in ax.containers if c.get_label() == who)
    return [round(float(v), 6) for v in found.lines[0].get_ydata()]


def test_curves_show_every_learner_with_a_score_in_the_order_of_cases():
    m = {
        "examples": [5, 20], "length": 20, "cases": ["z", "b"],
        "targets": {"z": {"flag": ""}, "b": {"flag": "100% of the targets are constant"}},
        "scores": {"b": {}, "z": {"ridge": LINE, "ReLU attention": LINE}},
    }  # fmt: skip
    fig = curves(m)
    dead = "b\n(100% of the targets are\nconstant; not asked)"
    assert [ax.get_title() for ax in fig.axes] == ["z", dead, "z", "b\n(not asked)"]
    assert labels(fig.axes[0]) == ["ReLU attention", "ridge"]
    assert drawn(fig.axes[0], "ReLU attention") == [0.5, 0.9]
    assert fig.axes[0].get_ylim() == (0.4, 1.02) and abs(fig.axes[2].get_ylim()[0]) < 1e-9


@pytest.mark.parametrize("values, named", [([-3.0, -2.0], True), ([-3.0, None], True), ([-3.0, 0.9], False)])
def test_a_flagged_case_says_so_and_names_who_is_mostly_too_low_to_be_seen(values, named):
    low = LINE | {"pooled": values}
    m = {
        "examples": [5, 20], "length": 20, "cases": ["a", "b"],
        "targets": {"a": {"flag": ""}, "b": {"flag": "answers 12 times as large"}},
        "scores": {"a": {"ridge": LINE}, "b": {"ridge": low}},
    }  # fmt: skip
    fig = curves(m)
    note = "(answers 12 times as large;\nmostly below: ridge)" if named else "(answers 12 times as large)"
    assert [ax.get_title() for ax in fig.axes] == ["a", f"b\n{note}", "a", "b"]
    assert fig.axes[0].get_ylim() == fig.axes[1].get_ylim() == (0.4, 1.02)


def test_depths_have_a_column_for_each_number_of_examples():
    deep = {key: [v + 0.05 for v in values] for key, values in LINE.items()}
    scores = {"ReLU attention, 10 blocks": deep, "ReLU attention, 1 block": LINE, "ridge": LINE}
    m = {"judged": ["N = 3"], "cases": ["N = 3"], "depths": [1, 10], "examples": [5, 20], "scores": {"N = 3": scores}}
    fig = depths(m | {"targets": {"N = 3": {"flag": ""}}})
    assert [ax.get_title() for ax in fig.axes[:2]] == ["N = 3, 5 examples", "N = 3, 20 examples"]
    assert labels(fig.axes[1]) == ["ReLU attention", "ridge"]
    assert drawn(fig.axes[1], "ReLU attention") == [0.9, 0.95] and drawn(fig.axes[1], "ridge") == [0.9, 0.9]
    assert drawn(fig.axes[3], "ReLU attention") == [0.2, 0.25]
