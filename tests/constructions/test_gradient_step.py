"""Each term of the bound of a step of gradient descent, at an input that needs it."""

import math

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.constructions.gradient_step import GradientStep, gate_heads, step_error
from headsmith.proof.composition import Error
from headsmith.proof.residuals import Ranges, prove_table
from headsmith.proof.rounding import FORMATS
from headsmith.proof.statement import Head

SINGLE = FORMATS["float32"]


def stepped(level, x, w, rate, l2=0.0, gates=False):
    """(w after a step, its error) of a float32 network whose table is one key: f = level, without error.

    x (batch, n, 1), w (batch, 1).
    """
    target = hs.target.Descent("squared", 1, x.shape[1], 1, rate, l2)
    head = Head.table([2.0**40, 0.0], [0.0, 0.0], [level, 0.0]) if gates else Head.table([0.0], [0.0], [level])
    network = GradientStep((head,), x.shape[1], 1, gates).network(target, "float32")
    y = -torch.ones_like(x[..., 0]) if gates else torch.zeros_like(x[..., 0])  # a gate that is open
    found = target.decode(network(target.encode(x, y, w))).double()
    x, w = x.double(), w.double()
    exact = w - rate * ((level * x).mean(-2) + l2 * w)
    return found, float((found - exact).abs().max())


def bound(level, x, w, rate, l2=0.0, values=None):
    ranges = Ranges(float(x.abs().max()), 0.0, float(w.abs().max()), 1.0)
    table = Error(0.0, 0.0, (0.0, level))
    return step_error(table, level if values is None else values, ranges, 1, x.shape[1], rate, l2, SINGLE).rounding


def ragged(shape, seed, base=1.0):
    """float32 numbers just above a power of two, where a rounding costs most."""
    g = torch.Generator().manual_seed(seed)
    return (base * (1 + 2e-3 * torch.rand(shape, generator=g, dtype=torch.float64))).float()


def test_w_is_rounded_once():
    """Large w, small step: half a unit in the last place of w."""
    x, w = ragged((8000, 1, 1), 0, 2.0**-12), ragged((8000, 1), 1)
    _, error = stepped(1.0, x, w, 1.0)
    assert 0.9 * bound(1.0, x, w, 1.0) <= error <= bound(1.0, x, w, 1.0)


def adversary(level, x, w, rate, l2, n, u):
    """The error of a step in which every operation, cast and sum is off by u in the direction that hurts."""
    up = 1 + u
    weight = total = 0.0
    for k in range(n):
        weight = weight + 1 if k == 0 else (weight + 1) / up  # the sum of the weights, below
    for k in range(n):
        term = level * x * up * (1 / weight) * up * up  # a product, a quotient, a product
        total = term if k == 0 else (total + term) * up
    moved = rate * up * total * up
    own = rate * l2 * up * up * w * up
    found = w - (moved + own) * up
    found = found - u * abs(found)
    return abs(found - (w - rate * (level * x + l2 * w)))


@pytest.mark.parametrize("n", [1, 2, 16])
def test_nothing_is_spare_where_the_gradient_is_large(n):
    """Five products and casts, two sums of n, and two additions, all in one direction."""
    x, w = torch.ones(1, n, 1), torch.full((1, 1), 2.0**-10)
    worst = adversary(1.0, 1.0, -(2.0**-10), 1.0, 2.0**-10, n, SINGLE.unit)
    allowed = bound(1.0, x, w, 1.0, 2.0**-10)
    assert worst <= allowed <= 1.01 * worst


def test_l2_costs_two_casts_a_product_and_two_sums():
    """rate l2 = 2, so that w turns round, and hardly a gradient."""
    x, w = torch.full((1, 1, 1), 2.0**-30), torch.ones(1, 1)
    worst = adversary(1.0, 2.0**-30, 1.0, 1.0, 2.0, 1, SINGLE.unit)
    assert worst <= bound(1.0, x, w, 1.0, 2.0) <= 1.25 * worst


