"""Errors through a perceptron: each term has a case, made by hand, in which it is all of the error."""

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.proof import worst_case

from headsmith.proof.checker import stacks
from headsmith.proof.checker.heads import Key
from headsmith.proof.checker.programs import Found, formula_at
from headsmith.proof.checker.rounding import Format, head_slip
from headsmith.proof.checker.stacks import DUST, Errors, Stack, propagated, reached, summed, witnessed, written
from headsmith.proof.checker.verdict import Budget, Rejected

from .helpers import DOUBLE, IDENTITY, SINGLE, constant, matrix, tree_of

U, TINY = SINGLE.u, SINGLE.tiny
ONE = (1.0 - 1e-9, 1.0)  # as good as x = 1


def line(slope, value=0.0):
    """slope z + value, by one key."""
    return (Key(0.0, 0.0, float(value), float(slope)),)


def stack(matrices, units=(), ends=(-1.0, 1.0)):
    """`units`: (formula, its heads) for each activation."""
    return Stack(matrices, [tree_of(text) for text, *_ in units], [tuple(heads) for _, *heads in units], ends)


def found(matrices, units=(), ends=(-1.0, 1.0), fmt=SINGLE) -> Found:
    return propagated(stack(matrices, units, ends), fmt, (1e-9, 0.0), Budget())


# errors of activations


def test_an_error_is_multiplied_by_the_matrix_behind_it():
    """x + 1/8 for x in two units, of weight 3 and -2: they cannot be relied on to cancel."""
    done = found([matrix([[1], [1]]), matrix([[1, 1], [3, -2]])], [("x", line(1, 0.125))])
    assert 0.625 <= done.approximation <= 0.6251


def test_activations_that_are_off_by_all_they_may():
    """Where 3 z stands for 3 z + 1/8, and then for 3 z + 1/4, an output of weight 2 moves by 2 (3/8 + 1/4)."""
    units = [("3*x", line(3, 0.125)), ("3*x", line(3, 0.25))]
    done = found([matrix([[1]]), matrix([[1]]), matrix([[2]])], units)
    assert 1.25 <= done.approximation <= 1.2515


def test_the_steepest_slope_is_that_where_our_own_values_lie():
    """z + 1/2 instead of z puts 1 at 3/2, where a slope of 1 has become one of 3; 0 stands there for 2."""
    units = [("x", line(1, 0.5)), ("x + 2*relu(x - 1.25)", constant(0.0))]
    done = found([matrix([[1]]), matrix([[1]]), matrix([[1]])], units)
    assert 2 + 3 * 0.5 <= done.approximation <= 3.505


@pytest.mark.parametrize("sign", [1, -1])
def test_heads_are_proved_on_what_our_own_errors_make_of_their_inputs(sign):
    """z + 1/4 instead of z puts an end at 5/4, where z is 0.15 off min(z, 1.1)."""
    bend = "min(x, 1.1)" if sign > 0 else "max(x, -1.1)"
    done = found([matrix([[1]]), matrix([[1]]), matrix([[1]])], [("x", line(1, sign / 4)), (bend, IDENTITY)])
    assert 0.4 <= done.approximation <= 0.4005


@pytest.mark.parametrize("sign", [1, -1])
def test_and_on_what_rounding_makes_of_them(sign):
    """1 + u + .. + u may come out 63 u away from 1, where z is not min(z, 1)."""
    bend = f"min(x, {1 + 63 * U})" if sign > 0 else f"max(x, {-1 - 63 * U})"
    row = [[sign] + [sign * U] * 63]
    done = found([matrix(row), matrix([[1]])], [(bend, IDENTITY)], ONE)
    assert 63 * U <= done.approximation <= 80 * U


@pytest.mark.parametrize("bend", ["min(x, 0.5)", "max(x, -0.5)"])
def test_heads_are_proved_on_what_any_unit_takes(bend):
    """One of two units is never far from 0, the other is."""
    done = found([matrix([[1], [0]]), matrix([[1, 0], [0, 1]])], [(bend, IDENTITY)])
    assert 0.5 <= done.approximation <= 0.5005


# exact arithmetic, where `one` is not quite 1


def test_what_is_short_of_one_is_paid_for():
    """The head of the bias has weight 1 - 10^-434: of a bias of 1, and of a sum of heads behind it."""
    single = found([matrix([[1]], [1])])
    assert single.approximation == 0
    zero = ("0*x", constant(0.0))
    done = found([matrix([[1]]), matrix([[0]], [1])], [zero])
    assert DUST <= done.approximation <= 1.01 * DUST
    done = found([matrix([[1]]), matrix([[0]], [1]), matrix([[1]])], [zero, ("0*x", constant(0.0))])
    assert done.approximation >= 2 * DUST


