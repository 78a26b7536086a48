"""Random ReLU networks: what they answer, how large it is, and where there is nothing to learn."""

import math

import pytest
import torch

from headsmith.lab.read.scores import flat
from headsmith.lab.train.networks import ReluNetworks, answers
from headsmith.refusal import Refusal


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_answers_are_those_of_a_plain_loop():
    task = ReluNetworks(4, 3, 5)
    matrices = task.networks(2, generator())
    x = task.inputs(2, 6, generator(1))
    found = answers(matrices, x)
    for b in range(2):
        for i in range(6):
            h = x[b, i]
            for matrix in matrices[:-1]:
                h = torch.clamp(matrix[b] @ h, min=0)
            assert found[b, i] == pytest.approx(float(matrices[-1][b] @ h), abs=1e-5)


def test_networks_are_homogeneous_in_the_input_and_in_each_matrix():
    task = ReluNetworks(3, 4, 8)
    matrices, x = (
        task.networks(3, generator(), dtype=torch.float64),
        task.inputs(3, 5, generator(1), dtype=torch.float64),
    )
    once = answers(matrices, x)
    assert torch.allclose(answers(matrices, 2.5 * x), 2.5 * once)
    for j in range(3):
        scaled = [3 * m if i == j else m for i, m in enumerate(matrices)]
        assert torch.allclose(answers(scaled, x), 3 * once)
    assert not torch.allclose(answers(matrices, -x), -once)


@pytest.mark.parametrize("layers", [1, 3, 6])
def test_the_second_moment_is_the_square_of_the_input_over_5_d(layers):
    task = ReluNetworks(layers, 5, 40)
    matrices = task.networks(1500, generator(), dtype=torch.float64)
    x = task.inputs(1, 1, generator(1), dtype=torch.float64).expand(1500, 1, 5)
    squares = answers(matrices, x).square().squeeze(-1)
    expected = float(x[0].square().sum()) / (5 * 5)
    assert abs(float(squares.mean()) - expected) < 4 * float(squares.std()) / math.sqrt(1500)


def test_the_mixture_draws_the_component_of_each_example():
    x = ReluNetworks(3, 4, 8, far=0.3).inputs(2000, 5, generator())
    side = x.mean(-1) > 0
    assert float(side.float().mean()) == pytest.approx(0.3, abs=0.02)
    assert bool((side.any(1) & ~side.all(1)).float().mean() > 0.5)  # most prompts have both
    assert float(x[side].mean()) == pytest.approx(2, abs=0.05) and float(x[~side].mean()) == pytest.approx(-2, abs=0.05)
    assert float(ReluNetworks(3, 4, 8).inputs(500, 5, generator()).mean()) == pytest.approx(-2, abs=0.05)


def test_a_shift_counts_in_units_of_the_width_unless_it_is_literal():
    shifted = ReluNetworks(3, 4, 100, shift=0.5)
    assert shifted.mean == pytest.approx(0.05) and ReluNetworks(3, 4, 100, shift=0.5, literal=True).mean == 0.5
    first = shifted.networks(400, generator())[0] * math.sqrt(4)
    assert float(first.mean()) == pytest.approx(0.05, abs=0.01)


def test_the_printed_negative_shift_leaves_nothing_to_learn():
    """deep-optimizers Figure 3: at N(-0.5, I) and width 200 every target is 0."""
    for layers in (3, 4, 6):
        literal = ReluNetworks(layers, 20, 200, shift=-0.5, literal=True).draw(20, 30, generator()).y
        assert bool((literal == 0).all()) and flat(literal) == 1
    assert flat(ReluNetworks(4, 20, 200, shift=-0.5).draw(20, 30, generator()).y) == 0


def test_impossible_sizes_are_refused():
    for bad in ({"layers": 0}, {"width": 0}, {"far": 1.5}):
        with pytest.raises(Refusal, match="random network"):
            ReluNetworks(**{"layers": 3, "features": 2, "width": 4, **bad})
