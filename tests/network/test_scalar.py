import pytest
import torch

X = torch.linspace(-4, 4, 401, dtype=torch.float64).reshape(-1, 1, 1)


@pytest.mark.parametrize("name", ["sigmoid", "gate", "both"])
def test_values(scalar, name):
    one, two = torch.sigmoid(3 * X - 1), X * torch.sigmoid(scalar.beta * X)
    want = {"sigmoid": one, "gate": two, "both": one + two}[name]
    assert torch.allclose(getattr(scalar, name)()(X), want, rtol=0, atol=2e-15)


def test_gate_is_relu_to_the_known_constant(scalar):
    error = (torch.relu(X) - scalar.gate()(X)).max()
    assert 0.9 * 0.2785 / scalar.beta < error <= 0.2785 / scalar.beta


def test_names_and_variables(scalar):
    network = scalar.both()
    assert network.features == scalar.features
    assert network.tokens == ("input", "head.head.0.anchor.0", "head.head.0.anchor.1", "head.head.1.anchor.0")
    layer, token, where = network.variables["y"]
    stream = network.trace(X)[f"blocks.{layer}.hook_resid_post"]
    assert torch.equal(stream[..., token, where], network(X)[..., 0, :])


def test_scores_are_one_product_and_one_softmax(scalar):
    """The path the rounding theorem speaks of, bit for bit."""
    query = torch.cat([X[:, 0], torch.ones_like(X[:, 0])], -1)
    key = torch.tensor([[0.0, 0.0], [3.0, -1.0]], dtype=torch.float64)
    plain = torch.softmax(query @ key.T, -1) @ torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    assert torch.equal(scalar.sigmoid()(X)[:, 0], plain)
