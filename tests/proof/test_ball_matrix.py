"""Balls around what transformers compute: nothing exact lies outside, however wide the balls that go in."""

import math
from decimal import Decimal, getcontext

import pytest
import torch
from flint import arb, arb_mat

from headsmith.functions import precision
from headsmith.functions.balls import Unresolved
from headsmith.proof.ball_matrix import BENT, BallMatrix, attention, entered, times

BITS = 80


def random(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


W, B, GAMMA, BETA = random(5, 4, seed=1), random(5, seed=2), random(4, seed=3), random(4, seed=4)


def heads(causal, scale=1.0):
    weights = [random(6, 4, seed=k) for k in (5, 6, 7)]

    def run(x):
        q, k, v = (x.linear(w, random(6, seed=8)) for w in weights)
        return attention(q, k, v, heads=3, scale=arb(scale).sqrt(), causal=causal)

    return run


OPERATIONS = {
    "linear": lambda x: x.linear(W, B),
    "linear without a bias": lambda x: x.linear(W),
    **{name: lambda x, name=name: x.bent(name) for name in BENT},
    "sum": lambda x: x + x.bent("tanh"),
    "scaled": lambda x: x.scaled(arb(3).sqrt()),
    "norm": lambda x: x.norm(GAMMA, BETA, 1e-12),
    "norm that does not centre": lambda x: x.norm(GAMMA, BETA, 1e-5, centred=False),
    "unit": lambda x: x.unit(),
    "mean": lambda x: x.mean(),
    "attention": heads(False),
    "causal attention": heads(True, 0.5),
}


def ends(x, share):
    """A member of each ball, at this share of the radius from its middle; the signs alternate."""
    flat = [e.mid() + (-1) ** i * arb(share) * e.rad().mid() for i, e in enumerate(x.rows.entries())]
    return BallMatrix(arb_mat(x.rows.nrows(), x.rows.ncols(), flat), x.lengths)


def contains(wide, narrow):
    return all(a.contains(b) for a, b in zip(wide.rows.entries(), narrow.rows.entries(), strict=True))


@pytest.mark.parametrize("name", OPERATIONS)
def test_more_bits_lie_within_fewer(name):
    found, x = [], random(7, 4)
    for bits in (40, BITS, 4 * BITS):
        with precision(bits):
            entry = BallMatrix(BallMatrix.of(x).rows, (3, 4))
            found.append(OPERATIONS[name](entry.bent("tanh")))
    for wide, narrow in ((0, 1), (1, 2), (0, 2)):
        assert contains(found[wide], BallMatrix(found[narrow].rows.mid(), found[narrow].lengths))
        assert found[narrow].radius <= found[wide].radius
    assert found[1].radius < 1e-20


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("width", [1e-9, 1e-3, 0.02])
def test_the_image_of_every_member_lies_within(name, width):
    """A ball with its radius, and members at both of its ends: dropping a radius anywhere leaves one outside."""
    with precision(BITS):
        wide = BallMatrix(arb_mat(5, 4, [arb(x, width) for x in random(20).tolist()]), (2, 3))
        found = OPERATIONS[name](wide)
    with precision(4 * BITS):
        for share in (0.999, -0.999, 0.4):
            assert contains(found, OPERATIONS[name](ends(wide, share)))


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_balls_lie_around_what_torch_computes(name):
    x = random(5, 4)
    with precision(BITS):
        found = OPERATIONS[name](BallMatrix(BallMatrix.of(x).rows, (2, 3)))
    assert found.distance(PLAIN[name](x)) < 1e-14


def side_by_side(x, causal, scale):
    q, k, v = (x @ random(6, 4, seed=s).T + random(6, seed=8) for s in (5, 6, 7))
    q, k, v = (t.unflatten(-1, (3, 2)).movedim(1, 0) for t in (q, k, v))
    s = math.sqrt(scale) * q @ k.mT
    s = s.masked_fill(torch.ones(s.shape[-2:]).triu(1).bool(), -math.inf) if causal else s
    return (torch.softmax(s, -1) @ v).movedim(0, 1).flatten(1)


def each(function):
    return lambda x: torch.cat([function(x[:2]), function(x[2:])])


PLAIN = {
    "linear": lambda x: x @ W.T + B,
    "linear without a bias": lambda x: x @ W.T,
    "identity": lambda x: x,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "silu": torch.nn.functional.silu,
    "gelu": torch.nn.functional.gelu,
    "sum": lambda x: x + x.tanh(),
    "scaled": lambda x: math.sqrt(3) * x,
    "norm": lambda x: torch.nn.functional.layer_norm(x, (4,), GAMMA, BETA, 1e-12),
    "norm that does not centre": lambda x: torch.nn.functional.rms_norm(x, (4,), GAMMA, 1e-5) + BETA,
    "unit": lambda x: x / x.norm(dim=-1, keepdim=True),
    "mean": each(lambda x: x.mean(0, keepdim=True)),
    "attention": each(lambda x: side_by_side(x, False, 1.0)),
    "causal attention": each(lambda x: side_by_side(x, True, 0.5)),
}


def test_softmax_and_erf_to_fifty_digits():
    """Against decimals of Python, which share no code with flint."""
    getcontext().prec = 60
    with precision(200):
        x = BallMatrix.of(torch.tensor([[1.5], [-0.75]], dtype=torch.float64))
        mixed, bent = attention(x, x, x), x.bent("gelu")
    e = [Decimal("2.25").exp(), Decimal("-1.125").exp()]
    first = (e[0] * Decimal("1.5") - e[1] * Decimal("0.75")) / sum(e)
    assert abs(Decimal(mixed.rows[0, 0].mid().str(55, radius=False)) - first) < Decimal("1e-50")
    t, term, erf = Decimal("1.5") / Decimal(2).sqrt(), Decimal("1.5") / Decimal(2).sqrt(), Decimal(0)
    for n in range(120):
        erf += term / (2 * n + 1)
        term *= -t * t / (n + 1)
    pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
    gelu = Decimal("0.75") * (1 + 2 / pi.sqrt() * erf)
    assert abs(Decimal(bent.rows[0, 0].mid().str(55, radius=False)) - gelu) < Decimal("1e-50")


ONE_WIDE = {
    "the first key": ([1, 1], [arb(0, 0.5), 0], [0, 1]),
    "the last query": ([1, arb(1, 0.5)], [2, -1], [0, 1]),
    "the first value": ([1, 1], [0, 3], [arb(5, 1), 0]),
}


@pytest.mark.parametrize("name", ONE_WIDE)
@pytest.mark.parametrize("share", [0.999, -0.999])
def test_one_ball_alone_is_enough_to_move_what_is_attended(name, share):
    """A wide first key moves the total and not the numerator, a wide value the numerator and not the total."""
    with precision(BITS):
        parts = [BallMatrix(arb_mat([[arb(x)] for x in column]), (2,)) for column in ONE_WIDE[name]]
        found = attention(*parts)
    with precision(4 * BITS):
        exact = attention(*(ends(part, share) for part in parts))
        assert contains(found, exact) and not contains(attention(*(ends(part, 0.0) for part in parts)), exact)


# worst cases


@pytest.mark.parametrize("eps", [1e-12, 1e-5])
def test_a_row_without_variance_has_a_norm_as_long_as_eps_is_there(eps):
    with precision(BITS):
        x = BallMatrix.of(torch.full((1, 4), 0.1, dtype=torch.float64))
        assert x.norm(GAMMA, BETA, eps).distance(BETA) < 1e-15
        with pytest.raises(Unresolved, match="norm"):
            x.norm(GAMMA, BETA, 0.0)
        with pytest.raises(Unresolved, match="norm"):
            BallMatrix.of(torch.zeros(1, 4)).unit()


@pytest.mark.parametrize("size", [1e8, 1e80, 1e300])
def test_huge_scores_take_the_largest(size):
    x = torch.tensor([[size], [-size], [size / 2]], dtype=torch.float64)
    with precision(1200):
        q, v = BallMatrix.of(x), BallMatrix.of(torch.tensor([[1.0], [2.0], [3.0]]))
        found = attention(q, q, v)
    assert found.distance(torch.tensor([[1.0], [2.0], [1.0]])) < 1e-300


def test_equal_scores_take_the_mean_and_one_token_sees_itself():
    with precision(BITS):
        x = BallMatrix.of(torch.zeros(3, 1))
        assert (
            attention(x, x, BallMatrix.of(torch.tensor([[1.0], [2.0], [6.0]]))).distance(torch.full((3, 1), 3.0)) == 0
        )
        one = BallMatrix.of(torch.tensor([[5.0]]))
        assert attention(one, one, one).distance(torch.tensor([[5.0]])) == 0
        assert attention(one, one, one, causal=True).distance(torch.tensor([[5.0]])) == 0


def test_scores_that_may_be_anything_are_no_softmax():
    with precision(BITS):
        q = BallMatrix(arb_mat([[arb(0, 1e30)], [arb(0, 1e30)]]), (2,))
        with pytest.raises(Unresolved, match="scores"):
            attention(q, q, q)


def test_relu_of_a_ball_around_zero_holds_both_sides():
    with precision(BITS):
        found = BallMatrix(arb_mat([[arb(0.25, 1), arb(-3, 1)]]), (1,)).bent("relu")
        assert found.rows[0, 0].contains(1.25) and found.rows[0, 0].contains(0) and found.rows[0, 1] == 0


@pytest.mark.parametrize("short", [1, 9, 10, 12, 59, 60, 61])
def test_short_factors_are_multiplied_as_the_others(short):
    a, b = random(short, 64), random(64, 70, seed=1)
    with precision(BITS):
        left = BallMatrix.of(a).bent("tanh").rows
        found, plain = times(left, entered(b)), left * entered(b)
    assert (found.nrows(), found.ncols()) == (short, 70)
    assert all(x.overlaps(y) and x.rad() < 1e-20 for x, y in zip(found.entries(), plain.entries(), strict=True))


def test_the_distance_covers_the_whole_ball_and_is_rounded_up():
    with precision(BITS):
        x = BallMatrix(arb_mat([[arb(1, 0.5), arb(1) / 3]]), (1,))
        assert x.distance(torch.tensor([3.0, 0.0])) >= 2.5 and x.radius >= 0.5
        third = BallMatrix(arb_mat([[arb(1) / 3]]), (1,))
        assert arb(third.distance(torch.tensor([0.0]))) > arb(1) / 3 > arb(1 / 3)
        for nothing in ("nan", "inf", "-inf"):
            x = BallMatrix(arb_mat([[arb(nothing)]]), (1,))
            assert math.isinf(x.distance(torch.tensor([0.0]))) and math.isinf(x.radius)


def test_sequences_side_by_side_do_not_see_each_other():
    x = random(2, 3, 4)
    with precision(BITS):
        both, one = heads(False)(BallMatrix.of(x)), heads(False)(BallMatrix.of(x[1]))
    assert BallMatrix.of(x).lengths == (3, 3) and BallMatrix.of(x[0, 0]).lengths == (1,)
    middles = torch.tensor([float(e.mid()) for e in one.rows.entries()], dtype=torch.float64)
    assert BallMatrix(arb_mat(both.rows.tolist()[3:]), (3,)).distance(middles) < 1e-15
