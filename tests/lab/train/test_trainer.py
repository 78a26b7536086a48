from headsmith import lab
from headsmith.lab.theory.activations import activation
from headsmith.lab.train.presets import recipe
from headsmith.lab.train.trainer import Trainer, log_steps


def test_replicas_are_independent_runs_with_their_own_rates_and_heads():
    f = activation("exp")
    trainer = Trainer(
        lab.tasks.isotropic(3, 10), [1, 3], [5, 6], recipe("smoke", steps=30, batch=32), f, rates=[1.0, 0.0]
    )
    start = trainer.flat.clone()
    trainer.run()
    moved = [(a - b).abs().amax((-2, -1)) for a, b in zip(trainer.weights, trainer.layout.split(start), strict=True)]
    assert all(float(change[3:].max()) == 0 for change in moved)  # rate 0: the second replica stays
    assert float(moved[0][0]) > 0
    assert not trainer.weights.o[1:3].any()  # the first replica has one head


def test_log_steps_hold_the_ends():
    steps = log_steps(2000)
    assert steps[0] == 0 and steps[-1] == 2000 and len(steps) < 140
