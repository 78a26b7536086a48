import numpy as np

from headsmith.views.training import training_curves

MEASURED = {
    "title": "y from x",
    "losses": {"forward pass": [2.0, 1.0, 0.5], "autograd": [2.0, 1.0, 0.5 + 1e-12]},
    "weight gaps": [0.0, 1e-16, 2e-16],
    "perturbations": [1e-13, 2e-13],
}


def lines(ax):
    return {line.get_label(): line.get_xydata() for line in ax.get_lines()}


def test_the_curves_are_the_numbers():
    above, below = training_curves(MEASURED).axes
    assert [line[:, 1].tolist() for line in lines(above).values()] == list(MEASURED["losses"].values())
    assert above.get_yscale() == below.get_yscale() == "log"
    drawn = lines(below)
    gap = drawn["difference of the losses"]
    assert np.isnan(gap[:2, 1]).all() and abs(gap[2, 1] - 1e-12) < 1e-15  # 0 has no logarithm
    certified = next(xy for label, xy in drawn.items() if label.startswith("certified"))
    assert certified[:, 0].tolist() == [1, 2]


def test_a_loss_that_reaches_zero_is_drawn_too():
    flat = MEASURED | {"losses": {"forward pass": [1.0, 0.0, 0.0], "autograd": [1.0, 0.0, 0.0]}}
    assert training_curves(flat).axes[0].get_yscale() == "linear"
