import pytest
import torch
from torch import nn

from headsmith import lab
from headsmith.lab.read.diagnose import as_model
from headsmith.lab.theory.approximate import Problem
from headsmith.lab.train.models import AttentionModel
from headsmith.refusal import Refusal


class _WithPositions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(6, 2, bias=False)
        self.positions = nn.Parameter(torch.zeros(40, 6))


WEIGHTS = ("W_Q", "W_K", "W_V", "W_O")


def test_an_ideal_pair_is_read_exactly():
    gamma = 0.13
    mu = Problem().valley(gamma)
    found = lab.diagnose(AttentionModel.from_reduced([gamma, -gamma, 0.0], [mu, -mu, 0.0], 5), prompts=2000)
    assert found.head_classes == ("+", "-", "0")
    assert found.off_diagonal == found.zero_sum == found.label_leak == 0
    assert found.manifold_distance < 2e-3 and found.manifold_gamma == pytest.approx(gamma, rel=2e-3)
    assert found.effective_rate == pytest.approx(2 * gamma * mu)
    assert found.nearest_algorithm == "debiased_gd"
    assert found.risk == pytest.approx(0.2430, abs=5e-4)
    assert found.ablation[0] > 0.3 and found.ablation[2] == 0
    assert not found.plateau
    assert "debiased_gd" in str(found) and "<table>" in found._repr_html_()


def test_the_plateau_is_named():
    found = lab.diagnose(AttentionModel.from_reduced([0.5, 0.5], [0.8, 0.7], 5), prompts=500)
    assert found.plateau and "both heads aligned" in str(found)
    assert found.nearest_algorithm == "kernel_smoother"


def test_multihead_attention_and_matrices_mean_the_same():
    torch.manual_seed(0)
    module = nn.MultiheadAttention(6, 2, bias=False, batch_first=True)
    layer = as_model(module)
    drawn = lab.tasks.isotropic().draw(7)
    query = torch.cat([drawn.query, torch.zeros(7, 1)], -1).unsqueeze(1)
    tokens = drawn.tokens.transpose(1, 2)
    with torch.no_grad():
        expected = module(query, tokens, tokens)[0][:, 0, 5]
        assert torch.allclose(layer(drawn)[:, 0].float(), expected, atol=1e-5)
    q, k, v = (t.view(2, 3, 6) for t in module.in_proj_weight.detach().chunk(3))
    o = module.out_proj.weight.detach().view(6, 2, 3).transpose(0, 1)
    same = as_model({"W_Q": q, "W_K": k, "W_V": v, "W_O": o, "scale": 3**-0.5})
    assert torch.allclose(same.products()[0], layer.products()[0])


@pytest.mark.parametrize(
    "model, why",
    [
        (nn.TransformerEncoderLayer(6, 2), "normalisation"),
        (nn.Sequential(nn.Embedding(3, 6), nn.MultiheadAttention(6, 2)), "positions"),
        (nn.Linear(6, 6), "not one layer"),
        ({"W_Q": torch.eye(6)}, "missing"),
        ({"W_Q": torch.eye(6), "W_K": torch.eye(6)[:3], "W_V": torch.eye(6), "W_O": torch.eye(6)}, "do not fit"),
    ],
)
def test_what_is_not_a_layer_is_refused(model, why):
    with pytest.raises(Refusal, match=why):
        lab.diagnose(model)


def test_biases_and_other_sizes_are_refused():
    module = nn.MultiheadAttention(6, 2)
    nn.init.ones_(module.in_proj_bias)
    with pytest.raises(Refusal, match="bias"):
        lab.diagnose(module)
    with pytest.raises(Refusal, match="trained for"):
        lab.diagnose(AttentionModel.from_reduced([0.1], [1.0], 3), lab.tasks.isotropic(5))


@pytest.mark.parametrize("name", ["debiased_gd", "preconditioned_gd", "linear_attention"])
def test_a_constructed_layer_can_be_diagnosed(name: str) -> None:
    found = lab.diagnose(lab.construct(name, features=5, length=40, noise=0.1, gamma=0.05), prompts=500)
    assert found.nearest_algorithm in ("debiased_gd", "vanilla_gd")
    assert found.zero_sum < 1e-9 and found.head_classes == ("+", "-")
    assert found.effective_rate == pytest.approx(0.88, abs=0.02)


def test_matrices_may_come_as_one_per_head() -> None:
    stacked = {name: torch.randn(2, 6, 6, generator=torch.Generator().manual_seed(3)) for name in WEIGHTS}
    listed = {name: list(matrices) for name, matrices in stacked.items()}
    for one, other in zip(as_model(stacked).products(), as_model(listed).products(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("given_model", "reason"),
    [
        (_WithPositions(), "positions"),
        ({name: torch.ones(1, 6, 6) for name in ("W_Q", "W_K", "W_V", "W_O", "layer_norm")}, "layer_norm"),
        (None, "NoneType"),
        ("model.safetensors", "str"),
    ],
)
def test_what_the_mechanism_does_not_hold_is_refused(given_model: object, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        lab.diagnose(given_model)  # type: ignore[arg-type]
