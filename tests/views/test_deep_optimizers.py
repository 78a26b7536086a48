"""A column for each case or size, and words where there is no score."""

from headsmith.views.deep_optimizers import curves, depths

LINE = {"pooled": [0.5, 0.9], "pooled_error": [0.1, 0.1], "within": [0.1, 0.2], "within_error": [0.1, 0.1]}


def labels(ax):
    return ax.get_legend_handles_labels()[1]


def test_curves_show_every_learner_with_a_score():
    m = {
        "examples": [5, 20], "length": 20,
        "targets": {"a": {"flag": ""}, "b": {"flag": "100% of the targets are constant"}},
        "scores": {"a": {"ridge": LINE, "ReLU attention": LINE}, "b": {}},
    }  # fmt: skip
    fig = curves(m)
    assert len(fig.axes) == 4
    assert labels(fig.axes[0]) == ["ReLU attention", "ridge"]
    assert list(fig.axes[0].lines[1].get_ydata()) == [0.5, 0.9] and not fig.axes[0].texts
    assert [t.get_text() for t in fig.axes[1].texts] == ["not asked: 100% of the\ntargets are constant"]
    flagged = m | {"targets": m["targets"] | {"a": {"flag": "answers 12 times as large as in training"}}}
    assert curves(flagged).axes[0].texts[0].get_text().startswith("flagged: answers 12")


def test_depths_have_a_column_for_each_number_of_examples():
    deep = {key: [v + 0.05 for v in values] for key, values in LINE.items()}
    scores = {"ReLU attention, 1 block": LINE, "ReLU attention, 2 blocks": deep, "ridge": LINE}
    fig = depths({"judged": ["N = 3"], "depths": [1, 2], "examples": [5, 20], "scores": {"N = 3": scores}})
    assert [ax.get_title() for ax in fig.axes[:2]] == ["N = 3, 5 examples", "N = 3, 20 examples"]
    second, within = fig.axes[1], fig.axes[3]
    assert sorted(labels(second)) == ["ReLU attention", "ridge"]
    curve = next(c for c in second.containers if c.get_label() == "ReLU attention")
    assert [round(float(v), 6) for v in curve.lines[0].get_ydata()] == [0.9, 0.95]
    curve = next(c for c in within.containers if c.get_label() == "ReLU attention")
    assert [round(float(v), 6) for v in curve.lines[0].get_ydata()] == [0.2, 0.25]
