"""Context ids: balls and executions lie in the enclosures, and an adversary attains each term of the rounding bound."""

import math

import numpy as np
import pytest
import torch
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from headsmith.functions.balls import precision
from headsmith.network import Attention, Dense, Network
from headsmith.proof import context_ids
from headsmith.proof.approximation import Unprovable
from headsmith.proof.context_ids import RankOne, Seen, attended, enclosed, plain
from headsmith.proof.rounding import FORMATS, Format

from .worst_case import COARSE, worst

u = COARSE.unit
EXACT = Format("float64", 0.0, 0.0)
FORMAT = st.sampled_from(["float64", "float32"])


def drawn(seed, dtype="float64", features=4, single=False):
    """A random head and random sequences, in numbers of the dtype."""
    rng = np.random.default_rng(seed)
    parts = np.eye(features)[rng.integers(0, features, 5)] if single else rng.normal(size=(5, features))
    lengths = rng.integers(1, 6, 4)
    tokens = rng.normal(size=(lengths.sum(), features))
    parts, tokens = (x.astype(dtype).astype(np.float64) for x in (parts, tokens))
    return tokens, RankOne(*parts), lengths


def balls(tokens, head, lengths, causal):
    """The exact ids."""
    dot = lambda a, b: sum((arb(x) * y for x, y in zip(a, b, strict=True)), arb(0))  # noqa: E731
    found, start = [], 0
    for n in lengths.tolist():
        for i in range(n):
            seen = tokens[start : start + (i + 1 if causal else n)].tolist()
            own = tokens[start + i].tolist()
            powers = [(dot(head.key, x) * dot(head.query, own)).exp() for x in seen]
            z = sum((p * dot(head.value, x) for p, x in zip(powers, seen, strict=True)), arb(0)) / sum(powers, arb(0))
            found.append(dot(head.read, [x + o * z for x, o in zip(own, head.output.tolist(), strict=True)]))
        start += n
    return found


@given(st.integers(0, 10_000), st.booleans(), st.booleans())
def test_the_exact_id_is_enclosed(seed, causal, single):
    tokens, head, lengths = drawn(seed, single=single)
    found = Seen(tokens, head.key, head.query, head.value, lengths, causal).enclosed(head.output, head.read, EXACT)
    with precision(128):
        exact = balls(tokens, head, lengths, causal)
        off = [float(abs(ball - t).upper()) for ball, t in zip(exact, found.ids.tolist(), strict=True)]
    assert (np.array(off) <= found.radius).all()


@given(st.integers(0, 10_000), FORMAT, st.booleans(), st.booleans())
def test_no_execution_leaves_the_enclosure(seed, dtype, causal, single):
    """The network itself, sequence by sequence, padded with nonsense, and with tokens in another order."""
    tokens, head, lengths = drawn(seed, dtype, single=single)
    found = enclosed(tokens, head, lengths, causal, FORMATS[dtype])
    kind, rng = getattr(torch, dtype), np.random.default_rng(seed)
    maps = (Dense(torch.tensor(part[None, None]).to(kind)) for part in (head.query, head.key, head.value))
    write = Dense(torch.tensor(head.output[None, :, None]).to(kind))
    layer = Attention(*maps, write, visible="causal" if causal else "all", residual=True)
    start = 0
    for n in lengths.tolist():
        order = np.arange(n) if causal else rng.permutation(n)
        rows = torch.tensor(np.concatenate([tokens[start : start + n][order], 99 * rng.normal(size=(3, 4))])).to(kind)
        padding = torch.arange(n + 3) >= n
        ids = (Network([layer], tokens=["t"])(rows, padding) @ torch.tensor(head.read).to(kind))[:n]
        inside = slice(start, start + n)
        assert (np.abs(ids.double().numpy() - found.ids[inside][order]) <= found.radius[inside][order]).all()
        start += n


