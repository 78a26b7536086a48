import numpy as np

from headsmith.views.several_variables import head, sizes

POINTS = [
    {"formula": "x*y", "eps": 1e-2, "tokens": 4, "prototype": 9},
    {"formula": "x*y", "eps": 1e-4, "tokens": 9, "prototype": None},
    {"formula": "x+y", "eps": 1e-2, "tokens": None, "prototype": None},
]


def test_sizes_draw_ours_solid_and_the_prototype_dotted_and_leave_out_refusals():
    [axes] = sizes({"points": POINTS}).axes
    ours, prototype, _ = axes.lines
    assert list(ours.get_ydata()) == [4, 9] and ours.get_label() == "x*y"
    assert list(prototype.get_ydata()) == [9] and prototype.get_linestyle() == ":"
    assert axes.xaxis_inverted()


def test_a_head_is_drawn_with_its_error_in_the_proved_band():
    picture = {
        "formula": "x*y", "interval": (-1.0, 1.0), "bound": 1e-3, "values": [[0.0, 1.0], [2.0, 3.0]],
        "error": [[0.0, 5e-4], [-5e-4, 0.0]], "weights": [[0.25, 0.25], [0.25, 0.25]], "at": (0.35, -0.4),
    }  # fmt: skip
    values, error, weights = head({"picture": picture}).axes[:3]
    assert np.array_equal(values.images[0].get_array(), [[0.0, 2.0], [1.0, 3.0]])  # x to the right
    assert error.images[0].get_clim() == (-1e-3, 1e-3)
    assert values.get_title() == "x*y" and weights.get_title() == "attention at x = 0.35, y = -0.4"
