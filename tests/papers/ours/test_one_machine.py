import pytest

from headsmith.papers.ours import one_machine

GOOD = {"programs": [{"name": "head", "error": 1e-10, "bound": 1e-9}], "hashes": 1}


@pytest.mark.parametrize(
    ("change", "sound"),
    [
        ({}, True),
        ({"hashes": 2}, False),
        ({"programs": [{"name": "head", "error": 2e-9, "bound": 1e-9}]}, False),
        ({"programs": [{"name": "head", "error": 1e-9, "bound": 1e-7}]}, False),
    ],
)
def test_the_self_check_is_the_claims(monkeypatch, change, sound):
    monkeypatch.setattr(one_machine, "measure", lambda seed: GOOD | change)
    assert one_machine.self_check() is sound


def test_the_self_check_runs_every_program():
    assert one_machine.self_check()


def test_a_program_that_means_something_else_is_noticed(monkeypatch):
    """The reference of one head is moved by 1e-3."""
    programs = one_machine.programs

    class Moved:
        def __init__(self, program):
            self.program = program

        def __getattr__(self, name):
            return getattr(self.program, name)

        def reference(self, x):
            return self.program.reference(x) + 1e-3

    class Machine(one_machine.Attention):
        def __call__(self, program, x):
            return super().__call__(getattr(program, "program", program), x)

    def moved(seed):
        name = "mean of the labels"
        program, x = programs(seed)[name]
        return {name: (Moved(program), x)}

    monkeypatch.setattr(one_machine, "programs", moved)
    monkeypatch.setattr(one_machine, "Attention", Machine)
    assert not one_machine.self_check()