def executed(tokens, head, query):
    """The head at one position, as a program for an adversary; products with powers of two do not round."""

    def dot(op, x, w):
        return op.sum([a * b if math.frexp(b)[0] in (0.5, -0.5, 0) else op(a * b) for a, b in zip(x, w, strict=True)])

    def program(op):
        keys, values = ([dot(op, x, part.tolist()) for x in tokens.tolist()] for part in (head.key, head.value))
        q = dot(op, tokens[query].tolist(), head.query.tolist())
        z = op.dot(op.softmax([op(q * k) for k in keys], context_ids.EXP_ERROR), values)
        stream = [op(x + op(o * z), most=abs(o * z)) for x, o in zip(tokens[query], head.output, strict=True)]
        return dot(op, [*map(float, stream)], head.read.tolist())

    return program


def share(tokens, key=(), query=(), value=(), output=(), read=(), at=0):
    """What an adversary attains of the bound, whose part for the reference is nothing beside it."""
    tokens = np.array(tokens, dtype=np.float64)
    head = RankOne(*(np.array(part, dtype=np.float64) for part in (key, query, value, output, read)))
    found = enclosed(tokens, head, np.array([len(tokens)]), False, COARSE)
    return worst(executed(tokens, head, at)) / found.radius[at]


@given(st.integers(0, 10_000), st.booleans())
def test_no_rounding_exceeds_it(seed, single):
    rng = np.random.default_rng(seed)
    tokens = rng.uniform(-1, 1, size=(rng.integers(1, 6), 3)) * rng.choice([0.1, 1, 2])
    parts = np.eye(3)[rng.integers(0, 3, 5)] if single else rng.uniform(-1, 1, size=(5, 3))
    assert share(tokens, *parts, at=0) <= 1


ID = {"output": [1, 0, 0], "read": [1, 0, 0]}  # x_0 is 0, so that the id is z
KEYS = {"key": [0, 1, 0], "value": [0, 0, 1], **ID}


def test_a_worse_exp_costs_as_much(monkeypatch):
    monkeypatch.setattr(context_ids, "EXP_ERROR", 400)
    assert 0.95 <= share([[0, 0, 1], [0, 0, -1]], query=[0, 1, 0], **KEYS) <= 1


def test_sums_round_where_the_mean_is_zero(monkeypatch):
    monkeypatch.setattr(context_ids, "EXP_ERROR", 0)
    assert 0.35 <= share([[0, 0, 1], [0, 0, -1]], query=[0, 0, 0], **KEYS) <= 1


def test_a_large_score_rounds():
    assert 0.95 <= share([[0, 20, 1], [0, 20, -1]], query=[0, 16, 0], **KEYS) <= 1


def test_a_difference_of_scores_rounds():
    """Two keys far below the top, with opposite values: both weights slip by u times their distance from it."""
    tokens = [[0, 1, 0, 1], [0, -15, 1, 0], [0, -15, -1, 0]]
    first = [1, 0, 0, 0]
    assert 0.85 <= share(tokens, [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0], first, first) <= 1


FAINT = [1.0, *[8 * u] * 49]  # each addition of the others rounds by u times everything


def wide(first):
    """A direction that reads the first coordinates one by one, and one that reads the last of them."""
    return [first * 3.0] * 50, [*[0.0] * 50, 1.0]


def test_keys_that_are_sums_slip():
    row, last = wide(16)
    tokens = [[*FAINT, 1.0], [*FAINT, -1.0]]
    query = [1.0, *[0.0] * 50]
    out = np.eye(51)[1]
    assert 0.9 <= share(tokens, [*row, 0.0], query, last, out, out) <= 1


def test_queries_that_are_sums_slip():
    """Of one coefficient: the scores differ, so half of what both weights slip by can be had."""
    tokens = [[0, 1, 1], [0, -1, 0]]
    for factor in (3.0, 4.0):
        query = [0, factor, 0]
        assert 0.3 <= share(tokens, [0, 1, 0], query, [0, 0, 1], *ID.values()) <= 1


