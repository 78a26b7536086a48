from headsmith.views.solver import convergence


def test_every_program_has_a_path_and_a_ring_where_it_was_certified():
    rows = [
        {"name": "ridge", "path": [1.0, 1e-3, 0.0], "loops": 2, "bound": 1e-9},
        {"name": "lasso", "path": [2.0, 1e-2], "loops": 1, "bound": 1e-8},
    ]
    [axes] = convergence({"programs": rows, "hash": "abcdef0123456789"}).axes
    ridge, ring, lasso, *_ = axes.lines
    assert list(ridge.get_ydata()) == [1.0, 1e-3, 1e-16]  # zero has no place on a logarithmic axis
    assert (list(ring.get_xdata()), list(ring.get_ydata())) == ([2], [1e-9])
    assert len(lasso.get_xdata()) == 2 and axes.get_yscale() == "log"
    assert "abcdef012345" in axes.get_title(loc="left")
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["ridge", "lasso", "certified at the end"]
