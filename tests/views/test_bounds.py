"""Two activations and a path, drawn from the record."""

import math

from headsmith.views.bounds import LINES, gradient_bounds


def case(name, knots, value):
    return {"activation": name, "depth": 3, "knots": knots} | {line: value for line in LINES}


def test_panels_and_the_numbers_of_the_record():
    cases = [case(name, knots, 100.0 / knots) for name in ("tanh", "sigmoid") for knots in (10, 100)]
    cases[0]["norms of layers"] = math.inf
    told = {"seen": [1e-3, 1e-2], "certified": [1e-2, 10.0], "printed": [1.0, 1e40]}
    path = {"gaps": [1e-4, 2e-4], "told": told, "moved": 0.5}
    fig = gradient_bounds({"cases": [*cases, case("tanh", 10, 7.0) | {"depth": 2}], "path": path, "steps": [1, 10]})
    tanh, sigmoid, paths = fig.axes
    lines = {line.get_label(): line for line in tanh.get_lines()}
    assert list(lines) == list(LINES) and lines["measured"].get_xydata().tolist() == [[10, 10], [100, 1]]
    assert math.isnan(lines["norms of layers"].get_ydata()[0])  # nothing is bounded there
    assert sigmoid.get_title().startswith("sigmoid")
    drawn = {line.get_label(): line.get_ydata() for line in paths.get_lines()}
    assert list(drawn["eps certified"]) == [1e-2, 10.0] and list(drawn["as printed"]) == [1.0, 1e40]
    assert paths.get_ylim()[1] == 1e8
