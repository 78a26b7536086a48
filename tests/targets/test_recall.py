"""What a memory promises: of which sequences, in which words, and what it refuses."""

import itertools

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.refusal import Refusal

IDS, LABELS = [[3, 1, 4], [1, 5]], [[0, 1, 2], [7, 8]]
TABLE = np.random.default_rng(0).normal(size=(6, 2))


def recall(sequences=IDS, labels=LABELS, **options):
    return hs.target.Recall(sequences, labels, **options)


def test_the_sentence_says_what_is_claimed():
    statement = hs.plan(recall(positions=True, mask="causal")).build().certificate.statement
    target = recall(positions=True, mask="causal")
    for words in (
        "network(sequences) = labels",
        "after rounding to whole numbers",
        "in any batch",
        "2 sequences, 5 tokens, with positions, causal mask",
        "the tokens up to it",
        target.hash(),
    ):
        assert words in statement
    assert "all tokens of its sequence" in hs.plan(recall()).build().certificate.statement
    assert "which is that of labels, lengths, sequences," in hs.plan(recall()).build().certificate.statement
    assert "that of embedding, labels, lengths, seq" in hs.plan(recall(embedding=TABLE)).build().certificate.statement


def test_no_eps_is_asked_of_it_but_of_others():
    assert hs.plan(recall()).bound == 0.0 and hs.plan(recall()).eps == 0.0
    assert hs.plan(recall(), eps=1e-3).bound == 0.0
    with pytest.raises(Refusal, match="eps is missing"):
        hs.plan("tanh(x)", domain=(-1, 1))
    with pytest.raises(Refusal, match="positive number"):
        hs.plan("tanh(x)", domain=(-1, 1), eps=0.0)
    with pytest.raises(Refusal, match="positive number"):
        hs.plan(recall(), eps=0.0)
    with pytest.raises(Refusal, match="takes no domain"):
        hs.plan(recall(), domain=(0, 1))


def test_the_plan_counts_parameters_beside_the_paper():
    plan = hs.plan(recall())
    rows = dict(plan.rows())
    d, steps = 2, plan.design.steps
    dense = 4 * d + steps.units * (2 * d + 1) + d
    assert rows["parameters"].startswith(f"structured {5 * d + steps.numbers}, dense {dense}, ")
    assert f"4(s + d) + d(2nN + d) {4 * 3 + 2 * (2 * 5 + 2)}, and 12 numbers" in rows["parameters"]
    assert rows["bound"] == "0: there is no error" and "asked" not in rows
    assert rows["smallest gap"].endswith(" between executed ids with different labels")
    assert "all labels agree" in str(hs.plan(recall([[1, 2]], [[5, 5]])))
    net = plan.build()
    assert net.network.cost().parameters == 5 * d + steps.numbers + 12
    flat = net.network.dense().cost()
    assert flat.dense_parameters == dense + 12 + d  # the last reads the label off


def test_files_hold_sequences_flat_and_with_lengths():
    target = recall(embedding=TABLE)
    record, arrays = target.record()
    assert set(arrays) == {"sequences", "labels", "lengths", "embedding"}
    again = hs.target.Recall.from_record("recall", record, arrays)
    assert again.hash() == target.hash() and again.lengths.tolist() == [3, 2]
    assert recall([3, 1, 4, 1, 5], [0, 1, 2, 7, 8], lengths=[3, 2], embedding=TABLE).hash() == target.hash()


def test_targets_of_other_arrays_have_other_hashes():
    found = {
        recall().hash(),
        recall([[3, 1], [4, 1, 5]], [[0, 1], [2, 7, 8]]).hash(),
        recall(labels=[[0, 1, 2], [7, 9]]).hash(),
        recall([[3, 1, 4], [1, 2]]).hash(),
        recall(embedding=TABLE).hash(),
    }
    assert len(found) == 5


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: recall(positions=1), "positions are True or False"),
        (lambda: recall(mask="future"), "mask is None or 'causal'"),
        (lambda: recall(labels=[[0, 1], [7, 8]]), "sequence 0 has 3 tokens and 2 labels"),
        (lambda: recall(labels=[[0, 1, 2]]), "2 sequences have labels for 1"),
        (lambda: recall([[3, -1, 4], [1, 5]]), "token ids must be whole numbers from 0"),
        (lambda: recall([[3, 0.5, 4], [1, 5]]), "token ids must be whole numbers from 0"),
        (lambda: recall([[3, 1, 4], [1, 10**7]]), "number the words from 0"),
        (lambda: recall(labels=[[0, 1, 2], [7, 8.5]]), "labels must be whole numbers"),
        (lambda: recall([[2**63, 1, 4], [1, 5]]), "token ids must be whole numbers up to 9,007"),
        (lambda: recall(labels=[[0, 1, 2], [7, -1e30]]), "labels must be whole numbers up to 9,007"),
        (lambda: recall(embedding=TABLE[:5]), "needs a row for each id up to 5"),
        (lambda: recall([[[1.0], [2.0]]], [[1, 2]], embedding=TABLE), "embedding= is for token ids"),
        (lambda: recall([3, 1, 4], [0, 1, 2], lengths=[2, 2]), "lengths must add up"),
        (lambda: recall([3, 1, 4], [0, 1, 2], lengths=[]), "lengths"),
        (lambda: recall([[[1.0], [np.inf]]], [[1, 2]]), "NaN or infinity"),
    ],
)
def test_what_is_no_data_set_is_refused(make, words):
    with pytest.raises(Refusal, match=words):
        make()


