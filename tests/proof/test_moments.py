"""Each term of what an optimizer makes of an error, against an adversary who rounds every operation where it hurts."""

import random
from dataclasses import replace

import pytest
import torch

from headsmith.functions.kinks import Kinked
from headsmith.proof.curves import Kinks
from headsmith.proof.moments import Kept, RootTable, largest_kept, largest_move, lost_behind, spent
from headsmith.proof.perturbation import Law, Pass, perturbation
from headsmith.proof.rounding import FORMATS, Format
from headsmith.reference.optimizers import Optimizer

from .worst_case import COARSE, Ops, worst

u = COARSE.unit


def averaged(op, stays, m, comes, g):
    """m + (b m + c g - m), as the hidden units of `carry` do it; `comes` was itself rounded if it is no 1."""
    new = op.sum([op(op(stays) * m), g if comes == 1 else op(op(op(comes)) * g)])
    return op.sum([m, op.sum([new, -m])])


class Momentum:
    """One weight; g is off by `off` units of roundoff."""

    def __init__(self, v, g, beta, off=0, rate=0.5):
        self.v, self.g, self.off, self.rate = v, g, off, rate
        self.optimizer, self.table = Optimizer("momentum", beta=beta), RootTable()

    def __call__(self, op, part="move"):
        v = averaged(op, self.optimizer.beta, self.v, 1, op(self.g, self.off))
        return v if part == "v" else op(op(self.rate) * v) / self.rate

    def bound(self, fmt=COARSE):
        true = self(Ops(Format("float64", 0.0, 0.0)), "v")
        one = torch.ones(1, 1).double()
        kept = Kept(self.g * one, {"v": self.v * one}, {"v": true * one}, one, one)
        return spent(u * self.off * abs(self.g) * one, kept, self.optimizer, self.table, fmt)


class Adam:
    """One weight in step t, g off by `off` units, the table by `table`."""

    def __init__(self, m, v, g, *, betas=(0.75, 0.5), root=1.0, t=3, off=0, table=0.0, noise=0.0, rate=1.0):
        self.m, self.v, self.g, self.off, self.rate = m, v, g, off, rate
        self.optimizer, self.table = Optimizer("adam", betas=betas, root=root), RootTable(table, noise)
        self.a = self.optimizer.corrections(t)

    def moments(self, op):
        (b1, b2), g = self.optimizer.betas, op(self.g, self.off)
        return averaged(op, b1, self.m, 1 - b1, g), averaged(op, b2, self.v, 1 - b2, op(g * g))

    def __call__(self, op, part="move"):
        m, v = self.moments(op)
        if part in ("m", "v"):
            return m if part == "m" else v
        mu = op(op(op(self.rate) * op(op(self.a[0]))) * m)  # the rate, a1, their product, and the one with m
        z = op(op(op(self.a[1])) * v)
        level = op(1.0, times=1) * 0 + (max(z, 0.0) + self.optimizer.root) ** -0.5
        level += (op.fmt.unit > 0) * (self.table.approximation + self.table.rounding)
        return op(level * mu) / self.rate

    def bound(self, fmt=COARSE, worst=False):
        m, v = self.moments(Ops(Format("float64", 0.0, 0.0)))
        one = torch.ones(1, 1).double()
        old, new = ({"m": a * one, "v": b * one} for a, b in ((self.m, self.v), (m, v)))
        kept = Kept(self.g * one, old, new, self.a[0] * one, self.a[1] * one)
        return spent(u * self.off * abs(self.g) * one, kept, self.optimizer, self.table, fmt, worst)


MOVES = {
    "momentum, v large": (Momentum(4.0, 0.125, 0.875), 1.1),
    "momentum, g and v alike": (Momentum(1.0, 3.0, 0.5), 1.02),
    "momentum, g off": (Momentum(1.0, 3.0, 0.5, off=1000), 1.01),
    "adam, rounding": (Adam(1.0, 1.0, 3.0), 1.15),
    "adam, a large root": (Adam(1.0, 1.0, 3.0, root=1e3), 1.03),
    "adam, a small root": (Adam(1.0, 1e-2, 0.25, root=1e-6, betas=(0.75, 0.5)), 1.15),
    "adam, g off": (Adam(1.0, 1.0, 3.0, root=1e4, off=1000), 1.02),
    "adam, g off in its square": (Adam(1e3, 0.0, 1.0, root=1e-6, betas=(0.99, 0.0), off=1000), 1.05),
    "adam, a table": (Adam(1.0, 1.0, 3.0, table=1e-2), 1.01),
    "adam, a table that rounds": (Adam(1.0, 1.0, 3.0, noise=1e-2), 1.01),
}


