import numpy as np
import pytest
import torch

from headsmith.lab import Problem
from headsmith.papers.icl import theory

STILL = ("figure-6", "figure-7", "figure-20", "figure-22", "figure-23")


def shuffled(series):
    """Descent whose notes are in another order."""

    def descend(*args, **options):
        times, omega, mu = series(*args, **options)
        order = torch.randperm(len(omega), generator=torch.Generator().manual_seed(0))
        return times, omega[order], mu[order]

    return descend


BREAKS = {
    "figure-6": ("loss", lambda f: lambda omega, mu, problem: 1.1 * f(omega, mu, problem)),
    "figure-7": ("descend", shuffled),
    "figure-20": ("concentration", lambda f: lambda omega, d, length, draws: f(omega, d, 40, draws)),
    "figure-21": ("descend", lambda f: lambda a, b, problem, rate, steps, every: f(a, b, problem, rate, 20, every)),
    "figure-22": ("late_law", lambda f: lambda time, problem: f(time**3, problem)),
    "figure-23": ("flow", lambda f: lambda *args, **options: f(*args, **options | {"features": 9})),
}


@pytest.mark.parametrize("name", [*STILL, "figure-21"])
def test_the_known_answer_is_read_as_it_is(check, name):
    assert check(name)


@pytest.mark.parametrize("name", BREAKS)
def test_a_wrong_theory_is_noticed(check, monkeypatch, name):
    attribute, broken = BREAKS[name]
    monkeypatch.setattr(theory, attribute, broken(getattr(theory, attribute)))
    assert not check(name)


def test_untrained_heads_are_noticed(check, untrained):
    assert not check("figure-21")


def test_the_printed_law_fails_and_the_corrected_one_holds(tmp_path):
    times = np.array([1e5, 1e6])
    late = theory.late_law(times, Problem())
    assert np.polyfit(np.log(times), np.log(late), 1)[0] == pytest.approx(-1 / 6)
    m = {"late": late[-1], "law": late[-1], "printed_law": 0.5 * late[-1], "exponent": -1 / 6}
    assert [claim.verdict(m) for claim in (theory.CORRECTED, theory.PRINTED)] == ["holds", "fails"]
