"""Errors through a stack: each term has a case, made by hand, in which it is all of the error."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headsmith.functions import parse
from headsmith.functions.activations import NAMES, leaky, named
from headsmith.proof.rounding import FORMATS
from headsmith.proof.stack import SAMPLES, Linear, Nonlinearity, Unit, Zonotope, activation, carry, sensitivities
from headsmith.proof.statement import Head

LINE = (Head(np.zeros(1), np.zeros(1), np.zeros(1), np.ones(1)),)
RELU, SIGMOID, STEEP = activation(named("relu")), activation(named("sigmoid")), activation(leaky(3.0))
F64, F32 = FORMATS["float64"], FORMATS["float32"]
U = F32.unit


def linear(out, into, seed):
    g = np.random.default_rng(seed)
    return Linear(g.normal(size=(out, into)), g.normal(size=out))


def plain(weight, bias):
    return Linear(np.array(weight, dtype=float), np.array(bias, dtype=float))


def constant(value):
    return Head(np.zeros(1), np.zeros(1), np.full(1, value), np.zeros(1))


def carried(linears, sigma, units, domain=(-1.0, 1.0), fmt=F64):
    return carry(linears, [sigma] * len(units), domain, fmt, lambda layer, _: units[layer])


# errors of activations


def test_the_recursion_by_hand():
    """e_1 = eps_1, e_2 = |W_2| e_1: with eps_1 = 1/8 everywhere."""
    first, second = linear(3, 2, 0), linear(4, 3, 1)
    done = carried([first, second], RELU, [Unit(LINE, 0.125, 0.0, 2.0)])
    assert done.approximation == pytest.approx(np.abs(second.weight).sum(1) * 0.125)
    assert 0 < done.rounding.max() < 1e-13
    lo, hi = done.domains[0]
    reach = np.abs(first.weight).sum(1)
    assert lo == pytest.approx((first.bias - reach).min(), rel=1e-6)
    assert hi == pytest.approx((first.bias + reach).max(), rel=1e-6)


@pytest.mark.parametrize("part", ["approximation", "rounding"])
def test_activations_that_are_off_by_all_they_may(part):
    """Where relu(3z) has slope 3, heads that return 1/8 and 1/4 too much move the output by 2 (3 (1/8) + 1/4)."""
    ours = [Unit(LINE, *((e, 0.0) if part == "approximation" else (0.0, e)), 3.0) for e in (0.125, 0.25)]
    stack = [plain([[1]], [-5]), plain([[1]], [0]), plain([[2]], [0])]
    done = carried(stack, STEEP, ours)
    assert getattr(done, part)[0] == pytest.approx(2 * (3 * 0.125 + 0.25), rel=1e-6)
    x, (one, two) = 0.5, (0.125, 0.25)
    off = 2 * (3 * (3 * (x - 5) + one) + two) - 2 * 3 * 3 * (x - 5)
    assert off == 1.25 <= getattr(done, part)[0]


@pytest.mark.parametrize("part", ["approximation", "rounding"])
def test_a_domain_holds_what_our_own_errors_make_of_the_preactivations(part):
    """Heads that return 1/8 too much put the next preactivation 1/8 |W| beyond its true range, at either end."""
    ours = Unit(LINE, *((0.125, 0.0) if part == "approximation" else (0.0, 0.125)), 1.0)
    stack = [plain([[1]], [3]), plain([[2], [-2]], [0, 0]), plain([[1, 1]], [0])]
    lo, hi = carried(stack, RELU, [ours, ours]).domains[1]
    assert hi >= 2 * (4 + 0.125) and lo <= -2 * (4 + 0.125)
    assert hi <= 8.2501 and lo >= -8.2501


def test_code_that_departs_from_its_formula_is_paid_for():
    """Beyond 20 torch's softplus is z, which is log(1 + e^-20) = 2.06e-9 from its formula."""
    softplus = activation(named("softplus"))
    for end, gap in ((30.0, 2.0611e-9), (19.0, 0.0)):
        done = carried([plain([[1]], [0]), plain([[1]], [0])], softplus, [Unit(LINE, 0.0, 0.0, 1.0)], (0.0, end))
        assert gap <= done.approximation[0] <= gap * 1.001


# rounding of the matrix products


def lost(terms):
    """How much a sum in float32 loses, term by term from the first."""
    total = np.float32(0)
    for term in terms:
        total = np.float32(total + np.float32(term))
    return abs(float(sum(map(Fraction, map(float, terms))) - Fraction(float(total))))


def test_a_sum_that_loses_every_term_but_one():
    """1 + u + u + ... in float32 is 1: the loss is (n - 1) u, the bound of the first layer is (n + 2) u."""
    weight = [1.0] + [U] * 63
    assert lost(weight) == 63 * U
    done = carried([plain([weight], [0])], RELU, [], (1.0 - 1e-9, 1.0), F32)
    assert 63 * U <= done.rounding[0] <= 67 * U