GATES = [  # of score a z + b and value l z + g
    (1e10, -1e10, 1e25, 1e10, 1.0),
    (1e-28, 0.0, 0.0, 1.0, 1e29),
    (0.0, 1e18, 1e29, 1e29, 1.0),
    (1e18, 0.0, -1e29, 0.0, -1e-18),
]


@pytest.mark.parametrize("a, b, g, l, z", GATES)
def test_dust_is_larger_than_what_it_pays_for(a, b, g, l, z):
    """As if `one` were 1, and as it is after a million layers."""
    ctx.prec = 3000
    short = 10**6 * arb(-1000).exp()
    as_if, as_is = ((l * z + g * one) / (1 + (-(a * z * one + b * one * one)).exp()) for one in (arb(1), 1 - short))
    assert 0 < abs(as_if - as_is) < DUST
    assert stacks.LARGEST * short < DUST


def test_sums_of_dust():
    errors = Errors([arb(0)] * 2, [arb(0)] * 2)
    done = summed(errors, [arb(1)] * 2, 3, matrix([[3, -4]], [1]), DOUBLE, 1.0)
    assert done.approximation[0] == 8


# rounding of the sums


def lost(terms):
    """How much a sum in float32 loses, term by term from the first."""
    total = np.float32(0)
    for term in terms:
        total = np.float32(total + np.float32(term))
    return abs(float(sum(map(Fraction, map(float, terms))) - Fraction(float(total))))


def test_a_sum_that_loses_every_term_but_one():
    """1 + u + u + ... in float32 is 1."""
    weight = [1.0] + [U] * 63
    assert lost(weight) == 63 * U
    assert 63 * U <= found([matrix([weight])], ends=ONE).rounding <= 67 * U


def test_a_bias_that_loses_every_term():
    """The bias is a term of the first sum, and of the others."""
    assert lost([1.0] + [U] * 64) == 64 * U
    assert 64 * U <= found([matrix([[U] * 64], [1])], ends=ONE).rounding <= 67 * U
    first = matrix([[0]] * 64, [1] * 64)
    assert 64 * U <= found([first, matrix([[U] * 64], [1])], [("x", IDENTITY)]).rounding <= 67 * U


def test_every_head_of_a_unit_is_a_term():
    """1 + u + u + ... with two heads of value u for each of 32 units."""
    units = [(f"0*x + {2 * U}", constant(U), constant(U))]
    done = found([matrix([[0]] * 32), matrix([[1] * 32], [1])], units)
    assert lost([1.0] + [U] * 64) == 64 * U <= done.rounding <= 68 * U


@pytest.mark.parametrize("sign", [1, -1])
def test_units_are_as_large_as_what_they_return(sign):
    done = found([matrix([[0]] * 64, [sign] * 64), matrix([[1] + [U] * 63])], [("x", IDENTITY)])
    assert 63 * U <= done.rounding <= 75 * U


def test_units_that_are_nothing_but_error_are_as_large_as_it():
    """Heads that return 1 where 0 is meant: what their sum loses goes with what they return."""
    done = found([matrix([[0]] * 64), matrix([[1] + [U] * 63])], [("0*x", constant(1.0))])
    assert 63 * U <= done.rounding - head_slip(constant(1.0), (0.0, 0.0), SINGLE)[0] * (1 + 63 * U) <= 70 * U


def test_heads_that_cancel_are_as_large_as_each_of_them():
    """1000 z + 8 and -999 z - 8 return z, and their products round like 1999 z + 16, where z is ours: 8."""
    units = [("x", line(1, 7)), ("x", line(1000, 8), line(-999, -8))]
    done = found([matrix([[1]]), matrix([[1]]), matrix([[1 / 3]])], units)
    heads = sum(head_slip(head, (8.0, 8.0), SINGLE)[0] for head in units[1][1:])
    assert done.rounding >= (heads + 4 * U * (16 + 1999 * 8)) / 3


def test_written_is_what_every_head_may_return():
    assert written((line(2, -1), (Key(9.0, 9.0, 5.0, 0.0), Key(0.0, 0.0, 1.0, -3.0))), 4.0) == pytest.approx(9 + 13)


