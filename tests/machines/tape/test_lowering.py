"""The lowering is right without any machine: pass by pass in plain formulas, it computes what the program says."""

import itertools
import math
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import headsmith as hs
from headsmith import Refusal
from headsmith.machines.tape.instruction import Sizes
from headsmith.machines.tape.lowering import lower

from ..data import random

head, linear, norm, chain = hs.prompt.head, hs.prompt.linear, hs.prompt.norm, hs.prompt.chain
residual, pool = hs.prompt.residual, hs.prompt.pool
WIDE = Sizes(slot=48, slots=12, heads=4)


def apart(program, sizes, x, **options):
    tape = lower(program, sizes, **options)
    return float((tape.reference(x) - tape.source.reference(x)).abs().max())


def heads(d, count, rows, seed, **options):
    parts = [random(count, rows, d, seed=seed + i) / math.sqrt(d) for i in range(3)]
    return head(*parts, biases=tuple(random(count, rows, seed=seed + 3 + i) for i in range(3)), **options)


def mlp_of(d, ff, activation, seed):
    first = linear(random(ff, d, seed=seed) / math.sqrt(d), random(ff, seed=seed + 1), activation)
    return first, linear(random(d, ff, seed=seed + 2) / math.sqrt(ff), random(d, seed=seed + 3))


def normed(d, seed, **options):
    return norm(1 + 0.3 * random(d, seed=seed), random(d, seed=seed + 1), **options)


