"""Which transformers are trained, and that their shares are counted as the ceilings are."""

import math

import pytest
import torch

from headsmith.lab.train.learners import learn
from headsmith.papers.low_rank_memorization.ceilings import PLACED, WORD
from headsmith.papers.low_rank_memorization.synthetic import made_up
from headsmith.papers.low_rank_memorization.tagging import called, mean, measure, scorer, taggers

DATA = made_up()
SETTINGS = {
    "epochs": 2, "rate": 1e-2, "batch": 4, "width": 4, "hidden": 8, "depths": [1, 2], "controls": [1], "seeds": 2,
    "notes": 3,
}  # fmt: skip


class Knows(torch.nn.Module):
    """Says of each word the tag that it mostly has."""

    def __init__(self, corpus):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(int(corpus.words.max()) + 1, int(corpus.tags.max()) + 1))
        with torch.no_grad():
            self.weight.index_put_((corpus.words[corpus.there], corpus.tags[corpus.there]), torch.ones(()), True)

    def forward(self, words, there):
        return self.weight[words]


def test_rank_1_has_every_depth_and_the_controls_theirs():
    named = taggers(SETTINGS, DATA)
    assert list(named) == [
        "rank-1 attention, 1 layer", "rank-1 attention, 2 layers", "mean pooling, 1 layer", "no attention, 1 layer",
        "full-rank attention, 1 layer",
    ]  # fmt: skip
    assert [one.seed for one in named[called("full", 1)]] == [0, 1]
    assert {one.shape.blocks for one in named[called("rank-1", 2)]} == {2}
    assert len({id(one.corpus) for seeds in named.values() for one in seeds}) == 1


def test_a_table_of_words_scores_the_ceiling_of_words():
    corpus = taggers(SETTINGS, DATA)[called("none", 1)][0].corpus
    every, needed = scorer(corpus, DATA)(Knows(corpus))
    m = measure(SETTINGS, DATA, lambda tagger, score: learn(tagger, notes=3, score=score)[0])
    assert every == pytest.approx(m["ceilings"]["all"][WORD]) == pytest.approx(5 / 6)
    assert needed == pytest.approx(m["ceilings"]["context"][PLACED]) == pytest.approx(0.5)


def test_measurements_have_a_curve_for_each_seed():
    m = measure(SETTINGS, DATA, lambda tagger, score: learn(tagger, notes=3, score=score)[0])
    assert (m["sentences"], m["words"], m["context"], m["types"], m["steps"]) == (12, 36, 12, 4, 6)
    assert m["at"] == pytest.approx([2 / 3, 4 / 3, 2.0]) and set(m["curves"]) == set(m["parameters"])
    for found in m["curves"].values():
        assert {part: (len(curves), len(curves[0])) for part, curves in found.items()} == {
            "all": (2, 3), "context": (2, 3), "loss": (2, 3)
        }  # fmt: skip
    rank_1, none = (m["parameters"][called(kind, 1)] for kind in ("rank-1", "none"))
    assert rank_1 - none == 3 * SETTINGS["width"]


def test_one_seed_has_no_standard_error():
    assert mean([1.0, 2.0, 3.0]) == (2.0, pytest.approx(1 / math.sqrt(3)))
    assert mean([0.5])[0] == 0.5 and math.isnan(mean([0.5])[1])
