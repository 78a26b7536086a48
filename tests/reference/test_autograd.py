"""The reference against a network of torch.nn and its optimiser."""

import pytest
import torch

from headsmith.reference.autograd import ACTIVATIONS, descended, outputs

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
