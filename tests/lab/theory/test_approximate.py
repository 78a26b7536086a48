import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headsmith import lab
from headsmith.lab.theory.approximate import Problem, descend, gradient, loss, loss_taylor, on_valley, predicted_gamma
from headsmith.refusal import Refusal

DEFAULT = Problem(5, 40, 0.1)


def test_prompts_and_heads_that_cannot_be():
    for wrong in ((0, 40, 0.1), (5, 1, 0.1), (5, 40, -0.1), (5, 40, float("nan")), (5.0, 40, 0.1), ("5", 40, 0.1)):
        with pytest.raises(Refusal, match="prompts need whole numbers"):
            Problem(*wrong)
    for run in (lab.exact_loss, lab.flow):
        with pytest.raises(Refusal, match="each head has one omega and one mu; got 1 and 2"):
            run([0.1], [1.0, 2.0])


weights = st.lists(st.floats(-0.6, 0.6), min_size=3, max_size=3)


@given(weights, st.lists(st.floats(-4, 4), min_size=3, max_size=3))
def test_matrix_and_taylor_form_agree_and_the_gradient_is_right(omega, mu):
    w, m = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (omega, mu))
    value = loss(w, m, DEFAULT)
    assert value.item() == pytest.approx(loss_taylor(w, m, DEFAULT).item(), rel=1e-10)
    expected = torch.autograd.grad(value, (w, m))
    with torch.no_grad():
        got = gradient(w, m, DEFAULT)
    for a, b in zip(got, expected, strict=True):
        assert torch.allclose(a, b, atol=1e-10)


@given(st.floats(0.01, 0.6), st.integers(2, 12), st.integers(10, 200), st.floats(0.01, 1))
def test_the_valley(gamma, d, L, noise):
    problem = Problem(d, L, noise)
    pair = torch.tensor([1.0, -1.0], dtype=torch.float64)
    mu = problem.valley(gamma)
    here = float(loss(gamma * pair, mu * pair, problem))
    assert here == pytest.approx(on_valley(gamma, problem), rel=1e-9)
    assert here >= problem.infimum - 1e-12
    for shifted in (0.99 * mu, 1.01 * mu):
        assert float(loss(gamma * pair, shifted * pair, problem)) >= here - 1e-12
    assert 2e-4 * problem.valley(1e-4) == pytest.approx(problem.rate, rel=1e-4)


def test_single_head_minimum_of_the_approximate_loss():
    omega, mu = DEFAULT.best_single()
    assert (omega, mu) == (pytest.approx(0.447, abs=1e-3), pytest.approx(1.628, abs=1e-3))
    point = (torch.tensor([v], dtype=torch.float64) for v in (omega, mu))
    assert all(float(g.abs().max()) < 1e-9 for g in gradient(*point, DEFAULT))


def test_descent_ends_where_the_clock_or_the_edge_of_stability_says():
    start = torch.tensor([0.1, -0.1])
    for rate in (0.1, 0.02):
        _, omega, _ = descend(start, start, DEFAULT, rate, 4000, every=4000)
        assert float(omega[-1, 0]) == pytest.approx(predicted_gamma(rate, 4000, DEFAULT), rel=0.07)
