"""Tagging: what a corpus holds, what an epoch asks, and that a killed run goes on to the same bits."""

from dataclasses import replace

import pytest
import torch

from headsmith.lab.train.learners import learn, loop_of
from headsmith.lab.train.rank_one import KINDS, RankOneShape
from headsmith.lab.train.taggers import ABSENT, Corpus, Tagger, right
from headsmith.refusal import Refusal

SENTENCES = [["a", "rose", "is", "a", "rose"], ["is", "a"], ["rose"], ["is", "is", "is"], ["a", "is", "rose"]]
TAGS = [["D", "N", "V", "D", "N"], ["V", "D"], ["V"], ["V", "N", "V"], ["D", "V", "N"]]
CORPUS = Corpus.of(SENTENCES, TAGS)
SMALL = Tagger(RankOneShape(1, 8, 16), CORPUS, epochs=6, rate=1e-2, batch=2)


def test_a_corpus_is_ids_in_rows():
    assert CORPUS.words.tolist()[1] == [1, 0, 0, 0, 0] and CORPUS.tags.tolist()[1] == [2, 0] + [ABSENT] * 3
    assert CORPUS.there.sum(1).tolist() == [5, 2, 1, 3, 3]
    assert CORPUS.digest() == Corpus.of(SENTENCES, TAGS).digest()
    assert CORPUS.digest() != Corpus.of(SENTENCES, [*TAGS[:2], ["N"], *TAGS[3:]]).digest()


@pytest.mark.parametrize("words, tags", [([], []), ([["a"]], [["D", "N"]]), ([["a"], []], [["D"], []])])
def test_what_is_no_corpus_is_refused(words, tags):
    with pytest.raises(Refusal, match="as many tags as words"):
        Corpus.of(words, tags)


def test_an_epoch_asks_every_sentence_once():
    loop = loop_of(replace(SMALL, epochs=10, batch=3))
    assert loop.draw is not None and SMALL.steps == 15
    asked = torch.cat([loop.draw(loop.generator, torch.tensor(step))[0][:, 0] for step in range(16)])
    first = CORPUS.words[:, 0].sort().values
    epochs = asked[:45].view(9, 5)
    assert all(torch.equal(epoch.sort().values, first) for epoch in epochs)
    assert len({tuple(epoch.tolist()) for epoch in epochs}) > 1  # each in an order of its own


def test_a_batch_has_no_columns_behind_its_longest_sentence():
    loop = loop_of(replace(SMALL, batch=1))
    for step in range(5):
        words, tags = loop.draw(loop.generator, torch.tensor(step))
        assert words.shape == tags.shape and bool((tags != ABSENT).all())


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_run_goes_on_to_the_same_bits(tmp_path, kind):
    tagger = replace(SMALL, shape=RankOneShape(2, 8, 16, kind))

    def score(model):
        found = right(model, CORPUS)
        return [float(found.sum()), float(found[0].sum())]

    whole, done = learn(tagger, score=score)
    answers = iter([False] * 4)
    part, stopped = learn(tagger, tmp_path, score=score, until=lambda _: next(answers, True))
    assert done and not stopped and len(part.steps) == 5
    again, done = learn(tagger, tmp_path, score=score)
    assert done and (again.steps, again.losses, again.scores) == (whole.steps, whole.losses, whole.scores)
    assert len(whole.scores) == 15 and len(whole.scores[0]) == 2
    for a, b in zip(again.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(a, b)
    assert learn(replace(tagger, seed=1), tmp_path, score=score)[0].losses != whole.losses
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_captured_step_asks_the_device_nothing(kind):
    """The device "meta" has shapes and no numbers: whoever asks for one fails, as in a CUDA graph."""
    tagger = replace(SMALL, shape=RankOneShape(2, 8, 16, kind))
    model = tagger.build().to("meta")
    words, tags = tagger.draw("meta")(torch.Generator(), torch.zeros((), dtype=torch.long, device="meta"))
    assert words.shape == tags.shape == (2, 5)  # every step the same: nothing is cut off
    tagger.loss(model, (words, tags)).backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    with pytest.raises(RuntimeError, match="meta"):
        int(words.max())


def test_right_counts_words_and_nothing_behind_them():
    fit, _ = learn(replace(SMALL, epochs=60))
    found = right(fit.model, CORPUS, chunk=2)
    logits = fit.model(CORPUS.words, CORPUS.there)
    assert torch.equal(found, (logits.argmax(-1) == CORPUS.tags) & CORPUS.there)
    assert float(found.sum()) == 14  # every word, "rose" alone a verb, and the noun between two verbs, too


def test_impossible_taggers_are_refused():
    for change in ({"epochs": 0}, {"batch": 0}, {"rate": 0.0}):
        with pytest.raises(Refusal, match="epochs >= 1, batch >= 1 and rate > 0"):
            replace(SMALL, **change)
