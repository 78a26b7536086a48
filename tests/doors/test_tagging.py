"""A labelled file becomes a network that recalls it; contradictions are settled and counted."""

import json

import numpy as np
import pytest

import headsmith as hs
from headsmith.doors.labelled import Labelled
from headsmith.doors.tagging import settle, tag
from headsmith.papers.low_rank_memorization.conll import small
from headsmith.refusal import Refusal


@pytest.fixture(scope="module")
def ours():
    return tag(small())


def test_our_sentences_are_recalled(ours):
    data = small()
    assert ours.accuracy == 1 and ours.net.certificate.exact and ours.net.certificate.kind == "proved"
    assert [ours.recall(words) for words in data.sequences] == data.labels
    assert ours.ids == 119 and not len(ours.contradictions)
    assert "119 of 119 tokens" in str(ours)
    assert ours.alone.wrong == 1 and "0.991597 is the best of word and position" in str(ours)


def test_an_unknown_sentence_is_refused(ours):
    with pytest.raises(Refusal, match="no embedding"):
        ours.recall(["an", "unseen", "word"])
    with pytest.raises(Refusal, match="none of the 17"):
        ours.recall(["the", "light"])


def test_contradictions_are_settled_by_the_majority_and_counted():
    data = Labelled([["a", "b"]] * 3 + [["b", "a"]], [["X", "Y"], ["X", "Z"], ["X", "Z"], ["Y", "Y"]])
    made = tag(data)
    assert made.contradictions.tolist() == [1] and made.right == 7 and made.accuracy == 7 / 8
    assert made.recall(["a", "b"]) == ["X", "Z"]
    assert "1 contradict others, such as b at place 1 of sequence 0, labelled Y and elsewhere Z" in str(made)
    assert made.record()["contradictions"] == 1
    assert made.right == hs.recall.ceilings(data.sequences, data.labels)["sequence, position"].right


def test_equally_frequent_labels_are_settled_by_the_first():
    assert settle(np.array([3, 3, 1]), np.array([9, 2, 0])).tolist() == [9, 9, 0]


def test_files_hold_the_network_and_what_its_numbers_mean(ours, tmp_path):
    network, words = ours.save(tmp_path / "tagger.safetensors")
    assert words.name == "tagger.words.json"
    assert hs.certify(network).status == 0
    meaning, net, data = json.loads(words.read_text()), hs.load(network), small()
    ids = [meaning["words"].index(word) for word in data.sequences[3]]
    assert [meaning["labels"][k] for k in net(ids)] == data.labels[3]


def test_float32_keeps_what_it_can():
    assert tag(small(), dtype="float32").accuracy == 1


def test_a_refusal_names_words():
    draw = np.random.default_rng(0)
    words = [[f"w{k}" for k in draw.integers(0, 20, 10)] for _ in range(1600)]
    labels = [[f"y{k}" for k in draw.integers(0, 9, 10)] for _ in range(1600)]
    with pytest.raises(Refusal, match=r"float32.*; sequence \d+ is w\d+ w\d+"):
        tag(Labelled(words, labels), dtype="float32")


def test_labels_that_follow_words_need_fewer_ids_than_there_are():
    """Ten thousand contexts in float32, which keeps 3 500 apart: only changes of label have to be seen."""
    rows = [[f"{k}", f"{-k - 1}"] for k in range(5000)]
    made = tag(Labelled(rows, [[f"{k % 7}", f"{k % 5}"] for k in range(5000)]), dtype="float32")
    assert made.accuracy == 1 and made.ids == 10_000 and not hs.recall.capacity("float32", rows).enough


def test_the_paper_s_own_scale_is_refused():
    with pytest.raises(Refusal):
        tag(small(), method="printed")
