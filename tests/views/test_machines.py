"""Pictures of the machines: plain numbers in, the artists that show them out."""

from headsmith.views.machines import bars, drop, heads


def labels(axes):
    return {text.get_text() for text in axes.get_legend().get_texts()}


def test_the_drop_of_table_4_has_five_lines_over_p():
    kinds = ("proof interval", "printed", "float32", "float64", "ours")
    measured = {"P": [20, 80]} | {kind: [10.0**-i, 10.0 ** -(i + 1)] for i, kind in enumerate(kinds)}
    [axes] = drop(measured).axes
    assert axes.get_yscale() == "log" and len(axes.lines) == 5
    assert [line.get_ydata()[0] for line in axes.lines] == [measured[kind][0] for kind in kinds]


def test_heads_stand_between_the_printed_and_the_constructed():
    measured = {
        "heads": [1, 12],
        "printed": [3.0, 0.7],
        "trained": [2.0, 0.5],
        "spread": [0.1, 0.6],
        "predict zero": 4.0,
        "constructed": 1e-20,
    }
    [axes] = heads(measured).axes
    [band] = axes.collections
    assert band.get_paths()[0].vertices[:, 1].min() == 0.1 and band.get_paths()[0].vertices[:, 1].max() == 2.1
    assert labels(axes) == {"printed, trained", "ours, trained", "predict zero", "constructed"}
    assert list(axes.lines[1].get_ydata()) == [2.0, 0.5]


def test_bars_leave_out_what_was_not_measured():
    measured = {"algorithms": ["lasso", "ridge"], "frozen": [0.1, 0.2], "constructed": [1e-20, 1e-20], "title": "t"}
    [axes] = bars(measured).axes
    assert labels(axes) == {"frozen", "constructed"}
    assert [bar.get_height() for bar in axes.patches] == [0.1, 0.2, 1e-20, 1e-20]
    assert axes.get_title(loc="left") == "t"


def test_bars_of_like_size_start_at_zero():
    measured = {"algorithms": ["lasso"], "frozen": [0.55], "constructed": [0.6], "title": "t"}
    [axes] = bars(measured).axes
    assert axes.get_yscale() == "linear" and axes.get_ylim()[0] == 0
    [axes] = bars({**measured, "constructed": [1e-20]}).axes
    assert axes.get_yscale() == "log"
