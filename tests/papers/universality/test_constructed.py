"""The written-down networks beside Figures 2 to 4 do what their theorems say."""

import pytest
import torch

from headsmith.network import Network
from headsmith.papers.universality import constructed
from headsmith.papers.universality.constructed import anchored_pattern, compiled_errors, truncation_errors


def test_sup_errors_halve_where_mean_squares_quarter():
    small, large = (truncation_errors(p, 50, 1, [0]) for p in (60, 120))
    assert small["printed sup"] / large["printed sup"] == pytest.approx(2, rel=0.03)
    assert small["repaired"] / large["repaired"] == pytest.approx(4, rel=0.1)
    assert small["repaired sup"] == pytest.approx(0.0615 * 50 / 59, rel=0.05)


def test_heads_divide_the_error():
    one, four = (truncation_errors(60, 50, heads, [0])["repaired sup"] for heads in (1, 4))
    assert one / four == pytest.approx(4, rel=0.05)


def test_what_is_measured_is_a_network(monkeypatch):
    """Half of every output goes missing, and the error shows it."""
    monkeypatch.setattr(Network, "forward", lambda self, x: self._run(x, None, self._tap) / 2)
    assert truncation_errors(60, 50, 1, [0])["repaired sup"] > 10


def test_samples_of_other_models_are_noticed(monkeypatch):
    monkeypatch.setattr(constructed, "models", lambda seed: (torch.ones(50, 10), torch.ones(50)))
    with pytest.raises(ValueError, match="not those of its models"):
        truncation_errors(60, 50, 1, [0])


def test_a_saturated_token_looks_at_an_end():
    x = torch.tensor([[[-4.0]] + [[0.0]] * 28 + [[4.0]]])
    pattern = anchored_pattern(1.0, torch.ones(1), x)
    assert pattern.shape == (1, 30, 30) and torch.allclose(pattern.sum(-1), torch.ones(1, 30).double())
    assert float(pattern[0, 0, 0]) > 0.99 and float(pattern[0, -1, -1]) > 0.99


def test_the_target_is_compiled_within_its_bounds():
    found = compiled_errors(10, 500)
    assert found["bound"] <= 1e-6 and found["compiled"] < 1e-12
    assert found["coarse bound"] <= 0.1 and 1e-12 < found["coarse"] < found["coarse bound"] ** 2