def test_a_query_that_cancels_is_charged_for_its_terms():
    """q = 3c - 3c is 0, and rounds by 6 c u: scores that should agree differ by that."""
    tokens = [[0, 4096.0, 4096.0, 1, 1], [0, 0, 0, -1, -1]]
    directions = [0, 0, 0, 1, 0], [0, 3, -3, 0, 0], [0, 0, 0, 0, 1], [1, 0, 0, 0, 0], [1, 0, 0, 0, 0]
    assert 0.45 <= share(tokens, *directions) <= 1


def test_values_that_are_sums_slip():
    row, _ = wide(1)
    tokens = [[0.0, *FAINT]]
    flat, first = [0.0] * 51, np.eye(51)[0]
    assert 0.9 <= share(tokens, flat, flat, [0.0, *row], first, first) <= 1


def test_keys_of_another_token_slip():
    """What a token sees may be larger than it is itself."""
    tokens = [[*[0.0] * 50, 1.0, 1.0], [*FAINT, -1.0, 0.0]]
    e = np.eye(52)
    assert 0.4 <= share(tokens, [*[3.0] * 50, 0.0, 0.0], e[51], e[50], 64 * e[1], e[1]) <= 1


def test_values_of_another_token_slip():
    flat, first = [0.0] * 51, np.eye(51)[0]
    assert 0.4 <= share([flat, [0.0, *FAINT]], flat, flat, [0.0, *[3.0] * 50], first, first) <= 1


def test_both_sums_and_the_division_round():
    """One key that counts and fifty faint ones, all of one value."""
    tokens = [[0, 0, 1], *[[0, math.log(8 * u), 1]] * 50]
    head = {"key": [0, 1, 0], "query": [0, 0, 1], "value": [0, 0, 1], **ID}
    assert 0.93 <= share(tokens, **head) <= 1


def test_the_product_with_the_output_rounds():
    """One token of value 1: weight 2 roundings, value 1, product 1, and the sum with an x that hardly counts."""
    head = {"key": [0, 0, 0], "query": [0, 0, 0], "value": [0, 0, 1]}
    assert 0.97 <= share([[0.01, 0, 1]], **head, output=[3, 0, 0], read=[1, 0, 0]) <= 1


def test_the_residual_sum_rounds():
    head = {"key": [0, 0, 0], "query": [0, 0, 0], "value": [0, 0, 1]}
    assert 0.97 <= share([[100, 0, 1]], **head, output=[1, 0, 0], read=[1, 0, 0]) <= 1


def test_the_read_out_rounds():
    zero, (row, _) = [0.0] * 50, wide(1)
    assert 0.9 <= share([FAINT], zero, zero, zero, zero, row) <= 1


def test_a_mean_of_what_is_flushed_to_zero():
    """A hundred values just above the normal range, each times a hundredth: every product is lost."""
    tiny = Format("float64", 0.0, 2.0**-20)
    tokens = np.array([[0.0, 99 * tiny.tiny]] * 100)
    head = RankOne(np.zeros(2), np.zeros(2), np.eye(2)[1], np.eye(2)[0], np.eye(2)[0])
    assert enclosed(tokens, head, np.array([100]), False, tiny).radius[0] >= 99 * tiny.tiny


def faint(tokens, value, output, read):
    """The radius of the id of one token where nothing rounds, and numbers below 2^-20 are flushed."""
    parts = (np.array(part, dtype=np.float64) for part in (0 * value, 0 * value, value, output, read))
    found = enclosed(np.array([tokens]), RankOne(*parts), np.array([1]), False, Format("float64", 0.0, 2.0**-20))
    return found.radius[0] * 2**20


def test_each_product_and_each_coordinate_of_the_stream_may_be_flushed():
    """0.9 of the least normal number each: x and o z, sixteen products of a read-out, and sixteen of a value."""
    low, e, many = 0.9 * 2.0**-20, np.eye(17), np.array([0.0, *[2.0**-10] * 16])
    assert faint([low, 1.0, *[0.0] * 15], e[1], low * e[0], 4 * e[0]) >= 4 * 2 * 0.9
    x = [0.0, *[2**10 * low] * 16]
    assert faint(x, 0 * e[0], 0 * e[0], many) >= 16 * 0.9
    assert faint(x, many, e[0], e[0]) >= 16 * 0.9


