import pytest
import torch

from headsmith.lab.theory.activations import activation
from headsmith.refusal import Refusal


def test_activations_know_their_gain_and_names():
    for name in ("exp", "tanh", "affine:0.5", "square:0.8", "linear"):
        f = activation(name)
        assert f.name == name
        if name != "linear":
            a = torch.tensor([1e-5, 0.0], dtype=torch.float64)
            p = f.weights(a)
            assert float((p[0] / p[1] - 1) / 1e-5) == pytest.approx(f.gain, rel=1e-3)
    for wrong in ("relu", "affine:x"):
        with pytest.raises(Refusal):
            activation(wrong)