@pytest.mark.parametrize(
    ("sequences", "labels", "options", "words"),
    [
        (
            [[7, 8], [7, 8, 7, 8]],
            [[1, 2], [1, 2, 1, 3]],
            {},
            r"\[7, 8\] and \[7, 8, 7, 8\] cannot be told apart without positions.*repeated as often.*8 at place 1 of "
            r"\[7, 8\] \(sequence 0\) is labelled 2, 8 at place 3 of .* is labelled 3; give positions=True",
        ),
        ([[7, 8], [8, 7]], [[1, 2], [1, 2]], {}, r"\[7, 8\] and \[8, 7\] cannot be .* sees no order"),
        ([[7, 7]], [[1, 2]], {"mask": "causal"}, r"\[7\] and \[7, 7\] cannot be told apart"),
        (
            [[7, 8], [7, 8]],
            [[1, 2], [1, 3]],
            {"positions": True},
            "contradict each other: 8 at place 1 of .* is 2, 8 at",
        ),
        ([[[0.5], [2.0]], [[2.0], [0.5]]], [[1, 2], [1, 2]], {}, r"\[x0, x1\] and \[x1, x0\] cannot be told apart"),
        ([[1] * 1001], [[1] * 1001], {}, "up to 1000: cut it"),
        ([[[0.1], [0.2]]], [[[1, 2], [3, 4]]], {}, "labels of 2 numbers cannot be written into vectors of 1"),
        ([[[1e31], [0.2]]], [[1, 2]], {}, "no draw has scores that can be proved"),
        ([[1, 2]], [[1, 2**52]], {}, "labels up to 4.5036e.15 beside vectors up to .* cannot be told apart in float64"),
    ],
)
def test_what_no_head_can_recall_is_refused_by_name(sequences, labels, options, words):
    with pytest.raises(Refusal, match=words):
        hs.plan(recall(sequences, labels, **options))


def test_what_a_refusal_asks_for_can_be_had():
    for sequences, labels in (([[7, 8], [7, 8, 7, 8]], [[1, 2], [1, 2, 1, 3]]), ([[7, 8], [8, 7]], [[1, 2], [1, 2]])):
        net = hs.compile(recall(sequences, labels, positions=True))
        assert net(sequences) == labels


def test_float32_holds_its_own_numbers():
    vectors = np.array([[[0.1], [0.2]]])
    with pytest.raises(Refusal, match="numbers that float32 does not: round them, or take dtype='float64'"):
        hs.plan(recall(vectors, [[1, 2]]), dtype="float32")
    net = hs.compile(recall(vectors.astype(np.float32), [[1, 2]]), dtype="float32")
    assert net(vectors.astype(np.float32)).tolist() == [[1, 2]]
    assert net([[[0.5], [0.25]]], strict=False)  # numbers of Python that float32 holds


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "vectors",
    [
        [[0.0]],
        [[0.0], [1.0]],
        [[1e-30], [2e-30]],
        [[1e5], [2e5]],
        [[1.0], [1 + 2.0**-20]],
        np.eye(4),
        [[1, 1, 0], [0, 1, 1]],
    ],
)
def test_vectors_of_every_size_and_of_zeros_and_ones(vectors, dtype):
    data = np.array([vectors], dtype=dtype)
    labels = np.arange(len(vectors))[None]
    net = hs.compile(recall(data, labels), dtype=dtype)
    assert np.array_equal(net(data), labels) and net.certificate.min_gap > 0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_one_label_is_recalled_whatever_the_ids(dtype):
    """The ids of one word agree but for rounding, which must not be blown up to tell them apart."""
    sequences, table = [[0] * 7, [0] * 3, [0] * 5], [[0.0, -1000.0, 0.3]]
    for options in ({}, {"embedding": table}):
        net = hs.compile(recall(sequences, [[900] * len(s) for s in sequences], mask="causal", **options), dtype=dtype)
        assert net(sequences)[1] == [900] * 3 and net.certificate.min_gap == np.inf


