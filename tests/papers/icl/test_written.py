import pytest
import torch

from headsmith.lab import Task, tasks
from headsmith.papers.icl.written import PARAMETERS, course, written
from headsmith.reference import risks

BEST = risks.debiased_gd(5, 40, 0.1)


@pytest.mark.parametrize("heads", [2, 3, 4, 8])
def test_heads_end_on_the_valley_with_the_risk_of_debiased_descent(heads):
    found = written(heads, Task()).diagnoses[0]
    assert found.manifold_distance < 0.01 and found.zero_sum < 1e-9 and found.sign_match
    assert found.risk == pytest.approx(BEST, rel=0.02) and found.nearest_algorithm == "debiased_gd"


def test_one_head_is_a_kernel_smoother():
    assert written(1, Task()).diagnoses[0].nearest_algorithm == "kernel_smoother"


def test_the_course_rises_turns_and_ends_at_the_papers_size():
    omega, mu = course()
    assert omega.max() == pytest.approx(0.57, abs=0.01) and omega[-1] == pytest.approx(0.13, abs=1e-3)
    assert 0 < omega.argmax() < len(omega) - 1 and mu.argmax() == len(mu) - 1


def test_the_start_is_random_and_the_end_is_not():
    first, last = written(2, Task()).kq[[0, -1], 0, 0, :5, :5]
    off = [float((m - torch.diag(m.diagonal())).norm() / m.norm()) for m in (first, last)]
    assert off[0] > 0.5 and off[1] < 1e-9


@pytest.mark.parametrize("kind", PARAMETERS)
def test_other_activations_have_the_printed_rates(kind):
    found = written(2, Task(), kind).diagnoses[0]
    assert found.effective_rate == pytest.approx(PARAMETERS[kind][2], abs=0.02)


@pytest.mark.parametrize("heads", [2, 3, 4])
def test_several_responses_get_the_closed_form_steps(heads):
    task = tasks.multi_task()
    found = written(heads, task).diagnoses[0].rates()
    assert torch.allclose(found, risks.multi_task_rates(task.supports, 6, 40, 0.1, heads == 2), atol=1e-9)


def test_correlated_covariates_get_the_derived_preconditioner():
    task = tasks.correlated(0.5)
    assert torch.allclose(written(2, task).diagnoses[0].preconditioner, risks.preconditioner(task.sigma, 40, 0.1))


def test_from_pytorchs_own_start_one_head_of_four_is_a_dummy():
    assert written(4, Task(), "exp", "default").diagnoses[0].head_classes == ("+", "-", "+", "0")