def test_ids_that_the_mean_makes_too_large():
    e = np.eye(3)
    with pytest.raises(Unprovable, match="ids above"):
        enclosed(1e15 * e[2:], RankOne(e[1], e[1], e[2], 1e16 * e[0], e[0]), np.array([1]), False, FORMATS["float64"])


def test_the_mean_and_its_distance():
    keys, values = np.array([0.0, 1.0, 5.0]), np.array([1.0, -1.0, 2.0])
    z, spread = attended(keys, np.ones(3), values, np.array([2, 1]))
    p = 1 / (1 + math.e)
    assert z.tolist() == pytest.approx([2 * p - 1, 2 * p - 1, 2.0]) and spread[0] == pytest.approx(4 * p * (1 - p))
    z, _ = attended(keys, np.ones(3), values, np.array([2, 1]), causal=True)
    assert z.tolist() == pytest.approx([1.0, 2 * p - 1, 2.0])


def test_long_data_is_taken_in_pieces(monkeypatch):
    rng = np.random.default_rng(0)
    parts, lengths = rng.normal(size=(3, 40)), np.array([7, 3, 7, 3, 7, 7, 3, 3])
    whole = attended(*parts, lengths)
    monkeypatch.setattr(context_ids, "AT_ONCE", 50)
    assert np.array_equal(attended(*parts, lengths), whole)


@pytest.mark.parametrize(
    ("tokens", "scale", "fmt", "words"),
    [
        ([[0, 9, 0], [0, -9, 0]], 16.0, FORMATS["float32"], "beyond 64"),
        ([[0, 9, 0], [0, 9, 0]], 2.0**20, FORMATS["float32"], "loses the weights"),
        ([[0, math.nan, 0]], 1.0, FORMATS["float32"], "sums above"),
        ([[0, 1e31, 0]], 1e-40, FORMATS["float32"], "sums above"),
        ([[1e31, 0, 0]], 1.0, FORMATS["float32"], "ids above"),
        ([[0, 0, 0]] * 1001, 1.0, FORMATS["float32"], "1001 tokens"),
    ],
)
def test_what_cannot_be_proved_is_said(tokens, scale, fmt, words):
    tokens = np.array(tokens, dtype=np.float64)
    head = RankOne(
        *(np.array(part, dtype=np.float64) for part in (KEYS["key"], [0, scale, 0], *list(KEYS.values())[1:]))
    )
    with pytest.raises(Unprovable, match=words):
        enclosed(tokens, head, np.array([len(tokens)]), False, fmt)


def test_a_direction_of_one_power_of_two_copies():
    assert plain(np.array([0.0, -0.25])) and not plain(np.zeros(2)) and not plain(np.ones(2))
    assert not plain(np.array([0.75]))


@pytest.mark.parametrize("part", ["key", "value", "read"])
def test_coordinates_that_are_flushed(part):
    """A sum of token and place below the normal range may be 0 before a large direction meets it."""
    fmt, e, huge = FORMATS["float64"], np.eye(3), 2.0**1017
    parts = {"key": e[0], "query": e[1], "value": e[2], "output": e[2], "read": e[2]}
    head = RankOne(**{**parts, part: huge * parts[part]})
    tokens = np.ones((2, 3))
    tokens[:, 0 if part == "key" else 2] = 0.0, 0.9 * fmt.tiny
    if part == "key":
        tokens[:, 2] = 1.0, 2.0
    there, gone = (
        enclosed(x, head, np.array([2]), False, fmt) for x in (tokens, tokens * (np.abs(tokens) >= fmt.tiny))
    )
    assert (np.abs(there.ids - gone.ids) <= there.radius).all() and (there.ids != gone.ids).any()
