"""Each term that softmax adds to the error bound of a step, against an adversary who rounds and misreads products."""

import math
from dataclasses import replace

import pytest
import torch

from headsmith.constructions.training.softmax_training import shares
from headsmith.functions.kinks import Kinked
from headsmith.functions.smooth import Smooth
from headsmith.proof.curves import Kinks, Slip, Smoothness
from headsmith.proof.perturbation import Law, Pass, perturbation
from headsmith.proof.products import Products
from headsmith.proof.rounding import EXP_ERROR, Format

from .worst_case import COARSE, Ops, worst

u, RELU = COARSE.unit, Kinks(Kinked.of("relu", "float64"))
EXACT = Format("float64", 0.0, 0.0)


class Step:
    """A step of a chain of single units, all positive, on samples that are alike: operation by operation."""

    def __init__(self, V, x, y, rate=1.0, *, slip=0.0, samples=1, most=32.0, decay=0.0):
        self.V, self.x, self.y, self.rate = V, x, y, rate
        self.slip, self.samples, self.most, self.decay = slip, samples, most, decay
        self.kept = {}

    def product(self, op, a, b):
        """A score, and the table that reads it: op(1) says on which side of it the adversary is."""
        return (a if b == 1.0 else op(a * b)) + (op(1.0) - 1) / u * self.slip

    def __call__(self, op):
        p, reads, z = self.x, [], []
        for v in self.V:
            reads.append(p)
            z.append(self.product(op, v, p))
            p = z[-1]
        deltas = [op(p - self.y)]
        for v in self.V[:0:-1]:
            deltas.insert(0, self.product(op, v, deltas[0]))
        share = self.share(op)
        moves = [self.move(op, share, d, p, v) for d, p, v in zip(deltas, reads, self.V, strict=True)]
        after = [op(v + move) for v, move in zip(self.V, moves, strict=True)]
        self.kept = {"reads": reads, "z": z, "deltas": deltas, "moves": moves, "after": after}
        return after

    def share(self, op):
        """exp of a score less the largest, over their sum."""
        rate = op(self.rate)
        score = op(math.log(rate / ((self.most - rate) * self.samples)))
        top = max(score, 0.0)
        each, sink = (op(math.exp(s - top), EXP_ERROR) for s in (score, 0.0))
        return op(each * op(1 / op.sum([*[each] * self.samples, sink])))

    def move(self, op, share, delta, p, v):
        a = op(self.product(op, delta, 1.0) * p)
        value = -self.most * (op(a + op(op(self.decay) * v)) if self.decay else a)
        return op.sum([op(share * value) for _ in range(self.samples)])


def law_of(step, fmt=COARSE, reach=2.0**40, slip=None):
    found = Slip(fixed=step.slip) if slip is None else slip
    products = Products(found, reach, step.most)
    bent = tuple(range(1, len(step.V)))
    return Law(fmt, step.samples, step.samples + 1, RELU, bent, math.inf, False, None, step.decay,
               counts=shares(step.samples), products=products)  # fmt: skip


def passed(step, **changes):
    step(Ops(EXACT))
    kept, n = step.kept, step.samples

    def rows(v):
        return torch.full((n, 1), v, dtype=torch.float64)

    def one(v):
        return torch.tensor([[v]], dtype=torch.float64)

    return replace(Pass(
        rows=[one(v) for v in step.V], reads=[rows(p) for p in kept["reads"]], z=[rows(z) for z in kept["z"]],
        slopes=[rows(1.0) for _ in step.V], f=rows(kept["z"][-1]), y=rows(step.y),
        deltas=[rows(d) for d in kept["deltas"]], present=torch.ones(n).double(),
        rate=torch.tensor(step.rate).double(), moves=[one(g) for g in kept["moves"]],
        after=[one(w) for w in kept["after"]],
    ), **changes)  # fmt: skip


def attained(step):
    """(2-norm over all weights of what the adversary reaches at each, the bound)."""
    norms = [worst(lambda op, j=j: step(op)[j], sweeps=3) / step.rate for j in range(len(step.V))]
    return math.hypot(*norms), float(perturbation(passed(step), law_of(step)).bound)


SLIP = 2.0**-8  # far more than what is rounded
CHAINS = {
    "one product, forward and outer": Step([1.0], 1.3, -1.0, slip=SLIP),
    "the way back too": Step([1.3, 1.7], 0.25, -1.9, slip=SLIP),
    "three layers": Step([1.3, 1.7, 0.9], 1.1, -1.9, slip=SLIP),
    "rounding alone": Step([2.0**-9], 1.3, -40.0, rate=1.0),
    "samples": Step([2.0**-9], 1.3, -40.0, samples=6),
    "a small rate": Step([2.0**-30], 1.0, -40.0, rate=2.0**-25, most=2.0**10),
    "decay": Step([1.9], 2.0**-12, -2.0**-12, rate=1.0, decay=3.0, most=2.0**12),
    "decay, samples": Step([1.9], 2.0**-12, -2.0**-12, rate=1.0, decay=3.0, most=2.0**12, samples=5),
}  # fmt: skip
SHARP = {"samples": 1.3, "decay, samples": 1.25}


