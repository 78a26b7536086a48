"""Memories at work: shapes, strangers, masks, and every family of data that a memory of one head can have."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import headsmith as hs
from headsmith.network import Attention, FeedForward
from headsmith.refusal import Refusal
from headsmith.search.context_keys import context_keys

IDS, LABELS = [[3, 1, 4], [1, 5]], [[0, 1, 2], [7, 8]]


def memory(sequences=IDS, labels=LABELS, dtype="float64", **options):
    return hs.compile(hs.target.Recall(sequences, labels, **options), dtype=dtype)


def consistent(tokens, lengths, positions=False, causal=False, seed=0, most=10):
    """Random labels in 1..9 that no key contradicts."""
    keys = context_keys(np.asarray(tokens), np.asarray(lengths), positions, causal)
    return np.random.default_rng(seed).integers(1, most, keys.max() + 1)[keys]


# shapes


def test_answers_have_the_shape_of_the_question():
    net = memory()
    assert net(IDS) == LABELS and net([1, 5]) == [7, 8] and net(sequences=[[1, 5]]) == [[7, 8]]
    for one in (torch.tensor([3, 1, 4]), np.array([3, 1, 4]), torch.tensor([3.0, 1.0, 4.0], dtype=torch.float64)):
        assert torch.equal(net(one), torch.tensor([0, 1, 2]))
    assert net(torch.tensor([[3, 1, 4]] * 2)).tolist() == [[0, 1, 2]] * 2
    ragged = net([torch.tensor(s) for s in IDS])
    assert [part.tolist() for part in ragged] == LABELS and ragged[0].dtype == torch.int64


def test_labels_of_several_numbers_and_vectors():
    table = np.random.default_rng(0).normal(size=(6, 3))
    vectors, labels = [table[s] for s in IDS], [[[0, -1], [1, 2], [2, 0]], [[7, 7], [8, 9]]]
    net = memory(vectors, labels)
    assert [part.tolist() for part in net(vectors)] == labels
    assert net(vectors[1]).tolist() == labels[1] and net([v.tolist() for v in vectors]) == labels
    assert [part.tolist() for part in net.certify(vectors)] == [[[0, 0]] * 3, [[0, 0]] * 2]
    assert memory(labels=labels)(IDS) == labels


def test_the_longest_and_the_shortest_run_together():
    net = memory([[1], [2] * 3 + [1], [3, 2]], [[5], [1, 1, 1, 2], [3, 4]])
    assert net([[3, 2], [1], [2, 2, 2, 1], [1]]) == [[3, 4], [5], [1, 1, 1, 2], [5]]


def test_more_than_fits_at_once(monkeypatch):
    monkeypatch.setattr("headsmith.proof.context_ids.AT_ONCE", 4)
    assert memory()(IDS * 3) == LABELS * 3


# strangers


def test_a_stranger_is_refused_unless_asked_for():
    net = memory()
    with pytest.raises(Refusal, match="sequence 1 is none of the 2 that the certificate speaks of: strict=False"):
        net([[3, 1, 4], [1, 4]])
    assert len(net([1, 4], strict=False)) == 2
    with pytest.raises(Refusal, match="none of the 2"):
        net.certify([1, 4])
    with pytest.raises(Refusal, match="none of the 2"):
        net([3, 1])


def test_beginnings_are_known_under_a_causal_mask():
    net = memory([[3, 1, 4], [1, 5]], [[0, 1, 2], [7, 8]], mask="causal")
    assert net([[3, 1], [1], [3, 1, 4]]) == [[0, 1], [7], [0, 1, 2]]
    with pytest.raises(Refusal, match="none of the 2"):
        net([1, 4])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([[3, 9]], "the token id 9 has no embedding: ids go up to 5"),
        ([[3, -1]], "whole numbers from 0"),
        ([[3, 0.5]], "whole numbers from 0"),
        ([[3, float("nan")]], "NaN"),
        ([["a"]], "there are words in sequences: number them from 0"),
        (torch.zeros(2, 2, 2, 2), "lists of whole numbers"),
        (3, "lists of whole numbers"),
    ],
)
def test_what_is_no_sequence_is_refused(given, words):
    for strict in (True, False):
        with pytest.raises(Refusal, match=words):
            memory()(given, strict=strict)


def test_calls_are_refused_in_a_sentence():
    for arguments, named in (((), {}), ((IDS, IDS), {}), ((None,), {}), ((IDS,), {"other": 1}), ((), {"words": IDS})):
        with pytest.raises(Refusal, match=r"called as net\(sequences\)"):
            memory()(*arguments, **named)


def test_vectors_of_another_width_and_places_beyond_the_last_are_refused():
    with pytest.raises(Refusal, match="must have 1 features, not 2"):
        memory([[[1.0], [2.0]]], [[1, 2]])([[[1.0, 2.0]]])
    with pytest.raises(Refusal, match="knows 2 places, and a sequence has 3 tokens"):
        memory([[1, 2]], [[1, 2]], positions=True)([1, 2, 1], strict=False)


# the network


def textbook(net):
    """W_K, W_Q, W_V, W_O and the ReLU layer, dense."""
    layers = net.network.dense().layers.values()
    attention = next(layer for layer in layers if isinstance(layer, Attention))
    return attention, next(layer for layer in layers if isinstance(layer, FeedForward))


def test_every_matrix_of_the_head_has_rank_one():
    tokens = np.random.default_rng(0).normal(size=(9, 5))
    net = memory(tokens[[[0, 1, 2], [3, 4, 5], [6, 7, 8]]], [[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    attention, feedforward = textbook(net)
    for part in (attention.key, attention.query, attention.value, attention.output):
        assert (torch.linalg.svdvals(part.dense()[0]) > 1e-12).sum() == 1
    assert attention.heads == 1 and attention.residual and attention.weights == "softmax" and attention.scale == 1
    ramps = feedforward.up.weight[: -len(net.plan.design.steps.skip)]
    assert (torch.linalg.svdvals(ramps) > 1e-9 * ramps.norm()).sum() == 1 and feedforward.residual


@pytest.mark.parametrize("options", [{}, {"positions": True}, {"mask": "causal"}])
def test_the_textbook_network_gives_the_same_labels(options):
    rng = np.random.default_rng(1)
    tokens = np.stack([rng.permutation(12)[:6] for _ in range(8)])
    labels = consistent(tokens.reshape(-1), [6] * 8, options.get("positions"), options.get("mask")).reshape(8, 6)
    net = memory(tokens, labels, **options)
    x = net.encode(torch.tensor(tokens).double())
    dense, own = net.network.dense()(x), net.network(x)
    assert torch.allclose(dense, own, atol=1e-6) and np.array_equal(net.decode(dense), labels)


def test_the_network_is_stock_and_can_be_rotated():
    net = memory([[3, 1, 4], [1, 5, 2]], [[0, 1, 2], [7, 8, 9]])
    assert net.network.stock is True
    x = net.encode(torch.tensor([[3, 1, 4], [1, 5, 2]]).double())
    assert torch.allclose(net.network.rotated(0)(x), net.network(x), atol=1e-6)


# masks


def test_what_is_invisible_leaves_the_outputs_bit_for_bit():
    """Behind a causal mask the tokens to come; behind the end of a sequence, the padding."""
    net = memory([[3, 1, 4], [3, 1, 5], [1, 5, 3]], [[0, 1, 2], [0, 1, 9], [7, 8, 6]], mask="causal")
    run = lambda ids: net.network(net.encode(torch.tensor(ids).double()))  # noqa: E731
    assert torch.equal(run([3, 1, 4])[:2], run([3, 1, 5])[:2]) and torch.equal(run([3, 1])[:2], run([3, 1, 5])[:2])
    net = memory()
    x, padding = torch.tensor([[1.0], [5.0], [0.0], [0.0]], dtype=torch.float64), torch.arange(4) > 1
    first = net.network(x, padding)[:2]
    for other in ([3.0, 4.0], [1.0, 1.0], [0.0, 5.0]):
        x[2:, 0] = torch.tensor(other)
        assert torch.equal(net.network(x, padding)[:2], first)


def test_a_padded_batch_has_the_same_labels():
    net = memory()
    [padded] = net.accept([IDS], {})
    out = net.decode(net.plan.design.run(net.target, net.network, net.encode(padded), net.certificate.domain))
    assert padded.isnan().sum() == 1 and out[0].tolist() == LABELS[0] and out[1, :2].tolist() == LABELS[1]


# families of data: random, all subsets, all multisets, proportions, equal sums, positions, causal


def check(tokens, lengths, d=0, labels=None, **options):
    """The flat tokens, as ids or as vectors of d features, are recalled."""
    tokens, lengths = np.asarray(tokens), np.asarray(lengths)
    causal = options.get("mask") == "causal"
    if labels is None:
        labels = consistent(tokens, lengths, options.get("positions", False), causal)
    data = np.random.default_rng(5).normal(size=(tokens.max() + 1, d))[tokens] if d else tokens
    net = memory(data, labels, lengths=lengths, **options)
    ends = np.cumsum(lengths)[:-1]
    out = net(np.split(data, ends))
    assert np.array_equal(torch.cat(out).numpy(), labels)
    assert 0 < net.certificate.min_gap < np.inf and net.certificate.exact and net.certificate.kind == "proved"
    return net


def random_sets(n, N, V, seed=0):
    rng = np.random.default_rng(seed)
    found: set = set()
    while len(found) < N:
        found.add(tuple(sorted(rng.choice(V, n, replace=False).tolist())))
    return np.concatenate([rng.permutation(s) for s in sorted(found)]), np.full(N, n)


@pytest.mark.parametrize(("n", "N", "V", "d"), [(4, 10, 12, 4), (8, 50, 30, 8), (8, 200, 50, 16), (8, 200, 50, 0)])
def test_random_sets(n, N, V, d):
    check(*random_sets(n, N, V), d)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "N", "V", "d"), [(16, 500, 100, 16), (32, 400, 200, 32), (32, 1000, 200, 32), (64, 1000, 500, 64)]
)
def test_many_random_sets_with_labels_of_d_numbers(n, N, V, d):
    tokens, lengths = random_sets(n, N, V)
    check(tokens, lengths, d, np.random.default_rng(1).integers(1, 10, (n * N, d)))


def test_all_subsets():
    sets = [*itertools.combinations(range(10), 5)]
    check(np.concatenate(sets), [5] * len(sets), 8)


def test_all_multisets():
    """Repeated tokens of one sequence have one label: 630 keys in 210 sequences."""
    sets = [*itertools.combinations_with_replacement(range(5), 6)]
    tokens = np.concatenate(sets)
    assert context_keys(tokens, np.array([6] * 210)).max() + 1 == 630
    check(tokens, [6] * 210, 8)


def test_one_set_with_other_multiplicities():
    counts = [(a, b, 12 - a - b) for a in range(1, 11) for b in range(1, 12 - a)]
    check(np.concatenate([np.repeat([0, 1, 2], c) for c in counts]), [12] * len(counts), 4)
    assert len(counts) == 55


def test_sets_of_equal_sums():
    """Mean pooling cannot (tests/search/test_separation.py); one softmax head can."""
    sums = [[1, 2, 5, 6], [1, 3, 4, 6]]
    vectors = np.array(sums, dtype=np.float64)[:, :, None]
    labels = np.arange(8).reshape(2, 4)
    assert np.array_equal(memory(vectors, labels)(vectors), labels)


@pytest.mark.slow
def test_all_words_of_three_letters_with_positions():
    words = [*itertools.product(range(3), repeat=6)]
    check(np.concatenate(words), [6] * 729, 8, positions=True)


def test_random_sequences_with_positions():
    rng = np.random.default_rng(0)
    check(rng.integers(0, 20, 60 * 16), [16] * 60, 16, positions=True)
    check(rng.integers(0, 20, 60 * 16), [16] * 60, 0, positions=True)


@pytest.mark.slow
def test_many_random_sequences_with_positions():
    check(np.random.default_rng(0).integers(0, 20, 500 * 16), [16] * 500, 16, positions=True)


def test_causal_sequences_without_and_with_repeated_tokens():
    rng = np.random.default_rng(0)
    check(np.concatenate([rng.permutation(16)[:10] for _ in range(100)]), [10] * 100, 8, mask="causal")
    check(rng.integers(0, 8, 100 * 10), [10] * 100, 8, mask="causal")


def test_sequences_of_all_lengths():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 30, 40)
    check(rng.integers(0, 100, lengths.sum()), lengths)
    check(rng.integers(0, 100, lengths.sum()), lengths, 3, positions=True, mask="causal")


@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([None, "causal"]), st.sampled_from([0, 1, 3]))
def test_whatever_keys_allow_is_recalled(seed, positions, mask, d):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 6, rng.integers(1, 6))
    tokens = rng.integers(0, 4, lengths.sum())
    labels = consistent(tokens, lengths, positions, mask == "causal", seed)
    data = rng.normal(size=(4, d))[tokens] if d else tokens
    net = memory(data, labels, lengths=lengths, positions=positions, mask=mask)
    assert np.array_equal(torch.cat(net(np.split(data, np.cumsum(lengths)[:-1]))).numpy(), labels)
