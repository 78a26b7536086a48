import pytest
import torch

from headsmith import lab
from headsmith.lab.train.models import AttentionModel


def test_the_sequence_model_is_the_query_formula():
    torch.manual_seed(1)
    model = AttentionModel(
        *(torch.randn(2, 5, 5, dtype=torch.float64) for _ in range(3)), torch.randn(2, 1, 5).double(), 4
    )
    drawn = lab.tasks.isotropic(4, 9).draw(3, dtype=torch.float64)
    query = torch.cat([drawn.query, torch.zeros(3, 1, dtype=torch.float64)], -1).unsqueeze(-1)
    Z = torch.cat([drawn.tokens, query], -1)
    with torch.no_grad():
        out = model.sequence(Z)
        assert torch.allclose(out[:, 4, -1], model(drawn)[:, 0])
        assert torch.equal(out[:, :, 0], Z[:, :, 0])  # the first token sees nothing
        changed = Z.clone()
        changed[:, :, -1] += 1.0
        assert torch.allclose(model.sequence(changed)[:, :, :-1], out[:, :, :-1])  # nobody sees the query
        network = lab.to_network(model)
        assert torch.allclose(network(Z.transpose(1, 2)).transpose(1, 2), out)


def test_a_model_shows_what_it_is():
    assert repr(AttentionModel.from_reduced([0.1, -0.2], [1.0, -2.0], 5, "tanh")) == (
        "AttentionModel(2 heads, 5 features, tanh)"
    )


def test_models_are_saved_and_loaded(tmp_path):
    model = AttentionModel.from_reduced([0.1, -0.2], [1.0, -2.0], 5, "square:0.5")
    again = lab.load_model(model.save(tmp_path / "m.safetensors"))
    assert again.activation == model.activation and again.features == 5
    for a, b in zip(model.products(), again.products(), strict=True):
        assert torch.equal(a, b)
    with pytest.raises(FileNotFoundError):
        lab.load_model(tmp_path / "nothing.safetensors")