@pytest.mark.parametrize("name", CHAINS)
def test_the_adversary_comes_near_the_bound(name):
    found, bound = attained(CHAINS[name])
    assert found <= bound <= SHARP.get(name, 1.05) * found


def test_a_slope_that_is_a_number_is_a_factor_of_what_is_handed_back():
    """tanh behind the last layer, nothing rounded: loss' is read by a head, and so are z and delta."""
    smooth = Smooth.of("tanh")
    z, slope, p, q = 0.5, 0.75, 2.0, 3.0
    one = torch.ones(1, 1, dtype=torch.float64)
    held = Pass([z / p * one], [p * one], [z * one], [slope * one], one, (1 - q) * one, [slope * q * one],
                torch.ones(1).double(), torch.tensor(1.0).double(), [0 * one], [one])  # fmt: skip
    products = Products(Slip(fixed=SLIP), 64.0, 32.0)
    law = Law(EXACT, 1, 2, Smoothness(smooth, Slip(), Slip()), (1,), math.inf, False, None, products=products)
    e_f = (slope + smooth.bend * SLIP / 2) * SLIP
    off = smooth.bend * SLIP
    handed = (slope + off) * (e_f + SLIP) + off * q
    assert float(perturbation(held, law).bound) == pytest.approx((handed + SLIP) * p, rel=1e-6)


def test_what_is_off_in_exact_arithmetic_is_the_approximation():
    step = Step([1.3, 1.7], 0.25, -1.9)
    both = perturbation(passed(step), law_of(step, slip=Slip(approximation=SLIP, fixed=2 * SLIP)))
    alone = perturbation(passed(step), law_of(step, EXACT, slip=Slip(fixed=SLIP)))
    assert float(both.approximation) == pytest.approx(float(alone.bound), rel=1e-6)
    assert float(both.bound) > 2.5 * float(both.approximation) > 0


def test_a_sum_of_no_products_is_known():
    """z = 0 where all that is read is 0: what the head makes of it is what it is off by."""
    step = Step([0.01, 1.7], 0.25, -1.9, slip=SLIP)
    held = passed(step)
    assert int(perturbation(held, law_of(step)).kinks) == 1  # 0.0025 is less than a product is off by
    still = replace(held, reads=[0 * held.reads[0], held.reads[1]], z=[0 * held.z[0], held.z[1]])
    assert int(perturbation(still, law_of(step)).kinks) == 0
    torn = replace(still, z=[held.z[0], held.z[1]])
    assert int(perturbation(torn, law_of(step)).kinks) == 1


def test_numbers_that_heads_multiply_are_the_largest_with_what_they_are_off_by():
    """A pre-activation, of its factors and not as it is stored, a residual, and what is handed back."""
    for V, x, y, most in (([7.0, 0.1], 3.0, 0.0, 21.0), ([1.0, 0.1], 1.0, -9.0, 9.1), ([0.1, 6.0], 1.0, -2.0, 15.6)):
        step = Step(V, x, y, slip=SLIP)
        held = passed(step)
        wrong = replace(held, z=[0 * z for z in held.z])
        for given in (held, wrong):
            assert most <= float(perturbation(given, law_of(step)).largest) <= most + 50 * SLIP
    step = Step([7.0, 0.1], 3.0, 0.0, slip=SLIP)
    assert float(perturbation(passed(step), law_of(step)).largest) >= 21.0 + SLIP


def test_who_is_absent_is_not_charged():
    """Nor is what heads are off by there."""
    step = Step([1.1], 1.3, -1.7, slip=SLIP, samples=2)
    held = passed(step)
    here = torch.tensor([1.0, 0.0]).double()
    alone = replace(held, present=here, deltas=[held.deltas[0] * here[:, None]])
    wild = replace(alone, reads=[held.reads[0] * torch.tensor([[1.0], [1e6]]).double()])
    assert float(perturbation(wild, law_of(step)).bound) == pytest.approx(
        float(perturbation(alone, law_of(step)).bound), rel=1e-2
    )


def test_tokens_that_disagree_on_w_decay_from_what_they_hold():
    step = Step([1.9], 2.0**-12, -(2.0**-12), decay=3.0)
    held = passed(step)
    torn = replace(held, apart=[torch.tensor([[0.5]]).double()])
    gap = float(perturbation(torn, law_of(step)).bound) - float(perturbation(held, law_of(step)).bound)
    assert gap == pytest.approx(1.5, rel=1e-2)


TINY = 2.0**-20
FLUSHED = Format("float64", 0.0, TINY)


def test_a_product_that_is_flushed_is_charged_at_any_rate():
    """delta p = 0.9 tiny is 0, and so is its share of the gradient, whose rate is large."""
    step = Step([1.0], 2.0**-14, 1.0, rate=2.0**12, most=2.0**16)
    step.y = 2.0**-14 - 0.9 * 2.0**-6  # delta = 0.9 2^-6
    true, found = (step(Ops(Format("float64", 0.0, tiny))) for tiny in (0.0, TINY))
    gap = abs(true[0] - found[0]) / step.rate
    bound = float(perturbation(passed(step), law_of(step, FLUSHED)).bound)
    assert 0.5 * TINY <= gap <= bound
