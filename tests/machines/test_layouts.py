"""The paper's two layouts: as printed they fail, repaired they run."""

import pytest
import torch

from headsmith.machines.layouts import FAULTS, EveryToken, FeatureRows
from headsmith.machines.prompts.heads import head

from .data import filled


def test_theorem_41_as_printed_fails_and_its_repairs_work():
    program, x = filled(11, domain=1.0, tokens=8, features=3, rows=2)
    exact = torch.cat([x @ w.T for w in program.weights], -1)

    def error(*faults, heads=12):
        return float((EveryToken(3, 2, 8, 1.0, heads, faults).read(program, x) - exact).abs().max())

    assert error("double shift", "ends") > 0.5 and error("offset", "ends") > 0.5 and error(*FAULTS) > 0.5
    step = EveryToken(3, 2, 8, 1.0, 12).grid()[1]
    assert error() <= 0.51 * step
    assert error(heads=1) <= EveryToken(3, 2, 8, 1.0).entry().approximation <= 1e-4
    assert EveryToken(3, 2, 8, 1.0).width == 47


def test_theorem_d1_returns_zero_beyond_its_last_grid_point():
    program = head(torch.ones(1, 1), torch.ones(1, 1), torch.ones(1, 1))
    x = torch.linspace(-2.0, 2.0, 8).double()[:, None]
    printed = EveryToken(1, 1, 8, 2.0, 16, ("ends",)).read(program, x)
    repaired = EveryToken(1, 1, 8, 2.0, 16).read(program, x)
    assert abs(float(printed[-1, 0])) < 0.1 and float(repaired[-1, 0]) == pytest.approx(2.0, abs=0.05)


def test_theorem_42_with_weights_as_rows():
    program, x = filled(4, domain=2.0, tokens=6, features=3, rows=6)
    good = FeatureRows(3, 6, reach=8.0, steps=16, beta=0.55)
    assert float((good(program, x) - program.reference(x)).abs().max()) < 1e-3
    small, _ = filled(4, features=3, rows=2)
    assert good(small, x * 0.1).shape == (6, 2)
