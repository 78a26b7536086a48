import math

import pytest
import torch

from headsmith import lab
from headsmith.lab import tasks
from headsmith.lab.read.compare import network_answer
from headsmith.reference import regression, risks
from headsmith.refusal import Refusal


def drawn(task, count=400, seed=0):
    return task.draw(count, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_debiased_descent_with_error_of_second_order():
    prompts = drawn(tasks.isotropic())
    step = regression.debiased_gd(*prompts.regression(), risks.debiased_rate(5, 40, 0.1))
    gaps = []
    for gamma in (0.04, 0.02):
        answer = network_answer(lab.construct("debiased_gd", gamma=gamma), prompts)[:, 0]
        gaps.append(float((answer - step).abs().mean()))
    assert gaps[1] < 3e-4
    assert math.log2(gaps[0] / gaps[1]) == pytest.approx(2, abs=0.05)


def test_preconditioned_descent():
    task = tasks.correlated(0.5)
    prompts = drawn(task)
    network = lab.construct("preconditioned_gd", covariance=task.sigma, gamma=0.01)
    target = regression.debiased_gd(*prompts.regression(), 1.0, risks.preconditioner(task.sigma, 40, 0.1))
    assert torch.allclose(network_answer(network, prompts)[:, 0], target, atol=5e-3)


def test_two_softmax_heads_per_linear_head_on_centred_tokens():
    torch.manual_seed(0)
    kq, ov = 0.3 * torch.randn(2, 4, 4, dtype=torch.float64), torch.randn(2, 1, 4, dtype=torch.float64)
    prompts = drawn(tasks.isotropic(3, 20))
    tokens = prompts.tokens - prompts.tokens.mean(-1, keepdim=True)
    prompts = prompts._replace(tokens=tokens)
    z = torch.cat([prompts.query, torch.zeros(400, 1, dtype=torch.float64)], -1)
    linear = torch.einsum("hnd,bdl,bel,hef,bf->bn", ov, tokens, tokens, kq, z) / 20
    gaps = []
    for gamma in (0.02, 0.01):
        answer = network_answer(lab.construct("linear_attention", kq=kq, ov=ov, gamma=gamma), prompts)
        gaps.append(float((answer - linear).abs().mean()))
    assert math.log2(gaps[0] / gaps[1]) == pytest.approx(2, abs=0.1)
    assert gaps[1] < 1e-2 * float(linear.abs().mean())


def test_superposition_serves_two_responses_with_three_heads():
    task = tasks.multi_task()
    network = lab.construct("superposition", supports=task.supports, features=6, gamma=0.02)
    prompts = drawn(task)
    rates = risks.multi_task_rates(task.supports, 6, 40, 0.1)
    answer = network_answer(network, prompts)
    for n in range(2):
        target = regression.debiased_gd(*prompts.regression(n), 1.0, torch.diag(rates[n]))
        assert float((answer[:, n] - target).abs().mean()) < 6e-3  # first order in gamma: three heads do not cancel
    found = lab.compare(network, "debiased_gd", task=task, lengths=[40], prompts=500)
    assert found.risks["constructed"][0] == pytest.approx(0.2216, abs=2e-3)
    with pytest.raises(Refusal, match="3 heads"):
        lab.construct("superposition", supports=task.supports, heads=2)


def test_refusals():
    for wrong in (
        lambda: lab.construct("nothing"),
        lambda: lab.construct("debiased_gd", gamma=0.0),
        lambda: lab.construct("debiased_gd", features=0),
        lambda: lab.compare("ridge", prompts=0),
        lambda: lab.construct("linear_attention", kq=torch.zeros(1, 6, 6)),
        lambda: lab.to_network(lab.AttentionModel.from_reduced([0.1], [1.0], 5, "tanh")),
        lambda: lab.compare(),
        lambda: lab.compare("magic"),
        lambda: lab.compare(3),
    ):
        with pytest.raises(Refusal):
            wrong()