def layer(d, count, ff, *, pre, causal=False, activation="relu", seed=0):
    attention = heads(d, count, d // count, seed, causal=causal, scale=1 / math.sqrt(d // count))
    out = linear(random(d, d, seed=seed + 20) / math.sqrt(d), random(d, seed=seed + 21))
    inner, one, two = mlp_of(d, ff, activation, seed + 30), normed(d, seed + 40), normed(d, seed + 50)
    if pre:
        return chain(residual(one, attention, out), residual(two, *inner))
    return chain(residual(attention, out), one, residual(*inner), two)


@pytest.mark.parametrize("pre", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_an_encoder(pre, causal, activation):
    layers = [layer(48, 4, 192, pre=pre, causal=causal, activation=activation, seed=100 * i) for i in range(2)]
    program = chain(*layers, normed(48, 9)) if pre else chain(*layers)
    assert apart(program, WIDE, random(2, 7, 48, seed=1)) < 1e-11
    passes = len(lower(program, WIDE))
    assert passes == (2 * (5 + 4) + 1 if pre else 2 * (3 + 4) + 1)


def test_the_slots_of_post_ln_are_those_of_the_hidden_layer_and_one():
    assert lower(layer(48, 4, 192, pre=False), Sizes(48, 5, 4)).written[0].put == {1: "set"}
    with pytest.raises(Refusal, match=r"takes 5 slots of 48 numbers, the block has 4: .*slots=5"):
        lower(layer(48, 4, 192, pre=False), Sizes(48, 4, 4))


@given(
    st.integers(1, 3), st.integers(1, 5), st.integers(1, 40), st.integers(1, 4), st.integers(1, 6), st.booleans(),
    st.booleans(),
)  # fmt: skip
def test_encoders_of_all_sizes(count, rows, ff, block_heads, more, pre, causal):
    d = count * rows + (1 if count * rows == 1 else 0)
    count = count if d == count * rows else 1
    size = max(rows, -(-d // block_heads), 2) if count * rows == d else d
    sizes = Sizes(slot=block_heads * max(size, d // count), slots=48, heads=block_heads)
    program = chain(layer(d, count, ff, pre=pre, causal=causal, seed=ff), pool(), normed(d, 3))
    assert apart(program, sizes, random(5, d, seed=2), norm=(2.0**-40, 2.0**40)) < 1e-10


@pytest.mark.parametrize("widths", [(20, 64, 64, 5), (100, 130, 3), (7, 48, 1), (1, 300, 300, 2)])
def test_a_perceptron(widths):
    parts = [
        linear(random(b, a, seed=a) / math.sqrt(a), random(b, seed=b), "gelu" if i < len(widths) - 2 else "identity")
        for i, (a, b) in enumerate(itertools.pairwise(widths))
    ]
    tape = lower(chain(*parts), Sizes(48, 16, 4))
    x = random(9, widths[0], seed=4)
    assert len(tape) == sum(-(-b // 48) for b in widths[1:])
    assert float((tape.reference(x) - tape.source.reference(x)).abs().max()) < 1e-12


def test_a_torch_perceptron():
    module = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 5)).double()
    tape = lower(hs.prompt.mlp(module), Sizes(64, 2, 1))
    x = random(9, 20, seed=4)
    assert len(tape) == 3 and float((tape.reference(x) - module(x).detach()).abs().max()) < 1e-13


@pytest.mark.parametrize(
    ("count", "rows", "d", "options", "passes", "view"),
    [
        (1, 8, 16, {}, 1, "heads"),
        (1, 12, 24, {"causal": True}, 1, "causal"),
        (1, 24, 24, {"activation": "tanh"}, 1, "whole"),
        (9, 12, 70, {"causal": True}, 3, "causal"),
        (7, 5, 48, {"activation": "silu"}, 2, "heads"),
        (5, 20, 48, {}, 5, "whole"),
    ],
)
def test_heads(count, rows, d, options, passes, view):
    program = heads(d, count, rows, 7, **options)
    after = linear(random(3, count * rows, seed=2))
    x = random(6, d, seed=5)
    tape = lower(chain(program), WIDE)
    assert len(tape) == passes and {i.view for i in tape} == {view}
    assert apart(chain(program, after), WIDE, x) < 1e-12 and apart(program, WIDE, x) < 1e-12


def test_one_head_without_a_batch_is_what_it_was():
    program = head(random(4, 6, seed=1), random(4, 6, seed=2), random(4, 6, seed=3))
    x = random(5, 6, seed=4)
    assert torch.allclose(lower(program, WIDE).reference(x), program.reference(x), rtol=0, atol=1e-14)


@pytest.mark.parametrize("centred", [True, False])
def test_a_norm_of_uneven_variances(centred):
    x = random(40, 48, seed=3) * torch.linspace(0, math.log(600) / 2, 40).exp()[:, None]
    program = normed(48, 6, centred=centred)
    tape = lower(program, WIDE, sample=x)
    assert len(tape) == 2 and tape.instructions[0].unit
    assert float((tape.reference(x) - program.reference(x)).abs().max()) < 1e-12
    floor, reading = tape.instructions[0].rows[1], tape.instructions[0]
    powers = reading.named("V", tape.enter(x), WIDE).square().sum(-1) + floor.bias
    assert float(powers.min()) >= 2**-6 and float(powers.max()) <= 2**6


def test_a_norm_beyond_the_table_is_refused_with_a_table_that_holds_it():
    x = random(40, 48, seed=3) * torch.linspace(0, 6, 40).exp()[:, None]
    with pytest.raises(Refusal, match=r"Tape\(..., norm=\(0.00\d+, \d+\)\) does") as refusal:
        lower(normed(48, 6), WIDE, sample=x)
    low, high = (float(v) for v in str(refusal.value).split("norm=(")[1].split(")")[0].split(", "))
    assert apart(normed(48, 6), WIDE, x, sample=x, norm=(low, high)) < 1e-11


def test_a_unit_vector_needs_one_pass():
    program = chain(pool(), norm(torch.full((48,), 1 / math.sqrt(48), dtype=torch.float64), eps=0.0, centred=False))
    tape, x = lower(program, WIDE), random(6, 48, seed=1)
    assert len(tape) == 2 and tape.pooled
    assert torch.allclose(tape.reference(x), x.mean(0) / x.mean(0).norm(), rtol=0, atol=1e-14)


def test_sums_within_sums_keep_what_is_still_needed():
    inner = residual(linear(random(60, 60, seed=1) / 8), linear(random(60, 60, seed=2) / 8, None, "tanh"))
    program = chain(residual(inner, linear(random(60, 60, seed=3) / 8), inner), residual(pool()), residual(inner))
    assert apart(program, WIDE, random(4, 60, seed=5)) < 1e-12


def test_no_instruction_reads_a_slot_that_was_given_away():
    tape = lower(layer(48, 4, 192, pre=True), WIDE)
    written = Counter({0: 1})
    for instruction in tape:
        assert all(written[slot] for slot in instruction.reads)
        written.update(instruction.put.keys())


@pytest.mark.parametrize(
    ("program", "sizes", "words"),
    [
        (normed(49, 1), WIDE, r"a norm over 49 numbers.*slot=52, slots=12, heads=4"),
        (heads(9, 2, 13, 1, causal=True), WIDE, r"a causal head of 13 rows .*slot=52"),
        (heads(9, 1, 50, 1), WIDE, r"a head of 50 rows .*slot=52"),
        (hs.prompt.mean(), WIDE, "program.on"),
        (pool(), WIDE, "give a sample"),
        ("minilm", WIDE, "hs.prompt"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(program, sizes, words):
    with pytest.raises(Refusal, match=words):
        lower(program, sizes)


def test_a_head_that_is_too_wide_fits_the_block_that_the_refusal_names():
    lower(heads(9, 2, 13, 1, causal=True), Sizes(52, 12, 4))
    lower(heads(9, 1, 50, 1), Sizes(52, 12, 4))


@st.composite
def chains(draw, width, depth=2):
    """A random chain on tokens of this width, and its width behind."""
    stages = []
    for _ in range(draw(st.integers(1, 3))):
        kind, seed = draw(st.sampled_from(["linear", "residual", "norm", "head", "pool"])), draw(st.integers(1, 99))
        if kind == "linear":
            rows = draw(st.integers(1, 40))
            bent = draw(st.sampled_from(["identity", "gelu", "relu"]))
            stages.append(linear(random(rows, width, seed=seed) / math.sqrt(width), random(rows, seed=seed + 1), bent))
            width = rows
        elif kind == "head":
            count, rows = draw(st.integers(1, 6)), draw(st.integers(1, 12))
            stages.append(heads(width, count, rows, seed, causal=rows <= 3 and draw(st.booleans())))
            width = count * rows
        elif kind == "residual" and depth:
            inner, after = draw(chains(width, depth - 1))
            back = linear(random(width, after, seed=seed) / math.sqrt(after))
            stages.append(
                residual(inner, back) if draw(st.booleans()) else residual(inner, back, linear(back_of(width)))
            )
        elif kind == "norm" and 1 < width <= 12:
            stages.append(normed(width, seed))
        elif kind == "pool":
            stages.append(pool())
    return (chain(*stages) if stages else chain(linear(back_of(width)))), width


def back_of(width):
    return torch.eye(width).double().roll(1, 0)


@given(st.data(), st.integers(2, 30))
def test_random_chains(data, width):
    program, _ = data.draw(chains(width))
    x = random(4, width, seed=7)
    tape = lower(program, Sizes(12, 10**3, 4), sample=x, norm=(2.0**-80, 2.0**80))
    wanted = program.reference(x)
    assert tape.reference(x).shape == wanted.shape
    assert float((tape.reference(x) - wanted).abs().max()) <= 1e-9 * (1 + float(wanted.abs().max()))
