"""Heads that truncate: their rules, and every term of their bound met by a case that needs it."""

from fractions import Fraction

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.compiler.request import Request
from headsmith.constructions import clip as rules
from headsmith.constructions.clip import KeysOnMemory, KeysOnTokens
from headsmith.proof.approximation import value
from headsmith.proof.statement import Head

ITSELF = Head(*(np.array([v]) for v in (0.0, 0.0, 0.0, 1.0)))  # one gate without a null token: it returns z


def asked(target, domain, dtype="float64", eps=1.0):
    return Request.read(target, eps, domain, dtype, "auto")


def constant(c):
    return Head.table([0.0], [0.0], [c])


def sup(heads, low, high, c=20_001):
    z = np.linspace(low - 1, high + 1, c)
    return float(np.abs(sum(h(z) for h in heads) - np.clip(z, low, high)).max())


def test_the_sizes_that_the_papers_print():
    assert [rules.printed_size(-1, 1, e) for e in (1e-1, 1e-2, 1e-3)] == [40, 400, 4000]
    assert rules.printed_size(-1, 1, 1.0, tokens=9) == 10
    assert rules.sentinel_size(-1.0, 2.0, 10, 1e-3) == 750 and rules.telescope_size(-1.0, 2.0, 10, 1e-3) == 22


@pytest.mark.parametrize("keys, heads", [(3, 2), (6, 8), (18, 4)])
def test_telescoping_heads_err_by_the_same_fraction_of_a_step(keys, heads):
    error = sup(rules.telescope(-1, 2, keys, heads), -1, 2, 40_001)
    assert error * (keys - 1) * heads / 3 == pytest.approx(0.0615, abs=0.001)
    assert error <= rules.telescope_error(-1, 2, keys, heads)


def test_printed_staircases_err_by_a_step_and_ours_by_a_sixteenth():
    assert sup([rules.printed(-1, 1, 32, 1e-3)], -1, 1) == pytest.approx(2 / 32, rel=1e-3)
    assert sup([rules.uniform(-1, 1, 33)], -1, 1) == pytest.approx(0.0615 * 2 / 32, rel=0.02)


@pytest.mark.parametrize("heads", [2, 8])
def test_sentinels_lose_the_truncation(heads):
    assert sup(rules.sentinels(-1, 2, 6, heads, 1e-3), -1, 2) == pytest.approx(2.0, abs=1e-6)


def test_every_value_of_z_is_proved():
    """Range 10, w x + t = 2 * 3 + 1: a head that returns 0 errs by 7 there, and nowhere by more."""
    target = hs.target.Clip([[0.0], [2.0]], [0.0, 1.0], -10, 10)
    bound = KeysOnMemory((constant(0.0),)).prove(target, asked(target, (-3, 3)))
    assert 7.0 <= bound.approximation <= 7.08


@pytest.mark.parametrize("w, t", [(1 + 0.9 * 2.0**-24, 0.0), (1.0, 0.9 * 2.0**-15)], ids=["w", "t"])
def test_numbers_that_float32_had_to_round_are_paid_for(w, t):
    """The network returns z = x exactly, the target is w x + t: all of the error is that of the stored numbers."""
    target = hs.target.Clip([[0.0], [w]], [0.0, 1024 * (t > 0) + t], -4096, 4096)
    design, request = KeysOnMemory((ITSELF,)), asked(target, (-1024, 1024), "float32")
    x, bound = torch.full((2, 1), 1024.0), design.prove(target, request)
    out = design.network(target, "float32")(x)[1, 0]
    exact = Fraction(float(target.W[1, 0])) * 1024 + Fraction(float(target.t[1]))
    error = float(abs(Fraction(float(out)) - exact))
    assert error <= bound.approximation <= 1.2 * error


def unlucky():
    """1 + 63 h in float32, each addition rounded up by almost half a unit: the largest sum that any order makes."""
    h = np.float32(2.0**-24 * (1 + 2.0**-10))
    target = hs.target.Clip([[0.0] * 64, [1.0, *[h] * 63]], [0.0, 0.0], -4, 4)
    total = np.float32(1.0)
    for _ in range(63):
        total = np.float32(total + h)
    return target, float(total), float(total) - (1 + 63 * float(h))


def test_any_order_of_the_dot_product_is_paid_for():
    target, _, error = unlucky()
    bound = KeysOnMemory((ITSELF,)).prove(target, asked(target, (-1, 1), "float32"))
    assert error <= bound.rounding <= 1.2 * error


def test_heads_are_proved_where_rounding_takes_z():
    target, most, _ = unlucky()
    low, high = rules.preactivation(target, asked(target, (-1, 1), "float32")).reach
    assert low <= -most and most <= high <= 1.0001


def test_heads_round_too():
    """Scores of size 9000 in float32: a head that turns steeply at z = 0.9."""
    target = hs.target.Clip([[1.0]], [0.0])
    design = KeysOnMemory((Head.table([0.0, 1e4], [0.0, -9e3], [-1.0, 1.0]).cast("float32"),))
    x = (0.9 + torch.linspace(-1e-3, 1e-3, 801))[:, None, None]
    out = design.network(target, "float32")(x)[:, 0, 0]
    part = design.part(target, (-1.0, 1.0))
    error = max(abs(float(value(part, z)) - y) for z, y in zip(x.flatten().tolist(), out.tolist(), strict=True))
    assert 1e-4 < error <= design.prove(target, asked(target, (-1, 1), "float32")).rounding


def test_what_float32_cannot_hold_is_refused():
    target = hs.target.Clip([[1e30]], [0.0])
    with pytest.raises(hs.Refusal, match="beyond the range of float32"):
        hs.plan(target, domain=(-1e9, 1e9), eps=0.1, dtype="float32")
    with pytest.raises(hs.Refusal, match="beyond the range of float32"):
        hs.plan(hs.target.Clip([[1e39]], [0.0]), domain=(-1, 1), eps=0.1, dtype="float32")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", [KeysOnMemory, KeysOnTokens])
def test_what_is_stored_is_read_back(kind, dtype):
    target = hs.target.Clip(np.ones((6, 2)), np.arange(6.0))
    design = kind.cast(rules.telescope(-1, 1, 4, 3), dtype)
    again = kind.stored(target, design.network(target, dtype), asked(target, (-1, 1), dtype), {})
    assert again.bias == design.bias and again.tally == (12, 3, 1)
    for a, b in zip(again.held, design.held, strict=True):
        assert all(np.array_equal(getattr(a, n), getattr(b, n)) for n in ("slopes", "offsets", "values", "lines"))


def test_keys_on_tokens_and_on_memory_are_the_same_function():
    target = hs.target.Clip(np.eye(6), np.linspace(-1, 1, 6))
    heads, x = rules.telescope(-1, 1, 4, 3), torch.randn(20, 6, 6, dtype=torch.float64)
    memory, tokens = (kind.cast(heads, "float64").network(target, "float64") for kind in (KeysOnMemory, KeysOnTokens))
    torch.testing.assert_close(memory(x), tokens(x), rtol=1e-13, atol=1e-13)
