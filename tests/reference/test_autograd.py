"""The reference against a network of torch.nn and its optimiser."""

import pytest
import torch

from headsmith.reference.autograd import ACTIVATIONS, descended, outputs, squared
from headsmith.reference.optimizers import Optimizer

MODULES = {"relu": torch.nn.ReLU, "leaky": torch.nn.LeakyReLU, "hard tanh": torch.nn.Hardtanh,
           "identity": torch.nn.Identity, "tanh": torch.nn.Tanh, "sigmoid": torch.nn.Sigmoid, "silu": torch.nn.SiLU,
           "softplus": torch.nn.Softplus, "gelu": torch.nn.GELU}  # fmt: skip


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("activation", list(ACTIVATIONS))
def test_it_is_sgd_of_torch(activation, biases):
    torch.manual_seed(0)
    layers = [torch.nn.Linear(3, 5, bias=biases), MODULES[activation](), torch.nn.Linear(5, 2, bias=biases)]
    net = torch.nn.Sequential(*layers).double()
    x, y = torch.randn(7, 3).double(), torch.randn(7, 2).double()

    def matrices():
        found = [net[0], net[2]]
        return [torch.cat([m.weight, m.bias[:, None]], 1).detach() if biases else m.weight.detach() for m in found]

    start = [V.clone() for V in matrices()]
    optimiser, losses = torch.optim.SGD(net.parameters(), lr=0.1), []
    for _ in range(4):
        loss = torch.nn.functional.mse_loss(net(x), y)  # a mean over samples and the two outputs
        losses.append(float(loss.detach()))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    path, found = descended(start, x, y, activation=activation, steps=4, rate=0.1, biases=biases)
    assert torch.allclose(path[-1], torch.cat([V.flatten() for V in matrices()]), atol=1e-14)
    assert found[:4].tolist() == pytest.approx(losses) and path.shape[0] == len(found) == 5
    assert torch.allclose(outputs(matrices(), x, activation, biases), net(x), atol=1e-14)
    assert float(found[4]) < losses[3]


LOSSES = {
    "squared": (squared, lambda f, y: torch.nn.functional.mse_loss(f, y)),  # a mean over samples and the two outputs
    "logistic": (lambda f, y: (torch.nn.functional.softplus(f) - y * f).sum(-1).mean(),
                 lambda f, y: 2 * torch.nn.functional.binary_cross_entropy_with_logits(f, y)),
}  # fmt: skip


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["gd", "momentum", "adam"])
def test_losses_decay_and_optimizers_are_those_of_torch(name, loss):
    """torch adds its eps behind Adam's root, which makes no difference if both are next to nothing."""
    g = torch.Generator().manual_seed(0)
    x, y = torch.randn(7, 3, generator=g).double(), (torch.randn(7, 2, generator=g) > 0).double()
    start = [torch.randn(5, 3, generator=g).double(), torch.randn(2, 5, generator=g).double()]
    optimizer, make = {
        "gd": (Optimizer(), lambda W: torch.optim.SGD(W, lr=0.1, weight_decay=0.2)),
        "momentum": (Optimizer("momentum", beta=0.7), lambda W: torch.optim.SGD(W, 0.1, 0.7, weight_decay=0.2)),
        "adam": (Optimizer("adam", betas=(0.8, 0.9), root=1e-30),
                 lambda W: torch.optim.Adam(W, 0.1, (0.8, 0.9), eps=1e-15, weight_decay=0.2)),
    }[name]  # fmt: skip
    W = [torch.nn.Parameter(V.clone()) for V in start]
    torchs = make(W)
    for _ in range(6):
        torchs.zero_grad()
        LOSSES[loss][1](torch.tanh(x @ W[0].T) @ W[1].T, y).backward()
        torchs.step()
    path, losses = descended(start, x, y, "tanh", 6, 0.1, loss=LOSSES[loss][0], decay=0.2, optimizer=optimizer)
    assert torch.allclose(path[-1], torch.cat([V.detach().flatten() for V in W]), rtol=0, atol=1e-12)
    last = LOSSES[loss][1](torch.tanh(x @ W[0].T) @ W[1].T, y)
    assert float(losses[-1]) == pytest.approx(last.item(), rel=1e-12)
