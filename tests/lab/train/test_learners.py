"""Learners: what a batch holds, and that a run is found again, continued and read back."""

from dataclasses import asdict, replace

import pytest
import torch

from headsmith.lab.train import learners
from headsmith.lab.train.learners import Learner, learn, loop_of
from headsmith.lab.train.networks import CENTRE, ReluNetworks
from headsmith.lab.train.transformer import Shape
from headsmith.refusal import Refusal

SMALL = Learner(Shape(1, 2, 8, 2), ReluNetworks(3, 4, 6), "pairs", length=5, positions=7, steps=12, batch=8)


@pytest.mark.parametrize("layout", ["pairs", "interleaved"])
def test_a_killed_run_goes_on_to_the_same_bits(tmp_path, layout):
    learner = replace(SMALL, layout=layout, curriculum=0.5)
    whole, done = learn(learner)
    answers = iter([False] * 4)
    part, stopped = learn(learner, tmp_path, until=lambda _: next(answers, True))
    assert done and not stopped and len(part.steps) == 5
    again, done = learn(learner, tmp_path)
    assert done and again.steps == whole.steps and again.losses == whole.losses
    for a, b in zip(again.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(a, b)
    [folder] = tmp_path.iterdir()
    assert (folder / "done").exists()
    assert learn(replace(learner, seed=1), tmp_path)[0].losses != whole.losses


def test_training_lowers_the_loss():
    fit, _ = learn(replace(SMALL, steps=150, rate=1e-2, task=ReluNetworks(2, 2, 6)), notes=5)
    assert fit.losses[-1] < 0.7 * fit.losses[0]


def test_prompts_of_pairs_have_between_two_and_all_examples():
    loop = loop_of(replace(SMALL, batch=4000))
    _, y, seen = loop.draw(loop.generator, loop.count)
    counts = seen.sum(1)
    assert y.shape == (4000, 5 + learners.QUERIES)
    assert bool((seen.int().diff(dim=1) <= 0).all())  # the first ones
    shares = torch.bincount(counts, minlength=6)[2:] / 4000
    assert counts.min() == 2 and counts.max() == 5 and float((shares - 0.25).abs().max()) < 0.03


def test_the_curriculum_hides_features_and_keeps_the_size_of_answers():
    learner = replace(SMALL, layout="interleaved", batch=4000, curriculum=0.5, steps=100)
    loop = loop_of(learner)
    early, y = loop.draw(loop.generator, torch.tensor(0))
    late, _ = loop.draw(loop.generator, torch.tensor(50))
    assert (early == -CENTRE).all((0, 1)).tolist() == [False, True, True, True]
    assert not (late == -CENTRE).any()
    assert float(y.square().mean()) == pytest.approx(1, abs=0.15)


def test_other_processes_read_the_learner_as_it_was():
    assert learners._learner(asdict(SMALL)) == SMALL


def test_impossible_learners_are_refused():
    for change, said in (
        ({"layout": "words"}, "interleaved or pairs"),
        ({"steps": 0}, "steps >= 1"),
        ({"layout": "interleaved", "positions": 5}, "too few"),
    ):
        with pytest.raises(Refusal, match=said):
            replace(SMALL, **change)
    with pytest.raises(Refusal, match="device='cpu'"):
        loop_of(SMALL, "cuda:99" if torch.cuda.is_available() else "cuda")
