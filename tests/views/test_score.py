import pytest

from headsmith.views.score import score_networks


def case(flat):
    points = [[float(k)] * (1 if flat else 2) for k in range(4)] if flat else [[a, b] for a in (0, 1.0) for b in (0, 1)]
    values = [[0.5 * v for v in p] for p in points]
    times = [0.2, 1.0] if flat else [0.2]
    field = {"x": points, "times": times, "learnt": [values] * len(times), "exact": [points] * len(times),
             "density": [0.1, 0.4, 0.2, 0.3]}  # fmt: skip
    samples = {who: points for who in ("mixture", "network", "one Gaussian")}
    return {"field": field, "samples": samples, "steps": [0, 10, 20], "R^2 over steps": [-3.0, 0.5, 0.75],
            "R^2": {"linear least squares": 0.4, "one Gaussian": 0.6}}  # fmt: skip


def test_two_rows_and_the_numbers_of_the_record():
    fig = score_networks({"cases": {"1-D": case(True), "2-D": case(False)}})
    assert len(fig.axes) == 6
    learning = fig.axes[2].get_lines()
    assert learning[0].get_xydata().tolist() == [[10, 0.5], [20, 0.75]]  # step 0 has no logarithm
    assert [line.get_ydata()[0] for line in learning[1:]] == pytest.approx([0.4, 0.6])
    arrows = fig.axes[3].collections[-1]
    assert arrows.U.tolist() == [0, 0, 0.5, 0.5]