def test_what_is_below_the_normal_range_may_be_flushed():
    """64 products of 0.99 tiny; two roundings a term may each lose tiny."""
    done = found([matrix([[0.99 * TINY] * 64])], ends=ONE)
    assert 64 * 0.99 * TINY <= 2 * 65 * TINY <= done.rounding <= 131 * TINY


def test_so_may_the_inputs():
    """0 + tiny/2, times a million."""
    assert found([matrix([[1e6]])], ends=(-TINY / 2, TINY / 2)).rounding >= 1e6 * TINY / 2


# and of the heads


STEEP = (Key(-1e4, 0.0, -1.0, 0.0), Key(1e4, 0.0, 1.0, 0.0))  # tanh(10^4 z)


def test_rounding_of_the_heads_goes_through_the_next_matrix():
    """Scores of 10^4 z lose 10^3 times as much as a sum does."""
    slip = head_slip(STEEP, (0.5e-4, 0.5e-4), DOUBLE)[0]
    ends = (-1e-4, 1e-4)
    done = found([matrix([[1], [1]]), matrix([[4, -4]])], [("tanh(10000*x)", STEEP)], ends, DOUBLE)
    worst = max(head_slip(STEEP, (z, z), DOUBLE)[0] for z in np.linspace(0, 1e-4, 41).tolist())
    assert 8 * worst <= done.rounding and slip <= worst


def test_rounding_before_an_activation_goes_with_its_slope():
    """The sum of 1 + u + .. loses 63 u, of which 100 z makes 6300 u, and a weight of -3 three times that."""
    done = found([matrix([[1.0] + [U] * 63]), matrix([[-3]])], [("100*x", line(100))], ONE)
    assert 3 * 6300 * U <= done.rounding <= 3 * 7400 * U


def test_an_adversary_who_rounds_comes_near_the_bound():
    """Two units tanh(z), every operation rounded up or down as it hurts most, at one input after another."""
    first, last, tanh = [[1.5, -1], [0.5, 2]], [1, -2], (Key(-1.0, 0.0, -1.0, 0.0), Key(1.0, 0.0, 1.0, 0.0))
    stated = Format("coarse", "d", worst_case.COARSE.unit, 0.0, 1e30)
    done = found([matrix(first, [0.25, -0.5]), matrix([last], [0.75])], [("tanh(x)", tanh)], fmt=stated)

    def at(x):
        def program(ops):
            z = [ops.dot([*row, b], [*x, 1]) for row, b in zip(first, [0.25, -0.5], strict=True)]
            scores = [[ops.dot([key.a, key.b], [value, 1]) for key in tanh] for value in z]
            heads = [ops.dot(ops.softmax(own, 4), [-1, 1]) for own in scores]
            return ops.dot([*last, 0.75], [*heads, 1])

        return program

    most = max(worst_case.worst(at(x)) for x in product((-1, -0.5, 0, 0.5, 1), repeat=2))
    assert 0.3 * done.rounding <= most <= done.rounding


COARSE = Format("coarse", "d", 2.0**-10, 1e-6, 1e30)


def gamma(n, u=COARSE.u):
    return n * u / (1 - n * u)


def test_no_term_is_missing_of_the_theorem_written_out():
    """Lines through two layers, of two heads and of one, in a format so coarse that products of errors count."""
    tiny, x = COARSE.tiny, 2.0
    pair, last = (line(5, 1), line(-3, -0.75)), line(1, 0.5)
    units = [("2*x", *pair), ("0.7*x", last)]
    done = found([matrix([[1, -1]], [1]), matrix([[3]], [-2]), matrix([[0.5]], [4])], units, (0.0, x), COARSE)
    e, r, z = 0.0, 2 * tiny + gamma(4) * (2 * x + 1) + 6 * tiny, 1 + x
    slip = sum(head_slip(head, (z + r, z + r), COARSE)[0] for head in pair)
    size = 8 * (z + r) + 1.75 + slip
    e, r = 0.25 + 2 * e, slip + 2 * r
    e, r = 3 * e, 3 * r + gamma(4) * (3 * size + 2) + 6 * tiny
    low, high = 3 * 2 * (1 - x) - 2, 3 * 2 * (1 + x) - 2
    far, other = high + e + r, low - e - r
    off = max(abs(0.5 + 0.3 * far), abs(0.5 + 0.3 * other))
    slip = head_slip(last, (far, far), COARSE)[0]
    e, r = off + 0.7 * e, slip + 0.7 * r
    size = 0.7 * high + e + r
    e, r = 0.5 * e, 0.5 * r + gamma(3) * (0.5 * size + 4) + 4 * tiny
    assert e <= done.approximation <= 1.001 * e and r <= done.rounding <= 1.003 * r