def test_a_sum_of_units_that_loses_every_term_but_one():
    """The same behind 64 sigmoids of 0, which return 1/2 exactly."""
    weight = [2.0] + [2 * U] * 63
    first = plain(np.zeros((64, 1)), np.zeros(64))
    done = carried([first, plain([weight], [0])], SIGMOID, [Unit(LINE, 0.0, 0.0, 0.25)], fmt=F32)
    assert lost(np.array(weight) / 2) == 63 * U <= done.rounding[0] <= 68 * U


@pytest.mark.parametrize("part", ["approximation", "rounding"])
def test_a_sum_of_units_that_are_nothing_but_error(part):
    """relu(0) = 0, but heads that are off by 1 return 1: what their sum loses is counted by what they return."""
    first, weight = plain(np.zeros((64, 1)), np.zeros(64)), [1.0] + [U] * 63
    unit = Unit(LINE, *((1.0, 0.0) if part == "approximation" else (0.0, 1.0)), 1.0)
    done = carried([first, plain([weight], [0])], RELU, [unit], fmt=F32)
    own = done.rounding[0] - (0.0 if part == "approximation" else 1.0 + 63 * U)
    assert 63 * U <= own <= 70 * U


def test_every_head_of_a_unit_is_a_term():
    """1 + u + u + ... with two heads of value u for each of 32 units: 64 terms are lost to a bias of 1."""
    first, heads = plain(np.zeros((32, 1)), np.zeros(32)), (constant(U), constant(U))
    done = carried([first, plain([[1.0] * 32], [1])], RELU, [Unit(heads, 0.0, 0.0, 1.0)], fmt=F32)
    assert lost([1.0] + [U] * 64) == 64 * U <= done.rounding[0] <= 68 * U


def test_heads_that_cancel_are_as_large_as_each_of_them():
    """1000 z + 8 and -999 z - 8 return z, and their products round like 1999 z + 16; |z| is ours, errors included."""
    heads = tuple(Head(np.zeros(1), np.zeros(1), np.full(1, g), np.full(1, l)) for g, l in ((8.0, 1e3), (-8.0, -999.0)))
    unit = Unit(heads, 0.0, 0.5, 1.0)
    assert unit.size(np.ones(1), np.full(1, 2.0))[0] == pytest.approx(16 + 1999 * 2 + 0.5)
    stack = [plain([[1]], [0]), plain([[1]], [0]), plain([[1]], [0])]
    plus = [Unit(LINE, 7.0, 0.0, 1.0), Unit(heads, 0.0, 0.0, 1.0)]
    done = carried(stack, RELU, plus, fmt=F32)
    assert done.rounding[0] >= 4 * U * (16 + 1999 * 8)


def test_products_below_the_normal_range_may_be_flushed():
    tiny = F32.tiny
    done = carried([plain([[0.99 * tiny] * 64], [0])], RELU, [], (1.0 - 1e-9, 1.0), F32)
    assert 64 * 0.99 * tiny <= done.rounding[0] <= 200 * tiny


def test_rounding_is_multiplied_by_the_matrices_behind_it():
    """The first sum loses 63 u; three outputs of weight 5 pass it on."""
    first, last = plain([[1.0] + [U] * 63], [0]), plain([[5.0], [-5.0]], [0, 0])
    done = carried([first, last], RELU, [Unit(LINE, 0.0, 0.0, 1.0)], (1.0 - 1e-9, 1.0), F32)
    assert (done.rounding >= 5 * 63 * U).all() and (done.rounding <= 5 * 72 * U).all()


def test_float32_rounds_more():
    stack = [linear(3, 2, 0), linear(4, 3, 1)]
    fine, coarse = (carried(stack, RELU, [Unit(LINE, 0.0, 0.0, 1.0)], fmt=fmt).rounding.max() for fmt in (F64, F32))
    assert coarse / fine == pytest.approx(2.0**29, rel=1e-3)


def test_sensitivity_is_what_an_error_of_one_costs():
    stack = [linear(3, 2, 0), linear(4, 3, 1), linear(2, 4, 2)]
    last, middle = np.abs(stack[2].weight), np.abs(stack[1].weight)
    assert sensitivities(stack, [1.0, 3.0]) == pytest.approx([(3 * last @ middle).sum(1).max(), last.sum(1).max()])


# where values lie


