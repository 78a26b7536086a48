"""Programs for the attention machine: what they mean, and what is none."""

import numpy as np
import pytest
import torch
from torch import nn

import headsmith as hs
from headsmith.machines.prompts.heads import head, kernel_regression, linear, mean, nearest_neighbour, samples
from headsmith.machines.prompts.layers import mlp
from headsmith.refusal import Refusal

EYE = torch.eye(2)


def random(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_a_head_is_attention_with_its_scale_in_the_queries():
    w, b = [random(2, 3, seed=k) for k in range(3)], [random(2, seed=9 + k) for k in range(3)]
    program, x = head(*w, scale=0.5, biases=tuple(b)), random(4, 5, 3, seed=20)
    k, q, v = (x @ m.T + c for m, c in zip(w, b, strict=True))
    assert torch.allclose(program.reference(x), torch.softmax(0.5 * q @ k.mT, -1) @ v, atol=1e-14)
    assert (program.head_dim, program.features) == (2, 3)


def test_numbers_do_not_pass_through_float32():
    assert head([[0.1]], [[0.1]], [[0.1]]).weights[0].item() == 0.1
    assert linear([[0.1]], [1 / 3]).bias.item() == 1 / 3


@pytest.mark.parametrize("act", [nn.Tanh, nn.SiLU, nn.GELU, nn.ReLU])
def test_a_module_and_its_prompt_are_one_function(act):
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(3, 4), act(), nn.Linear(4, 4, bias=False), nn.Identity(), nn.Linear(4, 2), act()
    ).double()
    x, program = random(5, 3), mlp(net)
    assert len(program.stages) == 3
    assert torch.allclose(program.reference(x), net(x), atol=1e-14)


@pytest.mark.parametrize(("name", "tau"), [("mean", 0.0), ("kernel", 2.0), ("nearest", 300.0)])
def test_estimators_predict_at_their_queries(name, tau):
    x, query = random(9, 2, seed=1), random(4, 2, seed=2)
    y = torch.sin(3 * x[:, 0])
    program = {"mean": mean(), "kernel": kernel_regression(2.0), "nearest": nearest_neighbour()}[name]
    found = program.reference(samples(x, y, query))[9:, 0]
    expected = torch.softmax(-tau * torch.cdist(query, x).square(), -1) @ y
    assert torch.allclose(found, expected, atol=1e-10)
    wide = program.on(samples(x, y, query), rows=8)
    assert wide.head_dim == 8 and torch.allclose(wide.reference(samples(x, y, query))[9:, 0], expected, atol=1e-10)


def test_samples_lay_out_data_and_queries():
    tokens = samples([[3.0, 4.0]], [7.0], [[1.0, 2.0]])
    assert tokens.tolist() == [[3, 4, 25, 7, 1, 0], [1, 2, 5, 0, 0, 1]]
    assert tokens.dtype == torch.float64


class Residual(nn.Sequential):
    """What its parts compute, and its input again."""

    def forward(self, x):
        return x + super().forward(x)


def taught(module):
    module.forward = torch.zeros_like
    return module


REFUSED = {
    "shapes": (lambda: head(EYE, torch.eye(3), EYE), "one shape"),
    "two biases": (lambda: head(EYE, EYE, EYE, biases=(torch.zeros(2),) * 2), "biases of a head are three"),
    "a number for biases": (lambda: head(EYE, EYE, EYE, biases=3), "biases of a head are three"),
    "a bias of other rows": (lambda: head(EYE, EYE, EYE, biases=(None, [1.0], None)), "b_Q must be"),
    "scale": (lambda: head(EYE, EYE, EYE, scale="a"), "scale of a head"),
    "text": (lambda: head("a", EYE, EYE), "W_K must hold numbers"),
    "complex": (lambda: head(EYE, EYE, 1j * np.eye(2)), "W_V must hold numbers"),
    "infinite": (lambda: head(EYE, EYE / 0, EYE), "W_Q must be a matrix of finite numbers"),
    "activation": (lambda: linear(EYE, activation="swish"), "no 'swish'"),
    "softmax": (lambda: mlp(nn.Sequential(nn.Linear(2, 2), nn.Softmax())), "neither Linear nor"),
    "two activations": (lambda: mlp(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Tanh())), "does not belong"),
    "another gelu": (lambda: mlp(nn.Sequential(nn.Linear(2, 2), nn.GELU("tanh"))), "exact form"),
    "a subclass": (lambda: mlp(Residual(nn.Linear(2, 2))), "subclass of Sequential"),
    "a method of its own": (lambda: mlp(taught(nn.Linear(2, 2))), "forward of its own"),
    "nothing": (lambda: mlp(nn.Sequential()), "at least one Linear"),
    "tau": (lambda: kernel_regression(-1.0), "not negative"),
    "samples": (lambda: samples([[1.0]], [1.0, 2.0], [[1.0]]), "samples needs x"),
    "tokens": (lambda: mean().on(torch.ones(3, 5)), "is_query"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_program_is_refused(name):
    call, words = REFUSED[name]
    with pytest.raises(Refusal, match=words):
        call()
    assert hs.prompt.head is head


def test_what_was_given_is_copied():
    weight, bias = random(2, 2), random(2, seed=1)
    program, before = linear(weight, bias), linear(weight, bias).reference(EYE)
    weight += 1
    bias += 1
    assert torch.equal(program.reference(EYE), before)


@pytest.mark.parametrize("kind", [torch.tensor, np.array])
def test_integers_are_taken_as_they_are_or_refused(kind):
    assert float(linear(kind([[2**53]])).weight) == 2.0**53
    with pytest.raises(Refusal, match="Theta holds integers that float64 cannot represent exactly"):
        linear(kind([[2**53 + 1]]))
