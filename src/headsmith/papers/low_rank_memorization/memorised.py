"""Data sets memorised without training: CoNLL-2003, and where 126 052 English words are stressed.

(low-rank-memorization, Cor 2, and Sec 5, whose trained layer reaches 0.9872 after 800 epochs.) One softmax head of rank
1 and one ReLU layer are computed, certified, and run on every token. That says nothing of generalisation: it is a
lookup table made of attention and ReLU, and the ceilings beside it say how little of it needs attention at all.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from headsmith.doors.labelled import Labelled
from headsmith.doors.recall.ceilings import ceilings
from headsmith.doors.tagging import Tagging, tag
from headsmith.papers.low_rank_memorization.cmudict import KNOWN, spelled, stresses
from headsmith.papers.low_rank_memorization.conll import conll2003, small
from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.records import Record
from headsmith.records.shown import lower
from headsmith.refusal import Refusal
from headsmith.views.recall import id_gaps, sorted_gaps

PRINTED = 0.9872  # Sec 5, after 800 epochs
FEATURES = 16  # of Gaussian embeddings
FIRST = 32  # words that float32 is tried with, then twice as many, and so on


def measured(data: Labelled) -> dict[str, Any]:
    """The network of one labelled data set in float64: what it recalls, its size, its gaps."""
    start = time.perf_counter()
    made = tag(data)
    seconds = time.perf_counter() - start
    best = ceilings(data.sequences, data.labels)
    return {
        **made.record(),
        "seconds": seconds,
        "ranks": ranks(made),
        "ceilings": {x.name: x.accuracy for x in best.items},
        "possible": best["sequence, position"].right,
        "gaps": id_gaps(made.net),
    }


def ranks(made: Tagging) -> list[int]:
    """Of W_K, W_Q, W_V and of W_K^T W_Q, by singular values."""
    attend = dict(made.net.network.layers)["attend"]
    key, query, value = (part.weight[0].detach() for part in (attend.query, attend.key, attend.value))
    return [int(torch.linalg.matrix_rank(matrix)) for matrix in (key, query, value, key.mT @ query)]


CLAIMS = (
    Claim("every token is recalled, but for labels that contradict others", lambda m: m["right"] == m["possible"]),
    Claim("recall of the settled labels is certified exact", lambda m: m["exact"]),
    Claim("W_K, W_Q, W_V and W_K^T W_Q have rank 1", lambda m: m["ranks"] == [1, 1, 1, 1]),
)
GAUSSIAN = Claim(
    "with Gaussian embeddings, too", lambda m: m["gaussian"]["exact"] and m["gaussian"]["right"] == m["possible"]
)
ABOVE = Claim(
    f"more tokens are right than the {PRINTED} of the trained layer",
    lambda m: m["right"] > PRINTED * m["tokens"] if m["data"] == "CoNLL-2003" else None,
)
NARROW = Claim(
    "float32 keeps a part, and refuses what it cannot keep", lambda m: 0 < m["float32"]["words"] < m["words of all"]
)


def rows(m: Mapping[str, Any]) -> list[Row]:
    """What was built, and what could be had without attention."""
    best = m["ceilings"]
    baseline = f"best of word and position alone: {best['word, position']:.6f}"
    first = Row("accuracy", m.get("printed"), f"{m['accuracy']:.6f}", baseline=baseline)
    return [
        first,
        Row("wrong, and how many must be", None, f"{m['tokens'] - m['right']}, {m['tokens'] - m['possible']}"),
        Row("ids told apart", None, m["ids"]),
        *sizes(m),
    ]


def sizes(m: Mapping[str, Any]) -> list[Row]:
    """Of one network."""
    return [
        Row("smallest gap of ids", None, lower(m["min_gap"])),
        Row("hidden units", None, m["width"]),
        Row("parameters, embeddings included", None, m["parameters"]),
        Row("seconds, built and run", None, round(m["seconds"], 1)),
    ]


def self_check() -> bool:
    """Our own sentences, and six words."""
    sentences, words = measured(small()), measured(spelled(KNOWN))
    return all(claim.verdict(m) == "holds" for claim in CLAIMS for m in (sentences, words))


@experiment(
    "low-rank-memorization/conll", [*CLAIMS, GAUSSIAN, ABOVE], source="low-rank-memorization", where="Sec 5",
    presets={"smoke": {"data": "ours"}, "full": {"data": "CoNLL-2003"}}, self_check=self_check,
    pictures={"gaps.png": sorted_gaps},
)  # fmt: skip
def conll(settings: Mapping[str, Any], record: Record) -> Outcome:
    """Our seventeen sentences, or the train part of CoNLL-2003: a named entity for each word."""
    data = small() if settings["data"] == "ours" else conll2003("train")
    m = {**measured(data), "data": settings["data"], "printed": str(PRINTED)}
    start = time.perf_counter()
    m["gaussian"] = tag(data, features=FEATURES).record() | {"seconds": time.perf_counter() - start}
    return Outcome(
        m, [*rows(m), *(replace(row, name=f"{row.name}, Gaussian embeddings") for row in sizes(m["gaussian"]))]
    )


def narrow(patterns: dict[str, str]) -> dict[str, Any]:
    """How many words float32 keeps, by doubling, and the refusal of twice as many."""
    count, kept = FIRST, 0
    while True:
        try:
            tag(spelled(patterns, count), dtype="float32")
        except Refusal as refusal:
            return {"words": kept, "refused": count, "refusal": str(refusal)}
        if count >= len(patterns):
            return {"words": len(patterns), "refused": None, "refusal": None}
        kept, count = count, 2 * count


@experiment(
    "low-rank-memorization/stress", [*CLAIMS, NARROW], source="low-rank-memorization", where="Cor 2",
    presets={"smoke": {"words": 2000}, "full": {"words": None}}, self_check=self_check,
    pictures={"gaps.png": sorted_gaps},
)  # fmt: skip
def stress(settings: Mapping[str, Any], record: Record) -> Outcome:
    """Letters of English words -> the stress pattern of the word."""
    patterns = stresses()
    m = {**measured(spelled(patterns, settings["words"])), "words of all": len(patterns)}
    m |= {"data": "cmudict", "float32": record.once("float32", lambda: narrow(patterns))}
    kept = Row("words that float32 keeps", None, m["float32"]["words"], baseline=m["float32"]["refusal"])
    return Outcome(m, [*rows(m), kept])
