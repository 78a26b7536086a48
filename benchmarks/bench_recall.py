"""Memories of random sets: planning, which draws and proves, and running, in a fresh target each."""

import time

import numpy as np
import torch

import headsmith as hs
from headsmith.records.shown import lower
from headsmith.search.context_keys import context_keys
from headsmith.views.tables import Table

FAMILIES = ((8, 200, 50, 16), (16, 500, 100, 16), (32, 1000, 200, 32), (64, 1000, 500, 64))  # n, N, words, features
RAGGED = (14_041, 113, 23_623, 16)  # sequences, longest, words, features: the sizes of CoNLL-2003


def sets(n: int, N: int, words: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Random tokens without repetition, as Gaussian vectors, and labels in {1, ..., 9}^d."""
    rng = np.random.default_rng(0)
    tokens = np.stack([rng.choice(words, n, replace=False) for _ in range(N)])
    return rng.normal(size=(words, features))[tokens], rng.integers(1, 10, (N, n, features))


def ragged() -> hs.target.Recall:
    """Sentences of a skewed vocabulary with arbitrary embeddings, most words with one label, positions on."""
    count, longest, words, features = RAGGED
    rng = np.random.default_rng(0)
    lengths = np.minimum(rng.geometric(1 / 14.5, count), longest)
    tokens = rng.zipf(1.3, lengths.sum()) % words
    keys = context_keys(tokens, lengths, positions=True)
    labels = np.where((rng.random(len(keys)) < 0.02)[keys], rng.integers(0, 9, len(keys))[keys], tokens % 9)
    table = rng.normal(size=(words, features))
    return hs.target.Recall(tokens, labels, positions=True, embedding=table, lengths=lengths)


def bench_recall() -> Table:
    """Seconds to plan and to run, and the smallest gap between labels."""
    rows = []
    for n, N, words, features in FAMILIES:
        x, y = sets(n, N, words, features)
        rows.append(_timed(f"{n * N} ids, {features} labels each", hs.target.Recall(x, y), x, torch.tensor(y)))
    target = ragged()
    sentences = np.split(target.tokens, np.cumsum(target.lengths)[:-1])
    rows.append(_timed(f"{len(target.tokens)} ids of sentences", target, sentences, torch.tensor(target.labels)))
    return Table("recall in float64", ("", "plan", "run", "hidden units", "smallest gap", "right"), rows)


def _timed(name: str, target: hs.target.Recall, x: object, y: torch.Tensor) -> tuple[object, ...]:
    start = time.perf_counter()
    plan = hs.plan(target)
    planned = time.perf_counter()
    net = plan.build()
    out = net(x)
    ran = time.perf_counter()
    found = torch.cat(out) if isinstance(out, list) else out
    gap = lower(net.certificate.min_gap or 0.0)
    return name, planned - start, ran - planned, plan.design.steps.units, gap, bool((found == y).all())