def test_executed_steps_are_inside():
    """float32 networks on ragged numbers, the rate no number of float32."""
    for k, (n, l2) in enumerate([(1, 0.0), (1, 1.3), (7, 0.4)]):
        rate, level = 1.0007 + 1e-5 * k, float(np.float32(1.0011))
        x, w = ragged((4000, n, 1), k), ragged((4000, 1), k + 1, 2.0 ** (-24 if l2 == 0 else 0))
        _, error = stepped(level, x, w, rate, l2)
        assert 0.1 * bound(level, x, w, rate, l2) <= error <= bound(level, x, w, rate, l2)


def test_gates_round_the_number_that_x_is_multiplied_by():
    """An open gate holds level x, rounded; its share of the bound is level's, not that of f."""
    worst = 0.0
    for k in range(20):
        level = float(np.float32(1 + (7 * k + 1) * 2.0**-23))
        x, w = ragged((4000, 1, 1), k), torch.full((4000, 1), 2.0**-6)
        worst = max(worst, stepped(level, x, w * 0 + 2.0**-30, 1.0, gates=True)[1])
    product = bound(1.01, x, w, 1.0, values=1.01) - bound(1.01, x, w, 1.0, values=0.0)
    assert 0.9 * SINGLE.unit <= product and worst <= bound(1.01, x, w, 1.0)


def test_gates_that_cancel_are_charged_for_what_they_hold():
    """Two gates of +-1000 whose sum is small; each product with x is rounded where it is large."""
    heads = tuple(head.cast("float32") for head in gate_heads("squared", 2.0, 1e-6, 2))
    target = hs.target.Descent("squared", 1, 1)
    held = sum(float(abs(head.values).max()) for head in heads)
    request = hs.plan(target, domain=2.0, eps=1e-2, dtype="float32", method="gate").request
    ranges = Ranges.of(request.domain)
    table = prove_table(target.f, heads, ranges.residuals(1, SINGLE, 1), "float32")
    without = step_error(table, 0.0, ranges, 1, 1, 1.0, 0.0, SINGLE).rounding
    own = GradientStep(heads, 1, 1, gates=True).prove(target, request).rounding
    assert held > 1000 and own - without >= 0.99 * SINGLE.unit * held * ranges.x


def test_the_key_of_a_gate_is_rounded_before_its_product():
    """slope x, its product with w, and the sum: three roundings of the residual where |w x| is large."""
    room = {"residual": 2.0, "x": 30.0, "w": 1000.0, "y": 1.0}
    gates = hs.plan(hs.target.Descent("squared", 1, 1), domain=room, eps=20.0, dtype="float32", method="gate")
    assert gates.rounding >= 3 * SINGLE.unit * 30 * 1000 * 30


def test_what_the_table_rounds_moves_w_too():
    ranges = Ranges(3.0, 1.0, 1.0, 1.0)
    exact, rounded = (step_error(Error(0.0, r, (0.0, 1.0)), 1.0, ranges, 4, 1, 0.5, 0.0, SINGLE) for r in (0.0, 0.1))
    assert rounded.rounding - exact.rounding >= 0.1 * 0.5 * 2 * 3.0 and rounded.approximation == 0.0


def test_moves_that_are_lost_to_rounding_are_lost_at_every_step():
    """Each step moves w by nearly half a unit in its last place, and w stays where it is."""
    x, w, steps = 2.0**-10, 1 + 2.0**-20, 10
    task = hs.target.Descent("logistic", 1, 1, steps, rate=1.96 * 2.0**-14)
    room = {"residual": 1.0, "x": x, "w": 1.0001}
    net = hs.compile(task, domain=room, eps=1e-4, dtype="float32")
    start = torch.tensor([w], dtype=torch.float32)
    given = torch.tensor([[x]]), torch.tensor([0.0]), start
    assert torch.equal(net(*given), start)
    assert 0.9 * net.certificate.bound <= float(net.certify(*given)) <= net.certificate.bound


