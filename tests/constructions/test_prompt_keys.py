"""Keys that the prompt writes: every term of their bound, met by a case that needs it."""

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.compiler.request import Request
from headsmith.constructions import clip as rules
from headsmith.constructions import prompt_keys
from headsmith.constructions.prompt_keys import PrintedPromptKeys, PromptKeys, reach
from headsmith.proof.statement import Head


def asked(target, domain, dtype="float64", eps=1.0):
    return Request.read(target, eps, domain, dtype, "auto")


def step(slope=1.0, offset=0.0):
    """From -1 to 1 around z = -offset/slope."""
    return Head.table([0.0, slope], [0.0, offset], [-1.0, 1.0])


def test_every_value_of_z_is_proved():
    """x = 3, w = 2, t = 1 in each of two features: z = 13, where a head that returns 0 errs by 13."""
    target = hs.target.PromptClip(1, 2, -20, 20, weight=2, shift=1)
    request = asked(target, (-3, 3))
    assert 13 <= reach(target, request.domain) <= 13.001
    bound = PromptKeys((Head.table([0.0], [0.0], [0.0]),)).prove(target, request)
    assert 13 <= bound.approximation <= 13.14


def test_gains_reach_as_far_as_the_largest_token():
    """Gains (1, 1) and (-3, 2): z = 3 (3 + 2) + 1 at the second token."""
    target = hs.target.PromptClip(2, 2, -40, 40, weight=3, shift=1, gains=[[1.0, 1.0], [-3.0, 2.0]])
    request = asked(target, (-1, 1))
    assert 16 <= reach(target, request.domain) <= 16.001
    assert 16 <= PromptKeys((Head.table([0.0], [0.0], [0.0]),)).prove(target, request).approximation <= 16.2


def test_a_gain_is_rounded_and_so_is_its_product(monkeypatch):
    """One feature, steep in z: a third is no float32, its product with x none either."""
    slope, third = 1e5, 1 / 3
    target = hs.target.PromptClip(1, 1, weight=2.0, shift=0.0, gains=[[third]])
    design = PromptKeys((step(slope, -slope * 0.5).cast("float32"),))
    x = torch.linspace(1.4, 1.6, 4001)[:, None, None]
    found = design.network(target, "float32")(target.encode(x, torch.ones(4001, 1), torch.zeros(4001, 1)))[:, 0, 0]
    [head] = design.held
    exact = torch.tanh((head.slopes[1] * x[:, 0, 0].double() * third + head.offsets[1]) / 2)
    error = float((found.double() - exact).abs().max())
    counted, real = [], prompt_keys.prove_rounding
    monkeypatch.setattr(prompt_keys, "prove_rounding", lambda *a, **k: counted.append(k["terms"]) or real(*a, **k))
    assert 5e-4 < error <= design.prove(target, asked(target, (-2, 2), "float32")).rounding
    design.prove(hs.target.PromptClip(1, 1, weight=2.0, shift=0.0), asked(target, (-2, 2), "float32"))
    assert counted == [6, 4]  # the cast of the gain and its product, on top of d + 3


def test_terms_that_cancel_are_paid_for():
    """z = a b - a (b - 2^-20): nearly 0, but both products are rounded, and so are the keys that hold a."""
    target, slope = hs.target.PromptClip(1, 2, weight=2.0), 1e5
    design = PromptKeys((step(slope).cast("float32"),))
    a, b = torch.cartesian_prod(torch.linspace(1, 2, 50), torch.linspace(1, 1.5, 7)).T
    x, w = torch.stack([b, 2.0**-20 - b], -1)[:, None], torch.stack([a, a], -1)
    found = design.network(target, "float32")(target.encode(x, w, torch.zeros(len(a), 1)))[:, 0, 0]
    exact = torch.tanh(slope * (x[:, 0].double() * w.double()).sum(-1) / 2)
    worst = float((found.double() - exact).abs().max())
    assert 1e-2 < worst <= design.prove(target, asked(target, (-2, 2), "float32")).rounding


def test_any_order_of_a_long_dot_product_is_paid_for():
    """32 ones, then 32 terms that each round the sum up by half a unit; at z = 32 the head is steepest."""
    h, total = np.float32(2.0**-19 * (1 + 2.0**-10)), np.float32(32)
    for _ in range(32):
        total = np.float32(total + h)
    slip = float(total) - (32 + 32 * float(h))
    target = hs.target.PromptClip(1, 64, shift=0.0)
    bound = PromptKeys((step(1.0, -32.0),)).prove(target, asked(target, (-1, 1), "float32"))
    assert 2.9e-5 < np.tanh(slip / 2) <= bound.rounding


@pytest.fixture
def flushing():
    """Results below the normal range become zero."""
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor keeps subnormal numbers")
    yield
    torch.set_flush_denormal(False)


@pytest.mark.parametrize(
    "x, w, t, slope",
    [(1e33, 2.4e-38, 0.0, 0.45), (1.17e-38, 1e33, 0.0, 0.45), (0.0, 0.0, 1.17e-38, 2e32)],
    ids=["slope w", "x", "t"],
)
def test_what_is_flushed_to_zero_is_paid_for(flushing, x, w, t, slope):
    """float32: a factor just below the normal range becomes 0, and what it meets is huge."""
    target = hs.target.PromptClip(1, 1, weight=max(w, 1e-33) if w > 1 or x > 1 else 1e-10, shift=5 * t)
    design = PromptKeys((Head.table([-slope, slope], [0.0, 0.0], [-1.0, 1.0]).cast("float32"),))
    bound = design.prove(target, asked(target, (-max(x, 1e-33), max(x, 1e-33)), "float32"))
    tokens = target.encode(*(torch.tensor(v) for v in ([[x]], [w], [t])))
    error = float(np.tanh(slope * (w * x + t)))
    assert float(design.network(target, "float32")(tokens)[0, 0]) == 0.0
    assert error <= bound.rounding <= 1.3 * error


def test_half_of_t_costs_three_halves_of_the_shift():
    """t_0 = -1, t_1 = 1: the printed map reads -1/2 where 1 should stand."""
    target = hs.target.PromptClip(2, 1, -4, 4)
    design = PrintedPromptKeys.cast([rules.printed(-4, 4, 160, 0.1)], "float64")
    x, w, t = torch.zeros(2, 1), torch.zeros(1), torch.tensor([-1.0, 1.0])
    out = design.network(target, "float64")(target.encode(x.double(), w.double(), t.double()))
    bound = design.prove(target, asked(target, (-1, 1)))
    assert float(out[1, 0]) == pytest.approx(-0.5, abs=0.03)
    assert 1.5 <= bound.approximation <= 1.56


def test_a_lost_shift_costs_no_more_than_the_range():
    target = hs.target.PromptClip(2, 1, shift=100.0)
    design = PrintedPromptKeys.cast([rules.printed(-1, 1, 40, 0.1)], "float64")
    assert 2.0 <= design.prove(target, asked(target, (-1, 1))).approximation <= 2.1


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", [PromptKeys, PrintedPromptKeys])
def test_what_is_stored_is_read_back(kind, dtype):
    target = hs.target.PromptClip(3, 2)
    design = kind.cast([rules.uniform(-1, 1, 7)], dtype)
    [a], [b] = kind.stored(target, design.network(target, dtype), asked(target, (-1, 1), dtype), {}).held, design.held
    assert all(np.array_equal(getattr(a, n), getattr(b, n)) for n in ("slopes", "offsets", "values", "lines"))
