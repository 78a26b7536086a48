"""Any compiled network in one picture: errors under their bound, and where each head looks."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.views.compiled import LEAST, PANELS, ROWS, SHOWN, _few, patterns, picture


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
    for pattern in found:
        assert len(pattern.weights) <= ROWS and np.allclose(pattern.weights.sum(-1), 1)
        assert pattern.weights.shape == (len(pattern.rows), len(pattern.keys))


def test_rows_and_keys_bear_their_names():
    net = hs.compile(hs.target.Clip([[1.0], [2.0]], [0.0, 0.5]), domain=(-1, 1), eps=1e-3)
    axis = picture(net).axes[1]
    assert [text.get_text() for text in axis.get_xticklabels()] == ["itself", "key 0"]
    assert [text.get_text() for text in axis.get_yticklabels()][:2] == ["head 0, token.0", "head 0, token.1"]


def test_only_tokens_that_are_read_are_drawn():
    net = hs.compile(hs.target.PromptClip(tokens=2, features=1), domain=(-1, 1), eps=0.2)
    [pattern] = patterns(net, [x[0] for x in net.target.sample(net.certificate.domain, 1, None)])
    assert pattern.rows == ["head 0, token.0", "head 0, token.1"]


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        ("x*y", {}, "proved: "),
        (torch.tanh, {"lipschitz": 1}, "if your constant holds: "),
        (hs.target.SequenceMap(["x1/4"], 1, 1), {"method": "printed"}, "proved: "),
    ],
)
def test_a_line_that_is_not_proved_is_not_called_so(target, options, words):
    net = hs.compile(target, domain=(-1, 1), eps=0.3, **options)
    label = picture(net).axes[0].lines[1].get_label()
    assert words in label and ("proved" in label) == (net.certificate.kind == "proved")


def test_errors_far_below_the_bound_are_still_seen():
    net = hs.compile(hs.target.Clip([[1.0, 0.5]], [0.0]), domain=(-1, 1), eps=1e-6)
    axis = picture(net).axes[0]
    assert axis.get_xscale() == "log" and (axis.lines[0].get_xdata() > 0).all()
    assert picture(hs.compile("x*y", domain=(-1, 1), eps=1e-2)).axes[0].get_xscale() == "linear"


@pytest.mark.parametrize("count", [1, 8, 9, 64])
def test_an_axis_has_at_most_eight_ticks(count):
    assert len(_few(count)) <= 8 and _few(count)[0] == 0


def test_few_inputs_are_drawn_where_each_takes_long():
    """A step of a training is a gradient in balls: 200 prompts of a hundred steps would take most of a minute."""
    target = hs.target.Training(widths=[2, 4, 1], samples=20, steps=20)
    axes = picture(hs.compile(target, eps=1e-6)).axes
    assert target.effort == 2.4 and f"error of {int(SHOWN / 2.4)} random inputs" in [axis.get_title() for axis in axes]
    long = hs.target.Training(widths=[5, 8, 8, 2], samples=50, steps=4)
    assert (
        SHOWN / long.effort > LEAST > SHOWN / replace(long, steps=100).effort
        and hs.target.Training(widths=[2, 1]).effort == 1.0
    )


def test_a_bound_in_l2_is_compared_with_mean_squares():
    """On a box of volume 16, (integral)^(1/2) is four times the root mean square."""
    net = hs.compile(hs.target.EquivariantMap(torch.sin, 2, 1, lipschitz=1), domain=(-2, 2), eps=1)
    axes = picture(net).axes[0]
    [curve, line] = axes.get_lines()
    assert line.get_xdata()[0] == pytest.approx(net.certificate.bound / 4)
    assert np.sqrt(np.mean(curve.get_xdata() ** 2)) < line.get_xdata()[0] < 1.5 * max(curve.get_xdata())
    assert axes.get_legend().get_texts()[0].get_text().startswith("root mean square,\nbound, if your constant holds")