def test_errors_of_the_table_move_w_by_rate_and_reach():
    """One step at the worst residual, all samples alike, meets its bound to within a few per cent."""
    room = {"residual": 2.0, "x": 3.0, "w": 1e-3, "y": 2.0}
    net = hs.compile(hs.target.Descent("huber", 1, 4, 1, 0.2), domain=room, eps=0.1)
    y = torch.linspace(-2, 2, 401, dtype=torch.float64)[:, None].expand(-1, 4)
    worst = float(net.certify(torch.full((401, 4, 1), 3.0).double(), y).max())
    assert 0.95 * net.certificate.bound <= worst <= net.certificate.bound


def test_all_features_may_err_together():
    """x = (3, ..., 3) in four features: the error is the same in each, and its 2-norm twice as long."""
    room = {"residual": 2.0, "x": 3.0, "w": 1e-3, "y": 2.0}
    net = hs.compile(hs.target.Descent("huber", 4, 4, 1, 0.05), domain=room, eps=0.1)
    y = torch.linspace(-2, 2, 401, dtype=torch.float64)[:, None].expand(-1, 4)
    errors = net.certify(torch.full((401, 4, 4), 3.0).double(), y)
    assert 0.95 * net.certificate.bound <= float(errors.norm(dim=-1).max()) <= net.certificate.bound


def test_every_step_adds_its_error():
    """|x| so small that no step moves the residual: T steps err T times as much."""
    room = {"residual": 2.0, "x": 1e-4, "w": 1.0, "y": 2.0}
    nets = [
        hs.compile(hs.target.Descent("huber", 1, 1, steps, 1.0), domain=room, eps=1e-5 * steps) for steps in (1, 20)
    ]
    y = torch.linspace(-2, 2, 101, dtype=torch.float64)[:, None]
    worst = [float(net.certify(torch.full((101, 1, 1), 1e-4).double(), y).max()) for net in nets]
    for net, error in zip(nets, worst, strict=True):
        assert 0.9 * net.certificate.bound <= error <= net.certificate.bound


def test_the_second_order_is_in_the_sizes():
    """An error of the table makes larger numbers, which round more; of 1e4 here."""
    x, w = torch.ones(1, 1, 1), torch.ones(1, 1)
    ranges = Ranges(1.0, 0.0, 1.0, 1.0)
    plain = step_error(Error(0.0, 0.0, (0.0, 1.0)), 1.0, ranges, 1, 1, 1.0, 0.0, SINGLE).rounding
    wrong = step_error(Error(1e4, 0.0, (0.0, 1.0)), 1.0, ranges, 1, 1, 1.0, 0.0, SINGLE).rounding
    assert wrong - plain >= 4 * 1e4 * SINGLE.unit and plain == bound(1.0, x, w, 1.0)


def test_the_printed_step_misses_w_and_the_rate():
    """All of w and (1 + rate) times the gradient at the ends of their ranges: the proved miss is attained."""
    room = {"residual": 2.0, "x": 1.0, "w": 1.0, "y": 3.0}
    net = hs.compile(hs.target.Descent("squared", 1, 1, 1, 0.5), domain=room, eps=0.5, method="printed")
    x, y, w = (torch.tensor(v).double() for v in ([[1.0]], [-3.0], [-1.0]))
    error = float(net.certify(x, y, w).max())
    assert not net.plan.design.promises and 0.9 * net.certificate.bound <= error <= net.certificate.bound


@pytest.mark.parametrize("loss, count", [("logistic", 1), ("squared", 2), ("squared", 4)])
def test_gates_are_the_slope_of_the_loss(loss, count):
    z = np.linspace(-2, 2, 401)
    exact = 1 / (1 + np.exp(-z)) if loss == "logistic" else z
    found = sum(head(z) for head in gate_heads(loss, 2.0, 1e-3, count))
    assert 0 <= np.abs(found - exact).max() <= 1e-3
    assert math.isclose(sum(len(head.values) for head in gate_heads(loss, 2.0, 1e-3, count)), 2 * count)
