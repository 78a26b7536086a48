"""Any compiled network in one picture: errors under their bound, and where each head looks."""

import numpy as np
import pytest

import headsmith as hs
from headsmith.views.compiled import PANELS, ROWS, SHOWN, _few, patterns, picture


@pytest.fixture(scope="module")
def net():
    return hs.compile("x*y", domain=(-1, 1), eps=1e-2)


def test_a_formula_of_one_variable_is_drawn_over_its_domain():
    fig = picture(hs.compile("sin(3*x)", domain=(-2, 2), eps=1e-3))
    assert "sin(3*x)" in fig.axes[0].get_title(loc="left")


def test_errors_lie_left_of_the_line_that_was_proved(net):
    first = picture(net).axes[0]
    errors, bound = first.lines
    assert len(errors.get_xdata()) == SHOWN and list(errors.get_xdata()) == sorted(errors.get_xdata())
    assert errors.get_xdata()[-1] <= net.certificate.bound == bound.get_xdata()[0]


def test_the_patterns_of_the_last_heads_are_shares(net):
    one = [x[0] for x in net.target.sample(net.certificate.domain, 1, None)]
    found = patterns(net, one)
    assert 1 <= len(found) <= PANELS
    for _, weights in found:
        assert len(weights) <= ROWS and np.allclose(weights.sum(-1), 1)


@pytest.mark.parametrize("count", [1, 8, 9, 64])
def test_an_axis_has_at_most_eight_ticks(count):
    assert len(_few(count)) <= 8 and _few(count)[0] == 0
