"""Each term of the running error bound, against an adversary who rounds every operation of a step where it hurts."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from headsmith.functions.kinks import Kinked
from headsmith.proof.curves import Kinks
from headsmith.proof.perturbation import SQUASHED, Law, Pass, perturbation, worst_step
from headsmith.proof.rounding import FORMATS, Format

from .worst_case import COARSE, Ops, worst

T, u = 7, COARSE.unit
RELU, LEAKY = Kinked.of("relu", "float64"), Kinked.of("leaky", "float64")
INFINITE = float("inf")


class Exact:
    """A step of a small network, one sample, all in Python: what the blocks do, operation by operation."""

    def __init__(self, V, x, y, rate=1.0, *, kinked=RELU, bend=INFINITE, box=None, decay=0.0, samples=1):
        self.V, self.x, self.y, self.rate, self.kinked = V, x, y, rate, kinked
        self.bend, self.box, self.decay, self.samples = bend, box, decay, samples
        self.kept = {}

    def r(self, op, z):
        """relu, leaky and hard tanh in the order of their hidden units."""
        if self.kinked.name == "hard tanh":
            inner = op(z - 1) if z > 1 else 0.0
            return op(z - inner) if z > 1 else z
        return z if z > 0 else op(op(-self.kinked.floor) * -z) if self.kinked.floor else 0.0

    def slope(self, op, q, z):
        if self.kinked.room(torch.tensor(z)) > 0:
            return q
        floor = self.kinked.floor
        return op(q - op(op(op(1 - floor)) * q)) if floor else 0.0

    def heads(self, op, score, values):
        """Two heads: pattern relu(+-score)/T, times a value of each key, then both onto the stream."""
        signs = [[op(max(s * k, 0.0) / T) for k in score] for s in (1, -1)]
        plus, minus = (op.sum([op(p * v) for p, v in zip(part, values, strict=True)]) for part in signs)
        return op(plus - minus) if plus and minus else plus - minus

    def __call__(self, op):
        """The moved weights, one matrix after another."""
        p, reads, levels = self.x, [], []
        for j, V in enumerate(self.V):
            reads.append(p)
            z = [self.heads(op, [op.dot(row, p)], [T]) for row in V]
            levels.append(z)
            p = [self.r(op, a) for a in z] if j < len(self.V) - 1 else z
        delta = [self.loss(op, a, b) for a, b in zip(p, self.y, strict=True)]
        deltas = [delta]
        for j in range(len(self.V) - 1, 0, -1):
            q = [self.heads(op, delta, [op(T * row[m]) for row in self.V[j]]) for m in range(len(self.V[j][0]))]
            delta = [self.slope(op, a, z) for a, z in zip(q, levels[j - 1], strict=True)]
            deltas.insert(0, delta)
        moves = [[[self.move(op, s, a, w) for a, w in zip(p, row, strict=True)] for s, row in zip(d, V, strict=True)]
                 for d, p, V in zip(deltas, reads, self.V, strict=True)]  # fmt: skip
        after = [[[self.write(op, w, g) for w, g in zip(*rows, strict=True)] for rows in zip(V, G, strict=True)]
                 for V, G in zip(self.V, moves, strict=True)]  # fmt: skip
        self.kept = {"reads": reads, "z": levels, "f": p, "deltas": deltas, "moves": moves, "after": after}
        return after

    def loss(self, op, f, y):
        r = op(f - y)
        if abs(r) <= self.bend:
            return r
        sign = 1 if r > 0 else -1
        return sign * op(abs(r) - op(abs(r) - op(self.bend)))

    def move(self, op, delta, p, w):
        """All samples alike: -rate (1/n) sum delta p, and -rate decay w before it."""
        n, ask = self.samples, op(op(self.rate) * op(1.0))
        value = op(op(op(T / self.samples)) * p)
        pattern = op(op(ask * abs(delta)) / T)
        sign = 1 if delta > 0 else -1
        total = sign * op(op.sum([op(pattern * value) for _ in range(n)]))
        if not self.decay:
            return -total
        fade = op(op(op(self.rate) / T) * op(op(op(self.decay * T)) * w))
        return op(op(-fade - total))

    def write(self, op, w, g):
        if self.box is None:
            return op(w + g)
        over = max(op(op(w + g) - op(self.box[1])), 0.0)
        return op(w + op(g - over)) if over else op(w + g)


def law_of(step, fmt=COARSE):
    bent = tuple(range(1, len(step.V)))
    return Law(fmt, step.samples, T, Kinks(step.kinked), bent, step.bend, False, step.box, step.decay)


def attained(step, place):
    """(the largest |e| of one weight that the adversary reaches, the bound)."""
    j, k, m = place
    found = worst(lambda op: step(op)[j][k][m], sweeps=3) / step.rate
    step(exactly())
    return found, float(perturbation(passed(step), law_of(step)).bound)


def exactly():
    return Ops(Format("float64", 0.0, 0.0))


def passed(step, **changes):
    """The pass of a step, its one sample repeated."""
    kept, n = step.kept, step.samples

    def rows(v):
        return torch.tensor([v] * n, dtype=torch.float64)

    return replace(Pass(
        rows=[torch.tensor(V).double() for V in step.V],
        reads=[rows(p) for p in kept["reads"]],
        z=[rows(z) for z in kept["z"]],
        slopes=[rows(z) for z in kept["z"]],
        f=rows(kept["f"]),
        y=rows(step.y),
        deltas=[rows(d) for d in kept["deltas"]],
        present=torch.ones(n).double(),
        rate=torch.tensor(step.rate).double(),
        moves=[torch.tensor(g).double() for g in kept["moves"]],
        after=[torch.tensor(w).double() for w in kept["after"]],
    ), **changes)  # fmt: skip


CHAINS = {
    "one weight": Exact([[[1.1]]], [1.3], [-1.7], 40.0),
    "w is rounded": Exact([[[1.9]]], [2.0**-9], [1.0], 2.0**-5),
    "two layers": Exact([[[1.3]], [[1.7]]], [1.1], [-1.9], 40.0),
    "three layers": Exact([[[1.3]], [[1.7]], [[0.9]]], [1.1], [-1.9], 40.0),
    "a leak": Exact([[[-1.3]], [[1.7]]], [1.1], [-1.9], 1e3, kinked=LEAKY),
    "a steep leak": Exact([[[-1.3]], [[1.7]]], [1.1], [-1.9], 40.0, kinked=replace(LEAKY, floor=0.5)),
    "huber": Exact([[[1.1]]], [1.3], [-60.0], 40.0, bend=2.0),
    "decay": Exact([[[1.6]]], [2.0**-6], [-2.0**-6], 40.0, decay=1.7),
    "samples": Exact([[[1.1]]], [1.3], [-1.7], 40.0, samples=6),
}  # fmt: skip
SHARP = {"samples": 1.5, "decay": 1.1, "a leak": 1.1, "a steep leak": 1.2}


@pytest.mark.parametrize("name", CHAINS)
def test_the_adversary_comes_near_the_bound(name):
    """One unit a layer: every rounding multiplies, and all of them can agree."""
    step = CHAINS[name]
    found, bound = attained(step, (0, 0, 0)) if len(step.V) == 1 else summed(step)
    assert found <= bound <= SHARP.get(name, 1.05) * found


def summed(step):
    """The 2-norm over all weights, each at its worst: roundings are shared, so this is an upper bound of the norm."""
    norms = [attained(step, (j, 0, 0)) for j in range(len(step.V))]
    return sum(found**2 for found, _ in norms) ** 0.5, norms[0][1]


@pytest.mark.parametrize("fan", [1, 2, 4, 8])
def test_a_long_row_is_charged_for_its_length(fan):
    """What is asked for is z alone: f = y, and the loss hands on nothing but the rounding of z."""
    row, x = [[1.1] * fan], [1.3] * fan
    exact = Exact([row], x, [0.0], 1e9)
    exact(exactly())
    exact.y = exact.kept["f"]
    found, bound = attained(exact, (0, 0, 0))
    assert found <= bound / fan**0.5 <= 1.4 * found  # the bound is the 2-norm over weights that are all alike


@pytest.mark.parametrize("units", [1, 2, 4, 8])
def test_a_sum_over_units_is_charged_for_their_number(units):
    """Only the first matrix: what it is charged, less what a single unit would be."""
    step = Exact([[[1.3]], [[1.7]] * units], [1.1], [-1.9] * units, 1e9)
    found = worst(lambda op: step(op)[0][0][0], sweeps=3) / step.rate
    step(exactly())
    held = passed(step)
    whole = float(perturbation(held, law_of(step)).bound)
    last = perturbation(
        replace(held, **{name: getattr(held, name)[1:] for name in ("rows", "reads", "z", "deltas", "moves", "after")}),
        replace(law_of(step), bent=()),
    )
    first = (whole**2 - float(last.bound) ** 2) ** 0.5
    assert found <= 1.02 * first and first <= 1.7 * found


def test_hard_tanh_is_charged_where_it_is_flat():
    """r(3) = 3 - (3 - 1 + 1 u) ...: three units of roundoff, times delta, in the last matrix."""
    step = Exact([[[3.0]], [[1.0]]], [1.0], [-2.0], 1e9, kinked=Kinked.of("hard tanh", "float64"))
    found, bound = attained(step, (1, 0, 0))
    assert found <= bound <= 1.05 * found


def test_hard_tanh_hands_on_what_is_off_between_its_ends():
    step = Exact([[[0.9]], [[1.0]]], [1.0], [-2.0], 1e9, kinked=Kinked.of("hard tanh", "float64"))
    step(exactly())
    norms = summed(step)
    assert norms[0] <= norms[1] <= 1.05 * norms[0]


def test_a_weight_at_the_end_of_its_box_is_charged_for_being_cut_off():
    """w + g = 1.9 - ... beyond 1: the sum, the end, their distance, g less it, and the last sum."""
    step = Exact([[[0.9]]], [1.0], [-1.1], -0.5, box=(-1.0, 1.0))
    step.rate = 0.5
    step.y = [2.9]
    found, bound = attained(step, (0, 0, 0))
    inside = replace(law_of(step), box=(-9.0, 9.0))
    extra = bound - float(perturbation(passed(step), inside).bound)
    assert found <= bound and extra >= 2 * u / step.rate


def test_cutting_off_costs_what_the_adversary_can_do():
    """w + g against the box alone: every rounding in one direction, at several sizes of g."""
    for g in (0.2, 3.0, 50.0):
        step = Exact([[[0.9]]], [0.0], [0.0], 1.0, box=(-1.0, 1.0))
        off = worst(lambda op, g=g, step=step: step.write(op, 0.9, g))
        zero = torch.zeros(1, 1)
        held = Pass([torch.tensor([[0.9]])], [zero], [zero], [zero], zero, zero, [zero],
                    torch.ones(1), torch.tensor(1.0), [torch.tensor([[g]])], [torch.tensor([[1.0]])])  # fmt: skip
        bound = float(perturbation(held, law_of(step)).bound)
        assert off <= bound <= 3 * off


def test_a_sigmoid_is_a_quarter_as_steep():
    """Where y = sigmoid(f) nothing is left but what f and the sigmoid are off by."""
    one = torch.ones(1, 1, dtype=torch.float64)
    held = Pass([one], [one], [one], [one], one, one, [0 * one], one[0], one[0, 0] * 1e9, [0 * one], [one])
    law = Law(COARSE, 1, T, Kinks(RELU), (), INFINITE, True, None)
    found = float(perturbation(held, law).bound)
    assert found == pytest.approx((3 / 4 + SQUASHED + 1) * u, rel=1e-3)


def test_who_is_absent_is_not_charged():
    step = Exact([[[1.1]]], [1.3], [-1.7], 40.0, samples=2)
    step(exactly())
    held = passed(step)
    deltas = [held.deltas[0] * torch.tensor([[1.0], [0.0]])]
    alone = replace(held, present=torch.tensor([1.0, 0.0]).double(), deltas=deltas)
    wild = replace(alone, y=torch.tensor([held.y[0, 0], 1e9])[:, None].double())
    assert perturbation(wild, law_of(step)).bound == perturbation(alone, law_of(step)).bound


KINKS = {"relu": 0.0, "leaky": 0.0, "hard tanh": 1.0}


@pytest.mark.parametrize("name", KINKS)
def test_slopes_near_a_kink_are_counted(name):
    """In the gap, or nearer to the kink than z is known; not where a unit is 0 because its sample is."""
    kinked, kink = Kinked.of(name, "float64"), KINKS[name]
    law = Law(FORMATS["float64"], 1, T, Kinks(kinked), (1,), INFINITE, False, None)

    def count(z, x=1.0, above=1.0):
        one = torch.ones(1, 1, dtype=torch.float64)
        level = torch.tensor([[z]], dtype=torch.float64)
        ones = [one, one]
        held = Pass([one, above * one], [x * one, one], [level, one], ones, one, 0 * one, ones, one[0], one[0, 0],
                    ones, ones)  # fmt: skip
        return int(perturbation(held, law).kinks)

    inner = -1 if name == "hard tanh" else 1
    assert count(kink + inner * 0.5 * kinked.gap) == 1  # in the gap
    assert count(kink + inner * 1e-16) == 1 and count(kink - inner * 1e-16) == 1  # rounding of z = 1 x
    assert kink or (count(1e-11, x=1e6) == 1 and count(1e-11, x=1e2) == 0)  # beyond the gap, but not known to be
    assert count(kink + inner * 2 * kinked.gap) == count(kink - inner * 2 * kinked.gap) == 0
    assert count(kink + inner * 0.5 * kinked.gap, above=0.0) == 0  # nothing is handed back through it
    if kink == 0:
        assert count(0.0, x=0.0) == 0 and count(0.0) == 1


FLUSHING = Format("float64", 2.0**-45, 2.0**-20)  # next to no rounding, but much that is below the normal range


def small(g, kinked):
    """A random step whose numbers, zeros among them, range from what is just not flushed to 2^8."""

    def number():
        return 0.0 if g.random() < 0.15 else g.choice([-1, 1]) * 2.0 ** g.uniform(-19, 8)

    sizes = [g.randint(1, 2) for _ in range(g.randint(2, 4))]
    V = [[[number() for _ in range(fan)] for _ in range(units)] for fan, units in pairwise(sizes)]
    x, y = ([number() for _ in range(size)] for size in (sizes[0], sizes[-1]))
    return Exact(
        V, x, y, 2.0 ** g.uniform(-12, 4), kinked=Kinked.of(kinked, "float64"), samples=g.randint(1, 3),
        bend=g.choice([INFINITE, 2.0, 2.0**-12]), decay=g.choice([0, 0.1, 2.0**-15]),
        box=g.choice([None, (-1.0, 1.0), (-(2.0**-14), 1.0)]),
    )  # fmt: skip


@pytest.mark.parametrize("kinked", ["relu", "leaky", "hard tanh"])
def test_what_is_flushed_is_charged(kinked):
    """Every product and sum below the normal range is 0 here: 2 of 5 such steps are off by more than rounding."""
    g, checked = random.Random(1), 0
    for _ in range(250):
        step = small(g, kinked)
        true, found = (step(Ops(Format("float64", 0.0, tiny))) for tiny in (0.0, FLUSHING.tiny))
        bound = perturbation(passed(step), law_of(step, FLUSHING))
        if not bound.kinks:
            checked += true != found
            assert apart(true, found) / step.rate <= float(bound.bound)
    assert checked > 40


TINY, TANH = FLUSHING.tiny, Kinked.of("hard tanh", "float64")
FLUSHED = {  # each loses one kind of thing, and that counts for more than all else that may be lost
    "a pattern that T V multiplies": Exact([[[0.0]], [[256.0]]], [1.0], [-0.9 * T * TINY], 1e9, kinked=TANH),
    "T V, that a pattern multiplies": Exact([[[0.0]], [[0.9 * TINY / T]]], [1.0], [-(2.0**20)], 1e9, kinked=TANH),
    "a small product in a row": Exact([[[0.0, 2.0**-9]]], [256.0, 0.9 * T * 2.0**-11], [0.0], 1e9),
    "the rate times delta": Exact([[[0.0]]], [256.0], [0.9 * T * TINY * 2.0**10], 2.0**-10),
    "T/n p, that a delta multiplies": Exact([[[1.0]]], [0.9 * TINY / T], [-(2.0**20)], 1e9),
    "a product for each sample": Exact([[[0.0]]], [2.0**-6], [-10.8 * TINY * 2.0**12], 2.0**-6, samples=12),
    "a small weight that decays": Exact([[[9 * TINY / T]]], [0.0], [0.0], 1e9, decay=0.1),
    "a residual": Exact([[[0.0]]], [256.0], [-0.9 * TINY], 1e9),
    "a residual beyond the bend": Exact([[[0.0]]], [256.0], [-(2.0**-12) - 0.9 * TINY], 1e9, bend=2.0**-12),
    "a leak": Exact([[[-1.0]], [[1.0]]], [90 * TINY], [-(2.0**20)], 1e9, kinked=LEAKY),
    "what a leak hands back":
        Exact([[[0.0, -1.0]], [[2.0**-8]]], [256.0, 1.0], [-0.01 * 2.0**-8 - 2.0**-12], 1e9, kinked=LEAKY),
}  # fmt: skip


@pytest.mark.parametrize("name", FLUSHED)
def test_each_thing_that_is_flushed_is_charged(name):
    step = FLUSHED[name]
    true, found = (step(Ops(Format("float64", 0.0, tiny))) for tiny in (0.0, TINY))
    gap = apart(true, found) / step.rate
    bound = float(perturbation(passed(step), law_of(step, FLUSHING)).bound)
    assert gap <= bound <= 5 * gap


def apart(V, W):
    """|V - W|_2 over all matrices."""
    parts = [
        torch.tensor(A, dtype=torch.float64) - torch.tensor(B, dtype=torch.float64) for A, B in zip(V, W, strict=True)
    ]
    return float(sum(part.square().sum() for part in parts)) ** 0.5


def test_what_is_off_stays_off_where_its_bound_underflows():
    """z = 1e-200 1e-200 is 0 here and not in truth; so is what the next row makes of it: two slopes are doubtful."""
    one = torch.ones(1, 1, dtype=torch.float64)
    small, zero = 1e-200 * one, 0 * one
    law = Law(FORMATS["float64"], 1, T, Kinks(RELU), (1, 2), INFINITE, False, None)
    held = Pass([small, small, one], [small, zero, zero], [zero] * 3, [zero] * 3, zero, -one, [small, one, one],
                one[0], one[0, 0], [zero] * 3, [small, small, one])  # fmt: skip
    assert int(perturbation(held, law).kinks) == 2


def test_numbers_whose_squares_are_0_are_charged():
    """u |w'| = 1e-166 for w' = 1e-160: the norm of it is no less, though its square is 0."""
    step = Exact([[[0.0]]], [0.0], [0.0])
    step(exactly())
    held = replace(passed(step), after=[torch.tensor([[1e-160]], dtype=torch.float64)])
    assert float(perturbation(held, law_of(step, Format("float64", u, 0.0))).bound) >= u * 1e-160


def test_a_leak_rounds_twice():
    """p = -a relu(-z), seen by the second matrix alone: the first has next to no gradient."""
    step = Exact([[[-100.0]], [[0.01]]], [1.0], [-2.0], 1e9, kinked=LEAKY)
    found, bound = attained(step, (1, 0, 0))
    assert found <= bound <= 1.02 * found


def test_the_largest_number_that_gates_have_to_beat_is_seen():
    step = Exact([[[1.0]], [[8.0]]], [1.0], [-3.0], 1.0)
    step(exactly())
    assert float(perturbation(passed(step), law_of(step)).largest) == pytest.approx(8 * 11, rel=1e-4)


@pytest.mark.parametrize("loss", ["squared", "squashed", "huber"])
@pytest.mark.parametrize("name", [*KINKS])
def test_no_step_is_worse_than_the_worst(name, loss):
    """Random steps anywhere in the domain, gates open and shut."""
    g = torch.Generator().manual_seed(1)
    sizes = [(3, 2), (2, 3), (1, 2)]
    law = Law(FORMATS["float32"], 4, T, Kinks(Kinked.of(name, "float32")), (1, 2), 0.5 if loss == "huber" else INFINITE,
              loss == "squashed", (-2.0, 2.0), 0.1)  # fmt: skip
    most = float(worst_step(sizes, False, law, 0.1, x=1.5, y=1.0, w=2.0).bound)
    for _ in range(20):
        rows = [(torch.rand(*size, generator=g).double() - 0.5).sign() * 2.0 for size in sizes]
        p, reads, levels = (torch.rand(4, 2, generator=g).double() - 0.2).sign() * 1.5, [], []
        for j, V in enumerate(rows, 1):
            reads.append(p)
            levels.append(p @ V.mT)
            value = sum(out * torch.relu(a * levels[-1] + b) for a, b, out in law.curve.kinked.value)
            p = value if j < 3 else levels[-1]
        y = -p.sign() * (loss != "squashed")
        delta = (p - y).clamp(-law.bend, law.bend) if loss != "squashed" else torch.ones_like(p)
        deltas = [delta]
        for V in rows[:0:-1]:
            deltas.insert(0, deltas[0] @ V)
        moves = [0.1 * (d.mT @ r / 4 + 0.1 * V) for d, r, V in zip(deltas, reads, rows, strict=True)]
        after = [V + m for V, m in zip(rows, moves, strict=True)]
        held = Pass(
            rows, reads, levels, levels, p, y, deltas, torch.ones(4).double(), torch.tensor(0.1).double(), moves, after
        )
        assert float(perturbation(held, law).bound) <= most
