import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headsmith.lab import tasks
from headsmith.lab.theory.activations import activation
from headsmith.lab.train.step import Adam, Layout, initialise, loss_and_gradient, predict

KINDS = ["exp", "tanh", "affine:0.3", "square:0.5", "linear"]


TASKS = [tasks.isotropic(3, 10, 0.1), tasks.multi_task([[0, 1], [1, 2]], 3, 8), tasks.correlated(0.4, 3, 9)]


@settings(max_examples=15)
@given(st.sampled_from(KINDS), st.sampled_from(TASKS), st.integers(1, 3), st.integers(1, 3), st.integers(0, 99))
def test_the_hand_written_gradient_is_the_automatic_one(kind, task, heads, replicas, seed):
    generator = torch.Generator().manual_seed(seed)
    layout = Layout(heads, task.features, task.responses, replicas)
    flat = (torch.rand(layout.size, dtype=torch.float64, generator=generator) - 0.5).requires_grad_()
    prompts = task.draw(replicas, 6, dtype=torch.float64, generator=generator)
    f = activation(kind)
    answer = predict(layout, layout.split(flat), prompts, f)
    loss = (answer - prompts.target).square().mean(1).sum(-1)
    (expected,) = torch.autograd.grad(loss.sum(), flat)
    gradient = torch.zeros_like(flat)
    with torch.no_grad():
        got = loss_and_gradient(layout, layout.split(flat), prompts, f, layout.split(gradient))
    assert torch.allclose(got, loss)
    assert torch.allclose(gradient, expected, rtol=1e-9, atol=1e-12)


def test_query_first_equals_keys_and_values_of_all_tokens():
    task = tasks.isotropic(4, 12)
    layout = Layout(2, 4)
    weights = initialise(layout, seed=3)
    prompts = task.draw(1, 5, generator=torch.Generator().manual_seed(0))
    answer = predict(layout, weights, prompts, activation("exp"))[0, :, 0]
    Z = prompts.tokens[0]
    z = torch.cat([prompts.query[0], torch.zeros(5, 1)], -1)
    total = torch.zeros(5)
    for q, k, v, o in zip(*weights, strict=True):
        p = torch.softmax(((k @ Z).transpose(1, 2) @ (q @ z.T).T.unsqueeze(-1)).squeeze(-1) / math.sqrt(5), -1)
        total += (o @ (v @ Z @ p.unsqueeze(-1))).flatten()
    assert torch.allclose(answer, total, atol=1e-6)


def test_absent_heads_stay_absent():
    task = tasks.isotropic(3, 10)
    layout = Layout(4, 3)
    start = initialise(layout, seed=0, heads=2)
    flat = torch.cat([block.flatten() for block in start])
    weights, gradient = layout.split(flat), torch.zeros_like(flat)
    adam = Adam(flat)
    for step in range(5):
        loss_and_gradient(layout, weights, task.draw(1, 16), activation("exp"), layout.split(gradient))
        adam.step(gradient, 1e-2 * Adam.correction(step + 1))
    assert not weights.o[2:].any()
    assert weights.o[:2].all()


def test_split_start_alternates_signs_and_default_is_pytorchs_range():
    layout = Layout(4, 5)
    kq, ov = layout.products(initialise(layout, 7, split=True))
    signs = kq[0, :, :5, :5].diagonal(dim1=-2, dim2=-1).sum(-1).sign()
    assert signs.tolist() == [1, -1, 1, -1]
    assert ov[0, :, 0, 5].sign().tolist() == [1, -1, 1, -1]
    plain = initialise(layout, 7)
    assert float(plain.q.abs().max()) <= 1 / math.sqrt(6)
    assert 0.8 / math.sqrt(24) < float(plain.o.abs().max()) <= 1 / math.sqrt(24)


def test_adam_is_torchs():
    torch.manual_seed(0)
    ours = torch.randn(40)
    theirs = ours.clone().requires_grad_()
    reference, adam = torch.optim.Adam([theirs], lr=1e-2), Adam(ours)
    for step in range(20):
        gradient = torch.randn(40)
        theirs.grad = gradient.clone()
        reference.step()
        adam.step(gradient, 1e-2 * Adam.correction(step + 1))
    assert torch.allclose(ours, theirs.detach(), atol=1e-5)