@pytest.mark.parametrize("name", MOVES)
def test_the_adversary_comes_near_the_bound_of_a_move(name):
    step, sharp = MOVES[name]
    found, bound = worst(step, sweeps=3), float(step.bound().move)
    assert found <= 1.001 * bound <= 1.001 * sharp * found


MOMENTS = {
    "v of momentum": (Momentum(1.0, 3.0, 0.5), "v", 1.02),
    "v of momentum, g off": (Momentum(1.0, 3.0, 0.5, off=1000), "v", 1.01),
    "v of momentum, turned": (Momentum(-2.0, 5.0, 0.5), "v", 1.13),
    "m, turned": (Adam(-2.0, 1.0, 9.0, betas=(0.5, 0.5)), "m", 1.08),
    "m": (Adam(1.0, 1.0, 3.0, betas=(0.5, 0.5)), "m", 1.02),
    "m that stays": (Adam(4.0, 1.0, 0.125, betas=(0.875, 0.5)), "m", 1.15),
    "m, g off": (Adam(1.0, 1.0, 3.0, off=1000), "m", 1.01),
    "v": (Adam(1.0, 1.0, 3.0), "v", 1.02),
    "v that stays": (Adam(1.0, 8.0, 0.125, betas=(0.5, 0.875)), "v", 1.15),
    "v, g off": (Adam(1.0, 1.0, 3.0, off=1000), "v", 1.01),
    "v, g half off": (Adam(1.0, 0.0, 1.0, off=2**19, betas=(0.5, 0.0)), "v", 1.01),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_the_adversary_comes_near_the_bound_of_a_moment(name):
    step, part, sharp = MOMENTS[name]
    found, bound = worst(lambda op: step(op, part), sweeps=3), float(step.bound().moments[part])
    assert found <= 1.001 * bound <= 1.001 * sharp * found


def test_the_table_is_the_approximation():
    found = Adam(1.0, 1.0, 3.0, table=1e-2, noise=1e-3).bound()
    mu = Adam(1.0, 1.0, 3.0, root=1.0)
    m = mu.a[0] * mu.moments(Ops(Format("float64", 0.0, 0.0)))[0]
    assert float(found.table) == pytest.approx(1e-2 * m, rel=1e-12)
    assert float(Momentum(1.0, 3.0, 0.5).bound().table) == 0.0


def test_what_is_flushed_is_charged():
    rough = Format("float64", 0.0, 1e-3)
    for step in (Momentum(1.0, 3.0, 0.5), Adam(1.0, 1.0, 3.0)):
        found = step.bound(rough)
        assert all(float(part) >= 3e-3 for part in found.moments.values()) and float(found.move) >= 3e-3


def test_where_v_is_not_known_the_root_is_what_is_left():
    """v^ = 1e-6 that is off by more than itself: the slope is charged at 0, and in the worst case always."""
    step = Adam(1.0, 0.0, 1e-3, betas=(0.75, 0.0), root=1e-4, off=2**20)
    found = step.bound(Format("float64", 0.0, 0.0))
    off = (2e-3 + 1e-3) * 1e-3
    m = step.a[0] * (0.75 + 0.25e-3)
    assert float(found.move) == pytest.approx(100 * step.a[0] * 0.25e-3 + m * off * 1e6 / 2, rel=1e-6)
    calm = Adam(1.0, 1.0, 3.0, root=1e-4)
    assert float(calm.bound(worst=True).move) > 100 * float(calm.bound().move)


LARGEST = [
    *(Optimizer("momentum", beta=beta) for beta in (0.75, 0.1)),
    *(Optimizer("adam", betas=betas, root=root) for betas, root in (((0.75, 0.9), 1e2), ((0.25, 0.99), 0.01))),
]


@pytest.mark.parametrize("optimizer", LARGEST)
def test_no_moments_are_larger_than_the_largest(optimizer):
    """Gradients up to 2 of any signs, v^ <= 4: sizes and bounds of every step stay below those of the worst."""
    g, fmt, table = torch.Generator().manual_seed(0), FORMATS["float32"], RootTable(1e-6, 1e-7)
    most = 2.0 * torch.ones(3, 2).double()
    held = largest_kept(most, optimizer, 4.0, fmt)
    worst_spent = spent(1e-3 * most, held, optimizer, table, fmt, worst=True)
    move = largest_move(most, optimizer, table, fmt)
    kept = {name: torch.zeros(3, 2).double() for name in optimizer.moments}
    for t in range(1, 40):
        own = 2.0 * (torch.rand(3, 2, generator=g).double() - (0.5 if t > 20 else 0.0)).sign()
        own[0] *= 1e-3 if t < 20 else 1.0  # next to nothing for long: v^ is small where m^ is large
        if optimizer.name == "momentum":
            after = {"v": optimizer.beta * kept["v"] + own}
            made = after["v"].abs()
        else:
            (b1, b2), a = optimizer.betas, optimizer.corrections(t)
            after = {"m": b1 * kept["m"] + (1 - b1) * own, "v": b2 * kept["v"] + (1 - b2) * own.square()}
            made = a[0] * after["m"].abs() / (a[1] * after["v"] + optimizer.root).sqrt()
        told = [torch.full((1, 1), c).double() for c in optimizer.corrections(t)]
        found = spent(1e-3 * most, Kept(own, kept, after, *told), optimizer, table, fmt)
        assert bool((found.move <= worst_spent.move).all()) and bool((found.table <= worst_spent.table).all())
        assert all(bool((found.moments[name] <= worst_spent.moments[name]).all()) for name in kept)
        assert bool((made <= move).all())
        kept = after


def test_decay_is_charged_for_its_coefficient_its_product_and_its_sum():
    """One weight, with and without decay, for the same g: what is charged more is what the adversary does."""
    w, slope, decay, one = 1.6, 1.3, 0.7, torch.ones(1, 1).double()
    g = (slope + decay * w) * one
    kept = Kept(g, {"v": 0 * one}, {"v": g}, one, one)
    step = Pass(
        [w * one], [one], [w * one], [one], w * one, one, [slope * one], one[0], one[0, 0], [-g], [w - g], [kept]
    )
    plain = Law(COARSE, 1, 7, Kinks(Kinked.of("identity", "float64")), (), float("inf"), False, None)
    bounds = [
        float(perturbation(step, replace(plain, decay=d, optimizer=Optimizer("momentum", beta=0.5))).bound)
        for d in (decay, 0.0)
    ]
    found = worst(lambda op: op.sum([slope, op(op(decay) * w)]))
    assert found <= bounds[0] - bounds[1] <= 1.02 * found


FLUSHING = Format("float64", 2.0**-45, 2.0**-20)  # next to no rounding, but much that is below the normal range


def lost(case, part="move"):
    """What flushing takes, and what is charged for it."""
    true, found = (case(Ops(Format("float64", 0.0, tiny)), part) for tiny in (0.0, FLUSHING.tiny))
    bound = case.bound(FLUSHING)
    behind = lost_behind(case.optimizer, FLUSHING) / case.rate
    return abs(true - found), float(bound.move) + behind if part == "move" else float(bound.moments[part])


@pytest.mark.parametrize("kind", [Momentum, Adam])
def test_what_is_flushed_of_random_numbers_is_charged(kind):
    """Every product and sum below the normal range is 0."""
    g, missed = random.Random(2), 0
    for _ in range(300):
        m, v, new, rate, root = (2.0 ** g.uniform(low, high) for low, high in
                                 ((-30, 6), (-24, 6), (-20, 6), (-12, 2), (-16, 2)))  # fmt: skip
        adam = Adam(m, v, new, t=g.randint(1, 9), root=root, rate=rate)
        case = adam if kind is Adam else Momentum(v, new * 2.0**-12, 0.7, rate=rate)
        for part in ("move", *case.optimizer.moments):
            gap, most = lost(case, part)
            missed += gap > 0
            assert gap <= most
    assert missed > 60


BEHIND = {
    "rate v'": Momentum(0.0, 0.98 * 2.0**-10, 0.5, rate=2.0**-10),
    "rate a1 m', times the root": Adam(0.0, 0.0, 2.0**-10, betas=(0.5, 0.5), t=1, root=2.0**-16, rate=0.9 * 2.0**-10),
    "the product with the table": Adam(0.0, 0.0, 2.0**-9, betas=(0.5, 0.5), t=1, root=16.0, rate=1.9 * 2.0**-10),
}


@pytest.mark.parametrize("name", BEHIND)
def test_what_is_flushed_behind_the_moments_is_charged(name):
    gap, most = lost(BEHIND[name])
    assert 0.7 * most <= gap <= most


def test_a_move_that_is_flushed_is_charged():
    """rate v' is 0: w' stays, and v' = tiny / rate is missed."""
    zero, one, rate = torch.zeros(1, 1).double(), torch.ones(1, 1).double(), 2.0**-10
    v = 0.9 * FLUSHING.tiny / rate * one
    kept = Kept(zero, {"v": 2 * v}, {"v": v}, one, one)
    step = Pass([zero], [zero], [zero], [zero], zero, zero, [zero], one[0], rate * one[0, 0], [zero], [zero], [kept])
    law = Law(FLUSHING, 1, 7, Kinks(Kinked.of("identity", "float64")), (), float("inf"), False, None)
    bound = float(perturbation(step, replace(law, optimizer=Optimizer("momentum", beta=0.5))).bound)
    assert float(v) <= bound <= 1.2 * float(v)
