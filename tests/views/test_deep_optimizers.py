"""A column for each case, and words where there is no score."""

from headsmith.views.deep_optimizers import curves


def test_curves_show_every_learner_with_a_score():
    line = {"pooled": [0.5, 0.9], "pooled_error": [0.1, 0.1], "within": [0.1, 0.2], "within_error": [0.1, 0.1]}
    none = {key: [None, None] for key in line}
    m = {
        "examples": [5, 20], "length": 20, "flat": {"a": 0.0, "b": 1.0},
        "scores": {"a": {"ridge": line, "ReLU attention": line}, "b": {"ridge": none}},
    }  # fmt: skip
    fig = curves(m)
    assert len(fig.axes) == 4
    assert [line.get_label() for line in fig.axes[0].lines if line.get_label()[0] != "_"] == ["ReLU attention", "ridge"]
    assert list(fig.axes[0].lines[1].get_ydata()) == [0.5, 0.9]
    assert [t.get_text() for t in fig.axes[1].texts] == ["the targets are constant:\nno score"]