def test_numbers_that_may_overflow_have_no_bound():
    """2 times 3e38 is no number of float32, and what is within LARGEST of anything is proved of none."""
    large = [
        ([matrix([[3e38]])], []),
        ([matrix([[1e20], [1]]), matrix([[1e20, 0]])], [("x", IDENTITY)]),
        ([matrix([[0]], [3e38])], []),
        ([matrix([[1]]), matrix([[1]])], [("x", (Key(0.0, 0.0, 0.0, 1.0), Key(0.0, -500.0, 3e38, 0.0)))]),
        ([matrix([[1]]), matrix([[1]])], [("x", IDENTITY, line(2e30), line(-2e30))]),
    ]
    for matrices, units in large:
        with pytest.raises(Rejected, match="may be too large"):
            found(matrices, units, (-2.0, 2.0))
    with pytest.raises(Rejected, match="may be too large"):
        found([matrix([[1e-10]]), matrix([[1]])], [("x", IDENTITY)], (-1e41, 1e41))


def test_a_formula_without_bounded_slope_has_no_bound():
    """sqrt is infinitely steep at 0, so nothing is known of what an error there does."""
    with pytest.raises(Rejected, match="may be too large"):
        found([matrix([[1]]), matrix([[1]]), matrix([[1]])], [("x", line(1, 0.5)), ("sqrt(abs(x))", constant(0.5))])


# where values lie


def places(matrices, texts, ends=(-1.0, 1.0)):
    return reached(stack(matrices, [(text,) for text in texts], ends), Budget())


def test_boxes_hold_and_attain():
    [layer] = places([matrix([[2, -3], [0, 0.5]], [1, 0]), matrix([[1, 1]])], ["x^2"], (-1.0, 2.0))
    assert layer.taken[0][0] <= -7 and layer.taken[0][1] >= 8 and layer.taken[1] == pytest.approx((-0.5, 1.0))
    assert layer.taken[0] == pytest.approx((-7, 8))
    assert layer.given[0][0] <= 0 and layer.given[0][1] >= 64 and layer.given[0] == pytest.approx((0, 64), abs=0.1)


def test_a_bent_zonotope_holds_both_ends():
    """relu(x) + relu(-x) is |x|: half of it is lost without the directions that are each unit's own."""
    _, layer = places([matrix([[1], [-1]]), matrix([[1, 1]]), matrix([[1]])], ["relu(x)", "x"])
    assert layer.taken[0][0] <= 0 and layer.taken[0][1] >= 1 and layer.taken[0] == pytest.approx((0, 1), abs=0.01)


def test_a_zonotope_remembers_what_boxes_forget():
    """z - z is 0, whatever the box of z is."""
    _, layer = places([matrix([[1], [1]]), matrix([[1, -1]], [3]), matrix([[1]])], ["x", "x"])
    assert layer.taken[0] == pytest.approx((3, 3), abs=0.1)


def test_a_zonotope_knows_its_bias_and_its_chord():
    """On [3, 5] relu is z, on [-5, -3] it is 0: no box comes near what is left of z + 1 - z, or of -z + z."""
    for first, last, true in (([4, 3], [1, -1], 1), ([4, -4], [1, 1], None)):
        _, layer = places([matrix([[1], [1]], first), matrix([last]), matrix([[1]])], ["relu(x)", "x"])
        wanted = (true, true) if true is not None else (3, 5)
        assert layer.taken[0][0] <= wanted[0] and layer.taken[0][1] >= wanted[1]
        assert layer.taken[0] == pytest.approx(wanted, abs=0.1)


def test_boxes_know_what_a_zonotope_forgets():
    """relu is never negative, though its band is."""
    _, layer = places([matrix([[1]]), matrix([[1]]), matrix([[1]])], ["relu(x)", "x"])
    assert -0.01 <= layer.taken[0][0] <= 0 and 1 <= layer.taken[0][1] <= 1.01


SHAPE = st.sampled_from(
    ["relu(x)", "abs(x)", "tanh(3*x)", "x^2 - x", "sin(4*x)", "gelu(x)", "exp(x)", "relu(x) - 0.5*relu(-x)"]
)


def plainly(text):
    """A formula as a function of floats."""
    tree = tree_of(text)
    return lambda z: float(formula_at(tree, {"x": arb(z)}))