def test_numbers_that_only_float64_holds():
    data = np.array([[[1e8], [2e-8], [0.0]]])
    assert hs.compile(recall(data, [[5, 6, 7]])).certificate.min_gap > 1e-8
    with pytest.raises(Refusal, match=r"beside vectors up to 8.3e.08 cannot be told apart in float32, perhaps with"):
        hs.plan(recall(np.array([[[1e8], [2e8]]]), [[5, 6]]), dtype="float32")
    with pytest.raises(Refusal, match=r"in float32 cannot be certified"):
        hs.plan(recall(np.array([[[1e-42], [2e-42]]], dtype=np.float32), [[5, 6]]), dtype="float32")


def family(n, N, V, seed=0):
    """Random sequences without repeated tokens, and labels in 1..9."""
    rng = np.random.default_rng(seed)
    found = {tuple(sorted(rng.choice(V, n, replace=False).tolist())) for _ in range(2 * N)}
    tokens = np.array([rng.permutation(s) for s in sorted(found)[:N]])
    return tokens, rng.integers(1, 10, tokens.shape)


def test_float32_refuses_what_is_beyond_it():
    tokens, labels = family(32, 400, 200)
    words = r"too near each other for float32.*differ by.*perhaps with dtype='float64'"
    with pytest.raises(Refusal, match=words):
        hs.plan(recall(tokens, labels), dtype="float32")


def test_float32_recalls_3200_ids_after_unlucky_first_draws():
    """Two of the fifty words are near each other in both coordinates that are tried first."""
    generator = np.random.default_rng(0)
    table = generator.normal(size=(50, 16)).astype(np.float32)
    words = np.array([generator.choice(50, 8, replace=False) for _ in range(400)])
    labels = generator.integers(1, 10, words.shape)
    plan = hs.plan(recall(table[words], labels), dtype="float32")
    assert plan.proof.min_gap > 0


@pytest.mark.slow
@pytest.mark.parametrize(("n", "N", "V"), [(8, 400, 50), (16, 200, 100)])
@pytest.mark.parametrize("d", [0, 16])
def test_float32_recalls_3200_ids(n, N, V, d):
    tokens, labels = family(n, N, V)
    data = np.random.default_rng(0).normal(size=(V, d)).astype(np.float32)[tokens] if d else tokens
    net = hs.compile(recall(data, labels), dtype="float32")
    assert tokens.size == 3200 and np.array_equal(net(data), labels)


def test_exact_values_are_those_of_beginnings_under_a_causal_mask():
    causal, plain = recall(mask="causal"), recall()
    assert [float(y) for y in causal.exact([3, 1])] == [0, 1] and [float(y) for y in plain.exact([1, 5])] == [7, 8]
    with pytest.raises(Refusal, match="none of those"):
        plain.exact([3, 1])
    pairs = recall(labels=[[[0, 1]] * 3, [[2, 3]] * 2])
    assert [[float(y) for y in row] for row in pairs.exact([1, 5])] == [[2, 3]] * 2


def test_samples_are_sequences_of_the_data():
    target, generator = recall(), torch.Generator().manual_seed(0)
    for _ in range(4):
        [found] = target.sample(target.domain(None, "float64"), 3, generator)
        assert all(s in IDS for s in found.long().tolist())


def test_every_word_is_numbered():
    target = recall([np.array([[1.0, -0.0], [2.0, 0.0]]), np.array([[1.0, 0.0]])], [[1, 2], [1]])
    assert target.words.tolist() == [0, 1, 0]
    assert target.starts(np.array([[1.0, -0.0]]), np.array([1])) == [2]
    assert target.starts(np.array([[9.0, 0.0]]), np.array([1])) == [None]


def test_all_permutations_of_one_set_are_recalled_with_positions():
    sequences = list(map(list, itertools.permutations(range(4))))
    labels = [[i % 5 + k for k in range(4)] for i in range(24)]
    net = hs.compile(recall(sequences, labels, positions=True))
    assert net(sequences) == labels


@pytest.mark.parametrize(
    ("sequences", "words"),
    [
        ([[[1.0], [-0.5]], [[1.0], [2.0]], [[-0.5], [2.0]]], "promises ids of recall of 3 .* 10.-3081 apart .Eq 8."),
        ([[0, 1], [0, 2]], r"10.-[0-9.e+]+ apart \(Eq 8\), which no float64 holds: method='auto'"),
        ([[0], [1]], "Theorem 2 as printed says nothing of recall of 2 sequences, 2 tokens: Eq 8 is 0"),
        ([[[0.0], [1.0]]], "no token may be the zero vector; method='auto'"),
    ],
)
def test_the_printed_scale_is_refused_with_the_gap_it_promises(sequences, words):
    labels = np.arange(sum(map(len, sequences)))
    target = recall(sequences, np.split(labels, np.cumsum([*map(len, sequences)])[:-1]))
    with pytest.raises(Refusal, match=words):
        hs.plan(target, method="printed")
    assert hs.plan(target).bound == 0.0