def test_boxes_hold_what_float64_loses():
    """1 + 2^-54 - 1 is 0 in float64 and 2^-54 in truth."""
    row, x = plain([[1.0, 1.0]], [-1.0]), np.array([1.0, 2.0**-54])
    lo, hi = row.box(x, x)
    assert lo[0] <= 2.0**-54 <= hi[0] <= 1e-14
    z = Zonotope(x, np.zeros((2, 1)), np.zeros(2)).through(row)
    lo, hi = z.meet(np.full(1, -9.0), np.full(1, 9.0))
    assert lo[0] <= 2.0**-54 <= hi[0] <= 1e-14


def test_noise_goes_through_matrices_and_activations():
    z = Zonotope(np.zeros(2), np.zeros((2, 1)), np.ones(2)).through(plain([[2.0, -3.0]], [0.0]))
    lo, hi = z.meet(np.full(1, -9.0), np.full(1, 9.0))
    assert lo[0] <= -5 and hi[0] >= 5
    z = z.bent(np.array([-2.0]), np.zeros(1), np.zeros(1))
    lo, hi = z.meet(np.full(1, -99.0), np.full(1, 99.0))
    assert lo[0] <= -10 and hi[0] >= 10


def test_a_bent_zonotope_holds_both_ends():
    """relu on [-1, 1] is z/2 + 1/4 +- 1/4, and 1 at the end is the very edge of it."""
    one = np.ones(1)
    z = Zonotope(np.zeros(1), np.eye(1), np.zeros(1)).bent(*RELU.band(-one, one, 1.0))
    lo, hi = z.meet(np.full(1, -9.0), np.full(1, 9.0))
    assert lo[0] <= -0.5 and 1 <= hi[0] <= 1.01


def test_what_lies_between_the_samples_of_an_activation():
    """|z| with its kink in the middle between two samples: no sample comes nearer to 0 than half a step."""
    step = 1 / SAMPLES
    ends = np.array([-(SAMPLES - 1) / 2 * step]), np.array([(SAMPLES + 1) / 2 * step])
    _, shift, width = activation(leaky(-1.0)).band(*ends, 1.0)
    assert abs(0.0 - shift[0]) <= width[0]
    assert width[0] <= abs(shift[0]) + 2 * step


def test_a_box_holds_the_bottom():
    for formula, place in (("silu(x)", -1.2785), ("gelu(x)", -0.7518), ("relu(x) - -0.5*relu(-x)", 0.0)):
        sigma = activation(parse(formula))
        low, _ = sigma.box(np.array([-3.0]), np.array([1.0]))
        assert low[0] <= float(sigma.expression(place))


def test_zonotope_remembers_what_boxes_forget():
    """x - x is 0, whatever the box of x is."""
    split, join = plain([[1], [1]], [0, 0]), plain([[1, -1]], [0])
    tied = Zonotope(np.zeros(1), np.array([[5.0]]), np.zeros(1)).through(split).through(join)
    lo, hi = join.box(*split.box(np.array([-5.0]), np.array([5.0])))
    assert hi[0] >= 10 and tied.meet(lo, hi)[1][0] < 1e-6


@settings(max_examples=30)
@given(
    name=st.sampled_from([*sorted(NAMES), "LeakyReLU(-0.7)", "Hardtanh(0.5, 2)"]),
    ends=st.tuples(st.floats(-30, 30), st.floats(0, 20)),
    share=st.floats(0, 1),
)
def test_bands_and_boxes_hold_the_activation(name, ends, share):
    sigma = activation(named(name))
    lo, hi = np.array([ends[0]]), np.array([ends[0] + ends[1]])
    z = lo + share * (hi - lo)
    value = float(sigma.expression(z)[0])
    low, high = sigma.box(lo, hi)
    assert low[0] <= value <= high[0]
    tilt, shift, width = sigma.band(lo, hi, sigma.steep)
    assert abs(value - tilt[0] * z[0] - shift[0]) <= width[0]


def test_zonotope_and_box_hold_the_image():
    first, second = linear(5, 3, 3), linear(4, 5, 4)
    x = np.random.default_rng(5).uniform(-1, 1, (500, 3))
    z = Zonotope(np.zeros(3), np.eye(3), np.zeros(3)).through(first).through(second)
    lo, hi = z.meet(*second.box(*first.box(-np.ones(3), np.ones(3))))
    y = (x @ first.weight.T + first.bias) @ second.weight.T + second.bias
    assert (lo <= y.min(0)).all() and (y.max(0) <= hi).all()
    assert (hi - lo).sum() < 0.9 * np.subtract(*second.box(*first.box(-np.ones(3), np.ones(3)))[::-1]).sum()


def test_boxes_are_attained():
    row = plain([[2.0, -3.0]], [1.0])
    lo, hi = row.box(np.array([-1.0, 0.0]), np.array([1.0, 2.0]))
    assert (lo[0], hi[0]) == pytest.approx((-7, 3), rel=1e-6) and lo[0] <= -7 and hi[0] >= 3
    assert isinstance(RELU, Nonlinearity)