@settings(max_examples=12)
@given(widths=st.lists(st.integers(1, 4), min_size=3, max_size=4), text=SHAPE, seed=st.integers(0, 99))
def test_every_value_is_where_it_is_said_to_be(widths, text, seed):
    draw = np.random.default_rng(seed)
    matrices = [matrix(draw.normal(size=(b, a)).tolist(), draw.normal(size=b).tolist()) for a, b in pairwise(widths)]
    layers = places(matrices, [text] * (len(widths) - 2))
    inputs = [*draw.uniform(-1, 1, (6, widths[0])), *draw.choice([-1.0, 1.0], (6, widths[0]))]
    for x in inputs:
        for own, layer in zip(matrices, layers, strict=False):
            z = np.array(own.rows) @ x + np.array(own.bias)
            x = np.array([plainly(text)(value) for value in z])
            for values, sides in ((z, layer.taken), (x, layer.given)):
                assert all(a - 1e-9 <= value <= b + 1e-9 for value, (a, b) in zip(values, sides, strict=True))


@settings(max_examples=20)
@given(text=SHAPE, lo=st.floats(-5, 5), wide=st.floats(0, 5), share=st.floats(0, 1))
def test_bands_hold_the_formula(text, lo, wide, share):
    z = min(lo + share * wide, lo + wide)
    t, m, r = stacks._band(tree_of(text), (lo, lo + wide), Budget())
    value = formula_at(tree_of(text), {"x": arb(z)})
    assert value is not None and not abs(value - t * z - m) > r
    assert float(r.mid()) <= 3 + 60 * wide * math.exp(lo + wide)


def test_a_chord_that_is_no_number_is_no_slope():
    """exp(1000) is beyond floats: the band is then wide, and not malformed."""
    t, _, r = stacks._band(tree_of("exp(x)"), (0.0, 1000.0), Budget())
    assert t == 0 and not r < 1e300


# what is certainly wrong, and what takes too long


def test_a_false_network_is_named():
    wrong = stack([matrix([[1]]), matrix([[1]])], [("x^2", line(1))])
    with pytest.raises(Rejected, match="false") as rejected:
        witnessed(wrong, 0.5, Budget())
    assert rejected.value.args[0] == 1
    witnessed(wrong, 2.0, Budget())
    peak = (Key(-20.0, 0.0, 0.0, 0.0), Key(0.0, 10.0, 100.0, 0.0), Key(20.0, 0.0, 0.0, 0.0))
    witnessed(stack([matrix([[1]]), matrix([[1]])], [("1/x", peak)]), 2.0, Budget())  # 1/0 may be 100


def spent(work):
    budget = Budget(work=10**9)
    work(budget)
    return 10**9 - budget.left


def test_work_is_paid_for_before_it_is_done(monkeypatch):
    """Wide matrices, many directions, many keys and long formulas cost what their products do."""
    n = 100
    deep = stack([*[matrix([[1] * n] * n)] * 2, matrix([[1] * n])], [("x", IDENTITY), ("x", IDENTITY)])
    assert spent(lambda budget: witnessed(deep, 1e99, budget)) >= 10 * 2 * n * n / 8
    monkeypatch.setattr(stacks, "extent", lambda *_: (-1.0, 1.0))
    assert spent(lambda budget: reached(deep, budget)) >= n * n * 2 * n / 64 + 8 * n * n / 8
    flat = stack([matrix([[1] * 20000])])
    assert spent(lambda budget: propagated(flat, DOUBLE, (1.0, 1.0), budget)) >= 20000 / 8
    keys = [stack([matrix([[1]] * m), matrix([[1] * m])], [("x", *[line(0.02)] * 50)]) for m in (1, 50)]
    assert spent(lambda budget: witnessed(keys[1], 1e99, budget)) >= 5 * 50 * 50
    few, many = (spent(lambda budget, own=own: propagated(own, DOUBLE, (1.0, 1.0), budget)) for own in keys)
    assert many - few >= 49 * 50
    long = stack([matrix([[1]] * 50), matrix([[1] * 50])], [(" + ".join(f"sin({k}*x)" for k in range(40)), line(1))])
    assert spent(lambda budget: witnessed(long, 1e99, budget)) >= 5 * 50 * 120


def test_huge_zonotopes_are_not_even_begun(monkeypatch):
    """A direction of its own for each of 3000 units would make 9 million balls."""
    monkeypatch.setattr(stacks, "extent", lambda *_: (-1.0, 1.0))
    huge = stack([matrix([[1]] * 3000), matrix([[1] * 3000]), matrix([[1]])], [("x", IDENTITY), ("x", IDENTITY)])
    with pytest.raises(Rejected, match="steps"):
        reached(huge, Budget(work=500_000))
